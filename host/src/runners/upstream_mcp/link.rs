//! What the two ends of a connection tell each other beside the protocol: the transport, which
//! sees every message, and whoever waits for an answer.
//!
//! Every message of the server passes [`Watched`] first. It takes out what the host acts on itself,
//! in order and without a task for each, and bounds what a server may ask for.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::RoleClient;
use rmcp::model::{
    ClientRequest, JsonRpcMessage, JsonRpcNotification, ProgressNotificationParam, ProgressToken,
    RequestId, ServerNotification, ServerRequest,
};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::contract::sink::{CallSink, Progress};

/// Requests of a server that belljar hasn't answered yet. A server that doesn't read the answers
/// would otherwise fill the host's memory with them.
const ASKED_MAX: usize = 64;
/// Calls whose answers are looked out for; several times of what may wait at once. Who gives a call
/// up before it goes out forgets it too early, so that the oldest must make room.
const CALLED_MAX: usize = 1_024;

/// Said of a server whose words can't be told apart.
const BROKEN: &str = "it wrote what is no message of the protocol, in the place of one";

/// Why an answer can't be handed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spoilt {
    /// Longer than this many bytes.
    Overlong(usize),
    /// No message of the protocol.
    Unreadable,
}

/// One connection's notes.
#[derive(Default)]
pub(super) struct Link {
    /// Cancelled once the server can't be heard any more.
    pub(super) gone: CancellationToken,
    /// Told when the server says that its tools have changed.
    pub(super) changed: Notify,
    asked: Mutex<HashSet<RequestId>>,
    answering: AtomicUsize,
    broken: AtomicBool,
    why: Mutex<Option<String>>,
    progress: Mutex<HashMap<ProgressToken, Arc<dyn CallSink>>>,
    /// Calls that went out and aren't forgotten, and whether their answer was spoilt.
    called: Mutex<VecDeque<(RequestId, Option<Spoilt>)>>,
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Link {
    /// Says why it went away; the first reason stands.
    pub(super) fn tell_why(&self, why: impl Into<String>) {
        held(&self.why).get_or_insert_with(|| why.into());
    }

    /// Says that it goes because what it wrote can't be read: that is no bad luck of the calls that
    /// wait, but the server's fault.
    pub(super) fn tell_broken(&self) {
        self.broken.store(true, Ordering::Release);
        self.tell_why(BROKEN);
    }

    /// Whether it goes for that reason.
    pub(super) fn is_broken(&self) -> bool {
        self.broken.load(Ordering::Acquire)
    }

    /// Why it went away.
    pub(super) fn why(&self) -> String {
        held(&self.why).clone().unwrap_or_else(|| "it closed the connection".to_owned())
    }

    /// Progress of this token goes to that call.
    pub(super) fn follow(&self, token: ProgressToken, sink: Arc<dyn CallSink>) {
        held(&self.progress).insert(token, sink);
    }

    /// A call goes out. Its answer may be there before anybody follows it.
    fn call(&self, id: RequestId) {
        let mut called = held(&self.called);
        if called.len() >= CALLED_MAX {
            called.pop_front();
        }
        called.push_back((id, None));
    }

    /// Forgets a call; says whether its answer was spoilt.
    pub(super) fn forget(&self, token: &ProgressToken, id: &RequestId) -> Option<Spoilt> {
        held(&self.progress).remove(token);
        let mut called = held(&self.called);
        let at = called.iter().position(|(known, _)| known == id)?;
        let (_, spoilt) = called.remove(at)?;
        spoilt
    }

    /// Notes that the answer to a call can't be handed on. An id that no call waits under is the
    /// server's own invention, or late, and isn't kept.
    pub(super) fn spoil(&self, id: RequestId, how: Spoilt) {
        let mut called = held(&self.called);
        if let Some(entry) = called.iter_mut().find(|(known, _)| *known == id) {
            *entry = (id, Some(how));
        }
    }

    /// Counts a request of the server's. `false`: it is one too many.
    fn ask(&self, id: RequestId) -> bool {
        let mut asked = held(&self.asked);
        asked.insert(id);
        asked.len() + self.answering.load(Ordering::Relaxed) <= ASKED_MAX
    }

    /// The server no longer wants an answer; one that is on its way still counts.
    fn unask(&self, id: Option<&RequestId>) {
        if let Some(id) = id {
            held(&self.asked).remove(id);
        }
    }

    fn progress(&self, params: ProgressNotificationParam) {
        let sink = held(&self.progress).get(&params.progress_token).cloned();
        if let Some(sink) = sink {
            sink.progress(Progress {
                done: whole(params.progress),
                total: params.total.map(whole),
                message: params.message,
            });
        }
    }
}

/// Steps are whole here; anything that is no number of steps is none.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a cast from a float saturates"
)]
fn whole(steps: f64) -> u64 {
    steps as u64
}

/// A transport whose messages are looked at first.
pub(super) struct Watched<T> {
    inner: T,
    link: Arc<Link>,
}

impl<T> Watched<T> {
    pub(super) fn new(inner: T, link: Arc<Link>) -> Self {
        Self { inner, link }
    }

    /// The message, where it isn't the host's own to act on. `Err`: the server must go.
    fn pass(
        &self,
        message: RxJsonRpcMessage<RoleClient>,
    ) -> Result<Option<RxJsonRpcMessage<RoleClient>>, &'static str> {
        match message {
            JsonRpcMessage::Notification(told) => Ok(match told.notification {
                ServerNotification::ProgressNotification(it) => {
                    self.link.progress(it.params);
                    None
                }
                ServerNotification::ToolListChangedNotification(_) => {
                    self.link.changed.notify_one();
                    None
                }
                ServerNotification::CancelledNotification(it) => {
                    self.link.unask(it.params.request_id.as_ref());
                    let notification = ServerNotification::CancelledNotification(it);
                    Some(JsonRpcMessage::Notification(JsonRpcNotification { notification, ..told }))
                }
                ServerNotification::SubscriptionsAcknowledgedNotification(_) => {
                    Some(JsonRpcMessage::Notification(told))
                }
                _ => None,
            }),
            JsonRpcMessage::Request(asked) => {
                if !self.link.ask(asked.id.clone()) {
                    return Err("it asked for more than belljar could answer");
                }
                if !matches!(asked.request, ServerRequest::PingRequest(_)) {
                    tracing::debug!("an upstream server asked for what belljar doesn't offer");
                }
                Ok(Some(JsonRpcMessage::Request(asked)))
            }
            answer => Ok(Some(answer)),
        }
    }
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for Watched<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        if let JsonRpcMessage::Request(it) = &item
            && matches!(it.request, ClientRequest::CallToolRequest(_))
        {
            self.link.call(it.id.clone());
        }
        let answered = match &item {
            JsonRpcMessage::Response(it) => Some(&it.id),
            JsonRpcMessage::Error(it) => it.id.as_ref(),
            _ => None,
        };
        let answers = answered.is_some();
        if answers {
            self.link.answering.fetch_add(1, Ordering::Relaxed);
            self.link.unask(answered);
        }
        let (link, sending) = (Arc::clone(&self.link), self.inner.send(item));
        async move {
            let sent = sending.await;
            if answers {
                link.answering.fetch_sub(1, Ordering::Relaxed);
            }
            sent
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let Some(message) = self.inner.receive().await else {
                self.link.gone.cancel();
                return None;
            };
            match self.pass(message) {
                Ok(Some(message)) => return Some(message),
                Ok(None) => {}
                Err(why) => {
                    self.link.tell_why(why);
                    self.link.gone.cancel();
                    return None;
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.link.gone.cancel();
        self.inner.close().await
    }
}

impl<T> Drop for Watched<T> {
    fn drop(&mut self) {
        self.link.gone.cancel();
    }
}

#[cfg(test)]
mod tests;
