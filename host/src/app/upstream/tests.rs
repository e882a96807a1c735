//! A whole host before a real server in another process, well behaved and otherwise.

mod broken;
mod library;
mod modern;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::super::{App, start};
use super::*;
use crate::config::{Sources, from_text};
use crate::contract::approval::{
    ApprovalDecision, ApprovalRequest, Approver, Channel, RememberScope,
};
use crate::contract::descriptor::{Isolation, ToolDescriptor, ToolExecutor, ToolSource};
use crate::contract::invocation::{ApprovalMode, PermissionLevel, ToolInvocation};
use crate::contract::outcome::{Executed, Outcome};
use crate::contract::result::{AttachmentKind, ToolResult};
use crate::events::{EventKind, EventStream, Seen};
use crate::gate::approval::ApprovalHook;
use crate::runners::ExpectedPlugin;

/// A folder with a host on a server in `mode`; what the server notes is in `notes`.
struct Bench {
    folder: tempfile::TempDir,
    app: App,
}

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/guests/upstream/server.py")
}

/// The interpreter itself: `python3` may be a script that sets variables of its own.
fn python() -> String {
    let say = ["-c", "import sys; print(sys.executable)"];
    let said = std::process::Command::new("python3").args(say).output();
    let said = said.expect("python3 is needed: apt-get install python3");
    String::from_utf8(said.stdout).unwrap().trim().to_owned()
}

fn setup(folder: &Path, mode: &str, more: &str) -> Setup {
    let (script, notes) = (script(), folder.join("notes"));
    let text = format!(
        "[upstream.up]\ncommand = {:?}\nargs = [{:?}, \"{mode}\", {:?}]\n{more}",
        python(),
        script.display().to_string(),
        notes.display().to_string(),
    );
    let config = from_text(&text, &folder.join("belljar.toml"), &Sources::default()).unwrap();
    Setup { config, ..Setup::default() }
}

impl Bench {
    async fn new(mode: &str, more: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let app = start(&setup(folder.path(), mode, more)).unwrap();
        app.upstream.start();
        app.upstream.settled().await;
        Self { folder, app }
    }

    fn notes(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("notes")).unwrap_or_default()
    }

    async fn noted(&self, what: &str) {
        while !self.notes().contains(what) {
            tokio::task::yield_now().await;
        }
    }

    /// The child, as the system names it.
    fn pid(&self) -> String {
        let notes = self.notes();
        let pid = notes.lines().rev().find_map(|line| line.strip_prefix("pid "));
        pid.unwrap().to_owned()
    }

    fn tool(&self, id: &str) -> Arc<ToolDescriptor> {
        self.app.host.tool(id).unwrap_or_else(|| panic!("no `{id}`")).descriptor
    }

    async fn call(&self, tool: &str, arguments: Value) -> ToolResult {
        self.app.host.call(call(tool, &arguments)).await
    }
}

/// Waits until a server is there again.
async fn up_again(events: &mut EventStream) {
    loop {
        match events.next().await {
            Some(Seen::Event(event)) if matches!(event.kind, EventKind::UpstreamUp { .. }) => {
                return;
            }
            Some(_) => {}
            None => panic!("no more events"),
        }
    }
}

/// Waits until a server is gone; why it is.
async fn down(events: &mut EventStream) -> String {
    loop {
        match events.next().await {
            Some(Seen::Event(event)) => {
                if let EventKind::UpstreamDown { reason, .. } = &event.kind {
                    return reason.clone();
                }
            }
            Some(_) => {}
            None => panic!("no more events"),
        }
    }
}

fn call(tool: &str, arguments: &Value) -> ToolInvocation {
    let mut call = ToolInvocation::new("c1".parse().unwrap(), tool, arguments.to_string());
    call.caller = Some("cli".to_owned());
    call.permission_level = PermissionLevel::Full;
    call
}

#[tokio::test]
async fn a8_a11_a_servers_tool_is_described_as_one() {
    let bench = Bench::new("plain", "").await;
    let echo = bench.tool("up.echo");
    assert_eq!((echo.source, echo.executor), (ToolSource::Mcp, ToolExecutor::McpServer));
    assert_eq!((echo.isolation, echo.server_id), (Isolation::None, Some(1)));
    assert_eq!((echo.wire_name.as_str(), echo.title.as_deref()), ("up_echo", Some("Echo")));
    let effects = serde_json::to_value(echo.effects).unwrap();
    assert_eq!(effects["readOnly"], json!({"value": true, "basis": "claimed"}));
    assert_eq!(effects["closedWorld"], json!({"value": false, "basis": "assumed"}));
    let folded = bench.tool("up.kinds-of-things");
    assert_eq!(folded.original_name.as_deref(), Some("kinds_of.things"));
    assert_eq!(bench.app.host.tool("up_kinds-of-things").unwrap().descriptor.id, folded.id);
    bench.app.upstream.end().await;
}

#[tokio::test]
async fn an_answer_is_its_text_its_attachments_and_its_progress() {
    let bench = Bench::new("plain", "").await;
    let mut events = bench.app.host.events();
    let result = bench.call("up.kinds-of-things", json!({})).await;
    assert_eq!((result.outcome, result.content.as_str()), (Outcome::Success, "one\ntwo"));
    let kinds: Vec<_> =
        result.attachments.iter().map(|it| (&it.kind, it.bytes.as_slice())).collect();
    let (x, y) = ("file:///x".to_owned(), "file:///y".to_owned());
    let link = AttachmentKind::ResourceLink { target: x, name: "x".to_owned() };
    let held = AttachmentKind::Resource { target: y };
    assert_eq!(kinds, [(&AttachmentKind::Image, b"hi".as_slice()), (&link, b""), (&held, b"why")]);
    let mut progress = None;
    while progress.is_none() {
        if let Some(Seen::Event(event)) = events.next().await
            && let EventKind::Progress(it) = &event.kind
        {
            progress = Some((it.done, it.total, it.message.clone()));
        }
    }
    assert_eq!(progress, Some((1, Some(2), Some("half".to_owned()))));
    let kept = bench.call("up.kept", json!({})).await;
    assert_eq!((kept.content.as_str(), kept.structured), ("seven", Some(json!({"n": 7}))));
}

#[tokio::test]
async fn t14_what_the_server_calls_an_error_is_one() {
    let bench = Bench::new("plain", "").await;
    let failed = bench.call("up.fail", json!({})).await;
    assert_eq!((failed.outcome, failed.executed), (Outcome::ToolError, Executed::Yes));
    assert_eq!(failed.content, "it failed: \u{1b}[2J");
    let broken = bench.call("up.broken", json!({})).await;
    assert_eq!((broken.outcome, broken.structured), (Outcome::ToolError, None));
    assert!(broken.content.contains("its own output schema: `/n`"), "{}", broken.content);
    let wrong = bench.call("up.echo", json!({"text": 5})).await;
    assert_eq!((wrong.outcome, wrong.executed), (Outcome::InvalidArguments, Executed::No));
    let mangled = bench.call("up.mangled", json!({})).await;
    assert_eq!((mangled.outcome, mangled.executed), (Outcome::Crashed, Executed::Maybe));
}

#[tokio::test]
async fn a_server_that_asks_is_refused() {
    let bench = Bench::new("plain", "").await;
    assert_eq!(bench.call("up.ask", json!({})).await.content, "-32601");
}

#[tokio::test]
async fn a_child_has_the_environment_that_was_named_and_no_other() {
    let more =
        "env = { ONE = \"1\", TOKEN = { secret = \"t\" } }\n[secrets.t]\nfrom = \"file:token\"\n";
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("token"), "hunter22\n").unwrap();
    let app = start(&setup(folder.path(), "plain", more)).unwrap();
    app.upstream.start();
    app.upstream.settled().await;
    let result = app.host.call(call("up.environment", &json!({}))).await;
    let seen: std::collections::BTreeMap<String, String> =
        serde_json::from_str(&result.content).unwrap();
    // Python itself sets LC_CTYPE where no locale is named.
    let names: BTreeSet<_> =
        seen.keys().map(String::as_str).filter(|it| *it != "LC_CTYPE").collect();
    assert_eq!(names, BTreeSet::from(["ONE", "TOKEN"]));
    assert_eq!(seen["TOKEN"], "hunter22");
    let shown = format!("{:?} {:?}", app.upstream, setup(folder.path(), "plain", more).config);
    assert!(!shown.contains("hunter22"), "{shown}");
}

#[tokio::test]
async fn t28_a_cancelled_call_ends_at_once_is_told_to_the_server_and_harms_no_other() {
    let bench = Bench::new("plain", "").await;
    let cancel = CancellationToken::new();
    let waiting = bench.app.host.call_with(call("up.wait", &json!({})), cancel.clone());
    let cancelled = async {
        bench.noted("waiting").await;
        cancel.cancel();
    };
    let (result, ()) = tokio::join!(waiting, cancelled);
    assert_eq!((result.outcome, result.executed), (Outcome::Interrupted, Executed::Maybe));
    bench.noted("cancelled").await;
    assert_eq!(bench.call("up.echo", json!({"text": "on"})).await.content, "on");
}

#[tokio::test]
async fn t13_a_call_ends_at_its_own_deadline() {
    let more = "[upstream.up.tools.wait]\nlimits = { attempt_deadline = \"2s\" }\n";
    let bench = Bench::new("plain", more).await;
    let result = bench.call("up.wait", json!({})).await;
    assert_eq!((result.outcome, result.executed), (Outcome::TimedOut, Executed::Maybe));
    bench.noted("cancelled").await;
}

#[tokio::test]
async fn a_server_that_dies_is_unavailable_and_comes_back() {
    let bench = Bench::new("plain", "").await;
    let mut events = bench.app.host.events();
    let died = bench.call("up.die", json!({})).await;
    assert_eq!((died.outcome, died.executed), (Outcome::Unavailable, Executed::Maybe));
    assert!(died.retryable);
    // Nobody claims that it can be repeated, so it isn't.
    let kept = bench.call("up.kept", json!({})).await;
    assert_eq!((kept.outcome, kept.executed), (Outcome::Unavailable, Executed::No));
    assert!(down(&mut events).await.contains("exit status 3"));
    up_again(&mut events).await;
    assert_eq!(bench.call("up.echo", json!({"text": "x"})).await.content, "x");
}

#[tokio::test]
async fn an_answer_that_is_too_long_fails_that_call_alone() {
    let bench = Bench::new("plain", "limits = { output_kept = \"1MiB\" }\n").await;
    let huge = bench.call("up.huge", json!({})).await;
    assert_eq!((huge.outcome, huge.executed), (Outcome::OutputTooLarge, Executed::Maybe));
    assert_eq!(bench.call("up.echo", json!({"text": "on"})).await.content, "on");
}

#[tokio::test]
async fn t44_a_server_that_does_not_come_up_leaves_the_host_alone_and_is_told() {
    for (mode, why) in [
        ("die", "exit status 4"),
        ("silent", "within 1 s"),
        ("endless", "a line of more than"),
        ("garbage", "no MCP"),
        ("pages", "more than 200 pages"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let timeout = if mode == "silent" { "1s" } else { "60s" };
        let app = start(&setup(folder.path(), mode, &format!("start_timeout = \"{timeout}\"\n")));
        let app = app.unwrap();
        let mut events = app.host.events();
        app.upstream.start();
        app.upstream.settled().await;
        let Some(Seen::Event(event)) = events.next().await else { panic!("{mode}: no event") };
        let EventKind::UpstreamDown { reason, .. } = &event.kind else { panic!("{event:?}") };
        assert!(reason.contains(why), "{mode}: {reason}");
        assert!(app.host.tools().is_empty());
        app.upstream.end().await;
    }
}

#[tokio::test]
async fn a_tool_that_cannot_be_offered_leaves_the_others_alone() {
    let bench = Bench::new("odd", "").await;
    let ids: Vec<_> =
        bench.app.host.tools().iter().map(|it| it.descriptor.id.to_string()).collect();
    assert_eq!(ids, ["up.fine"]);
}

#[tokio::test]
async fn a_child_is_gone_when_the_servers_have_ended() {
    let bench = Bench::new("plain", "").await;
    let process = Path::new("/proc").join(bench.pid());
    assert!(process.exists());
    bench.app.upstream.end().await;
    assert!(!process.exists());
    let result = bench.call("up.echo", json!({"text": "x"})).await;
    assert_eq!((result.outcome, result.executed), (Outcome::Unavailable, Executed::No));
}

/// Says yes for good, and counts how often it is asked.
#[derive(Debug, Default)]
struct Yes(AtomicUsize);

#[async_trait::async_trait]
impl ApprovalHook for Arc<Yes> {
    async fn decide(&self, request: &ApprovalRequest) -> Option<(ApprovalDecision, Approver)> {
        assert!(!request.reason.is_empty());
        self.0.fetch_add(1, Ordering::SeqCst);
        let me = Approver { name: "me".into(), channel: Channel::Library };
        let always = ApprovalDecision::Always { scope: RememberScope::Tool, expires_unix_ms: None };
        Some((always, me))
    }
}

#[tokio::test]
async fn t40_a_tool_that_its_server_describes_anew_is_asked_about_anew() {
    let folder = tempfile::tempdir().unwrap();
    let yes = Arc::new(Yes::default());
    let approver = Some(Arc::new(Arc::clone(&yes)) as Arc<dyn ApprovalHook>);
    let app = start(&Setup { approver, ..setup(folder.path(), "plain", "") }).unwrap();
    app.upstream.start();
    app.upstream.settled().await;
    let asked = || yes.0.load(Ordering::SeqCst);
    let echo = || {
        let mut call = call("up.echo", &json!({"text": "x"}));
        // A claim to be read-only counts for nothing (A15).
        call.permission_level = PermissionLevel::ReadWrite;
        call.approval_mode = ApprovalMode::Wait;
        app.host.call(call)
    };
    assert_eq!(echo().await.outcome, Outcome::Success);
    assert_eq!(echo().await.outcome, Outcome::Success);
    assert_eq!(asked(), 1);
    let mut revision = app.host.tools_revision();
    revision.mark_unchanged();
    app.host.call(call("up.change", &json!({}))).await;
    revision.changed().await.unwrap();
    while echo().await.outcome != Outcome::Success {}
    assert_eq!(asked(), 2);
}

#[tokio::test]
async fn a_server_behind_an_address_is_called_with_its_headers_and_missed_when_it_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let notes = folder.path().join("notes");
    let mut server = tokio::process::Command::new(python())
        .args([script().as_os_str(), "http".as_ref(), notes.as_os_str()])
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let noted = || std::fs::read_to_string(&notes).unwrap_or_default();
    let port = loop {
        let text = noted();
        if let Some((port, _)) = text.strip_prefix("port ").and_then(|it| it.split_once('\n')) {
            break port.to_owned();
        }
        tokio::task::yield_now().await;
    };
    std::fs::write(folder.path().join("key"), "hunter22").unwrap();
    let text = format!(
        "[upstream.up]\nurl = \"http://127.0.0.1:{port}/mcp\"\nheaders = {{ X-Key = {{ secret = \
         \"k\", prefix = \"v \" }} }}\n[secrets.k]\nfrom = \"file:key\"\n"
    );
    let file = folder.path().join("belljar.toml");
    let config = from_text(&text, &file, &Sources::default()).unwrap();
    let app = start(&Setup { config, ..Setup::default() }).unwrap();
    app.upstream.start();
    app.upstream.settled().await;
    let echo = || app.host.call(call("up.echo", &json!({"text": "x"})));
    assert_eq!(echo().await.content, "x");
    assert!(noted().contains("key v hunter22"));
    let huge = app.host.call(call("up.huge", &json!({}))).await;
    assert_eq!((huge.outcome, huge.executed), (Outcome::OutputTooLarge, Executed::Maybe));
    assert_eq!(echo().await.content, "x");
    server.kill().await.unwrap();
    let gone = echo().await;
    assert_eq!((gone.outcome, gone.executed), (Outcome::Unavailable, Executed::No));
}

#[tokio::test]
async fn tools_that_were_left_out_for_a_plugin_to_come_are_offered_once_it_is_settled() {
    let folder = tempfile::tempdir().unwrap();
    let app = start(&setup(folder.path(), "plain", "")).unwrap();
    let plugin =
        ExpectedPlugin { name: "late".parse().unwrap(), wire_names: vec!["up_echo".to_owned()] };
    app.tools.expect([plugin.clone()]);
    app.upstream.start();
    app.upstream.settled().await;
    assert!(app.host.tool("up.kept").is_some() && app.host.tool("up.echo").is_none());
    app.tools.no_longer_expect(&plugin.name);
    while app.host.tool("up.echo").is_none() {
        tokio::task::yield_now().await;
    }
}
