//! `files`: nothing outside the grant is read or written, and a write is whole or not there.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;

use belljar::app::Setup;
use belljar::contract::grants::DirMode::{ReadOnly, ReadWrite};
use belljar::contract::limits::{LimitKind, Limits};
use belljar::contract::outcome::Outcome;
use belljar::events::{EventKind, Seen};
use serde_json::json;

use super::Workspace;
use crate::guests::built;
use crate::suites::harness::{builtins, call, dir, folder_with, plugins, start};

#[tokio::test]
async fn fs01_a_link_out_of_the_grant_is_not_followed_to_read_or_write() {
    let ws = Workspace::new(ReadWrite);
    ws.link("../ws_private/k.txt", "leak");
    ws.link("../ws_private", "folder");
    let private = ws.folder.path().join("ws_private/k.txt");
    ws.link(&private, "absolute");
    let before = fs::read(&private).unwrap();
    for path in ["leak", "absolute", "folder/k.txt"] {
        assert_eq!(ws.refusal("files.read", json!({"path": path})).await, "denied", "{path}");
        let write = json!({"path": path, "content": "x", "overwrite": true});
        let code = ws.refusal("files.write", write).await;
        assert!(matches!(code.as_str(), "denied" | "symlink"), "{path}: {code}");
    }
    let new = json!({"path": "folder/new.txt", "content": "x", "create_parents": true});
    assert_eq!(ws.refusal("files.write", new).await, "denied");
    assert_eq!(fs::read(&private).unwrap(), before);
    assert!(!ws.folder.path().join("ws_private/new.txt").exists());
}

#[tokio::test]
async fn fs02_a_neighbour_whose_name_begins_like_the_grants_is_outside() {
    let ws = Workspace::new(ReadWrite);
    let absolute = ws.folder.path().join("ws_private/k.txt");
    let paths = ["../ws_private/k.txt", "/ws_private/k.txt", "/ws/../ws_private/k.txt"];
    for path in paths.into_iter().chain([absolute.to_str().unwrap()]) {
        let code = ws.refusal("files.read", json!({"path": path})).await;
        assert!(matches!(code.as_str(), "denied" | "not-found"), "{path}: {code}");
        let write = json!({"path": path, "content": "x", "overwrite": true});
        ws.refusal("files.write", write).await;
    }
    assert_eq!(fs::read_to_string(absolute).unwrap(), super::SECRET);
}

#[tokio::test]
async fn fs04_without_a_grant_there_is_no_access_and_the_grant_is_named() {
    let ungranted = start(&builtins());
    let asked = json!({"path": "a.txt"});
    let result = call(&ungranted, "files.read", asked.clone()).await;
    assert_eq!(result.outcome, Outcome::ToolError);
    let missing = &result.missing_grants[0];
    assert_eq!(missing.kind, "dir");
    assert!(missing.grant.as_deref().unwrap().starts_with("--dir "), "{missing:?}");
    let said = result.error_message.unwrap();
    assert!(
        said.contains("--dir ") && said.contains("to read the files it is asked for"),
        "{said}"
    );

    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.txt"), "now").unwrap();
    let dirs = vec![dir(folder.path(), ReadOnly)];
    let granted = start(&Setup { dirs, ..builtins() });
    let result = call(&granted, "files.read", asked).await;
    assert_eq!(result.structured.unwrap()["text"], "now");
    assert!(result.missing_grants.is_empty());
}

#[tokio::test]
async fn fs05_links_that_stay_inside_work() {
    let ws = Workspace::new(ReadOnly);
    ws.write("a/real/x.txt", "inner");
    ws.link("a/real", "link");
    assert_eq!(ws.ask("files.read", json!({"path": "link/x.txt"})).await["text"], "inner");
    let listed = ws.ask("files.list", json!({"path": "link"})).await;
    assert_eq!(listed["entries"][0]["path"], "link/x.txt");
}

#[tokio::test]
async fn fs07_a_folder_granted_read_only_cant_be_written() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a", "b"] {
        fs::create_dir(folder.path().join(name)).unwrap();
        fs::write(folder.path().join(name).join("f"), name).unwrap();
    }
    let stamp = || fs::metadata(folder.path().join("b/f")).unwrap().modified().unwrap();
    let before = stamp();
    let dirs =
        vec![dir(&folder.path().join("a"), ReadWrite), dir(&folder.path().join("b"), ReadOnly)];
    let app = start(&Setup { dirs, ..builtins() });
    for (path, overwrite) in [("/b/f", true), ("/b/new", false), ("/b/deep/new", false)] {
        let write =
            json!({"path": path, "content": "x", "overwrite": overwrite, "create_parents": true});
        let result = call(&app, "files.write", write).await;
        assert_eq!(result.outcome, Outcome::ToolError, "{path}: {result:?}");
        assert_eq!(result.missing_grants[0].grant.as_deref(), Some("--dir HOST[:GUEST]:rw"));
    }
    assert_eq!(fs::read_dir(folder.path().join("b")).unwrap().count(), 1);
    assert_eq!((fs::read(folder.path().join("b/f")).unwrap(), stamp()), (b"b".to_vec(), before));
    let write = json!({"path": "/a/f", "content": "x", "overwrite": true});
    assert_eq!(call(&app, "files.write", write).await.outcome, Outcome::Success);
}

#[tokio::test]
async fn fs12_what_is_no_regular_file_is_refused_at_once() {
    let ws = Workspace::new(ReadWrite);
    ws.pipe("p");
    assert_eq!(ws.refusal("files.read", json!({"path": "p"})).await, "not-a-file");
    assert_eq!(ws.ask("files.stat", json!({"path": "p"})).await["kind"], "other");
    assert_eq!(ws.refusal("files.stat", json!({"path": "p", "hash": true})).await, "not-a-file");
    let hash = json!({"path": "p", "algorithm": "md5"});
    assert_eq!(ws.refusal("codec.hash-file", hash).await, "not-a-file");
    let write = json!({"path": "p", "content": "x", "overwrite": true});
    assert_eq!(ws.refusal("files.write", write).await, "not-a-file");
    assert_eq!(ws.app.sandbox.blocked_calls(), 0);
}

#[tokio::test]
async fn fs21_control_characters_are_refused_or_escaped_wherever_they_are_said() {
    let ws = Workspace::new(ReadWrite);
    for path in ["a\0.txt", "a\n.txt", "a\u{1b}[31m.txt"] {
        for (tool, arguments) in [
            ("files.read", json!({"path": path})),
            ("files.write", json!({"path": path, "content": "x"})),
        ] {
            let result = ws.call(tool, arguments).await;
            assert_eq!(result.outcome, Outcome::ToolError, "{result:?}");
            let said = result.error_message.unwrap();
            assert!(!said.contains(char::is_control) && said.contains("<U+00"), "{said:?}");
        }
    }
    assert!(ws.names().is_empty());
}

#[tokio::test]
async fn fs22_a_write_that_is_killed_leaves_the_old_content_or_the_new() {
    let ws = Workspace::new(ReadWrite);
    let (old, new) = ("o".repeat(400_000), "n".repeat(900_000));
    let write = json!({"path": "f.txt", "content": new, "overwrite": true});
    let needed = {
        ws.write("f.txt", &old);
        ws.call("files.write", write.clone()).await.usage.unwrap().fuel.unwrap()
    };
    let mut killed = 0;
    for part in 1..20_u64 {
        ws.write("f.txt", &old);
        let mut limits = Limits::default();
        limits.set(LimitKind::Fuel, needed * part / 20).unwrap();
        let dirs = vec![dir(&ws.path(""), ReadWrite)];
        let app = start(&Setup { dirs, limits, ..builtins() });
        let outcome = call(&app, "files.write", write.clone()).await.outcome;
        killed += u32::from(outcome == Outcome::OutOfFuel);
        let now = fs::read_to_string(ws.path("f.txt")).unwrap();
        assert!(now == old || now == new, "{part}: {} bytes", now.len());
        for name in ws.names().into_iter().filter(|name| name != "f.txt") {
            // Belljar's own mark, by which a later write removes what a killed one left.
            assert!(name.starts_with(".belljar-") && name.ends_with(".tmp"), "{name}");
            fs::remove_file(ws.path(&name)).unwrap();
        }
    }
    assert!(killed > 10, "only {killed} writes were killed, so nothing was tried");
}

#[tokio::test]
async fn a_write_needs_the_hash_of_what_it_replaces() {
    let ws = Workspace::new(ReadWrite);
    ws.write("f.txt", "one");
    let read = ws.ask("files.read", json!({"path": "f.txt"})).await;
    let bare = json!({"path": "f.txt", "content": "two"});
    assert_eq!(ws.refusal("files.write", bare).await, "exists");
    let matched = json!({"path": "f.txt", "content": "two", "if_match": read["sha256"]});
    assert_eq!(ws.ask("files.write", matched.clone()).await["created"], false);
    assert_eq!(ws.refusal("files.write", matched).await, "changed");
    assert_eq!(fs::read(ws.path("f.txt")).unwrap(), b"two");
    assert_eq!(ws.names(), ["f.txt"]);
}

#[tokio::test]
async fn a_name_that_is_no_utf8_does_not_hide_the_others() {
    let ws = Workspace::new(ReadOnly);
    ws.write("before.txt", "needle");
    ws.write("zz.txt", "needle");
    let name = std::ffi::OsStr::from_bytes(b"odd\xff.txt");
    fs::write(ws.folder.path().join("ws").join(name), "needle").unwrap();
    let mut watch = ws.app.host.events();
    let listed = ws.ask("files.list", json!({})).await;
    let noted = std::iter::from_fn(|| watch.try_next()).any(|seen| match seen {
        Seen::Event(event) => {
            matches!(&event.kind, EventKind::AuthorNote { text } if text.contains("aren't UTF-8"))
        }
        Seen::Missed(_) => false,
    });
    assert!(noted, "nobody is told that an entry was left out");
    let paths: Vec<_> =
        listed["entries"].as_array().unwrap().iter().map(|it| &it["path"]).collect();
    assert!(paths.contains(&&json!("before.txt")) && paths.contains(&&json!("zz.txt")), "{listed}");
    let found = ws.ask("search.grep", json!({"pattern": "needle", "mode": "files"})).await;
    let files = found["files"].as_array().unwrap();
    assert!(files.contains(&json!("before.txt")) && files.contains(&json!("zz.txt")), "{found}");
}

#[tokio::test]
async fn fs09_a_name_is_never_changed_on_the_way() {
    let ws = Workspace::new(ReadWrite);
    let (composed, decomposed) = ("caf\u{e9}.txt", "cafe\u{301}.txt");
    ws.write(decomposed, "decomposed");
    assert_eq!(ws.refusal("files.read", json!({"path": composed})).await, "not-found");
    let write = json!({"path": composed, "content": "composed"});
    assert_eq!(ws.ask("files.write", write).await["created"], true);
    assert_eq!(ws.ask("files.read", json!({"path": decomposed})).await["text"], "decomposed");
    assert_eq!(ws.ask("files.read", json!({"path": composed})).await["text"], "composed");
}

#[tokio::test]
async fn fs10_paths_of_other_systems_reach_nothing() {
    let ws = Workspace::new(ReadOnly);
    ws.write("x", "inside");
    for path in
        [r"c:\x", "C:/x", r"\\host\share\x", "//host/share/x", "file:///c%3A/x", r"\\?\C:\x"]
    {
        let code = ws.refusal("files.read", json!({"path": path})).await;
        assert!(matches!(code.as_str(), "denied" | "not-found"), "{path}: {code}");
    }
}

#[tokio::test]
async fn a_folder_with_too_many_entries_is_refused_before_it_is_collected() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..=100_000 {
        fs::write(folder.path().join(number.to_string()), "").unwrap();
    }
    let files = folder_with(&[("probes", built::rust("hostile"))]);
    let app = start(&Setup { dirs: vec![dir(folder.path(), ReadOnly)], ..plugins(&files) });
    let many = call(&app, "probes.read-folder", json!({"path": "."})).await;
    assert_eq!(many.outcome, Outcome::ToolError, "{:?}", many.error_message);
    assert!(many.error_message.unwrap().contains("File too large"));
}
