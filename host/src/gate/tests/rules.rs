//! Rules as operators write them: what they match, and what of them is refused.

use super::*;
use crate::gate::policy::GLOBS_MAX_LEN;
use crate::gate::rules::{RULE_NAME_MAX_LEN, RULE_REASON_MAX_LEN};
use Answer::{Allow, Ask, Deny};

/// What policy says of a call by `alice` in `lab` at FULL, where nothing else asks.
fn at_full(rule: &str, tool: &ToolDescriptor, json: &str) -> Answer {
    let mut call = call_at(PermissionLevel::Full);
    call.caller = Some("alice".to_owned());
    call.workspace = Some("lab".to_owned());
    let policy = policy(&format!("[[rules]]\naction = 'ask'\n{rule}"));
    let arguments = arguments(json);
    answer_of(&judge(&policy, &GateView::new(tool, &call, Some(&arguments))))
}

#[test]
fn a_rule_matches_a_call_that_meets_all_its_conditions() {
    let json = r#"{"path":"/etc/passwd","limit":5.0,"deep":{"b":[true],"a":"x"},"none":null}"#;
    let tool = file_writer("files.write");
    for (rule, expected) in [
        ("tool = '*'", Ask),
        ("tool = 'files.write'", Ask),
        ("tool = 'files.*'", Ask),
        ("tool = ['search.*', 'files.wr?te']", Ask),
        ("tool = 'files_write'", Allow),
        ("tool = 'write'", Allow),
        ("caller = 'al*'", Ask),
        ("caller = 'bob'", Allow),
        ("workspace = ['x', 'lab']", Ask),
        ("workspace = 'laboratory'", Allow),
        ("source = 'plugin'", Ask),
        ("source = 'builtin'", Allow),
        ("source = 'mcp'", Allow),
        ("arguments = { path = '/etc/*' }", Ask),
        ("arguments = { path = ['/x', '*passwd'] }", Ask),
        ("arguments = { path = '\"/etc/*' }", Allow),
        ("arguments = { limit = '5' }", Ask),
        (r#"arguments = { deep = '\{"a":"x","b":\[true\]\}' }"#, Ask),
        (r#"arguments = { deep = '*"a":"x"*' }"#, Ask),
        ("arguments = { none = 'null' }", Ask),
        ("arguments = { absent = '*' }", Allow),
        ("arguments = { path = '/etc/*', limit = '6' }", Allow),
        ("tool = 'files.*'\ncaller = 'alice'\narguments = { path = '/etc/*' }", Ask),
        ("tool = 'files.*'\ncaller = 'bob'\narguments = { path = '/etc/*' }", Allow),
    ] {
        assert_eq!(at_full(rule, &tool, json), expected, "{rule}");
    }
}

#[test]
fn effects_match_by_what_is_proven() {
    let (reader, writer) = (proven_reader("a.b"), file_writer("a.b"));
    let mut boaster = network_writer("a.b");
    boaster.effects.read_only = Effect::claimed(true);
    boaster.effects.destructive = Effect::claimed(false);
    let unconfined = ToolDescriptor { isolation: Isolation::None, ..proven_reader("a.b") };
    for (condition, expected) in [
        ("read_only = true", [Ask, Allow, Allow, Allow]),
        ("read_only = false", [Allow, Ask, Ask, Ask]),
        ("destructive = false", [Ask, Allow, Allow, Allow]),
        ("destructive = true", [Allow, Ask, Ask, Ask]),
        ("closed_world = true", [Ask, Ask, Allow, Allow]),
        ("closed_world = false", [Allow, Allow, Ask, Ask]),
        ("cannot_write_files = true", [Ask, Allow, Ask, Allow]),
        ("deterministic = true", [Ask, Allow, Allow, Allow]),
        ("idempotent = true", [Ask, Allow, Allow, Allow]),
        ("read_only = false, closed_world = true", [Allow, Ask, Allow, Allow]),
    ] {
        let rule = format!("effects = {{ {condition} }}");
        let tools = [&reader, &writer, &boaster, &unconfined];
        assert_eq!(tools.map(|tool| at_full(&rule, tool, "{}")), expected, "{condition}");
    }
}

#[test]
fn a_call_without_caller_or_workspace_matches_no_condition_on_them() {
    let tool = proven_reader("a.b");
    for rule in ["caller = '*'", "workspace = '*'"] {
        let policy = policy(&format!("[[rules]]\naction = 'ask'\n{rule}"));
        assert_eq!(decided(&policy, &tool, PermissionLevel::Full), Allow, "{rule}");
    }
}

#[test]
fn a_level_in_a_rule_can_not_be_left_behind_by_asking_for_less() {
    let tool = proven_reader("a.b");
    let at = |toml: &str| LEVELS.map(|level| decided(&policy(toml), &tool, level));
    let rule = |action: &str, level: &str| {
        format!("[[rules]]\naction = '{action}'\nlevel = ['{level}']\n")
    };
    assert_eq!(at(&rule("deny", "FULL")), [Deny, Deny, Deny, Deny]);
    assert_eq!(at(&rule("ask", "READ_WRITE")), [Ask, Ask, Allow, Allow]);
    assert_eq!(at(&rule("ask", "READ_ONLY")), [Ask, Allow, Allow, Allow]);
    let ask = "[[rules]]\naction = 'ask'\ntool = '*'";
    assert_eq!(at(&(rule("allow", "SMART") + ask)), [Ask, Ask, Allow, Allow]);
    assert_eq!(at(&(rule("allow", "READ_ONLY") + ask)), [Allow; 4]);
}

#[test]
fn unknown_arguments_meet_what_stops_a_call_and_nothing_that_lets_it_through() {
    let (tool, call) = (proven_reader("a.b"), call_at(PermissionLevel::Full));
    let unknown = |toml: &str| answer_of(&judge(&policy(toml), &GateView::new(&tool, &call, None)));
    let rule =
        |action: &str| format!("[[rules]]\naction = '{action}'\narguments = {{ x = '1' }}\n");
    assert_eq!(unknown(&rule("deny")), Deny);
    assert_eq!(unknown(&rule("ask")), Ask);
    assert_eq!(unknown(&(rule("allow") + "[[rules]]\naction = 'ask'\ntool = '*'")), Ask);
}

#[test]
fn of_rules_that_ask_or_allow_the_first_match_holds_and_any_deny_does() {
    let tool = proven_reader("a.b");
    let rules = |actions: &[&str]| {
        let rule = |action: &&str| format!("[[rules]]\naction = '{action}'\ntool = 'a.*'\n");
        actions.iter().map(rule).collect::<String>()
    };
    for (actions, expected) in [
        (vec!["allow", "ask"], Allow),
        (vec!["ask", "allow"], Ask),
        (vec!["allow", "ask", "deny"], Deny),
        (vec!["deny", "allow"], Deny),
    ] {
        let answer = decided(&policy(&rules(&actions)), &tool, PermissionLevel::Full);
        assert_eq!(answer, expected, "{actions:?}");
    }
}

#[test]
fn a_rule_that_allows_a_folder_does_not_allow_the_way_out_of_it() {
    let (tool, call) = (file_writer("a.b"), call_at(PermissionLevel::Full));
    let toml = "[[rules]]\naction = 'allow'\narguments = { path = 'src/*' }\n\
                [[rules]]\naction = 'ask'\narguments = { path = 'src/*' }";
    let of = |json: &str| {
        let arguments = arguments(json);
        answer_of(&judge(&policy(toml), &GateView::new(&tool, &call, Some(&arguments))))
    };
    assert_eq!(of(r#"{"path":"src/a/b"}"#), Allow);
    assert_eq!(of(r#"{"path":"src/../key"}"#), Ask);
}

#[test]
fn the_gate_sees_canonical_arguments_and_never_the_raw_ones() {
    let (tool, call) = (proven_reader("a.b"), call_at(PermissionLevel::Full));
    let policy = policy("[[rules]]\naction = 'deny'\narguments = { path = 'raw' }");
    assert!(call.arguments_json.contains("raw"));
    let canonical = arguments(r#"{"path":"canonical"}"#);
    let view = GateView::new(&tool, &call, Some(&canonical));
    assert_eq!(answer_of(&judge(&policy, &view)), Allow);
}

#[test]
fn rules_that_can_not_be_meant_are_refused_by_name() {
    let long = "x".repeat(RULE_REASON_MAX_LEN + 1);
    let name = "x".repeat(RULE_NAME_MAX_LEN + 1);
    for (rule, expected) in [
        ("action = 'deny'", "rule 2 has no condition; to match every call, write `tool = \"*\"`"),
        ("action = 'deny'\neffects = {}\narguments = {}", "rule 2 has no condition"),
        ("name = 'n'\naction = 'deny'", "rule `n` has no condition"),
        ("action = 'deny'\ntool = []", "`tool` of rule 2 is an empty list"),
        ("action = 'deny'\nlevel = []", "`level` of rule 2 is an empty list"),
        ("action = 'deny'\narguments = { p = [] }", "`arguments.p` of rule 2 is an empty list"),
        ("action = 'deny'\ncaller = '[a'", "`[a` in `caller` of rule 2 is no glob: unclosed"),
        ("action = 'allow'\ntool = 'a'\nyes = true", "rule 2 sets `yes`, which goes with"),
        ("name = ''\naction = 'ask'\ntool = 'a'", "the name of rule 2 has 0 bytes"),
        ("name = 'twin'\naction = 'ask'\ntool = 'a'", "two rules are called rule `twin`"),
        (&format!("name = '{name}'\naction = 'ask'\ntool = 'a'"), "the name of rule 2 has 81"),
        (&format!("action = 'ask'\ntool = 'a'\nreason = '{long}'"), "the reason of rule 2 has 501"),
    ] {
        let toml =
            format!("[[rules]]\nname = 'twin'\naction = 'ask'\ntool = 'a'\n[[rules]]\n{rule}");
        let error = Policy::new(&toml::from_str(&toml).unwrap()).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{rule}: {error}");
    }
    let keys = toml::from_str("[[keys]]\ntool = '{'").unwrap();
    let error = Policy::new(&keys).unwrap_err().to_string();
    assert!(error.starts_with("`{` in `tool` of gate keys 1 is no glob"), "{error}");
}

#[test]
fn unknown_words_are_refused() {
    for (rule, expected) in [
        ("action = 'permit'\ntool = 'a'", "unknown variant `permit`"),
        ("action = 'ask'\nlevel = ['FUL']", "unknown variant `FUL`"),
        ("action = 'ask'\nsource = 'plug'", "unknown variant `plug`"),
        ("action = 'ask'\ntools = 'a'", "unknown field `tools`"),
        ("action = 'ask'\neffects = { readonly = true }", "unknown field `readonly`"),
        ("action = 'ask'\ntool = 7", "expected a glob or a list of globs"),
        ("tool = 'a'", "missing field `action`"),
    ] {
        let toml = format!("[[rules]]\n{rule}");
        let error = toml::from_str::<PolicySettings>(&toml).unwrap_err().to_string();
        assert!(error.contains(expected), "{rule}: {error}");
    }
}

#[test]
fn policy_has_a_bounded_number_of_rules_keys_and_globs() {
    let rule: RuleSettings = toml::from_str("action = 'ask'\ntool = 'a'").unwrap();
    let key: KeySettings = toml::from_str("tool = 'a'").unwrap();
    let rules = |len| PolicySettings { rules: vec![rule.clone(); len], ..Default::default() };
    let keys = |len| PolicySettings { keys: vec![key.clone(); len], ..Default::default() };
    let globs = |len| {
        let tool = Some(Globs(vec!["a".to_owned(); len]));
        PolicySettings { rules: vec![RuleSettings { tool, ..rule.clone() }], ..Default::default() }
    };
    let cases: [(&dyn Fn(usize) -> PolicySettings, usize); 3] =
        [(&rules, RULES_MAX_LEN), (&keys, RULES_MAX_LEN), (&globs, GLOBS_MAX_LEN)];
    for (settings, max) in cases {
        assert!(Policy::new(&settings(max)).is_ok());
        let error = Policy::new(&settings(max + 1)).unwrap_err();
        assert!(matches!(error, PolicyError::TooMany { .. }), "{error}");
    }
}

#[test]
fn the_revision_is_of_everything_that_is_set() {
    let revision = |toml: &str| policy(toml).revision();
    let rule = "[[rules]]\naction = 'ask'\ntool = 'a'\n";
    assert_eq!(revision(rule), revision("[[rules]]\ntool = ['a']\nyes = false\naction = 'ask'"));
    let others = ["", "enabled = false", "[[rules]]\naction = 'ask'\ntool = 'b'"];
    let more = [format!("{rule}yes = true"), format!("{rule}reason = 'x'"), rule.repeat(2)];
    let key = "[[keys]]\ntool = 'a'\nallow = true".to_owned();
    for other in others.map(str::to_owned).into_iter().chain(more).chain([key]) {
        assert_ne!(revision(rule), revision(&other), "{other}");
    }
}
