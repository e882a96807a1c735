//! The one watcher of the host's bus, and the lanes that it sorts events into.
//!
//! A call pays for one watcher, however many clients watch: they are woken together, and rarer the
//! more they are. A caller's lane holds events of its own calls alone.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::lane::{Lane, Watcher, Written};
use super::problem::Problem;
use crate::events::{EventStream, Redactor, Seen};
use crate::host::Host;

/// Streams that are open at once.
pub(super) const STREAMS_MAX: usize = 4_096;
/// Events come in bursts: one look for many. The bus holds 1,024, which is far more than come
/// within this time.
const BREATH: Duration = Duration::from_millis(1);
/// Watchers are woken so often at most.
const PAUSE: Duration = Duration::from_millis(20);
/// And so much rarer for each of them.
const PAUSE_FOR_EACH: Duration = Duration::from_micros(200);

/// The lanes.
#[derive(Debug)]
pub(super) struct EventHub {
    all: Arc<Lane>,
    of_caller: HashMap<String, Arc<Lane>>,
    streams: Arc<Semaphore>,
    redactor: Redactor,
    closing: CancellationToken,
}

impl EventHub {
    /// Watches until `closing`, or until nobody holds the hub.
    pub(super) fn start<'a>(
        host: &Host,
        callers: impl Iterator<Item = &'a str>,
        redactor: Redactor,
        closing: CancellationToken,
    ) -> Arc<Self> {
        let of_caller = callers.map(|caller| (caller.to_owned(), Lane::new())).collect();
        let streams = Arc::new(Semaphore::new(STREAMS_MAX));
        let hub = Self { all: Lane::new(), of_caller, streams, redactor, closing };
        let hub = Arc::new(hub);
        tokio::spawn(Sorting::new(&hub).run(host.events()));
        hub
    }

    /// Watches what `caller` may see; `None`: everything.
    pub(super) fn watch(
        &self,
        caller: Option<&str>,
        after: Option<u64>,
    ) -> Result<Stream, Problem> {
        let lane = match caller {
            None => Some(&self.all),
            Some(caller) => self.of_caller.get(caller),
        };
        let lane = lane.ok_or_else(|| Problem::forbidden("this token has no events"))?;
        let place = Arc::clone(&self.streams).try_acquire_owned().map_err(|_full| {
            Problem::too_many(format!("{STREAMS_MAX} streams of events are open already"))
        })?;
        Ok(Stream { watcher: lane.watch(after), closing: self.closing.clone(), _place: place })
    }

    /// What takes the declared secrets out of events.
    pub(super) fn redactor(&self) -> &Redactor {
        &self.redactor
    }
}

/// An open stream of events.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) watcher: Watcher,
    pub(super) closing: CancellationToken,
    _place: OwnedSemaphorePermit,
}

/// What runs beside the hub. Holds its lanes and not the hub, so that it ends with it.
struct Sorting {
    all: Arc<Lane>,
    of_caller: HashMap<String, (Arc<Lane>, bool)>,
    closing: CancellationToken,
    hub: std::sync::Weak<EventHub>,
}

impl Sorting {
    fn new(hub: &Arc<EventHub>) -> Self {
        let lanes = hub.of_caller.iter();
        Self {
            all: Arc::clone(&hub.all),
            of_caller: lanes.map(|(name, it)| (name.clone(), (Arc::clone(it), false))).collect(),
            closing: hub.closing.clone(),
            hub: Arc::downgrade(hub),
        }
    }

    async fn run(mut self, mut events: EventStream) {
        let (mut told, mut is_due) = (Instant::now(), false);
        loop {
            tokio::select! {
                biased;
                () = self.closing.cancelled() => return,
                () = tokio::time::sleep_until(told + self.pause()), if is_due => {
                    self.tell();
                    (told, is_due) = (Instant::now(), false);
                }
                seen = events.next() => {
                    let Some(seen) = seen else { return };
                    self.take(seen);
                    while let Some(seen) = events.try_next() {
                        self.take(seen);
                    }
                    is_due = true;
                    if self.hub.strong_count() == 0 {
                        return;
                    }
                    tokio::time::sleep(BREATH).await;
                }
            }
        }
    }

    fn take(&mut self, seen: Seen) {
        match seen {
            Seen::Event(event) => {
                let caller = event.caller.clone();
                let written = Written::new(event);
                self.all.push(&written);
                if let Some((lane, is_due)) = caller.and_then(|it| self.of_caller.get_mut(&it)) {
                    lane.push(&written);
                    *is_due = true;
                }
            }
            Seen::Missed(missed) => {
                self.all.push_gap(missed);
                for (lane, is_due) in self.of_caller.values_mut() {
                    lane.push_gap(missed);
                    *is_due = true;
                }
            }
        }
    }

    fn tell(&mut self) {
        self.all.tell();
        for (lane, is_due) in self.of_caller.values_mut() {
            if std::mem::take(is_due) {
                lane.tell();
            }
        }
    }

    fn pause(&self) -> Duration {
        let lanes = self.of_caller.values().map(|(lane, _)| lane).chain([&self.all]);
        let watchers: usize = lanes.map(|lane| lane.watchers()).sum();
        PAUSE + PAUSE_FOR_EACH * u32::try_from(watchers).unwrap_or(u32::MAX)
    }
}
