//! What the audit log says, and how each record is written: one JSON object of bounded size.
//!
//! Records borrow what they tell, so that writing one copies nothing. Reading back is `read`'s: by
//! field names, since an older or newer belljar may have written others.

use serde_json::{Map, Value};

use crate::contract::approval::{ApprovalState, Approver, CallerContext, RememberScope};
use crate::contract::arguments::CheckedArguments;
use crate::contract::decision::ApprovalMark;
use crate::contract::ids::{ApprovalId, CallId, Digest, ToolId};
use crate::contract::outcome::{Executed, Outcome};
use crate::contract::result::Usage;

/// Longest canonical arguments that are written whole, in bytes; of longer ones only their hash.
pub const ARGUMENTS_MAX_LEN: usize = 16 * 1024;
/// Longest reason or message, in bytes as JSON writes it; longer ones are cut.
pub const TEXT_MAX_LEN: usize = 1024;
/// Longest name of a tool, a caller or the like, in bytes as JSON writes it.
pub const NAME_MAX_LEN: usize = 256;

/// A call that runs next: written before it does.
#[derive(Debug, Clone, Copy)]
pub struct CallStarted<'a> {
    /// Names the call.
    pub call_id: &'a CallId,
    /// The name it asked for.
    pub tool_name: &'a str,
    /// The tool.
    pub tool: &'a ToolId,
    /// The build it belongs to, where it belongs to one.
    pub plugin_digest: Option<&'a Digest>,
    /// What it runs with.
    pub arguments: &'a CheckedArguments,
    /// Who called.
    pub caller: &'a CallerContext,
    /// Who let it through, and why.
    pub mark: &'a ApprovalMark,
    /// The rules that were in force.
    pub policy_revision: &'a Digest,
    /// W3C trace context of the request.
    pub trace_parent: Option<&'a str>,
    /// The SHA-256 of its idempotency key.
    pub idempotency_key_hash: Option<&'a Digest>,
}

/// How a started call ended.
#[derive(Debug, Clone, Copy)]
pub struct CallFinished<'a> {
    /// Names the call.
    pub call_id: &'a CallId,
    /// The name it asked for.
    pub tool_name: &'a str,
    /// How it ended.
    pub outcome: Outcome,
    /// Whether the tool ran.
    pub executed: Executed,
    /// What went wrong, in words.
    pub error_message: Option<&'a str>,
    /// How often it was tried.
    pub attempts: u32,
    /// What it used, where it ran.
    pub usage: Option<&'a Usage>,
    /// Wall-clock time of the call, in milliseconds.
    pub duration_ms: Option<u64>,
    /// The length of the content it gave back.
    pub content_bytes: u64,
    /// The SHA-256 of that content.
    pub content_hash: Option<&'a Digest>,
}

/// A call that never ran: it was refused, or its answer came from elsewhere.
#[derive(Debug, Clone, Copy)]
pub struct CallNotRun<'a> {
    /// Names the call.
    pub call_id: &'a CallId,
    /// The name it asked for.
    pub tool_name: &'a str,
    /// The tool, where there is one of that name.
    pub tool: Option<&'a ToolId>,
    /// The SHA-256 of the canonical arguments, where they were fit to have one.
    pub arguments_hash: Option<&'a Digest>,
    /// Who called.
    pub caller: &'a CallerContext,
    /// How it ended.
    pub outcome: Outcome,
    /// Why.
    pub reason: &'a str,
    /// The request that was answered, or the remembered approval that refused.
    pub approval: Option<&'a ApprovalId>,
}

/// A person is asked.
#[derive(Debug, Clone, Copy)]
pub struct ApprovalRequested<'a> {
    /// Names the request.
    pub request: &'a ApprovalId,
    /// The call.
    pub call_id: &'a CallId,
    /// The tool.
    pub tool: &'a ToolId,
    /// The SHA-256 of the canonical arguments.
    pub arguments_hash: &'a Digest,
    /// Who called.
    pub caller: &'a CallerContext,
    /// Why a person is asked.
    pub reason: &'a str,
    /// From when on no answer counts, in milliseconds since 1970 (UTC).
    pub expires_unix_ms: u64,
}

/// A person answered.
#[derive(Debug, Clone, Copy)]
pub struct ApprovalDecided<'a> {
    /// Names the request.
    pub request: &'a ApprovalId,
    /// The decision's name: `ApprovalDecision::name`.
    pub decision: &'a str,
    /// Who answered.
    pub approver: &'a Approver,
    /// Why, where the answer is no and the person said it.
    pub reason: Option<&'a str>,
    /// From the request to the answer, in milliseconds.
    pub latency_ms: u64,
    /// Which later calls the answer stands for.
    pub remembered_scope: Option<&'a RememberScope>,
    /// The arguments that the approver put in place of the caller's.
    pub edited_arguments: Option<&'a Map<String, Value>>,
}

/// Everything that is written beside the start and the end of a call.
#[derive(Debug, Clone, Copy)]
pub enum Record<'a> {
    /// A call that was refused, or ended before it could run.
    CallRefused(CallNotRun<'a>),
    /// A call that has an answer without a run of its own: a kept result, that of an identical call
    /// of its batch, or a person's. Logs from before this record have `CallRefused` there.
    CallAnswered(CallNotRun<'a>),
    /// A person is asked.
    ApprovalRequested(ApprovalRequested<'a>),
    /// A person answered.
    ApprovalDecided(ApprovalDecided<'a>),
    /// A request, or the answer to it, counts no more.
    ApprovalEnded {
        /// Names the request.
        request: &'a ApprovalId,
        /// Where it stands now.
        state: ApprovalState,
        /// Why.
        reason: &'a str,
    },
    /// A remembered approval counts no more.
    Revoked {
        /// Names it.
        approval: &'a ApprovalId,
        /// Who took it back.
        approver: &'a Approver,
    },
    /// Old entries are removed next; the chain goes on from here.
    Checkpoint {
        /// The number of the last of them.
        removed_through: u64,
        /// The link that the first segment that stays names as the one before it.
        link: &'a Digest,
        /// Why.
        reason: &'a str,
    },
}

mod line;
mod object;

pub(super) use line::{Interrupted, Writing};
