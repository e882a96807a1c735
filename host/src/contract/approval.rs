//! What a person is asked, what they may answer, and what of it is remembered.
//!
//! Data only: `gate::approval` makes requests and judges answers, `storage` keeps both.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::arguments::CheckedArguments;
use super::descriptor::{Isolation, PluginIdentity};
use super::effects::Effects;
use super::grants::GrantsRecord;
use super::ids::{ApprovalId, CallId, Digest, ToolId};
use super::invocation::PermissionLevel;

/// Everything a person is shown, frozen when they are asked. Texts are as they came; views escape
/// them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalRequest {
    /// Names the request.
    pub id: ApprovalId,
    /// When it was made, in milliseconds since 1970 (UTC).
    pub created_unix_ms: u64,
    /// From when on no answer counts, in milliseconds since 1970 (UTC).
    pub expires_unix_ms: u64,
    /// The SHA-256 of all that the approval is good for; the call is admitted by this alone.
    pub binding: Digest,
    /// The call that made it.
    pub call_id: CallId,
    /// The tool.
    pub tool: ToolId,
    /// Its title, a claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The build it belongs to.
    pub plugin: PluginIdentity,
    /// What stands between the tool and the machine.
    pub isolation: Isolation,
    /// What it can do, and how that is known.
    pub effects: Effects,
    /// The canonical arguments, whole.
    pub arguments: CheckedArguments,
    /// Who asks.
    pub caller: CallerContext,
    /// What the call may use.
    pub grants: GrantsRecord,
    /// The bounds in force, as text by name: `fuel` → `50000000000 fuel`.
    pub limits: BTreeMap<String, String>,
    /// Why a person is asked.
    pub reason: String,
    /// The rules that were in force.
    pub policy_revision: Digest,
    /// What is not as it was when this tool was last remembered, a line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
    /// Whether policy lets `--yes` stand for a person here.
    #[serde(default)]
    pub yes_allowed: bool,
    /// Whether it is a question to answer, and no call to let through.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub question: bool,
}

/// Who calls, as far as it is known: from the frontend's authenticated context.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallerContext {
    /// The caller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<String>,
    /// Its session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The user it acts for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_id: Option<String>,
    /// The user whose rights the tool runs with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution_user_id: Option<String>,
    /// The workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// How far it is trusted.
    pub permission_level: PermissionLevel,
}

/// What a person answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum ApprovalDecision {
    /// Run this call.
    Once,
    /// Run this call, and calls of this tool in the same session.
    Session,
    /// Run this call, and those that the scope covers.
    Always {
        /// Which calls.
        scope: RememberScope,
        /// Until when, in milliseconds since 1970 (UTC).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expires_unix_ms: Option<u64>,
    },
    /// Don't run it.
    Deny {
        /// Why, for the caller.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// Don't run it, nor those that the scope covers.
    DenyAlways {
        /// Which calls.
        scope: RememberScope,
        /// Why, for the caller.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// Run it with these arguments instead.
    Edit {
        /// A JSON object; checked like any caller's.
        arguments_json: String,
    },
    /// Don't run it; this is its answer.
    Answer {
        /// The answer.
        content: String,
    },
    /// Don't run it, and nobody is to be blamed.
    Cancel,
}

impl ApprovalDecision {
    /// The name on the wire and in tables.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Once => "once",
            Self::Session => "session",
            Self::Always { .. } => "always",
            Self::Deny { .. } => "deny",
            Self::DenyAlways { .. } => "deny-always",
            Self::Edit { .. } => "edit",
            Self::Answer { .. } => "answer",
            Self::Cancel => "cancel",
        }
    }

    /// Whether a call runs by it.
    pub fn admits(&self) -> bool {
        matches!(self, Self::Once | Self::Session | Self::Always { .. } | Self::Edit { .. })
    }
}

/// Which later calls an answer stands for: always of the same tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RememberScope {
    /// All its calls.
    Tool,
    /// Those with exactly these arguments.
    Arguments,
    /// Those whose arguments match: top-level argument name → glob over its canonical JSON, or over
    /// the bare text of a string.
    Pattern(BTreeMap<String, String>),
}

/// Who answered, and where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approver {
    /// The name that the channel vouches for.
    pub name: String,
    /// The way it came.
    pub channel: Channel,
}

/// A way to answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Channel {
    /// The prompt of the call's own terminal, or `belljar approvals`.
    Terminal,
    /// The approver of a program that holds the host as a library.
    Library,
    /// The http API.
    Http,
    /// An MCP client, which asked whoever sits at it.
    Mcp,
}

/// An answer with its author.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Decided {
    /// What was answered.
    #[serde(flatten)]
    pub decision: ApprovalDecision,
    /// By whom.
    pub approver: Approver,
    /// When, in milliseconds since 1970 (UTC).
    pub at_unix_ms: u64,
    /// The request whose remembered answer answered this one as well; `None`: this one was named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub along: Option<ApprovalId>,
}

/// Where a request stands. All but `Pending` and `Decided` are terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ApprovalState {
    /// Nobody has answered yet.
    Pending,
    /// Answered with a decision that no call has taken yet.
    Decided,
    /// A call took the decision: it admits no other.
    Used,
    /// Nobody answered in time, or no call took the answer in time.
    Expired,
    /// The call, or its session, ended before an answer came.
    Withdrawn,
}

impl ApprovalState {
    /// Every state.
    pub const ALL: [Self; 5] =
        [Self::Pending, Self::Decided, Self::Used, Self::Expired, Self::Withdrawn];

    /// The name on the wire and in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Decided => "decided",
            Self::Used => "used",
            Self::Expired => "expired",
            Self::Withdrawn => "withdrawn",
        }
    }
}

/// A request with what became of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ApprovalEntry {
    /// What was asked.
    pub request: ApprovalRequest,
    /// Where it stands.
    pub state: ApprovalState,
    /// The answer, once there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided: Option<Decided>,
}

/// Whether a remembered answer lets through or refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RememberedVerdict {
    /// Lets through what would be asked.
    Allow,
    /// Refuses, whatever else allows.
    Deny,
}

/// An answer that stands for later calls of the same caller.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Remembered {
    /// Names it: the id of the request it answered.
    pub id: ApprovalId,
    /// What it does.
    pub verdict: RememberedVerdict,
    /// The tool.
    pub tool: ToolId,
    /// The build that was approved; an allowing one dies with another.
    pub plugin_digest: Digest,
    /// What the tool might use then; an allowing one dies with more.
    pub grants: GrantsRecord,
    /// Which calls.
    pub scope: RememberScope,
    /// The arguments it was given for, which `RememberScope::Arguments` compares.
    pub arguments_hash: Digest,
    /// The caller it was given to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<String>,
    /// The user it acted for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_id: Option<String>,
    /// The user whose rights the tool ran with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution_user_id: Option<String>,
    /// The workspace it was given for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// The one session it stands for; `None`: any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// Who answered.
    pub approver: Approver,
    /// Why, where it refuses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// When, in milliseconds since 1970 (UTC).
    pub created_unix_ms: u64,
    /// Until when, in milliseconds since 1970 (UTC).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_unix_ms: Option<u64>,
}
