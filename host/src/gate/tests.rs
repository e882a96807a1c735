//! What the gate's tests share: tools by kind, calls by level, policy by text.

mod levels;
mod properties;
mod rules;
mod stages;

use super::*;
use crate::contract::arguments::CheckedArguments;
use crate::contract::decision::{AskReason, Decision, Refusal};
use crate::contract::descriptor::{Isolation, ToolDescriptor, ToolSource, example};
use crate::contract::effects::{Effect, Effects};
use crate::contract::invocation::{PermissionLevel, ToolInvocation};

const LEVELS: [PermissionLevel; 4] = [
    PermissionLevel::ReadOnly,
    PermissionLevel::ReadWrite,
    PermissionLevel::Smart,
    PermissionLevel::Full,
];

/// What `registry` finds of a sandboxed tool without a writable folder.
fn proven_reader(id: &str) -> ToolDescriptor {
    let mut tool = example(id, Effect::proven(true));
    tool.effects.destructive = Effect::proven(false);
    tool
}

/// What it finds of one with a writable folder.
fn file_writer(id: &str) -> ToolDescriptor {
    let unknown = Effect::assumed(false);
    let effects = Effects {
        read_only: unknown,
        cannot_write_files: unknown,
        closed_world: Effect::proven(true),
        deterministic: unknown,
        destructive: Effect::assumed(true),
        idempotent: unknown,
    };
    ToolDescriptor { effects, ..example(id, unknown) }
}

/// A sandboxed tool that reaches out.
fn network_writer(id: &str) -> ToolDescriptor {
    let mut tool = file_writer(id);
    tool.effects.cannot_write_files = Effect::proven(true);
    tool.effects.closed_world = Effect::assumed(false);
    tool
}

fn call_at(level: PermissionLevel) -> ToolInvocation {
    let mut call = ToolInvocation::new("c1".parse().unwrap(), "asked", r#"{"path":"raw"}"#);
    call.permission_level = level;
    call
}

fn arguments(json: &str) -> CheckedArguments {
    serde_json::from_str(json).unwrap()
}

/// Policy as an operator writes it.
fn policy(toml: &str) -> Policy {
    Policy::new(&toml::from_str(toml).unwrap()).unwrap()
}

fn decided(policy: &Policy, tool: &ToolDescriptor, level: PermissionLevel) -> Answer {
    let (call, none) = (call_at(level), arguments("{}"));
    answer_of(&judge(policy, &GateView::new(tool, &call, Some(&none))))
}

fn answer_of(decision: &Decision) -> Answer {
    match decision {
        Decision::Allow(_) => Answer::Allow,
        Decision::Ask(_) => Answer::Ask,
        Decision::Deny(_) => Answer::Deny,
    }
}
