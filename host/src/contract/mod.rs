//! The words every other module speaks: what a tool is, what a call asks, how it ended.
//!
//! Imports nothing of ours, runs nothing, and never reads a clock; it may hold an instant or a
//! cancel token that somebody else made.

pub mod approval;
pub mod arguments;
pub mod attempt;
pub mod client;
pub mod decision;
pub mod descriptor;
pub mod effects;
pub mod escape;
pub mod grants;
pub mod ids;
pub mod invocation;
pub mod limits;
pub mod normalise;
pub mod outcome;
pub mod result;
pub mod sink;
pub mod unfit;
