//! Which calls a remembered answer stands for.

use std::collections::BTreeMap;

use super::*;
use crate::contract::approval::{Remembered, RememberedVerdict};

/// Answers the request of `call`, and gives back what is remembered of it.
fn remember(call: &Call, decision: ApprovalDecision) -> (Desk, Remembered) {
    let desk = Desk::new();
    let request = desk.request(call);
    desk.queue.0.store.insert(&request, NOW).unwrap();
    desk.decide(&request.id, decision).unwrap();
    let remembered = desk.queue.remembered_list().unwrap().remove(0);
    (desk, remembered)
}

fn found(desk: &Desk, call: &Call) -> Option<RememberedVerdict> {
    let set = desk.remembered().unwrap();
    set.find(&call.asking().asked(), NOW).map(|remembered| remembered.verdict)
}

fn pattern(globs: &[(&str, &str)]) -> RememberScope {
    let pairs = globs.iter().map(|(name, glob)| ((*name).to_owned(), (*glob).to_owned()));
    RememberScope::Pattern(pairs.collect::<BTreeMap<_, _>>())
}

const ALLOW: Option<RememberedVerdict> = Some(RememberedVerdict::Allow);
const DENY: Option<RememberedVerdict> = Some(RememberedVerdict::Deny);

#[test]
fn t35_a_remembered_approval_does_not_cover_other_arguments() {
    let call = Call::new(r#"{"path":"a","text":"x"}"#);
    let (desk, _) = remember(&call, always(RememberScope::Arguments));
    assert_eq!(found(&desk, &call), ALLOW);
    assert_eq!(
        found(&desk, &Call::new(r#"{"text":"x","path":"a"}"#)),
        ALLOW,
        "the same, reordered"
    );
    for other in
        [r#"{"path":"b","text":"x"}"#, r#"{"path":"a"}"#, r#"{"path":"a","text":"x","y":1}"#]
    {
        assert_eq!(found(&desk, &Call::new(other)), None, "{other}");
    }
}

#[test]
fn t40_another_build_or_a_wider_grant_ends_what_was_approved_and_is_shown_as_a_change() {
    let call = Call::new("{}");
    let (desk, _) = remember(&call, always(RememberScope::Tool));
    assert_eq!(found(&desk, &call), ALLOW);
    assert_eq!(desk.request(&call).changed, Vec::<String>::new());

    let mut other_build = call.clone();
    other_build.descriptor.plugin.digest = Digest::of(b"another build");
    assert_eq!(found(&desk, &other_build), None);
    let changed = desk.request(&other_build).changed.join("\n");
    let digest = Digest::of(b"another build").to_string();
    assert!(changed.contains("another build") && changed.contains(&digest), "{changed}");

    let mut wider = call.clone();
    wider.grants = grants("/srv/site", DirMode::ReadWrite);
    assert_eq!(found(&desk, &wider), None);
    let changed = desk.request(&wider).changed;
    assert_eq!(changed, ["it may now read and write the folder `/w`, which is `/srv/site`"]);

    let mut elsewhere = call.clone();
    elsewhere.grants = grants("/srv/site/part", DirMode::ReadOnly);
    assert_eq!(found(&desk, &elsewhere), None, "the same path would lead to another file");

    let mut narrower = call.clone();
    narrower.grants = Grants::default();
    assert_eq!(found(&desk, &narrower), ALLOW, "no more than was approved");
}

#[test]
fn a_refusal_survives_another_build_and_wider_grants() {
    let mut call = Call::new("{}");
    let decision = ApprovalDecision::DenyAlways { scope: RememberScope::Tool, reason: None };
    let (desk, _) = remember(&call, decision);
    call.descriptor.plugin.digest = Digest::of(b"another build");
    call.grants = grants("/", DirMode::ReadWrite);
    assert_eq!(found(&desk, &call), DENY);
}

#[test]
fn a_refusal_comes_before_any_approval() {
    let call = Call::new(r#"{"path":"a"}"#);
    let (_, allow) = remember(&call, always(RememberScope::Tool));
    let scope = RememberScope::Arguments;
    let (_, deny) = remember(&call, ApprovalDecision::DenyAlways { scope, reason: None });
    for all in [[allow.clone(), deny.clone()], [deny, allow]] {
        let set = RememberedSet::new(all.to_vec());
        let verdict = |call: &Call| set.find(&call.asking().asked(), NOW).map(|it| it.verdict);
        assert_eq!(verdict(&call), DENY);
        assert_eq!(verdict(&Call::new("{}")), ALLOW);
    }
}

#[test]
fn an_approval_stands_for_its_own_caller_alone() {
    let mut call = Call::new("{}");
    call.call.user_id = Some("alice".into());
    call.call.execution_user_id = Some("u1".into());
    call.call.workspace = Some("w1".into());
    let (desk, _) = remember(&call, always(RememberScope::Tool));
    let mut other_session = call.clone();
    other_session.call.session_id = None;
    assert_eq!(found(&desk, &other_session), ALLOW, "of any session");
    let others: [fn(&mut Call); 6] = [
        |call| call.call.caller = None,
        |call| call.call.user_id = Some("bob".into()),
        |call| call.call.user_id = None,
        |call| call.call.execution_user_id = Some("u2".into()),
        |call| call.call.workspace = None,
        |call| call.descriptor.id = "files.read".parse().unwrap(),
    ];
    for change in others {
        let mut other = call.clone();
        change(&mut other);
        assert_eq!(found(&desk, &other), None, "{:?}", other.call);
    }
}

#[test]
fn a_session_approval_stands_for_its_session_until_that_ends() {
    let call = Call::new("{}");
    let (desk, _) = remember(&call, ApprovalDecision::Session);
    let mut other = call.clone();
    other.call.session_id = Some("s2".into());
    assert_eq!((found(&desk, &call), found(&desk, &other)), (ALLOW, None));
    desk.queue.end_session("s1", &approver()).unwrap();
    assert_eq!(found(&desk, &call), None);
}

#[test]
fn a_pattern_covers_what_matches_in_every_named_argument() {
    let call = Call::new(r#"{"path":"src/a.rs","mode":{"deep":1},"text":"x"}"#);
    let scope = pattern(&[("path", "src/*.rs"), ("mode", r#"\{"deep":?\}"#)]);
    let (desk, _) = remember(&call, always(scope));
    for covered in [
        r#"{"path":"src/b.rs","mode":{"deep":2},"text":"y"}"#,
        r#"{"path":"src/..rs","mode":{"deep":2}}"#,
    ] {
        assert_eq!(found(&desk, &Call::new(covered)), ALLOW, "{covered}");
    }
    for other in [
        r#"{"path":"src/b.rs"}"#,
        r#"{"path":"src/b.rs","mode":{"deep":12}}"#,
        r#"{"path":"src/deep/b.rs","mode":{"deep":1}}"#,
        r#"{"path":"x/src/b.rs","mode":{"deep":1}}"#,
        r#"{"path":["src/b.rs"],"mode":{"deep":1}}"#,
    ] {
        assert_eq!(found(&desk, &Call::new(other)), None, "{other}");
    }
}

#[test]
fn a_path_that_climbs_is_let_through_by_no_pattern_that_does_not() {
    let call = Call::new(r#"{"path":"src/a/b"}"#);
    let (desk, _) = remember(&call, always(pattern(&[("path", "src/**")])));
    assert_eq!(found(&desk, &Call::new(r#"{"path":"src/x/y/z"}"#)), ALLOW);
    for climbing in ["src/../key", "src/a/..", "src/..\\\\key", "../src/a"] {
        let call = Call::new(&format!(r#"{{"path":"{climbing}"}}"#));
        assert_eq!(found(&desk, &call), None, "{climbing}");
    }
    let scope = pattern(&[("path", "src/**")]);
    let (desk, _) = remember(&call, ApprovalDecision::DenyAlways { scope, reason: None });
    assert_eq!(found(&desk, &Call::new(r#"{"path":"src/../key"}"#)), DENY);
}

#[test]
fn an_approval_ends_by_its_time_and_while_the_clock_stands_before_it() {
    let call = Call::new("{}");
    let decision =
        ApprovalDecision::Always { scope: RememberScope::Tool, expires_unix_ms: Some(NOW + 10) };
    let (_, remembered) = remember(&call, decision);
    let set = RememberedSet::new(vec![remembered]);
    let covers = |now| set.find(&call.asking().asked(), now).is_some();
    assert!(covers(NOW) && covers(NOW + 9) && !covers(NOW + 10));
    assert!(covers(NOW - 60_000) && !covers(NOW - 60_001), "the clock has gone back");
}

#[test]
fn a_tool_of_which_nothing_is_remembered_is_known_at_once() {
    let (desk, _) = remember(&Call::new("{}"), always(RememberScope::Tool));
    let set = desk.remembered().unwrap();
    assert!(set.knows(&"files.write".parse().unwrap()));
    assert!(!set.knows(&"files.read".parse().unwrap()));
}

#[test]
fn a_refusal_whose_pattern_cannot_be_read_refuses_all_and_an_approval_nothing() {
    let call = Call::new("{}");
    let (_, mut remembered) = remember(&call, always(RememberScope::Tool));
    remembered.scope = pattern(&[("path", "[")]);
    let find = |remembered: &Remembered| {
        let set = RememberedSet::new(vec![remembered.clone()]);
        set.find(&call.asking().asked(), NOW).map(|it| it.verdict)
    };
    assert_eq!(find(&remembered), None);
    remembered.verdict = RememberedVerdict::Deny;
    assert_eq!(find(&remembered), DENY);
}
