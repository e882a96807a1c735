//! Instances of plugins that are called often, made ahead of their calls: each is for one call, like
//! any other, and nothing of a call is in it before that call claims it.
//!
//! They are made with nothing granted and nobody to answer to. A plugin whose start asks anything of
//! the host would have seen that, so it never has one.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use tokio::sync::mpsc::{Receiver, Sender, channel, error::TrySendError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use wasmtime::component::Instance;
use wasmtime::{PoolConcurrencyLimitError, Store};

use super::compiled::Compiled;
use super::permits::{Permit, Permits};
use super::state::HostState;
use super::store::{START_FUEL, bare_store};
use super::ticker::Ticker;
use crate::contract::limits::{LimitKind, Limits};

/// Instances ahead of one plugin's calls. Two are enough where calls come one after another; where
/// they come faster than instances are made, no number is.
const PLUGIN_READY: usize = 2;
/// Memory that all instances made ahead may have together, in bytes, as their modules declare it.
const READY_BYTES_MAX: u64 = 512 << 20;
/// A plugin is called often if so many calls of it ended within [`OFTEN_WITHIN`].
const OFTEN_CALLS: u32 = 3;
const OFTEN_WITHIN: Duration = Duration::from_secs(10);
/// After so long without a call nothing is kept ahead any more.
const IDLE: Duration = Duration::from_secs(30);
/// Stores that wait to be torn down. Each holds its call's permit, so these are few.
const SPENT_MAX: usize = 2;
/// How long a start may take.
const START_MAX: Duration = Duration::from_secs(1);

/// What the plugins of a host share.
#[derive(Clone)]
pub(crate) struct ReadyPool(Arc<Shared>);

struct Shared {
    instances: usize,
    places: Arc<Semaphore>,
    bytes: Arc<AtomicU64>,
    permits: Permits,
    ticker: Arc<Ticker>,
    /// More calls at once keep the machine busy: then nothing is made ahead.
    processors: usize,
}

impl ReadyPool {
    pub(super) fn new(instances: u32, permits: Permits, ticker: Arc<Ticker>) -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let instances = instances as usize;
        Self(Arc::new(Shared {
            instances,
            places: Arc::new(Semaphore::new(instances)),
            bytes: Arc::default(),
            permits,
            ticker,
            processors,
        }))
    }

    /// Instances that no call has claimed yet, with those that are being made.
    pub(super) fn held(&self) -> usize {
        self.0.instances.saturating_sub(self.0.places.available_permits())
    }

    fn is_under_pressure(&self) -> bool {
        self.0.permits.in_use() > self.0.processors
    }
}

/// An instance that no call has claimed yet.
pub(super) struct Ready {
    pub(super) store: Store<HostState>,
    pub(super) instance: Instance,
    /// What its start took of the call's fuel.
    pub(super) fuel: u64,
    _place: Place,
}

impl Ready {
    /// Whether a call under these limits would have come as far.
    fn fits(&self, limits: &Limits) -> bool {
        limits.get(LimitKind::Fuel).value > self.fuel && self.store.data().meter.fits(limits)
    }
}

/// One of the places for instances made ahead, and their share of memory.
struct Place {
    _place: OwnedSemaphorePermit,
    bytes: Arc<AtomicU64>,
    held: u64,
}

impl Place {
    fn hold(&mut self, bytes: u64) -> bool {
        self.held = bytes;
        self.bytes.fetch_add(bytes, Ordering::AcqRel) + bytes <= READY_BYTES_MAX
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.bytes.fetch_sub(self.held, Ordering::AcqRel);
    }
}

/// A store whose call has ended, with what lets another call in once it is gone.
type Spent = (Store<HostState>, Permit);

/// What is ready of one plugin.
#[derive(Default)]
pub(crate) struct Shelf {
    ready: Mutex<Vec<Ready>>,
    count: AtomicUsize,
    /// Its start asked something of the host, or fails.
    unfit: AtomicBool,
    keeper: Mutex<Keeper>,
}

#[derive(Default)]
struct Keeper {
    /// To the task that makes instances, while the plugin is called often.
    spent: Option<Sender<Spent>>,
    since: Option<Instant>,
    calls: u32,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shelf {
    /// Takes an instance for a call under these limits, where there is one.
    pub(super) fn take(&self, limits: &Limits) -> Option<Ready> {
        if self.count.load(Ordering::Acquire) == 0 {
            return None;
        }
        let mut ready = lock(&self.ready);
        let taken = ready.pop_if(|ready| ready.fits(limits));
        self.count.store(ready.len(), Ordering::Release);
        taken
    }

    fn put(&self, made: Ready) {
        let mut ready = lock(&self.ready);
        ready.push(made);
        self.count.store(ready.len(), Ordering::Release);
    }

    /// Instances that are ready.
    pub(super) fn len(&self) -> usize {
        self.count.load(Ordering::Acquire)
    }

    fn clear(&self) {
        let mut ready = lock(&self.ready);
        self.count.store(0, Ordering::Release);
        let gone = std::mem::take(&mut *ready);
        drop(ready);
        drop(gone);
    }

    /// A call of this plugin has ended. Tears its store down, now or beside the next call.
    pub(super) fn ended(plugin: &Arc<Compiled>, pool: &ReadyPool, spent: Spent) {
        let shelf = &plugin.shelf;
        if shelf.unfit.load(Ordering::Acquire) || pool.is_under_pressure() {
            return;
        }
        // Whoever holds it counts a call of the same plugin: this one isn't needed too.
        let Ok(mut keeper) = shelf.keeper.try_lock() else { return };
        match keeper.spent.as_ref().map(|sender| sender.try_send(spent)) {
            Some(Ok(()) | Err(TrySendError::Full(_))) => return,
            Some(Err(TrySendError::Closed(_))) => keeper.spent = None,
            None => {}
        }
        if keeper.is_called_often() {
            let (sender, spent) = channel(SPENT_MAX);
            keeper.spent = Some(sender);
            tokio::spawn(keep(Arc::downgrade(plugin), pool.clone(), spent));
        }
    }
}

impl Keeper {
    fn is_called_often(&mut self) -> bool {
        let now = Instant::now();
        let since = *self.since.get_or_insert(now);
        if now.duration_since(since) > OFTEN_WITHIN {
            (self.since, self.calls) = (Some(now), 0);
        }
        self.calls = self.calls.saturating_add(1);
        self.calls >= OFTEN_CALLS
    }
}

/// Keeps instances ahead of a plugin's calls for as long as they come.
async fn keep(plugin: Weak<Compiled>, pool: ReadyPool, mut spent: Receiver<Spent>) {
    loop {
        if let Some(plugin) = plugin.upgrade() {
            fill(&plugin, &pool).await;
        }
        match tokio::time::timeout(IDLE, spent.recv()).await {
            Ok(Some(one)) => drop(one),
            Ok(None) => return,
            Err(_idle) => break,
        }
        while let Ok(one) = spent.try_recv() {
            drop(one);
        }
    }
    let Some(plugin) = plugin.upgrade() else { return };
    *lock(&plugin.shelf.keeper) = Keeper::default();
    plugin.shelf.clear();
}

async fn fill(plugin: &Arc<Compiled>, pool: &ReadyPool) {
    let shelf = &plugin.shelf;
    while shelf.len() < PLUGIN_READY && !shelf.unfit.load(Ordering::Acquire) {
        if pool.is_under_pressure() {
            return;
        }
        let Ok(place) = Arc::clone(&pool.0.places).try_acquire_owned() else { return };
        let place = Place { _place: place, bytes: Arc::clone(&pool.0.bytes), held: 0 };
        match make(plugin, pool, place).await {
            Made::Ready(ready) => shelf.put(*ready),
            Made::NoRoom => return,
            Made::Unfit(why) => {
                tracing::debug!("no instance is made ahead of calls: {why}");
                shelf.unfit.store(true, Ordering::Release);
            }
        }
    }
}

enum Made {
    Ready(Box<Ready>),
    NoRoom,
    Unfit(String),
}

async fn make(plugin: &Compiled, pool: &ReadyPool, mut place: Place) -> Made {
    let _awake = pool.0.ticker.keep_awake();
    let mut store = match bare_store(plugin, Instant::now() + START_MAX) {
        Ok(store) => store,
        Err(error) => return Made::Unfit(format!("{error:#}")),
    };
    let started = plugin.pre.instantiate_async(&mut store);
    let instance = match tokio::time::timeout(START_MAX, started).await {
        Ok(Ok(instance)) => instance,
        Ok(Err(error)) if error.is::<PoolConcurrencyLimitError>() => return Made::NoRoom,
        Ok(Err(error)) => return Made::Unfit(format!("its start fails: {error:#}")),
        Err(_late) => return Made::Unfit("its start waits".to_owned()),
    };
    if store.data().asked {
        return Made::Unfit("its start asks something of the host".to_owned());
    }
    if !place.hold(store.data().meter.peak_bytes()) {
        return Made::NoRoom;
    }
    let fuel = START_FUEL.saturating_sub(store.get_fuel().unwrap_or_default());
    Made::Ready(Box::new(Ready { store, instance, fuel, _place: place }))
}

#[cfg(test)]
mod tests;
