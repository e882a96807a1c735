//! What a caller sees, and that no request widens it.

use std::path::Path;

use async_trait::async_trait;
use serde_json::{Map, Value};

use super::*;
use crate::app::{App, Setup, start};
use crate::config::{Sources, Surroundings, from_text};
use crate::contract::arguments::{ArgumentCheck, ArgumentFailure};
use crate::contract::attempt::{Attempt, AttemptEnd, End, ReturnCase, Returned};
use crate::contract::descriptor::example;
use crate::contract::effects::Effect;
use crate::contract::grants::{Grants, ToolGrants};
use crate::contract::outcome::Outcome;
use crate::contract::result::Usage;
use crate::engine::ports::ToolRunner;
use crate::runners::OutsideTools;

struct Yes;

impl ArgumentCheck for Yes {
    fn check(&self, args: Map<String, Value>) -> Result<Map<String, Value>, Vec<ArgumentFailure>> {
        Ok(args)
    }
}

#[async_trait]
impl ToolRunner for Yes {
    async fn run(&self, tool: &ToolId, _attempt: Attempt) -> AttemptEnd {
        let value = Some(Value::String(tool.to_string()));
        let case = ReturnCase::Ok;
        let end = End::Returned(Returned { case, value, wrapped: true, attachments: Vec::new() });
        AttemptEnd { end, usage: Usage::default(), missing_grants: Vec::new() }
    }
}

const FILE: &str = r#"
audit.enabled = false
[callers.ann]
level = "FULL"
user = "u"
execution_user = "x"
workspace = "w"
[callers.bob]
level = "READ_ONLY"
tools = ["web.*"]
[expose.reads]
tools = ["web.fetch", "mail.read"]
[expose.none]
tools = []
"#;

fn config() -> Config {
    let surroundings = Surroundings::default();
    let sources = Sources { option: None, surroundings, builtins: &[] };
    from_text(FILE, Path::new("belljar.toml"), &sources).unwrap()
}

fn app() -> App {
    let app = start(&Setup { config: config(), ..Setup::default() }).unwrap();
    let put = |source: &str, ids: &[&str], owner: Option<&str>| {
        let tools = ids.iter().map(|id| FoundTool {
            descriptor: Arc::new(example(id, Effect::assumed(false))),
            check: Arc::new(Yes),
            grants: ToolGrants::Fixed(Arc::new(Grants::default())),
            owner: owner.map(Arc::from),
        });
        let tools = OutsideTools { tools: tools.collect(), runner: Arc::new(Yes) };
        app.tools.put(&source.parse().unwrap(), tools).unwrap();
    };
    put("web", &["web.fetch", "web.post"], None);
    put("mail", &["mail.read", "mail.send"], None);
    put("desk", &["desk.open"], Some("ann"));
    app
}

fn seen(access: &Access, host: &Host) -> Vec<String> {
    access.tools(host).iter().map(|tool| tool.id.to_string()).collect()
}

fn sets(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

async fn outcome(access: &Access, host: &Host, tool: &str, narrowed: &Narrowed) -> Outcome {
    let id = "c".parse().unwrap();
    host.call(access.call(host, id, tool, "{}", ApprovalMode::Deny, narrowed)).await.outcome
}

#[test]
fn a_caller_has_what_the_configuration_says_of_it() {
    let ann = Access::new(&config(), "ann").unwrap().in_session("s");
    let expected = CallerContext {
        caller: Some("ann".into()),
        session_id: Some("s".into()),
        user_id: Some("u".into()),
        execution_user_id: Some("x".into()),
        workspace: Some("w".into()),
        permission_level: PermissionLevel::Full,
    };
    assert_eq!(ann.context(), &expected);
    let error = Access::new(&config(), "eve\u{1b}").unwrap_err().to_string();
    assert_eq!(error, "`eve<U+001B>` is no caller of the configuration");
}

#[tokio::test]
async fn a_caller_sees_and_calls_its_tools_alone() {
    let (app, all) = (app(), Narrowed::default());
    let host = &app.host;
    let ann = Access::new(&config(), "ann").unwrap();
    let bob = Access::new(&config(), "bob").unwrap();
    let every = ["desk.open", "mail.read", "mail.send", "web.fetch", "web.post"];
    assert_eq!(seen(&ann, host), every);
    assert_eq!(seen(&bob, host), ["web.fetch", "web.post"]);
    assert!(bob.tool(host, "mail.read").is_none() && bob.tool(host, "web_fetch").is_some());
    for name in ["mail.read", "mail_read", "nothing.here"] {
        assert_eq!(outcome(&bob, host, name, &all).await, Outcome::NotAllowed, "{name}");
    }
    for name in ["mail.read", "mail_read"] {
        assert_eq!(outcome(&ann, host, name, &all).await, Outcome::Success, "{name}");
    }
}

#[tokio::test]
async fn a_tool_of_one_caller_doesnt_exist_for_another() {
    let (app, all) = (app(), Narrowed::default());
    let cli = Access::new(&config(), "cli").unwrap();
    assert!(cli.tool(&app.host, "desk.open").is_none());
    assert_eq!(outcome(&cli, &app.host, "desk.open", &all).await, Outcome::NotFound);
    let ann = Access::new(&config(), "ann").unwrap();
    assert_eq!(outcome(&ann, &app.host, "desk.open", &all).await, Outcome::Success);
}

#[tokio::test]
async fn exposure_only_takes_away() {
    let (app, config, all) = (app(), config(), Narrowed::default());
    let host = &app.host;
    let exposed = |caller: &str, names: &[&str]| {
        Access::new(&config, caller).unwrap().exposing(&config, host, &sets(names)).unwrap()
    };
    assert_eq!(seen(&exposed("ann", &["reads"]), host), ["mail.read", "web.fetch"]);
    assert_eq!(seen(&exposed("ann", &["reads", "mail"]), host).len(), 3);
    assert_eq!(seen(&exposed("bob", &["reads"]), host), ["web.fetch"]);
    assert_eq!(seen(&exposed("bob", &["mail", "desk"]), host), [""; 0]);
    assert_eq!(seen(&exposed("ann", &["none"]), host), [""; 0]);
    assert_eq!(seen(&exposed("ann", &[]), host), [""; 0]);
    // A set within a set: what a token sees of what is served.
    let within = exposed("ann", &["reads"]).exposing(&config, host, &sets(&["mail"])).unwrap();
    assert_eq!(seen(&within, host), ["mail.read"]);
    assert_eq!(outcome(&within, host, "mail.read", &all).await, Outcome::Success);
    assert_eq!(outcome(&within, host, "mail.send", &all).await, Outcome::NotAllowed);
    assert_eq!(outcome(&within, host, "web.fetch", &all).await, Outcome::NotAllowed);
}

#[tokio::test]
async fn a_set_that_is_none_is_refused() {
    let app = app();
    let access = Access::new(&config(), "ann").unwrap();
    let error = access.exposing(&config(), &app.host, &sets(&["reads", "wbe"])).unwrap_err();
    let expected = "`wbe` is neither a set of tools under `expose` nor a plugin";
    assert_eq!(error.to_string(), expected);
}

#[tokio::test]
async fn a_request_narrows_and_never_widens() {
    let app = app();
    let host = &app.host;
    let (ann, bob) =
        (Access::new(&config(), "ann").unwrap(), Access::new(&config(), "bob").unwrap());
    let call = |access: &Access, narrowed: &Narrowed| {
        let id = "c".parse().unwrap();
        access.call(host, id, "web.fetch", "{}", ApprovalMode::Deny, narrowed)
    };
    let level = |level| Narrowed { level: Some(level), ..Narrowed::default() };
    let wish = level(PermissionLevel::Full);
    assert_eq!(call(&bob, &wish).permission_level, PermissionLevel::ReadOnly);
    let wish = level(PermissionLevel::ReadOnly);
    assert_eq!(call(&ann, &wish).permission_level, PermissionLevel::ReadOnly);
    let tools = |names: &[&str]| Narrowed { tools: Some(sets(names)), ..Narrowed::default() };
    assert_eq!(outcome(&bob, host, "mail.read", &tools(&["mail.read"])).await, Outcome::NotAllowed);
    assert_eq!(outcome(&ann, host, "mail.read", &tools(&["mail_read"])).await, Outcome::Success);
    assert_eq!(outcome(&ann, host, "mail.read", &tools(&["web.*"])).await, Outcome::NotAllowed);
    assert_eq!(outcome(&ann, host, "mail.read", &tools(&[])).await, Outcome::NotAllowed);
    let short = Narrowed { timeout: Some(Duration::from_millis(5)), ..Narrowed::default() };
    assert_eq!(call(&ann, &short).timeout, Some(Duration::from_millis(5)));
}
