//! The audit log over http.

use super::kit::Api;

#[tokio::test]
async fn an_operator_reads_the_log_and_its_head() {
    let api = Api::recording();
    let none = api.get("operates", "/v1/audit/head").await.is(200);
    assert!(none["head"].is_null(), "{none}");
    api.call("calls-a", "fake.echo").await.is(200);
    api.call("calls-b", "fake.blob").await.is_problem(403, "");
    api.app.host.close().await.unwrap();
    let answer = api.get("operates", "/v1/audit/export").await;
    assert_eq!(answer.header("content-type"), Some("application/x-ndjson"));
    let lines: Vec<serde_json::Value> =
        answer.text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let kinds: Vec<_> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["CallStarted", "CallFinished", "CallRefused"], "{answer:?}");
    let last = answer.text.lines().last().unwrap();
    let head = api.get("operates", "/v1/audit/head").await.is(200);
    let hash = crate::contract::ids::Digest::of(last.as_bytes());
    assert_eq!(head["head"]["hash"], hash.to_string(), "each line is an entry to the byte");
    let from = api.get("operates", "/v1/audit/export?from=3").await;
    assert_eq!(from.text.lines().count(), 1);
    let later = api.get("operates", "/v1/audit/export?since=99999999999999").await;
    assert_eq!((later.status.as_u16(), later.text.as_str()), (200, ""));
    api.get("operates", "/v1/audit/export?until=3").await.is_problem(400, "unknown member");
}

#[tokio::test]
async fn a_log_that_isnt_kept_or_cant_be_read_is_said_without_its_place() {
    Api::new().get("operates", "/v1/audit/export").await.is_problem(404, "no audit log");
    let api = Api::recording();
    api.call("calls-a", "fake.echo").await.is(200);
    api.app.host.close().await.unwrap();
    let log = api.folder().join("state/audit/log");
    std::fs::remove_dir_all(&log).unwrap();
    std::fs::write(&log, "no folder").unwrap();
    for path in ["/v1/audit/export", "/v1/audit/head"] {
        let answer = api.get("operates", path).await;
        answer.is_problem(503, "can't be read");
        assert!(!answer.text.contains("state/"), "{answer:?}");
    }
}

#[tokio::test]
async fn exports_at_once_are_bounded() {
    let api = Api::recording();
    let all = super::super::EXPORTS_AT_ONCE;
    let held = api.frontend.0.exports.try_acquire_many(u32::try_from(all).unwrap()).unwrap();
    api.get("operates", "/v1/audit/export").await.is_problem(429, "exports");
    drop(held);
    assert_eq!(api.get("operates", "/v1/audit/export").await.status, 200);
}
