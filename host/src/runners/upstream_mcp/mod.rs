//! MCP servers elsewhere, whose tools are called like any other.
//!
//! What a server says is a claim: nothing of it is proven, and a tool that it describes anew is a
//! new tool. Knows no configuration and reads no environment.

mod answer;
mod backoff;
mod call;
mod changes;
mod child;
mod connect;
mod describe;
mod entry;
mod error;
mod head;
mod lines;
mod link;
mod listing;
mod notes;
mod spec;
mod state;
mod supervise;
mod unread;

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio_util::sync::{CancellationToken, DropGuard};

use self::state::Shared;
use self::supervise::Supervisor;
use super::Tools;
use crate::events::{EventBus, Redactor};

pub use spec::{ChildSpec, Handed, HttpSpec, UpstreamServer, Way};

/// How long servers may take to end, all at once: longer than one child's two graces.
const END_MAX: Duration = Duration::from_secs(8);

/// The servers of a host. They end with this value, each child with everything it started.
pub struct Upstreams {
    servers: Vec<Arc<Shared>>,
    tools: Arc<Tools>,
    bus: EventBus,
    redactor: Redactor,
    end: CancellationToken,
    running: Mutex<JoinSet<()>>,
    _guard: DropGuard,
}

impl std::fmt::Debug for Upstreams {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Upstreams").field("servers", &self.servers.len()).finish_non_exhaustive()
    }
}

impl Upstreams {
    /// Servers whose tools come into `tools`. None is started yet.
    pub fn new(
        servers: Vec<UpstreamServer>,
        tools: Arc<Tools>,
        bus: EventBus,
        redactor: Redactor,
    ) -> Self {
        let end = CancellationToken::new();
        Self {
            servers: servers.into_iter().map(|server| Arc::new(Shared::new(server))).collect(),
            tools,
            bus,
            redactor,
            _guard: end.clone().drop_guard(),
            end,
            running: Mutex::default(),
        }
    }

    /// Starts them all, in the background; a second time it does nothing. Needs a runtime.
    pub fn start(&self) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if !running.is_empty() || self.end.is_cancelled() {
            return;
        }
        for shared in &self.servers {
            let supervisor = Supervisor {
                shared: Arc::clone(shared),
                tools: Arc::clone(&self.tools),
                bus: self.bus.clone(),
                redactor: self.redactor.clone(),
                end: self.end.clone(),
                kept_out: AtomicBool::new(false),
            };
            running.spawn(supervisor.run());
        }
    }

    /// Waits until each offers its tools or has failed to for the first time: no longer than the
    /// longest time that one may take to start. Not at all once they are to end.
    pub async fn settled(&self) {
        for shared in &self.servers {
            let mut settled = shared.settled.subscribe();
            tokio::select! {
                _ended = settled.wait_for(|settled| *settled) => {}
                () = self.end.cancelled() => return,
            }
        }
    }

    /// Ends them all, and waits until their processes are gone, a few seconds at most.
    pub async fn end(&self) {
        self.end.cancel();
        let mut running = {
            let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *running)
        };
        let all = async { while running.join_next().await.is_some() {} };
        let _late = tokio::time::timeout(END_MAX, all).await;
    }
}
