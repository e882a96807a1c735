//! What can go wrong with the audit log, apart by what the operator has to do.
//!
//! Decides nothing: whoever gets one fails closed.

use std::io;
use std::path::{Path, PathBuf};

/// Why the journal can't be opened, or didn't take a record.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// Nothing more fits on the disk.
    #[error("no room is left on the disk for the audit log at `{}`, so no call starts", .0.display())]
    Full(PathBuf),
    /// The folder may be read and not written, or not even read.
    #[error("the audit log at `{}` can't be written, so no call starts: {source}", path.display())]
    Forbidden {
        /// What was touched.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Anything else that a disk says.
    #[error("cannot {what} `{}`: {source}", path.display())]
    Io {
        /// What was tried, as a verb.
        what: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Written by a later belljar.
    #[error(
        "`{}` has format {found} and this belljar knows {known}: use the belljar that wrote it, or \
         a later one", file.display()
    )]
    Newer {
        /// The file.
        file: PathBuf,
        /// Its format.
        found: u64,
        /// The last format that is known here.
        known: u64,
    },
    /// Not what belljar writes.
    #[error("`{}` is no file of the audit log: {wrong}", file.display())]
    Damaged {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        wrong: String,
    },
    /// A place in a file of the log that holds no entry.
    #[error("`{}` is damaged at byte {at}: {left_out} bytes are left out, {}", file.display(),
        goes_on(*next))]
    Spoilt {
        /// The file.
        file: PathBuf,
        /// Where, in bytes.
        at: usize,
        /// How many bytes from there on are none of an entry that can be read.
        left_out: usize,
        /// The number of the entry behind them; `None`: the file has no more.
        next: Option<u64>,
    },
    /// Somebody else may change what it says, or a link leads elsewhere.
    #[error(
        "`{}` is {found}, and whoever can write the audit log can change what it says, so no call \
         starts: it must be a folder of your own that nobody else may enter (mode 0700)",
        folder.display()
    )]
    NotPrivate {
        /// The folder.
        folder: PathBuf,
        /// What it is instead.
        found: String,
    },
    /// It wasn't the same for long enough to be read.
    #[error("the audit log at `{}` was changed each time it was read: try again", .0.display())]
    Changing(PathBuf),
    /// The log couldn't be synced once, and a later success says nothing of what was lost then.
    #[error(
        "the audit log could not be synced, so records are kept beside it until belljar is \
         started again: {0}"
    )]
    Unsynced(String),
    /// Another process has held the lock for too long.
    #[error("another process has held `{}` for {seconds} seconds", lock.display())]
    Busy {
        /// The lock.
        lock: PathBuf,
        /// How long was waited.
        seconds: u64,
    },
    /// The journal has been closed, or its process is going.
    #[error("the audit log is closed")]
    Closed,
    /// A record above the bound of a frame.
    #[error("a record of the audit log has {0} bytes, more than fit into one")]
    TooLarge(usize),
    /// Whoever keeps something of calls that were cut off can't be told.
    #[error("calls that a crash cut off can't be ended, so no call starts: {0}")]
    Untold(String),
    /// Earlier writes failed and their records are still waiting.
    #[error("the audit log is behind, so no call starts: {0}")]
    Behind(String),
}

fn goes_on(next: Option<u64>) -> String {
    match next {
        Some(seq) => format!("and entry {seq} follows"),
        None => "up to the end of the file".to_owned(),
    }
}

impl JournalError {
    /// What the system said while `what` was tried on `path`.
    pub(super) fn io(what: &'static str, path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::Full(path),
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                Self::Forbidden { path, source }
            }
            _ => Self::Io { what, path, source },
        }
    }

    /// [`Self::io`] for `map_err`.
    pub(super) fn on(what: &'static str, path: &Path) -> impl Fn(io::Error) -> Self {
        move |source| Self::io(what, path, source)
    }
}
