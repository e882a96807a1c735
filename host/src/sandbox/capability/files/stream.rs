//! File streams that are counted, and known to be running while they block.

use bytes::Bytes;
use wasmtime_wasi::p2::{
    DynInputStream, DynOutputStream, InputStream, OutputStream, Pollable, StreamResult,
};

use super::watch::{FileWatch, Streaming};

/// A file being read.
pub(super) struct WatchedInput {
    inner: DynInputStream,
    watch: FileWatch,
    _open: Streaming,
}

impl WatchedInput {
    pub(super) fn new(inner: DynInputStream, watch: &FileWatch) -> Self {
        Self { inner, _open: watch.streaming(), watch: watch.clone() }
    }
}

#[async_trait::async_trait]
impl Pollable for WatchedInput {
    async fn ready(&mut self) {
        // A closed watch can't be told from here; the read that follows tells it.
        let _busy = self.watch.begin();
        self.inner.ready().await;
    }
}

#[async_trait::async_trait]
impl InputStream for WatchedInput {
    fn read(&mut self, size: usize) -> StreamResult<Bytes> {
        let _busy = self.watch.begin()?;
        let bytes = self.inner.read(size)?;
        self.watch.count_read(bytes.len());
        Ok(bytes)
    }

    async fn blocking_read(&mut self, size: usize) -> StreamResult<Bytes> {
        let _busy = self.watch.begin()?;
        let bytes = self.inner.blocking_read(size).await?;
        self.watch.count_read(bytes.len());
        Ok(bytes)
    }

    async fn cancel(&mut self) {
        let _busy = self.watch.begin();
        self.inner.cancel().await;
    }
}

/// A file being written.
pub(super) struct WatchedOutput {
    inner: DynOutputStream,
    watch: FileWatch,
    _open: Streaming,
}

impl WatchedOutput {
    pub(super) fn new(inner: DynOutputStream, watch: &FileWatch) -> Self {
        Self { inner, _open: watch.streaming(), watch: watch.clone() }
    }
}

#[async_trait::async_trait]
impl Pollable for WatchedOutput {
    async fn ready(&mut self) {
        let _busy = self.watch.begin();
        self.inner.ready().await;
    }
}

#[async_trait::async_trait]
impl OutputStream for WatchedOutput {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        let _busy = self.watch.begin()?;
        self.watch.count_written(bytes.len());
        self.inner.write(bytes)
    }

    fn flush(&mut self) -> StreamResult<()> {
        self.inner.flush()
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        self.inner.check_write()
    }

    async fn blocking_write_and_flush(&mut self, bytes: Bytes) -> StreamResult<()> {
        let _busy = self.watch.begin()?;
        self.watch.count_written(bytes.len());
        self.inner.blocking_write_and_flush(bytes).await
    }

    async fn cancel(&mut self) {
        let _busy = self.watch.begin();
        self.inner.cancel().await;
    }
}
