//! Secrets and callers.
//!
//! Reads no secret's value, and authenticates nobody.

use super::super::secrets::{SecretOrigin, SecretOwner, SecretSettings};
use super::super::settings::{CLI_CALLER, CallerSettings, MCP_CALLER};
use super::{Build, Reader};
use crate::contract::invocation::PermissionLevel;

impl Build<'_> {
    pub(super) fn secrets(&mut self, root: Reader<'_>) -> Vec<SecretSettings> {
        let each = root.each("secrets").into_iter().filter_map(|(name, line, secret)| {
            let from = secret.text("from")?;
            let from = match from.split_once(':')? {
                ("env", name) => SecretOrigin::Env(name.to_owned()),
                (_, path) => SecretOrigin::File(self.path(path)),
            };
            Some(SecretSettings {
                name: name.to_owned(),
                from,
                header: secret.text("header"),
                hosts: secret.texts("hosts").unwrap_or_default(),
                per: match secret.text("per").as_deref() {
                    Some("user") => SecretOwner::User,
                    Some("workspace") => SecretOwner::Workspace,
                    Some("caller") => SecretOwner::Caller,
                    _ => SecretOwner::Host,
                },
                line,
            })
        });
        each.collect()
    }

    pub(super) fn callers(&mut self, root: Reader<'_>) -> Vec<CallerSettings> {
        let mut callers = Vec::new();
        for (name, line, caller) in root.each("callers") {
            let tools = caller.texts("tools");
            if tools.as_ref().is_some_and(Vec::is_empty) {
                self.find(line, format!("`callers.{name}.tools` is empty: it may call nothing"));
            }
            callers.push(CallerSettings {
                name: name.to_owned(),
                level: level(name, caller.text("level").as_deref()),
                tools,
                workspace: caller.text("workspace"),
                user: caller.text("user"),
                execution_user: caller.text("execution_user"),
            });
        }
        for own in [CLI_CALLER, MCP_CALLER] {
            if !callers.iter().any(|caller| caller.name == own) {
                callers.push(CallerSettings {
                    name: own.to_owned(),
                    level: level(own, None),
                    tools: None,
                    workspace: None,
                    user: None,
                    execution_user: None,
                });
            }
        }
        callers
    }
}

/// Who calls on the command line is the operator, who speaks MCP on the standard streams was started
/// by one; anybody else is trusted no further than said.
fn level(caller: &str, said: Option<&str>) -> PermissionLevel {
    match said {
        None if caller == CLI_CALLER => PermissionLevel::Full,
        None if caller == MCP_CALLER => PermissionLevel::ReadWrite,
        said => PermissionLevel::parse_or_read_only(said),
    }
}
