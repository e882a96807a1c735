//! The latest events of one audience, and how a watcher reads them by number.
//!
//! Bounded in number and in bytes: a watcher that is slow finds the oldest gone and is told how
//! many. Waits for nobody.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use bytes::Bytes;
use serde_json::json;
use tokio::sync::watch;

use crate::events::{Event, EventKind, Redactor};

/// Events that are held.
pub(super) const EVENTS_MAX: usize = 4_096;
/// About so many bytes of them.
const BYTES_MAX: usize = 8 << 20;
/// Bytes that a watcher is handed at once; more only by one long event.
const PIECE_LEN: usize = 32 << 10;
/// Events that are looked at for one piece.
const PIECE_EVENTS: usize = 256;
/// What an event takes beside its texts, about.
const EVENT_LEN: usize = 400;

/// An event, written once for all who read it.
#[derive(Debug)]
pub(super) struct Written {
    event: Arc<Event>,
    text: OnceLock<Bytes>,
}

impl Written {
    pub(super) fn new(event: Arc<Event>) -> Arc<Self> {
        Arc::new(Self { event, text: OnceLock::new() })
    }

    fn text(&self, redactor: &Redactor) -> Bytes {
        self.text.get_or_init(|| written(&self.event, redactor)).clone()
    }
}

/// A part of a `text/event-stream`, without the declared secrets.
fn written(event: &Event, redactor: &Redactor) -> Bytes {
    let number = event.sequence;
    let plain = serde_json::to_string(event).unwrap_or_else(|error| {
        tracing::error!("an event has no JSON: {error}");
        json!({"sequence": number}).to_string()
    });
    let read = || serde_json::from_str(&plain).ok();
    let hidden = redactor.may_be_in_json(&plain).then(read).flatten();
    let text = hidden.map_or(plain, |value| redactor.value(&value).to_string());
    Bytes::from(format!("id: {number}\ndata: {text}\n\n"))
}

/// About how many bytes an event holds.
fn weight(event: &Event) -> usize {
    EVENT_LEN
        + match &event.kind {
            EventKind::ToolApprovalRequest { arguments, .. } => 3 * arguments.canonical().len(),
            EventKind::ToolCallInvoke(report) => {
                report.arguments.as_ref().map_or(0, |it| 3 * it.canonical().len())
                    + report.error_message.as_ref().map_or(0, String::len)
            }
            EventKind::Log { message, .. } => message.len(),
            EventKind::Printed { text, .. } | EventKind::AuthorNote { text } => text.len(),
            EventKind::PluginLoaded { tools, .. } | EventKind::ToolsChanged { tools, .. } => {
                tools.len() * EVENT_LEN
            }
            _ => 0,
        }
}

#[derive(Debug)]
enum What {
    Event(Arc<Written>),
    /// So many went by before anybody could hold them.
    Gap(u64),
}

#[derive(Debug)]
struct Item {
    sequence: u64,
    weight: usize,
    what: What,
}

#[derive(Debug, Default)]
struct Held {
    items: VecDeque<Item>,
    /// The place of the first item; places rise by one.
    first: u64,
    weight: usize,
    /// The number of the last event that is gone.
    gone_through: u64,
    /// The number of the last event.
    last: u64,
}

impl Held {
    fn next_place(&self) -> u64 {
        self.first + self.items.len() as u64
    }

    fn push(&mut self, item: Item) {
        self.weight += item.weight;
        self.last = item.sequence;
        self.items.push_back(item);
        while self.items.len() > EVENTS_MAX || (self.weight > BYTES_MAX && self.items.len() > 1) {
            let Some(oldest) = self.items.pop_front() else { break };
            self.weight = self.weight.saturating_sub(oldest.weight);
            self.gone_through = oldest.sequence;
            self.first += 1;
        }
    }
}

/// The events of one audience.
#[derive(Debug)]
pub(super) struct Lane {
    held: Mutex<Held>,
    news: watch::Sender<()>,
    watchers: AtomicUsize,
}

impl Lane {
    pub(super) fn new() -> Arc<Self> {
        let (held, news) = (Mutex::default(), watch::Sender::new(()));
        Arc::new(Self { held, news, watchers: AtomicUsize::new(0) })
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn push(&self, event: &Arc<Written>) {
        let (sequence, weight) = (event.event.sequence, weight(&event.event));
        self.lock().push(Item { sequence, weight, what: What::Event(Arc::clone(event)) });
    }

    pub(super) fn push_gap(&self, missed: u64) {
        let mut held = self.lock();
        let sequence = held.last;
        held.push(Item { sequence, weight: EVENT_LEN, what: What::Gap(missed) });
    }

    /// Wakes whoever watches.
    pub(super) fn tell(&self) {
        self.news.send_replace(());
    }

    /// How many watch.
    pub(super) fn watchers(&self) -> usize {
        self.watchers.load(Ordering::Relaxed)
    }

    /// Watches from now on, or from behind the event of this number.
    pub(super) fn watch(self: &Arc<Self>, after: Option<u64>) -> Watcher {
        let (held, news) = (self.lock(), self.news.subscribe());
        self.watchers.fetch_add(1, Ordering::Relaxed);
        let (place, missed) = match after {
            None => (held.next_place(), None),
            // A number that was never given here is of an earlier run.
            Some(after) if after > held.last => (held.first, Some(0)),
            Some(after) => {
                let seen = held.items.partition_point(|item| item.sequence <= after) as u64;
                let missed = held.gone_through.checked_sub(after).filter(|missed| *missed > 0);
                (held.first + seen, missed.map(|missed| missed.min(held.first)))
            }
        };
        drop(held);
        Watcher { lane: Arc::clone(self), news, place, missed }
    }
}

/// One who watches.
#[derive(Debug)]
pub(super) struct Watcher {
    lane: Arc<Lane>,
    news: watch::Receiver<()>,
    place: u64,
    /// What is to be told first.
    missed: Option<u64>,
}

impl Watcher {
    /// What has come since, as much as is handed on at once; empty where nothing has.
    pub(super) fn piece(&mut self, redactor: &Redactor) -> Vec<u8> {
        let mut piece = Vec::new();
        for item in self.look(&mut piece) {
            match item {
                Ok(event) => piece.extend_from_slice(&event.text(redactor)),
                Err(missed) => piece.extend_from_slice(lagged(missed).as_bytes()),
            }
            self.place += 1;
            if piece.len() >= PIECE_LEN {
                break;
            }
        }
        piece
    }

    fn look(&mut self, piece: &mut Vec<u8>) -> Vec<Result<Arc<Written>, u64>> {
        self.news.borrow_and_update();
        let held = self.lane.lock();
        if let Some(missed) = self.missed.take() {
            piece.extend_from_slice(lagged(missed).as_bytes());
        }
        if self.place < held.first {
            piece.extend_from_slice(lagged(held.first - self.place).as_bytes());
            self.place = held.first;
        }
        let from = usize::try_from(self.place - held.first).unwrap_or(usize::MAX);
        let next = held.items.iter().skip(from).take(PIECE_EVENTS);
        next.map(|item| match &item.what {
            What::Event(event) => Ok(Arc::clone(event)),
            What::Gap(missed) => Err(*missed),
        })
        .collect()
    }

    /// Waits until something may have come.
    pub(super) async fn changed(&mut self) {
        // The lane is held here, so that it can't be gone.
        self.news.changed().await.ok();
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.lane.watchers.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Says that events are missing. Without a number of its own, so that a client goes on from the one
/// before.
fn lagged(missed: u64) -> String {
    format!("event: lagged\ndata: {}\n\n", json!({"missed": missed}))
}

#[cfg(test)]
mod tests;
