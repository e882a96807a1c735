//! A component that was built without a thought of belljar: its functions are tools.

use belljar::app::{App, PluginSource, Setup};
use belljar::contract::invocation::{PermissionLevel, ToolInvocation};
use belljar::contract::outcome::Outcome;
use belljar::contract::result::ToolResult;
use serde_json::json;

use crate::guests::built;

/// The plugin is loaded from a file whose name says nothing; nothing is granted.
fn start() -> (App, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.wasm");
    std::fs::write(&path, built::rust_unpacked("stock")).unwrap();
    let plugins = vec![PluginSource { name: None, path }];
    (belljar::app::start(&Setup { plugins, ..Setup::default() }).unwrap(), folder)
}

async fn call(app: &App, tool: &str, arguments: serde_json::Value) -> ToolResult {
    let mut call = ToolInvocation::new("c".parse().unwrap(), tool, arguments.to_string());
    call.permission_level = PermissionLevel::Full;
    app.host.call(call).await
}

#[tokio::test]
async fn its_functions_are_tools_under_its_packages_name() {
    let (app, _folder) = start();
    let ids: Vec<_> = app.host.catalog().descriptors().map(|tool| tool.id.to_string()).collect();
    assert_eq!(ids, ["greeter.greet", "greeter.total", "greeter.next-floor"]);
}

#[tokio::test]
async fn its_values_come_back_as_its_types_say() {
    let (app, _folder) = start();
    let hello = call(&app, "greeter.greet", json!({"name": "Ada"})).await;
    assert_eq!((hello.outcome, hello.content.as_str()), (Outcome::Success, "Hello, Ada!"));
    let basket = json!({"basket": [{"name": "tea", "price": 350, "count": 2}, {"name": "cup", "price": 900}]});
    let sum = call(&app, "greeter.total", basket).await;
    assert_eq!(
        (sum.outcome, sum.content.as_str()),
        (Outcome::Success, r#"{"items":3,"cents":1600}"#)
    );
    let roof = call(&app, "greeter.next-floor", json!({"current": 9, "going": "up"})).await;
    assert_eq!((roof.outcome, roof.content.as_str()), (Outcome::Success, "null"));
}

#[tokio::test]
async fn its_err_is_a_tool_error() {
    let (app, _folder) = start();
    let nobody = call(&app, "greeter.greet", json!({"name": " "})).await;
    assert_eq!(nobody.outcome, Outcome::ToolError);
    assert_eq!(nobody.error_message.as_deref(), Some("a name is needed"));
}
