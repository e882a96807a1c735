//! What is known of a store's file operations while they run.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;
use wasmtime_wasi::p2::{FsError, StreamError};

use crate::sandbox::fault::HostEnd;

/// Files, folder listings and file streams that one store may hold open. Attack: descriptors are the
/// whole process's.
const OPEN_FILES_MAX: usize = 128;
/// Folder entries that one store may make the host hold. Attack: a listing that is never read,
/// a hundred times.
const HELD_ENTRIES_MAX: usize = 2 * super::refuse::FOLDER_ENTRIES_MAX;

#[derive(Debug, Default)]
struct Watched {
    in_flight: AtomicUsize,
    closed: AtomicBool,
    read: AtomicU64,
    written: AtomicU64,
    unsayable: AtomicU64,
    streams: AtomicUsize,
    /// Descriptors and folder listings by their handle, each with the entries that are held for it.
    /// Folders of grants are not among them: theirs is shared.
    handles: Mutex<HashMap<u32, usize>>,
    idle: Notify,
}

/// Shared by a store, its streams and whoever waits for the call.
#[derive(Debug, Clone, Default)]
pub(crate) struct FileWatch {
    watched: Arc<Watched>,
    held_read_only: bool,
    may_want_folders: bool,
}

impl FileWatch {
    /// `held_read_only`: the tool's own tag made its folders read-only. `may_want_folders`: it
    /// says that it needs one, or names no need at all.
    pub(crate) fn new(held_read_only: bool, may_want_folders: bool) -> Self {
        Self { watched: Arc::default(), held_read_only, may_want_folders }
    }

    pub(super) fn may_want_folders(&self) -> bool {
        self.may_want_folders
    }

    pub(super) fn is_held_read_only(&self) -> bool {
        self.held_read_only
    }

    /// Whether an operation holds a thread right now.
    pub(crate) fn is_busy(&self) -> bool {
        self.watched.in_flight.load(Ordering::Acquire) > 0
    }

    /// From here on no operation begins: the call's time is up.
    pub(crate) fn close(&self) {
        self.watched.closed.store(true, Ordering::Release);
    }

    /// Bytes read and written so far.
    pub(crate) fn bytes(&self) -> (u64, u64) {
        (self.watched.read.load(Ordering::Relaxed), self.watched.written.load(Ordering::Relaxed))
    }

    pub(super) fn count_read(&self, bytes: usize) {
        self.watched.read.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(super) fn count_written(&self, bytes: usize) {
        self.watched.written.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Whether one more file, listing or stream may be opened.
    pub(super) fn may_open(&self) -> bool {
        let streams = self.watched.streams.load(Ordering::Acquire);
        self.handles().len().saturating_add(streams) < OPEN_FILES_MAX
    }

    /// Whether so many more entries of folders may be held.
    pub(super) fn may_list(&self, entries: usize) -> bool {
        let held: usize = self.handles().values().sum();
        held.saturating_add(entries) <= HELD_ENTRIES_MAX
    }

    /// Counts a descriptor, or a listing with its entries, until [`Self::closed`].
    pub(super) fn opened(&self, handle: u32, entries: usize) {
        self.handles().insert(handle, entries);
    }

    /// The handle is gone.
    pub(super) fn closed(&self, handle: u32) {
        self.handles().remove(&handle);
    }

    /// Waits until no operation holds a thread.
    pub(crate) async fn idle(&self) {
        loop {
            let notified = self.watched.idle.notified();
            if !self.is_busy() {
                return;
            }
            notified.await;
        }
    }

    /// Counts a stream, which keeps its file open by itself, until the guard is dropped.
    pub(super) fn streaming(&self) -> Streaming {
        self.watched.streams.fetch_add(1, Ordering::AcqRel);
        Streaming(Arc::clone(&self.watched))
    }

    fn handles(&self) -> MutexGuard<'_, HashMap<u32, usize>> {
        self.watched.handles.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Folder entries that were left out because their names aren't UTF-8.
    pub(crate) fn unsayable(&self) -> u64 {
        self.watched.unsayable.load(Ordering::Relaxed)
    }

    pub(super) fn count_unsayable(&self) {
        self.watched.unsayable.fetch_add(1, Ordering::Relaxed);
    }

    /// Begins an operation, unless the call's time is up.
    pub(crate) fn begin(&self) -> Result<InFlight, Closed> {
        if self.watched.closed.load(Ordering::Acquire) {
            return Err(Closed);
        }
        self.watched.in_flight.fetch_add(1, Ordering::AcqRel);
        Ok(InFlight(Arc::clone(&self.watched)))
    }
}

/// A stream that keeps a file open.
#[derive(Debug)]
pub(super) struct Streaming(Arc<Watched>);

impl Drop for Streaming {
    fn drop(&mut self) {
        self.0.streams.fetch_sub(1, Ordering::AcqRel);
    }
}

/// An operation that runs.
#[derive(Debug)]
pub(crate) struct InFlight(Arc<Watched>);

impl Drop for InFlight {
    fn drop(&mut self) {
        if self.0.in_flight.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.idle.notify_waiters();
        }
    }
}

/// The call's time is up: the guest ends here.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Closed;

impl From<Closed> for wasmtime::Error {
    fn from(_: Closed) -> Self {
        HostEnd::DeadlinePassed.into()
    }
}

impl From<Closed> for wasmtime_wasi::TrappableError<ErrorCode> {
    fn from(closed: Closed) -> Self {
        FsError::trap(wasmtime::Error::from(closed))
    }
}

impl From<Closed> for StreamError {
    fn from(closed: Closed) -> Self {
        Self::Trap(closed.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_files_are_bounded_and_closed_ones_make_room() {
        let watch = FileWatch::new(false, true);
        (1..OPEN_FILES_MAX).zip(0..).for_each(|(_, handle)| watch.opened(handle, 0));
        assert!(watch.may_open());
        let stream = watch.streaming();
        assert!(!watch.may_open());
        drop(stream);
        assert!(watch.may_open());
        watch.opened(u32::MAX, 0);
        assert!(!watch.may_open());
        watch.closed(0);
        assert!(watch.may_open());
    }

    #[test]
    fn entries_of_all_listings_are_summed() {
        let watch = FileWatch::new(false, true);
        watch.opened(1, HELD_ENTRIES_MAX - 10);
        assert!(watch.may_list(10));
        assert!(!watch.may_list(11));
        watch.closed(1);
        assert!(watch.may_list(11));
    }

    #[tokio::test]
    async fn idle_comes_with_the_end_of_the_last_operation() {
        let watch = FileWatch::new(false, true);
        watch.idle().await;
        let running = watch.begin().unwrap();
        let waiting = tokio::spawn({
            let watch = watch.clone();
            async move { watch.idle().await }
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        drop(running);
        waiting.await.unwrap();
    }

    #[test]
    fn nothing_begins_after_the_end() {
        let watch = FileWatch::new(false, true);
        let running = watch.begin().unwrap();
        watch.close();
        assert!(watch.is_busy());
        assert!(watch.begin().is_err());
        drop(running);
        assert!(!watch.is_busy());
    }
}
