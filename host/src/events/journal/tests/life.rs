//! What is written is what is read.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use super::kit::*;
use crate::contract::approval::{ApprovalState, Approver, CallerContext, Channel};
use crate::contract::arguments::CheckedArguments;
use crate::contract::decision::{ApprovalMark, ApprovedBy};
use crate::contract::ids::ApprovalId;
use crate::contract::outcome::{Executed, Outcome};
use crate::contract::result::Usage;
use crate::events::Redactor;
use crate::events::journal::*;

#[tokio::test]
async fn a_call_is_told_from_its_decision_to_its_end() {
    let home = Home::new();
    let (journal, recovered) = home.open();
    assert_eq!(recovered, Recovered::default());
    let id = call("c1");
    let entry = journal.begin(started(&id)).await.unwrap();
    entry.sync().await.unwrap();
    let usage = Usage { fuel: Some(7), ..Usage::default() };
    let end = CallFinished {
        outcome: Outcome::ToolError,
        error_message: Some("no such file"),
        usage: Some(&usage),
        content_hash: Some(&DIGEST),
        ..finished(&id)
    };
    entry.finish(&end);
    journal.close().await.unwrap();

    let [start, end] = &home.entries()[..] else { panic!("{:?}", home.entries()) };
    assert_eq!((start.seq, start.at_unix_ms, &*start.kind), (1, 1_000, "CallStarted"));
    let fields = serde_json::Value::Object(start.fields.clone());
    assert_eq!(fields["number"], 1);
    for (field, value) in [
        ("callId", json!("c1")),
        ("toolName", json!("files_read")),
        ("tool", json!("files.read")),
        ("pluginDigest", json!(DIGEST.to_string())),
        ("argumentsHash", json!(arguments(r#"{"path":"a.txt"}"#).hash().to_string())),
        ("argumentBytes", json!(16)),
        ("arguments", json!({"path": "a.txt"})),
        ("caller", json!({"caller": "me", "permissionLevel": "READ_ONLY"})),
        ("by", json!("rule")),
        ("reason", json!("proven read-only")),
        ("policyRevision", json!(DIGEST.to_string())),
    ] {
        assert_eq!(fields[field], value, "{field}");
    }
    assert_eq!((end.seq, &*end.kind), (2, "CallFinished"));
    let fields = serde_json::Value::Object(end.fields.clone());
    for (field, value) in [
        ("start", json!(1)),
        ("callId", json!("c1")),
        ("outcome", json!("tool_error")),
        ("executed", json!("yes")),
        ("errorMessage", json!("no such file")),
        ("attempts", json!(1)),
        ("durationMs", json!(2)),
        ("contentBytes", json!(5)),
        ("contentHash", json!(DIGEST.to_string())),
    ] {
        assert_eq!(fields[field], value, "{field}");
    }
    assert_eq!(fields["usage"]["fuel"], 7);
    assert!(home.lanes().is_empty(), "a closed journal leaves no lane");
    let verified = home.verified();
    assert_eq!((verified.entries, verified.pending), (2, 0));
    assert_eq!(verified.head, head(&home.audit()).unwrap());
    assert_eq!(verified.head.map(|head| head.hash), Some(end.hash));
}

#[tokio::test]
async fn every_kind_of_record_is_told_by_its_names() {
    let home = Home::new();
    let (journal, _) = home.open();
    let (id, request) = (call("c1"), ApprovalId::from_random([3; 12]));
    let (caller, approver) =
        (CallerContext::default(), Approver { name: "ann".into(), channel: Channel::Terminal });
    let edited = json!({"a": 1}).as_object().unwrap().clone();
    let Record::CallRefused(not_run) = refused(&id, "a rule says no") else { panic!("refused") };
    let records = [
        Record::CallRefused(not_run),
        Record::CallAnswered(not_run),
        Record::ApprovalRequested(ApprovalRequested {
            request: &request,
            call_id: &id,
            tool: &TOOL,
            arguments_hash: &DIGEST,
            caller: &caller,
            reason: "writes",
            expires_unix_ms: 9,
        }),
        Record::ApprovalDecided(ApprovalDecided {
            request: &request,
            decision: "edit",
            approver: &approver,
            reason: Some("as they asked"),
            latency_ms: 4,
            remembered_scope: None,
            edited_arguments: Some(&edited),
        }),
        Record::ApprovalEnded { request: &request, state: ApprovalState::Expired, reason: "late" },
        Record::Revoked { approval: &request, approver: &approver },
    ];
    for record in records {
        journal.note(record, false).await.unwrap();
    }
    journal.flush().await.unwrap();
    let entries = home.entries();
    let kinds: Vec<&str> = entries.iter().map(|entry| &*entry.kind).collect();
    assert_eq!(
        kinds,
        [
            "CallRefused",
            "CallAnswered",
            "ApprovalRequested",
            "ApprovalDecided",
            "ApprovalEnded",
            "Revoked"
        ]
    );
    assert_eq!(entries[0].text("outcome"), Some("denied"));
    assert_eq!(entries[1].text("outcome"), Some("denied"));
    assert_eq!(entries[2].fields["expiresUnixMs"], 9);
    assert_eq!(entries[3].fields["editedArguments"], json!({"a": 1}));
    assert_eq!(entries[3].fields["approver"], json!({"name": "ann", "channel": "terminal"}));
    assert_eq!(entries[3].text("reason"), Some("as they asked"));
    assert_eq!(entries[4].text("state"), Some("expired"));
    assert_eq!(entries[5].text("approval"), Some(request.as_str()));
}

#[tokio::test]
async fn secrets_are_in_no_record() {
    let home = Home::new();
    let redactor = Redactor::new([("token".to_owned(), "s3cret-value".to_owned())]);
    let (journal, _) = home.open_with(JournalOptions { redactor, ..JournalOptions::default() });
    let id = call("c1");
    let args = arguments(r#"{"a":["x s3cret-value"],"s3cret-value":1}"#);
    let mark = ApprovalMark::new(ApprovedBy::Rule, "s3cret-value is fine");
    let start = CallStarted {
        arguments: &args,
        mark: &mark,
        tool_name: "s3cret-value",
        trace_parent: Some("s3cret-value"),
        ..started(&id)
    };
    let end = CallFinished { error_message: Some("bad s3cret-value"), ..finished(&id) };
    journal.begin(start).await.unwrap().finish(&end);
    journal.note(refused(&id, "no s3cret-value"), false).await.unwrap();
    journal.close().await.unwrap();
    let entries = home.entries();
    assert!(entries.iter().all(|entry| !entry.json.contains("s3cret")), "{entries:?}");
    assert_eq!(
        entries[0].fields["arguments"],
        json!({"a": ["x [redacted:token]"], "[redacted:token]": 1})
    );
    assert_eq!(entries[0].fields["argumentsHash"], args.hash().to_string(), "of what was run");
}

#[tokio::test]
async fn long_texts_are_cut_and_long_arguments_left_out() {
    let home = Home::new();
    let (journal, _) = home.open();
    let id = call(&"c".repeat(128));
    let long = "\u{1}".repeat(100_000);
    let of_len = |len: usize| arguments(&format!(r#"{{"a":"{}"}}"#, "x".repeat(len - 8)));
    let (fits, too_long) = (of_len(ARGUMENTS_MAX_LEN), of_len(ARGUMENTS_MAX_LEN + 1));
    let caller = CallerContext {
        caller: Some(long.clone()),
        session_id: Some(long.clone()),
        user_id: Some(long.clone()),
        execution_user_id: Some(long.clone()),
        workspace: Some(long.clone()),
        ..CallerContext::default()
    };
    let mark = ApprovalMark::new(ApprovedBy::Person, long.clone());
    for args in [&fits, &too_long] {
        let start = CallStarted {
            arguments: args,
            caller: &caller,
            mark: &mark,
            tool_name: &long,
            trace_parent: Some(&long),
            ..started(&id)
        };
        let usage = Usage {
            fuel: Some(u64::MAX),
            peak_memory_bytes: u64::MAX,
            wall_ms: u64::MAX,
            host_wait_ms: u64::MAX,
            bytes_in: u64::MAX,
            bytes_out: u64::MAX,
        };
        let end = CallFinished {
            tool_name: &long,
            error_message: Some(&long),
            outcome: Outcome::InvalidArguments,
            executed: Executed::Maybe,
            attempts: u32::MAX,
            usage: Some(&usage),
            duration_ms: Some(u64::MAX),
            content_bytes: u64::MAX,
            content_hash: Some(&DIGEST),
            ..finished(&id)
        };
        journal.begin(start).await.unwrap().finish(&end);
    }
    journal.close().await.unwrap();
    let entries = home.entries();
    let parsed: CheckedArguments =
        serde_json::from_value(entries[0].fields["arguments"].clone()).unwrap();
    assert_eq!(parsed, fits);
    assert_eq!(entries[2].fields.get("arguments"), None);
    assert_eq!(entries[2].fields["argumentsOmitted"], true);
    assert_eq!(entries[2].fields["argumentBytes"], ARGUMENTS_MAX_LEN + 1);
    assert!(entries[1].text("errorMessage").unwrap().ends_with('…'));
    assert!(
        entries[1].json.len() < 3 * 1024,
        "fits the room kept for it: {}",
        entries[1].json.len()
    );
    assert!(entries[0].json.len() < 24 * 1024, "{}", entries[0].json.len());
}

#[tokio::test]
async fn entries_are_found_by_time_number_call_tool_and_kind() {
    test_clock!(set, clock);
    let home = Home::new();
    let (journal, _) = Journal::open(&home.audit(), JournalOptions::default(), clock).unwrap();
    for (id, at) in [("c1", 100), ("c2", 300), ("c3", 200)] {
        set(at);
        run(&journal, id).await;
    }
    journal.close().await.unwrap();
    let find = |filter: Filter| -> Vec<u64> {
        read(&home.audit(), filter).unwrap().map(|entry| entry.unwrap().seq).collect()
    };
    let all = Filter::default();
    assert_eq!(find(all.clone()), [1, 2, 3, 4, 5, 6]);
    let since = |since| Filter { since_unix_ms: Some(since), ..Filter::default() };
    assert_eq!(find(since(200)), [3, 4, 5, 6], "a clock that went backwards hides nothing");
    assert_eq!(find(since(250)), [3, 4]);
    assert_eq!(find(Filter { since_seq: Some(5), ..all.clone() }), [5, 6]);
    assert_eq!(find(Filter { call_id: Some("c2".into()), ..all.clone() }), [3, 4]);
    assert_eq!(find(Filter { tool: Some("files.read".into()), ..all.clone() }), [1, 3, 5]);
    assert_eq!(find(Filter { tool: Some("files_read".into()), ..all.clone() }).len(), 6);
    assert_eq!(find(Filter { tool: Some("other".into()), ..all.clone() }), [0; 0]);
    assert_eq!(find(Filter { kind: Some("CallFinished".into()), ..all.clone() }), [2, 4, 6]);
    assert_eq!(find(Filter { limit: Some(2), ..all }), [1, 2]);
    assert_eq!(home.verified().entries, 6);
}

#[tokio::test]
async fn an_exported_entry_is_the_line_that_was_hashed() {
    let home = Home::new();
    let (journal, _) = home.open();
    run(&journal, "c1").await;
    journal.close().await.unwrap();
    for entry in home.entries() {
        assert!(!entry.json.contains('\n'));
        assert_eq!(crate::contract::ids::Digest::of(entry.json.as_bytes()), entry.hash);
    }
}

#[tokio::test]
async fn a_dropped_call_ends_as_interrupted_at_once() {
    let home = Home::new();
    let (journal, _) = home.open();
    drop(journal.begin(started(&call("c1"))).await.unwrap());
    journal.flush().await.unwrap();
    let end = home.entries().pop().unwrap();
    assert_eq!((end.text("callId"), end.text("outcome")), (Some("c1"), Some("interrupted")));
    assert_eq!((end.text("executed"), &end.fields["start"]), (Some("maybe"), &json!(1)));
    assert_eq!(end.text("toolName"), Some("files_read"));
}

#[tokio::test]
async fn closing_ends_open_calls_and_takes_no_more() {
    let home = Home::new();
    let (journal, _) = home.open();
    let (id, other) = (call("c1"), journal.clone());
    let entry = journal.begin(started(&id)).await.unwrap();
    journal.close().await.unwrap();
    entry.finish(&finished(&id));
    assert_eq!(home.told().len(), 2);
    assert_eq!(home.entries()[1].text("outcome"), Some("interrupted"));
    let refused_now = other.begin(started(&id)).await;
    assert!(matches!(refused_now, Err(JournalError::Closed)), "{refused_now:?}");
    assert!(matches!(other.close().await, Err(JournalError::Closed)));
}

#[tokio::test]
async fn only_the_owner_may_read_the_log() {
    let home = Home::new();
    let (journal, _) = home.open();
    run(&journal, "c1").await;
    journal.flush().await.unwrap();
    let mut folders = vec![home.audit()];
    while let Some(folder) = folders.pop() {
        let mode =
            |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&folder), 0o700, "{}", folder.display());
        for path in paths(&folder) {
            if path.is_dir() {
                folders.push(path);
            } else {
                assert_eq!(mode(&path), 0o600, "{}", path.display());
            }
        }
    }
}

#[test]
fn a_log_that_is_not_there_is_empty() {
    let home = Home::new();
    assert!(home.entries().is_empty());
    assert_eq!(home.verified(), Verified::default());
    assert_eq!(head(&home.audit()).unwrap(), None);
    assert_eq!(
        recover(&home.audit(), || 0, &CutOffListener::default()).unwrap(),
        Recovered::default()
    );
    assert!(!home.audit().exists(), "looking makes nothing");
}
