//! The ways in over http.
//!
//! Runs no tool itself: what it is asked goes to the host, and what clients offer to its gateway.

pub mod client;
