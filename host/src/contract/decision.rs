//! What the gate says of a call, and who let it through.
//!
//! Data only; `gate` decides.

use serde::{Deserialize, Serialize};

/// The gate's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Run it; the mark says why.
    Allow(ApprovalMark),
    /// Never run it, for this reason.
    Deny(Refusal),
    /// Run it only if a human says so, for this reason.
    Ask(String),
}

/// A denial, apart by who denied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// The caller's set of tools doesn't hold it.
    NotAllowed(String),
    /// Policy says no.
    Denied(String),
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

/// Who let a call through, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalMark {
    /// What decided.
    pub by: ApprovedBy,
    /// Why, in one line.
    pub reason: String,
}
