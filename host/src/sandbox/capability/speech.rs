//! `belljar:tool`: what a guest may ask of its call, and say while it runs.
//!
//! Bounds are those the WIT package promises; what goes beyond is dropped and never fails a call.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::contract::attempt::Attempt;
use crate::contract::escape::cut;
use crate::contract::limits::LimitKind;
use crate::contract::sink::{LogLevel, Progress};

mod bindings {
    wasmtime::component::bindgen!({ path: "../wit", world: "imports" });
}

pub(crate) use bindings::Imports;
use bindings::belljar::tool::{invocation, log, progress, types};

/// `wit/log.wit`: longest line, in bytes.
const LINE_MAX_LEN: usize = 8192;
/// `wit/progress.wit`: longest message, in bytes.
const MESSAGE_MAX_LEN: usize = 1024;
/// `wit/progress.wit`: ten reports a second.
const REPORT_PAUSE: Duration = Duration::from_millis(100);
/// `wit/invocation.wit`: longest idempotency key, in bytes.
const KEY_MAX_LEN: usize = 256;

/// One call's own words, and what was said so far.
pub(crate) struct Speech {
    attempt: Arc<Attempt>,
    line_bytes_left: usize,
    lines_dropped: u64,
    done: Option<u64>,
    reported: Option<Instant>,
    held_back: Option<Progress>,
}

impl Speech {
    pub(crate) fn new(attempt: &Arc<Attempt>) -> Self {
        Self {
            attempt: Arc::clone(attempt),
            line_bytes_left: attempt.limits.size(LimitKind::Stdio),
            lines_dropped: 0,
            done: None,
            reported: None,
            held_back: None,
        }
    }
}

impl Drop for Speech {
    fn drop(&mut self) {
        self.end();
    }
}

impl Speech {
    /// The last report of a quick burst is passed on after all, and what was lost is told.
    pub(crate) fn end(&mut self) {
        let dropped = std::mem::take(&mut self.lines_dropped);
        if dropped > 0 {
            let lost = format!("{dropped} log lines were dropped or cut");
            self.attempt.sink.author_note(lost);
        }
        if let Some(report) = self.held_back.take() {
            self.attempt.sink.progress(report);
        }
    }
}

impl types::Host for Speech {}

impl invocation::Host for Speech {
    fn call_id(&mut self) -> String {
        self.attempt.call_id.to_string()
    }

    fn attempt(&mut self) -> u32 {
        self.attempt.number
    }

    fn remaining_ms(&mut self) -> u64 {
        let left = self.attempt.deadline.saturating_duration_since(Instant::now());
        u64::try_from(left.as_millis()).unwrap_or(u64::MAX)
    }

    fn idempotency_key(&mut self) -> Option<String> {
        self.attempt.idempotency_key.as_deref().map(|key| cut(key, KEY_MAX_LEN).to_owned())
    }
}

impl log::Host for Speech {
    fn write(&mut self, level: log::Level, message: String) {
        let line = cut(&message, LINE_MAX_LEN.min(self.line_bytes_left));
        if line.len() < message.len() {
            self.lines_dropped += 1;
        }
        if line.is_empty() {
            return;
        }
        self.line_bytes_left -= line.len();
        let level = match level {
            log::Level::Trace => LogLevel::Trace,
            log::Level::Debug => LogLevel::Debug,
            log::Level::Info => LogLevel::Info,
            log::Level::Warn => LogLevel::Warn,
            log::Level::Error => LogLevel::Error,
        };
        self.attempt.sink.log(level, line.to_owned());
    }
}

impl progress::Host for Speech {
    fn report(&mut self, done: u64, total: Option<u64>, message: Option<String>) {
        if self.done.is_some_and(|before| done <= before) {
            return;
        }
        self.done = Some(done);
        let message = message.map(|message| cut(&message, MESSAGE_MAX_LEN).to_owned());
        let report = Progress { done, total, message };
        let now = Instant::now();
        if self.reported.is_some_and(|before| now.duration_since(before) < REPORT_PAUSE) {
            self.held_back = Some(report);
        } else {
            self.reported = Some(now);
            self.held_back = None;
            self.attempt.sink.progress(report);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::contract::arguments::CheckedArguments;
    use crate::contract::limits::Limits;
    use crate::contract::sink::{CallSink, Stream};

    #[derive(Default)]
    struct Heard(Mutex<Vec<String>>);

    impl Heard {
        fn keep(&self, text: String) {
            self.0.lock().unwrap().push(text);
        }
    }

    impl CallSink for Heard {
        fn progress(&self, progress: Progress) {
            self.keep(format!("progress {}", progress.done));
        }
        fn log(&self, level: LogLevel, message: String) {
            self.keep(format!("{level:?} {}", message.len()));
        }
        fn printed(&self, _stream: Stream, _text: String, _dropped: u64) {}
        fn author_note(&self, text: String) {
            self.keep(text);
        }
    }

    fn speech(stdio: u64, key: Option<String>) -> (Speech, Arc<Heard>) {
        let heard = Arc::new(Heard::default());
        let mut limits = Limits::default();
        limits.set(LimitKind::Stdio, stdio).unwrap();
        let attempt = Attempt {
            call_id: "c".parse().unwrap(),
            number: 2,
            arguments: Arc::new(CheckedArguments::new(serde_json::Map::new())),
            limits: Arc::new(limits),
            grants: Arc::default(),
            idempotency_key: key,
            deadline: Instant::now(),
            deadline_kind: LimitKind::AttemptDeadline,
            cancel: CancellationToken::new(),
            shares_task: false,
            sink: Arc::clone(&heard) as _,
            asked_by: None,
        };
        (Speech::new(&Arc::new(attempt)), heard)
    }

    #[test]
    fn log_lines_are_cut_and_have_a_budget() {
        let (mut speech, heard) = speech(10_000, None);
        for _ in 0..3 {
            log::Host::write(&mut speech, log::Level::Warn, "x".repeat(9000));
        }
        drop(speech);
        let lost = "3 log lines were dropped or cut";
        assert_eq!(*heard.0.lock().unwrap(), ["Warn 8192", "Warn 1808", lost]);
    }

    #[test]
    fn progress_only_rises_and_a_burst_ends_with_its_last() {
        let (mut speech, heard) = speech(1000, None);
        for done in [5, 5, 3, 6, 7, 9] {
            progress::Host::report(&mut speech, done, None, None);
        }
        drop(speech);
        let heard = heard.0.lock().unwrap();
        assert_eq!(heard.first().map(String::as_str), Some("progress 5"));
        assert_eq!(heard.last().map(String::as_str), Some("progress 9"));
        assert!(heard.len() <= 5, "{heard:?}");
    }

    #[test]
    fn a_call_tells_itself_and_no_more_of_a_key_than_is_promised() {
        let (mut speech, _heard) = speech(1000, Some("k".repeat(1000)));
        assert_eq!(invocation::Host::call_id(&mut speech), "c");
        assert_eq!(invocation::Host::attempt(&mut speech), 2);
        assert_eq!(invocation::Host::remaining_ms(&mut speech), 0);
        let key = invocation::Host::idempotency_key(&mut speech).unwrap();
        assert_eq!(key.len(), KEY_MAX_LEN);
    }
}
