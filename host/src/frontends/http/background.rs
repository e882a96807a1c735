//! Calls that nobody waits for on an open connection: held for a while, each for its caller alone.
//!
//! Bounded in number, in bytes and in time. Gone with the process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::budget::BodyShare;
use super::problem::Problem;
use crate::contract::ids::CallId;
use crate::contract::invocation::ToolInvocation;
use crate::contract::outcome::{Executed, Outcome};
use crate::contract::result::ToolResult;
use crate::host::Host;
use axum::http::StatusCode;

/// Calls that are held in all, running or ended.
pub(super) const HELD_MAX: usize = 1_024;
/// Calls of one caller that run.
pub(super) const RUNNING_MAX_OF_ONE: usize = 32;
/// Calls of one caller that are held, running or ended.
pub(super) const HELD_MAX_OF_ONE: usize = 256;
/// Bytes of results that are held in all.
const BYTES_MAX: usize = 64 << 20;
/// How long a result is held.
pub(super) const HELD_FOR: Duration = Duration::from_secs(15 * 60);

/// Whose call, and which.
type Key = (Option<String>, CallId);

/// The calls.
#[derive(Debug, Default)]
pub(super) struct Background {
    held: Arc<Mutex<HashMap<Key, Held>>>,
    tasks: TaskTracker,
}

/// One call.
#[derive(Debug)]
struct Held {
    result: watch::Receiver<Option<Arc<ToolResult>>>,
    cancel: CancellationToken,
    /// When it ended, and how many bytes are held since.
    ended: Option<(Instant, usize)>,
}

/// A call that was found.
#[derive(Debug)]
pub(super) struct Found {
    /// Its result, once there is one.
    pub(super) result: watch::Receiver<Option<Arc<ToolResult>>>,
    /// Ends it.
    pub(super) cancel: CancellationToken,
}

fn lock(held: &Mutex<HashMap<Key, Held>>) -> MutexGuard<'_, HashMap<Key, Held>> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Background {
    /// Starts a call. It goes on until it ends, or `cancel` is.
    pub(super) fn start(
        &self,
        host: &Host,
        call: ToolInvocation,
        cancel: CancellationToken,
        body: Option<Arc<BodyShare>>,
    ) -> Result<(), Problem> {
        let key = (call.caller.clone(), call.call_id.clone());
        let (host, stop) = (host.clone(), cancel.clone());
        self.run(key, cancel, async move {
            // Its arguments take the room of the body until it ends.
            let _body = body;
            host.call_with(call, stop).await
        })
    }

    fn run(
        &self,
        key: Key,
        cancel: CancellationToken,
        call: impl Future<Output = ToolResult> + Send + 'static,
    ) -> Result<(), Problem> {
        let (told, result) = watch::channel(None);
        self.hold(&key, Held { result, cancel, ended: None })?;
        let ending = Ending { held: Arc::clone(&self.held), key, told };
        self.tasks.spawn(async move {
            let mut result = call.await;
            // They are kept elsewhere, by address.
            result.attachments.iter_mut().for_each(|it| it.bytes = Vec::new());
            ending.with(result);
        });
        Ok(())
    }

    fn hold(&self, key: &Key, call: Held) -> Result<(), Problem> {
        let mut held = lock(&self.held);
        held.retain(|_, call| call.ended.is_none_or(|(at, _)| at.elapsed() < HELD_FOR));
        if held.contains_key(key) {
            let detail = "a background call of this id is held already: name another";
            return Err(Problem::new(StatusCode::CONFLICT, detail));
        }
        let own = held.iter().filter(|((caller, _), _)| *caller == key.0);
        let running = own.clone().filter(|(_, call)| call.ended.is_none()).count();
        if running >= RUNNING_MAX_OF_ONE {
            let detail = format!("{running} background calls of this caller are running");
            return Err(Problem::too_many(detail));
        }
        if own.count() >= HELD_MAX_OF_ONE {
            drop_oldest(&mut held, |(caller, _)| *caller == key.0);
        }
        if held.len() >= HELD_MAX && !drop_oldest(&mut held, |_| true) {
            return Err(Problem::too_many(format!("{HELD_MAX} background calls are running")));
        }
        held.insert(key.clone(), call);
        Ok(())
    }

    /// A call of this caller.
    pub(super) fn find(&self, caller: Option<&str>, id: &CallId) -> Option<Found> {
        let held = lock(&self.held);
        let call = held.get(&(caller.map(str::to_owned), id.clone()))?;
        let fresh = call.ended.is_none_or(|(at, _)| at.elapsed() < HELD_FOR);
        let found = || Found { result: call.result.clone(), cancel: call.cancel.clone() };
        fresh.then(found)
    }

    /// Waits until no call is running.
    pub(super) async fn idle(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }
}

/// The end of a call, which comes also where its task panics or is dropped: nothing may stay
/// "running" that runs no longer.
struct Ending {
    held: Arc<Mutex<HashMap<Key, Held>>>,
    key: Key,
    told: watch::Sender<Option<Arc<ToolResult>>>,
}

impl Ending {
    fn with(&self, result: ToolResult) {
        ended(&self.held, &self.key, size(&result));
        self.told.send_replace(Some(Arc::new(result)));
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        if self.told.borrow().is_some() {
            return;
        }
        tracing::error!("the background call {} was lost in the host", self.key.1);
        let lost = "belljar itself failed at this call; its log says more";
        let mut result = ToolResult::refused(self.key.1.clone(), Outcome::HostFault, lost);
        // It may have got far.
        result.executed = Executed::Maybe;
        self.with(result);
    }
}

/// Notes that a call has ended, and makes room where results take too much.
fn ended(held: &Mutex<HashMap<Key, Held>>, key: &Key, bytes: usize) {
    let mut held = lock(held);
    if let Some(call) = held.get_mut(key) {
        call.ended = Some((Instant::now(), bytes));
    }
    let all = |held: &HashMap<Key, Held>| -> usize {
        held.values().filter_map(|call| call.ended).map(|(_, bytes)| bytes).sum()
    };
    while all(&held) > BYTES_MAX && drop_oldest(&mut held, |it| it != key) {}
}

/// Drops the call that ended first among those; whether there was one.
fn drop_oldest(held: &mut HashMap<Key, Held>, among: impl Fn(&Key) -> bool) -> bool {
    let ended = held.iter().filter(|(key, _)| among(key));
    let ended = ended.filter_map(|(key, call)| call.ended.map(|(at, _)| (at, key)));
    let oldest = ended.min_by_key(|(at, _)| *at).map(|(_, key)| key.clone());
    oldest.is_some_and(|key| held.remove(&key).is_some())
}

/// About how much a result holds; `structured` says mostly the same again.
fn size(result: &ToolResult) -> usize {
    2 * result.content.len() + result.error_message.as_ref().map_or(0, String::len)
}

#[cfg(test)]
mod tests;
