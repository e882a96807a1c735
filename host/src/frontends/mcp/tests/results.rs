//! Lists and results as a client sees them.

use serde_json::{Value, json};

use super::kit::{Desk, reader};
use crate::config::McpApprovals;
use crate::frontends::mcp::listing::ACCESSES_MAX;

#[tokio::test]
async fn mc12_the_list_is_in_order_complete_and_says_how_long_it_is_fresh() {
    let desk = Desk::new();
    let mut client = desk.connect();
    let listed = client.ask(1, "tools/list", json!({})).await["result"].take();
    let names: Vec<_> =
        listed["tools"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
    let expected = [
        "fake_echo",
        "fake_fails",
        "fake_lies",
        "fake_read",
        "fake_shows",
        "fake_slow",
        "fake_steps",
        "fake_wants",
        "fake_write",
    ];
    assert_eq!(names, expected);
    assert_eq!((&listed["ttlMs"], &listed["cacheScope"]), (&json!(5000), &json!("private")));
    assert!(!listed.to_string().contains("null"), "JS-15: {listed}");
    assert_eq!(client.ask(2, "tools/list", json!({})).await["result"], listed);
}

#[tokio::test]
async fn a_thousand_tools_are_listed_page_by_page() {
    let mut settings = crate::frontends::mcp::McpSettings::default();
    settings.bounds.page = 300;
    let desk = Desk::with(settings);
    desk.tools.set((0..1_000).map(|n| reader(&format!("many.t{n:04}"))).collect());
    let mut client = desk.connect();
    let (mut cursor, mut names) = (None::<Value>, Vec::new());
    loop {
        let params = cursor.map_or(json!({}), |cursor| json!({"cursor": cursor}));
        let page = client.ask(1, "tools/list", params).await["result"].take();
        names.extend(page["tools"].as_array().unwrap().iter().map(|it| it["name"].clone()));
        match page.get("nextCursor") {
            Some(next) => cursor = Some(next.clone()),
            None => break,
        }
    }
    assert_eq!(names.len(), 1_000);
    assert!(names.is_sorted_by(|a, b| a.as_str() < b.as_str()));
}

#[tokio::test]
async fn a_caller_sees_and_calls_only_its_own_tools_and_is_told_of_no_other() {
    let desk = Desk::new();
    let mut client = desk.connect_as("eve");
    let listed = client.ask(1, "tools/list", json!({})).await;
    assert_eq!(listed["result"]["tools"].as_array().unwrap().len(), 1, "{listed}");
    for (name, told) in [
        ("other", "Unknown tool: other"),
        ("fake_write", "Unknown tool: fake_write; did you mean `fake_read`?"),
        ("fake_reed", "Unknown tool: fake_reed; did you mean `fake_read`?"),
        ("x\u{202e}", "Unknown tool: x<U+202E>"),
    ] {
        let answer = client.call(2, name, json!({})).await;
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
        assert_eq!(answer["error"]["message"], told);
    }
}

#[tokio::test]
async fn mc13_t22_an_answer_is_text_and_structure_and_an_error_is_a_result() {
    let desk = Desk::new();
    let mut client = desk.connect();
    let fine = client.call(1, "fake_read", json!({})).await["result"].take();
    assert_eq!(fine["content"], json!([{"type": "text", "text": "fine"}]));
    assert_eq!(fine["structuredContent"], json!({"result": "fine"}));
    assert_eq!((&fine["isError"], &fine["resultType"]), (&json!(false), &json!("complete")));
    let told = &fine["_meta"]["belljar/result"];
    assert_eq!(
        (&told["outcome"], &told["executed"], &told["attempts"]),
        (&json!("success"), &json!("yes"), &json!(1))
    );
    assert!(!fine.to_string().contains("null"), "{fine}");

    let failed = client.call(2, "fake_fails", json!({})).await["result"].take();
    assert_eq!(failed["isError"], true);
    assert!(failed.get("structuredContent").is_none(), "no schema promises an error's shape");
    assert_eq!(failed["_meta"]["belljar/result"]["error"], json!({"message": "no such file"}));

    let refused = client.call(3, "fake_read", json!({"bad": 1})).await["result"].take();
    assert_eq!(refused["isError"], true);
    assert!(refused["content"][0]["text"].as_str().unwrap().contains("/bad"), "{refused}");
}

#[tokio::test]
async fn t23_every_kind_of_attachment_has_its_block_and_stands_under_its_address() {
    let desk = Desk::new();
    let mut client = desk.connect();
    let shown = client.call(1, "fake_shows", json!({})).await["result"].take();
    let blocks = shown["content"].as_array().unwrap();
    let kinds: Vec<_> = blocks.iter().map(|block| block["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["text", "image", "audio", "resource", "resource_link", "resource_link"]);
    assert_eq!((&blocks[1]["data"], &blocks[1]["mimeType"]), (&json!("YWJj"), &json!("image/png")));
    assert_eq!(
        blocks[3]["resource"],
        json!({"uri": "note://1", "mimeType": "text/plain", "text": "abc"})
    );
    assert_eq!(blocks[4]["uri"], "https://x.test/");
    let uri = blocks[5]["uri"].as_str().unwrap();
    assert!(uri.starts_with("belljar://result/"), "{uri}");

    let listed = client.ask(2, "resources/list", json!({})).await["result"].take();
    assert_eq!(listed["resources"].as_array().unwrap().len(), 4, "{listed}");
    let read = client.ask(3, "resources/read", json!({"uri": uri})).await["result"].take();
    assert_eq!(read["contents"][0]["blob"], "YWJj", "{read}");
    let templates = client.ask(4, "resources/templates/list", json!({})).await;
    assert_eq!(
        templates["result"]["resourceTemplates"][0]["uriTemplate"],
        "belljar://result/{call}/{n}"
    );

    let mut other = desk.connect_as("eve");
    let foreign = other.ask(5, "resources/read", json!({"uri": uri})).await;
    assert_eq!(foreign["error"]["code"], -32602, "{foreign}");
    let listed = other.ask(6, "resources/list", json!({})).await;
    assert_eq!(listed["result"]["resources"], json!([]));
}

#[tokio::test]
async fn t21_mc07_what_is_cut_says_where_the_whole_is() {
    let desk = Desk::new();
    let mut client = desk.connect();
    let long = "✓".repeat(200_000);
    let cut = client.call(1, "fake_echo", json!({"a": long})).await["result"].take();
    let uri = cut["_meta"]["belljar/result"]["truncated"]["full"].as_str().unwrap().to_owned();
    assert!(cut["content"][0]["text"].as_str().unwrap().contains(&uri));
    assert_eq!(cut["structuredContent"]["result"], cut["content"][0]["text"]);
    assert_eq!(cut["isError"], false);
    let read = client.ask(2, "resources/read", json!({"uri": uri})).await["result"].take();
    assert_eq!(read["contents"][0]["text"].as_str().unwrap(), json!({"a": long}).to_string());
}

#[tokio::test]
async fn a_missing_grant_is_in_the_text() {
    let desk = Desk::new();
    let wants = desk.connect().call(1, "fake_wants", json!({})).await["result"].take();
    let text = wants["content"][1]["text"].as_str().unwrap();
    assert!(text.contains("tried to open `x`") && text.contains("--dir HOST:/x"), "{text}");
}

#[tokio::test]
async fn the_trace_context_goes_with_the_call() {
    let desk = Desk::asking(McpApprovals::Client);
    let mut client = desk.connect();
    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let params = json!({"name": "fake_lies", "_meta": {"traceparent": trace}});
    client.ask(1, "tools/call", params).await;
    let long = json!({"name": "fake_lies", "_meta": {"traceparent": "0".repeat(300)}});
    client.ask(2, "tools/call", long).await;
    let seen = desk.runner.seen.lock().unwrap();
    assert_eq!(seen[1].asked_by.as_ref().unwrap().trace_parent, None, "no context is that long");
    assert_eq!(seen[0].asked_by.as_ref().unwrap().trace_parent.as_deref(), Some(trace));
}

#[tokio::test]
async fn js01_digits_reach_the_tool_as_they_came() {
    let desk = Desk::new();
    let mut client = desk.connect();
    let meta = client.request(0, "x", json!({}))["params"]["_meta"].to_string();
    for digits in ["9007199254740993", "18446744073709551615", "-9223372036854775808"] {
        let params =
            format!(r#"{{"name":"fake_echo","arguments":{{"n":{digits}}},"_meta":{meta}}}"#);
        client
            .line(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#))
            .await;
        let answer = client.next().await;
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert_eq!(text, format!("{{\"n\":{digits}}}"));
    }
}

#[tokio::test]
async fn an_upstream_that_breaks_its_schema_is_told_as_an_error_and_its_text_stays() {
    let desk = Desk::asking(McpApprovals::Client);
    let lies = desk.connect().call(1, "fake_lies", json!({})).await["result"].take();
    assert_eq!((&lies["isError"], lies.get("structuredContent")), (&json!(true), None), "{lies}");
    assert_eq!(lies["content"][0]["text"], "7");
    assert_eq!(lies["_meta"]["belljar/result"]["outcome"], "success");
}

#[tokio::test]
async fn lists_are_kept_for_the_newest_accesses_alone() {
    let desk = Desk::new();
    let mut clients: Vec<_> = (0..=ACCESSES_MAX).map(|_| desk.connect()).collect();
    for client in &mut clients {
        client.ask(1, "tools/list", json!({})).await;
    }
    assert_eq!(desk.frontend.shared.pages.len(), ACCESSES_MAX);
}
