//! What an operator sets about MCP, and what is bounded whatever they set.
//!
//! Plain values; reads no file.

use std::time::Duration;

use crate::config::McpApprovals;
use crate::events::{Clock, unix_ms};

/// How MCP is served.
#[derive(Debug, Clone)]
pub struct McpSettings {
    /// What becomes of a call that needs a person.
    pub approvals: McpApprovals,
    /// How long calls may still run once the client, or belljar, is leaving.
    pub drain: Duration,
    /// The time.
    pub clock: Clock,
    /// What is held at most.
    pub bounds: McpBounds,
}

impl Default for McpSettings {
    fn default() -> Self {
        Self {
            approvals: McpApprovals::Queue,
            drain: Duration::from_secs(10),
            clock: unix_ms,
            bounds: McpBounds::default(),
        }
    }
}

/// What is held at most.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpBounds {
    /// Bytes of one message that comes in. Above the ceiling of a call's arguments, so that a call
    /// with too long ones is told so by the engine, with its limit.
    pub message_bytes: usize,
    /// Requests that are not answered yet of one connection or session, and over http of one caller
    /// outside of sessions.
    pub in_flight: usize,
    /// Messages that wait for a client to read them; who waits with more waits.
    pub queued: usize,
    /// Tools, or resources, of one page.
    pub page: usize,
    /// Subscriptions of all clients.
    pub subscriptions: usize,
    /// Sessions of the era of handshakes, over http.
    pub sessions: usize,
    /// Those of one caller.
    pub sessions_of_one: usize,
    /// How long such a session may be silent.
    pub session_idle: Duration,
    /// How long whoever sits at the client has for an answer while a call is open.
    pub elicitation: Duration,
    /// How long a call whose client takes tasks may run before it becomes one.
    pub task_grace: Duration,
    /// How long a task may run, and is kept from when it was made; `ttlMs` says so.
    pub task_ttl: Duration,
    /// How long a task that ended late is kept after its end at least; `ttlMs` grows by it.
    pub task_kept: Duration,
    /// Tasks of one caller, running or ended.
    pub tasks_of_one: usize,
    /// Tasks of all callers.
    pub tasks: usize,
    /// Bytes of results of all tasks.
    pub task_bytes: usize,
}

impl Default for McpBounds {
    fn default() -> Self {
        Self {
            message_bytes: 17 << 20,
            in_flight: 256,
            queued: 256,
            page: 1_000,
            subscriptions: 1_024,
            sessions: 1_024,
            sessions_of_one: 128,
            session_idle: Duration::from_secs(300),
            elicitation: Duration::from_secs(600),
            task_grace: Duration::from_millis(500),
            task_ttl: Duration::from_secs(3_600),
            task_kept: Duration::from_secs(900),
            tasks_of_one: 64,
            tasks: 1_024,
            task_bytes: 64 << 20,
        }
    }
}
