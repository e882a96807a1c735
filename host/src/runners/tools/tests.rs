//! Tools that come and go: who finds them, and which names are refused.

use async_trait::async_trait;
use serde_json::{Map, Value};

use super::*;
use crate::contract::arguments::ArgumentFailure;
use crate::contract::attempt::{Attempt, AttemptEnd};
use crate::contract::descriptor::example;
use crate::contract::effects::Effect;
use crate::contract::grants::{Grants, ToolGrants};
use crate::events::{Seen, unix_ms};

struct Anything;

impl ArgumentCheck for Anything {
    fn check(&self, args: Map<String, Value>) -> Result<Map<String, Value>, Vec<ArgumentFailure>> {
        Ok(args)
    }
}

struct Nobody;

#[async_trait]
impl ToolRunner for Nobody {
    async fn run(&self, _tool: &ToolId, _attempt: Attempt) -> AttemptEnd {
        super::super::own::ended(Err("nobody runs it".to_owned()))
    }
}

fn tools() -> Tools {
    Tools::new(Arc::new(Catalog::default()), EventBus::new(unix_ms))
}

fn outside(ids: &[&str]) -> OutsideTools {
    let tools = ids.iter().map(|id| FoundTool {
        descriptor: Arc::new(example(id, Effect::assumed(false))),
        check: Arc::new(Anything),
        grants: ToolGrants::Fixed(Arc::new(Grants::default())),
        owner: None,
    });
    OutsideTools { tools: tools.collect(), runner: Arc::new(Nobody) }
}

fn with_wire_name(mut source: OutsideTools, wire_name: &str) -> OutsideTools {
    for tool in &mut source.tools {
        Arc::make_mut(&mut tool.descriptor).wire_name = wire_name.to_owned();
    }
    source
}

fn name(text: &str) -> PluginName {
    text.parse().unwrap()
}

fn ids(tools: &Tools) -> Vec<String> {
    tools.list().iter().map(|tool| tool.descriptor.id.to_string()).collect()
}

#[test]
fn tools_are_found_by_id_and_wire_name_and_listed_by_id() {
    let tools = tools();
    tools.put(&name("web"), outside(&["web.search", "web.fetch"])).unwrap();
    tools.put(&name("mail"), outside(&["mail.send"])).unwrap();
    assert_eq!(ids(&tools), ["mail.send", "web.fetch", "web.search"]);
    for asked in ["web.fetch", "web_fetch"] {
        assert_eq!(tools.named(asked).unwrap().descriptor.id.to_string(), "web.fetch");
    }
    assert!(tools.named("web.Fetch").is_none());
    assert!(tools.place(&"web.fetch".parse().unwrap()).is_some());
}

#[test]
fn a_source_that_comes_again_replaces_what_it_had() {
    let tools = tools();
    tools.put(&name("web"), outside(&["web.search", "web.fetch"])).unwrap();
    tools.put(&name("web"), outside(&["web.fetch", "web.post"])).unwrap();
    assert_eq!(ids(&tools), ["web.fetch", "web.post"]);
    assert!(tools.remove(&name("web")) && !tools.remove(&name("web")));
    assert!(ids(&tools).is_empty() && tools.named("web_fetch").is_none());
}

#[test]
fn a_call_that_found_its_tool_keeps_it_while_it_goes() {
    let tools = tools();
    tools.put(&name("web"), outside(&["web.fetch"])).unwrap();
    let (found, listed) = (tools.named("web.fetch").unwrap(), tools.list());
    tools.remove(&name("web"));
    assert_eq!((found.descriptor.id.to_string(), listed.len()), ("web.fetch".to_owned(), 1));
    assert!(tools.place(&found.descriptor.id).is_none(), "and nothing runs it any more");
}

#[test]
fn a13_a_name_that_exists_is_refused_and_what_was_there_stays() {
    let tools = tools();
    tools.put_own(&name("belljar"), outside(&["belljar.ask-user"])).unwrap();
    tools.put(&name("web"), outside(&["web.fetch"])).unwrap();
    for reserved in ["belljar", "results", "mcp", "jobs", "Belljar"] {
        let refused = tools.put(&name(reserved), outside(&[&format!("{reserved}.x")]));
        assert!(matches!(refused, Err(NameError::Reserved(_))), "{reserved}");
    }
    let lookalike = tools.put(&name("w-eb"), outside(&["w-eb.fetch"]));
    assert!(matches!(lookalike, Err(NameError::Confusable(..))));
    for taken in ["belljar_ask-user", "BELLJAR_ASK_USER", "web_fetch"] {
        let other = with_wire_name(outside(&["mail.send"]), taken);
        let refused = tools.put(&name("mail"), other);
        assert!(matches!(refused, Err(NameError::WireName(..))), "{taken}");
    }
    let twice = with_wire_name(outside(&["mail.send", "mail.read"]), "mail");
    assert!(tools.put(&name("mail"), twice).is_err());
    let own = with_wire_name(outside(&["results.read"]), "web_fetch");
    assert!(tools.put_own(&name("results"), own).is_err());
    let bad = with_wire_name(outside(&["web.fetch"]), "belljar_ask-user");
    assert!(tools.put(&name("web"), bad).is_err());
    assert_eq!(ids(&tools), ["belljar.ask-user", "web.fetch"]);
    assert_eq!(tools.named("web_fetch").unwrap().descriptor.id.to_string(), "web.fetch");
}

#[test]
fn every_change_raises_the_revision_and_is_told() {
    let bus = EventBus::new(unix_ms);
    let (mut events, tools) = (bus.watch(), Tools::new(Arc::new(Catalog::default()), bus));
    let mut revision = tools.revision();
    assert!(!revision.has_changed().unwrap());
    tools.put(&name("web"), outside(&["web.fetch"])).unwrap();
    assert!(revision.has_changed().unwrap());
    let first = *revision.borrow_and_update();
    tools.put(&name("belljar"), outside(&["belljar.x"])).unwrap_err();
    assert!(!revision.has_changed().unwrap(), "what was refused changes nothing");
    tools.remove(&name("web"));
    assert!(*revision.borrow_and_update() > first);
    let mut told = Vec::new();
    while let Some(Seen::Event(event)) = events.try_next() {
        let EventKind::ToolsChanged { source, tools } = &event.kind else { continue };
        told.push((source.to_string(), tools.len()));
    }
    assert_eq!(told, [("web".to_owned(), 1), ("web".to_owned(), 0)]);
}

fn expected(text: &str) -> ExpectedPlugin {
    ExpectedPlugin { name: name(text), wire_names: Vec::new() }
}

#[test]
fn the_name_of_a_plugin_that_is_still_loaded_is_taken_by_nobody_else() {
    let tools = tools();
    tools.expect([expected("weather"), expected("maps")]);
    tools.put(&name("weather"), outside(&["weather.now"])).unwrap_err();
    tools.put(&name("weath-er"), outside(&["weath-er.now"])).unwrap_err();
    tools.put_new(&name("weather"), outside(&["weather.now"]), &[]).unwrap_err();
    tools.put(&name("far"), outside(&["far.now"])).unwrap();
    tools.no_longer_expect(&name("weather"));
    tools.put(&name("weather"), outside(&["weather.now"])).unwrap();
    tools.put(&name("maps"), outside(&["maps.now"])).unwrap_err();
}

#[test]
fn a_wire_name_that_a_plugin_to_come_may_have_is_taken_by_nobody_else() {
    let tools = tools();
    let plugin = ExpectedPlugin { wire_names: vec!["forecast".to_owned()], ..expected("sky-now") };
    tools.expect([plugin]);
    // `sky_now-temperature` reads like the wire name of `sky-now.temperature`.
    let alike = || outside(&["sky.now-temperature"]);
    let given = || with_wire_name(outside(&["web.fetch"]), "FORECAST");
    for error in [
        tools.put(&name("sky"), alike()).unwrap_err(),
        tools.put_new(&name("sky"), alike(), &[]).unwrap_err(),
        tools.put(&name("web"), given()).unwrap_err(),
    ] {
        assert!(matches!(error, NameError::KeptWire(..)), "{error}");
        assert!(error.to_string().contains("kept for `sky-now`"), "{error}");
    }
    assert!(ids(&tools).is_empty());
    tools.put(&name("sky"), outside(&["sky.today"])).unwrap();
    tools.no_longer_expect(&name("sky-now"));
    tools.put(&name("sky"), alike()).unwrap();
    tools.put(&name("web"), given()).unwrap();
}
