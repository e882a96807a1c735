//! What an export couldn't say. Decides nothing.

use serde::Serialize;

use crate::contract::ids::ToolId;

/// What kind of change a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FindingKind {
    /// The provider is told less than the schema or the description says. The host still checks
    /// all of it.
    Lossy,
    /// The tool has another name there.
    Renamed,
    /// Strict was asked for, and the tool is told without.
    NotStrict,
    /// The tool isn't told of at all: the provider would refuse the whole request.
    LeftOut,
    /// Something the program that sends the request must know.
    Note,
}

/// One thing that is not as the descriptor says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The tool; `None`: the export as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<ToolId>,
    /// What kind of change.
    pub kind: FindingKind,
    /// Where in the tool's input schema, as a JSON pointer; empty: the tool as a whole. Names in it
    /// are the plugin's, unescaped.
    pub path: String,
    /// What was lost, and why.
    pub what: String,
}
