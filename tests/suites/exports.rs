//! What providers are told of the builtins, and whole rounds of their messages through a host.
//!
//! The providers' own packages judge all of it, by `tests/clients/providers/check.py`.

use belljar::app::App;
use belljar::contract::ids::CallId;
use belljar::contract::invocation::{PermissionLevel, ToolInvocation};
use belljar::contract::outcome::Outcome;
use belljar::contract::result::{Attachment, AttachmentKind, ToolResult};
use belljar::frontends::export::{
    Calls, Exported, Format, Strict, definitions, invocations, results,
};
use serde_json::{Value, json};

use super::harness::{self, run};

/// The first digits of SHA-256 of `abc` (FIPS 180-2, appendix B.1).
const HASHED: &str = "ba7816bf8f01cfea";

/// What the judge reads: the name of a file, and what stands in it.
type Sample = (String, Value);

/// The definitions of one format, without what the provider puts around each.
fn each(format: Format, tools: &Value) -> Vec<Value> {
    let all = match format {
        Format::Gemini => &tools[0]["functionDeclarations"],
        _ => tools,
    };
    let inner = |tool: &Value| match format {
        Format::OpenaiChat => tool["function"].clone(),
        _ => tool.clone(),
    };
    all.as_array().unwrap().iter().map(inner).collect()
}

#[test]
fn every_builtin_is_exported_in_every_format_strict_or_not() {
    assert_eq!(exported_definitions().len(), 2 * Format::ALL.len());
}

fn exported_definitions() -> Vec<Sample> {
    let mut samples = Vec::new();
    let tools = run(["tools", "--json"]).ends_with(0).json();
    let mut tools = tools.as_array().unwrap().clone();
    // By id: a model's cache of what it was told holds as long as nothing changes.
    tools.sort_by_key(|it| it["id"].to_string());
    let wire: Vec<_> = tools.iter().map(|it| it["wireName"].clone()).collect();
    for format in Format::ALL {
        for strict in [None, Some("--strict")] {
            let args = ["export", "--format", format.name()].into_iter().chain(strict);
            let ran = run(args).ends_with(0);
            assert!(!ran.stderr.contains("warning"), "{ran:?}");
            let exported = ran.json();
            let names: Vec<_> =
                each(format, &exported).iter().map(|it| it["name"].clone()).collect();
            assert_eq!(names, wire);
            let middle = if strict.is_some() { ".strict" } else { "" };
            samples.push((format!("{}{middle}.tools.json", format.name()), exported));
        }
    }
    samples
}

#[test]
fn the_report_is_on_stderr_or_in_the_one_object() {
    let plain = run(["export", "--format", "anthropic", "--strict", "codec.hash"]).ends_with(0);
    assert!(plain.stderr.contains("note: codec.hash: at `/properties/"), "{plain:?}");
    let ran =
        run(["export", "--format", "anthropic", "--strict", "--json", "codec_hash"]).ends_with(0);
    assert_eq!(ran.stderr, "");
    let whole = ran.json();
    assert_eq!(whole["tools"], plain.json());
    assert_eq!(whole["names"], json!({"codec_hash": "codec.hash"}));
    assert_eq!(whole["report"][0]["tool"], "codec.hash");
    assert_eq!(whole["report"][0]["kind"], "lossy");
}

#[test]
fn only_what_is_named_and_the_callers_is_exported() {
    let ran = run(["export", "--format", "openai-responses", "search", "codec.hash"]).ends_with(0);
    let names: Vec<_> =
        ran.json().as_array().unwrap().iter().map(|it| it["name"].clone()).collect();
    assert_eq!(names, ["codec_hash", "search_glob", "search_grep"]);
    run(["export", "--format", "gemini", "codec.hsah"])
        .refused(3, &["`codec.hsah`", "`codec.hash`"]);
    run(["export", "--format", "gpt"]).refused(2, &["openai-chat", "gemini"]);
    run(["export"]).refused(2, &["--format"]);
    run(["export", "--format", "gemini", "--as", "nobody"]).refused(2, &["--as"]);
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("belljar.toml");
    std::fs::write(&config, "[callers.ci]\ntools = [\"codec.*\"]\n").unwrap();
    let config = config.to_str().unwrap();
    let args = ["export", "--format", "anthropic", "--as", "ci", "--config", config];
    let ran = run(args).ends_with(0);
    assert!(ran.stdout.contains("codec_hash") && !ran.stdout.contains("files_"), "{ran:?}");
    run(args.into_iter().chain(["files.read"])).refused(3, &["isn't among the caller's tools"]);
}

fn export(app: &App, format: Format, strict: Strict) -> Exported {
    definitions(app.host.catalog().descriptors().map(AsRef::as_ref), format, strict)
}

/// A model's message with these calls, in the shape in which the provider sends it.
fn message(format: Format, calls: &[(&str, &str, Value)]) -> Value {
    let one = |(id, name, arguments): &(&str, &str, Value)| {
        let text = arguments.as_str().map_or_else(|| arguments.to_string(), str::to_owned);
        match format {
            Format::OpenaiChat => {
                json!({"id": id, "type": "function", "function": {"name": name, "arguments": text}})
            }
            Format::OpenaiResponses => {
                json!({"type": "function_call", "call_id": id, "name": name, "arguments": text})
            }
            Format::Anthropic => {
                json!({"type": "tool_use", "id": id, "name": name, "input": arguments})
            }
            Format::Gemini => json!({"functionCall": {"id": id, "name": name, "args": arguments}}),
        }
    };
    let calls: Vec<Value> = calls.iter().map(one).collect();
    match format {
        Format::OpenaiChat => json!({"role": "assistant", "content": null, "tool_calls": calls}),
        Format::OpenaiResponses => Value::Array(calls),
        Format::Anthropic => json!({"role": "assistant", "content": calls}),
        Format::Gemini => json!({"role": "model", "parts": calls}),
    }
}

fn read(format: Format, message: &Value, exported: &Exported) -> Calls {
    let mut template = ToolInvocation::new("template".parse().unwrap(), "none", "");
    template.permission_level = PermissionLevel::Full;
    invocations(format, message, &exported.names, &template).unwrap()
}

/// A result with something to send beside its text.
fn with_image(id: CallId) -> ToolResult {
    let attachment = |kind, mime_type: &str, bytes: &[u8]| Attachment {
        uri: "belljar://result/c4/0".to_owned(),
        kind,
        mime_type: Some(mime_type.to_owned()),
        size: bytes.len() as u64,
        bytes: bytes.to_vec(),
    };
    let mut result = ToolResult::new(id, Outcome::Success, "a picture");
    result.attachments = vec![
        attachment(AttachmentKind::Image, "image/png", b"\x89PNG\r\n\x1a\n"),
        attachment(AttachmentKind::Blob, "application/pdf", b"%PDF-1.7"),
        attachment(AttachmentKind::Audio, "audio/wav", b"RIFF"),
    ];
    result
}

#[tokio::test]
async fn a_whole_round_goes_from_the_models_message_to_the_answer() {
    assert_eq!(whole_rounds().await.len(), Format::ALL.len());
}

async fn whole_rounds() -> Vec<Sample> {
    let mut samples = Vec::new();
    let app = harness::start(&harness::builtins());
    for format in Format::ALL {
        let exported = export(&app, format, Strict::On);
        // Where every name is required, null says that one is left out.
        let hash = json!({"algorithm": "sha256", "text": "abc", "base64": null});
        let asked = [
            ("c1", "codec_hash", hash),
            ("c2", "codec_decode", json!({"encoding": "hex", "text": "zz"})),
            ("c3", "no_such", json!({})),
            ("c4", "codec_encode", json!({"encoding": "hex", "text": "abc"})),
        ];
        let message = message(format, &asked);
        let calls = read(format, &message, &exported);
        let mut ended = app.host.batch(calls.invocations()).await;
        assert_eq!(
            ended.iter().map(|it| it.outcome).collect::<Vec<_>>(),
            [Outcome::Success, Outcome::ToolError, Outcome::Success],
            "{ended:?}"
        );
        ended[2] = with_image("c4".parse().unwrap());
        ended.reverse();
        let made = Value::Array(results(format, &calls.calls, &ended).unwrap());
        let text = made.to_string();
        let at = |what: &str| text.find(what).unwrap_or_else(|| panic!("no `{what}` in {text}"));
        assert!(at(HASHED) < at("no tool is called `no_such`") && at("no_such`") < at("a picture"));
        assert_eq!(text.matches(HASHED).count(), 1, "{text}");
        let sample = json!({"message": message, "results": made});
        samples.push((format!("{}.messages.json", format.name()), sample));
    }
    samples
}

#[cfg(feature = "foreign-guests")]
#[tokio::test]
async fn the_providers_own_packages_take_what_is_exported_and_refuse_what_is_spoilt() {
    let folder = tempfile::tempdir().unwrap();
    for (name, value) in exported_definitions().into_iter().chain(whole_rounds().await) {
        std::fs::write(folder.path().join(name), value.to_string()).unwrap();
    }
    super::clients::run_script("providers/bin/python", "providers/check.py", &[folder.path()]);
}

#[tokio::test]
async fn t16_broken_arguments_reach_the_engine_and_are_refused_there() {
    let app = harness::start(&harness::builtins());
    for format in [Format::OpenaiChat, Format::OpenaiResponses] {
        let exported = export(&app, format, Strict::Off);
        for text in [r#"{"algorithm":"sha2"#, "null", r#""{}""#, r#"{"text":"a","text":"b"}"#] {
            let message = message(format, &[("c1", "codec_hash", json!(text))]);
            let calls = read(format, &message, &exported);
            let ended = app.host.batch(calls.invocations()).await;
            assert_eq!(ended[0].outcome, Outcome::InvalidArguments, "{ended:?}");
        }
    }
}

/// Every argument that a strict schema makes required and that may be left out is taken as null.
#[tokio::test]
async fn what_a_strict_schema_makes_of_an_option_is_taken() {
    let app = harness::start(&harness::builtins());
    let exported = export(&app, Format::OpenaiResponses, Strict::On);
    for tool in exported.tools.as_array().unwrap() {
        assert_eq!(tool["strict"], json!(true), "{tool}");
        let properties = tool["parameters"]["properties"].as_object().unwrap();
        let says = |schema: &Value, key: &str| {
            schema.get(key).is_some_and(|it| it.to_string().contains("\"null\""))
        };
        let is_null = |schema: &Value| says(schema, "type") || says(schema, "anyOf");
        let nulls: serde_json::Map<String, Value> = properties
            .iter()
            .filter(|(_, schema)| is_null(schema))
            .map(|(name, _)| (name.clone(), Value::Null))
            .collect();
        let id = exported.names.tool(tool["name"].as_str().unwrap()).unwrap().to_string();
        let with = harness::call(&app, &id, Value::Object(nulls)).await;
        let without = harness::call(&app, &id, json!({})).await;
        // The same is missing, and nothing is said of the nulls.
        assert_eq!(with.error_message, without.error_message, "{id}");
    }
}
