//! Why a command ended without doing what was asked.
//!
//! A call that was made always ends in a `ToolResult`, which is no error here.

use std::io;
use std::path::Path;

use rustix::io::Errno;

use super::exit::Exit;
use crate::app::StartError;
use crate::config::ConfigError;
use crate::contract::escape::clipped_line;

/// Longest path in a message, in bytes.
const PATH_MAX_LEN: usize = 300;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum CliError {
    /// The host didn't start.
    #[error(transparent)]
    Start(#[from] Box<StartError>),
    /// The configuration can't be used.
    #[error(transparent)]
    Config(ConfigError),
    /// What was typed is wrong, or names what can't be used.
    #[error("{0}")]
    Usage(String),
    /// What was named is refused.
    #[error("{0}")]
    Refused(String),
    /// The machine, or belljar itself, failed.
    #[error("{0}")]
    Machine(String),
}

impl CliError {
    /// The code this ends with.
    pub(super) fn exit(&self) -> Exit {
        match self {
            Self::Start(error) => Exit::of_start(error),
            Self::Usage(_) | Self::Config(_) => Exit::Usage,
            Self::Refused(_) => Exit::Refused,
            Self::Machine(_) => Exit::HostFault,
        }
    }

    /// A file that can't be used: the operator's mistake where another path would mend it.
    pub(super) fn io(what: &str, path: &Path, error: &io::Error) -> Self {
        let message = format!("{} can't be {what}: {error}", shown(path));
        match error.kind() {
            io::ErrorKind::NotFound
            | io::ErrorKind::PermissionDenied
            | io::ErrorKind::NotADirectory
            | io::ErrorKind::IsADirectory
            | io::ErrorKind::InvalidInput
            | io::ErrorKind::InvalidFilename
            | io::ErrorKind::ReadOnlyFilesystem => Self::Usage(message),
            // Links in a circle have no stable kind of their own.
            _ if Errno::from_io_error(error) == Some(Errno::LOOP) => Self::Usage(message),
            _ => Self::Machine(message),
        }
    }
}

/// A path for a message.
pub(super) fn shown(path: &Path) -> String {
    format!("`{}`", clipped_line(&path.to_string_lossy(), PATH_MAX_LEN))
}
