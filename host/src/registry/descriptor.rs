//! Makes a tool's descriptor: types are facts, words are claims, effects are proven.

use belljar_metadata::{FunctionMetadata, Tags};

use super::effects::effects;
use super::load::LoadedPlugin;
use super::names::wire_name;
use super::words::{need, path_of};
use crate::contract::descriptor::{Isolation, ParallelRule, ToolDescriptor, ToolExecutor};
use crate::contract::grants::Grants;
use crate::contract::ids::ToolId;
use crate::contract::limits::{LimitKind, LimitOrigin, Limits};
use crate::sandbox::{Entry, ExportedFunction};

/// What a descriptor is made of.
pub(super) struct Parts<'a> {
    pub(super) id: ToolId,
    pub(super) plugin: &'a LoadedPlugin,
    pub(super) function: &'a ExportedFunction,
    pub(super) said: &'a FunctionMetadata,
    pub(super) entry: &'a Entry,
    pub(super) grants: &'a Grants,
    pub(super) limits: &'a Limits,
    /// The operator's; `None`: by rule.
    pub(super) wire_name: Option<&'a str>,
}

/// Makes the descriptor.
pub(super) fn describe(parts: Parts<'_>) -> ToolDescriptor {
    let Parts { id, plugin, function, said, entry, grants, limits, wire_name: wished } = parts;
    let tags = &said.tags;
    let documented = !said.docs.trim().is_empty();
    let description = if documented {
        said.docs.trim().to_owned()
    } else {
        format!("Calls `{}` of the plugin `{}`.", path_of(function), plugin.identity.name)
    };
    let examples = tags.examples.iter().cloned().map(serde_json::Value::Object).collect();
    ToolDescriptor {
        wire_name: wished.map_or_else(|| wire_name(&id), str::to_owned),
        id,
        title: tags.title.clone(),
        description,
        documented,
        source: plugin.source,
        executor: ToolExecutor::Server,
        isolation: Isolation::Sandbox,
        server_id: None,
        original_name: None,
        plugin: plugin.identity.clone(),
        input_schema: entry.input_schema().clone(),
        output_schema: entry.output_schema().cloned(),
        examples,
        effects: effects(&plugin.imports, grants, tags),
        needs: said.needs.iter().map(need).collect(),
        parallel: ParallelRule { sequential: tags.sequential, locks: tags.locks.clone() },
        requires_approval: tags.ask,
        asks_a_person: false,
        limits: lowered(limits, tags),
    }
}

/// The operator's limits, lowered by the tool's own tags.
fn lowered(limits: &Limits, tags: &Tags) -> Limits {
    let timeout = tags.timeout.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
    let wishes = [
        (LimitKind::AttemptDeadline, timeout),
        (LimitKind::Fuel, tags.fuel),
        (LimitKind::Memory, tags.memory),
        // What is above it is kept, and the model is told where.
        (LimitKind::OutputShown, tags.output),
    ];
    let mut limits = limits.clone();
    for (kind, wish) in wishes {
        if let Some(wish) = wish {
            limits.lower(kind, wish, LimitOrigin::Tag);
        }
    }
    limits
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn tags_only_lower() {
        let tags = Tags {
            timeout: Some(Duration::from_secs(3600)),
            fuel: Some(7),
            memory: Some(u64::MAX),
            ..Tags::default()
        };
        let limits = lowered(&Limits::default(), &tags);
        assert_eq!(limits.get(LimitKind::Fuel).origin, LimitOrigin::Tag);
        assert_eq!(limits.get(LimitKind::AttemptDeadline).origin, LimitOrigin::Default);
        assert_eq!(limits.get(LimitKind::Memory).origin, LimitOrigin::Default);
    }

    #[test]
    fn the_output_tag_lowers_what_is_shown_and_not_what_is_kept() {
        let tags = Tags { output: Some(1), ..Tags::default() };
        let limits = lowered(&Limits::default(), &tags);
        assert_eq!(limits.get(LimitKind::OutputShown).value, 1);
        assert_eq!(limits.get(LimitKind::OutputShown).origin, LimitOrigin::Tag);
        assert_eq!(limits.get(LimitKind::OutputKept).origin, LimitOrigin::Default);
    }
}
