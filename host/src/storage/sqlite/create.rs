//! Makes a store where none is, so that it is there whole or not at all.
//!
//! It is made under another name and gets its own only when it has all its tables. So a file with
//! less under the real name is never one that is just being made, and opening it may be refused as
//! damage. A process that is killed meanwhile leaves a file that nobody looks at, and the first
//! of several processes is the one whose file stays. Looks into no file that is there.

use std::fs::{File, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use super::fault::Fault;
use super::{open, schema};
use crate::storage::error::StorageError;

/// What the name of an unfinished store ends with.
const UNFINISHED: &str = ".new";

/// Makes the store at `path` in `folder`; one that another process has made meanwhile stays.
pub(super) fn create(folder: &Path, path: &Path) -> Result<(), StorageError> {
    let io = |error: &std::io::Error| open::unusable(path, error);
    let unfinished = tempfile::Builder::new()
        .prefix(".belljar-")
        .suffix(UNFINISHED)
        .permissions(Permissions::from_mode(0o600))
        .tempfile_in(folder)
        .map_err(|error| io(&error))?
        .into_temp_path();
    fill(&unfinished).map_err(|fault| fault.told(&path.display().to_string()))?;
    match unfinished.persist_noclobber(path) {
        Err(error) if error.error.kind() != ErrorKind::AlreadyExists => Err(io(&error.error)),
        _ => File::open(folder).and_then(|it| it.sync_all()).map_err(|error| io(&error)),
    }
}

/// Writes the tables, and makes them survive a power cut. The file is set to keep a write-ahead log
/// while nobody else can see it: of two connections that set this at once, one would be told that the
/// file is locked, for SQLite doesn't wait for a read lock that becomes a write lock.
fn fill(path: &Path) -> Result<(), Fault> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let mut connection = Connection::open_with_flags(path, flags)?;
    // Nobody needs the way back of a file that is thrown away when this fails.
    connection.pragma_update(None, "journal_mode", "MEMORY")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    schema::make(&mut connection)?;
    open::keep_log(&connection)?;
    connection.close().map_err(|(_, error)| Fault::from(error))
}
