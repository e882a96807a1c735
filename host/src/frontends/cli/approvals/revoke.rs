//! `belljar approvals revoke`: takes effect, and is then recorded.
//!
//! The other way round than an answer: what takes permission away must not be held up, and a log
//! must not tell of a revocation that isn't in force.

use serde::Serialize;

use super::RevokeArgs;
use super::desk::{Desk, approver, fault};
use crate::app::open_audit;
use crate::config::Config;
use crate::contract::ids::ApprovalId;
use crate::events::Record;
use crate::frontends::cli::error::CliError;
use crate::frontends::cli::exit::Exit;
use crate::frontends::cli::show::{print, print_json_pretty, tell};

#[derive(Debug, Serialize)]
struct Line {
    id: ApprovalId,
    revoked: bool,
}

/// Takes back what was remembered.
pub(super) async fn revoke(args: RevokeArgs, config: &Config) -> Result<Exit, CliError> {
    let Some(desk) = Desk::open(config)? else {
        return shown(
            &args.ids.into_iter().map(|id| Line { id, revoked: false }).collect(),
            args.json,
        );
    };
    let (mut lines, mut unrecorded) = (Vec::new(), None);
    for id in args.ids {
        let revoked = desk.queue.revoke(&id, &approver()).map_err(fault)?;
        lines.push(Line { id, revoked });
    }
    match open_audit(config) {
        Ok(None) => {}
        Ok(Some(journal)) => {
            for line in lines.iter().filter(|line| line.revoked) {
                let record = Record::Revoked { approval: &line.id, approver: &approver() };
                if let Err(error) = journal.note(record, true).await {
                    unrecorded = Some(error.to_string());
                }
            }
            journal.close().await.unwrap_or_else(|error| tell(&format!("warning: {error}")));
        }
        Err(error) => unrecorded = Some(error.to_string()),
    }
    let exit = shown(&lines, args.json)?;
    match unrecorded {
        None => Ok(exit),
        Some(error) => Err(CliError::Machine(format!(
            "what was revoked stays so, and the audit log doesn't tell of it: {error}"
        ))),
    }
}

fn shown(lines: &Vec<Line>, json: bool) -> Result<Exit, CliError> {
    if json {
        print_json_pretty(lines)?;
    }
    for Line { id, revoked } in lines.iter().filter(|_| !json) {
        match revoked {
            true => print(&format!("{id}  revoked\n"))?,
            false => tell(&format!("error: nothing is remembered under `{id}`")),
        }
    }
    let all = lines.iter().all(|line| line.revoked);
    Ok(if all { Exit::Success } else { Exit::Refused })
}
