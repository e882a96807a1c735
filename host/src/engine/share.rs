//! Finds calls of one batch that are the same call again, so that they may run once (T7).
//!
//! Only where the operator turned it on: by default the same call twice runs twice.

use std::collections::HashMap;

use super::settings::EngineSettings;
use crate::contract::arguments::canonical::object_to_string;
use crate::contract::arguments::{ArgumentBounds, parse};
use crate::contract::decision::{ApprovalMark, ApprovedBy};
use crate::contract::descriptor::ToolDescriptor;
use crate::contract::ids::CallId;
use crate::contract::invocation::ToolInvocation;
use crate::contract::outcome::Executed;
use crate::contract::result::ToolResult;

/// Notes the calls of one batch, in its order.
#[derive(Debug)]
pub(crate) struct Sharing {
    on: bool,
    seen: HashMap<String, usize>,
}

impl Sharing {
    /// Shares nothing unless the settings say so.
    pub(crate) fn new(settings: &EngineSettings) -> Self {
        Self { on: settings.share_identical, seen: HashMap::new() }
    }

    /// The place of an earlier call that this one repeats, if it does: same tool, same arguments
    /// (as JSON, not as text), same caller in every respect, same idempotency key. `place` is the
    /// call's own.
    ///
    /// A tool that is proven read-only is never shared: running it again harms nothing, and what
    /// it reads may have changed in between. For others, it does not matter what stands between
    /// two identical calls; that is why the setting is off by default.
    pub(crate) fn repeats(
        &mut self,
        place: usize,
        call: &ToolInvocation,
        tool: Option<&ToolDescriptor>,
    ) -> Option<usize> {
        let tool = tool.filter(|it| self.on && !it.effects.read_only.is_proven())?;
        let key = identity_of(call, tool)?;
        let earlier = self.seen.get(&key).copied();
        if earlier.is_none() {
            self.seen.insert(key, place);
        }
        earlier
    }
}

/// Everything that makes a call what it is. `None` for arguments that don't read: each such call
/// gets its own refusal.
fn identity_of(call: &ToolInvocation, tool: &ToolDescriptor) -> Option<String> {
    let arguments = parse(&call.arguments_json, ArgumentBounds::of(&tool.limits)).ok()?;
    let mut same = call.clone();
    same.call_id = "same".parse().ok()?;
    same.tool_name = tool.id.to_string();
    same.arguments_json = object_to_string(&arguments);
    same.trace_parent = None;
    serde_json::to_string(&same).ok()
}

/// What a call answers that repeats another and didn't run: the other's result under its own id.
/// Attachments keep the addresses of the call that made them.
pub(crate) fn shared(result: &ToolResult, id: CallId) -> ToolResult {
    let reason = format!(
        "not run: the call is identical to `{}` of the same batch and shares its answer",
        result.call_id.as_str()
    );
    let mut mark = ApprovalMark::new(ApprovedBy::None, reason);
    mark.approval = result.approval.as_ref().and_then(|of| of.approval.clone());
    ToolResult {
        call_id: id,
        executed: Executed::No,
        attempts: 0,
        duration_ms: None,
        usage: None,
        approval: Some(mark),
        ..result.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::descriptor::example;
    use crate::contract::effects::Effect;
    use crate::contract::outcome::Outcome;
    use crate::contract::result::{Status, Usage};

    fn on() -> Sharing {
        Sharing::new(&EngineSettings { share_identical: true, ..EngineSettings::default() })
    }

    fn writer() -> ToolDescriptor {
        example("mail.send", Effect::assumed(false))
    }

    fn call(arguments: &str) -> ToolInvocation {
        ToolInvocation::new("c".parse().unwrap(), "mail.send", arguments)
    }

    #[test]
    fn t4_the_same_call_twice_runs_twice_by_default() {
        let mut sharing = Sharing::new(&EngineSettings::default());
        for place in 0..2 {
            assert_eq!(sharing.repeats(place, &call("{}"), Some(&writer())), None);
        }
    }

    #[test]
    fn t7_identical_calls_share_the_first_ones_answer_where_that_is_on() {
        let (mut sharing, tool) = (on(), writer());
        let mut repeats = |place, call: &ToolInvocation| sharing.repeats(place, call, Some(&tool));
        assert_eq!(repeats(0, &call(r#"{"to":"a","n":1}"#)), None);
        assert_eq!(repeats(1, &call(r#"{"to":"b","n":1}"#)), None);
        let mut again = call(r#" {"n":1.0, "to":"a"} "#);
        again.tool_name = "mail_send".to_owned();
        again.call_id = "other".parse().unwrap();
        again.trace_parent = Some("00-1".to_owned());
        assert_eq!(repeats(2, &again), Some(0));
        assert_eq!(repeats(3, &again), Some(0));
    }

    #[test]
    fn t7_calls_of_others_or_with_another_key_are_not_identical() {
        let (mut sharing, tool) = (on(), writer());
        let mut calls = vec![call("{}"); 6];
        calls[1].caller = Some("somebody".to_owned());
        calls[2].session_id = Some("s".to_owned());
        calls[3].idempotency_key = Some("k".to_owned());
        calls[4].allowed_tools = Some(Vec::new());
        calls[5].workspace = Some("w".to_owned());
        for (place, call) in calls.iter().enumerate() {
            assert_eq!(sharing.repeats(place, call, Some(&tool)), None, "{call:?}");
        }
    }

    #[test]
    fn t7_what_is_proven_read_only_or_unreadable_or_unknown_is_not_shared() {
        let mut sharing = on();
        let reader = example("files.read", Effect::proven(true));
        for place in 0..2 {
            assert_eq!(sharing.repeats(place, &call("{}"), Some(&reader)), None);
            assert_eq!(sharing.repeats(place, &call("{"), Some(&writer())), None);
            assert_eq!(sharing.repeats(place, &call("{}"), None), None);
        }
    }

    #[test]
    fn t7_a_shared_answer_says_that_it_did_not_run_and_whose_it_is() {
        let mut result = ToolResult::new("a".parse().unwrap(), Outcome::Success, "sent");
        result.usage = Some(Usage::default());
        result.attempts = 2;
        let shared = shared(&result, "b".parse().unwrap());
        assert_eq!((shared.call_id.as_str(), shared.content.as_str()), ("b", "sent"));
        assert_eq!((shared.status, shared.outcome), (Status::Success, Outcome::Success));
        assert_eq!((shared.executed, shared.attempts), (Executed::No, 0));
        assert!(shared.usage.is_none());
        assert!(shared.approval.unwrap().reason.contains("identical to `a`"));
    }
}
