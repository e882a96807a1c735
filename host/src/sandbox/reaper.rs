//! Calls whose time is up while a file operation still blocks a thread, or one long instruction holds
//! it.
//!
//! Such a store can't be dropped: the thread would go on without anybody counting it, and a write
//! might still land. So the answer goes out at once, and the store moves here with its permit until
//! the operation returns; its guest then ends. Past a bound, calls with folders are refused.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Blocked calls from which on no call with folders is started. Those that had begun before may add
/// to them; the host's permits, which they keep, bound that.
pub const BLOCKED_CALLS: u32 = 8;

/// Counts the blocked calls of one host.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reaper {
    blocked: Arc<AtomicUsize>,
}

impl Reaper {
    /// How many calls are past their end and still blocked.
    pub(crate) fn blocked(&self) -> usize {
        self.blocked.load(Ordering::Acquire)
    }

    /// Whether calls with folders have to be refused for now.
    pub(crate) fn is_full(&self) -> bool {
        self.blocked() >= BLOCKED_CALLS as usize
    }

    /// Takes a call that is past its end. Needs no answer, so the caller needn't wait.
    pub(crate) fn take(&self, call: Pin<Box<dyn Future<Output = ()> + Send>>) {
        // Outside a runtime nothing can be blocked by it either: the process is going down.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let counted = Counted::new(Arc::clone(&self.blocked));
        runtime.spawn(async move {
            call.await;
            drop(counted);
        });
    }
}

struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn new(count: Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::AcqRel);
        Self(count)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_blocked_call_is_counted_until_it_ends() {
        let reaper = Reaper::default();
        let mut ends = Vec::new();
        for _ in 0..BLOCKED_CALLS {
            assert!(!reaper.is_full());
            let (end, ended) = tokio::sync::oneshot::channel::<()>();
            reaper.take(Box::pin(async move { ended.await.unwrap_or_default() }));
            ends.push(end);
        }
        assert!(reaper.is_full());
        drop(ends);
        while reaper.blocked() > 0 {
            tokio::task::yield_now().await;
        }
    }
}
