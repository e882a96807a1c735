//! Connected clients as runners: they offer tools of their own, and run the calls of them.
//!
//! Plain values in and out; knows no socket. A client's tools exist for its own caller alone, and
//! no client sees a call that isn't its own.

mod answer;
mod gateway;
mod line;
mod offered;

#[cfg(test)]
mod tests;

pub use gateway::{CLIENTS_MAX, CLIENTS_MAX_OF_ONE, ClientSettings, Clients, TOOLS_MAX};
