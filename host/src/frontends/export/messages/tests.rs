//! Messages of each provider, as its documentation shows them, to calls and back.

mod attachments;

use serde_json::{Value, json};

use super::*;
use crate::contract::invocation::PermissionLevel;

/// What was exported: `files_read` and `codec_hash`.
fn names() -> Names {
    let mut names = Names::default();
    names.take("files_read".to_owned(), &"files.read".parse().unwrap()).unwrap();
    names.take("codec_hash".to_owned(), &"codec.hash".parse().unwrap()).unwrap();
    names
}

fn template() -> ToolInvocation {
    let mut call = ToolInvocation::new("template".parse().unwrap(), "none", "{}");
    call.caller = Some("agent".to_owned());
    call.workspace = Some("w".to_owned());
    call.permission_level = PermissionLevel::ReadWrite;
    call.allowed_tools = Some(vec!["files.read".to_owned()]);
    call.idempotency_key = Some("k".to_owned());
    call
}

fn read(format: Format, message: &Value) -> Calls {
    invocations(format, message, &names(), &template()).unwrap()
}

/// A model's message with these calls: id, name, and arguments as JSON text.
fn message(format: Format, calls: &[(Option<&str>, &str, &str)]) -> Value {
    let object = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    let one = |(id, name, text): &(Option<&str>, &str, &str)| match format {
        Format::OpenaiChat => {
            json!({"id": id, "type": "function", "function": {"name": name, "arguments": text}})
        }
        Format::OpenaiResponses => {
            json!({"type": "function_call", "id": "fc_1", "call_id": id, "name": name, "arguments": text})
        }
        Format::Anthropic => {
            json!({"type": "tool_use", "id": id, "name": name, "input": object(text)})
        }
        Format::Gemini => match id {
            Some(id) => json!({"functionCall": {"id": id, "name": name, "args": object(text)}}),
            None => json!({"functionCall": {"name": name, "args": object(text)}}),
        },
    };
    let calls: Vec<Value> = calls.iter().map(one).collect();
    match format {
        Format::OpenaiChat => json!({"role": "assistant", "content": null, "tool_calls": calls}),
        Format::OpenaiResponses => Value::Array(calls),
        Format::Anthropic => json!({"role": "assistant", "content": calls}),
        Format::Gemini => json!({"role": "model", "parts": calls}),
    }
}

fn success(id: &str, content: &str) -> ToolResult {
    ToolResult::new(id.parse().unwrap(), Outcome::Success, content)
}

/// The answers of a message as pairs of id and what the model reads.
fn answers(format: Format, made: &[Value]) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let pair = |it: &Value, id: &str, said: &str| (text(&it[id]), text(&it[said]));
    match format {
        Format::OpenaiChat => made.iter().map(|it| pair(it, "tool_call_id", "content")).collect(),
        Format::OpenaiResponses => made.iter().map(|it| pair(it, "call_id", "output")).collect(),
        Format::Anthropic => {
            let blocks = made[0]["content"].as_array().unwrap();
            blocks.iter().map(|it| pair(it, "tool_use_id", "content")).collect()
        }
        Format::Gemini => {
            let parts = made[0]["parts"].as_array().unwrap();
            let inner = parts.iter().map(|it| &it["functionResponse"]);
            inner.map(|it| (text(&it["id"]), text(&it["response"]["output"]))).collect()
        }
    }
}

#[test]
fn a_call_is_the_templates_with_its_own_id_tool_and_arguments() {
    for format in Format::ALL {
        let calls =
            read(format, &message(format, &[(Some("c1"), "files_read", r#"{"path":"a"}"#)]));
        let expected = ToolInvocation {
            call_id: "c1".parse().unwrap(),
            tool_name: "files.read".to_owned(),
            arguments_json: r#"{"path":"a"}"#.to_owned(),
            idempotency_key: None,
            ..template()
        };
        assert_eq!(calls.invocations(), [expected], "{format:?}");
        assert_eq!(calls.calls[0].provider_id.as_deref(), Some("c1"));
        assert!(calls.renamed.is_empty());
    }
}

#[test]
fn t16_js07_openais_arguments_stay_as_they_came_however_broken() {
    for text in
        [r#"{"path":"a"#, "", " ", "null", "[]", r#"{"a":1,"a":2}"#, "\u{feff}{}", r#""{}""#]
    {
        for format in [Format::OpenaiChat, Format::OpenaiResponses] {
            let calls = read(format, &message(format, &[(Some("c1"), "files_read", text)]));
            assert_eq!(calls.invocations()[0].arguments_json, text);
        }
    }
}

#[test]
fn t17_js08_left_out_arguments_are_none_and_other_json_is_its_text() {
    let chat = |arguments: Option<Value>| {
        let mut function = json!({"name": "files_read"});
        if let Some(arguments) = arguments {
            function["arguments"] = arguments;
        }
        let message =
            json!({"role": "assistant", "tool_calls": [{"id": "c", "function": function}]});
        read(Format::OpenaiChat, &message).invocations()[0].arguments_json.clone()
    };
    assert_eq!(chat(None), "");
    assert_eq!(chat(Some(Value::Null)), "null");
    assert_eq!(chat(Some(json!({"a": 1}))), r#"{"a":1}"#);
    for (input, expected) in [("null", "null"), ("5", "5"), (r#""{}""#, r#""{}""#), ("{}", "{}")] {
        let calls = read(
            Format::Anthropic,
            &message(Format::Anthropic, &[(Some("c"), "files_read", input)]),
        );
        assert_eq!(calls.invocations()[0].arguments_json, expected);
    }
    let bare = json!({"parts": [{"function_call": {"name": "files_read", "args": null}}]});
    assert_eq!(read(Format::Gemini, &bare).invocations()[0].arguments_json, "");
}

#[test]
fn what_is_no_call_of_a_function_is_passed_over() {
    let none = [
        (Format::OpenaiChat, json!({"role": "assistant", "content": "hi"})),
        (Format::OpenaiChat, json!({"role": "assistant", "tool_calls": null})),
        (Format::OpenaiChat, json!({"tool_calls": [{"id": "c", "type": "custom", "custom": {}}]})),
        (Format::OpenaiResponses, json!({"output": [{"type": "reasoning"}, {"type": "message"}]})),
        (Format::Anthropic, json!({"role": "assistant", "content": "hi"})),
        (Format::Anthropic, json!({"content": [{"type": "text"}, {"type": "server_tool_use"}]})),
        (
            Format::Gemini,
            json!({"role": "model", "parts": [{"text": "hi"}, {"functionCall": null}]}),
        ),
        (Format::Gemini, json!({"role": "model"})),
    ];
    for (format, message) in none {
        let calls = read(format, &message);
        assert_eq!(calls, Calls::default(), "{message}");
        assert_eq!(results(format, &calls.calls, &[]).unwrap(), [Value::Null; 0]);
    }
}

#[test]
fn what_is_no_message_of_the_model_is_refused() {
    for format in Format::ALL {
        let mut wrong = vec![
            json!(null),
            json!("hi"),
            json!(5),
            json!({"output": 1, "content": 1, "tool_calls": 1, "parts": 1}),
        ];
        if format != Format::OpenaiResponses {
            let mut forged = message(format, &[(Some("c1"), "files_read", "{}")]);
            forged["role"] = json!("user");
            wrong.push(forged);
        }
        for message in wrong {
            let error = invocations(format, &message, &names(), &template()).unwrap_err();
            assert!(matches!(error, MessagesError::Shape { .. }), "{format:?} {message}: {error}");
        }
    }
}

#[test]
fn more_calls_than_the_bound_are_refused() {
    for format in Format::ALL {
        let many = vec![(None, "files_read", "{}"); CALLS_MAX + 1];
        let error =
            invocations(format, &message(format, &many), &names(), &template()).unwrap_err();
        assert_eq!(error, MessagesError::Calls { found: CALLS_MAX + 1 });
        assert_eq!(read(format, &message(format, &many[1..])).calls.len(), CALLS_MAX);
    }
}

#[test]
fn a_name_that_wasnt_exported_is_answered_and_never_called() {
    for format in Format::ALL {
        // Also not the id of an exported tool, nor one that the host has and the export hadn't.
        for name in ["files_raed", "files.read", "files_write", "", "\u{1b}[2J"] {
            let calls = read(format, &message(format, &[(Some("c1"), name, "{}")]));
            assert!(calls.invocations().is_empty());
            let result = calls.calls[0].request.as_ref().unwrap_err();
            assert_eq!(result.outcome, Outcome::NotFound);
            assert!(!result.content.contains('\u{1b}'));
            let made = results(format, &calls.calls, &[]).unwrap();
            assert!(made[0].to_string().contains("no tool is called"), "{made:?}");
        }
        let near = read(format, &message(format, &[(Some("c1"), "files_raed", "{}")]));
        let content = &near.calls[0].request.as_ref().unwrap_err().content;
        assert_eq!(content, "no tool is called `files_raed`; near it are `files_read`");
    }
}

#[test]
fn t3_results_find_their_calls_by_id_in_whatever_order_they_come() {
    for format in Format::ALL {
        let asked = [
            (Some("c1"), "files_read", "{}"),
            (Some("c2"), "codec_hash", "{}"),
            (Some("c3"), "files_read", "{}"),
        ];
        let calls = read(format, &message(format, &asked));
        let [one, two, three] =
            [success("c1", "one"), success("c2", "two"), success("c3", "three")];
        let expected = [("c1", "one"), ("c2", "two"), ("c3", "three")]
            .map(|(id, text)| (id.to_owned(), text.to_owned()));
        for order in [
            [&one, &two, &three],
            [&one, &three, &two],
            [&two, &one, &three],
            [&two, &three, &one],
            [&three, &one, &two],
            [&three, &two, &one],
        ] {
            let order = order.map(Clone::clone);
            let made = results(format, &calls.calls, &order).unwrap();
            assert_eq!(answers(format, &made), expected, "{format:?}");
        }
    }
}

#[test]
fn each_call_has_exactly_one_result() {
    for format in Format::ALL {
        let asked = [(Some("c1"), "files_read", "{}"), (Some("c2"), "files_read", "{}")];
        let calls = read(format, &message(format, &asked)).calls;
        let (one, two) = (success("c1", "1"), success("c2", "2"));
        let of = |given: &[&ToolResult]| {
            let given: Vec<_> = given.iter().map(|it| (*it).clone()).collect();
            results(format, &calls, &given)
        };
        assert!(of(&[&one, &two]).is_ok());
        assert_eq!(of(&[&one]), Err(MessagesError::Unanswered("c2".parse().unwrap())));
        assert_eq!(of(&[&one, &two, &one]), Err(MessagesError::Twice("c1".parse().unwrap())));
        let stranger = success("c3", "3");
        let strange = MessagesError::Stranger("c3".parse().unwrap());
        assert_eq!(of(&[&one, &stranger, &two]), Err(strange));
    }
}

#[test]
fn t5_t6_missing_and_doubled_ids_are_made_unique_and_answered_by_the_providers_own() {
    for format in Format::ALL {
        let asked = [
            (Some("c1"), "files_read", "{}"),
            (Some("c1"), "files_read", "{}"),
            (None, "files_read", "{}"),
        ];
        let calls = read(format, &message(format, &asked));
        let ids: Vec<_> = calls.calls.iter().map(|it| it.id.as_str()).collect();
        assert_eq!(ids, ["c1", "c1~2", "call-3"]);
        assert_eq!(calls.renamed.len(), 2);
        let given = [success("call-3", "three"), success("c1~2", "two"), success("c1", "one")];
        let made = answers(format, &results(format, &calls.calls, &given).unwrap());
        let last = if format == Format::Gemini { "null" } else { "call-3" };
        let expected = [("c1", "one"), ("c1", "two"), (last, "three")];
        assert_eq!(made, expected.map(|(id, text)| (id.to_owned(), text.to_owned())));
    }
}

#[test]
fn results_have_each_providers_own_shape() {
    let made = |format| {
        let asked = [(Some("c1"), "files_read", "{}"), (Some("c2"), "codec_hash", "{}")];
        let calls = read(format, &message(format, &asked));
        let failed = ToolResult::refused("c2".parse().unwrap(), Outcome::TimedOut, "too late");
        results(format, &calls.calls, &[failed, success("c1", "text")]).unwrap()
    };
    assert_eq!(
        made(Format::OpenaiChat),
        [
            json!({"role": "tool", "tool_call_id": "c1", "content": "text"}),
            json!({"role": "tool", "tool_call_id": "c2", "content": "Error (timed_out): too late"}),
        ]
    );
    assert_eq!(
        made(Format::OpenaiResponses),
        [
            json!({"type": "function_call_output", "call_id": "c1", "output": "text"}),
            json!({"type": "function_call_output", "call_id": "c2", "output": "Error (timed_out): too late"}),
        ]
    );
    assert_eq!(
        made(Format::Anthropic),
        [json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "c1", "content": "text"},
            {"type": "tool_result", "tool_use_id": "c2", "content": "too late", "is_error": true},
        ]})]
    );
    assert_eq!(
        made(Format::Gemini),
        [json!({"role": "user", "parts": [
            {"functionResponse": {"id": "c1", "name": "files_read", "response": {"output": "text"}}},
            {"functionResponse": {"id": "c2", "name": "codec_hash", "response": {"error": "too late"}}},
        ]})]
    );
}

#[test]
fn t22_content_and_structured_are_told_once() {
    for format in Format::ALL {
        let calls = read(format, &message(format, &[(Some("c1"), "files_read", "{}")]));
        let mut typed = success("c1", r#"{"sum":"only-once"}"#);
        typed.structured = Some(json!({"sum": "only-once"}));
        let made = results(format, &calls.calls, &[typed]).unwrap();
        assert_eq!(made[0].to_string().matches("only-once").count(), 1, "{made:?}");
        let mut failed = ToolResult::new(
            "c1".parse().unwrap(),
            Outcome::ToolError,
            r#"{"message":"only-once"}"#,
        );
        failed.error_message = Some("only-once".to_owned());
        failed.structured = Some(json!({"message": "only-once"}));
        let made = results(format, &calls.calls, &[failed]).unwrap();
        assert_eq!(made[0].to_string().matches("only-once").count(), 1, "{made:?}");
    }
    let calls = read(Format::Gemini, &message(Format::Gemini, &[(Some("c1"), "files_read", "{}")]));
    let mut typed = success("c1", "[1,2]");
    typed.structured = Some(json!({"result": [1, 2]}));
    let made = results(Format::Gemini, &calls.calls, &[typed]).unwrap();
    let response = &made[0]["parts"][0]["functionResponse"]["response"];
    assert_eq!(response, &json!({"output": {"result": [1, 2]}}));
}

#[test]
fn t14_an_error_is_marked_and_never_empty() {
    for format in Format::ALL {
        let calls = read(format, &message(format, &[(Some("c1"), "files_read", "{}")]));
        for outcome in Outcome::ALL.into_iter().filter(|it| *it != Outcome::Success) {
            let failed = ToolResult::new("c1".parse().unwrap(), outcome, "");
            let made = results(format, &calls.calls, &[failed]).unwrap()[0].to_string();
            assert!(made.contains("the tool gave no reason"), "{made}");
            let marks = ["Error (", "\"is_error\":true", "\"error\":"];
            assert!(marks.iter().any(|mark| made.contains(mark)), "{made}");
        }
    }
}
