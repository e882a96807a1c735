//! What an operator set, as values: the shape that `app` makes a host of.
//!
//! Plain values within their bounds; acts on nothing and looks nothing up.

use std::net::SocketAddr;
use std::path::PathBuf;

use serde::Serialize;

use crate::contract::ids::{Digest, PluginName, ToolName};
use crate::contract::invocation::PermissionLevel;
use crate::contract::limits::LimitKind;
use crate::gate::PolicySettings;

use super::effective::Effective;
use super::secrets::{SecretOrigin, SecretSettings};
use super::templates::GrantTemplate;

/// The caller's name on the command line.
pub const CLI_CALLER: &str = "cli";
/// The name of whoever speaks MCP on the standard streams, where no other is named.
pub const MCP_CALLER: &str = "mcp";

/// Limits that the operator set, each in the unit of its kind and within its ceiling.
pub type LimitValues = Vec<(LimitKind, u64)>;

/// Everything in force.
#[derive(Debug, Clone)]
pub struct Config {
    /// The file it comes from; `None`: there is none and everything is default.
    pub file: Option<PathBuf>,
    /// Where a configuration is, or would be looked for: no plugin may write there.
    pub places: Vec<PathBuf>,
    /// The folder for approvals and the audit log; `None`: none is named and the user has no home.
    pub state: Option<PathBuf>,
    /// Which builtins are loaded.
    pub builtins: Builtins,
    /// Plugins to load and settings of builtins, in the order of the file.
    pub plugins: Vec<PluginSettings>,
    /// What every plugin may use.
    pub grants: GrantTemplate,
    /// The limits of every tool.
    pub limits: LimitValues,
    /// MCP servers whose tools are offered, in the order of the file.
    pub upstream: Vec<UpstreamSettings>,
    /// The secrets, in the order of the file.
    pub secrets: Vec<SecretSettings>,
    /// Who calls; always holds [`CLI_CALLER`] and [`MCP_CALLER`].
    pub callers: Vec<CallerSettings>,
    /// Who may speak to `belljar serve` over http, in the order of the file.
    pub tokens: Vec<TokenSettings>,
    /// Sets of tools, in the order of the file.
    pub expose: Vec<ExposedSet>,
    /// What `belljar serve` does.
    pub serve: ServeSettings,
    /// The rules, with the `gate` keys of single tools among its `keys`.
    pub policy: PolicySettings,
    /// How a person is asked.
    pub approvals: ApprovalSettings,
    /// Batches, retries and repeated failures.
    pub engine: EngineValues,
    /// Calls of plugins at once.
    pub sandbox: SandboxValues,
    /// The record of every call.
    pub audit: AuditSettings,
    /// What isn't wrong and may not be meant either.
    pub findings: Vec<Finding>,
    /// Every value in force with where it comes from.
    pub effective: Vec<Effective>,
}

impl Config {
    /// Settings of one plugin.
    pub fn plugin(&self, name: &PluginName) -> Option<&PluginSettings> {
        self.plugins.iter().find(|plugin| plugin.name == *name)
    }

    /// What one plugin may use: what every plugin may, and its own.
    pub fn grants_of(&self, plugin: &PluginName) -> GrantTemplate {
        match self.plugin(plugin) {
            Some(plugin) => self.grants.with(&plugin.grants),
            None => self.grants.clone(),
        }
    }

    /// The limits of one plugin's tools: for every tool, then its own, so that the later win.
    pub fn limits_of(&self, plugin: &PluginName) -> LimitValues {
        let own = self.plugin(plugin).into_iter().flat_map(|plugin| &plugin.limits);
        self.limits.iter().chain(own).copied().collect()
    }

    /// Settings of one tool.
    pub fn tool(&self, plugin: &PluginName, tool: &ToolName) -> Option<&ToolSettings> {
        self.plugin(plugin)?.tools.iter().find(|it| it.name == *tool)
    }

    /// Settings of one caller.
    pub fn caller(&self, name: &str) -> Option<&CallerSettings> {
        self.callers.iter().find(|caller| caller.name == name)
    }
}

/// Which builtins are loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Builtins {
    /// Each that ships.
    All,
    /// These; none where the list is empty.
    Only(Vec<PluginName>),
}

impl Builtins {
    /// Whether the builtin of this name is loaded.
    pub fn includes(&self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(names) => names.iter().any(|it| it.as_str() == name),
        }
    }
}

/// One plugin.
#[derive(Debug, Clone, PartialEq)]
pub struct PluginSettings {
    /// Its name.
    pub name: PluginName,
    /// Its component's file; `None`: it is a builtin.
    pub path: Option<PathBuf>,
    /// What it may use beside what every plugin may.
    pub grants: GrantTemplate,
    /// The limits of its calls.
    pub limits: LimitValues,
    /// Settings of single tools.
    pub tools: Vec<ToolSettings>,
}

/// One tool. Its `gate` keys are in [`Config::policy`], and `parallel` in [`Config::engine`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolSettings {
    /// Its name within the plugin.
    pub name: ToolName,
    /// The limits of its calls.
    pub limits: LimitValues,
    /// The name that models use for it.
    pub wire_name: Option<String>,
    /// The line that names it, from 1.
    pub line: u32,
}

/// An MCP server whose tools are offered. The `gate` keys of its tools are in [`Config::policy`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpstreamSettings {
    /// Its name, the first half of its tools' ids.
    pub name: PluginName,
    /// Its number: its place in the file, from 1.
    pub server_id: u64,
    /// How it is spoken to.
    pub way: UpstreamWay,
    /// How long it may take to start and to list its tools, in milliseconds: 1,000 to 600,000.
    pub start_timeout_ms: u64,
    /// Calls that it is given at once: 1 to 256.
    pub concurrency: usize,
    /// The limits of its calls.
    pub limits: LimitValues,
    /// Settings of single tools.
    pub tools: Vec<ToolSettings>,
}

/// How an MCP server is spoken to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UpstreamWay {
    /// Over the standard streams of a child process.
    Child {
        /// The program: a bare name, or a path that is absolute or begins at the file's folder.
        command: PathBuf,
        /// Its arguments.
        args: Vec<String>,
        /// The folder it begins in.
        dir: PathBuf,
        /// Its whole environment, by the variables' names.
        env: Vec<(String, UpstreamValue)>,
    },
    /// Over http.
    Http {
        /// Where.
        url: String,
        /// Headers of each request, by their names.
        headers: Vec<(String, UpstreamValue)>,
    },
}

/// What is handed to an MCP server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UpstreamValue {
    /// This text.
    Literal(String),
    /// The value of a secret.
    Secret {
        /// One of [`Config::secrets`].
        name: String,
        /// What stands before it.
        prefix: String,
    },
}

/// One caller. A request may only narrow what stands here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallerSettings {
    /// Its name.
    pub name: String,
    /// How far it is trusted.
    pub level: PermissionLevel,
    /// Globs on the ids of the tools it may call; `None`: every tool.
    pub tools: Option<Vec<String>>,
    /// Its workspace.
    pub workspace: Option<String>,
    /// The user it acts for.
    pub user: Option<String>,
    /// The user whose rights tools run with.
    pub execution_user: Option<String>,
}

/// What a token may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Makes calls.
    Caller,
    /// Answers requests.
    Approver,
    /// Reads the events and the audit log of all callers.
    Operator,
}

/// Where a token comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokenOrigin {
    /// Its SHA-256 stands in the file.
    Sha256(Digest),
    /// It is read at the start.
    From(SecretOrigin),
}

/// One who may speak to `belljar serve` over http.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenSettings {
    /// Its name: who answered, where it answers requests.
    pub name: String,
    /// Where it comes from.
    pub origin: TokenOrigin,
    /// The caller whose calls it makes, one of [`Config::callers`].
    pub caller: Option<String>,
    /// What it may do.
    pub roles: Vec<Role>,
    /// The sets it sees; `None`: what `serve` exposes.
    pub expose: Option<Vec<String>>,
    /// The line it stands in, from 1.
    pub line: u32,
}

/// A set of tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExposedSet {
    /// Its name.
    pub name: String,
    /// Globs on the ids of its tools.
    pub tools: Vec<String>,
}

/// What `belljar serve` does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServeSettings {
    /// Where `serve --http` listens where it names no address.
    pub http: SocketAddr,
    /// Names under which it may be asked, beside its own loopback names.
    pub hosts: Vec<String>,
    /// Origins that may speak to it, beside its own.
    pub origins: Vec<String>,
    /// Names of sets, or of plugins; `None`: every tool.
    pub expose: Option<Vec<String>>,
    /// The caller of requests without a token, one of [`Config::callers`]; `None`: they are refused.
    pub anonymous: Option<String>,
    /// How long calls may still run once it is told to end, in milliseconds.
    pub drain_ms: u64,
}

/// Batches, retries and repeated failures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineValues {
    /// Calls of one batch that run at once: 1 to 256.
    pub concurrency: usize,
    /// Retries of a call, at most 10; `None`: 2 for idempotent tools, 0 for others.
    pub retries: Option<u32>,
    /// The pause before the first retry, in milliseconds: at most 60,000.
    pub retry_delay_ms: u64,
    /// Globs on ids of tools that never run beside another call.
    pub unsafe_tools: Vec<String>,
    /// Globs on ids of tools that may run beside others, though that isn't proven.
    pub parallel_tools: Vec<String>,
    /// Whether identical calls of one batch run once.
    pub share_identical: bool,
    /// Identical failures in a row before the next identical call is refused: 0 (never) to 100.
    pub breaker_after: u32,
    /// The time that they must all lie in, in milliseconds: 1 to 3,600,000.
    pub breaker_window_ms: u64,
}

/// Calls of plugins at once, and what is made ahead of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SandboxValues {
    /// Calls at once: 1 to 2,048.
    pub concurrency: u32,
    /// Calls of one plugin at once: 1 to 2,048.
    pub plugin_concurrency: u32,
    /// Instances made ahead of their calls: at most 64.
    pub ready_instances: u32,
}

/// What the command line does with a call that needs a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CliApprovals {
    /// Asks on the terminal.
    Prompt,
    /// Waits for `belljar approvals`.
    Queue,
    /// Refuses.
    Deny,
}

/// What MCP does with a call that needs a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum McpApprovals {
    /// Waits for somebody who answers elsewhere, and then hands back.
    Queue,
    /// Asks whoever sits at the client, where the client can; else as `Queue`.
    Elicit,
    /// Takes it that the client has asked already.
    Client,
    /// Refuses.
    Deny,
}

/// What the http API does with a call that needs a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum HttpApprovals {
    /// Waits for somebody who answers elsewhere, and then hands back.
    Queue,
    /// Refuses.
    Deny,
}

/// How a person is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalSettings {
    /// How long a request waits for an answer, in milliseconds.
    pub expires_ms: u64,
    /// How long a call waits before it answers `approval_pending`, in milliseconds.
    pub hand_back_ms: u64,
    /// On the command line.
    pub cli: CliApprovals,
    /// Over MCP.
    pub mcp: McpApprovals,
    /// Over http.
    pub http: HttpApprovals,
    /// Whether a caller may answer its own requests.
    pub self_approval: bool,
}

/// The record of every call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditSettings {
    /// Whether there is one.
    pub enabled: bool,
    /// Its folder; `None`: none is named and there is no folder for state.
    pub path: Option<PathBuf>,
    /// How many bytes of it are kept.
    pub keep_bytes: u64,
    /// How many days records are kept; `None`: as long as `keep_bytes` lets them.
    pub keep_days: Option<u64>,
}

/// Something that isn't wrong and may not be meant either.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The line it is about, from 1; `None`: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// In one sentence.
    pub text: String,
}
