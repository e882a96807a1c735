//! Servers of the revision 2026-07-28, which knows no handshake: over both ways, a plain one and
//! belljar itself.

use super::*;
use crate::frontends::access::Access;
use crate::frontends::mcp::{McpFrontend, McpSettings};

/// A server behind an address.
struct Listening {
    server: tokio::process::Child,
    notes: PathBuf,
    port: String,
}

impl Listening {
    async fn new(folder: &Path, mode: &str, port: &str) -> Self {
        let notes = folder.join("notes");
        let server = tokio::process::Command::new(python())
            .args([script().as_os_str(), mode.as_ref(), notes.as_os_str(), port.as_ref()])
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut it = Self { server, notes, port: port.to_owned() };
        it.noted("port ").await;
        let notes = it.noted_all();
        let port = notes.lines().find_map(|line| line.strip_prefix("port ")).unwrap();
        it.port = port.to_owned();
        it
    }

    fn noted_all(&self) -> String {
        std::fs::read_to_string(&self.notes).unwrap_or_default()
    }

    async fn noted(&self, what: &str) {
        while !self.noted_all().contains(what) {
            tokio::task::yield_now().await;
        }
    }
}

/// A host on a server at this address.
async fn host_on(url: &str) -> App {
    let text = format!("[upstream.up]\nurl = \"{url}\"\n");
    let config = from_text(&text, Path::new("/nowhere/belljar.toml"), &Sources::default()).unwrap();
    let app = start(&Setup { config, ..Setup::default() }).unwrap();
    app.upstream.start();
    app.upstream.settled().await;
    app
}

async fn ended_as(app: &App, tool: &str, arguments: Value) -> (Outcome, Executed, String) {
    let result = app.host.call(call(tool, &arguments)).await;
    (result.outcome, result.executed, result.content)
}

/// Cancels a call once `started`.
async fn cancelled(app: &App, tool: &str, started: impl Future<Output = ()>) -> ToolResult {
    let cancel = CancellationToken::new();
    let waiting = app.host.call_with(call(tool, &json!({})), cancel.clone());
    let cancelling = async {
        started.await;
        cancel.cancel();
    };
    tokio::join!(waiting, cancelling).0
}

/// Waits until the host says otherwise of a tool than `before`.
async fn described_anew(app: &App, tool: &str, before: &ToolDescriptor) {
    let mut revision = app.host.tools_revision();
    loop {
        let now = app.host.tool(tool).map(|it| it.descriptor.plugin.digest);
        if now.is_some_and(|now| now != before.plugin.digest) {
            return;
        }
        revision.changed().await.unwrap();
    }
}

#[tokio::test]
async fn a_modern_child_is_listed_called_cancelled_and_met_again() {
    let bench = Bench::new("modern", "").await;
    let app = &bench.app;
    let echo = bench.tool("up.echo");
    assert_eq!(echo.plugin.version.as_deref(), Some("1.0"));
    let said = ended_as(app, "up.echo", json!({"text": "x"})).await;
    assert_eq!(said, (Outcome::Success, Executed::Yes, "x".to_owned()));
    let kept = bench.call("up.kept", json!({})).await;
    assert_eq!((kept.content.as_str(), kept.structured), ("seven", Some(json!({"n": 7}))));
    for (tool, outcome, words) in [
        ("up.fail", Outcome::ToolError, "it failed: \u{1b}[2J"),
        ("up.refuse", Outcome::ToolError, "the server refused the call (error -32602)"),
        ("up.broken", Outcome::ToolError, "its own output schema"),
        ("up.ask", Outcome::ToolError, "asks for further input"),
        ("up.kinds-of-things", Outcome::Success, "one\ntwo"),
    ] {
        let (ended, executed, content) = ended_as(app, tool, json!({})).await;
        assert_eq!((ended, executed), (outcome, Executed::Yes), "{tool}: {content}");
        assert!(content.contains(words), "{tool}: {content}");
    }
    let result = cancelled(app, "up.wait", bench.noted("waiting")).await;
    assert_eq!((result.outcome, result.executed), (Outcome::Interrupted, Executed::Maybe));
    bench.noted("cancelled").await;
    let mut events = app.host.events();
    let died = bench.call("up.die", json!({})).await;
    assert_eq!((died.outcome, died.executed), (Outcome::Unavailable, Executed::Maybe));
    up_again(&mut events).await;
    assert_eq!(bench.call("up.echo", json!({"text": "y"})).await.content, "y");
}

#[tokio::test]
async fn a_modern_child_tells_of_its_changes() {
    let bench = Bench::new("modern", "").await;
    let before = bench.tool("up.echo");
    assert_eq!(bench.call("up.change", json!({})).await.content, "changed");
    described_anew(&bench.app, "up.echo", &before).await;
    assert_eq!(bench.tool("up.echo").description, "sends everything home");
}

#[tokio::test]
async fn a_modern_server_behind_an_address_is_called_and_cancelled_by_hanging_up() {
    let folder = tempfile::tempdir().unwrap();
    let server = Listening::new(folder.path(), "modern-http", "0").await;
    let app = host_on(&format!("http://127.0.0.1:{}/mcp", server.port)).await;
    let app = &app;
    for (tool, arguments, expected) in [
        ("up.echo", json!({"text": "x"}), (Outcome::Success, Executed::Yes)),
        ("up.kinds-of-things", json!({}), (Outcome::Success, Executed::Yes)),
        ("up.fail", json!({}), (Outcome::ToolError, Executed::Yes)),
        ("up.refuse", json!({}), (Outcome::ToolError, Executed::Yes)),
        ("up.ask", json!({}), (Outcome::ToolError, Executed::Yes)),
        // No JSON, and no kind of content that could be an answer.
        ("up.garbled", json!({}), (Outcome::Crashed, Executed::Maybe)),
        ("up.headless", json!({}), (Outcome::Crashed, Executed::Maybe)),
        ("up.huge", json!({}), (Outcome::OutputTooLarge, Executed::Maybe)),
    ] {
        let (outcome, executed, content) = ended_as(app, tool, arguments).await;
        assert_eq!((outcome, executed), expected, "{tool}: {content}");
    }
    assert!(!server.noted_all().contains("hung up\nwaiting"));
    let result = cancelled(app, "up.wait", server.noted("waiting")).await;
    assert_eq!((result.outcome, result.executed), (Outcome::Interrupted, Executed::Maybe));
    let noted = server.noted_all();
    let since = noted.split("waiting").next().unwrap().len();
    while !server.noted_all()[since..].contains("hung up") {
        tokio::task::yield_now().await;
    }
    let eras: BTreeSet<_> =
        noted.lines().filter_map(|line| Some(line.split_once(" of ")?.1)).collect();
    assert_eq!(eras, BTreeSet::from(["2026-07-28"]));
}

#[tokio::test]
async fn a_modern_server_that_goes_is_missed_and_its_successor_is_listed_anew() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Listening::new(folder.path(), "modern-http", "0").await;
    // Its successor can't be taken for it: it notes its port elsewhere.
    let other = tempfile::tempdir().unwrap();
    let app = host_on(&format!("http://127.0.0.1:{}/mcp", server.port)).await;
    let before = app.host.tool("up.echo").unwrap().descriptor;
    let (outcome, executed, content) = ended_as(&app, "up.die", json!({})).await;
    assert_eq!((outcome, executed), (Outcome::Unavailable, Executed::Maybe), "{content}");
    server.server.wait().await.unwrap();
    let (outcome, executed, content) = ended_as(&app, "up.kept", json!({})).await;
    assert_eq!((outcome, executed), (Outcome::Unavailable, Executed::No), "{content}");
    let _other = Listening::new(other.path(), "modern-http-changed", &server.port).await;
    described_anew(&app, "up.echo", &before).await;
    let (outcome, ..) = ended_as(&app, "up.echo", json!({"text": "x"})).await;
    assert_eq!(outcome, Outcome::Success);
}

#[tokio::test]
async fn t42_a_malformed_tool_behind_an_address_leaves_the_others_alone_in_both_eras() {
    // In the newer one a call may have to repeat arguments in headers, which only a transport that
    // could read the list knows of.
    let old = ["up.fine", "up.fine-too", "up.sent"].as_slice();
    for (mode, offered) in [("http-malformed", old), ("modern-http-malformed", &old[..2])] {
        let folder = tempfile::tempdir().unwrap();
        let server = Listening::new(folder.path(), mode, "0").await;
        let app = host_on(&format!("http://127.0.0.1:{}/mcp", server.port)).await;
        let ids: BTreeSet<_> =
            app.host.tools().iter().map(|it| it.descriptor.id.to_string()).collect();
        let offered: BTreeSet<_> = offered.iter().map(|it| (*it).to_owned()).collect();
        assert_eq!(ids, offered, "{mode}");
        let said = ended_as(&app, "up.fine-too", json!({"text": "x"})).await;
        assert_eq!(said, (Outcome::Success, Executed::Yes, "x".to_owned()), "{mode}");
    }
}

/// A belljar that serves the tools of a plain server.
async fn inner() -> (Bench, McpFrontend, Config) {
    let more = "[callers.outer]\nlevel = \"FULL\"\n[serve]\nanonymous = \"outer\"\n";
    let bench = Bench::new("plain", more).await;
    let config = setup(bench.folder.path(), "plain", more).config;
    let settings = McpSettings { drain: Duration::ZERO, ..McpSettings::default() };
    let frontend = McpFrontend::new(bench.app.host.clone(), settings).unwrap();
    (bench, frontend, config)
}

/// What a belljar has to be for another.
async fn serves(inner: &Bench, outer: &App) {
    let echo = outer.host.tool("up.up-echo").unwrap().descriptor;
    assert_eq!(echo.original_name.as_deref(), Some("up_echo"));
    assert!(!echo.effects.read_only.is_proven());
    for (tool, arguments, expected) in [
        ("up.up-echo", json!({"text": "x"}), (Outcome::Success, "x")),
        ("up.up-kinds-of-things", json!({}), (Outcome::Success, "one\ntwo")),
        ("up.up-fail", json!({}), (Outcome::ToolError, "it failed: \u{1b}[2J")),
        ("up.up-kept", json!({}), (Outcome::Success, "seven")),
    ] {
        let (outcome, _, content) = ended_as(outer, tool, arguments).await;
        assert_eq!(outcome, expected.0, "{tool}: {content}");
        assert!(content.contains(expected.1), "{tool}: {content}");
    }
    let result = cancelled(outer, "up.up-wait", inner.noted("waiting")).await;
    assert_eq!((result.outcome, result.executed), (Outcome::Interrupted, Executed::Maybe));
    // All the way to whoever runs it.
    inner.noted("cancelled").await;
    assert_eq!(inner.call("up.change", json!({})).await.content, "changed");
    described_anew(outer, "up.up-echo", &echo).await;
}

#[cfg(feature = "http")]
#[tokio::test]
async fn belljar_offers_the_tools_of_a_belljar_behind_an_address() {
    use crate::frontends::http::{HttpFrontend, HttpParts, client};
    let (inner, frontend, config) = inner().await;
    let shutdown = CancellationToken::new();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let local = listener.local_addr().unwrap();
    let (host, config) = (inner.app.host.clone(), Arc::new(config));
    let http = HttpFrontend::new(HttpParts { host, config, local, expose: None }).unwrap();
    let gateway = Arc::new(inner.app.clients.clone());
    let beside = client::routes(gateway, shutdown.clone());
    let router = http.router(beside.route("/mcp", frontend.over_http(shutdown.clone())));
    let stop = shutdown.clone();
    let serving =
        tokio::spawn(async move { http.run(listener, router, stop, Duration::ZERO).await });
    let outer = host_on(&format!("http://{local}/mcp")).await;
    serves(&inner, &outer).await;
    shutdown.cancel();
    serving.await.unwrap().unwrap();
    let mut outcome = (Outcome::Success, Executed::Yes);
    // A connection that is kept open still has somebody behind it.
    while outcome != (Outcome::Unavailable, Executed::No) {
        let ended = ended_as(&outer, "up.up-change", json!({})).await;
        outcome = (ended.0, ended.1);
    }
}

#[tokio::test]
async fn belljar_offers_the_tools_of_a_belljar_that_is_its_child() {
    let (inner, frontend, config) = inner().await;
    let access = Access::new(&config, "outer").unwrap();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let shutdown = CancellationToken::new();
    let stop = shutdown.clone();
    let serving = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let (read, write) = stream.into_split();
        frontend.serve(access, read, write, stop).await
    });
    let folder = tempfile::tempdir().unwrap();
    let mut setup = setup(folder.path(), "bridge", "");
    let UpstreamWay::Child { args, .. } = &mut setup.config.upstream[0].way else { panic!() };
    args.push(port);
    let app = start(&setup).unwrap();
    app.upstream.start();
    app.upstream.settled().await;
    let outer = Bench { folder, app };
    serves(&inner, &outer.app).await;
    let notes = outer.notes();
    let asked: Vec<_> = notes.lines().filter_map(|line| line.strip_prefix("asked ")).collect();
    assert_eq!(asked[0], "server/discover");
    assert!(!asked.contains(&"initialize"), "{notes}");
    let mut events = outer.app.host.events();
    shutdown.cancel();
    serving.await.unwrap().unwrap();
    let reason = down(&mut events).await;
    assert!(reason.contains("exit status 5"), "{reason}");
    let ended = ended_as(&outer.app, "up.up-change", json!({})).await;
    assert_eq!((ended.0, ended.1), (Outcome::Unavailable, Executed::No), "{}", ended.2);
}
