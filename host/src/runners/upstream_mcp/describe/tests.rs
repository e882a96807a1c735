//! Names, claims and digests.

use std::collections::BTreeMap;
use std::time::Duration;

use super::super::spec::{ChildSpec, Way};
use super::*;

fn server() -> UpstreamServer {
    UpstreamServer {
        name: "up".parse().unwrap(),
        server_id: 3,
        way: Ok(Way::Child(ChildSpec {
            program: "/bin/x".into(),
            args: Vec::new(),
            dir: "/".into(),
            env: Vec::new(),
        })),
        start_timeout: Duration::from_secs(1),
        concurrency: 1,
        limits: Limits::default(),
        tools: BTreeMap::new(),
    }
}

fn tool(json: Value) -> Tool {
    let mut tool = json!({"name": "a", "inputSchema": {"type": "object"}});
    let Value::Object(more) = json else { panic!("no object") };
    tool.as_object_mut().unwrap().extend(more);
    serde_json::from_value(tool).unwrap()
}

fn one_of(server: &UpstreamServer, json: Value) -> ToolDescriptor {
    let (described, odd) = describe(server, None, vec![tool(json)], Vec::new());
    assert!(odd.is_empty(), "{odd:?}");
    described[0].found.descriptor.as_ref().clone()
}

#[test]
fn every_odd_tool_is_told_with_its_reason() {
    let tools = vec![
        tool(json!({"name": "get_it"})),
        tool(json!({"name": "Get-It"})),
        tool(json!({"name": "na\u{ef}ve"})),
        tool(json!({"name": "2x"})),
        tool(json!({"name": "long", "description": "x".repeat(DESCRIPTION_MAX_LEN + 1)})),
        tool(json!({"name": "list", "inputSchema": {"type": "array"}})),
        tool(json!({"name": "wordy", "description": "x".repeat(DESCRIPTION_WARN_LEN + 1)})),
    ];
    let (described, odd) = describe(&server(), None, tools, Vec::new());
    let ids: Vec<_> = described.iter().map(|it| it.found.descriptor.id.to_string()).collect();
    assert_eq!(ids, ["up.wordy"]);
    let told: Vec<_> = odd.iter().map(|it| it.tool.as_str()).collect();
    assert_eq!(told, ["get_it", "Get-It", "na\u{ef}ve", "2x", "long", "list", "wordy"]);
}

#[test]
fn a_tool_that_shares_its_name_with_a_malformed_one_is_left_out() {
    let malformed = ["Get-It", "#3"].map(|tool| Odd { tool: tool.into(), finding: "odd".into() });
    let tools = vec![tool(json!({"name": "get_it"})), tool(json!({"name": "other"}))];
    let (described, odd) = describe(&server(), None, tools, malformed.into());
    let ids: Vec<_> = described.iter().map(|it| it.found.descriptor.id.to_string()).collect();
    assert_eq!(ids, ["up.other"]);
    let told: Vec<_> = odd.iter().map(|it| it.tool.as_str()).collect();
    assert_eq!(told, ["Get-It", "#3", "get_it"]);
}

#[test]
fn a_tool_that_is_configured_and_not_there_is_told() {
    let mut server = server();
    server.tools.insert("gone".to_owned(), crate::registry::ToolSettings::default());
    let (_, odd) = describe(&server, None, vec![tool(json!({}))], Vec::new());
    assert_eq!(odd[0].tool, "gone");
}

#[test]
fn no_claim_of_a_server_is_proven() {
    let all = json!({"annotations": {"readOnlyHint": true, "destructiveHint": false,
        "idempotentHint": true, "openWorldHint": false}});
    for json in [all, json!({})] {
        let effects = serde_json::to_string(&one_of(&server(), json).effects).unwrap();
        assert!(!effects.contains("proven"), "{effects}");
    }
}

#[test]
fn t40_each_word_of_a_server_and_the_server_itself_are_in_the_digest() {
    let plain = one_of(&server(), json!({})).plugin.digest;
    assert_eq!(one_of(&server(), json!({})).plugin.digest, plain);
    for changed in [
        json!({"description": "other"}),
        json!({"title": "other"}),
        json!({"inputSchema": {"type": "object", "properties": {"a": {}}}}),
        json!({"outputSchema": {"type": "object"}}),
        json!({"annotations": {"readOnlyHint": true}}),
    ] {
        assert_ne!(one_of(&server(), changed.clone()).plugin.digest, plain, "{changed}");
    }
    let mut other = server();
    other.way = Ok(Way::Child(ChildSpec {
        program: "/bin/y".into(),
        args: Vec::new(),
        dir: "/".into(),
        env: Vec::new(),
    }));
    assert_ne!(one_of(&other, json!({})).plugin.digest, plain);
    let says = Implementation::new("x", "2");
    let (described, _) = describe(&server(), Some(&says), vec![tool(json!({}))], Vec::new());
    assert_ne!(described[0].found.descriptor.plugin.digest, plain);
}
