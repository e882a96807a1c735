//! What happens in the host, as typed events for whoever watches.
//!
//! Nothing waits for a watcher and nothing depends on one: a call runs the same with none. Texts of
//! plugins and callers are kept as they came; views escape them.

mod bus;
mod clock;
mod event;
pub mod journal;
mod redact;
mod sink;

pub use bus::{EventBus, EventStream, Seen};
pub use clock::{Clock, unix_ms};
pub use event::{CallReport, Event, EventKind, Verdict};
pub use journal::{
    ApprovalDecided, ApprovalRequested, CallFinished, CallNotRun, CallStarted, CutOffListener,
    Entries, Entry, Filter, Head, InterruptedCall, Journal, JournalError, JournalOptions,
    OpenEntry, Record, Recovered, Retention, Verified, VerifyError, head, read, recover, verify,
};
pub use redact::{Redactor, SECRET_MIN_LEN};
pub use sink::{BusSink, Dropped};
