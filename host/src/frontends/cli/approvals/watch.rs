//! `belljar approvals watch`: tells of requests as they come and go, until Ctrl-C or until nobody
//! reads.
//!
//! Looks into the store again and again, since other processes write to it.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use tokio::signal::unix::{SignalKind, signal};

use super::WatchArgs;
use super::desk::{Desk, fault};
use super::list::row;
use crate::config::Config;
use crate::contract::approval::{ApprovalEntry, ApprovalState, Approver};
use crate::contract::escape::clipped_line;
use crate::contract::ids::{ApprovalId, ToolId};
use crate::events::{Redactor, unix_ms};
use crate::frontends::cli::error::CliError;
use crate::frontends::cli::exit::Exit;
use crate::frontends::cli::redacted;
use crate::frontends::cli::show::{json_for_terminal, print_to_reader, tell};
use crate::frontends::cli::start::{Warned, redactor};
use crate::frontends::cli::time::utc;
use crate::gate::approval::ApprovalSettings;
use crate::storage::{ApprovalStore as _, ListFilter, Revision, Summary};

/// Longest name in a line, in bytes.
const NAME_MAX_LEN: usize = 100;

/// One thing that is told, as JSON has it.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "lowercase", rename_all_fields = "camelCase")]
enum News {
    /// Somebody waits.
    Asked(Summary),
    /// Nobody does any more.
    Ended {
        id: ApprovalId,
        tool: ToolId,
        state: ApprovalState,
        #[serde(skip_serializing_if = "Option::is_none")]
        decision: Option<&'static str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        approver: Option<Approver>,
        at_unix_ms: u64,
    },
}

/// Watches the queue.
pub(super) async fn watch(args: &WatchArgs, config: &Config) -> Result<Exit, CliError> {
    // Before anything is told, so that no Ctrl-C is lost.
    let mut interrupts = signal(SignalKind::interrupt())
        .map_err(|error| CliError::Machine(format!("Ctrl-C can't be watched: {error}")))?;
    let mut watching = Watching {
        desk: Desk::open_for_later(config)?,
        redactor: redactor(config, Warned::Here),
        seen: None,
        last: 0,
        pending: BTreeMap::new(),
    };
    let mut is_told = false;
    loop {
        for news in watching.look()? {
            if !tell_news(&news, args.json)? {
                return Ok(Exit::Success);
            }
        }
        if !std::mem::replace(&mut is_told, true) {
            tell("note: watching; Ctrl-C ends it");
        }
        tokio::select! {
            _ = interrupts.recv() => return Ok(Exit::Success),
            () = tokio::time::sleep(ApprovalSettings::default().poll) => {}
        }
    }
}

/// Whether anybody still reads.
fn tell_news(news: &News, json: bool) -> Result<bool, CliError> {
    if json {
        let text = serde_json::to_string(news)
            .map_err(|error| CliError::Machine(format!("no JSON can be made: {error}")))?;
        return print_to_reader(&(json_for_terminal(&text) + "\n"));
    }
    print_to_reader(&match news {
        News::Asked(summary) => format!("{}  {}", utc(unix_ms()), row(summary, unix_ms())),
        News::Ended { id, tool, state, decision, approver, at_unix_ms } => {
            let how = match (decision, approver) {
                (Some(decision), Some(by)) => {
                    format!("answered `{decision}` by {}", clipped_line(&by.name, NAME_MAX_LEN))
                }
                _ => state.name().to_owned(),
            };
            format!("{}  {id}  {tool}: {how}\n", utc(*at_unix_ms))
        }
    })
}

struct Watching {
    desk: Desk,
    redactor: Redactor,
    seen: Option<Revision>,
    /// The number of the last request that was told of.
    last: u64,
    /// What was told of and waits.
    pending: BTreeMap<ApprovalId, ToolId>,
}

impl Watching {
    fn look(&mut self) -> Result<Vec<News>, CliError> {
        let store = &self.desk.store;
        // What nobody answers ends by the clock alone.
        store.expire(unix_ms()).map_err(fault)?;
        let revision = store.revision().map_err(fault)?;
        let before = self.seen.replace(revision);
        if before == Some(revision) {
            return Ok(Vec::new());
        }
        let filter = ListFilter { state: None, after: self.last, ..ListFilter::pending() };
        let fresh = store.list(&filter).map_err(fault)?;
        self.last = fresh.last().map_or(self.last, |summary| summary.number);
        let mut news = Vec::new();
        for summary in fresh {
            // At the beginning, what has ended is history.
            if summary.state == ApprovalState::Pending || before.is_some() {
                self.pending.insert(summary.id.clone(), summary.tool.clone());
                news.push(News::Asked(redacted::summary(summary, &self.redactor)));
            }
        }
        let waiting = store.list(&ListFilter::pending()).map_err(fault)?;
        let waiting: BTreeSet<_> = waiting.into_iter().map(|it| it.id).collect();
        let gone: Vec<_> = self.pending.extract_if(.., |id, _| !waiting.contains(id)).collect();
        for (id, tool) in gone {
            // One that is swept away meanwhile ended long ago.
            let Ok(ApprovalEntry { state, decided, .. }) = store.get(&id) else { continue };
            let decided = decided.map(|it| (it.decision.name(), it.approver));
            let (decision, approver) = decided.unzip();
            news.push(News::Ended { id, tool, state, decision, approver, at_unix_ms: unix_ms() });
        }
        Ok(news)
    }
}
