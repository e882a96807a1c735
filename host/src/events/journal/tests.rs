//! The journal as a whole: one life of it, chains, crashes, bounds and a disk that fails.

mod bounds;
mod chain;
mod crash;
mod damage;
mod disk;
mod kit;
mod lane_damage;
mod life;
