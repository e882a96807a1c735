//! The tools of the host itself: what they have in common, and how they come to be.
//!
//! They run in this process, so each is small, bounded, and reaches nothing but what it is handed.

use std::sync::Arc;

use serde_json::Value;

use super::ask_user::AskUser;
use super::results::ReadResults;
use super::tools::{OutsideTools, Tools};
use crate::contract::arguments::ArgumentCheck;
use crate::contract::attempt::{AttemptEnd, End, ReturnCase, Returned};
use crate::contract::descriptor::{
    Isolation, ParallelRule, PluginIdentity, ToolDescriptor, ToolExecutor, ToolSource,
};
use crate::contract::effects::{Effect, Effects};
use crate::contract::grants::{Grants, ToolGrants};
use crate::contract::ids::{Digest, IdError, ToolId};
use crate::contract::limits::Limits;
use crate::contract::result::Usage;
use crate::engine::KeptResults;
use crate::engine::ports::{FoundTool, ToolRunner};
use crate::events::Clock;
use crate::registry::NameError;

/// Why one of them can't be there.
#[derive(Debug, thiserror::Error)]
pub enum OwnError {
    /// Its wire name is another tool's.
    #[error("a tool of the host can't be added: {0}")]
    Name(#[from] NameError),
    /// Its id isn't one.
    #[error("a tool of the host can't be added: {0}")]
    Id(#[from] IdError),
}

/// What is particular of one of them.
pub(super) struct OwnTool {
    pub(super) id: &'static str,
    pub(super) wire_name: &'static str,
    pub(super) title: &'static str,
    pub(super) description: &'static str,
    pub(super) input_schema: Value,
    pub(super) output_schema: Value,
    pub(super) asks_a_person: bool,
}

/// Adds all of them. `kept` is what calls leave.
///
/// # Errors
/// A wire name that a tool has.
pub fn add_own_tools(
    tools: &Tools,
    kept: KeptResults,
    limits: &Limits,
    clock: Clock,
) -> Result<(), OwnError> {
    let results = Arc::new(ReadResults::new(kept, clock));
    put(tools, ReadResults::tool(), results, limits)?;
    put(tools, AskUser::tool(), Arc::new(AskUser), limits)
}

fn put<T>(tools: &Tools, tool: OwnTool, with: Arc<T>, limits: &Limits) -> Result<(), OwnError>
where
    T: ArgumentCheck + ToolRunner + 'static,
{
    let descriptor = Arc::new(tool.descriptor(limits)?);
    let source = descriptor.id.plugin.clone();
    let grants = ToolGrants::Fixed(Arc::new(Grants::default()));
    let found = FoundTool { descriptor, check: Arc::clone(&with) as _, grants, owner: None };
    Ok(tools.put_own(&source, OutsideTools { tools: vec![found], runner: with })?)
}

impl OwnTool {
    fn descriptor(self, limits: &Limits) -> Result<ToolDescriptor, IdError> {
        let id: ToolId = self.id.parse()?;
        let build = concat!("belljar ", env!("CARGO_PKG_VERSION"));
        Ok(ToolDescriptor {
            plugin: PluginIdentity {
                name: id.plugin.clone(),
                version: Some(env!("CARGO_PKG_VERSION").to_owned()),
                digest: Digest::of(build.as_bytes()),
            },
            id,
            wire_name: self.wire_name.to_owned(),
            title: Some(self.title.to_owned()),
            description: self.description.to_owned(),
            documented: true,
            source: ToolSource::Builtin,
            executor: ToolExecutor::Server,
            isolation: Isolation::None,
            server_id: None,
            original_name: None,
            input_schema: self.input_schema,
            output_schema: Some(self.output_schema),
            examples: Vec::new(),
            effects: Effects {
                read_only: Effect::proven(true),
                cannot_write_files: Effect::proven(true),
                closed_world: Effect::proven(true),
                deterministic: Effect::assumed(false),
                destructive: Effect::proven(false),
                // Who is asked twice may answer otherwise.
                idempotent: match self.asks_a_person {
                    true => Effect::assumed(false),
                    false => Effect::proven(true),
                },
            },
            needs: Vec::new(),
            parallel: ParallelRule { sequential: false, locks: Vec::new() },
            requires_approval: false,
            asks_a_person: self.asks_a_person,
            limits: limits.clone(),
        })
    }
}

/// The end of an attempt that answered, with an object or with why it can't.
pub(super) fn ended(answer: Result<Value, String>) -> AttemptEnd {
    let (case, value) = match answer {
        Ok(value) => (ReturnCase::Ok, value),
        Err(why) => (ReturnCase::Err, Value::String(why)),
    };
    let (wrapped, attachments) = (false, Vec::new());
    let end = End::Returned(Returned { case, value: Some(value), wrapped, attachments });
    AttemptEnd { end, usage: Usage::default(), missing_grants: Vec::new() }
}
