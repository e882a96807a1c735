//! Who may answer what, and what one answer says of others.

use std::collections::BTreeMap;

use super::*;

/// Keeps the requests of these calls as if they waited.
fn waiting(desk: &Desk, calls: &[&Call]) -> Vec<ApprovalId> {
    let keep = |call: &&Call| {
        let request = desk.request(call);
        desk.queue.0.store.insert(&request, NOW).unwrap();
        request.id
    };
    calls.iter().map(keep).collect()
}

fn decision_of(desk: &Desk, id: &ApprovalId) -> Option<&'static str> {
    desk.queue.show(id).unwrap().decided.map(|decided| decided.decision.name())
}

#[test]
fn t37_nobody_approves_an_own_call_unless_that_is_allowed() {
    let desk = Desk::new();
    let ids = waiting(&desk, &[&Call::new("{}"), &Call::new("{}")]);
    let own = Approver { name: "bot".into(), channel: Channel::Library };
    for decision in [
        ApprovalDecision::Once,
        ApprovalDecision::Session,
        always(RememberScope::Tool),
        ApprovalDecision::Edit { arguments_json: "{}".into() },
        ApprovalDecision::Answer { content: "done".into() },
    ] {
        let error = desk.queue.decide(&ids[0], decision, own.clone()).unwrap_err();
        assert!(matches!(error, ApprovalError::SelfApproval(_)), "{error}");
    }
    assert_eq!(desk.state(&ids[0]), ApprovalState::Pending);
    desk.queue.decide(&ids[1], deny(), own.clone()).unwrap();

    let settings = ApprovalSettings { self_approval: true, ..ApprovalSettings::default() };
    let store = Arc::clone(&desk.queue.0.store);
    let queue = ApprovalQueue::new(store, desk.bus.clone(), || NOW, settings, None);
    let entry = queue.decide(&ids[0], ApprovalDecision::Once, own.clone()).unwrap();
    assert_eq!(entry.decided.unwrap().approver, own, "and it says who it was");
}

#[test]
fn t33_an_answer_that_is_remembered_answers_what_waits_beside_it() {
    let mut desk = Desk::new();
    let (call, other) = (Call::new(r#"{"n":1}"#), Call::new(r#"{"n":2}"#));
    let mut stranger = call.clone();
    stranger.call.session_id = Some("s2".into());
    let mut unlike = call.clone();
    unlike.descriptor.id = "files.read".parse().unwrap();
    let ids = waiting(&desk, &[&call, &other, &stranger, &unlike]);
    desk.decide(&ids[0], ApprovalDecision::Session).unwrap();
    assert_eq!(decision_of(&desk, &ids[1]), Some("once"), "the same session");
    assert_eq!(decision_of(&desk, &ids[2]), None, "another session");
    assert_eq!(decision_of(&desk, &ids[3]), None, "another tool");
    assert_eq!(desk.queue.show(&ids[1]).unwrap().decided.unwrap().approver, approver());
    assert_eq!(desk.count(|kind| matches!(kind, EventKind::ApprovalDecided { .. })), 2);

    let scope = RememberScope::Tool;
    let reason = Some("never".to_owned());
    desk.decide(&ids[2], ApprovalDecision::DenyAlways { scope, reason }).unwrap();
    let more = waiting(&desk, &[&stranger]);
    assert_eq!(decision_of(&desk, &more[0]), None, "what comes later is the gate's");
}

#[tokio::test(start_paused = true)]
async fn t33_calls_that_wait_go_on_when_one_of_them_is_allowed_for_the_session() {
    let mut desk = Desk::new();
    let mut asked = Vec::new();
    for number in 0..3 {
        let call = Call::new(&format!(r#"{{"n":{number}}}"#));
        asked.push(desk.asked(&call, ApprovalMode::Wait).await);
    }
    desk.decide(&asked[1].0, ApprovalDecision::Session).unwrap();
    for (id, waiting) in asked {
        assert!(is_admitted(&waiting.await.unwrap(), &id));
    }
}

#[test]
fn t34_always_survives_a_restart_and_is_listed_and_revocable() {
    let (_folder, path) = place();
    let desk = || Desk::over(Arc::new(SqliteStore::at(&path)), || NOW, None);
    let call = Call::new("{}");
    let first = desk();
    let ids = waiting(&first, &[&call]);
    first.decide(&ids[0], always(RememberScope::Tool)).unwrap();
    drop(first);
    let mut after = desk();
    let covered =
        |desk: &Desk| desk.remembered().unwrap().find(&call.asking().asked(), NOW).is_some();
    assert!(covered(&after));
    let listed = after.queue.remembered_list().unwrap();
    assert_eq!((&listed[0].id, &listed[0].approver), (&ids[0], &approver()));
    assert!(after.queue.revoke(&ids[0], &approver()).unwrap());
    assert!(!covered(&after));
    assert_eq!(after.count(|kind| matches!(kind, EventKind::ApprovalRevoked { .. })), 1);
    assert!(!after.queue.revoke(&ids[0], &approver()).unwrap());
}

#[tokio::test(start_paused = true)]
async fn what_another_process_remembers_or_revokes_is_seen_within_a_moment() {
    let (_folder, path) = place();
    let desk = || Desk::over(Arc::new(SqliteStore::at(&path)), || NOW, None);
    let (one, other, call) = (desk(), desk(), Call::new("{}"));
    let moment = Duration::from_millis(51);
    let covered = || one.remembered().unwrap().find(&call.asking().asked(), NOW).is_some();
    assert!(!covered());
    let ids = waiting(&other, &[&call]);
    other.decide(&ids[0], always(RememberScope::Tool)).unwrap();
    tokio::time::advance(moment).await;
    assert!(covered());
    other.queue.revoke(&ids[0], &approver()).unwrap();
    tokio::time::advance(moment).await;
    assert!(!covered());
}

#[test]
fn an_answer_that_means_nothing_is_refused_and_the_request_waits_on() {
    let desk = Desk::new();
    let mut call = Call::new(r#"{"path":"src/a"}"#);
    call.call.session_id = None;
    let ids = waiting(&desk, &[&call]);
    let pattern = |name: &str, glob: &str| {
        always(RememberScope::Pattern([(name.to_owned(), glob.to_owned())].into()))
    };
    let edit = |text: &str| ApprovalDecision::Edit { arguments_json: text.into() };
    let many = (0..33).map(|number| (format!("a{number}"), "*".to_owned())).collect();
    let past = ApprovalDecision::Always { scope: RememberScope::Tool, expires_unix_ms: Some(NOW) };
    for (decision, words) in [
        (ApprovalDecision::Session, "belongs to no session"),
        (past, "the approval would end"),
        (edit("[1]"), "edited arguments"),
        (edit(r#"{"a":1,"a":2}"#), "edited arguments"),
        (edit(r#"{"a":"#), "truncated"),
        (edit(&" ".repeat((16 << 20) + 1)), "expected at most"),
        (pattern("path", "["), "the glob of `path` can't be used: unclosed"),
        (pattern("path", "[é]*"), "only ASCII"),
        (pattern("nope", "*"), "no argument `nope`"),
        (pattern("path", "lib/*"), "doesn't match"),
        (pattern("path", &"*".repeat(1025)), "the longest may have 1024"),
        (always(RememberScope::Pattern(BTreeMap::new())), "names no argument"),
        (always(RememberScope::Pattern(many)), "at most 32"),
        (
            ApprovalDecision::DenyAlways {
                scope: RememberScope::Pattern(BTreeMap::new()),
                reason: None,
            },
            "names no argument",
        ),
        (
            ApprovalDecision::Deny { reason: Some("x".repeat(4097)) },
            "the reason has 4097 bytes: expected at most 4096",
        ),
        (
            ApprovalDecision::DenyAlways {
                scope: RememberScope::Tool,
                reason: Some("x".repeat(4097)),
            },
            "the reason has 4097 bytes: expected at most 4096",
        ),
        (
            ApprovalDecision::Answer { content: "x".repeat(262_145) },
            "the answer has 262145 bytes: expected at most 262144",
        ),
    ] {
        let error = desk.decide(&ids[0], decision).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
    assert_eq!(desk.state(&ids[0]), ApprovalState::Pending);
    assert_eq!(desk.queue.remembered_list().unwrap(), []);
    desk.decide(&ids[0], pattern("path", "src/*")).unwrap();
}

#[test]
fn a_request_that_is_gone_is_said_to_be() {
    let desk = Desk::new();
    let gone: ApprovalId = "abcdefghijkl".parse().unwrap();
    let error = desk.decide(&gone, ApprovalDecision::Once).unwrap_err().to_string();
    assert_eq!(error, "there is no approval `abcdefghijkl`: it never was, or it ended long ago");
}

#[test]
fn many_are_answered_alike_but_for_those_with_an_answer_of_their_own() {
    let desk = Desk::new();
    let calls: Vec<_> = (0..4).map(|n| Call::new(&format!(r#"{{"n":{n}}}"#))).collect();
    let ids = waiting(&desk, &calls.iter().collect::<Vec<_>>());
    desk.decide(&ids[3], ApprovalDecision::Cancel).unwrap();
    let overrides = BTreeMap::from([(ids[1].clone(), deny())]);
    let decide = |selection| {
        let decision = ApprovalDecision::Session;
        desk.queue.decide_all(selection, &decision, &overrides, &approver()).unwrap()
    };
    let results = decide(Selection::Ids(ids.clone()));
    let order: Vec<_> = results.iter().map(|(id, _)| id.clone()).collect();
    assert_eq!(order, ids);
    let fine: Vec<_> = results.iter().map(|(_, result)| result.is_ok()).collect();
    assert_eq!(fine, [true, true, true, false], "one that was answered leaves the others alone");
    let decisions = ids.iter().map(|id| decision_of(&desk, id).unwrap());
    assert_eq!(decisions.collect::<Vec<_>>(), ["session", "deny", "session", "cancel"]);
    assert_eq!(decide(Selection::Listed(ListFilter::pending())).len(), 0);
}

#[test]
fn a_reason_and_an_answer_may_be_as_long_as_their_bounds() {
    let desk = Desk::new();
    let ids = waiting(&desk, &[&Call::new("{}"), &Call::new("{}")]);
    desk.decide(&ids[0], ApprovalDecision::Deny { reason: Some("x".repeat(4096)) }).unwrap();
    desk.decide(&ids[1], ApprovalDecision::Answer { content: "x".repeat(262_144) }).unwrap();
}

#[test]
fn one_answer_answers_a_thousand_along_and_the_rest_wait_on() {
    let desk = Desk::new();
    let call = Call::new("{}");
    let ids = waiting(&desk, &vec![&call; 1_003]);
    desk.decide(&ids[0], always(RememberScope::Tool)).unwrap();
    assert_eq!(pending(&desk.queue), ids[1_001..], "the oldest come first");
    assert_eq!(decision_of(&desk, &ids[1_000]), Some("once"));
    assert_eq!(desk.queue.show(&ids[1_000]).unwrap().decided.unwrap().along.as_ref(), ids.first());
    desk.decide(&ids[1_002], deny()).unwrap();
    assert_eq!(desk.queue.0.waiting.announced_len(), 1_000, "that is bounded too");
}
