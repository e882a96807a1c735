//! All tests that need a whole host, in one binary.

#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "all of this is tests; clippy takes only `#[test]` functions for such"
)]

mod guests;

mod suites {
    mod arguments;
    mod bad_state;
    mod blocked_files;
    mod builtins;
    mod cancelling;
    mod cli;
    #[cfg(feature = "foreign-guests")]
    mod clients;
    mod command;
    mod config_page;
    mod configured;
    mod contract;
    mod crowd;
    mod effects;
    mod exports;
    #[cfg(feature = "foreign-guests")]
    mod foreign;
    mod harness;
    mod held_threads;
    mod home;
    mod hostile;
    mod killed;
    mod limits_page;
    mod plugins;
    mod process_exit;
    #[cfg(feature = "mcp")]
    mod serve;
    mod slow;
    mod stock;
    mod tidy;
    #[cfg(feature = "mcp")]
    mod upstream;
}
