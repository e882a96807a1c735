//! A program with `wasi:cli/run` is one tool: argv and stdin in, stdout out.

use belljar::app::{App, PluginSource, Setup};
use belljar::contract::invocation::{PermissionLevel, ToolInvocation};
use belljar::contract::outcome::Outcome;
use belljar::contract::result::ToolResult;
use serde_json::{Value, json};

use crate::guests::built;

fn start() -> (App, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shout.wasm");
    std::fs::write(&path, built::rust_unpacked("command")).unwrap();
    let plugins = vec![PluginSource { name: None, path }];
    (belljar::app::start(&Setup { plugins, ..Setup::default() }).unwrap(), folder)
}

async fn run(app: &App, arguments: Value) -> ToolResult {
    let mut call = ToolInvocation::new("c".parse().unwrap(), "shout.run", arguments.to_string());
    call.permission_level = PermissionLevel::Full;
    app.host.call(call).await
}

#[tokio::test]
async fn argv_and_stdin_go_in_and_stdout_is_the_output() {
    let (app, _folder) = start();
    let result = run(&app, json!({"argv": ["a", "b c"], "stdin": "héllo"})).await;
    assert_eq!((result.outcome, result.content.as_str()), (Outcome::Success, "a,b c|HÉLLO\n"));
    assert_eq!(result.structured, Some(json!({"result": "a,b c|HÉLLO\n"})));
    assert_eq!(run(&app, json!({})).await.content, "|\n");
}

#[tokio::test]
async fn an_exit_code_is_the_tools_own_error() {
    let (app, _folder) = start();
    let failed = run(&app, json!({"argv": ["fail"]})).await;
    assert_eq!(failed.outcome, Outcome::ToolError);
    let said = "the command ended with exit code 1: no such luck";
    assert!(failed.error_message.unwrap().starts_with(said));
    assert_eq!(failed.structured.unwrap()["stdout"], "half of it\n");
    let quit = run(&app, json!({"argv": ["quit"]})).await;
    assert!(quit.error_message.unwrap().starts_with("the command ended with exit code 1"));
    assert_eq!(run(&app, json!({"argv": ["leave"]})).await.outcome, Outcome::Success);
}

#[tokio::test]
async fn a_flood_meets_the_output_limit() {
    let (app, _folder) = start();
    let flood = run(&app, json!({"argv": ["flood"]})).await;
    assert_eq!(flood.outcome, Outcome::OutputTooLarge, "{:?}", flood.error_message);
    assert!(flood.error_message.unwrap().contains("output-kept"));
}

#[tokio::test]
async fn bytes_that_are_no_text_become_an_attachment() {
    let (app, _folder) = start();
    let bytes = run(&app, json!({"argv": ["bytes"]})).await;
    assert_eq!(bytes.outcome, Outcome::Success);
    assert_eq!(bytes.attachments[0].bytes, [0xff, 0, 0xfe, b'\n']);
    assert_eq!(bytes.content, bytes.attachments[0].uri);
}

#[tokio::test]
async fn wrong_arguments_are_named() {
    let (app, _folder) = start();
    let wrong = run(&app, json!({"args": ["a"]})).await;
    assert_eq!(wrong.outcome, Outcome::InvalidArguments);
    assert!(wrong.content.contains("`argv` or `stdin`"), "{}", wrong.content);
}
