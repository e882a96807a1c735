//! Asking and answering against a real store, with a clock that stands and timers that are paused.

mod answering;
mod asking;
mod binding;
mod cards;
mod covering;
mod faults;
mod handing_back;
mod holding;
mod recorded;

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::contract::approval::{
    ApprovalDecision, ApprovalEntry, ApprovalRequest, ApprovalState, Approver, Channel,
    RememberScope,
};
use crate::contract::arguments::CheckedArguments;
use crate::contract::decision::AskReason;
use crate::contract::descriptor::{ToolDescriptor, example};
use crate::contract::effects::Effect;
use crate::contract::grants::{DirGrant, DirMode, Grants};
use crate::contract::ids::{ApprovalId, Digest};
use crate::contract::invocation::{ApprovalMode, ToolInvocation};
use crate::contract::limits::Limits;
use crate::events::{Clock, EventBus, EventKind, EventStream, Seen};
use crate::storage::{ApprovalStore, ListFilter, SqliteStore, StorageError};

/// What the clock of these tests says, where it stands.
const NOW: u64 = 1_700_000_000_000;
const TTL_MS: u64 = 900_000;

/// One call and all that it is bound to, to be varied.
#[derive(Clone)]
struct Call {
    descriptor: ToolDescriptor,
    call: ToolInvocation,
    arguments: CheckedArguments,
    grants: Grants,
    limits: Limits,
    policy: Digest,
}

impl Call {
    fn new(arguments: &str) -> Self {
        let mut call = ToolInvocation::new("c1".parse().unwrap(), "files.write", arguments);
        call.caller = Some("bot".into());
        call.session_id = Some("s1".into());
        Self {
            descriptor: example("files.write", Effect::assumed(false)),
            call,
            arguments: serde_json::from_str(arguments).unwrap(),
            grants: grants("/srv/site", DirMode::ReadOnly),
            limits: Limits::default(),
            policy: Digest::of(b"policy"),
        }
    }

    fn asking(&self) -> Asking<'_> {
        let Self { descriptor, call, arguments, grants, limits, policy } = self;
        Asking::new(descriptor, call, arguments, grants, limits, *policy)
    }

    fn binding(&self) -> Digest {
        self.asking().binding().unwrap()
    }
}

fn grants(host: &str, mode: DirMode) -> Grants {
    let mut grants = Grants::default();
    grants.add_dir(DirGrant { host: host.into(), guest: "/w".into(), mode }).unwrap();
    grants
}

fn reason() -> AskReason {
    AskReason { reason: "it writes files".into(), yes_allowed: false, question: false }
}

fn approver() -> Approver {
    Approver { name: "ann".into(), channel: Channel::Terminal }
}

fn always(scope: RememberScope) -> ApprovalDecision {
    ApprovalDecision::Always { scope, expires_unix_ms: None }
}

fn deny() -> ApprovalDecision {
    ApprovalDecision::Deny { reason: Some("not today".into()) }
}

/// A host's queue with a watcher, over a store that others may open too.
struct Desk {
    queue: ApprovalQueue,
    bus: EventBus,
    events: EventStream,
}

impl Desk {
    fn over(
        store: Arc<dyn ApprovalStore>,
        clock: Clock,
        hook: Option<Arc<dyn ApprovalHook>>,
    ) -> Self {
        let bus = EventBus::new(clock);
        let settings = ApprovalSettings::default();
        let queue = ApprovalQueue::new(store, bus.clone(), clock, settings, hook);
        let events = bus.watch();
        Self { queue, bus, events }
    }

    fn new() -> Self {
        Self::over(Arc::new(SqliteStore::in_memory().unwrap()), || NOW, None)
    }

    fn request(&self, call: &Call) -> ApprovalRequest {
        self.requested(call, &reason()).unwrap()
    }

    fn requested(&self, call: &Call, reason: &AskReason) -> Result<ApprovalRequest, ApprovalError> {
        self.queue.request(&call.asking(), reason, &self.remembered().unwrap())
    }

    /// What a call would get to know of what is remembered, on this thread.
    fn remembered(&self) -> Result<Arc<RememberedSet>, StorageError> {
        match self.queue.still_remembered()? {
            Some(set) => Ok(set),
            None => self.queue.read_remembered(),
        }
    }

    /// Asks for a call on a task of its own.
    fn ask(&self, call: &Call, mode: ApprovalMode) -> (ApprovalId, JoinHandle<Answer>) {
        let request = self.request(call);
        let (id, queue) = (request.id.clone(), self.queue.clone());
        let ask = async move { queue.ask(request, mode, &CancellationToken::new()).await };
        (id, tokio::spawn(ask))
    }

    /// Asks for a call, and waits until others can see the request.
    async fn asked(&mut self, call: &Call, mode: ApprovalMode) -> (ApprovalId, JoinHandle<Answer>) {
        let asked = self.ask(call, mode);
        self.until(|kind| matches!(kind, EventKind::ToolApprovalRequest { .. })).await;
        asked
    }

    /// The next event of the kind, at most a few minutes away on the paused clock.
    async fn until(&mut self, wanted: impl Fn(&EventKind) -> bool) -> EventKind {
        let next = async {
            loop {
                match self.events.next().await {
                    Some(Seen::Event(event)) if wanted(&event.kind) => return event.kind.clone(),
                    Some(_) => {}
                    None => panic!("the bus is gone"),
                }
            }
        };
        tokio::time::timeout(Duration::from_secs(2_000), next).await.unwrap()
    }

    /// The events so far of these kinds.
    fn count(&mut self, wanted: impl Fn(&EventKind) -> bool) -> usize {
        let seen = std::iter::from_fn(|| self.events.try_next());
        seen.filter(|seen| matches!(seen, Seen::Event(event) if wanted(&event.kind))).count()
    }

    fn decide(
        &self,
        id: &ApprovalId,
        decision: ApprovalDecision,
    ) -> Result<ApprovalEntry, ApprovalError> {
        self.queue.decide(id, decision, approver())
    }

    fn state(&self, id: &ApprovalId) -> ApprovalState {
        self.queue.show(id).unwrap().state
    }
}

fn is_admitted(answer: &Answer, id: &ApprovalId) -> bool {
    matches!(answer, Answer::Admitted(entry) if entry.request.id == *id)
}

fn declined_reason(answer: &Answer) -> &str {
    match answer {
        Answer::Declined { reason, .. } => reason,
        other => panic!("{other:?}"),
    }
}

/// A private folder that is gone afterwards, and the file in it that isn't there yet.
fn place() -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state").join("approvals.sqlite");
    (folder, path)
}

fn file(path: &std::path::Path) -> Arc<SqliteStore> {
    Arc::new(SqliteStore::at(path))
}

fn pending(queue: &ApprovalQueue) -> Vec<ApprovalId> {
    queue.list(&ListFilter::pending()).unwrap().into_iter().map(|it| it.id).collect()
}

async fn ask(desk: &Desk, call: &Call, mode: ApprovalMode) -> Answer {
    desk.queue.ask(desk.request(call), mode, &CancellationToken::new()).await
}
