//! How requests end: by their results, deadlines, cancels, and with their connection.

use super::super::line::{OPEN_MAX, QUEUE_MAX};
use super::*;
use crate::contract::attempt::{Answer, GuestFault, RunnerRefusal};

fn content(end: End) -> String {
    match end {
        End::Answered(Answer { content, is_error: false, .. }) => content,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a2_a_call_runs_at_the_connected_client_and_its_answer_comes_back() {
    let gateway = Gateway::new();
    let (mut client, _) = gateway.client("bot", "laptop", &[shell()]);
    let running = gateway.start("laptop.run-shell", Try::default());
    let call = client.called().await;
    assert_eq!((call.tool.as_str(), call.call_id.as_str()), ("run_shell", "c1"));
    assert_eq!(call.arguments.value()["path"], "x");
    assert_eq!((call.deadline_ms, call.traceparent.as_deref()), (900_000, Some("00-1-2-01")));
    client.say(result(&call.request_id, r#"{"error":"only text"}"#)).unwrap();
    assert_eq!(content(running.await.unwrap()), r#"{"error":"only text"}"#);
}

#[tokio::test(start_paused = true)]
async fn a_timeout_ends_its_own_request_alone_and_tells_the_client() {
    let gateway = Gateway::new();
    let (mut client, _) = gateway.client("bot", "laptop", &[shell()]);
    let brief = Try { within: Duration::from_secs(5), ..Try::default() };
    let (brief, long) = (
        gateway.start("laptop.run-shell", brief),
        gateway.start("laptop.run-shell", Try::default()),
    );
    let (first, second) = (client.called().await, client.called().await);
    let (brief_id, long_id) = match first.deadline_ms {
        5_000 => (first.request_id, second.request_id),
        _ => (second.request_id, first.request_id),
    };
    let End::Guest(GuestFault::Limit(LimitKind::AttemptDeadline, why)) = brief.await.unwrap()
    else {
        panic!("a timeout")
    };
    assert!(why.contains("`laptop` had not answered"), "{why}");
    let told = client.told.recv().await.unwrap();
    assert_eq!(told, HostMessage::Cancel { request_id: brief_id.clone() });
    client.say(result(&brief_id, "late")).unwrap();
    assert_eq!(gateway.clients.dropped(), 1);
    client.say(result(&long_id, "in time")).unwrap();
    assert_eq!(content(long.await.unwrap()), "in time");
}

#[tokio::test(start_paused = true)]
async fn a_client_that_goes_ends_its_open_requests_at_once_and_takes_its_tools_along() {
    let gateway = Gateway::new();
    let (mut client, _) = gateway.client("bot", "laptop", &[shell()]);
    let before = Instant::now();
    let running = gateway.start("laptop.run-shell", Try::default());
    client.called().await;
    drop(client);
    let End::Lost(why) = running.await.unwrap() else { panic!("lost") };
    assert!(why.contains("went away while it ran"), "{why}");
    assert_eq!(before.elapsed(), Duration::ZERO, "at once");
    assert!(gateway.ids().is_empty());
    let End::Refused(RunnerRefusal::Unavailable(_)) =
        gateway.start("laptop.run-shell", Try::default()).await.unwrap()
    else {
        panic!("unavailable")
    };
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_call_and_one_that_is_dropped_reach_the_client() {
    let gateway = Gateway::new();
    let (mut client, _) = gateway.client("bot", "laptop", &[shell()]);
    let one = Try::default();
    let running = gateway.start("laptop.run-shell", one.clone());
    let call = client.called().await;
    one.cancel.cancel();
    assert_eq!(running.await.unwrap(), End::Interrupted);
    let cancel = |request_id| HostMessage::Cancel { request_id };
    assert_eq!(client.told.recv().await.unwrap(), cancel(call.request_id));
    let running = gateway.start("laptop.run-shell", Try::default());
    let call = client.called().await;
    running.abort();
    assert_eq!(client.told.recv().await.unwrap(), cancel(call.request_id));
}

#[tokio::test(start_paused = true)]
async fn an_answer_to_anothers_request_is_dropped_and_the_request_stays_open() {
    let gateway = Gateway::new();
    let (mut laptop, _) = gateway.client("bot", "laptop", &[shell()]);
    let (mut desk, _) = gateway.client("bot", "desk", &[shell()]);
    let running = gateway.start("laptop.run-shell", Try::default());
    let call = laptop.called().await;
    assert_eq!(call.request_id.len(), 32);
    for foreign in [call.request_id.as_str(), "0", ""] {
        desk.say(result(foreign, "forged")).unwrap();
        let said = json!({"type": "progress", "requestId": foreign, "done": 1});
        desk.say(said).unwrap();
    }
    assert_eq!(gateway.clients.dropped(), 6);
    laptop.say(result(&call.request_id, "its own")).unwrap();
    assert_eq!(content(running.await.unwrap()), "its own");
    laptop.say(result(&call.request_id, "twice")).unwrap();
    assert_eq!(gateway.clients.dropped(), 7);
}

#[tokio::test(start_paused = true)]
async fn only_progress_that_rises_is_told() {
    let gateway = Gateway::new();
    let (mut client, _) = gateway.client("bot", "laptop", &[shell()]);
    let one = Try::default();
    let running = gateway.start("laptop.run-shell", one.clone());
    let id = client.called().await.request_id;
    for done in [1, 1, 5, 4, 6] {
        client.say(json!({"type": "progress", "requestId": id, "done": done})).unwrap();
    }
    client.say(result(&id, "done")).unwrap();
    running.await.unwrap();
    client.say(json!({"type": "progress", "requestId": id, "done": 7})).unwrap();
    assert_eq!(*one.said.0.lock().unwrap(), [1, 5, 6]);
}

#[tokio::test(start_paused = true)]
async fn past_its_open_requests_a_client_is_overloaded() {
    let gateway = Gateway::new();
    let (mut client, _) = gateway.client("bot", "laptop", &[shell()]);
    let mut open = Vec::new();
    for _ in 0..OPEN_MAX {
        open.push(gateway.start("laptop.run-shell", Try::default()));
        client.called().await;
    }
    let End::Refused(RunnerRefusal::Overloaded(why)) =
        gateway.start("laptop.run-shell", Try::default()).await.unwrap()
    else {
        panic!("overloaded")
    };
    assert!(why.contains("64 open requests"), "{why}");
    open.pop().unwrap().abort();
    assert!(matches!(client.told.recv().await.unwrap(), HostMessage::Cancel { .. }));
    let next = gateway.start("laptop.run-shell", Try::default());
    let call = client.called().await;
    client.say(result(&call.request_id, "room again")).unwrap();
    assert_eq!(content(next.await.unwrap()), "room again");
}

#[tokio::test(start_paused = true)]
async fn a_client_that_reads_nothing_is_disconnected_before_its_queue_grows() {
    let gateway = Gateway::new();
    let (mut client, _) = gateway.client("bot", "laptop", &[shell()]);
    let mut ended = None;
    for _ in 0..=QUEUE_MAX {
        let one = Try { within: Duration::from_millis(1), ..Try::default() };
        let end = gateway.start("laptop.run-shell", one).await.unwrap();
        if let End::Refused(RunnerRefusal::Unavailable(why)) = end {
            ended = Some(why);
            break;
        }
    }
    assert!(ended.is_some_and(|why| why.contains("`laptop`")));
    let mut queued = 0;
    while client.told.recv().await.is_some() {
        queued += 1;
    }
    assert!(queued <= QUEUE_MAX, "{queued}, and then the end");
}

#[tokio::test(start_paused = true)]
async fn another_callers_call_never_reaches_a_client() {
    let gateway = Gateway::new();
    let (mut client, _) = gateway.client("bot", "laptop", &[shell()]);
    let other = Try { caller: "eve", ..Try::default() };
    let end = gateway.start("laptop.run-shell", other).await.unwrap();
    assert!(matches!(end, End::Refused(RunnerRefusal::Unavailable(_))), "{end:?}");
    assert!(client.told.try_recv().is_err());
}

#[tokio::test(start_paused = true)]
async fn t23_an_answer_keeps_every_part_and_is_held_against_its_own_schema() {
    let gateway = Gateway::new();
    let schema = json!({"type": "object", "required": ["n"],
        "properties": {"n": {"type": "integer"}}});
    let mut tool = shell();
    tool["outputSchema"] = schema;
    let (mut client, _) = gateway.client("bot", "laptop", &[tool]);
    let mut ends = Vec::new();
    for said in [
        json!({"structured": {"n": 1}, "content": "one",
            "attachments": [{"type": "image", "mimeType": "image/png", "data": "AP8="}]}),
        json!({"structured": {"n": "x"}}),
        json!({"content": "{\"n\":1}"}),
        json!({"isError": true, "content": "no"}),
        json!({"structured": {"n": 1}, "attachments": vec![json!({"type": "blob"}); 65]}),
    ] {
        let running = gateway.start("laptop.run-shell", Try::default());
        let mut message = said;
        message["type"] = "result".into();
        message["requestId"] = client.called().await.request_id.into();
        client.say(message).unwrap();
        ends.push(running.await.unwrap());
    }
    let End::Answered(answer) = &ends[0] else { panic!("{:?}", ends[0]) };
    assert_eq!((answer.content.as_str(), answer.attachments[0].size), ("one", 2));
    assert_eq!(answer.attachments[0].uri, "belljar://result/c1/0");
    for (end, words) in [(&ends[1], "`/n`"), (&ends[2], "no `structured`"), (&ends[4], "65")] {
        let End::Guest(GuestFault::Trapped(why)) = end else { panic!("{end:?}") };
        assert!(why.contains(words), "{why}");
    }
    assert!(matches!(&ends[3], End::Answered(Answer { is_error: true, .. })));
}

#[tokio::test(start_paused = true)]
async fn t40_a_call_of_one_build_is_not_run_by_another() {
    let gateway = Gateway::new();
    let (client, _) = gateway.client("bot", "laptop", &[shell()]);
    let approved = gateway.found("laptop.run-shell").descriptor.plugin.digest;
    drop(client);
    let mut other = shell();
    other["description"] = "sends it elsewhere".into();
    let (mut client, _) = gateway.client("bot", "laptop", &[other]);
    let running = gateway.start_built("laptop.run-shell", approved, Try::default());
    let End::Refused(RunnerRefusal::Unavailable(why)) = running.await.unwrap() else {
        panic!("unavailable")
    };
    assert!(why.contains("another build"), "{why}");
    assert!(client.told.try_recv().is_err());
}
