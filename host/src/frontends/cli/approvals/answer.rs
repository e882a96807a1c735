//! `belljar approvals approve` and `deny`.
//!
//! The queue records each answer before it counts; a log that can't be opened means no answer.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::desk::{Desk, approver, fault, refusal};
use super::selection::Selected;
use crate::app::open_audit;
use crate::config::Config;
use crate::contract::approval::{ApprovalDecision, Approver};
use crate::contract::ids::{ApprovalId, ToolId};
use crate::frontends::cli::error::CliError;
use crate::frontends::cli::exit::Exit;
use crate::frontends::cli::show::{indented, print, print_json_pretty, tell};
use crate::gate::approval::Selection;
use crate::storage::{ListFilter, StorageError};

/// What became of one request.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    id: ApprovalId,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<ToolId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    decision: Option<&'static str>,
    /// Not named, and answered by what is remembered of one that was.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    along: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// Answers requests alike.
pub(super) async fn answer(
    config: &Config,
    selected: Selected,
    decision: ApprovalDecision,
    json: bool,
) -> Result<Exit, CliError> {
    let Some(desk) = Desk::open(config)? else { return nothing_asked(selected, json) };
    let ids = match selected {
        Selected::Ids(ids) => ids,
        Selected::Waiting(tool) => waiting(&desk, tool)?.into_iter().map(|(id, _)| id).collect(),
    };
    if ids.is_empty() {
        return nobody_waits(json);
    }
    let journal = open_audit(config).map_err(Box::new)?;
    if let Some(journal) = &journal {
        desk.queue.record_in(journal.clone());
    }
    let answered = give(&desk, ids, &decision, &approver());
    if let Some(journal) = journal {
        // What isn't copied to the log now is by the next command that opens it.
        journal.close().await.unwrap_or_else(|error| tell(&format!("warning: {error}")));
    }
    let (lines, exit) = answered?;
    show(&lines, json)?;
    Ok(exit)
}

fn nothing_asked(selected: Selected, json: bool) -> Result<Exit, CliError> {
    let named = match selected {
        Selected::Ids(ids) => ids.into_iter().next(),
        Selected::Waiting(_) => None,
    };
    match named {
        Some(id) => Err(fault(StorageError::NotFound(id))),
        None => nobody_waits(json),
    }
}

fn nobody_waits(json: bool) -> Result<Exit, CliError> {
    print(if json { "[]\n" } else { "nothing waits for an answer\n" })?;
    Ok(Exit::Success)
}

/// What waits, in the order it came.
fn waiting(desk: &Desk, tool: Option<ToolId>) -> Result<Vec<(ApprovalId, ToolId)>, CliError> {
    let found = desk.queue.list(&ListFilter { tool, ..ListFilter::pending() }).map_err(fault)?;
    Ok(found.into_iter().map(|summary| (summary.id, summary.tool)).collect())
}

fn give(
    desk: &Desk,
    ids: Vec<ApprovalId>,
    decision: &ApprovalDecision,
    approver: &Approver,
) -> Result<(Vec<Line>, Exit), CliError> {
    let before = if is_remembered(decision) { waiting(desk, None)? } else { Vec::new() };
    let named: BTreeSet<_> = ids.iter().cloned().collect();
    let (selection, overrides) = (Selection::Ids(ids), BTreeMap::new());
    let answered = desk.queue.decide_all(selection, decision, &overrides, approver);
    let (mut lines, mut exit) = (Vec::new(), Exit::Success);
    for (id, answered) in answered.map_err(fault)? {
        let (tool, error) = match answered {
            Ok(entry) => (Some(entry.request.tool), None),
            Err(error) => (None, Some(refusal(error))),
        };
        exit = error.as_ref().map_or(exit, |error| worse(exit, error.exit()));
        let decision = tool.is_some().then_some(decision.name());
        let error = error.map(|error| error.to_string());
        lines.push(Line { id, tool, decision, along: false, error });
    }
    let others = before.into_iter().filter(|(id, _)| !named.contains(id));
    lines.extend(others.filter_map(|(id, tool)| along(desk, id, tool, &named)));
    Ok((lines, exit))
}

fn is_remembered(decision: &ApprovalDecision) -> bool {
    matches!(
        decision,
        ApprovalDecision::Session
            | ApprovalDecision::Always { .. }
            | ApprovalDecision::DenyAlways { .. }
    )
}

/// A request that waited and was answered by what was just remembered.
fn along(desk: &Desk, id: ApprovalId, tool: ToolId, named: &BTreeSet<ApprovalId>) -> Option<Line> {
    let decided = desk.queue.show(&id).ok()?.decided?;
    let decision = Some(decided.decision.name());
    let line = Line { id, tool: Some(tool), decision, along: true, error: None };
    decided.along.is_some_and(|by| named.contains(&by)).then_some(line)
}

fn worse(one: Exit, other: Exit) -> Exit {
    if other.code() > one.code() { other } else { one }
}

fn show(lines: &[Line], json: bool) -> Result<(), CliError> {
    if json {
        return print_json_pretty(&lines);
    }
    for Line { id, tool, decision, along, error } in lines {
        if let (Some(tool), Some(decision)) = (tool, decision) {
            let along = if *along { ", by what is now remembered" } else { "" };
            print(&format!("{id}  {decision}: {tool}{along}\n"))?;
        }
        if let Some(error) = error {
            tell(&format!("error: {}", indented(error, "  ")));
        }
    }
    Ok(())
}
