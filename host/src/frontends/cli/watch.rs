//! What calls say while they run, as lines for stderr.
//!
//! Only looks at events; what a call gives back is in `answer`.

use std::collections::BTreeMap;

use crate::contract::escape::{clipped_line, escaped};
use crate::contract::ids::CallId;
use crate::contract::sink::{LogLevel, Stream};
use crate::events::{Event, EventKind, Redactor, Seen};

/// Longest line of a trace, in bytes: arguments may be a MiB.
const TRACE_LINE_MAX_LEN: usize = 4096;

/// Longest name before a line, in bytes.
const NAME_MAX_LEN: usize = 200;

/// How much is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Detail {
    /// What the tool prints, its warnings and its errors.
    Words,
    /// Every event.
    Trace,
}

/// Turns the events of calls into lines.
#[derive(Debug)]
pub(super) struct Watcher {
    /// The name before each line of the one call, or of a call that `names` doesn't have.
    name: String,
    /// The name before each line of a call of several.
    names: BTreeMap<CallId, String>,
    detail: Detail,
    redactor: Redactor,
    began_unix_ms: Option<u64>,
}

impl Watcher {
    /// For a call of `tool`, as its lines shall name it.
    pub(super) fn new(tool: &str, detail: Detail) -> Self {
        let name = clipped_line(tool, NAME_MAX_LEN);
        let (names, redactor) = (BTreeMap::new(), Redactor::default());
        Self { name, names, detail, redactor, began_unix_ms: None }
    }

    /// For several calls, each as its lines shall name it.
    pub(super) fn of_many(names: impl IntoIterator<Item = (CallId, String)>) -> Self {
        let clipped = |(id, name): (CallId, String)| (id, clipped_line(&name, NAME_MAX_LEN));
        let names = names.into_iter().map(clipped).collect();
        let (name, detail) = ("batch".to_owned(), Detail::Words);
        Self { name, names, detail, redactor: Redactor::default(), began_unix_ms: None }
    }

    /// The same, without the secrets that it knows.
    pub(super) fn redacting(self, redactor: Redactor) -> Self {
        Self { redactor, ..self }
    }

    /// The lines that something that was seen is worth, one string with line feeds between them.
    pub(super) fn lines(&mut self, seen: &Seen) -> Option<String> {
        match seen {
            Seen::Event(event) => self.event_lines(event),
            Seen::Missed(missed) => {
                Some(format!("note: {missed} events went by too fast to be shown"))
            }
        }
    }

    fn event_lines(&mut self, event: &Event) -> Option<String> {
        let began = *self.began_unix_ms.get_or_insert(event.at_unix_ms);
        let traced = self.detail == Detail::Trace;
        let name = event.call_id.as_ref().and_then(|id| self.names.get(id)).unwrap_or(&self.name);
        match &event.kind {
            EventKind::Printed { stream, text, dropped } => {
                Some(printed(name, *stream, &self.redactor.text(text), *dropped))
            }
            EventKind::Log { level, message } if traced || *level >= LogLevel::Warn => Some(
                prefixed(name, &format!("{}: ", level_name(*level)), &self.redactor.text(message)),
            ),
            EventKind::AuthorNote { text } if traced => {
                Some(prefixed(name, "note: ", &self.redactor.text(text)))
            }
            _ if traced => {
                let since_ms = event.at_unix_ms.saturating_sub(began);
                Some(trace_line(event, since_ms, &self.redactor))
            }
            _ => None,
        }
    }
}

fn printed(name: &str, stream: Stream, text: &str, dropped: u64) -> String {
    let mark = match stream {
        Stream::Stdout => "",
        Stream::Stderr => "stderr: ",
    };
    let mut lines = prefixed(name, mark, text);
    if dropped > 0 {
        // Not behind the tool's name: it could have printed that itself.
        lines.push_str(&format!("\nnote: it printed {dropped} bytes more than are shown"));
    }
    lines
}

/// Each line behind the tool's name, so that none can be taken for belljar's.
fn prefixed(name: &str, mark: &str, text: &str) -> String {
    let line = |line: &str| format!("{name} | {mark}{}", escaped(line));
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

fn level_name(level: LogLevel) -> &'static str {
    match level {
        LogLevel::Trace => "trace",
        LogLevel::Debug => "debug",
        LogLevel::Info => "info",
        LogLevel::Warn => "warning",
        LogLevel::Error => "error",
    }
}

/// An event by its name, with what it says as JSON.
fn trace_line(event: &Event, since_ms: u64, redactor: &Redactor) -> String {
    let mut fields = match serde_json::to_value(event) {
        Ok(serde_json::Value::Object(fields)) => fields,
        _ => serde_json::Map::new(),
    };
    let kind = fields.shift_remove("type");
    let kind = kind.as_ref().and_then(serde_json::Value::as_str).unwrap_or("event").to_owned();
    for told in ["sequence", "atUnixMs", "callId"] {
        fields.shift_remove(told);
    }
    let said = serde_json::Value::Object(redactor.object(&fields)).to_string();
    clipped_line(&format!("trace | +{since_ms} ms {kind} {said}"), TRACE_LINE_MAX_LEN)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn seen(kind: EventKind) -> Seen {
        Seen::Event(Arc::new(Event {
            sequence: 7,
            at_unix_ms: 100,
            call_id: None,
            caller: None,
            kind,
        }))
    }

    fn printed(text: &str, dropped: u64) -> Seen {
        seen(EventKind::Printed { stream: Stream::Stdout, text: text.into(), dropped })
    }

    #[test]
    fn each_printed_line_bears_the_tools_name() {
        let mut watcher = Watcher::new("a.b", Detail::Words);
        let lines = watcher.lines(&printed("one\nerror: two\u{1b}[2J\r\n", 3)).unwrap();
        assert_eq!(
            lines,
            "a.b | one\na.b | error: two<U+001B>[2J\nnote: it printed 3 bytes more than are shown"
        );
    }

    #[test]
    fn lines_of_several_calls_bear_their_own_names() {
        let one: CallId = "one".parse().unwrap();
        let mut watcher = Watcher::of_many([(one.clone(), "one a.b\u{1b}".to_owned())]);
        let of = |call_id| {
            let kind = EventKind::Printed { stream: Stream::Stderr, text: "x".into(), dropped: 0 };
            Seen::Event(Arc::new(Event { sequence: 1, at_unix_ms: 1, call_id, caller: None, kind }))
        };
        assert_eq!(watcher.lines(&of(Some(one))).unwrap(), "one a.b<U+001B> | stderr: x");
        assert_eq!(watcher.lines(&of(None)).unwrap(), "batch | stderr: x");
    }

    #[test]
    fn only_a_trace_shows_what_happens_between() {
        let started = seen(EventKind::AttemptStarted { number: 1 });
        assert_eq!(Watcher::new("a.b", Detail::Words).lines(&started), None);
        let line = Watcher::new("a.b", Detail::Trace).lines(&started).unwrap();
        assert_eq!(line, "trace | +0 ms AttemptStarted {\"number\":1}");
    }

    #[test]
    fn quiet_log_lines_are_for_a_trace_and_grave_ones_for_all() {
        let log = |level| seen(EventKind::Log { level, message: "m".into() });
        let mut watcher = Watcher::new("a.b", Detail::Words);
        assert_eq!(watcher.lines(&log(LogLevel::Info)), None);
        assert_eq!(watcher.lines(&log(LogLevel::Warn)).unwrap(), "a.b | warning: m");
        let mut watcher = Watcher::new("a.b", Detail::Trace);
        assert_eq!(watcher.lines(&log(LogLevel::Debug)).unwrap(), "a.b | debug: m");
    }

    #[test]
    fn a_traced_line_is_bounded_and_a_loss_is_told() {
        let long = EventKind::CallReceived {
            tool_name: "\u{1b}x".repeat(100_000),
            caller: None,
            argument_bytes: 0,
        };
        let mut watcher = Watcher::new("a.b", Detail::Trace);
        let line = watcher.lines(&seen(long)).unwrap();
        assert!(line.len() <= TRACE_LINE_MAX_LEN && !line.contains('\u{1b}'));
        assert!(watcher.lines(&Seen::Missed(4)).unwrap().starts_with("note: 4 events"));
    }
}
