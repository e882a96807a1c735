//! What a tool is said to be able to do is so: each rule with a plugin that tries to break it.

mod grants;

use std::fs;
use std::path::PathBuf;

use belljar::app::{App, Setup};
use belljar::contract::effects::{Basis, Effects};
use belljar::contract::grants::{DirMode, EnvGrant};
use belljar::contract::invocation::{PermissionLevel, ToolInvocation};
use belljar::contract::outcome::{Executed, Outcome};
use belljar::contract::result::ToolResult;
use serde_json::json;

use super::harness::{call, dir, folder_with, plugins, start};
use crate::guests::built;

/// The plugin whose tags lie, and a folder `ws` with one file, granted as it may be.
struct Liar {
    folder: tempfile::TempDir,
    app: App,
    _plugins: tempfile::TempDir,
}

impl Liar {
    fn new(mode: Option<DirMode>) -> Self {
        Self::of(built::rust("writer"), mode)
    }

    fn of(component: &[u8], mode: Option<DirMode>) -> Self {
        let files = folder_with(&[("writer", component)]);
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("ws")).unwrap();
        fs::write(folder.path().join("ws/f.txt"), "as it was").unwrap();
        let dirs = mode.map(|mode| dir(&folder.path().join("ws"), mode)).into_iter().collect();
        let app = start(&Setup { dirs, ..plugins(&files) });
        Self { folder, app, _plugins: files }
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("ws/f.txt")
    }

    fn effects(&self, tool: &str) -> Effects {
        self.app.host.catalog().tool(tool).unwrap().descriptor.effects
    }

    async fn write(&self) -> ToolResult {
        call(&self.app, "writer.write", json!({"path": "f.txt", "text": "new"})).await
    }
}

#[tokio::test]
async fn a_read_only_tool_of_a_writable_plugin_cant_write() {
    let liar = Liar::new(Some(DirMode::ReadWrite));
    for path in ["f.txt", "/ws/f.txt", "new.txt"] {
        let result = call(&liar.app, "writer.read", json!({"path": path})).await;
        assert_eq!(result.outcome, Outcome::ToolError, "{result:?}");
        let missing = &result.missing_grants[0];
        assert!(missing.tried.contains("@read-only") && missing.grant.is_none(), "{missing:?}");
    }
    assert_eq!(fs::read(liar.file()).unwrap(), b"as it was");
    assert!(!liar.folder.path().join("ws/new.txt").exists());
    // Its sister, called beside it, has what it needs.
    assert_eq!(liar.write().await.outcome, Outcome::Success);
    assert_eq!(fs::read(liar.file()).unwrap(), b"new");
}

#[tokio::test]
async fn a_read_only_tool_cant_post() {
    let liar = Liar::new(Some(DirMode::ReadWrite));
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    server.set_nonblocking(true).unwrap();
    let authority = server.local_addr().unwrap().to_string();
    let posted = json!({"authority": authority, "path": "/take?all=1"});
    let result = call(&liar.app, "writer.post", posted).await;
    assert_eq!(result.outcome, Outcome::ToolError, "{result:?}");
    assert_eq!(result.missing_grants[0].kind, "http", "{result:?}");
    let knock = server.accept().map(|_| ()).map_err(|error| error.kind());
    assert_eq!(knock, Err(std::io::ErrorKind::WouldBlock), "somebody connected");
}

#[test]
fn effects_follow_from_what_is_granted() {
    let proven = |it: belljar::contract::effects::Effect| (it.value, it.basis);
    let yes = (true, Basis::Proven);
    for mode in [None, Some(DirMode::ReadOnly)] {
        let liar = Liar::new(mode);
        for tool in ["writer.read", "writer.write", "writer.post"] {
            let effects = liar.effects(tool);
            assert_eq!(proven(effects.read_only), yes, "{tool} with {mode:?}");
            assert_eq!(proven(effects.cannot_write_files), yes, "{tool} with {mode:?}");
            assert_eq!(proven(effects.closed_world), yes, "{tool} with {mode:?}");
            assert_eq!(proven(effects.destructive), (false, Basis::Proven), "{tool}");
        }
    }
    let liar = Liar::new(Some(DirMode::ReadWrite));
    assert_eq!(proven(liar.effects("writer.read").read_only), yes);
    let write = liar.effects("writer.write");
    assert_eq!(proven(write.read_only), (false, Basis::Assumed));
    assert_eq!(proven(write.cannot_write_files), (false, Basis::Assumed));
    assert_eq!(proven(write.destructive), (true, Basis::Assumed));
    assert_eq!(proven(write.closed_world), yes);
}

#[test]
fn claims_that_nobody_can_enforce_stay_claims() {
    let folder = tempfile::tempdir().unwrap();
    let dirs = vec![dir(folder.path(), DirMode::ReadWrite)];
    let app = start(&Setup { dirs, ..super::harness::builtins() });
    let tool = |name: &str| app.host.catalog().tool(name).unwrap().descriptor.effects;
    let write = tool("files.write");
    assert_eq!((write.destructive.value, write.destructive.basis), (true, Basis::Claimed));
    assert!(!write.read_only.value);
    assert!(tool("files.read").read_only.is_proven());
    assert!(tool("search.grep").read_only.is_proven());
}

#[test]
fn what_is_deterministic_depends_on_imports_and_grants() {
    let counter = folder_with(&[("counter", &built::wat("counter"))]);
    let app = start(&plugins(&counter));
    let effects = app.host.catalog().tool("counter.count").unwrap().descriptor.effects;
    assert!(effects.deterministic.is_proven());
    let sleeps = folder_with(&[("sleeps", &built::wat("sleeps"))]);
    let env = vec![EnvGrant { name: "A".into(), value: "b".into() }];
    let app = start(&Setup { env, ..plugins(&sleeps) });
    let effects = app.host.catalog().tool("sleeps.naps").unwrap().descriptor.effects;
    assert!(!effects.deterministic.value, "it imports a clock");
}

#[tokio::test]
async fn a_caller_who_may_only_read_gets_what_is_proven_and_nothing_else() {
    let liar = Liar::new(Some(DirMode::ReadWrite));
    let ask = async |tool: &str, arguments: serde_json::Value| {
        let mut call = ToolInvocation::new("c".parse().unwrap(), tool, arguments.to_string());
        call.permission_level = PermissionLevel::ReadOnly;
        liar.app.host.call(call).await
    };
    let write = ask("writer.write", json!({"path": "f.txt", "text": "new"})).await;
    assert_eq!((write.outcome, write.executed), (Outcome::ApprovalDeclined, Executed::No));
    // It runs, since the sandbox holds it to its word.
    let read = ask("writer.read", json!({"path": "f.txt"})).await;
    assert_eq!((read.outcome, read.executed), (Outcome::ToolError, Executed::Yes));
    assert_eq!(fs::read(liar.file()).unwrap(), b"as it was");
}

#[tokio::test]
async fn a_missing_grant_is_named_and_the_call_works_once_it_is_given() {
    // Without a word of what it needs; FS-04 has a plugin that says it.
    let ungranted = Liar::of(built::rust_unpacked("writer"), None);
    let result = ungranted.write().await;
    assert_eq!(result.outcome, Outcome::ToolError);
    assert_eq!(result.missing_grants.len(), 1, "{result:?}");
    let named = &result.missing_grants[0];
    let grant = named.grant.as_deref();
    assert_eq!((named.kind.as_str(), grant), ("dir", Some("--dir HOST[:GUEST][:ro|rw]")));
    let read_only = Liar::new(Some(DirMode::ReadOnly));
    let result = read_only.write().await;
    assert_eq!(result.missing_grants[0].grant.as_deref(), Some("--dir HOST[:GUEST]:rw"));
    assert_eq!(fs::read(read_only.file()).unwrap(), b"as it was");
    let granted = Liar::new(Some(DirMode::ReadWrite));
    let result = granted.write().await;
    assert_eq!(result.outcome, Outcome::Success, "{result:?}");
    assert!(result.missing_grants.is_empty());
}

#[tokio::test]
async fn a_variable_that_the_plugin_needs_and_was_not_given_is_named() {
    let why = "it greets in this language".to_owned();
    let name = "GREETING".to_owned();
    let metadata = belljar_metadata::PluginMetadata {
        needs: vec![belljar_metadata::Need::Env { name: name.clone(), why: why.clone() }],
        ..belljar_metadata::PluginMetadata::default()
    };
    let packed = belljar_metadata::pack(built::rust_unpacked("hostile"), &metadata).unwrap();
    let files = folder_with(&[("probes", &packed)]);
    let app = start(&plugins(&files));
    let missing = call(&app, "probes.environment", json!({})).await.missing_grants;
    let [one] = &missing[..] else { panic!("{missing:?}") };
    assert_eq!((one.kind.as_str(), one.grant.as_deref()), ("env", Some("--env GREETING=VALUE")));
    assert_eq!(one.why.as_deref(), Some(why.as_str()));

    let env = vec![EnvGrant { name, value: "hi".into() }];
    let app = start(&Setup { env, ..plugins(&files) });
    let given = call(&app, "probes.environment", json!({})).await;
    assert!(given.content.contains("GREETING") && given.missing_grants.is_empty(), "{given:?}");
}
