//! What all connections of the server share.
//!
//! Holds the host; decides nothing.

use std::io::Read as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rmcp::model::RequestStateCodec;
use tokio::sync::Semaphore;

use super::McpError;
use super::asking::{Askers, Used};
use super::listing::Pages;
use super::settings::McpSettings;
use super::tasks::Tasks;
use crate::contract::approval::{Approver, Channel};
use crate::contract::ids::CallId;
use crate::host::Host;

/// Bytes of the key that states and cursors are signed with.
const KEY_LEN: usize = RequestStateCodec::MIN_KEY_LENGTH;
/// Bytes that tell the ids of this process from those of others on the same store.
const PREFIX_LEN: usize = 8;

pub(super) struct Shared {
    pub(super) host: Host,
    pub(super) settings: McpSettings,
    /// Signs what comes back from clients. Its key lives as long as the process.
    pub(super) codec: RequestStateCodec,
    /// States that came back once: none counts twice.
    pub(super) used: Used,
    /// Requests for approval that calls wait for here.
    pub(super) askers: Askers,
    pub(super) pages: Pages,
    /// The revision of the tools when the server began: nobody has an older list of it.
    pub(super) began: u64,
    pub(super) subscriptions: Arc<Semaphore>,
    pub(super) tasks: Arc<Tasks>,
    prefix: String,
    next: AtomicU64,
}

impl Shared {
    pub(super) fn new(host: Host, settings: McpSettings) -> Result<Self, McpError> {
        let key = random::<KEY_LEN>().map_err(McpError::NoRandom)?;
        let prefix = random::<PREFIX_LEN>().map_err(McpError::NoRandom)?;
        Ok(Self {
            codec: RequestStateCodec::try_new(key.to_vec())
                .map_err(|error| McpError::NoRandom(std::io::Error::other(error)))?,
            used: Used::default(),
            askers: Askers::default(),
            pages: Pages::default(),
            began: *host.tools_revision().borrow(),
            subscriptions: Arc::new(Semaphore::new(settings.bounds.subscriptions)),
            tasks: Arc::new(Tasks::new(&settings.bounds)),
            prefix: format!("{:016x}", u64::from_be_bytes(prefix)),
            next: AtomicU64::new(1),
            host,
            settings,
        })
    }

    /// A name that nothing else has, in this process or another.
    pub(super) fn next_id(&self, kind: &str) -> String {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        format!("mcp-{kind}-{}-{number}", self.prefix)
    }

    /// An id for a call. The client's own would be anybody's to choose, and names what it leaves.
    pub(super) fn call_id(&self) -> Option<CallId> {
        self.next_id("call").parse().ok()
    }

    /// What a session that is over asked, nobody waits for any more.
    pub(super) async fn end_session(&self, session: String) {
        let approvals = self.host.approvals().clone();
        let by = Approver { name: "the end of its MCP session".to_owned(), channel: Channel::Mcp };
        let ended = tokio::task::spawn_blocking(move || approvals.end_session(&session, &by)).await;
        if let Ok(Err(error)) = ended {
            tracing::warn!("what an MCP session asked waits on: {error}");
        }
    }
}

/// Bytes that nobody can foresee.
pub(super) fn random<const N: usize>() -> Result<[u8; N], std::io::Error> {
    let mut bytes = [0; N];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes)
}
