//! Keeps calls apart whose `@locks` arguments are equal, over the whole host.
//!
//! Knows no batch and no tool: only keys, who holds them, and who waits in which order.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value};
use tokio::sync::{Mutex as Turn, OwnedMutexGuard};

use crate::contract::arguments::canonical;
use crate::contract::descriptor::ToolDescriptor;
use crate::contract::ids::{Digest, PluginName};

/// What two calls may not hold at once: a value of one plugin's argument.
///
/// The value is kept as its SHA-256, so that a key has the same size whatever a caller sends.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct LockKey {
    plugin: PluginName,
    argument: String,
    value: Digest,
}

impl LockKey {
    /// The key of a value. A text that names a path in two ways has one key as far as the text
    /// alone tells: empty and `.` segments don't count, so `a`, `./a`, `a//` and `a/.` are one.
    /// What needs the disk to know (`..`, links, letter case, the same file under two grants) is
    /// not seen. That texts which are no paths are treated so too only makes two of them wait.
    pub(crate) fn new(plugin: PluginName, argument: &str, value: &Value) -> Self {
        let text = match value {
            Value::String(text) => canonical::to_string(&Value::String(plain_path(text))),
            other => canonical::to_string(other),
        };
        Self { plugin, argument: argument.to_owned(), value: Digest::of(text.as_bytes()) }
    }
}

fn plain_path(text: &str) -> String {
    let root = if text.starts_with('/') { "/" } else { "" };
    let kept = text.split('/').filter(|segment| !matches!(*segment, "" | "."));
    format!("{root}{}", kept.collect::<Vec<_>>().join("/"))
}

/// The keys of a call: one for each argument that the tool names under `@locks`. An argument that
/// is absent counts as null, and a name that is no argument's keeps all the tool's calls apart.
pub(crate) fn keys_of(tool: &ToolDescriptor, arguments: &Map<String, Value>) -> BTreeSet<LockKey> {
    let key = |name: &String| {
        // Tags name arguments as WIT does, schemas with underscores.
        let argument = name.replace('-', "_");
        let value = arguments.get(&argument).unwrap_or(&Value::Null);
        LockKey::new(tool.plugin.name.clone(), &argument, value)
    };
    tool.parallel.locks.iter().map(key).collect()
}

/// The keys that calls hold or wait for: as many as live calls have, none more.
#[derive(Debug, Clone, Default)]
pub(crate) struct Locks {
    seats: Arc<Mutex<BTreeMap<LockKey, Seat>>>,
}

/// A key with the calls that hold it or wait for it.
#[derive(Debug, Default)]
struct Seat {
    calls: usize,
    turn: Arc<Turn<()>>,
}

/// Keys that are held until this is dropped.
#[derive(Debug)]
#[must_use = "dropping it gives the keys back"]
pub(crate) struct Held {
    // Before its place is given up, a key must be free.
    _turns: Vec<(OwnedMutexGuard<()>, Place)>,
}

/// One call's claim on a seat, given back when dropped, also while it waits.
#[derive(Debug)]
struct Place {
    locks: Locks,
    key: LockKey,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut seats = self.locks.seats();
        if let Some(seat) = seats.get_mut(&self.key) {
            seat.calls -= 1;
            if seat.calls == 0 {
                seats.remove(&self.key);
            }
        }
    }
}

impl Locks {
    /// Waits until all `keys` are free and holds them. Whoever asked first is first. Keys are taken
    /// in one order for all, so that no two calls wait for each other. Dropped while it waits, it
    /// holds nothing.
    pub(crate) async fn hold(&self, keys: BTreeSet<LockKey>) -> Held {
        let mut turns = Vec::with_capacity(keys.len());
        for key in keys {
            let (turn, place) = self.sit(key);
            turns.push((turn.lock_owned().await, place));
        }
        Held { _turns: turns }
    }

    fn sit(&self, key: LockKey) -> (Arc<Turn<()>>, Place) {
        let mut seats = self.seats();
        let seat = seats.entry(key.clone()).or_default();
        seat.calls += 1;
        (Arc::clone(&seat.turn), Place { locks: self.clone(), key })
    }

    fn seats(&self) -> MutexGuard<'_, BTreeMap<LockKey, Seat>> {
        // Nothing in here panics between two changes, so a poisoned map is a sound one.
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(test)]
    fn is_empty(&self) -> bool {
        self.seats().is_empty()
    }
}

#[cfg(test)]
mod tests;
