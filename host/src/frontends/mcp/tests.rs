//! The server over connections of raw lines, against a real engine, gate and queue with a runner
//! that does as it is told.

mod approvals;
mod connection;
mod kit;
mod listening;
mod results;
mod tasks;
#[cfg(feature = "http")]
mod web;
