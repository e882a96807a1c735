//! A runner that does as it is told, and notes what it was handed.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use super::{kinds, log};
use crate::contract::attempt::{
    Attempt, AttemptEnd, End, GuestFault, ReturnCase, Returned, RunnerRefusal,
};
use crate::contract::ids::ToolId;
use crate::contract::limits::LimitKind;
use crate::contract::result::Usage;
use crate::engine::ports::ToolRunner;
use crate::events::Journal;

/// What an attempt does: so long it takes, unless it is cancelled or due before, and so it ends.
pub(in crate::engine::tests) struct Act(
    pub(in crate::engine::tests) u64,
    pub(in crate::engine::tests) End,
);

pub(in crate::engine::tests) type Behaviour = Box<dyn Fn(&Attempt) -> Act + Send + Sync>;

/// An attempt as the runner was handed it.
#[derive(Debug, Clone)]
pub(in crate::engine::tests) struct Handed {
    pub(in crate::engine::tests) call_id: String,
    pub(in crate::engine::tests) arguments: String,
    pub(in crate::engine::tests) key: Option<String>,
    pub(in crate::engine::tests) at: Instant,
    /// From then to its deadline, in milliseconds.
    pub(in crate::engine::tests) due_in_ms: u128,
    pub(in crate::engine::tests) due_by: LimitKind,
    /// What the audit log held of the call when the runner was entered.
    pub(in crate::engine::tests) logged: Vec<String>,
}

pub(in crate::engine::tests) struct Runner {
    pub(in crate::engine::tests) handed: Mutex<Vec<Handed>>,
    /// Attempts that are running now.
    pub(in crate::engine::tests) alive: AtomicUsize,
    /// The most that ran at once.
    pub(in crate::engine::tests) most: AtomicUsize,
    behave: Mutex<Arc<Behaviour>>,
    journal: Option<(Journal, PathBuf)>,
}

impl Runner {
    /// One whose every attempt answers `fine` at once.
    pub(in crate::engine::tests) fn new(journal: Option<(Journal, PathBuf)>) -> Self {
        Self {
            handed: Mutex::default(),
            alive: AtomicUsize::new(0),
            most: AtomicUsize::new(0),
            behave: Mutex::new(Arc::new(Box::new(|_: &Attempt| fine()))),
            journal,
        }
    }

    pub(in crate::engine::tests) fn handed(&self) -> Vec<Handed> {
        self.handed.lock().unwrap().clone()
    }

    pub(in crate::engine::tests) fn runs(&self) -> usize {
        self.handed.lock().unwrap().len()
    }

    /// How often a call was handed over.
    pub(in crate::engine::tests) fn runs_of(&self, call_id: &str) -> usize {
        self.handed().iter().filter(|it| it.call_id == call_id).count()
    }

    pub(in crate::engine::tests) fn behave(
        &self,
        act: impl Fn(&Attempt) -> Act + Send + Sync + 'static,
    ) {
        *self.behave.lock().unwrap() = Arc::new(Box::new(act));
    }
}

struct Alive<'a>(&'a AtomicUsize);

impl Drop for Alive<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[async_trait::async_trait]
impl ToolRunner for Runner {
    async fn run(&self, _tool: &ToolId, attempt: Attempt) -> AttemptEnd {
        let mut logged = Vec::new();
        if let Some((journal, audit)) = &self.journal {
            journal.flush().await.unwrap();
            logged = kinds(&log(audit), attempt.call_id.as_str());
        }
        let (at, deadline) = (Instant::now(), Instant::from_std(attempt.deadline));
        self.handed.lock().unwrap().push(Handed {
            call_id: attempt.call_id.as_str().to_owned(),
            arguments: attempt.arguments.canonical().to_owned(),
            key: attempt.idempotency_key.clone(),
            at,
            due_in_ms: (deadline - at).as_millis(),
            due_by: attempt.deadline_kind,
            logged,
        });
        let now = self.alive.fetch_add(1, Ordering::SeqCst) + 1;
        let _alive = Alive(&self.alive);
        self.most.fetch_max(now, Ordering::SeqCst);
        let behave = Arc::clone(&self.behave.lock().unwrap());
        let Act(ms, end) = behave(&attempt);
        let end = tokio::select! {
            biased;
            () = attempt.cancel.cancelled() => End::Interrupted,
            () = tokio::time::sleep(Duration::from_millis(ms)), if ms > 0 => end,
            () = tokio::time::sleep_until(deadline), if ms > 0 => {
                End::Guest(GuestFault::Limit(attempt.deadline_kind, "it was still running".into()))
            }
            () = std::future::ready(()), if ms == 0 => end,
        };
        AttemptEnd { end, usage: Usage::default(), missing_grants: Vec::new() }
    }
}

pub(in crate::engine::tests) fn returned(case: ReturnCase, text: &str) -> End {
    let value = Some(Value::String(text.to_owned()));
    End::Returned(Returned { case, value, wrapped: true, attachments: Vec::new() })
}

pub(in crate::engine::tests) fn fine() -> Act {
    fine_after(0)
}

pub(in crate::engine::tests) fn fine_after(ms: u64) -> Act {
    Act(ms, returned(ReturnCase::Plain, "fine"))
}

pub(in crate::engine::tests) fn trap() -> Act {
    Act(0, End::Guest(GuestFault::Trapped("unreachable".to_owned())))
}

pub(in crate::engine::tests) fn overloaded() -> Act {
    Act(0, End::Refused(RunnerRefusal::Overloaded("full".to_owned())))
}
