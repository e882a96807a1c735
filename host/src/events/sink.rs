//! What the guest of one call says, as events, within that call's share.
//!
//! A guest can say as much as its fuel pays for; its share keeps it from pushing everybody else's
//! events out of the bus.

use std::sync::{Mutex, PoisonError};

use super::bus::EventBus;
use super::event::EventKind;
use crate::contract::escape;
use crate::contract::ids::CallId;
use crate::contract::sink::{CallSink, LogLevel, Progress, Stream};

/// Progress and log events of one call that are published.
const EVENTS_MAX: u64 = 256;
/// Bytes of text in them.
const TEXT_MAX: u64 = 256 << 10;
/// Longest note for an author, in bytes; a backtrace of a deep recursion is longer.
const NOTE_MAX_LEN: usize = 64 << 10;

/// What was over a call's share.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Dropped {
    /// Progress and log events.
    pub events: u64,
    /// Bytes of text in them.
    pub bytes: u64,
}

/// The sink of one call, all its attempts together.
#[derive(Debug)]
pub struct BusSink {
    bus: EventBus,
    call_id: CallId,
    caller: Option<String>,
    share: Mutex<Share>,
}

#[derive(Debug, Default)]
struct Share {
    events: u64,
    bytes: u64,
    dropped: Dropped,
}

impl Share {
    /// Takes an event with so much text, or counts it as dropped.
    fn take(&mut self, bytes: u64) -> bool {
        let fits = self.events < EVENTS_MAX && bytes <= TEXT_MAX - self.bytes;
        if fits {
            self.events += 1;
            self.bytes += bytes;
        } else {
            self.dropped.events += 1;
            self.dropped.bytes = self.dropped.bytes.saturating_add(bytes);
        }
        fits
    }
}

impl BusSink {
    /// A sink whose events are of this call of this caller.
    pub fn new(bus: EventBus, call_id: CallId, caller: Option<String>) -> Self {
        Self { bus, call_id, caller, share: Mutex::new(Share::default()) }
    }

    /// What has been dropped so far; for the event that ends the call. Nothing is dropped, and
    /// nothing counted, while nobody watches.
    pub fn dropped(&self) -> Dropped {
        self.share.lock().unwrap_or_else(PoisonError::into_inner).dropped
    }

    fn publish(&self, kind: impl FnOnce() -> EventKind) {
        self.bus.publish_for(&self.call_id, self.caller.as_deref(), kind);
    }

    fn publish_within_share(&self, text_len: usize, kind: impl FnOnce() -> EventKind) {
        if !self.bus.is_watched() {
            return;
        }
        let fits = self.share.lock().unwrap_or_else(PoisonError::into_inner).take(text_len as u64);
        if fits {
            self.publish(kind);
        }
    }
}

impl CallSink for BusSink {
    fn progress(&self, progress: Progress) {
        let text_len = progress.message.as_ref().map_or(0, String::len);
        self.publish_within_share(text_len, || EventKind::Progress(progress));
    }

    fn log(&self, level: LogLevel, message: String) {
        self.publish_within_share(message.len(), || EventKind::Log { level, message });
    }

    // Bounded already, by the stdio limit, and comes once a stream and attempt.
    fn printed(&self, stream: Stream, text: String, dropped: u64) {
        self.publish(|| EventKind::Printed { stream, text, dropped });
    }

    fn author_note(&self, text: String) {
        self.publish(|| EventKind::AuthorNote {
            text: escape::cut(&text, NOTE_MAX_LEN).to_owned(),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::bus::{EventStream, Seen};
    use super::*;

    fn sink() -> (BusSink, EventStream) {
        let bus = EventBus::new(|| 0);
        let stream = bus.watch();
        (BusSink::new(bus, "c1".parse().unwrap(), None), stream)
    }

    fn kinds(stream: &mut EventStream) -> Vec<EventKind> {
        std::iter::from_fn(|| stream.try_next())
            .map(|seen| match seen {
                Seen::Event(event) => event.kind.clone(),
                Seen::Missed(missed) => panic!("missed {missed}"),
            })
            .collect()
    }

    #[test]
    fn a_guests_words_become_events_of_its_call_as_they_came() {
        let (sink, mut stream) = sink();
        sink.log(LogLevel::Warn, "\u{1b}[2Jhm".into());
        sink.printed(Stream::Stderr, "out".into(), 3);
        assert_eq!(
            kinds(&mut stream),
            [
                EventKind::Log { level: LogLevel::Warn, message: "\u{1b}[2Jhm".into() },
                EventKind::Printed { stream: Stream::Stderr, text: "out".into(), dropped: 3 },
            ]
        );
        assert_eq!(sink.dropped(), Dropped::default());
    }

    #[test]
    fn a_flood_of_events_is_dropped_and_counted() {
        let (sink, mut stream) = sink();
        for done in 0..EVENTS_MAX + 50 {
            sink.progress(Progress { done, total: None, message: None });
        }
        assert_eq!(kinds(&mut stream).len() as u64, EVENTS_MAX);
        assert_eq!(sink.dropped(), Dropped { events: 50, bytes: 0 });
        sink.author_note("why".into());
        assert_eq!(kinds(&mut stream), [EventKind::AuthorNote { text: "why".into() }]);
    }

    #[test]
    fn a_flood_of_text_is_dropped_and_counted_and_shorter_lines_still_pass() {
        let (sink, mut stream) = sink();
        let half = "x".repeat((TEXT_MAX / 2) as usize);
        for text in [half.clone(), half.clone() + "x", half.clone(), "x".into()] {
            sink.log(LogLevel::Info, text);
        }
        assert_eq!(kinds(&mut stream).len(), 2, "exactly the share");
        assert_eq!(sink.dropped(), Dropped { events: 2, bytes: TEXT_MAX / 2 + 2 });
    }

    #[test]
    fn a_long_note_is_cut_between_characters() {
        let (sink, mut stream) = sink();
        sink.author_note("日".repeat(NOTE_MAX_LEN));
        let [EventKind::AuthorNote { text }] = &kinds(&mut stream)[..] else { panic!("one note") };
        assert_eq!(text.len(), NOTE_MAX_LEN / 3 * 3);
    }

    #[test]
    fn unwatched_words_cost_no_share() {
        let bus = EventBus::new(|| 0);
        let sink = BusSink::new(bus.clone(), "c1".parse().unwrap(), None);
        for _ in 0..EVENTS_MAX * 2 {
            sink.log(LogLevel::Info, "x".into());
        }
        assert_eq!(sink.dropped(), Dropped::default());
        let mut stream = bus.watch();
        sink.log(LogLevel::Info, "now".into());
        assert_eq!(kinds(&mut stream).len(), 1);
    }
}
