//! `belljar:tool`: what a guest may ask of its call, and say while it runs.
//!
//! Bounds are those the WIT package promises; what goes beyond is dropped and never fails a call.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::contract::attempt::Attempt;
use crate::contract::escape::cut;
use crate::contract::limits::LimitKind;
use crate::contract::sink::{CallSink, LogLevel, Progress};

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
    call_id: String,
    attempt: u32,
    deadline: Instant,
    idempotency_key: Option<String>,
    sink: Arc<dyn CallSink>,
    line_bytes_left: usize,
    done: Option<u64>,
    reported: Option<Instant>,
    held_back: Option<Progress>,
}

impl Speech {
    pub(crate) fn new(attempt: &Attempt) -> Self {
        let key = attempt.idempotency_key.as_deref().map(|key| cut(key, KEY_MAX_LEN).to_owned());
        Self {
            call_id: attempt.call_id.to_string(),
            attempt: attempt.number,
            deadline: attempt.deadline,
            idempotency_key: key,
            sink: Arc::clone(&attempt.sink),
            line_bytes_left: attempt.limits.size(LimitKind::Stdio),
            done: None,
            reported: None,
            held_back: None,
        }
    }
}

impl Drop for Speech {
    /// The last report of a quick burst is passed on after all.
    fn drop(&mut self) {
        if let Some(report) = self.held_back.take() {
            self.sink.progress(report);
        }
    }
}

impl types::Host for Speech {}

impl invocation::Host for Speech {
    fn call_id(&mut self) -> String {
        self.call_id.clone()
    }

    fn attempt(&mut self) -> u32 {
        self.attempt
    }

    fn remaining_ms(&mut self) -> u64 {
        let left = self.deadline.saturating_duration_since(Instant::now());
        u64::try_from(left.as_millis()).unwrap_or(u64::MAX)
    }

    fn idempotency_key(&mut self) -> Option<String> {
        self.idempotency_key.clone()
    }
}

impl log::Host for Speech {
    fn write(&mut self, level: log::Level, message: String) {
        let line = cut(&message, LINE_MAX_LEN.min(self.line_bytes_left));
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
        self.sink.log(level, line.to_owned());
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
            self.sink.progress(report);
        }
    }
}
