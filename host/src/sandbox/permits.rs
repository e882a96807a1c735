//! How many calls may be in the sandbox at once: in all, of one plugin, and of heavy plugins.
//!
//! Sits below the pool's size, so that a call waits here, or is told that it is too busy, and
//! never meets an exhausted pool.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::settings::SandboxSettings;

/// Calls that may wait for a permit, in this host; one more is refused as overloaded.
pub const WAITING_CALLS: u32 = 1024;
/// Calls of heavy plugins at once: their slots are large.
pub const HEAVY_CALLS: u32 = 64;

/// Permits of the whole host.
#[derive(Debug, Clone)]
pub(crate) struct Permits {
    settings: SandboxSettings,
    host: Arc<Semaphore>,
    heavy: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
}

/// The permits that one plugin's calls take.
#[derive(Debug)]
pub(crate) struct PluginPermits {
    own: Arc<Semaphore>,
    /// Of all heavy plugins together; `None` for a lean one.
    heavy: Option<Arc<Semaphore>>,
}

/// Held while a call has a store.
#[derive(Debug)]
pub(crate) struct Permit {
    _host: OwnedSemaphorePermit,
    _heavy: Option<OwnedSemaphorePermit>,
    _plugin: OwnedSemaphorePermit,
}

/// Too many calls wait already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{WAITING_CALLS} calls are waiting already; try again later")]
pub(crate) struct TooBusy;

fn places(count: u32) -> Arc<Semaphore> {
    Arc::new(Semaphore::new(count as usize))
}

impl Permits {
    pub(crate) fn new(settings: SandboxSettings) -> Self {
        Self {
            settings,
            host: places(settings.calls),
            heavy: places(settings.calls.min(HEAVY_CALLS)),
            waiting: places(WAITING_CALLS),
        }
    }

    /// A plugin's own share.
    pub(crate) fn for_plugin(&self, is_heavy: bool) -> PluginPermits {
        let own = places(self.settings.plugin_calls);
        PluginPermits { own, heavy: is_heavy.then(|| Arc::clone(&self.heavy)) }
    }

    /// Waits for all permits, among a bounded number of calls that wait: for the plugin's first, so
    /// that a busy plugin doesn't hold the host's.
    pub(crate) async fn acquire(&self, plugin: &PluginPermits) -> Result<Permit, TooBusy> {
        let _queued = Arc::clone(&self.waiting).try_acquire_owned().map_err(|_full| TooBusy)?;
        let closed = |_closed| TooBusy;
        let own = Arc::clone(&plugin.own).acquire_owned().await.map_err(closed)?;
        let heavy = match &plugin.heavy {
            Some(heavy) => Some(Arc::clone(heavy).acquire_owned().await.map_err(closed)?),
            None => None,
        };
        let host = Arc::clone(&self.host).acquire_owned().await.map_err(closed)?;
        Ok(Permit { _host: host, _heavy: heavy, _plugin: own })
    }

    /// All permits, where they are there now.
    pub(crate) fn try_acquire(&self, plugin: &PluginPermits) -> Option<Permit> {
        let own = Arc::clone(&plugin.own).try_acquire_owned().ok()?;
        let heavy = match &plugin.heavy {
            Some(heavy) => Some(Arc::clone(heavy).try_acquire_owned().ok()?),
            None => None,
        };
        let host = Arc::clone(&self.host).try_acquire_owned().ok()?;
        Some(Permit { _host: host, _heavy: heavy, _plugin: own })
    }

    /// Whether so many more calls of a plugin could come in now.
    pub(crate) fn has_room(&self, plugin: &PluginPermits, calls: usize) -> bool {
        let heavy = plugin.heavy.as_ref().into_iter();
        let mut all = heavy.chain([&plugin.own, &self.host]);
        all.all(|places| places.available_permits() >= calls)
    }

    /// Calls that hold a permit now.
    pub(crate) fn in_use(&self) -> usize {
        (self.settings.calls as usize).saturating_sub(self.host.available_permits())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_plugin_cannot_take_the_whole_host() {
        let settings = SandboxSettings::default();
        let permits = Permits::new(settings);
        let (greedy, other) = (permits.for_plugin(false), permits.for_plugin(false));
        let mut held = Vec::new();
        for _ in 0..settings.plugin_calls {
            held.push(permits.try_acquire(&greedy).unwrap());
        }
        assert!(permits.try_acquire(&greedy).is_none());
        assert!(permits.try_acquire(&other).is_some());
        drop(held);
        assert_eq!(permits.in_use(), 0);
    }

    #[tokio::test]
    async fn heavy_plugins_share_their_slots_and_leave_the_others_alone() {
        let settings =
            SandboxSettings { calls: 1000, plugin_calls: 1000, ..SandboxSettings::default() };
        let permits = Permits::new(settings);
        let (one, two) = (permits.for_plugin(true), permits.for_plugin(true));
        let mut held = Vec::new();
        for number in 0..HEAVY_CALLS {
            let plugin = if number % 2 == 0 { &one } else { &two };
            held.push(permits.try_acquire(plugin).unwrap());
        }
        assert!(permits.try_acquire(&one).is_none() && permits.try_acquire(&two).is_none());
        assert!(permits.try_acquire(&permits.for_plugin(false)).is_some());
        drop(held.pop());
        assert!(permits.try_acquire(&one).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn past_the_queue_calls_are_told_to_come_back() {
        let permits = Permits::new(SandboxSettings::default());
        let plugin = Arc::new(PluginPermits { own: places(0), heavy: None });
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
        plugin.own.add_permits(1);
        for call in waiting {
            call.await.unwrap().unwrap();
        }
    }
}
