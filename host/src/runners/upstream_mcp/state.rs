//! What is known of one server now: shared by whoever keeps it alive and whoever calls its tools.
//!
//! Acts on nothing.

use std::collections::HashMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use rmcp::RoleClient;
use rmcp::service::Peer;
use tokio::sync::{Semaphore, watch};

use super::connect::{Classify, Connection};
use super::describe::Described;
use super::link::Link;
use super::spec::UpstreamServer;
use crate::contract::ids::{Digest, ToolId};
use crate::runners::schema::SchemaCheck;

/// One server.
pub(super) struct Shared {
    pub(super) server: UpstreamServer,
    pub(super) permits: Semaphore,
    now: ArcSwap<Now>,
    known: ArcSwap<HashMap<ToolId, Known>>,
    /// Whether the first start has come to an end, whatever end.
    pub(super) settled: watch::Sender<bool>,
}

/// Whether it can be called.
enum Now {
    Up(Reach),
    Down(String),
}

/// How to call it.
#[derive(Clone)]
pub(super) struct Reach {
    pub(super) peer: Peer<RoleClient>,
    pub(super) link: Arc<Link>,
    pub(super) classify: Classify,
}

/// What its runner must know of a tool.
#[derive(Clone)]
pub(super) struct Known {
    pub(super) original: String,
    pub(super) digest: Digest,
    pub(super) output: Option<Arc<SchemaCheck>>,
}

impl Shared {
    pub(super) fn new(server: UpstreamServer) -> Self {
        Self {
            permits: Semaphore::new(server.concurrency.max(1)),
            server,
            now: ArcSwap::from_pointee(Now::Down("it hasn't come up yet".to_owned())),
            known: ArcSwap::default(),
            settled: watch::Sender::new(false),
        }
    }

    /// From now on it can be called.
    pub(super) fn up(&self, connection: &Connection) {
        self.now.store(Arc::new(Now::Up(Reach {
            peer: connection.running.peer().clone(),
            link: Arc::clone(&connection.link),
            classify: connection.classify,
        })));
    }

    /// From now on it can't, for this reason.
    pub(super) fn down(&self, why: String) {
        self.now.store(Arc::new(Now::Down(why)));
    }

    /// How to call it.
    ///
    /// # Errors
    /// Why it can't be.
    pub(super) fn reach(&self) -> Result<Reach, String> {
        match &**self.now.load() {
            Now::Up(reach) if !reach.link.gone.is_cancelled() => Ok(reach.clone()),
            Now::Up(reach) => Err(reach.link.why()),
            Now::Down(why) => Err(why.clone()),
        }
    }

    /// These are its tools.
    pub(super) fn learn(&self, tools: &[Described]) {
        let known = tools.iter().map(|tool| {
            let descriptor = &tool.found.descriptor;
            let known = Known {
                original: tool.original.clone(),
                digest: descriptor.plugin.digest,
                output: tool.output.clone(),
            };
            (descriptor.id.clone(), known)
        });
        self.known.store(Arc::new(known.collect()));
    }

    pub(super) fn known(&self, tool: &ToolId) -> Option<Known> {
        self.known.load().get(tool).cloned()
    }
}
