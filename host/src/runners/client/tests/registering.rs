//! What a client may register: names, tools, and how many of them.

use super::super::{CLIENTS_MAX, CLIENTS_MAX_OF_ONE, TOOLS_MAX};
use super::*;
use crate::contract::attempt::{AttemptEnd, RunnerRefusal};
use crate::contract::descriptor::{Isolation, ToolExecutor, ToolSource};
use crate::contract::effects::Effect;
use crate::contract::invocation::{PermissionLevel, ToolInvocation};
use crate::contract::limits::Limits;
use crate::contract::result::Usage;
use crate::engine::ports::{LiveLevels as _, ToolLookup as _, ToolRunner};
use crate::events::Seen;
use crate::runners::{ExpectedPlugin, OutsideTools};

fn registers(gateway: &Gateway, caller: &str, name: &str) -> Result<Client, ClientError> {
    let mut client = gateway.connect(caller)?;
    client.say(json!({"type": "register", "name": name, "tools": [shell()]}))?;
    Ok(client)
}

#[test]
fn a1_a2_a_clients_tool_is_a_claim_that_runs_at_its_desk() {
    let gateway = Gateway::new();
    let mut tool = shell();
    tool["annotations"] = json!({"readOnlyHint": true, "openWorldHint": false});
    let (_client, told) = gateway.client("bot", "laptop", &[tool]);
    let HostMessage::Registered { tools, refused, .. } = told else { panic!("{told:?}") };
    assert_eq!(
        (tools[0].name.as_str(), tools[0].id.to_string()),
        ("run_shell", gateway.ids()[0].clone())
    );
    assert!(refused.is_empty());
    let found = gateway.found("laptop.run-shell");
    assert_eq!(found.owner.as_deref(), Some("bot"));
    let known = &found.descriptor;
    assert_eq!(known.wire_name, "laptop_run-shell");
    assert_eq!((known.source, known.executor), (ToolSource::Plugin, ToolExecutor::Desktop));
    assert_eq!((known.isolation, known.server_id), (Isolation::None, None));
    assert_eq!(known.effects.read_only, Effect::claimed(true));
    assert_eq!(known.effects.closed_world, Effect::claimed(true));
    assert_eq!(known.effects.cannot_write_files, Effect::claimed(true));
    for kind in [LimitKind::AttemptDeadline, LimitKind::CallDeadline] {
        assert_eq!(known.limits.get(kind).value, 900_000);
    }
}

#[test]
fn a8_an_mcp_servers_tool_behind_a_client_keeps_its_server_and_name() {
    let gateway = Gateway::new();
    let mut tool = shell();
    tool["mcp"] = json!({"serverId": 7, "originalName": "run.shell!"});
    let (_client, _) = gateway.client("bot", "laptop", &[tool]);
    let known = gateway.found("laptop.run-shell").descriptor;
    assert_eq!((known.source, known.executor), (ToolSource::Mcp, ToolExecutor::Desktop));
    assert_eq!(known.server_id, Some(7));
    assert_eq!(known.original_name.as_deref(), Some("run.shell!"));
}

#[test]
fn an_operators_deadline_holds_for_clients_too() {
    let mut limits = Limits::default();
    limits.set(LimitKind::AttemptDeadline, 5_000).unwrap();
    let gateway = Gateway::with(ClientSettings { limits, reserved: Vec::new() });
    let (_client, _) = gateway.client("bot", "laptop", &[shell()]);
    let known = gateway.found("laptop.run-shell").descriptor;
    assert_eq!(known.limits.get(LimitKind::AttemptDeadline).value, 5_000);
}

struct Elsewhere;

#[async_trait::async_trait]
impl ToolRunner for Elsewhere {
    async fn run(&self, _tool: &ToolId, _attempt: Attempt) -> AttemptEnd {
        let end = End::Refused(RunnerRefusal::Cancelled);
        AttemptEnd { end, usage: Usage::default(), missing_grants: Vec::new() }
    }
}

#[test]
fn a12_no_client_takes_the_name_of_what_runs_on_the_server_or_of_another() {
    let reserved = vec!["github".parse().unwrap()];
    let gateway = Gateway::with(ClientSettings { limits: Limits::default(), reserved });
    let elsewhere = || OutsideTools { tools: Vec::new(), runner: Arc::new(Elsewhere) };
    gateway.tools.put_own(&"results".parse().unwrap(), elsewhere()).unwrap();
    gateway.tools.put(&"upstream".parse().unwrap(), elsewhere()).unwrap();
    let _laptop = registers(&gateway, "ann", "laptop").unwrap();
    let revision = *gateway.tools.revision().borrow();
    for (name, reason) in [
        ("upstream", "is taken"),
        ("up-stream", "looks like one"),
        ("laptop", "is taken"),
        ("Iaptop", "looks like one"),
        ("g1thub", "looks like one"),
        ("github", "is taken"),
        ("git-hub", "looks like one"),
        ("results", "belongs to belljar"),
        ("mcp", "belongs to belljar"),
        ("be11jar", "belongs to belljar"),
        ("files.read", "can't name a client"),
        ("", "can't name a client"),
    ] {
        let Err(ClientError::Registration(why)) = registers(&gateway, "eve", name) else {
            panic!("`{name}` was taken")
        };
        assert!(why.contains(reason), "{name}: {why}");
        assert!(!why.contains("ann"), "{why}");
    }
    assert_eq!(*gateway.tools.revision().borrow(), revision, "nothing came and nothing went");
    assert_eq!(gateway.ids(), ["laptop.run-shell"]);
    drop(registers(&gateway, "eve", "desk").unwrap());
    assert_eq!(gateway.ids(), ["laptop.run-shell"]);
}

#[test]
fn a12_no_client_takes_a_name_of_a_plugin_that_is_still_compiled() {
    let gateway = Gateway::new();
    let plugin = |name: &str| ExpectedPlugin {
        name: name.parse().unwrap(),
        wire_names: vec!["desk_run-shell".to_owned()],
    };
    gateway.tools.expect([plugin("laptop-run")]);
    for (name, reason) in [
        ("laptop-run", "is taken"),
        ("Iaptop-run", "looks like one"),
        // `laptop_run-shell` and `laptop-run_shell` are one name to a model.
        ("laptop", "a tool of `laptop` would have the name of another tool"),
        ("desk", "a tool of `desk` would have the name of another tool"),
    ] {
        let Err(ClientError::Registration(why)) = registers(&gateway, "eve", name) else {
            panic!("`{name}` was taken")
        };
        assert!(why.contains(reason), "{name}: {why}");
    }
    gateway.tools.no_longer_expect(&"laptop-run".parse().unwrap());
    registers(&gateway, "eve", "laptop").unwrap();
}

#[test]
fn t42_one_bad_tool_spoils_no_other() {
    let gateway = Gateway::new();
    let schema = || json!({"type": "object"});
    let offered = [
        json!({"name": "good", "inputSchema": schema()}),
        json!({"name": "GOOD", "inputSchema": schema()}),
        json!({"name": "2bad", "inputSchema": schema()}),
        json!({"name": "refs", "inputSchema": {"type": "object",
            "properties": {"a": {"$ref": "https://elsewhere.example/s"}}}}),
        json!({"name": "text", "inputSchema": {"type": "string"}}),
        json!({"name": "out", "inputSchema": schema(), "outputSchema": true}),
        json!({"name": "long", "inputSchema": schema(), "description": "d".repeat((16 << 10) + 1)}),
        json!({"name": "none"}),
        json!(7),
    ];
    let (_client, told) = gateway.client("bot", "laptop", &offered);
    let HostMessage::Registered { tools, refused, .. } = told else { panic!("{told:?}") };
    assert_eq!(tools.len(), 1);
    let named: Vec<_> = refused.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(named, ["GOOD", "2bad", "refs", "text", "out", "long", "none", ""]);
    assert_eq!(gateway.ids(), ["laptop.good"]);
}

#[test]
fn a_tool_is_an_object_and_so_are_its_parts() {
    let gateway = Gateway::new();
    let schema = || json!({"type": "object"});
    let offered = [
        json!(["run", null, null, schema()]),
        json!({"name": "hints", "inputSchema": schema(), "annotations": [true, false, true, false]}),
        json!({"name": "server", "inputSchema": schema(), "mcp": [7, "x"]}),
        json!({"name": 5, "inputSchema": schema()}),
    ];
    let (_client, told) = gateway.client("bot", "laptop", &offered);
    let HostMessage::Registered { refused, .. } = told else { panic!("{told:?}") };
    let why: Vec<_> = refused.iter().map(|it| it.reason.as_str()).collect();
    let expected = [
        "it is no JSON object",
        "its `annotations` is an array: expected an object",
        "its `mcp` is an array: expected an object",
        "it can't be read: it is a number: expected text",
    ];
    assert_eq!(why, expected);
    assert!(gateway.ids().is_empty());
}

#[test]
fn t45_the_schemas_of_all_tools_together_are_bounded() {
    let gateway = Gateway::new();
    let large = json!({"type": "object", "enum": vec![0; 4000]});
    let tool = |n| json!({"name": format!("t{n}"), "inputSchema": large});
    let offered: Vec<_> = (0..20).map(tool).collect();
    let (_client, told) = gateway.client("bot", "laptop", &offered);
    let HostMessage::Registered { tools, refused, .. } = told else { panic!("{told:?}") };
    assert_eq!((tools.len(), refused.len()), (16, 4));
    assert!(refused[0].reason.contains("too large schemas"), "{}", refused[0].reason);
}

#[test]
fn who_watches_isnt_told_which_tools_another_caller_has() {
    let gateway = Gateway::new();
    let mut events = gateway.bus.watch();
    let (_client, _) = gateway.client("bot", "laptop", &[shell()]);
    let Some(Seen::Event(event)) = events.try_next() else { panic!("an event") };
    let told = serde_json::to_value(event.as_ref()).unwrap();
    assert_eq!(told["tools"], json!([]), "{told}");
}

#[test]
fn t40_a_tool_that_is_described_otherwise_is_another_build() {
    let digest = |change: fn(&mut Value), caller: &str| {
        let gateway = Gateway::new();
        let mut tool = shell();
        change(&mut tool);
        let (_client, _) = gateway.client(caller, "laptop", &[tool]);
        gateway.found("laptop.run-shell").descriptor.plugin.digest
    };
    let plain = digest(|_| {}, "bot");
    assert_eq!(plain, digest(|_| {}, "bot"));
    let changes: [fn(&mut Value); 3] = [
        |tool| tool["description"] = "now does something else".into(),
        |tool| tool["inputSchema"]["properties"] = json!({"path": {}}),
        |tool| tool["annotations"] = json!({"readOnlyHint": true}),
    ];
    for change in changes {
        assert_ne!(plain, digest(change, "bot"));
    }
    assert_ne!(plain, digest(|_| {}, "ann"), "another caller's");
}

#[test]
fn clients_and_their_tools_are_counted_and_a_place_is_given_back() {
    let gateway = Gateway::new();
    let refused = |caller: &str| gateway.connect(caller).map(|_| ()).unwrap_err();
    let own: Vec<_> = (0..CLIENTS_MAX_OF_ONE).map(|_| gateway.connect("bot").unwrap()).collect();
    assert_eq!(refused("bot"), ClientError::TooManyOfCaller(CLIENTS_MAX_OF_ONE));
    let others = (CLIENTS_MAX_OF_ONE..CLIENTS_MAX).map(|n| gateway.connect(&format!("c{n}")));
    let others: Vec<_> = others.map(Result::unwrap).collect();
    assert_eq!(refused("one-more"), ClientError::TooMany(CLIENTS_MAX));
    drop(own);
    let mut client = gateway.connect("bot").unwrap();
    let many = vec![shell(); TOOLS_MAX + 1];
    let said = json!({"type": "register", "name": "laptop", "tools": many});
    assert!(matches!(client.say(said), Err(ClientError::Registration(_))));
    drop(others);
    assert_eq!(
        gateway.clients.connect(&CallerContext::default()).unwrap_err(),
        ClientError::Nameless
    );
}

#[test]
fn a_client_registers_first_and_once() {
    let gateway = Gateway::new();
    let mut early = gateway.connect("bot").unwrap();
    for message in [result("r", "x"), json!({"type": "level", "permissionLevel": "FULL"})] {
        assert!(matches!(early.say(message), Err(ClientError::Order(_))));
    }
    let (mut client, _) = gateway.client("bot", "laptop", &[shell()]);
    let again = json!({"type": "register", "name": "other", "tools": []});
    assert!(matches!(client.say(again), Err(ClientError::Order(_))));
}

#[test]
fn a15_a_clients_level_narrows_its_own_callers_calls_while_it_is_connected() {
    use PermissionLevel::{Full, ReadOnly, ReadWrite, Smart};
    let gateway = Gateway::new();
    let level_of = |caller: &str, own: PermissionLevel| {
        let mut call = ToolInvocation::new("c".parse().unwrap(), "t", "{}");
        (call.caller, call.permission_level) = (Some(caller.to_owned()), own);
        gateway.clients.level(&call)
    };
    let (mut client, _) = gateway.client("bot", "laptop", &[shell()]);
    assert_eq!(level_of("bot", Full), Full, "none is set");
    let mut set = |level: &str| {
        client.say(json!({"type": "level", "permissionLevel": level})).unwrap();
    };
    set("READ_WRITE");
    assert_eq!(level_of("bot", Full), ReadWrite);
    assert_eq!(level_of("bot", Smart), ReadOnly, "of these two neither is lower");
    assert_eq!(level_of("ann", Full), Full, "another caller's");
    set("FULL");
    assert_eq!(level_of("bot", ReadOnly), ReadOnly, "never above the token's");
    set("READ_ONLY");
    assert_eq!(level_of("bot", Full), ReadOnly);
    drop(client);
    assert_eq!(level_of("bot", Full), Full);
}

#[test]
fn a10_a_session_tool_is_the_callers_own_client_s_where_one_alone_fits() {
    let gateway = Gateway::new();
    let of = |caller: &str, name: &str| {
        gateway.router.of_session(caller, name).map(|tool| tool.descriptor.id.to_string())
    };
    let (_laptop, _) = gateway.client("bot", "laptop", &[shell()]);
    let expected = Some("laptop.run-shell".to_owned());
    for name in ["run-shell", "run_shell", "laptop.run-shell", "laptop_run-shell"] {
        assert_eq!(of("bot", name), expected, "{name}");
    }
    assert_eq!(of("ann", "run-shell"), None);
    assert_eq!(of("bot", "other"), None);
    let (_desk, _) = gateway.client("bot", "desk", &[shell()]);
    assert_eq!(of("bot", "run-shell"), None, "two fit");
}
