//! A whole host from a configuration: what each plugin, tool and caller gets of it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use belljar::app::{App, Setup, StartError};
use belljar::config::{Sources, Surroundings, from_text, load};
use belljar::contract::descriptor::ToolDescriptor;
use belljar::contract::grants::DirMode;
use belljar::contract::invocation::{PermissionLevel, ToolInvocation};
use belljar::contract::limits::{LimitKind, LimitOrigin};
use belljar::contract::outcome::{Executed, Outcome};
use belljar::contract::result::ToolResult;
use serde_json::json;

use super::harness::{builtins, start};
use crate::guests::built;

/// A set-up with this configuration, as if it stood in `folder`.
fn configured(folder: &Path, text: &str) -> Setup {
    let sources = Sources { builtins: &["codec", "files", "search"], ..Sources::default() };
    let config = from_text(text, &folder.join("belljar.toml"), &sources);
    Setup { config: config.unwrap_or_else(|error| panic!("{error}")), ..builtins() }
}

fn tool<'a>(app: &'a App, name: &str) -> &'a ToolDescriptor {
    &app.host.catalog().tool(name).unwrap_or_else(|| panic!("no `{name}`")).descriptor
}

async fn read(app: &App, workspace: Option<&str>, path: &str) -> ToolResult {
    let arguments = json!({ "path": path }).to_string();
    let mut call = ToolInvocation::new("a-call".parse().unwrap(), "files.read", arguments);
    call.permission_level = PermissionLevel::Full;
    call.workspace = workspace.map(str::to_owned);
    app.host.call(call).await
}

#[test]
fn limits_are_the_tools_else_the_plugins_else_everybodys() {
    let folder = tempfile::tempdir().unwrap();
    let app = start(&configured(
        folder.path(),
        "[limits]\nfuel = 1000000\nmemory = \"32MiB\"\n\
         [plugins.codec.limits]\nfuel = 2000000\n\
         [plugins.codec.tools.hash.limits]\nfuel = 3000000\n",
    ));
    let fuel = |name| tool(&app, name).limits.get(LimitKind::Fuel);
    for (name, value) in [("codec.hash", 3), ("codec.encode", 2), ("files.read", 1)] {
        assert_eq!(
            (fuel(name).value, fuel(name).origin),
            (value * 1_000_000, LimitOrigin::Operator)
        );
    }
    assert_eq!(tool(&app, "codec.hash").limits.get(LimitKind::Memory).value, 32 << 20);
}

#[test]
fn what_this_run_sets_wins_over_the_configuration() {
    let folder = tempfile::tempdir().unwrap();
    let text = "[limits]\nfuel = 1000000\n[plugins.codec.tools.hash.limits]\nfuel = 3000000\n";
    let mut setup = configured(folder.path(), text);
    setup.limits.set(LimitKind::Fuel, 5).unwrap();
    let app = start(&setup);
    for name in ["codec.hash", "files.read"] {
        assert_eq!(tool(&app, name).limits.get(LimitKind::Fuel).value, 5, "{name}");
    }
}

#[tokio::test]
async fn plugins_builtins_and_wire_names_are_those_of_the_configuration() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("c.wasm"), built::wat("counter")).unwrap();
    let app = start(&configured(
        folder.path(),
        "builtins = [\"codec\"]\n[plugins.tally]\npath = \"c.wasm\"\n\
         [plugins.codec.tools.hash]\nwire_name = \"checksum\"\n",
    ));
    let names: Vec<_> =
        app.host.catalog().plugins().iter().map(|it| it.identity.name.to_string()).collect();
    assert_eq!(names, ["codec", "tally"]);
    assert_eq!(tool(&app, "checksum").id.to_string(), "codec.hash");
    assert!(app.host.catalog().tool("codec_hash").is_none());
}

#[test]
fn a_wire_name_that_another_tool_has_stops_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let text = "[plugins.codec.tools.hash]\nwire_name = \"files_read\"\n";
    let error = belljar::app::start(&configured(folder.path(), text)).unwrap_err();
    assert!(error.to_string().contains("the same wire name"), "{error}");
}

#[test]
fn a_tool_that_is_not_there_stops_the_start_since_it_may_have_been_denied() {
    let folder = tempfile::tempdir().unwrap();
    let text = "[plugins.files.tools.wrte]\ngate = { deny = true }\n";
    let error = belljar::app::start(&configured(folder.path(), text)).unwrap_err().to_string();
    for word in ["`wrte`", "`files`", "the nearest is `write`"] {
        assert!(error.contains(word), "{error}");
    }
}

#[tokio::test]
async fn folders_of_this_run_stand_behind_those_of_a_template() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("acme")).unwrap();
    fs::create_dir_all(folder.path().join("more")).unwrap();
    fs::write(folder.path().join("acme/f.txt"), "of acme").unwrap();
    fs::write(folder.path().join("more/f.txt"), "of this run").unwrap();
    let text = "[grants]\ndirs = [{ path = \"{workspace}\", guest = \".\" }]\n";
    let mut setup = configured(folder.path(), text);
    setup.dirs = vec![super::harness::dir(&folder.path().join("more"), DirMode::ReadOnly)];
    let app = start(&setup);
    for (path, words) in [("f.txt", "of acme"), ("/more/f.txt", "of this run")] {
        let result = read(&app, Some("acme"), path).await;
        assert!(result.content.contains(words), "{result:?}");
    }
}

#[tokio::test]
async fn each_caller_gets_its_own_share_of_a_template_and_nobody_elses() {
    let folder = tempfile::tempdir().unwrap();
    for (tenant, text) in [("acme", "of acme"), ("globex", "of globex")] {
        fs::create_dir(folder.path().join(tenant)).unwrap();
        fs::write(folder.path().join(tenant).join("f.txt"), text).unwrap();
    }
    symlink(folder.path().join("globex"), folder.path().join("sly")).unwrap();
    let text = "[grants]\ndirs = [{ path = \"{workspace}\", guest = \"/share\" }]\n";
    let app = start(&configured(folder.path(), text));
    for (tenant, words) in [("acme", "of acme"), ("globex", "of globex")] {
        let result = read(&app, Some(tenant), "/share/f.txt").await;
        assert_eq!(result.outcome, Outcome::Success, "{result:?}");
        assert!(result.content.contains(words), "{}", result.content);
    }
    let refused = [
        (None, "the caller's workspace, and it has none"),
        (Some("../acme"), "no plain name"),
        (Some("nobody"), "No such file"),
        (Some("sly"), "is a link"),
    ];
    for (workspace, words) in refused {
        let result = read(&app, workspace, "/share/f.txt").await;
        assert_eq!(
            (result.outcome, result.executed),
            (Outcome::Denied, Executed::No),
            "{result:?}"
        );
        assert!(result.content.contains(words), "{workspace:?}: {}", result.content);
        let host = folder.path().to_string_lossy().into_owned();
        assert!(!result.content.contains(&host), "{}", result.content);
    }
    assert!(tool(&app, "files.read").effects.read_only.is_proven());
}

#[tokio::test]
async fn a_template_that_may_be_written_is_no_read_only_grant() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("acme")).unwrap();
    let text = "[grants]\ndirs = [{ path = \"{workspace}\", guest = \"/share\", mode = \"rw\" }]\n";
    let app = start(&configured(folder.path(), text));
    assert!(!tool(&app, "files.write").effects.read_only.value);
    assert!(tool(&app, "files.read").effects.read_only.is_proven(), "its tag holds it to reading");
    let arguments = json!({"path": "/share/new.txt", "content": "x"}).to_string();
    let mut call = ToolInvocation::new("a-call".parse().unwrap(), "files.write", arguments);
    call.permission_level = PermissionLevel::Full;
    call.workspace = Some("acme".to_owned());
    let result = app.host.call(call).await;
    assert_eq!(result.outcome, Outcome::Success, "{result:?}");
    assert_eq!(fs::read(folder.path().join("acme/new.txt")).unwrap(), b"x");
}

#[test]
fn no_plugin_may_write_where_belljar_keeps_what_is_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let own = [("state = \"kept\"", "kept"), ("[audit]\npath = \"log\"", "log")];
    for (text, name) in own {
        let kept = folder.path().join(name);
        for granted in [folder.path().to_owned(), kept.clone(), kept.join("inside")] {
            fs::create_dir_all(&granted).unwrap();
            let grants =
                format!("{text}\n[grants]\ndirs = [{{ path = {granted:?}, mode = \"rw\" }}]\n");
            let refused = belljar::app::start(&configured(folder.path(), &grants));
            assert!(matches!(refused, Err(StartError::Folder { .. })), "{granted:?}: {refused:?}");
        }
        fs::remove_dir_all(&kept).unwrap();
    }
    let beside = folder.path().join("beside");
    fs::create_dir(&beside).unwrap();
    fs::write(folder.path().join("belljar.toml"), "").unwrap();
    let writable = |path: &Path| {
        let text = format!("[grants]\ndirs = [{{ path = {path:?}, mode = \"rw\" }}]\n");
        belljar::app::start(&configured(folder.path(), &text))
    };
    let refused = writable(folder.path()).unwrap_err();
    assert!(refused.to_string().contains("its configuration"), "{refused}");
    writable(&beside).unwrap();
}

#[test]
fn no_link_on_the_way_to_belljars_own_may_be_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let (links, real) = (folder.path().join("links"), folder.path().join("real"));
    fs::create_dir(&links).unwrap();
    fs::create_dir(&real).unwrap();
    symlink(&real, links.join("state")).unwrap();
    let text = format!(
        "state = {:?}\n[grants]\ndirs = [{{ path = {links:?}, mode = \"rw\" }}]\n",
        links.join("state/belljar")
    );
    let refused = belljar::app::start(&configured(folder.path(), &text)).unwrap_err();
    assert!(refused.to_string().contains("its approvals"), "{refused}");
}

#[test]
fn no_plugin_may_make_the_configuration_that_isnt_there_yet() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("config");
    fs::create_dir(&home).unwrap();
    let place = Some(home.clone().into_os_string());
    let surroundings = Surroundings { xdg_config_home: place, ..Surroundings::default() };
    let config = load(&Sources { surroundings, ..Sources::default() }).unwrap();
    assert_eq!(config.file, None);
    let dirs = vec![super::harness::dir(&home, DirMode::ReadWrite)];
    let refused = belljar::app::start(&Setup { config, dirs, ..builtins() }).unwrap_err();
    assert!(refused.to_string().contains("its configuration"), "{refused}");
}

#[test]
fn a_configuration_without_a_word_makes_belljars_own_defaults() {
    let sources = Sources::default();
    let config = from_text("", Path::new("/belljar.toml"), &sources).unwrap();
    let setup = Setup { config, ..builtins() };
    belljar::app::check(&setup.config).unwrap();
    let app = start(&setup);
    assert_eq!(app.host.catalog().plugins().len(), 3);
}
