//! `belljar approvals list`, `show` and `remembered`: what the store holds, for people.
//!
//! Changes nothing in it, and shows no declared secret.

use super::desk::{Desk, fault, nothing};
use super::{ListArgs, RememberedArgs, ShowArgs};
use crate::config::Config;
use crate::contract::approval::{ApprovalState, RememberScope, Remembered, RememberedVerdict};
use crate::contract::escape::clipped_line;
use crate::events::unix_ms;
use crate::frontends::cli::error::CliError;
use crate::frontends::cli::exit::Exit;
use crate::frontends::cli::redacted;
use crate::frontends::cli::show::{print, print_json_pretty, tell};
use crate::frontends::cli::start::{Warned, redactor};
use crate::frontends::cli::time::utc;
use crate::storage::{ListFilter, StorageError, Summary};

/// Longest text of others in one line, in bytes.
const TEXT_MAX_LEN: usize = 300;

/// Lists requests.
pub(super) fn list(args: &ListArgs, config: &Config) -> Result<Exit, CliError> {
    let Some(desk) = Desk::open(config)? else { return none(args.json, &nothing(config)?) };
    let filter = ListFilter {
        state: (!args.all).then_some(args.state),
        tool: args.tool.clone(),
        after: 0,
        limit: args.limit.saturating_add(1),
    };
    let mut found = desk.queue.list(&filter).map_err(fault)?;
    let is_more = u32::try_from(found.len()).is_ok_and(|len| len > args.limit);
    found.truncate(usize::try_from(args.limit).unwrap_or(usize::MAX));
    let redactor = redactor(config, Warned::Here);
    let found: Vec<_> =
        found.into_iter().map(|summary| redacted::summary(summary, &redactor)).collect();
    if args.json {
        print_json_pretty(&found)?;
    } else if found.is_empty() {
        print(if args.all {
            "no requests\n"
        } else {
            "no such requests; --all lists the others\n"
        })?;
    } else {
        let now = unix_ms();
        print(&found.iter().map(|summary| row(summary, now)).collect::<String>())?;
    }
    if is_more {
        tell(&format!("note: there are more than {}; --limit N shows more", args.limit));
    }
    Ok(Exit::Success)
}

/// Shows one request, whole.
pub(super) fn show(args: &ShowArgs, config: &Config) -> Result<Exit, CliError> {
    let Some(desk) = Desk::open(config)? else {
        return Err(fault(StorageError::NotFound(args.id.clone())));
    };
    let entry = desk.queue.show(&args.id).map_err(fault)?;
    let redactor = redactor(config, Warned::Here);
    if args.json {
        print_json_pretty(&redacted::entry(&entry, &redactor))?;
    } else {
        let card = redacted::shown_entry_card(&entry, unix_ms(), &redactor);
        print(&(card.join("\n") + "\n"))?;
    }
    Ok(Exit::Success)
}

/// Lists what stands for later calls.
pub(super) fn remembered(args: &RememberedArgs, config: &Config) -> Result<Exit, CliError> {
    let Some(desk) = Desk::open(config)? else { return none(args.json, &nothing(config)?) };
    let found = desk.queue.remembered_list().map_err(fault)?;
    let redactor = redactor(config, Warned::Here);
    let found: Vec<_> = found.into_iter().map(|it| redacted::remembered(it, &redactor)).collect();
    if args.json {
        print_json_pretty(&found)?;
    } else if found.is_empty() {
        print("nothing is remembered\n")?;
    } else {
        print(&found.iter().map(remembered_row).collect::<String>())?;
    }
    Ok(Exit::Success)
}

fn none(json: bool, words: &str) -> Result<Exit, CliError> {
    print(&if json { "[]\n".to_owned() } else { format!("{words}\n") })?;
    Ok(Exit::Success)
}

/// A request in three lines, each safe to look at.
pub(super) fn row(summary: &Summary, now_unix_ms: u64) -> String {
    let Summary { id, state, tool, call_id, .. } = summary;
    let text = |text: &str| clipped_line(text, TEXT_MAX_LEN);
    let caller = summary.caller.as_deref().map_or_else(|| "an unknown caller".to_owned(), text);
    let standing = match state {
        ApprovalState::Pending => {
            let left = summary.expires_unix_ms.saturating_sub(now_unix_ms) / 1000;
            format!("pending, {} min {} s left", left / 60, left % 60)
        }
        other => other.name().to_owned(),
    };
    let (reason, head) = (text(&summary.reason), text(&summary.arguments_head));
    // The store keeps the beginning alone, and an object that is whole ends so.
    let cut = if head.ends_with('}') { "" } else { "…" };
    format!(
        "{id}  {tool} for {caller} (call {call_id}): {standing}\n    why: {reason}\n    arguments: \
         {head}{cut}\n"
    )
}

fn remembered_row(remembered: &Remembered) -> String {
    let Remembered { id, tool, approver, .. } = remembered;
    let text = |text: &str| clipped_line(text, TEXT_MAX_LEN);
    let does = match remembered.verdict {
        RememberedVerdict::Allow => "allows",
        RememberedVerdict::Deny => "denies",
    };
    let scope = match &remembered.scope {
        RememberScope::Tool => "all its calls".to_owned(),
        RememberScope::Arguments => {
            format!("calls with the arguments of SHA-256 {}", remembered.arguments_hash)
        }
        RememberScope::Pattern(globs) => {
            let globs = globs.iter().map(|(name, glob)| text(&format!("{name}={glob}")));
            format!("calls that match {}", globs.collect::<Vec<_>>().join(" and "))
        }
    };
    let caller = remembered.caller.as_deref().map_or_else(|| "unknown callers".to_owned(), text);
    let mut more = String::new();
    for (label, known) in [
        ("in the session", &remembered.session_id),
        ("in the workspace", &remembered.workspace),
        ("because", &remembered.reason),
    ] {
        if let Some(known) = known {
            more.push_str(&format!(", {label} {}", text(known)));
        }
    }
    let until = match remembered.expires_unix_ms {
        Some(expires) => format!("until {}", utc(expires)),
        None => "until it is revoked".to_owned(),
    };
    let (by, at) = (text(&approver.name), utc(remembered.created_unix_ms));
    format!("{id}  {does} {tool} for {caller}: {scope}{more}; by {by} at {at}, {until}\n")
}
