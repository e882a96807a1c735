//! What a good file comes to: values, defaults, origins, findings, secrets.

use super::super::settings::Builtins;
use super::*;
use crate::contract::approval::CallerContext;
use crate::contract::invocation::PermissionLevel;
use crate::contract::limits::{LimitKind, Limits};
use crate::gate::{Policy, RuleAction};

const FILE: &str = r#"
state = "/var/lib/belljar"
builtins = ["files", "codec"]

[limits]
fuel = 2e9
attempt-deadline = "5s"

[grants]
dirs = [{ path = "/srv/{workspace}", guest = "/work", mode = "rw" }, "docs"]
env = { LANG = "C", WHO = "{user}" }

[plugins.weather]
path = "weather.wasm"
[plugins.weather.grants]
hosts = ["api.example.com"]
secrets = ["github"]
[plugins.weather.limits]
memory = "64MiB"
[plugins.weather.tools.current]
gate = { require_approval = true }
parallel = false
wire_name = "weather"
limits = { memory = 1048576 }

[plugins.files.grants]
dirs = ["/opt/data"]

[secrets.github]
from = "env:GITHUB_TOKEN"
header = "Authorization"
hosts = ["api.github.com"]
per = "user"

[callers.ci]
level = "READ_WRITE"
workspace = "ci"
tools = ["files.*"]

[[policy.rules]]
action = "ask"
tool = "files.write"
arguments = { path = "*.env" }
reason = "it holds secrets"
yes = true

[engine]
concurrency = 16
retries = 1
failure_breaker = { after = 5 }

[approvals]
expires = "60m"
hand_back = "0s"
cli = "queue"

[audit]
path = "log"
keep_days = 30

[sandbox]
concurrency = 1000
ready_instances = 0
"#;

fn shown(config: &Config, key: &str) -> String {
    let found = config.effective.iter().find(|it| it.key == key);
    found.map_or("absent".to_owned(), |it| format!("{} ({})", it.value, it.origin))
}

#[test]
fn a_whole_file_becomes_settings() {
    let config = config(FILE);
    let (weather, files) = ("weather".parse().unwrap(), "files".parse().unwrap());
    assert_eq!(config.state.as_deref(), Some(Path::new("/var/lib/belljar")));
    assert!(config.builtins.includes("codec") && !config.builtins.includes("search"));
    assert_eq!(
        config.limits,
        [(LimitKind::Fuel, 2_000_000_000), (LimitKind::AttemptDeadline, 5000)]
    );
    let plugin = config.plugin(&weather).unwrap();
    assert_eq!(plugin.path.as_deref(), Some(Path::new("/etc/belljar/weather.wasm")));
    let tool = config.tool(&weather, &"current".parse().unwrap()).unwrap();
    assert_eq!(tool.wire_name.as_deref(), Some("weather"));
    assert_eq!(tool.limits, [(LimitKind::Memory, 1 << 20)]);
    assert_eq!(config.limits_of(&weather).last(), Some(&(LimitKind::Memory, 64 << 20)));
    assert_eq!(config.plugin(&files).unwrap().path, None);
    assert_eq!(config.grants_of(&files).dirs.len(), 3);
    assert_eq!(config.grants_of(&"codec".parse().unwrap()).dirs.len(), 2);
    assert_eq!(config.engine.unsafe_tools, ["weather.current"]);
    assert_eq!((config.engine.concurrency, config.engine.retries), (16, Some(1)));
    assert_eq!((config.engine.breaker_after, config.engine.breaker_window_ms), (5, 60_000));
    assert_eq!((config.sandbox.concurrency, config.sandbox.plugin_concurrency), (1000, 16));
    assert_eq!(config.sandbox.ready_instances, 0);
    assert_eq!((config.approvals.expires_ms, config.approvals.hand_back_ms), (3_600_000, 0));
    assert_eq!(config.audit.path.as_deref(), Some(Path::new("/etc/belljar/log")));
    assert_eq!((config.audit.keep_bytes, config.audit.keep_days), (1 << 30, Some(30)));
    let ci = config.caller("ci").unwrap();
    assert_eq!((ci.level, ci.workspace.as_deref()), (PermissionLevel::ReadWrite, Some("ci")));
    assert_eq!(config.caller(CLI_CALLER).unwrap().level, PermissionLevel::Full);
    let rule = &config.policy.rules[0];
    assert_eq!((rule.action, rule.yes), (RuleAction::Ask, true));
    assert_eq!(rule.arguments["path"].0, ["*.env"]);
    assert_eq!(config.policy.keys[0].tool.0, ["weather.current"]);
    assert!(config.policy.keys[0].require_approval && !config.policy.keys[0].deny);
    Policy::new(&config.policy).unwrap();
}

#[test]
fn one_file_serves_many_tenants() {
    let config = config(FILE);
    let caller = |workspace: &str| CallerContext {
        workspace: Some(workspace.into()),
        user_id: Some("ada".into()),
        ..CallerContext::default()
    };
    let grants = config.grants_of(&"files".parse().unwrap());
    let found = grants.resolve(&caller("acme")).unwrap();
    let dirs: Vec<_> = found.dirs.iter().map(|dir| dir.path.display().to_string()).collect();
    assert_eq!(dirs, ["/srv/acme", "/etc/belljar/docs", "/opt/data"]);
    assert_eq!(found.env[1].value, "ada");
    assert!(grants.resolve(&caller("../x")).is_err());
    assert!(grants.resolve(&CallerContext::default()).is_err());
}

#[test]
fn an_empty_file_is_all_defaults() {
    let config = config("");
    assert_eq!(config.builtins, Builtins::All);
    assert_eq!(config.state.as_deref(), Some(Path::new("/home/ada/.local/state/belljar")));
    assert_eq!(config.audit.path, config.state.as_ref().map(|state| state.join("audit")));
    assert!(config.audit.enabled && config.policy.enabled && !config.approvals.self_approval);
    assert_eq!((config.audit.keep_bytes, config.audit.keep_days), (1 << 30, None));
    assert_eq!((config.engine.concurrency, config.engine.retries), (8, None));
    assert_eq!((config.sandbox.concurrency, config.sandbox.plugin_concurrency), (64, 16));
    assert_eq!(config.sandbox.ready_instances, 8);
    assert_eq!(config.engine.retry_delay_ms, 500);
    assert_eq!((config.engine.breaker_after, config.engine.breaker_window_ms), (10, 60_000));
    assert_eq!((config.approvals.expires_ms, config.approvals.hand_back_ms), (900_000, 20_000));
    assert_eq!(config.approvals.cli, CliApprovals::Prompt);
    assert_eq!(config.policy, crate::gate::PolicySettings::default());
    assert!(config.findings.is_empty() && config.plugins.is_empty() && config.limits.is_empty());
}

#[test]
fn every_value_has_its_origin() {
    let config = config(FILE);
    for (key, expected) in [
        ("state", "\"/var/lib/belljar\" (belljar.toml:2)"),
        ("engine.concurrency", "16 (belljar.toml:48)"),
        ("engine.retry_delay", "500 ms (default)"),
        ("engine.failure_breaker.after", "5 (belljar.toml:50)"),
        ("engine.failure_breaker.window", "60 s (default)"),
        ("limits.attempt_deadline", "5 s (belljar.toml:7)"),
        ("limits.memory", "256 MiB (default)"),
        ("plugins.weather.limits.memory", "64 MiB (belljar.toml:19)"),
        ("grants.env.LANG", "(set, not shown) (belljar.toml:11)"),
        ("secrets.github.from", "\"env:GITHUB_TOKEN\" (belljar.toml:30)"),
        ("callers.ci.level", "\"READ_WRITE\" (belljar.toml:36)"),
        ("policy.rules[1].arguments.path", "\"*.env\" (belljar.toml:43)"),
        ("audit.keep_days", "30 (belljar.toml:59)"),
        ("callers.cli.level", "\"FULL\" (default)"),
        ("plugins.weather.limits.fuel", "absent"),
    ] {
        assert_eq!(shown(&config, key), expected, "{key}");
    }
    let json = serde_json::to_value(&config.effective[0]).unwrap();
    assert_eq!(
        json,
        serde_json::json!({
            "key": "state", "value": "\"/var/lib/belljar\"", "origin": "belljar.toml:2",
        })
    );
}

#[test]
fn defaults_show_what_they_come_to() {
    let config = config("");
    let state = "/home/ada/.local/state/belljar";
    assert_eq!(shown(&config, "state"), format!("\"{state}\" (default)"));
    assert_eq!(shown(&config, "audit.path"), format!("\"{state}/audit\" (default)"));
    assert_eq!(shown(&config, "callers.cli.level"), "\"FULL\" (default)");
    let ci = super::config("callers.ci.user = \"u\"\n");
    assert_eq!(shown(&ci, "callers.ci.level"), "\"READ_ONLY\" (default)");
    let retries = "2 for idempotent tools, 0 for others (default)";
    assert_eq!(shown(&config, "engine.retries"), retries);
    for kind in LimitKind::ALL {
        assert!(
            shown(&config, &format!("limits.{}", kind.facts().name.replace('-', "_")))
                .ends_with("(default)")
        );
    }
}

#[test]
fn what_a_value_shows_is_safe_to_look_at() {
    let config = config("state = \"/x\\u001b[2J\\u202e\"\n");
    assert_eq!(shown(&config, "state"), "\"/x<U+001B>[2J<U+202E>\" (belljar.toml:1)");
}

#[test]
fn limits_are_taken_by_the_contract() {
    let all: String = LimitKind::ALL
        .map(|kind| (kind, super::super::schema::Kind::of_limit(kind)))
        .into_iter()
        .map(|(kind, of)| {
            let (name, most) = (kind.facts().name, kind.facts().ceiling);
            let unit =
                if matches!(of, super::super::schema::Kind::Duration { .. }) { "ms" } else { "" };
            format!("{name} = \"{most}{unit}\"\n")
        })
        .collect();
    let config = config(&format!("[limits]\n{all}"));
    assert_eq!(config.limits.len(), LimitKind::ALL.len());
    let mut limits = Limits::default();
    for (kind, value) in config.limits {
        limits.set(kind, value).unwrap();
    }
}

#[test]
fn what_may_not_be_meant_is_a_finding() {
    let rows: &[(&str, &[&str])] = &[
        ("audit.enabled = false\n", &["1: `audit.enabled` is `false`: no call leaves a record"]),
        (
            "policy.enabled = false\n",
            &["1: `policy.enabled` is `false`: every call runs, no rule counts, nobody is asked"],
        ),
        (
            "[secrets.a]\nfrom = \"env:A\"\n",
            &["1: the secret `a` is granted to no plugin: it is only redacted"],
        ),
        (
            "grants.hosts = [\"a.example\"]\n",
            &["1: `hosts` has no effect in this version: http is never granted"],
        ),
        (
            "[[policy.rules]]\naction = \"ask\"\ntool = \"files.*\"\n[[policy.rules]]\naction = \
             \"allow\"\ntool = \"files.read\"\nname = \"reads\"\n",
            &["4: the rule `reads` never decides: the rule of line 1 always wins"],
        ),
        (
            "[grants]\ndirs = [{ path = \"/srv/{workspace}\", guest = \"/w\", mode = \"rw\" },\n\
             \"/srv/shared\"]\n",
            &["3: `/srv/{workspace}` and `/srv/shared` overlap for some callers, with different \
               modes: their calls are refused"],
        ),
        (
            "[limits]\ncall_deadline = \"5s\"\n",
            &["1: `limits.attempt_deadline` is 30 s, and the whole call ends after 5 s all the \
               same, by `limits.call_deadline`"],
        ),
        (
            "[approvals]\nexpires = \"10s\"\n",
            &["2: `approvals.hand_back` is longer than `approvals.expires`: no call hands back"],
        ),
        ("callers.ci.tools = []\n", &["1: `callers.ci.tools` is empty: it may call nothing"]),
        ("callers.ci.tools = [\"nothing.*\"]\n", &[]),
    ];
    for (text, expected) in rows {
        assert_eq!(findings(text), *expected, "{text}");
    }
}

#[test]
fn secrets_are_read_when_asked_for_and_never_shown() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    std::fs::write(&file, "from-file\r\n").unwrap();
    let text = format!(
        "[secrets.a]\nfrom = \"env:A\"\n[secrets.b]\nfrom = \"env:B\"\n[secrets.c]\nfrom = \
         \"file:{0}\"\n[secrets.d]\nfrom = \"file:{0}.none\"\n[secrets.e]\nfrom = \"env:E\"\n",
        file.display()
    );
    let config = config(&text);
    let variable = |name: &str| match name {
        "A" => Some("hush".to_owned()),
        "E" => Some(String::new()),
        _ => None,
    };
    let (values, findings) = config.secret_values(variable, 0);
    let found: Vec<_> = values.iter().map(|it| (it.name.as_str(), it.expose())).collect();
    assert_eq!(found, [("a", "hush"), ("c", "from-file")]);
    assert!(!format!("{values:?} {config:?}").contains("hush"));
    let told: Vec<_> = findings.iter().map(|it| it.text.as_str()).collect();
    assert_eq!(told[0], "the secret `b` has no value: the variable `B` isn't set");
    assert!(told[1].starts_with("the secret `d` has no value: `"), "{told:?}");
    assert_eq!(told[2], "the secret `e` has no value: it is empty");
}

#[test]
fn a_secret_that_is_too_short_to_be_hidden_is_a_finding() {
    let config = config("[secrets.a]\nfrom = \"env:A\"\n[secrets.b]\nfrom = \"env:B\"\n");
    let value = |name: &str| Some(if name == "A" { " hush \n" } else { "hushhh" }.to_owned());
    let (values, findings) = config.secret_values(value, 6);
    assert_eq!((values.len(), findings.len()), (2, 1));
    let told = &findings[0];
    assert_eq!(told.line, Some(1));
    assert_eq!(told.text, "the secret `a` isn't hidden anywhere: it is shorter than 6 bytes");
}

#[test]
fn a_secret_behind_a_pipe_is_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    let kind = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, kind, mode, 0).unwrap();
    let config = config(&format!("[secrets.a]\nfrom = \"file:{}\"\n", pipe.display()));
    let (values, findings) = config.secret_values(|_| None, 0);
    assert!(values.is_empty());
    assert!(findings[0].text.ends_with("it is no regular file"), "{findings:?}");
}

#[test]
fn a_request_waits_a_day_at_most_as_the_queue_has_it() {
    assert_eq!(config("[approvals]\nexpires = \"1440m\"\n").approvals.expires_ms, 86_400_000);
    let error = from_text("[approvals]\nexpires = \"1441m\"\n", Path::new("b.toml"), &sources());
    let error = error.unwrap_err().to_string();
    assert!(error.contains("approvals.expires") && error.contains("86400 s"), "{error}");
}

#[test]
fn a_secret_of_any_length_is_not_read_whole() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    std::fs::write(&file, "x".repeat(2 * usize::try_from(SECRET_MAX_LEN).unwrap())).unwrap();
    let config = config(&format!("[secrets.a]\nfrom = \"file:{}\"\n", file.display()));
    let (values, findings) = config.secret_values(|_| None, 0);
    assert!(values.is_empty());
    assert!(findings[0].text.ends_with("it has more than 65536 bytes"), "{findings:?}");
}

#[test]
fn the_file_is_found_by_its_name_and_its_paths_begin_at_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.toml");
    std::fs::write(&path, "[plugins.weather]\npath = \"w.wasm\"\n").unwrap();
    let config = load(&Sources { option: Some(path.clone()), ..sources() }).unwrap();
    assert_eq!(config.file, Some(path.clone()));
    assert_eq!(config.plugins[0].path, Some(folder.path().join("w.wasm")));
    assert_eq!(shown(&config, "plugins.weather.path"), "\"w.wasm\" (mine.toml:2)");
    let missing = folder.path().join("none.toml");
    assert!(load(&Sources { option: Some(missing), ..sources() }).is_err());
}

#[test]
fn a_file_in_the_current_directory_is_never_found() {
    // Tests run in the folder of their package, where the manifest is.
    assert!(Path::new("Cargo.toml").is_file());
    let nowhere = Surroundings { home: Some("/nonexistent".into()), ..Surroundings::default() };
    for surroundings in [Surroundings::default(), nowhere] {
        let config = load(&Sources { option: None, surroundings, builtins: &[] }).unwrap();
        assert_eq!(config.file, None);
    }
    let relative = Surroundings { belljar_config: Some("Cargo.toml".into()), ..Default::default() };
    let error = load(&Sources { option: None, surroundings: relative, builtins: &[] }).unwrap_err();
    assert!(matches!(error, ConfigError::RelativeVariable(_)));
}
