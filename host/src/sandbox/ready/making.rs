//! Makes one instance ahead of its call.
//!
//! Grants nothing, and keeps none whose start could tell that no call was there.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::{Place, Ready, ReadyPool};
use crate::contract::limits::{LimitKind, Limits};
use crate::sandbox::classify::no_room;
use crate::sandbox::compiled::Compiled;
use crate::sandbox::fault::HostEnd;
use crate::sandbox::store::bare_store;

/// How long a start may take. Its fuel is less than a second's work; more is for a busy machine.
const START_MAX: Duration = Duration::from_secs(5);
/// Most fuel of a start: half a second of work.
const START_FUEL: u64 = 1_000_000_000;

/// What came of it.
pub(super) enum Made {
    Ready(Box<Ready>),
    /// Another time.
    NoRoom,
    /// It took too long, on a machine that may be busy.
    Late,
    /// Never, and why.
    Unfit(String),
}

pub(super) async fn make(
    plugin: &Compiled,
    pool: &ReadyPool,
    mut place: Place,
    limits: &Arc<Limits>,
) -> Made {
    let _awake = pool.0.ticker.keep_awake();
    let given = limits.get(LimitKind::Fuel).value.min(START_FUEL);
    let mut store = match bare_store(plugin, limits, given, Instant::now() + START_MAX) {
        Ok(store) => store,
        Err(error) if no_room(&error).is_some() => return Made::NoRoom,
        Err(error) => return Made::Unfit(format!("{error:#}")),
    };
    let started = plugin.pre.instantiate_async(&mut store);
    let instance = match tokio::time::timeout(START_MAX, started).await {
        Ok(Ok(instance)) => instance,
        Ok(Err(error)) if no_room(&error).is_some() => return Made::NoRoom,
        Ok(Err(error)) if error.is::<HostEnd>() => return Made::Late,
        Ok(Err(error)) => return Made::Unfit(format!("its start fails: {error:#}")),
        Err(_late) => return Made::Late,
    };
    let state = store.data();
    if state.asked {
        return Made::Unfit("its start asks something of the host".to_owned());
    }
    if state.meter.refused().is_some() {
        return Made::Unfit("its start asks for more memory than it may have".to_owned());
    }
    let bytes = state.meter.peak_bytes();
    plugin.shelf.bytes.store(bytes, Ordering::Release);
    if !place.hold(bytes) {
        return Made::NoRoom;
    }
    let fuel = given.saturating_sub(store.get_fuel().unwrap_or_default());
    Made::Ready(Box::new(Ready { store, instance, fuel, _place: place }))
}
