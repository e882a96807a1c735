//! Servers that break the protocol, die, don't listen or have too much to say.

use super::*;
use crate::storage::ListFilter;

#[tokio::test]
async fn an_answer_that_cannot_be_read_ends_the_call_at_once_and_the_server_is_met_again() {
    for tool in ["up.garbled", "up.headless", "up.bundled"] {
        let bench = Bench::new("plain", "").await;
        let mut events = bench.app.host.events();
        // Another call that waits at the same server ends with it.
        let waiting = bench.call("up.wait", json!({}));
        let breaking = async {
            bench.noted("waiting").await;
            bench.call(tool, json!({})).await
        };
        let (waited, broke) = tokio::join!(waiting, breaking);
        for result in [waited, broke] {
            let ended = (result.outcome, result.executed);
            assert_eq!(ended, (Outcome::Crashed, Executed::Maybe), "{tool}: {}", result.content);
            assert!(result.content.contains("no message of the protocol"), "{}", result.content);
        }
        up_again(&mut events).await;
        assert_eq!(bench.call("up.echo", json!({"text": "x"})).await.content, "x");
    }
}

#[tokio::test]
async fn an_answer_that_names_its_request_harms_no_other() {
    let bench = Bench::new("plain", "").await;
    let mut events = bench.app.host.events();
    let mangled = bench.call("up.mangled", json!({})).await;
    assert_eq!((mangled.outcome, mangled.executed), (Outcome::Crashed, Executed::Maybe));
    assert_eq!(bench.call("up.echo", json!({"text": "x"})).await.content, "x");
    bench.app.upstream.end().await;
    let before = down(&mut events);
    assert!(futures_util::FutureExt::now_or_never(before).is_none(), "it never went away");
}

#[tokio::test]
async fn words_beside_the_protocol_are_passed_over() {
    let bench = Bench::new("plain", "").await;
    let result = bench.call("up.chatter", json!({})).await;
    assert_eq!((result.outcome, result.content.as_str()), (Outcome::Success, "after all"));
}

#[tokio::test]
async fn a_server_that_asks_and_does_not_read_is_ended() {
    let bench = Bench::new("plain", "").await;
    let result = bench.call("up.pings", json!({})).await;
    assert_eq!((result.outcome, result.executed), (Outcome::Unavailable, Executed::Maybe));
    assert!(result.content.contains("asked for more than belljar could answer"));
}

#[tokio::test]
async fn t13_a_server_that_does_not_read_keeps_no_call_past_its_deadline() {
    let more = "concurrency = 2\nlimits = { attempt_deadline = \"2s\" }\n";
    let bench = Bench::new("deaf", more).await;
    let long = "x".repeat(500_000);
    let calls = (0..4).map(|_| bench.call("up.echo", json!({"text": long})));
    for result in futures_util::future::join_all(calls).await {
        assert_eq!(result.outcome, Outcome::TimedOut, "{}", result.content);
    }
    let pid = bench.pid();
    bench.app.upstream.end().await;
    assert!(!Path::new("/proc").join(pid).exists());
}

#[tokio::test]
async fn a_child_that_is_killed_takes_its_calls_with_it_and_its_successor_serves_the_next() {
    let bench = Bench::new("plain", "").await;
    let mut events = bench.app.host.events();
    let waiting = bench.call("up.wait", json!({}));
    let killing = async {
        bench.noted("waiting").await;
        let pid = rustix::process::Pid::from_raw(bench.pid().parse().unwrap()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    };
    let (killed, ()) = tokio::join!(waiting, killing);
    assert_eq!((killed.outcome, killed.executed), (Outcome::Unavailable, Executed::Maybe));
    assert!(killed.retryable && killed.content.contains("signal 9"), "{}", killed.content);
    assert!(down(&mut events).await.contains("signal 9"));
    up_again(&mut events).await;
    assert_eq!(bench.call("up.echo", json!({"text": "x"})).await.content, "x");
}

#[tokio::test]
async fn of_two_thousand_tools_the_first_thousand_are_offered_and_the_rest_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let app = start(&setup(folder.path(), "flood", "")).unwrap();
    let mut events = app.host.events();
    app.upstream.start();
    app.upstream.settled().await;
    let found = loop {
        if let Some(Seen::Event(event)) = events.next().await
            && let EventKind::UpstreamFinding { tool, finding, .. } = &event.kind
        {
            break (tool.clone(), finding.clone());
        }
    };
    assert_eq!(found.0, "t1000");
    assert!(found.1.contains("with all that follow it: a server has at most 1000 tools"));
    assert_eq!(app.host.tools().len(), 1_000);
    assert!(app.host.tool("up.t999").is_some() && app.host.tool("up.t1000").is_none());
}

/// What is told of the tools of a server before it is up.
async fn found(events: &mut EventStream) -> Vec<(String, String)> {
    let mut found = Vec::new();
    loop {
        match events.next().await {
            Some(Seen::Event(event)) => match &event.kind {
                EventKind::UpstreamFinding { tool, finding, .. } => {
                    found.push((tool.clone(), finding.clone()));
                }
                EventKind::UpstreamUp { .. } => return found,
                EventKind::UpstreamDown { reason, .. } => panic!("{reason}"),
                _ => {}
            },
            Some(_) => {}
            None => panic!("no more events"),
        }
    }
}

#[tokio::test]
async fn t42_a_malformed_tool_is_left_out_with_its_reason_and_the_others_are_offered() {
    for mode in ["malformed", "modern-malformed"] {
        let folder = tempfile::tempdir().unwrap();
        let app = start(&setup(folder.path(), mode, "")).unwrap();
        let mut events = app.host.events();
        app.upstream.start();
        let found = found(&mut events).await;
        let told: Vec<_> = found
            .iter()
            .map(|(tool, why)| (tool.as_str(), why.strip_prefix("it is left out: ").unwrap()))
            .collect();
        let expected = [
            ("bare", "it has no `inputSchema`"),
            ("listed", "its `inputSchema` is no object"),
            ("titled", "its `title` is no text"),
            ("claiming", "its `annotations.readOnlyHint` is neither true nor false"),
            ("#6", "it is no object"),
        ];
        assert_eq!(told, expected, "{mode}");
        let ids: BTreeSet<_> =
            app.host.tools().iter().map(|it| it.descriptor.id.to_string()).collect();
        let offered = ["up.fine", "up.fine-too", "up.sent"].map(str::to_owned);
        assert_eq!(ids, BTreeSet::from(offered), "{mode}");
        let result = app.host.call(call("up.fine-too", &json!({"text": "x"}))).await;
        assert_eq!((result.outcome, result.content.as_str()), (Outcome::Success, "x"), "{mode}");
        app.upstream.end().await;
    }
}

#[tokio::test]
async fn t42_a_list_that_is_none_is_an_error_of_the_server() {
    for mode in ["unlisted", "modern-unlisted"] {
        let folder = tempfile::tempdir().unwrap();
        let app = start(&setup(folder.path(), mode, "")).unwrap();
        let mut events = app.host.events();
        app.upstream.start();
        let reason = down(&mut events).await;
        assert!(reason.contains("its answer has no list `tools`"), "{mode}: {reason}");
        assert!(app.host.tools().is_empty());
        app.upstream.end().await;
    }
}

#[tokio::test]
async fn t40_an_approval_of_the_old_description_lets_no_call_of_the_new_one_through() {
    let bench = Bench::new("plain", "").await;
    let ask = || {
        let mut call = call("up.echo", &json!({"text": "x"}));
        call.permission_level = PermissionLevel::ReadWrite;
        call.approval_mode = ApprovalMode::HandBackAtOnce;
        bench.app.host.call(call)
    };
    let pending = ask().await;
    assert_eq!(pending.outcome, Outcome::ApprovalPending, "{}", pending.content);
    let queue = bench.app.host.approvals();
    let waiting = queue.list(&ListFilter::pending()).unwrap();
    let me = Approver { name: "me".into(), channel: Channel::Library };
    queue.decide(&waiting[0].id, ApprovalDecision::Once, me).unwrap();
    let before = bench.tool("up.echo").plugin.digest;
    let mut revision = bench.app.host.tools_revision();
    assert_eq!(bench.call("up.change", json!({})).await.content, "changed");
    while bench.tool("up.echo").plugin.digest == before {
        revision.changed().await.unwrap();
    }
    let again = ask().await;
    assert_eq!((again.outcome, again.executed), (Outcome::ApprovalPending, Executed::No));
}
