//! Whole calls, from request to result, over a runner that does as it is told, on a paused clock.

mod approvals;
mod batches;
mod bindings;
mod cancels;
mod faults;
mod kit;
mod levels;
mod questions;
mod records;
mod repeats;
mod restarts;
mod retries;
mod steps;
mod watchers;
