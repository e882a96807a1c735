//! Calls that became tasks (`io.modelcontextprotocol/tasks`), each for the one who made it alone.
//!
//! Holds how tasks stand and what they ended with, bounded in number, bytes and time. Makes no call
//! itself, and is gone with the process.
// Not by `rmcp::task_manager`: it knows no caller, bounds neither tasks nor bytes, has no clock that a
// test can turn, and what panics in it works until its time is over. Its model types are used.

mod entry;
mod run;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::{DetailedTask, ErrorData, InputResponses, Task, TaskPayload, TaskStatus};
use rmcp::task_manager::current_timestamp;
use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::settings::McpBounds;
use super::shared::random;
use crate::contract::approval::ApprovalDecision;
use crate::frontends::access::Access;

use self::entry::{End, Entry};

pub(super) use self::entry::Question;
pub(super) use self::run::{Lane, Made, run};

/// How often a client is told to ask, in milliseconds.
const POLL_MS: u64 = 1_000;
/// Bytes of the random part of an id: nobody guesses one.
const ID_LEN: usize = 16;

/// The tasks of all callers.
pub(super) struct Tasks {
    bounds: McpBounds,
    all: Mutex<HashMap<String, Entry>>,
    /// Those of requests over http, which no connection waits for.
    pub(super) of_requests: TaskTracker,
}

impl Tasks {
    pub(super) fn new(bounds: &McpBounds) -> Self {
        Self { bounds: bounds.clone(), all: Mutex::default(), of_requests: TaskTracker::new() }
    }

    /// A place for a call that may become a task; `None`: too many run, so this one can't.
    pub(super) fn begin(self: &Arc<Self>, owner: &Arc<Access>) -> Option<Running> {
        let id = random::<ID_LEN>().ok()?;
        let id: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
        let id = format!("mcp-task-{id}");
        let now = current_timestamp();
        let told = Task::new(&id, TaskStatus::Working, now.clone(), now)
            .with_ttl_ms(millis(self.bounds.task_ttl))
            .with_poll_interval_ms(POLL_MS);
        let entry = Entry::new(Arc::clone(owner), told);
        let (cancel, created) = (entry.cancel.clone(), entry.created);
        let mut all = self.fresh();
        let running = all.values().filter(|it| it.end.is_none());
        let own = running.clone().filter(|it| it.caller() == entry.caller()).count();
        if own >= self.bounds.tasks_of_one || running.count() >= self.bounds.tasks {
            return None;
        }
        all.insert(id.clone(), entry);
        let named = Named { tasks: Arc::clone(self), id, waits: CancellationToken::new() };
        Some(Running { named, cancel, created, quiet: CancellationToken::new() })
    }

    /// How a task stands.
    pub(super) fn get(&self, owner: &Arc<Access>, id: &str) -> Result<DetailedTask, ErrorData> {
        let (task, payload) = find(&mut self.fresh(), owner, id)?.stands(&self.bounds);
        // Copied while nobody else waits for it.
        Ok(DetailedTask::new(task, payload.as_ref().clone()))
    }

    /// Takes answers. What isn't asked, or was answered before, changes nothing.
    pub(super) fn update(
        &self,
        owner: &Arc<Access>,
        id: &str,
        said: &InputResponses,
    ) -> Result<(), ErrorData> {
        find(&mut self.fresh(), owner, id)?.answer(said)
    }

    /// Asks the call of a task to end. One that has ended stays as it is.
    pub(super) fn cancel(&self, owner: &Arc<Access>, id: &str) -> Result<(), ErrorData> {
        find(&mut self.fresh(), owner, id)?.cancel.cancel();
        Ok(())
    }

    /// Forgets the tasks of one who is gone.
    pub(super) fn forget(&self, owner: &Arc<Access>) {
        self.fresh().retain(|_, it| !Arc::ptr_eq(&it.owner, owner));
    }

    /// All whose time isn't over.
    fn fresh(&self) -> MutexGuard<'_, HashMap<String, Entry>> {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, it| it.end.is_none() || it.created.elapsed() < it.ttl(&self.bounds));
        all
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.fresh().len()
    }
}

/// A task of this owner. That there is one of another is told to nobody.
fn find<'a>(
    all: &'a mut HashMap<String, Entry>,
    owner: &Arc<Access>,
    id: &str,
) -> Result<&'a mut Entry, ErrorData> {
    let found = all.get_mut(id).filter(|it| it.shown && Arc::ptr_eq(&it.owner, owner));
    found.ok_or_else(|| ErrorData::invalid_params("there is no task of this id", None))
}

/// Drops ended tasks until no more than `max` is left of what `weight` counts. `spare` stays; of the
/// others, whoever has most loses the oldest, so that nobody pushes out what is another's.
fn make_room(
    all: &mut HashMap<String, Entry>,
    spare: &str,
    max: usize,
    weight: impl Fn(&Entry) -> usize,
) {
    loop {
        let mut of_callers: BTreeMap<Option<&str>, usize> = BTreeMap::new();
        for entry in all.values() {
            *of_callers.entry(entry.caller()).or_default() += weight(entry);
        }
        if of_callers.values().sum::<usize>() <= max {
            return;
        }
        let others = all.iter().filter(|(id, it)| *id != spare && weight(it) > 0);
        let ended = others.filter_map(|(id, it)| Some((id, it, it.end.as_ref()?.at)));
        let victim = ended.max_by_key(|(_, it, at)| {
            (of_callers.get(&it.caller()).copied(), std::cmp::Reverse(*at))
        });
        let Some(id) = victim.map(|(id, ..)| id.clone()) else { return };
        all.remove(&id);
    }
}

fn millis(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// A task by its name, for the call that it is of.
#[derive(Clone)]
pub(super) struct Named {
    tasks: Arc<Tasks>,
    id: String,
    /// Cancelled once the call waits for a person, and so is long.
    waits: CancellationToken,
}

impl Named {
    /// Tells that a person is awaited, and by which question where the client may be asked. An
    /// answer comes back by the receiver.
    pub(super) fn asks(
        &self,
        message: String,
        question: Option<Question>,
    ) -> oneshot::Receiver<ApprovalDecision> {
        let (said, answer) = oneshot::channel();
        self.change(|it| {
            it.told.status_message = Some(message);
            it.question = question.map(|question| (question, said));
        });
        self.waits.cancel();
        answer
    }

    /// Tells that nobody is awaited any more.
    pub(super) fn goes_on(&self) {
        self.change(|it| (it.told.status_message, it.question) = (None, None));
    }

    fn change(&self, change: impl FnOnce(&mut Entry)) {
        if let Some(entry) = self.tasks.fresh().get_mut(&self.id) {
            change(entry);
            entry.told.last_updated_at = current_timestamp();
        }
    }
}

/// The place of a call that may be a task. Dropped before its end, it was answered directly; or, as
/// a task, it is lost, and says so.
pub(super) struct Running {
    named: Named,
    cancel: CancellationToken,
    created: Instant,
    /// Cancelled once it is a task: its progress is told no more.
    quiet: CancellationToken,
}

impl Running {
    /// Makes it a task.
    fn show(&self) -> Task {
        self.quiet.cancel();
        let (tasks, id) = (&self.named.tasks, &self.named.id);
        let mut all = tasks.fresh();
        let mut told = Task::default();
        let mut caller = None;
        if let Some(entry) = all.get_mut(id) {
            entry.shown = true;
            told = DetailedTask::new(entry.stands(&tasks.bounds).0, TaskPayload::Working).task;
            caller = entry.caller().map(str::to_owned);
        }
        let own = |it: &Entry| usize::from(it.shown && it.caller() == caller.as_deref());
        make_room(&mut all, id, tasks.bounds.tasks_of_one, own);
        make_room(&mut all, id, tasks.bounds.tasks, |it| usize::from(it.shown));
        told
    }

    /// Ends the task.
    fn end(&self, payload: TaskPayload) {
        let max = self.named.tasks.bounds.task_bytes;
        let end = End::new(payload, max);
        self.named.change(|it| {
            (it.told.status_message, it.question) = (None, None);
            it.end = Some(end);
        });
        let mut all = self.named.tasks.fresh();
        make_room(&mut all, &self.named.id, max, |it| it.end.as_ref().map_or(0, |end| end.bytes));
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let mut all = self.named.tasks.fresh();
        let Some(entry) = all.get(&self.named.id) else { return };
        let (shown, ended) = (entry.shown, entry.end.is_some());
        if !shown {
            all.remove(&self.named.id);
        }
        drop(all);
        if shown && !ended {
            let lost = ErrorData::internal_error("the call of this task was lost", None);
            self.end(entry::failed(&lost));
        }
    }
}

#[cfg(test)]
mod tests;
