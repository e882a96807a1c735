//! Requests and answers for a person's eyes, without the declared secrets.
//!
//! Makes copies and prints nothing: what is answered, hashed and run stays as it is.

use crate::contract::approval::{
    ApprovalDecision, ApprovalEntry, ApprovalRequest, RememberScope, Remembered,
};
use crate::contract::arguments::CheckedArguments;
use crate::events::Redactor;
use crate::gate::approval::{card, entry_card};
use crate::storage::Summary;

/// How the line of a card begins that says what the arguments are by length and hash.
const ARGUMENTS: &str = "arguments ";

/// [`card`] without secrets.
pub(super) fn shown_card(
    asked: &ApprovalRequest,
    now_unix_ms: u64,
    redactor: &Redactor,
) -> Vec<String> {
    with_true_hash(card(&request(asked, redactor), now_unix_ms), asked, redactor)
}

/// [`entry_card`] without secrets.
pub(super) fn shown_entry_card(
    of: &ApprovalEntry,
    now_unix_ms: u64,
    redactor: &Redactor,
) -> Vec<String> {
    with_true_hash(entry_card(&entry(of, redactor), now_unix_ms), &of.request, redactor)
}

/// Length and hash are those of what will run, so that they can be compared with the audit log.
fn with_true_hash(
    mut lines: Vec<String>,
    asked: &ApprovalRequest,
    redactor: &Redactor,
) -> Vec<String> {
    let (real, shown) = (&asked.arguments, arguments(&asked.arguments, redactor));
    if shown.hash() == real.hash() {
        return lines;
    }
    let (there, here) = (said(&shown), said(real));
    // Lines of the arguments themselves stand behind a bar.
    for line in lines.iter_mut().filter(|line| line.starts_with(ARGUMENTS)) {
        *line = line.replace(&there, &here);
        line.push_str(" (of what runs; below, secrets are replaced by their names)");
    }
    lines
}

fn said(arguments: &CheckedArguments) -> String {
    format!("{} bytes, SHA-256 {}", arguments.canonical().len(), arguments.hash())
}

/// A request without secrets.
pub(super) fn request(of: &ApprovalRequest, redactor: &Redactor) -> ApprovalRequest {
    ApprovalRequest {
        title: of.title.as_deref().map(|title| text(title, redactor)),
        arguments: arguments(&of.arguments, redactor),
        reason: text(&of.reason, redactor),
        changed: of.changed.iter().map(|change| text(change, redactor)).collect(),
        ..of.clone()
    }
}

/// A request and its answer without secrets.
pub(super) fn entry(of: &ApprovalEntry, redactor: &Redactor) -> ApprovalEntry {
    let mut shown = ApprovalEntry { request: request(&of.request, redactor), ..of.clone() };
    match shown.decided.as_mut().map(|decided| &mut decided.decision) {
        Some(ApprovalDecision::Deny { reason } | ApprovalDecision::DenyAlways { reason, .. }) => {
            *reason = reason.as_deref().map(|reason| text(reason, redactor));
        }
        Some(ApprovalDecision::Edit { arguments_json }) => {
            *arguments_json = edited(arguments_json, redactor);
        }
        _ => {}
    }
    shown
}

/// A line of a list without secrets.
pub(super) fn summary(of: Summary, redactor: &Redactor) -> Summary {
    Summary {
        reason: text(&of.reason, redactor),
        arguments_head: redactor.json_beginning(&of.arguments_head),
        ..of
    }
}

/// What stands for later calls, without secrets.
pub(super) fn remembered(of: Remembered, redactor: &Redactor) -> Remembered {
    let scope = match of.scope {
        RememberScope::Pattern(globs) => RememberScope::Pattern(
            globs.into_iter().map(|(name, glob)| (name, text(&glob, redactor))).collect(),
        ),
        scope => scope,
    };
    let reason = of.reason.as_deref().map(|reason| text(reason, redactor));
    Remembered { scope, reason, ..of }
}

fn arguments(of: &CheckedArguments, redactor: &Redactor) -> CheckedArguments {
    if redactor.may_be_in_json(of.canonical()) {
        CheckedArguments::new(redactor.object(of.value()))
    } else {
        of.clone()
    }
}

/// Arguments that a person typed, as text of their own spelling.
fn edited(json: &str, redactor: &Redactor) -> String {
    match serde_json::from_str::<serde_json::Map<_, _>>(json) {
        Ok(typed) => serde_json::Value::Object(redactor.object(&typed)).to_string(),
        Err(_nested_too_deep) => text(json, redactor),
    }
}

fn text(of: &str, redactor: &Redactor) -> String {
    redactor.text(of).into_owned()
}
