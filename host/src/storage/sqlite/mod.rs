//! Both ports over one SQLite file, or over memory.
//!
//! Opens the file when it is first needed: reading makes none, so a host that never asks leaves
//! nothing behind. Each operation is one transaction; whole or not at all, also when the power goes.

mod approvals;
mod create;
mod decide;
mod fault;
mod insert;
mod open;
mod remembered;
mod results;
mod rows;
mod schema;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::approvals::Revision;
use super::error::StorageError;
use fault::Fault;

/// A store in one file, shared with every process that opens it, or in memory. The file's folder
/// must be private.
#[derive(Debug)]
pub struct SqliteStore {
    /// `None`: in memory.
    path: Option<PathBuf>,
    opened: OnceLock<Opened>,
    /// Held while the file is opened, so that it is opened once.
    opening: Mutex<()>,
}

#[derive(Debug)]
struct Opened {
    /// Writes, and so may wait for another process. In memory it does all.
    connection: Mutex<Connection>,
    /// Reads without waiting for who writes.
    reader: Option<Mutex<Connection>>,
    /// Sees what the others and other processes commit, and is never held for long.
    watcher: Option<Mutex<Connection>>,
    writes: AtomicU64,
}

impl SqliteStore {
    /// A store whose file is opened when it is needed, and made when something is to be kept.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: Some(path.into()), opened: OnceLock::new(), opening: Mutex::new(()) }
    }

    /// A store whose file is there and sound, made where it wasn't.
    ///
    /// # Errors
    /// A file or folder that can't be used, each reason with its own error.
    pub fn open(path: &Path) -> Result<Self, StorageError> {
        let store = Self::at(path);
        store.for_writing()?;
        Ok(store)
    }

    /// A store whose file is sound; `None` where there is no file.
    ///
    /// # Errors
    /// Like [`SqliteStore::open`].
    pub fn open_existing(path: &Path) -> Result<Option<Self>, StorageError> {
        let store = Self::at(path);
        Ok(store.for_reading()?.is_some().then_some(store))
    }

    /// A store that ends with this process and that nobody else sees.
    ///
    /// # Errors
    /// No memory.
    pub fn in_memory() -> Result<Self, StorageError> {
        let store = Self { path: None, opened: OnceLock::new(), opening: Mutex::new(()) };
        store.for_writing()?;
        Ok(store)
    }

    /// Where it is, for messages.
    fn shown_path(&self) -> String {
        self.path.as_ref().map_or_else(|| ":memory:".into(), |path| path.display().to_string())
    }

    fn told(&self, fault: Fault) -> StorageError {
        fault.told(&self.shown_path())
    }

    /// The open store; `None` where nothing has ever been kept.
    fn for_reading(&self) -> Result<Option<&Opened>, StorageError> {
        if self.opened.get().is_none() && self.path.as_deref().is_some_and(open::is_absent) {
            return Ok(None);
        }
        self.for_writing().map(Some)
    }

    fn for_writing(&self) -> Result<&Opened, StorageError> {
        if let Some(opened) = self.opened.get() {
            return Ok(opened);
        }
        let _opening = self.opening.lock().unwrap_or_else(PoisonError::into_inner);
        if self.opened.get().is_none() {
            let opened = open::open(self.path.as_deref())?;
            return Ok(self.opened.get_or_init(|| opened));
        }
        self.opened.get().ok_or(StorageError::Stopped)
    }

    /// Reads; `absent` is the answer of a store that isn't there.
    fn read<T>(
        &self,
        absent: impl FnOnce() -> Result<T, StorageError>,
        read: impl FnOnce(&Connection) -> Result<T, Fault>,
    ) -> Result<T, StorageError> {
        let Some(opened) = self.for_reading()? else { return absent() };
        let connection = opened.reader.as_ref().unwrap_or(&opened.connection);
        let connection = connection.lock().unwrap_or_else(PoisonError::into_inner);
        read(&connection).map_err(|fault| self.told(fault))
    }

    /// Writes, in a transaction that has the write lock from its beginning.
    fn write<T>(
        &self,
        write: impl FnOnce(&Transaction<'_>) -> Result<T, Fault>,
    ) -> Result<T, StorageError> {
        let opened = self.for_writing()?;
        let mut connection = opened.connection.lock().unwrap_or_else(PoisonError::into_inner);
        let whole = || {
            let transaction =
                connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let written = write(&transaction)?;
            transaction.commit()?;
            Ok(written)
        };
        let written = whole().map_err(|fault| self.told(fault))?;
        opened.writes.fetch_add(1, Ordering::Relaxed);
        Ok(written)
    }

    /// Like [`SqliteStore::write`], where there is nothing to write to a store that isn't there.
    fn write_existing<T: Default>(
        &self,
        write: impl FnOnce(&Transaction<'_>) -> Result<T, Fault>,
    ) -> Result<T, StorageError> {
        match self.for_reading()? {
            Some(_) => self.write(write),
            None => Ok(T::default()),
        }
    }

    fn read_revision(&self) -> Result<Revision, StorageError> {
        let Some(opened) = self.for_reading()? else { return Ok(Revision::default()) };
        let own = opened.writes.load(Ordering::Relaxed) + 1;
        let Some(watcher) = &opened.watcher else { return Ok(Revision { others: 0, own }) };
        let watcher = watcher.lock().unwrap_or_else(PoisonError::into_inner);
        let version = watcher.query_row("PRAGMA data_version", [], |row| row.get(0));
        let others = version.map_err(|error| self.told(error.into()))?;
        Ok(Revision { others, own })
    }
}

#[cfg(test)]
mod tests;
