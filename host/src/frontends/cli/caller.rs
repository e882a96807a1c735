//! Who calls: a caller of the configuration, narrowed by this run's options.
//!
//! Nothing here raises what the configuration gives.

use super::args::{CallerArgs, LEVELS};
use super::error::CliError;
use super::show::tell;
use crate::config::{CLI_CALLER, CallerSettings, Config};
use crate::contract::approval::CallerContext;
use crate::contract::escape::clipped_line;
use crate::contract::ids::CallId;
use crate::contract::invocation::{ApprovalMode, PermissionLevel, ToolInvocation};
use crate::engine::ports::FoundTool;
use crate::gate::{Pattern, narrow_level};

/// Callers that are named where one isn't known.
const NAMED_MAX: usize = 5;
/// Longest name that is repeated, in bytes.
const NAME_MAX_LEN: usize = 100;

/// Who makes the calls of this run.
#[derive(Debug, Clone)]
pub(super) struct Caller {
    /// Who it is, at the level that holds.
    pub(super) context: CallerContext,
    /// Ids of the tools it may call; `None`: every tool.
    pub(super) tools: Option<Vec<String>>,
    /// What becomes of its calls that need a person.
    pub(super) mode: ApprovalMode,
    /// The configuration's globs, until the tools are known.
    globs: Option<Vec<Pattern>>,
}

impl Caller {
    /// The caller that the options name.
    pub(super) fn new(
        args: &CallerArgs,
        config: &Config,
        mode: ApprovalMode,
    ) -> Result<Self, CliError> {
        let name = args.name.as_deref().unwrap_or(CLI_CALLER);
        let found = config.caller(name).ok_or_else(|| unknown(name, &config.callers))?;
        let level = narrow_level(found.level, args.level);
        if let Some(asked) = args.level.filter(|asked| *asked != level) {
            let (asked, level, given) =
                (level_name(asked), level_name(level), level_name(found.level));
            tell(&format!(
                "note: the level is {level}, which is what --level {asked} and the configuration's \
                 {given} of `{name}` both allow"
            ));
        }
        let context = CallerContext {
            caller: Some(name.to_owned()),
            session_id: args.session.clone(),
            user_id: found.user.clone(),
            execution_user_id: found.execution_user.clone(),
            workspace: found.workspace.clone(),
            permission_level: level,
        };
        let globs = found.tools.as_deref().map(patterns).transpose()?;
        Ok(Self { context, tools: None, mode, globs })
    }

    /// The same with the ids of the tools that its globs match. A tool that is loaded later is none
    /// of them.
    pub(super) fn among(mut self, tools: &[FoundTool]) -> Self {
        self.tools = self.globs.as_ref().map(|globs| {
            let ids = tools.iter().map(|tool| tool.descriptor.id.to_string());
            ids.filter(|id| globs.iter().any(|glob| glob.admits(id))).collect()
        });
        self
    }

    /// A call of this caller.
    pub(super) fn call(&self, id: CallId, tool: String, arguments: String) -> ToolInvocation {
        let mut call = ToolInvocation::of(self.context.clone(), id, tool, arguments);
        call.allowed_tools.clone_from(&self.tools);
        call.approval_mode = self.mode;
        call
    }
}

fn patterns(globs: &[String]) -> Result<Vec<Pattern>, CliError> {
    // The configuration has been checked; a glob that is none here is belljar's own fault.
    let pattern = |glob: &String| {
        Pattern::new(glob).map_err(|error| CliError::Machine(format!("a caller's tools: {error}")))
    };
    globs.iter().map(pattern).collect()
}

/// A level by its name.
pub(super) fn level_name(level: PermissionLevel) -> &'static str {
    let [read_only, read_write, smart, full] = LEVELS;
    match level {
        PermissionLevel::ReadOnly => read_only,
        PermissionLevel::ReadWrite => read_write,
        PermissionLevel::Smart => smart,
        PermissionLevel::Full => full,
    }
}

fn unknown(name: &str, callers: &[CallerSettings]) -> CliError {
    let near: String = name.chars().take(NAME_MAX_LEN).collect();
    let mut names: Vec<_> = callers.iter().map(|caller| caller.name.as_str()).collect();
    names.sort_by_key(|known| strsim::levenshtein(known, &near));
    let quoted = |name: &&str| format!("`{}`", clipped_line(name, NAME_MAX_LEN));
    let listed: Vec<_> = names.iter().take(NAMED_MAX).map(quoted).collect();
    let more = if names.len() > NAMED_MAX { " among others" } else { "" };
    CliError::Usage(format!(
        "--as names no caller of the configuration: `{}`; it has {}{more}",
        clipped_line(name, NAME_MAX_LEN),
        listed.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::{Sources, from_text};

    fn config(text: &str) -> Config {
        from_text(text, Path::new("/etc/belljar.toml"), &Sources::default()).unwrap()
    }

    fn caller(args: &CallerArgs, config: &Config) -> Result<Caller, CliError> {
        Caller::new(args, config, ApprovalMode::Deny)
    }

    #[test]
    fn without_options_the_command_line_calls_as_cli() {
        let context = caller(&CallerArgs::default(), &config("")).unwrap().context;
        assert_eq!(context.caller.as_deref(), Some("cli"));
        assert_eq!(context.permission_level, PermissionLevel::Full);
        let lowered = config("[callers.cli]\nlevel = \"READ_WRITE\"\n");
        let context = caller(&CallerArgs::default(), &lowered).unwrap().context;
        assert_eq!(context.permission_level, PermissionLevel::ReadWrite);
    }

    #[test]
    fn a_level_only_narrows_and_a_caller_brings_its_own() {
        let config = config(
            "[callers.ci]\nlevel = \"READ_WRITE\"\nworkspace = \"w\"\nuser = \"u\"\n\
             execution_user = \"x\"\n",
        );
        let level_of = |level| {
            let args = CallerArgs { name: Some("ci".into()), level, ..CallerArgs::default() };
            let context = caller(&args, &config).unwrap().context;
            assert_eq!(context.workspace.as_deref(), Some("w"));
            assert_eq!(context.user_id.as_deref(), Some("u"));
            assert_eq!(context.execution_user_id.as_deref(), Some("x"));
            context.permission_level
        };
        assert_eq!(level_of(None), PermissionLevel::ReadWrite);
        assert_eq!(level_of(Some(PermissionLevel::Full)), PermissionLevel::ReadWrite);
        assert_eq!(level_of(Some(PermissionLevel::ReadOnly)), PermissionLevel::ReadOnly);
    }

    #[test]
    fn an_unknown_caller_is_wrong_usage_and_near_ones_are_named() {
        let config = config("[callers.ci]\n[callers.nightly]\n");
        let args = CallerArgs { name: Some("nightli\u{1b}".into()), ..CallerArgs::default() };
        let error = caller(&args, &config).unwrap_err();
        assert_eq!(error.exit().code(), 2);
        let text = error.to_string();
        assert!(text.contains("`nightli<U+001B>`; it has `nightly`, "), "{text}");
    }
}
