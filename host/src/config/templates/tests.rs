//! What templates become for a caller, and that no caller climbs out of its folder.

use std::path::PathBuf;

use super::*;
use crate::contract::grants::DirMode;

fn caller(workspace: Option<&str>) -> CallerContext {
    CallerContext {
        caller: Some("ci".into()),
        session_id: Some("s1".into()),
        user_id: Some("ada".into()),
        execution_user_id: Some("runner".into()),
        workspace: workspace.map(Into::into),
        ..CallerContext::default()
    }
}

fn fill(template: &str, workspace: &str) -> Result<String, TemplateError> {
    Template::parse(template).unwrap().fill(&caller(Some(workspace)))
}

fn dir(path: &str, mode: DirMode) -> DirTemplate {
    let path = Template::parse(path).unwrap();
    DirTemplate { folder: "/etc/belljar".into(), line: 1, path, guest: None, mode }
}

#[test]
fn every_placeholder_stands_for_its_own_value() {
    let all = "{workspace}|{user}|{execution_user}|{session}|{caller}|{{x}}";
    assert_eq!(fill(all, "acme").unwrap(), "acme|ada|runner|s1|ci|{x}");
    assert!(!Template::parse("/srv/{workspace}").unwrap().is_fixed());
    assert!(Template::parse("/srv/{{workspace}}").unwrap().is_fixed());
    assert_eq!(fill("", "acme").unwrap(), "");
}

#[test]
fn a_placeholder_that_no_caller_has_is_refused_at_load() {
    for bad in ["{workspce}", "{}", "{ workspace }", "{Workspace}", "{a{b}", "/x/{\u{1b}[2J}"] {
        let error = Template::parse(bad).unwrap_err();
        assert!(matches!(error, TemplateError::Unknown(_)), "{bad}: {error}");
        assert!(!error.to_string().contains('\u{1b}'));
    }
    for bad in ["{workspace", "a}b", "{", "}", "{{{"] {
        assert_eq!(Template::parse(bad), Err(TemplateError::Brace), "{bad}");
    }
    let error = Template::parse("{wrkspace}").unwrap_err().to_string();
    assert!(error.starts_with("`{wrkspace}` is no placeholder: expected `{workspace}`, `{user}`"));
}

#[test]
fn a_caller_cannot_climb_out_of_its_folder() {
    let long = "a".repeat(SEGMENT_MAX + 1);
    for bad in [
        "",
        ".",
        "..",
        "../x",
        "a/b",
        "/",
        "/etc",
        "a\\b",
        "..\\x",
        "a\0",
        "a\nb",
        "a\u{202e}b",
        "a\u{200b}",
        &long,
    ] {
        let error = fill("/srv/{workspace}", bad).unwrap_err();
        assert!(matches!(error, TemplateError::Unsafe { .. }), "{bad:?}");
        assert!(!error.to_string().contains('\u{202e}'), "{error}");
    }
    for good in ["acme", "-x", "a.b", "...", ".git", "über", "a@b.example", &long[1..]] {
        assert_eq!(fill("/srv/{workspace}", good).unwrap(), format!("/srv/{good}"));
    }
}

#[test]
fn a_caller_without_the_value_gets_no_grant() {
    let grants = GrantTemplate {
        dirs: vec![dir("/srv/{workspace}", DirMode::ReadWrite), dir("docs", DirMode::ReadOnly)],
        ..GrantTemplate::default()
    };
    let error = grants.resolve(&caller(None)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`/srv/{workspace}` needs `{workspace}`, and the caller has none"
    );
    let resolved = grants.resolve(&caller(Some("acme"))).unwrap();
    assert_eq!(resolved.dirs[0].path, PathBuf::from("/srv/acme"));
    assert_eq!(resolved.dirs[0].root, PathBuf::from("/srv/"));
    assert_eq!(resolved.dirs[1].path, PathBuf::from("/etc/belljar/docs"));
    assert!(!grants.is_fixed());
}

#[test]
fn the_root_is_all_before_the_first_placeholder() {
    for (path, root) in [
        ("/srv/{workspace}/x", "/srv/"),
        ("/srv/x-{workspace}", "/srv/"),
        ("{workspace}", "/etc/belljar/"),
        ("x{workspace}", "/etc/belljar/"),
        ("/srv/fixed", "/srv/fixed"),
    ] {
        let found = dir(path, DirMode::ReadOnly).root();
        assert_eq!(found, PathBuf::from(root), "{path}");
    }
}

#[test]
fn folders_of_some_callers_may_overlap() {
    let at = |path: &str| dir(path, DirMode::ReadOnly);
    let rows = [
        ("/a", "/a/b", Lie::Overlap),
        ("/a/b", "/a", Lie::Overlap),
        ("/a", "/ab", Lie::Apart),
        ("docs", "/etc/belljar", Lie::Overlap),
        ("/srv/{workspace}", "/srv/shared", Lie::Perhaps),
        ("/srv/{workspace}", "/srv", Lie::Overlap),
        ("/srv/x", "/srv/{workspace}/y", Lie::Perhaps),
        ("/srv/{workspace}", "/srv/{workspace}", Lie::Overlap),
        ("/srv/{workspace}", "/home/{user}", Lie::Apart),
    ];
    for (left, right, expected) in rows {
        assert_eq!(lie(&at(left), &at(right)), expected, "{left} {right}");
    }
}

#[test]
fn a_plugins_own_variable_goes_first() {
    let env = |name: &str, value: &str| EnvTemplate {
        name: name.into(),
        value: Template::parse(value).unwrap(),
    };
    let every = GrantTemplate { env: vec![env("A", "1"), env("B", "1")], ..Default::default() };
    let own = GrantTemplate { env: vec![env("A", "2")], ..Default::default() };
    let both = every.with(&own).resolve(&caller(None)).unwrap();
    let found: Vec<_> = both.env.iter().map(|it| (it.name.as_str(), it.value.as_str())).collect();
    assert_eq!(found, [("B", "1"), ("A", "2")]);
}
