//! File streams that are counted, and known to be running while they block.

use bytes::Bytes;
use wasmtime_wasi::p2::{
    DynInputStream, DynOutputStream, InputStream, OutputStream, Pollable, StreamError, StreamResult,
};

use super::watch::{FileWatch, InFlight, Streaming};

/// A file being read.
pub(super) struct WatchedInput {
    inner: Option<DynInputStream>,
    watch: FileWatch,
    /// A read that was begun and not waited for: it holds a thread until it is.
    begun: Option<InFlight>,
    _open: Streaming,
}

impl WatchedInput {
    pub(super) fn new(inner: DynInputStream, watch: &FileWatch) -> Self {
        let _open = watch.streaming();
        Self { inner: Some(inner), watch: watch.clone(), begun: None, _open }
    }

    fn inner(&mut self) -> StreamResult<&mut DynInputStream> {
        self.inner.as_mut().ok_or(StreamError::Closed)
    }
}

impl Drop for WatchedInput {
    fn drop(&mut self) {
        if let (Some(mut inner), Some(begun)) = (self.inner.take(), self.begun.take()) {
            see_out(async move { inner.ready().await }, begun);
        }
    }
}

#[async_trait::async_trait]
impl Pollable for WatchedInput {
    async fn ready(&mut self) {
        // A closed watch can't be told from here; the read that follows tells it.
        let _busy = self.watch.begin();
        if let Ok(inner) = self.inner() {
            inner.ready().await;
        }
        self.begun = None;
    }
}

#[async_trait::async_trait]
impl InputStream for WatchedInput {
    fn read(&mut self, size: usize) -> StreamResult<Bytes> {
        let busy = self.watch.begin()?;
        let bytes = self.inner()?.read(size)?;
        self.watch.count_read(bytes.len());
        self.begun = (bytes.is_empty() && size > 0).then_some(busy);
        Ok(bytes)
    }

    async fn blocking_read(&mut self, size: usize) -> StreamResult<Bytes> {
        let _busy = self.watch.begin()?;
        let bytes = self.inner()?.blocking_read(size).await?;
        self.begun = None;
        self.watch.count_read(bytes.len());
        Ok(bytes)
    }

    async fn cancel(&mut self) {
        let _busy = self.watch.begin();
        if let Ok(inner) = self.inner() {
            inner.cancel().await;
        }
        self.begun = None;
    }
}

/// A file being written.
pub(super) struct WatchedOutput {
    inner: Option<DynOutputStream>,
    watch: FileWatch,
    /// A write that was begun and not waited for: it holds a thread until it is.
    begun: Option<InFlight>,
    _open: Streaming,
}

impl WatchedOutput {
    pub(super) fn new(inner: DynOutputStream, watch: &FileWatch) -> Self {
        let _open = watch.streaming();
        Self { inner: Some(inner), watch: watch.clone(), begun: None, _open }
    }

    fn inner(&mut self) -> StreamResult<&mut DynOutputStream> {
        self.inner.as_mut().ok_or(StreamError::Closed)
    }
}

impl Drop for WatchedOutput {
    fn drop(&mut self) {
        if let (Some(mut inner), Some(begun)) = (self.inner.take(), self.begun.take()) {
            see_out(async move { inner.ready().await }, begun);
        }
    }
}

/// An operation that outlives its stream counts as running until it really ends.
fn see_out(ready: impl Future<Output = ()> + Send + 'static, begun: InFlight) {
    if let Ok(runtime) = tokio::runtime::Handle::try_current() {
        runtime.spawn(async move {
            ready.await;
            drop(begun);
        });
    }
}

#[async_trait::async_trait]
impl Pollable for WatchedOutput {
    async fn ready(&mut self) {
        let _busy = self.watch.begin();
        if let Ok(inner) = self.inner() {
            inner.ready().await;
        }
        self.begun = None;
    }
}

#[async_trait::async_trait]
impl OutputStream for WatchedOutput {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        let busy = self.watch.begin()?;
        let len = bytes.len();
        self.inner()?.write(bytes)?;
        self.watch.count_written(len);
        self.begun = Some(busy);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        self.inner()?.flush()
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        self.inner()?.check_write()
    }

    async fn blocking_write_and_flush(&mut self, bytes: Bytes) -> StreamResult<()> {
        let _busy = self.watch.begin()?;
        let len = bytes.len();
        self.inner()?.blocking_write_and_flush(bytes).await?;
        self.begun = None;
        self.watch.count_written(len);
        Ok(())
    }

    async fn cancel(&mut self) {
        let _busy = self.watch.begin();
        if let Ok(inner) = self.inner() {
            inner.cancel().await;
        }
        self.begun = None;
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;

    use super::*;

    /// A file whose write takes until it is told to end.
    struct Slow(Option<oneshot::Receiver<()>>);

    #[async_trait::async_trait]
    impl Pollable for Slow {
        async fn ready(&mut self) {
            if let Some(end) = self.0.take() {
                end.await.unwrap_or_default();
            }
        }
    }

    #[async_trait::async_trait]
    impl OutputStream for Slow {
        fn write(&mut self, _bytes: Bytes) -> StreamResult<()> {
            Ok(())
        }
        fn flush(&mut self) -> StreamResult<()> {
            Ok(())
        }
        fn check_write(&mut self) -> StreamResult<usize> {
            Ok(1)
        }
    }

    #[tokio::test]
    async fn a_write_that_nobody_waits_for_counts_until_it_ends() {
        let watch = FileWatch::new(false, true);
        let (end, ended) = oneshot::channel();
        let mut stream = WatchedOutput::new(Box::new(Slow(Some(ended))), &watch);
        stream.write(Bytes::from_static(b"x")).unwrap();
        assert!(watch.is_busy());
        drop(stream);
        tokio::task::yield_now().await;
        assert!(watch.is_busy());
        end.send(()).unwrap();
        watch.idle().await;
    }

    #[tokio::test]
    async fn a_write_that_was_waited_for_is_over() {
        let watch = FileWatch::new(false, true);
        let mut stream = WatchedOutput::new(Box::new(Slow(None)), &watch);
        stream.write(Bytes::from_static(b"x")).unwrap();
        stream.ready().await;
        assert!(!watch.is_busy());
    }
}
