//! The way out of the sandbox for what a guest says while it runs.
//!
//! The engine implements it over events; the sandbox only speaks into it. Calls are synchronous
//! and must return at once: a guest is waiting.

/// Which stream a guest wrote to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// How much a guest says its log line matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    /// Every step.
    Trace,
    /// For whoever looks for a fault.
    Debug,
    /// The ordinary course.
    Info,
    /// Something odd that the call survives.
    Warn,
    /// Something that makes the call fail.
    Error,
}

/// How far a guest says it is.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Progress {
    /// Steps done, in any unit.
    pub done: u64,
    /// Steps in all, where known.
    pub total: Option<u64>,
    /// What it is doing, unescaped.
    pub message: Option<String>,
}

/// Takes what a guest says; every text is the guest's own, unescaped.
pub trait CallSink: Send + Sync {
    /// Progress of the running attempt.
    fn progress(&self, progress: Progress);
    /// A line for the log.
    fn log(&self, level: LogLevel, message: String);
    /// What the guest printed, once, when its attempt has ended; `dropped` bytes are missing.
    fn printed(&self, stream: Stream, text: String, dropped: u64);
    /// A backtrace or another word for the plugin's author, never for the model.
    fn author_note(&self, text: String);
}
