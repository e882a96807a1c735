//! One bounded stream of events to any number of watchers.
//!
//! Never waits: a watcher that is slow loses the oldest events and is told how many. Stores
//! nothing; the audit log is another thing.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::broadcast;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};

use super::clock::Clock;
use super::event::{Event, EventKind};
use crate::contract::ids::CallId;

/// Events that are held for the slowest watcher; each is freed once all have seen it.
const EVENTS_HELD_MAX: usize = 1024;

/// Where events go. Clones are the same bus.
#[derive(Debug, Clone)]
pub struct EventBus(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    sender: broadcast::Sender<Arc<Event>>,
    /// The number of the last event. Held over the send, so that numbers arrive in their order;
    /// the send waits for no watcher.
    last: Mutex<u64>,
    clock: Clock,
}

impl EventBus {
    /// A bus without watchers whose events bear the time of `clock`.
    pub fn new(clock: Clock) -> Self {
        Self::with_capacity(clock, EVENTS_HELD_MAX)
    }

    fn with_capacity(clock: Clock, capacity: usize) -> Self {
        let sender = broadcast::Sender::new(capacity);
        Self(Arc::new(Shared { sender, last: Mutex::new(0), clock }))
    }

    /// Whether anybody would see an event.
    pub fn is_watched(&self) -> bool {
        self.0.sender.receiver_count() > 0
    }

    /// Publishes what `kind` makes. Without a watcher nothing is made, numbered or timed.
    pub fn publish(&self, call_id: Option<&CallId>, kind: impl FnOnce() -> EventKind) {
        self.publish_of(call_id, None, kind);
    }

    /// The same of a call of this caller.
    pub fn publish_for(
        &self,
        call_id: &CallId,
        caller: Option<&str>,
        kind: impl FnOnce() -> EventKind,
    ) {
        self.publish_of(Some(call_id), caller, kind);
    }

    fn publish_of(
        &self,
        call_id: Option<&CallId>,
        caller: Option<&str>,
        kind: impl FnOnce() -> EventKind,
    ) {
        if !self.is_watched() {
            return;
        }
        let (kind, call_id, at_unix_ms) = (kind(), call_id.cloned(), (self.0.clock)());
        let caller = caller.map(str::to_owned);
        let mut last = self.0.last.lock().unwrap_or_else(PoisonError::into_inner);
        *last += 1;
        let event = Event { sequence: *last, at_unix_ms, call_id, caller, kind };
        // An error means that the last watcher has just gone.
        self.0.sender.send(Arc::new(event)).ok();
    }

    /// Watches from now on.
    pub fn watch(&self) -> EventStream {
        EventStream { receiver: self.0.sender.subscribe() }
    }
}

/// What a watcher gets next.
#[derive(Debug, Clone, PartialEq)]
pub enum Seen {
    /// An event.
    Event(Arc<Event>),
    /// So many events went by before the watcher looked.
    Missed(u64),
}

/// A watcher's view of the bus.
#[derive(Debug)]
pub struct EventStream {
    receiver: broadcast::Receiver<Arc<Event>>,
}

impl EventStream {
    /// Waits for the next event; `None` once the bus is gone. Safe to drop while it waits.
    pub async fn next(&mut self) -> Option<Seen> {
        match self.receiver.recv().await {
            Ok(event) => Some(Seen::Event(event)),
            Err(RecvError::Lagged(missed)) => Some(Seen::Missed(missed)),
            Err(RecvError::Closed) => None,
        }
    }

    /// What is there already; `None` if nothing is.
    pub fn try_next(&mut self) -> Option<Seen> {
        match self.receiver.try_recv() {
            Ok(event) => Some(Seen::Event(event)),
            Err(TryRecvError::Lagged(missed)) => Some(Seen::Missed(missed)),
            Err(TryRecvError::Empty | TryRecvError::Closed) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(text: &str) -> EventKind {
        EventKind::AuthorNote { text: text.to_owned() }
    }

    fn drain(stream: &mut EventStream) -> Vec<Seen> {
        std::iter::from_fn(|| stream.try_next()).collect()
    }

    #[test]
    fn without_a_watcher_no_event_is_made() {
        let bus = EventBus::new(|| panic!("no event, no time"));
        bus.publish(None, || panic!("nobody watches"));
        drop(bus.watch());
        bus.publish(None, || panic!("nobody watches any more"));
    }

    #[test]
    fn every_watcher_gets_every_event_in_order_with_number_and_time() {
        let bus = EventBus::new(|| 5);
        let call_id: CallId = "c1".parse().unwrap();
        let (mut one, mut two) = (bus.watch(), bus.watch());
        bus.publish(Some(&call_id), || note("a"));
        bus.clone().publish(None, || note("b"));
        let seen = drain(&mut one);
        assert_eq!(seen, drain(&mut two));
        let [Seen::Event(a), Seen::Event(b)] = &seen[..] else { panic!("{seen:?}") };
        assert_eq!((a.sequence, a.at_unix_ms, a.call_id.as_ref()), (1, 5, Some(&call_id)));
        assert_eq!((b.sequence, b.call_id.as_ref(), &b.kind), (2, None, &note("b")));
    }

    #[test]
    fn a_slow_watcher_loses_the_oldest_and_is_told_how_many() {
        let bus = EventBus::with_capacity(|| 0, 4);
        let mut slow = bus.watch();
        for _ in 0..10 {
            bus.publish(None, || note("x"));
        }
        let seen = drain(&mut slow);
        assert_eq!(seen[0], Seen::Missed(6));
        let numbers: Vec<u64> = seen[1..]
            .iter()
            .map(|seen| match seen {
                Seen::Event(event) => event.sequence,
                Seen::Missed(missed) => panic!("{missed}"),
            })
            .collect();
        assert_eq!(numbers, [7, 8, 9, 10]);
    }

    #[test]
    fn numbers_arrive_in_order_from_many_threads() {
        let bus = EventBus::with_capacity(|| 0, 4096);
        let mut stream = bus.watch();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..500).for_each(|_| bus.publish(None, || note("x"))));
            }
        });
        let numbers: Vec<u64> = drain(&mut stream)
            .into_iter()
            .filter_map(|seen| match seen {
                Seen::Event(event) => Some(event.sequence),
                Seen::Missed(_) => None,
            })
            .collect();
        assert_eq!(numbers, (1..=2000).collect::<Vec<u64>>());
    }

    #[tokio::test]
    async fn a_watcher_ends_with_its_bus() {
        let bus = EventBus::new(|| 0);
        let mut stream = bus.watch();
        bus.publish(None, || note("last"));
        drop(bus);
        assert!(matches!(stream.next().await, Some(Seen::Event(_))));
        assert_eq!(stream.next().await, None);
    }
}
