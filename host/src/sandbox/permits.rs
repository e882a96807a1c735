//! How many calls may be in the sandbox at once, in all and for each plugin.
//!
//! Sits below the pool's size, so that a call waits here, or is told that it is too busy, and
//! never meets an exhausted pool.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Calls at once in this host.
pub const HOST_CALLS: u32 = 64;
/// Calls at once of one plugin.
pub const PLUGIN_CALLS: u32 = 16;
/// Calls that may wait for a permit, in this host; one more is refused as overloaded.
pub const WAITING_CALLS: u32 = 1024;

/// Permits of the whole host.
#[derive(Debug, Clone)]
pub(crate) struct Permits {
    host: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
}

/// Held while a call has a store.
#[derive(Debug)]
pub(crate) struct Permit {
    _host: OwnedSemaphorePermit,
    _plugin: OwnedSemaphorePermit,
}

/// Too many calls wait already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{WAITING_CALLS} calls are waiting already; try again later")]
pub(crate) struct TooBusy;

impl Default for Permits {
    fn default() -> Self {
        Self {
            host: Arc::new(Semaphore::new(HOST_CALLS as usize)),
            waiting: Arc::new(Semaphore::new(WAITING_CALLS as usize)),
        }
    }
}

impl Permits {
    /// A plugin's own share.
    pub(crate) fn for_plugin() -> Arc<Semaphore> {
        Arc::new(Semaphore::new(PLUGIN_CALLS as usize))
    }

    /// Waits for both permits: the plugin's first, so that a busy plugin doesn't hold the host's.
    pub(crate) async fn acquire(&self, plugin: &Arc<Semaphore>) -> Result<Permit, TooBusy> {
        if let Some(permit) = self.try_acquire(plugin) {
            return Ok(permit);
        }
        let _queued = Arc::clone(&self.waiting).try_acquire_owned().map_err(|_full| TooBusy)?;
        let plugin = Arc::clone(plugin).acquire_owned().await.map_err(|_closed| TooBusy)?;
        let host = Arc::clone(&self.host).acquire_owned().await.map_err(|_closed| TooBusy)?;
        Ok(Permit { _host: host, _plugin: plugin })
    }

    fn try_acquire(&self, plugin: &Arc<Semaphore>) -> Option<Permit> {
        let plugin = Arc::clone(plugin).try_acquire_owned().ok()?;
        let host = Arc::clone(&self.host).try_acquire_owned().ok()?;
        Some(Permit { _host: host, _plugin: plugin })
    }

    /// Calls that hold a permit now.
    pub(crate) fn in_use(&self) -> usize {
        (HOST_CALLS as usize).saturating_sub(self.host.available_permits())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_plugin_cannot_take_the_whole_host() {
        let permits = Permits::default();
        let (greedy, other) = (Permits::for_plugin(), Permits::for_plugin());
        let mut held = Vec::new();
        for _ in 0..PLUGIN_CALLS {
            held.push(permits.acquire(&greedy).await.unwrap());
        }
        assert!(permits.try_acquire(&greedy).is_none());
        assert!(permits.try_acquire(&other).is_some());
        drop(held);
        assert_eq!(permits.in_use(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn past_the_queue_calls_are_told_to_come_back() {
        let permits = Permits::default();
        let plugin = Arc::new(Semaphore::new(0));
        let waiting: Vec<_> = (0..WAITING_CALLS)
            .map(|_| {
                let (permits, plugin) = (permits.clone(), Arc::clone(&plugin));
                tokio::spawn(async move { permits.acquire(&plugin).await.map(drop) })
            })
            .collect();
        while permits.waiting.available_permits() > 0 {
            tokio::task::yield_now().await;
        }
        assert_eq!(permits.acquire(&plugin).await.unwrap_err(), TooBusy);
        plugin.add_permits(1);
        for call in waiting {
            call.await.unwrap().unwrap();
        }
    }
}
