//! What an approval is bound to: change anything, and it is another call.

use proptest::prelude::*;

use super::*;
use crate::contract::grants::EnvGrant;
use crate::contract::ids::{CallId, ToolId};
use crate::contract::limits::LimitKind;

/// One way to make another call of the same one.
type Change = (&'static str, fn(&mut Call, &str));

const CHANGES: [Change; 11] = [
    ("tool", |call, text| call.descriptor.id = format!("files.x{text}").parse::<ToolId>().unwrap()),
    ("build", |call, text| call.descriptor.plugin.digest = Digest::of(text.as_bytes())),
    ("arguments", |call, text| {
        call.arguments = serde_json::json!({ "changed": text }).as_object().unwrap().clone().into();
    }),
    ("folder", |call, text| call.grants = grants(&format!("/other/{text}"), DirMode::ReadOnly)),
    ("mode", |call, _| call.grants = grants("/srv/site", DirMode::ReadWrite)),
    ("variable", |call, text| {
        call.grants.add_env(EnvGrant { name: "V".into(), value: text.into() }).unwrap();
    }),
    ("limits", |call, text| call.limits.set(LimitKind::Fuel, 1 + text.len() as u64).unwrap()),
    ("caller", |call, text| call.call.caller = Some(format!("bot{text}x"))),
    ("execution user", |call, text| call.call.execution_user_id = Some(text.into())),
    ("session", |call, text| call.call.session_id = Some(format!("{text}!"))),
    ("workspace", |call, text| call.call.workspace = Some(text.into())),
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    #[test]
    fn t36_whatever_changes_the_binding_does(
        text in "[a-z]{1,8}",
        changed in 0..CHANGES.len(),
        policy in any::<bool>(),
    ) {
        let call = Call::new(r#"{"path":"a"}"#);
        let mut other = call.clone();
        let (what, change) = CHANGES[changed];
        change(&mut other, &text);
        prop_assert_ne!(call.binding(), other.binding(), "{}", what);
        if policy {
            let changed = other.binding();
            other.policy = Digest::of(text.as_bytes());
            prop_assert_ne!(changed, other.binding());
        }
    }
}

#[test]
fn what_is_the_same_call_has_the_same_binding() {
    let call = Call::new(r#"{"path":"a","n":5.0}"#);
    let mut again = Call::new(r#"{"n":5,"path":"a"}"#);
    again.call.call_id = "c2".parse::<CallId>().unwrap();
    again.descriptor.title = Some("Writes".into());
    again.limits.set(LimitKind::Fuel, LimitKind::Fuel.facts().default).unwrap();
    assert_eq!(call.binding(), again.binding(), "id, words and a limit's origin don't matter");
}

#[test]
fn parts_of_the_caller_are_not_mistaken_for_each_other() {
    let with = |user: Option<&str>, workspace: Option<&str>| {
        let mut call = Call::new("{}");
        call.call.execution_user_id = user.map(Into::into);
        call.call.workspace = workspace.map(Into::into);
        call.binding()
    };
    let all =
        [with(None, None), with(Some("a"), None), with(None, Some("a")), with(Some(""), None)];
    for (index, one) in all.iter().enumerate() {
        assert!(!all[index + 1..].contains(one));
    }
}

#[test]
fn a_folder_that_has_no_json_can_not_be_bound() {
    use std::os::unix::ffi::OsStringExt as _;
    let mut call = Call::new("{}");
    let host = std::ffi::OsString::from_vec(vec![b'/', 0xff]).into();
    call.grants = Grants::default();
    call.grants.add_dir(DirGrant { host, guest: "/w".into(), mode: DirMode::ReadOnly }).unwrap();
    let error = Desk::new().requested(&call, &reason()).unwrap_err();
    assert!(matches!(error, ApprovalError::Unbindable(_)), "{error}");
}
