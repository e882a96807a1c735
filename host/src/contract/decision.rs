//! What the gate says of a call, and who let it through.
//!
//! Data only; `gate` decides.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::approval::Approver;
use super::ids::ApprovalId;

/// The gate's answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    /// Run it; the mark says why.
    Allow(ApprovalMark),
    /// Never run it, for this reason.
    Deny(Refusal),
    /// Run it only if a human says so.
    Ask(AskReason),
}

/// Why a person is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskReason {
    /// In one line.
    pub reason: String,
    /// Whether the rule that asks lets `--yes` stand for a person.
    pub yes_allowed: bool,
    /// Whether it is a question: only an answer is of use, and no permission given now or earlier.
    pub question: bool,
}

/// A denial, apart by who denied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// The caller's set of tools doesn't hold it.
    NotAllowed(String),
    /// Policy says no.
    Denied(String),
    /// A person said no to such calls, earlier and for good.
    Remembered {
        /// Why, in one line.
        why: String,
        /// The answer that is remembered.
        approval: ApprovalId,
        /// Who gave it.
        approver: Approver,
    },
}

impl Refusal {
    /// Why, in one line.
    pub fn why(&self) -> &str {
        match self {
            Self::NotAllowed(why) | Self::Denied(why) | Self::Remembered { why, .. } => why,
        }
    }
}

/// What let a call through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ApprovedBy {
    /// A rule.
    Rule,
    /// A person.
    Person,
    /// Nothing did: the call wasn't let through.
    None,
}

/// Who let a call through, or who said no, and why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalMark {
    /// What let it through; of a call that was refused, nothing did, whoever said no.
    pub by: ApprovedBy,
    /// Why, in one line.
    pub reason: String,
    /// The request that was answered, or the remembered approval that stood for an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<ApprovalId>,
    /// Who answered, yes or no, and by which channel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approver: Option<Approver>,
    /// The arguments that the approver put in place of the caller's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edited_arguments: Option<Map<String, Value>>,
}

impl ApprovalMark {
    /// Let through, or not, without a person.
    pub fn new(by: ApprovedBy, reason: impl Into<String>) -> Self {
        Self { by, reason: reason.into(), approval: None, approver: None, edited_arguments: None }
    }
}
