//! Lines that are no requests, requests that aren't taken, calls that are called off, and ends.

use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::{Value, json};

use super::kit::{Client, Desk};
use crate::frontends::mcp::{McpBounds, McpSettings};

fn bounded(change: impl FnOnce(&mut McpBounds)) -> McpSettings {
    let mut settings = McpSettings::default();
    change(&mut settings.bounds);
    settings
}

fn code(answer: &Value) -> (&Value, i64) {
    (&answer["id"], answer["error"]["code"].as_i64().unwrap_or_else(|| panic!("{answer}")))
}

/// Waits until so many attempts began.
async fn begun(desk: &Desk, count: usize) {
    while desk.runner.begun.load(Ordering::SeqCst) < count {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

async fn is_alive(client: &mut Client) {
    let answer = client.call("alive", "fake_read", json!({})).await;
    assert_eq!(answer["result"]["isError"], false, "{answer}");
}

#[tokio::test]
async fn both_eras_and_every_older_handshake_are_spoken() {
    let desk = Desk::new();
    let mut modern = desk.connect();
    let told = modern.ask(1, "server/discover", json!({})).await["result"].take();
    assert_eq!((&told["resultType"], &told["cacheScope"]), (&json!("complete"), &json!("private")));
    assert!(told["supportedVersions"].as_array().unwrap().contains(&json!("2026-07-28")), "{told}");
    assert!(told["instructions"].as_str().unwrap().contains("9 tools (fake)"), "{told}");
    is_alive(&mut modern).await;
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let mut older = desk.shaken(version, json!({})).await;
        let pong = older.ask(1, "ping", json!({})).await;
        assert_eq!(pong["result"], json!({}), "{version}");
        let listed = older.ask(2, "tools/list", json!({})).await;
        assert!(listed["result"].get("resultType").is_none(), "{version}: {listed}");
        is_alive(&mut older).await;
    }
}

#[tokio::test]
async fn a_modern_request_without_its_metadata_is_refused() {
    let desk = Desk::new();
    let mut client = desk.connect();
    client.modern = false;
    assert_eq!(code(&client.ask(1, "tools/list", json!({})).await).1, -32602);
    let meta = json!({"_meta": {"io.modelcontextprotocol/protocolVersion": "2031-01-01",
            "io.modelcontextprotocol/clientCapabilities": {}}});
    assert_eq!(code(&client.ask(2, "tools/list", meta).await).1, -32022);
    client.modern = true;
    is_alive(&mut client).await;
}

#[tokio::test]
async fn js05_what_is_no_json_is_answered_without_an_id_and_the_connection_lives() {
    let desk = Desk::new();
    let mut client = desk.connect();
    for line in [
        "{",
        "nope",
        "{\"jsonrpc\":\"2.0\",}",
        "\u{feff}{}",
        "{'a':1}",
        "[1,",
        "\"\\x\"",
        "{\"a\":01}",
    ] {
        client.line(line).await;
        assert_eq!(code(&client.next().await), (&Value::Null, -32700), "{line}");
    }
    client.line("").await;
    client.line("   ").await;
    is_alive(&mut client).await;
}

#[tokio::test]
async fn json_that_is_no_single_request_is_refused_and_the_connection_lives() {
    let desk = Desk::new();
    let mut client = desk.connect();
    let long_id = format!(r#"{{"jsonrpc":"2.0","id":"{}","method":"ping"}}"#, "x".repeat(300));
    for line in [
        "[]",
        r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#,
        "7",
        "null",
        "{}",
        r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}"#,
        r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#,
        &long_id,
    ] {
        client.line(line).await;
        assert_eq!(code(&client.next().await), (&Value::Null, -32600), "{line}");
    }
    for line in [r#"{"id":4,"method":"ping"}"#, r#"{"jsonrpc":"1.0","id":4,"method":"ping"}"#] {
        client.line(line).await;
        assert_eq!(code(&client.next().await), (&json!(4), -32600), "{line}");
    }
    is_alive(&mut client).await;
}

#[tokio::test]
async fn js08_arguments_that_are_no_object_are_refused_and_left_out_they_are_none() {
    let desk = Desk::new();
    let mut client = desk.connect();
    for arguments in [json!(null), json!([]), json!(""), json!("{\"a\":1}"), json!(5), json!(true)]
    {
        let answer = client.call(1, "fake_echo", arguments.clone()).await;
        assert_eq!(code(&answer), (&json!(1), -32602), "{arguments}");
    }
    let answer = client.ask(2, "tools/call", json!({"name": "fake_echo"})).await;
    assert_eq!(answer["result"]["content"][0]["text"], "{}");
    assert_eq!(code(&client.ask(3, "tools/call", json!({})).await).1, -32602);
    assert_eq!(code(&client.ask(4, "tools/call", json!({"name": 7})).await).1, -32602);
    assert_eq!(desk.runner.begun.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn params_in_an_array_are_read_by_nobody() {
    let desk = Desk::new();
    let mut client = desk.connect();
    let meta = client.request(0, "x", json!({}))["params"]["_meta"].clone();
    let params = json!(["fake_echo", {}, meta, null, null]);
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    client.line(&request.to_string()).await;
    let answer = client.next().await;
    assert_eq!(code(&answer), (&json!(1), -32602));
    assert!(answer["error"]["message"].as_str().unwrap().contains("not an array"), "{answer}");
    assert_eq!(desk.runner.begun.load(Ordering::SeqCst), 0);
    let request = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": []});
    client.line(&request.to_string()).await;
    assert_eq!(code(&client.next().await), (&json!(2), -32602));
    is_alive(&mut client).await;
}

#[tokio::test]
async fn js02_js04_what_of_arguments_reads_in_two_ways_never_runs() {
    let desk = Desk::new();
    let mut client = desk.connect();
    let deep = format!("{{\"a\":{}1{}}}", "[".repeat(200), "]".repeat(200));
    let meta = client.request(0, "x", json!({}))["params"]["_meta"].to_string();
    for arguments in
        [r#"{"path":"ok","path":"../x"}"#, r#"{"a":{"b":1,"b":2}}"#, r#"{"a":"\ud800"}"#, &deep]
    {
        let params = format!(r#"{{"name":"fake_echo","arguments":{arguments},"_meta":{meta}}}"#);
        let line = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#);
        client.line(&line).await;
        let answer = client.next().await;
        let result = &answer["result"];
        assert_eq!(result["isError"], true, "{answer}");
        assert_eq!(result["_meta"]["belljar/result"]["outcome"], "invalid_arguments", "{answer}");
    }
    let twice = format!(r#"{{"name":"fake_read","name":"fake_echo","_meta":{meta}}}"#);
    client
        .line(&format!(r#"{{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{twice}}}"#))
        .await;
    assert_eq!(code(&client.next().await), (&json!(2), -32602));
    assert_eq!(desk.runner.begun.load(Ordering::SeqCst), 0);
    is_alive(&mut client).await;
}

#[tokio::test]
async fn a_line_of_ten_megabytes_is_answered_and_one_above_the_bound_too() {
    let desk = Desk::new();
    let mut client = desk.connect();
    let answer = client.call(1, "fake_echo", json!({"a": "x".repeat(10 << 20)})).await;
    assert_eq!(answer["result"]["_meta"]["belljar/result"]["outcome"], "invalid_arguments");
    let desk = Desk::with(bounded(|bounds| bounds.message_bytes = 1_000));
    let mut client = desk.connect();
    client.line(&"x".repeat(100_000)).await;
    assert_eq!(code(&client.next().await), (&Value::Null, -32600));
    is_alive(&mut client).await;
}

#[tokio::test]
async fn unknown_methods_and_parameters_are_told_apart() {
    let desk = Desk::new();
    let mut client = desk.connect();
    assert_eq!(code(&client.ask(1, "no/such", json!({})).await).1, -32601);
    assert_eq!(code(&client.ask(2, "resources/read", json!({"uri": 7})).await).1, -32602);
    assert_eq!(code(&client.ask(3, "tools/list", json!({"cursor": "x"})).await).1, -32602);
    for gone in ["tasks/list", "tasks/result"] {
        assert_eq!(code(&client.ask(4, gone, json!({"taskId": "x"})).await).1, -32601);
    }
}

#[tokio::test]
async fn an_unknown_method_is_repeated_in_a_short_line_that_hides_nothing() {
    let desk = Desk::new();
    let mut client = desk.connect();
    let method = format!("no\u{202e}such\n{}", "x".repeat(1 << 20));
    let answer = client.ask(1, &method, json!({})).await;
    let told = answer["error"]["message"].as_str().unwrap();
    assert!(told.len() <= 100 && told.contains("no<U+202E>such"), "{told}");
    assert!(!told.contains('\n'));
}

#[tokio::test]
async fn parameters_of_another_type_than_they_must_be_are_refused_by_their_name() {
    let desk = Desk::new();
    let version = "io.modelcontextprotocol/protocolVersion";
    let named = |name: &str, value: Value| json!({"_meta": {name: value}});
    for modern in [true, false] {
        let mut client = match modern {
            true => desk.connect(),
            false => desk.shaken("2025-11-25", json!({})).await,
        };
        for (method, params, field) in [
            ("tools/list", json!({"cursor": 4}), "cursor"),
            ("resources/list", json!({"cursor": {}}), "cursor"),
            ("tools/list", named(version, json!(5)), "protocolVersion"),
            ("tools/call", json!({"name": "fake_read", "_meta": {version: 5}}), "protocolVersion"),
        ] {
            let answer = client.ask(1, method, params).await;
            assert_eq!(answer["error"]["code"], -32602, "{method}: {answer}");
            assert!(answer["error"]["message"].as_str().unwrap().contains(field), "{answer}");
        }
        let listed = client.ask(2, "tools/list", json!({"cursor": null})).await;
        assert!(listed["result"]["tools"].is_array(), "{listed}");
    }
    let mut client = desk.shaken("2025-11-25", json!({})).await;
    let answer = client.ask(3, "tools/list", json!({"_meta": 7})).await;
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    assert_eq!(desk.runner.begun.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn notifications_that_mean_nothing_change_nothing_also_before_the_first_request() {
    let desk = Desk::new();
    let mut client = desk.connect();
    for _ in 0..2 {
        for line in [
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":7}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#,
            r#"{"jsonrpc":"2.0","method":"no/such"}"#,
            r#"{"jsonrpc":"2.0","id":5,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":5,"error":{"code":1,"message":"x"}}"#,
        ] {
            client.line(line).await;
        }
        is_alive(&mut client).await;
    }
}

#[tokio::test]
async fn mc02_t27_t28_a_cancelled_call_stops_isnt_answered_and_the_tool_is_usable() {
    let desk = Desk::new();
    for modern in [true, false] {
        let before = desk.runner.begun.load(Ordering::SeqCst);
        let mut client = match modern {
            true => desk.connect(),
            false => desk.shaken("2025-11-25", json!({})).await,
        };
        client.send("long", "tools/call", json!({"name": "fake_slow"})).await;
        begun(&desk, before + 1).await;
        client.line(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"long"}}"#).await;
        is_alive(&mut client).await;
        while desk.runner.stopped.load(Ordering::SeqCst) < usize::from(!modern) + 1 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        is_alive(&mut client).await;
        let again = client.ask("long", "tools/call", json!({"name": "fake_read"})).await;
        assert_eq!(code(&again).1, -32600, "an id that was cancelled is not used again");
    }
}

#[tokio::test]
async fn a_second_request_of_an_open_id_is_refused_and_the_first_left_alone() {
    let desk = Desk::new();
    let mut client = desk.connect();
    client.send(7, "tools/call", json!({"name": "fake_slow"})).await;
    begun(&desk, 1).await;
    let second = client.ask(7, "tools/call", json!({"name": "fake_read"})).await;
    assert_eq!(code(&second), (&json!(7), -32600));
    assert_eq!(desk.runner.stopped.load(Ordering::SeqCst), 0);
    is_alive(&mut client).await;
}

#[tokio::test]
async fn one_call_more_than_may_be_open_is_refused() {
    let desk = Desk::with(bounded(|bounds| bounds.in_flight = 2));
    let mut client = desk.connect();
    client.send(1, "tools/call", json!({"name": "fake_slow"})).await;
    client.send(2, "tools/call", json!({"name": "fake_slow"})).await;
    let third = client.call(3, "fake_read", json!({})).await;
    assert_eq!(code(&third), (&json!(3), 429));
    client
        .line(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#)
        .await;
    is_alive(&mut client).await;
}

#[tokio::test]
async fn a_client_that_reads_nothing_holds_no_more_than_the_bounds_say() {
    let desk = Desk::with(bounded(|bounds| (bounds.in_flight, bounds.queued) = (4, 4)));
    let mut client = desk.connect();
    let asked = 2_000;
    let request = |id: usize| {
        let arguments = json!({"name": "fake_echo", "arguments": {"a": "x".repeat(1_000)}});
        client.request(id, "tools/call", arguments).to_string()
    };
    let lines: Vec<_> = (0..asked).map(request).collect();
    let mut sent = 0;
    for line in &lines {
        if tokio::time::timeout(Duration::from_millis(200), client.line(line)).await.is_err() {
            break;
        }
        sent += 1;
    }
    assert!(sent < asked, "the server stops to read");
    assert!(desk.runner.begun.load(Ordering::SeqCst) < asked);
    client.shutdown.cancel();
}

#[tokio::test]
async fn a_half_closed_connection_gets_its_answers_and_ends() {
    let desk = Desk::new();
    let mut client = desk.connect();
    for id in 0..20 {
        client.send(id, "tools/call", json!({"name": "fake_read"})).await;
    }
    client.half_close().await;
    let mut answered = Vec::new();
    for _ in 0..20 {
        answered.push(client.next().await["id"].as_i64().unwrap());
    }
    answered.sort_unstable();
    assert_eq!(answered, (0..20).collect::<Vec<_>>());
    assert!(client.ended().await);
    client.served.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_request_without_its_last_newline_is_answered_too() {
    let desk = Desk::new();
    let mut client = desk.connect();
    let line = client.request(1, "tools/call", json!({"name": "fake_read"})).to_string();
    client.unended(&line).await;
    client.half_close().await;
    assert_eq!(client.next().await["id"], 1);
}

#[tokio::test]
async fn calls_that_outlive_the_drain_are_cancelled_when_the_server_leaves() {
    let settings = McpSettings { drain: Duration::from_millis(50), ..McpSettings::default() };
    let desk = Desk::with(settings);
    let mut client = desk.connect();
    client.send(1, "tools/call", json!({"name": "fake_slow"})).await;
    begun(&desk, 1).await;
    client.shutdown.cancel();
    client.served.await.unwrap().unwrap();
    assert_eq!(desk.runner.stopped.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_connection_that_ends_before_it_began_is_no_error() {
    let desk = Desk::new();
    let mut client = desk.connect();
    client.half_close().await;
    client.served.await.unwrap().unwrap();
}
