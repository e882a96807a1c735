//! Which requests an answer is for, and which later calls it covers, as they are typed.
//!
//! Whether a glob is one is the gate's to say.

use std::collections::BTreeMap;

use clap::{ArgGroup, Args};

use crate::contract::approval::ApprovalState;
use crate::contract::ids::{ApprovalId, ToolId};
use crate::frontends::cli::error::CliError;

/// Some requests by their ids, or all that wait.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("requests").required(true).args(["ids", "all"]))]
pub(super) struct Which {
    /// The requests.
    #[arg(value_name = "ID")]
    ids: Vec<ApprovalId>,
    /// All that wait when the command begins.
    #[arg(long)]
    all: bool,
    /// With --all: those of one tool.
    #[arg(long, value_name = "TOOL", requires = "all", conflicts_with = "ids")]
    tool: Option<ToolId>,
}

/// What was selected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Selected {
    /// These.
    Ids(Vec<ApprovalId>),
    /// All that wait, of one tool or of any.
    Waiting(Option<ToolId>),
}

impl Which {
    /// Each id once, in the order they were named.
    pub(super) fn selected(self) -> Selected {
        if self.all {
            return Selected::Waiting(self.tool);
        }
        let mut ids = Vec::new();
        for id in self.ids {
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        Selected::Ids(ids)
    }
}

impl Selected {
    /// Whether it is one request that was named.
    pub(super) fn is_one(&self) -> bool {
        matches!(self, Self::Ids(ids) if ids.len() == 1)
    }
}

/// The name of a state.
pub(super) fn state(text: &str) -> Result<ApprovalState, &'static str> {
    let named = serde_json::from_value(serde_json::Value::String(text.to_owned()));
    named.map_err(|_unknown| "expected pending, decided, used, expired or withdrawn")
}

/// The globs of `--match`, one for an argument.
pub(super) fn patterns(
    matching: Vec<(String, String)>,
) -> Result<BTreeMap<String, String>, CliError> {
    let mut patterns = BTreeMap::new();
    for (name, glob) in matching {
        if patterns.contains_key(&name) {
            let why = format!("--match names `{name}` twice: expected one glob for an argument");
            return Err(CliError::Usage(why));
        }
        patterns.insert(name, glob);
    }
    Ok(patterns)
}

/// `NAME=GLOB`.
pub(super) fn glob(text: &str) -> Result<(String, String), &'static str> {
    match text.split_once('=') {
        Some((name, glob)) if !name.is_empty() => Ok((name.to_owned(), glob.to_owned())),
        _ => Err("expected NAME=GLOB, such as `path=src/**`"),
    }
}
