//! `belljar config`: which file counts, what is wrong in it, and what is in force.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use super::place::{ASK, Place};
use crate::suites::harness::{Ran, belljar, run};

#[test]
fn a_sound_configuration_is_0_and_its_keys_are_counted() {
    let place = Place::new(ASK);
    let ran = place.run(["config", "check"]).ends_with(0);
    assert!(ran.stdout.ends_with("belljar.toml`: 4 keys, all sound\n"), "{ran:?}");
    let json = place.run(["config", "check", "--json"]).ends_with(0).json();
    assert_eq!((&json["sound"], &json["keys"]), (&json!(true), &json!(4)));
    let none = run(["config", "check"]).ends_with(0);
    assert_eq!(none.stdout, "there is no configuration: everything is as by default\n");
}

#[test]
fn everything_that_is_wrong_is_told_at_once_with_its_line() {
    let place = Place::new(
        "[engine]\nconcurency = 4\nretries = 99\n[approvals]\ncli = \"ask\"\n[\"a\u{202e}b\"]\n",
    );
    let ran = place.run(["config", "check"]).refused(2, &["did you mean `engine.concurrency`?"]);
    let lines: Vec<_> = ran.stderr.lines().collect();
    assert_eq!(lines.len(), 4, "{ran:?}");
    for (line, number) in lines.iter().zip([3, 4, 6, 7]) {
        assert!(line.starts_with(&format!("error: belljar.toml:{number}: ")), "{ran:?}");
    }
    assert!(!ran.stderr.contains('\u{202e}'), "{ran:?}");
    let json = place.run(["config", "check", "--json"]).ends_with(2).json();
    assert_eq!(json["problems"].as_array().unwrap().len(), 4);
    assert_eq!((&json["sound"], &json["problems"][0]["line"]), (&json!(false), &json!(3)));
    // No command starts with it.
    place.run(["tools"]).refused(2, &["belljar.toml:3: ", "belljar.toml:7: "]);
}

#[test]
fn rules_that_mean_nothing_are_wrong_too() {
    let place = Place::new("[[policy.rules]]\naction = \"deny\"\n");
    place.run(["config", "check"]).refused(2, &["no condition"]);
    let json = place.run(["config", "check", "--json"]).ends_with(2).json();
    assert_eq!(json["sound"], false);
}

#[test]
fn what_may_not_be_meant_is_a_warning() {
    let place = Place::new("[[policy.rules]]\naction = \"ask\"\ntool = \"files_write\"\n");
    let ran = place.run(["config", "check"]).ends_with(0);
    assert!(ran.stderr.contains("rule 1 names `files_write`, which no tool"), "{ran:?}");
    let place = Place::new(
        "[[policy.rules]]\naction = \"allow\"\ntool = \"*\"\n[[policy.rules]]\naction = \"ask\"\n\
         tool = \"files.write\"\n",
    );
    let ran = place.run(["config", "check"]).ends_with(0);
    assert!(ran.stderr.starts_with("warning: belljar.toml:"), "{ran:?}");
    let json = place.run(["config", "check", "--json"]).ends_with(0).json();
    assert_eq!(json["findings"].as_array().unwrap().len(), 1, "{json}");
}

#[test]
fn a_misspelt_tool_is_told_with_its_line_and_doctor_says_so_too() {
    let place =
        Place::new("[plugins.files]\n\n[plugins.files.tools.wirte]\ngate = { deny = true }\n");
    let said = ["belljar.toml:4: ", "names the tool `wirte`", "the nearest is `write`"];
    place.run(["config", "check"]).refused(2, &said);
    let json = place.run(["config", "check", "--json"]).ends_with(2).json();
    assert_eq!((&json["sound"], &json["problems"][0]["line"]), (&json!(false), &json!(4)));
    let doctor = place.run(["doctor"]).ends_with(6).stdout;
    let told = |line: &str| line.starts_with("BROKEN  configuration: ") && line.contains("wirte");
    assert!(doctor.lines().any(told), "{doctor}");
    assert!(doctor.contains("ok      state: "), "{doctor}");
}

#[test]
fn arguments_and_callers_that_nothing_has_are_warnings_with_their_lines() {
    let place = Place::new(
        "[callers.nightly]\n[[policy.rules]]\naction = \"deny\"\ntool = \"files.*\"\n\
         caller = \"nigthly\"\narguments = { paht = \"*.env\" }\n",
    );
    let ran = place.run(["config", "check"]).ends_with(0);
    let told: Vec<_> = ran.stderr.lines().collect();
    let expected = [
        "warning: belljar.toml:6: rule 1 names the caller `nigthly`, which the configuration doesn't \
         have, did you mean `nightly`?",
        "warning: belljar.toml:7: rule 1 looks at the argument `paht`, which no tool that it covers \
         has, did you mean `path`?",
    ];
    assert_eq!(told, expected, "{ran:?}");
    let doctor = place.run(["doctor"]).ends_with(0).stdout;
    assert!(
        doctor.contains("hint    configuration: ") && doctor.contains("2 findings"),
        "{doctor}"
    );
    let shown = place.run(["config", "show"]).ends_with(0).stdout;
    assert!(shown.contains("policy.rules[1].arguments.paht"), "{shown}");
}

#[test]
fn what_is_in_force_is_shown_with_where_it_comes_from() {
    let place = Place::new("[engine]\nconcurrency = 4\n");
    let ran = place.run(["config", "show"]).ends_with(0);
    let row = |key: &str| {
        let line = ran.stdout.lines().find(|line| line.starts_with(key));
        line.unwrap_or_else(|| panic!("{key} in {ran:?}")).split_whitespace().collect::<Vec<_>>()
    };
    assert_eq!(row("engine.concurrency "), ["engine.concurrency", "4", "belljar.toml:3"]);
    assert_eq!(row("approvals.expires ").last(), Some(&"default"));
    let json = place.run(["config", "show", "--json"]).ends_with(0).json();
    let values = json.as_array().unwrap();
    let found = values.iter().find(|it| it["key"] == "engine.concurrency").unwrap();
    assert_eq!((&found["value"], &found["origin"]), (&json!("4"), &json!("belljar.toml:3")));
}

#[test]
fn the_file_is_the_options_then_the_variables_and_never_the_current_folders() {
    let place = Place::new("[engine]\nconcurrency = 4\n");
    let other = Place::new("[engine]\nconcurrency = 5\n");
    let concurrency = |ran: Ran| {
        let json = ran.ends_with(0).json();
        let found = json.as_array().unwrap().iter().find(|it| it["key"] == "engine.concurrency");
        found.unwrap()["value"].as_str().unwrap().to_owned()
    };
    let show = ["config", "show", "--json"];
    let here = Ran::of(belljar().args(show).current_dir(place.path()).output().unwrap());
    assert_eq!(concurrency(here), "8");
    let file = other.path().join("belljar.toml");
    let named = Ran::of(belljar().args(show).env("BELLJAR_CONFIG", &file).output().unwrap());
    assert_eq!(concurrency(named), "5");
    let both = Ran::of(place.command().args(show).env("BELLJAR_CONFIG", &file).output().unwrap());
    assert_eq!(concurrency(both), "4");
    let mut relative = belljar();
    relative.args(show).env("BELLJAR_CONFIG", "belljar.toml").current_dir(place.path());
    Ran::of(relative.output().unwrap()).refused(2, &["expected an absolute path"]);
    run(["--config", "/no/such.toml", "config", "show"]).refused(2, &["--config", "can't be read"]);
}

#[test]
fn a_file_that_anybody_may_change_is_refused() {
    let place = Place::new("");
    let file = place.path().join("belljar.toml");
    fs::set_permissions(file, fs::Permissions::from_mode(0o666)).unwrap();
    for args in [&["config", "check"][..], &["config", "show"], &["approvals", "list"], &["tools"]]
    {
        let ran = place.run(args).refused(2, &["belljar.toml"]);
        assert_eq!(ran.stderr.lines().count(), 1, "{ran:?}");
    }
}
