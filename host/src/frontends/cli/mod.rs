//! The command line: every command is one file, and each call goes through the [`crate::Host`].
//!
//! Runs no tool itself. stdout holds what was asked for and nothing else; belljar's own words go to
//! stderr. No colour is ever printed, so `NO_COLOR` is kept by itself.

mod answer;
mod approvals;
mod args;
mod arguments;
mod asking;
mod attend;
mod audit;
mod batch;
mod call;
mod caller;
mod compiling;
mod config_file;
mod doctor;
mod error;
mod exit;
mod export;
mod gaps;
mod imports;
mod inspect;
mod pack;
mod parse;
mod policy;
mod portrait;
mod profile;
mod prompt;
mod redacted;
mod replace;
mod run;
mod screen;
mod serve;
mod show;
mod start;
mod time;
mod token;
mod tools;
mod watch;
mod words;

pub use exit::Exit;
pub use run::run;
pub use show::{EscapedStderr, tell};
