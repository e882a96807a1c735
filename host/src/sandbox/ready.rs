//! Instances of plugins that are called often, made ahead of their calls: each is for one call, like
//! any other, and nothing of a call is in it before that call claims it.
//!
//! They are made under the limits of an earlier call, with nothing granted and nobody to answer to.
//! A plugin whose start asks anything of the host, or is refused memory, would have noticed, so it
//! never has one.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use tokio::sync::mpsc::{Receiver, Sender, channel, error::TrySendError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use wasmtime::Store;
use wasmtime::component::Instance;

use self::making::{Made, make};
use super::compiled::Compiled;
use super::permits::{Permit, Permits};
use super::state::HostState;
use super::ticker::Ticker;
use crate::contract::limits::{LimitKind, Limits};

mod making;

/// Instances ahead of one plugin's calls. Two are enough where calls come one after another; where
/// they come faster than instances are made, no number is.
const PLUGIN_READY: usize = 2;
/// Memory and tables of all instances made ahead, in bytes, as a limit on memory counts them.
const READY_BYTES_MAX: u64 = 512 << 20;
/// A plugin is called often if so many calls of it ended within [`OFTEN_WITHIN`].
const OFTEN_CALLS: u32 = 3;
const OFTEN_WITHIN: Duration = Duration::from_secs(10);
/// After so long without a call nothing is kept ahead any more.
const IDLE: Duration = Duration::from_secs(30);
/// Stores that wait to be torn down. Each holds its call's permit, so these are few.
const SPENT_MAX: usize = 2;

/// What the plugins of a host share.
#[derive(Clone)]
pub(crate) struct ReadyPool(Arc<Shared>);

struct Shared {
    instances: usize,
    places: Arc<Semaphore>,
    /// Held by the plugin whose instance is being made: one at a time, so that starts take no more
    /// of the machine than one call.
    making: Semaphore,
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
            making: Semaphore::new(1),
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

    /// A place for one more instance that may hold so many bytes.
    fn place(&self, bytes: u64) -> Option<Place> {
        let place = Arc::clone(&self.0.places).try_acquire_owned().ok()?;
        let mut place = Place { _place: place, bytes: Arc::clone(&self.0.bytes), held: 0 };
        place.hold(bytes).then_some(place)
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
    /// Whether a call under these limits would have come as far, and no further.
    fn fits(&self, limits: &Limits) -> bool {
        limits.get(LimitKind::Fuel).value > self.fuel && self.store.data().meter.is_under(limits)
    }
}

/// One of the places for instances made ahead, and their share of memory.
struct Place {
    _place: OwnedSemaphorePermit,
    bytes: Arc<AtomicU64>,
    held: u64,
}

impl Place {
    /// Holds so much in all; `false`: that is more than there is.
    fn hold(&mut self, bytes: u64) -> bool {
        let more = bytes.saturating_sub(self.held);
        self.held += more;
        self.bytes.fetch_add(more, Ordering::AcqRel) + more <= READY_BYTES_MAX
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.bytes.fetch_sub(self.held, Ordering::AcqRel);
    }
}

/// A call that has ended: its store, where it isn't torn down yet, with what lets another call in
/// once it is gone, and the limits it ran under.
pub(super) struct Spent {
    pub(super) store: Option<Store<HostState>>,
    pub(super) permit: Permit,
    pub(super) limits: Arc<Limits>,
}

impl Spent {
    /// Tears the store down, then lets another call in.
    fn tear_down(self) -> Arc<Limits> {
        drop(self.store);
        drop(self.permit);
        self.limits
    }
}

/// What is ready of one plugin.
#[derive(Default)]
pub(crate) struct Shelf {
    ready: Mutex<Vec<Ready>>,
    count: AtomicUsize,
    /// Its start can't be made ahead of a call.
    unfit: AtomicBool,
    /// What its last instance held, in bytes.
    bytes: AtomicU64,
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
        let place = ready.iter().position(|ready| ready.fits(limits))?;
        let taken = ready.remove(place);
        self.count.store(ready.len(), Ordering::Release);
        Some(taken)
    }

    /// Whether a call under these limits finds one.
    fn has(&self, limits: &Limits) -> bool {
        lock(&self.ready).iter().any(|ready| ready.fits(limits))
    }

    /// Puts one in, behind those that were there; beyond its number the oldest goes.
    fn put(&self, made: Ready) {
        let mut ready = lock(&self.ready);
        ready.push(made);
        let oldest = (ready.len() > PLUGIN_READY).then(|| ready.remove(0));
        self.count.store(ready.len(), Ordering::Release);
        drop(ready);
        drop(oldest);
    }

    /// Instances that are ready, for whatever limits.
    pub(super) fn len(&self) -> usize {
        self.count.load(Ordering::Acquire)
    }

    fn is_unfit(&self) -> bool {
        self.unfit.load(Ordering::Acquire)
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
        // A store that waits holds a permit, which nobody may be kept waiting for.
        let is_scarce = || !pool.0.permits.has_room(&plugin.permits, SPENT_MAX + 1);
        if pool.0.instances == 0 || shelf.is_unfit() || pool.is_under_pressure() || is_scarce() {
            return;
        }
        // Whoever holds it counts a call of the same plugin: this one isn't needed too.
        let Ok(mut keeper) = shelf.keeper.try_lock() else { return };
        let spent = match &keeper.spent {
            None => spent,
            Some(sender) => match sender.try_send(spent) {
                Ok(()) | Err(TrySendError::Full(_)) => return,
                Err(TrySendError::Closed(spent)) => {
                    *keeper = Keeper::default();
                    spent
                }
            },
        };
        if keeper.is_called_often() {
            let (sender, receiver) = channel(SPENT_MAX);
            tokio::spawn(keep(Arc::downgrade(plugin), pool.clone(), receiver));
            // There is room in a new channel.
            drop(sender.try_send(spent));
            keeper.spent = Some(sender);
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
    while let Ok(Some(ended)) = tokio::time::timeout(IDLE, spent.recv()).await {
        let limits = ended.tear_down();
        let Some(plugin) = plugin.upgrade() else { return };
        let filling = fill(&plugin, &pool, &limits);
        tokio::pin!(filling);
        // Calls that end meanwhile don't keep their permits for as long as a start takes.
        let goes_on = loop {
            tokio::select! {
                goes_on = &mut filling => break goes_on,
                Some(ended) = spent.recv() => drop(ended.tear_down()),
            }
        };
        if !goes_on {
            break;
        }
    }
    let Some(plugin) = plugin.upgrade() else { return };
    *lock(&plugin.shelf.keeper) = Keeper::default();
    plugin.shelf.clear();
}

/// Makes what is missing, where there is room. `false`: not now, whatever is called.
async fn fill(plugin: &Arc<Compiled>, pool: &ReadyPool, limits: &Arc<Limits>) -> bool {
    let shelf = &plugin.shelf;
    // A plugin's tools may have limits of their own: each finds one, where there are two.
    while (shelf.len() < PLUGIN_READY || !shelf.has(limits)) && !pool.is_under_pressure() {
        let Some(place) = pool.place(shelf.bytes.load(Ordering::Acquire)) else { return true };
        let Ok(_turn) = pool.0.making.try_acquire() else { return true };
        match make(plugin, pool, place, limits).await {
            Made::Ready(ready) => shelf.put(*ready),
            Made::NoRoom => return true,
            Made::Late => return false,
            Made::Unfit(why) => {
                tracing::debug!("no instance is made ahead of calls: {why}");
                shelf.unfit.store(true, Ordering::Release);
                return false;
            }
        }
    }
    true
}

#[cfg(test)]
mod tests;
