//! Opens the file, or refuses it with the reason.
//!
//! Whoever can write the file can approve, so it and its folder must be this user's alone. Reads no
//! row.

use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::fault::Fault;
use super::{Opened, create, schema};
use crate::storage::error::StorageError;

/// How long an operation waits for another process. A transaction here takes under a millisecond,
/// so whoever holds the lock for longer is stuck.
pub(super) const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// What the write-ahead log shrinks to, in bytes, when it has been read back.
const LOG_KEPT_BYTES: i64 = 8 << 20;

/// A store in `path`, or in memory, with the newest format.
pub(super) fn open(path: Option<&Path>) -> Result<Opened, StorageError> {
    let Some(path) = path else {
        let opened =
            Connection::open_in_memory().map_err(Fault::from).and_then(|mut connection| {
                schema::make(&mut connection)?;
                Ok(Opened {
                    connection: Mutex::new(connection),
                    reader: None,
                    watcher: None,
                    writes: AtomicU64::new(0),
                })
            });
        return opened.map_err(|fault| fault.told(":memory:"));
    };
    make_private(path)?;
    let shown = path.display().to_string();
    open_file(path, &shown).map_err(|fault| fault.told(&shown))
}

fn open_file(path: &Path, shown: &str) -> Result<Opened, Fault> {
    let fresh = bare(path)?;
    schema::check(&fresh, shown)?;
    let mut connection = ready(fresh)?;
    schema::bring_up_to_date(&mut connection, shown)?;
    let (reader, watcher) = (ready(bare(path)?)?, ready(bare(path)?)?);
    Ok(Opened {
        connection: Mutex::new(connection),
        reader: Some(Mutex::new(reader)),
        watcher: Some(Mutex::new(watcher)),
        writes: AtomicU64::new(0),
    })
}

/// A connection that has changed nothing of the file.
fn bare(path: &Path) -> Result<Connection, Fault> {
    // No URI: a `?` in the path is part of the path. The lock around it is ours.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    Ok(connection)
}

/// Sets how a file of ours is written, which stays in the file.
fn ready(connection: Connection) -> Result<Connection, Fault> {
    keep_log(&connection)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "journal_size_limit", LOG_KEPT_BYTES)?;
    Ok(connection)
}

/// Has the file written by way of a write-ahead log, so that reading waits for no writing.
pub(super) fn keep_log(connection: &Connection) -> Result<(), Fault> {
    Ok(connection.pragma_update(None, "journal_mode", "WAL")?)
}

/// Makes folder and file where they aren't there, and refuses those that others can reach. An empty
/// file is refused before SQLite sees it, which would take it for new and remove the log beside it.
fn make_private(path: &Path) -> Result<(), StorageError> {
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let io = |error: &std::io::Error| unusable(path, error);
    if let Some(above) = folder.parent().filter(|above| *above != Path::new("")) {
        std::fs::create_dir_all(above).map_err(|error| io(&error))?;
    }
    let made = std::fs::DirBuilder::new().mode(0o700).create(folder);
    ignore_existing(made).map_err(|error| io(&error))?;
    check_private(folder, std::fs::Metadata::is_dir, "no folder")?;
    if is_absent(path) {
        create::create(folder, path)?;
    }
    check_private(path, std::fs::Metadata::is_file, "no file")?;
    let len = std::fs::symlink_metadata(path).map_err(|error| io(&error))?.len();
    if len == 0 {
        let (path, reason) = (path.display().to_string(), schema::EMPTY.to_owned());
        return Err(StorageError::Damaged { path, reason });
    }
    Ok(())
}

/// Whether nothing has this name, not even a link.
pub(super) fn is_absent(path: &Path) -> bool {
    let found = std::fs::symlink_metadata(path);
    matches!(found, Err(error) if error.kind() == std::io::ErrorKind::NotFound)
}

fn ignore_existing(made: std::io::Result<()>) -> std::io::Result<()> {
    match made {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        other => other,
    }
}

/// Why the system didn't let a file or folder be used.
pub(super) fn unusable(path: &Path, error: &std::io::Error) -> StorageError {
    let path = path.display().to_string();
    match error.kind() {
        std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem => {
            StorageError::ReadOnly { path }
        }
        std::io::ErrorKind::StorageFull => StorageError::DiskFull { path },
        _ => StorageError::Unusable { path, reason: error.to_string() },
    }
}

fn check_private(
    path: &Path,
    is_kind: impl FnOnce(&std::fs::Metadata) -> bool,
    wrong_kind: &str,
) -> Result<(), StorageError> {
    let found = std::fs::symlink_metadata(path).map_err(|error| unusable(path, &error))?;
    let problem = if !is_kind(&found) {
        wrong_kind.to_owned()
    } else if found.uid() != rustix::process::geteuid().as_raw() {
        "another user's".to_owned()
    } else if found.mode() & 0o077 != 0 {
        format!("open to others (mode {:04o})", found.mode() & 0o7777)
    } else {
        return Ok(());
    };
    Err(StorageError::NotPrivate { path: path.display().to_string(), found: problem })
}
