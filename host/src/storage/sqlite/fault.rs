//! From what SQLite says to what an operator can do about it.
//!
//! Knows codes, not operations.

use rusqlite::ErrorCode;

use super::open::BUSY_TIMEOUT;
use crate::storage::error::StorageError;

/// Why an operation stopped, before the path is known.
#[derive(Debug)]
pub(super) enum Fault {
    /// SQLite's own.
    Sqlite(rusqlite::Error),
    /// An answer that is no fault of the store.
    Refused(StorageError),
    /// A row that can't be read back: which, and why.
    Row(String),
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<StorageError> for Fault {
    fn from(error: StorageError) -> Self {
        Self::Refused(error)
    }
}

impl Fault {
    /// The error with the path of the file it is about.
    pub(super) fn told(self, path: &str) -> StorageError {
        let path = path.to_owned();
        let error = match self {
            Self::Refused(error) => return error,
            Self::Row(reason) => return StorageError::Damaged { path, reason },
            Self::Sqlite(error) => error,
        };
        match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
                StorageError::Damaged { path, reason: error.to_string() }
            }
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
                StorageError::ReadOnly { path }
            }
            Some(ErrorCode::DiskFull) => StorageError::DiskFull { path },
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                StorageError::Locked { path, seconds: BUSY_TIMEOUT.as_secs() }
            }
            // A column of another type than was written: somebody else wrote it.
            None if !matches!(error, rusqlite::Error::QueryReturnedNoRows) => {
                StorageError::Damaged { path, reason: error.to_string() }
            }
            _ => StorageError::Unusable { path, reason: error.to_string() },
        }
    }
}
