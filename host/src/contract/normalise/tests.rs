//! One row for every end: which result it is, in which words.

mod outside;

use serde_json::{Value, json};

use super::*;
use crate::contract::attempt::{AttemptEnd, End, GuestFault, ReturnCase, Returned, RunnerRefusal};
use crate::contract::ids::CallId;
use crate::contract::limits::{LimitKind, Limits};
use crate::contract::outcome::{Executed, Outcome};
use crate::contract::result::{
    Attachment, AttachmentKind, MissingGrant, Status, ToolResult, Usage,
};

fn call_id() -> CallId {
    "c1".parse().unwrap()
}

fn settled_by(limits: &Limits, text_rule: TextRule, end: End) -> ToolResult {
    let call_id = call_id();
    let settling =
        Settling { call_id: &call_id, limits, text_rule, attempts: 2, duration_ms: Some(7) };
    settle(&settling, AttemptEnd { end, usage: Usage::default(), missing_grants: Vec::new() })
}

fn settled(end: End) -> ToolResult {
    settled_by(&Limits::default(), TextRule::On, end)
}

fn returned(case: ReturnCase, value: Option<Value>, wrapped: bool) -> End {
    End::Returned(Returned { case, value, wrapped, attachments: Vec::new() })
}

fn missing() -> MissingGrant {
    MissingGrant {
        kind: "dir".into(),
        tried: "to open `passwd`".into(),
        grant: Some("--dir /etc".into()),
        why: None,
    }
}

#[test]
fn rich_output_is_text_and_never_read_for_a_meaning() {
    let text = r#"{"error":"only words"}"#;
    let result = settled(returned(ReturnCase::Plain, Some(json!(text)), false));
    assert_eq!((result.outcome, result.content.as_str()), (Outcome::Success, text));
    assert_eq!(result.structured, None);
}

#[test]
fn a19_a_plain_string_takes_the_same_rule_on_every_path() {
    for raw in [r#"{"error":"no"}"#, r#"{"exit_code":3}"#, "fine", "{}"] {
        let alone = normalise_text(call_id(), raw, Some(7));
        let run = settled(returned(ReturnCase::Plain, Some(json!(raw)), true));
        assert_eq!(
            (run.outcome, run.status, run.content, run.error_message, run.duration_ms),
            (alone.outcome, alone.status, alone.content, alone.error_message, alone.duration_ms)
        );
    }
}

#[test]
fn a20_a_fact_wins_over_what_the_text_looks_like() {
    let raw = r#"{"error":"no"}"#;
    for (case, rule) in [(ReturnCase::Ok, TextRule::On), (ReturnCase::Plain, TextRule::Off)] {
        let end = returned(case, Some(json!(raw)), true);
        let result = settled_by(&Limits::default(), rule, end);
        assert_eq!(result.outcome, Outcome::Success);
        assert_eq!(result.structured, Some(json!({"result": raw})));
    }
    let typed = settled(returned(ReturnCase::Plain, Some(json!({"error": "no"})), false));
    assert_eq!(typed.outcome, Outcome::Success);
    let refused = settled(returned(ReturnCase::Err, Some(json!(r#"{"ok":true}"#)), true));
    assert_eq!(refused.outcome, Outcome::ToolError);
}

#[test]
fn returned_values_become_content_and_structure() {
    use ReturnCase::{Ok, Plain};
    let record = json!({"b": 1, "a": [2]});
    for (case, value, wrapped, content, structured) in [
        (Ok, Some(json!("hi\n")), true, "hi\n", Some(json!({"result": "hi\n"}))),
        (Ok, Some(record.clone()), false, r#"{"b":1,"a":[2]}"#, Some(record)),
        (Plain, Some(json!([1, null])), true, "[1,null]", Some(json!({"result": [1, null]}))),
        (Plain, None, true, "", None),
        (Ok, None, false, "", None),
    ] {
        let result = settled(returned(case, value.clone(), wrapped));
        assert_eq!((result.outcome, result.executed), (Outcome::Success, Executed::Yes));
        assert_eq!(result.content, content, "{value:?}");
        assert_eq!(result.structured, structured);
        assert_eq!(result.error_message, None);
        assert_eq!((result.attempts, result.duration_ms), (2, Some(7)));
    }
}

#[test]
fn returned_errors_keep_their_value_and_give_their_words() {
    let wordless = "the tool returned an error without words";
    let record = r#"{"code":5,"message":"gone"}"#;
    for (value, content, message) in [
        (Some(json!("gone")), "gone", "gone"),
        (Some(json!({"code": 5, "message": "gone"})), record, "gone"),
        (Some(json!({"message": 5})), r#"{"message":5}"#, r#"{"message":5}"#),
        (Some(json!({"message": ""})), r#"{"message":""}"#, r#"{"message":""}"#),
        (Some(json!(["a"])), r#"["a"]"#, r#"["a"]"#),
        (Some(json!(" ")), " ", wordless),
        (None, "", wordless),
    ] {
        let result = settled(returned(ReturnCase::Err, value.clone(), true));
        assert_eq!((result.outcome, result.executed), (Outcome::ToolError, Executed::Yes));
        assert_eq!(result.content, content, "{value:?}");
        assert_eq!(result.error_message.as_deref(), Some(message));
        assert_eq!(result.structured, value, "never wrapped");
    }
}

#[test]
fn every_limit_has_its_outcome_and_a_sentence_that_names_it() {
    for kind in LimitKind::ALL {
        let result = settled(End::Guest(GuestFault::Limit(kind, "it went on and on".into())));
        let expected = match kind.facts().name {
            "fuel" => Outcome::OutOfFuel,
            "attempt-deadline" | "call-deadline" => Outcome::TimedOut,
            "memory" | "table-elements" | "instances" => Outcome::OutOfMemory,
            "output-shown" | "output-kept" | "lifted" => Outcome::OutputTooLarge,
            _ => Outcome::Crashed,
        };
        assert_eq!(result.outcome, expected, "{kind:?}");
        let message = result.error_message.unwrap();
        assert_eq!(message, Limits::default().sentence(kind, "it went on and on"));
        assert_eq!(result.executed, Executed::Maybe);
    }
}

#[test]
fn a17_faults_end_in_a_result_with_the_sources_words() {
    for (end, outcome, message) in [
        (
            End::Guest(GuestFault::Trapped("division by zero".into())),
            Outcome::Crashed,
            "division by zero",
        ),
        (
            End::Guest(GuestFault::Exited(0)),
            Outcome::Crashed,
            "the tool called exit with status 0: a tool must return, not exit",
        ),
        (End::Host("no store".into()), Outcome::HostFault, "no store"),
    ] {
        let result = settled(end);
        assert_eq!(result.outcome, outcome);
        assert_eq!(result.status, Status::Error);
        assert_eq!(result.content, format!("Tool execution failed: {message}"));
        assert_eq!(result.error_message.as_deref(), Some(message));
        assert_eq!(result.duration_ms, Some(7));
        assert!(result.usage.is_some());
    }
}

#[test]
fn what_was_refused_is_known_not_to_have_run() {
    for (refusal, outcome, retryable) in [
        (RunnerRefusal::Overloaded("64 calls run".into()), Outcome::Overloaded, true),
        (RunnerRefusal::Unavailable("upstream is gone".into()), Outcome::Unavailable, true),
        (RunnerRefusal::Cancelled, Outcome::Cancelled, false),
        (RunnerRefusal::TimedOut, Outcome::TimedOut, true),
    ] {
        let result = settled(End::Refused(refusal));
        assert_eq!((result.outcome, result.retryable), (outcome, retryable));
        assert_eq!(result.executed, Executed::No);
        assert_eq!(result.usage, None);
        assert_eq!(Some(&result.content), result.error_message.as_ref());
    }
}

#[test]
fn a_cancelled_run_may_have_done_something() {
    let result = settled(End::Interrupted);
    assert_eq!((result.outcome, result.executed), (Outcome::Interrupted, Executed::Maybe));
    assert_eq!(result.content, "the call was cancelled while it ran");
}

#[test]
fn output_above_what_is_shown_is_kept_whole() {
    let mut limits = Limits::default();
    limits.set(LimitKind::OutputShown, 200).unwrap();
    for (case, value, mime_type) in [
        (ReturnCase::Plain, json!("word ".repeat(100)), "text/plain; charset=utf-8"),
        (ReturnCase::Ok, json!({"list": vec![7; 300]}), "application/json"),
        (ReturnCase::Err, json!("word ".repeat(100)), "text/plain; charset=utf-8"),
    ] {
        let result = settled_by(&limits, TextRule::On, returned(case, Some(value), true));
        assert!(result.content.len() <= 200, "{}", result.content);
        assert_eq!(result.structured, None, "it would be as long as what was cut");
        let full = &result.attachments[0];
        assert_eq!(full.kind, AttachmentKind::FullOutput);
        assert_eq!(full.mime_type.as_deref(), Some(mime_type));
        assert_eq!(result.truncated.unwrap().full, full.uri);
        assert!(result.content.contains(&full.uri));
    }
}

#[test]
fn a_long_text_is_read_for_its_error_before_it_is_cut() {
    let mut limits = Limits::default();
    limits.set(LimitKind::OutputShown, 100).unwrap();
    let raw = json!({"log": "x".repeat(1000), "error": "late"}).to_string();
    let result =
        settled_by(&limits, TextRule::On, returned(ReturnCase::Plain, Some(json!(raw)), true));
    assert_eq!(result.error_message.as_deref(), Some("late"));
}

#[test]
fn output_above_what_is_kept_is_refused_with_its_attachments_counted() {
    let mut limits = Limits::default();
    limits.set(LimitKind::OutputKept, 100).unwrap();
    let attachment = |len: usize| Attachment {
        uri: result_uri(&call_id(), 0),
        kind: AttachmentKind::Blob,
        mime_type: None,
        size: len as u64,
        bytes: vec![0; len],
    };
    let end = |len| {
        End::Returned(Returned {
            case: ReturnCase::Ok,
            value: Some(json!("x".repeat(50))),
            wrapped: true,
            attachments: vec![attachment(len)],
        })
    };
    assert_eq!(settled_by(&limits, TextRule::On, end(50)).outcome, Outcome::Success);
    let result = settled_by(&limits, TextRule::On, end(51));
    assert_eq!(result.outcome, Outcome::OutputTooLarge);
    assert_eq!(result.executed, Executed::Yes, "it came to its end");
    assert!(result.attachments.is_empty());
    assert_eq!(
        result.error_message.unwrap(),
        "the tool returned 101 bytes: the output-kept limit is 100 bytes, the operator's setting; \
         raise it with `output_kept` under [limits] in belljar.toml"
    );
}

#[test]
fn missing_grants_are_said_with_every_error_and_kept_with_every_end() {
    let call_id = call_id();
    let limits = Limits::default();
    let settling = Settling {
        call_id: &call_id,
        limits: &limits,
        text_rule: TextRule::On,
        attempts: 1,
        duration_ms: None,
    };
    let says = "the tool tried to open `passwd`, which needs a grant: give it with `--dir /etc`";
    for (end, message) in [
        (returned(ReturnCase::Err, Some(json!("denied")), true), Some(format!("denied; {says}"))),
        (returned(ReturnCase::Plain, Some(json!(r#"{"error":{}}"#)), true), Some(says.to_owned())),
        (End::Guest(GuestFault::Trapped("boom".into())), Some(format!("boom; {says}"))),
        (returned(ReturnCase::Ok, Some(json!("fine")), true), None),
    ] {
        let end = AttemptEnd { end, usage: Usage::default(), missing_grants: vec![missing()] };
        let result = settle(&settling, end);
        assert_eq!(result.error_message, message);
        assert_eq!(result.missing_grants, [missing()]);
    }
}
