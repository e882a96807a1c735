//! Grants that would undo each other, or belljar itself, are not given.

use std::fs;
use std::os::unix::fs::{DirBuilderExt as _, symlink};
use std::path::Path;

use belljar::app::{DirRequest, Setup, StartError};
use belljar::contract::grants::DirMode::{self, ReadOnly, ReadWrite};
use belljar::contract::grants::GrantError;
use belljar::contract::outcome::Outcome;
use serde_json::json;

use crate::guests::built;
use crate::suites::harness::{builtins, call, dir, folder_with, plugins, start};

fn grant(host: &Path, guest: &str, mode: DirMode) -> DirRequest {
    DirRequest { guest: Some(guest.to_owned()), ..dir(host, mode) }
}

#[test]
fn nested_folders_of_different_modes_are_refused_however_they_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let (outer, inner) = (folder.path().join("a"), folder.path().join("a/b"));
    fs::create_dir_all(&inner).unwrap();
    let link = folder.path().join("link");
    symlink(&inner, &link).unwrap();
    let detour = outer.join("b/../../a/b");
    for same in [&inner, &link, &detour, &outer] {
        for (first, second) in [(ReadWrite, ReadOnly), (ReadOnly, ReadWrite)] {
            let dirs = vec![grant(&outer, "/outer", first), grant(same, "/inner", second)];
            let refused = belljar::app::start(&Setup { dirs, ..Setup::default() });
            assert!(
                matches!(refused, Err(StartError::Grant(GrantError::OverlappingModes(..)))),
                "{same:?} {first:?}: {refused:?}"
            );
        }
        let dirs = vec![grant(&outer, "/outer", ReadWrite), grant(same, "/inner", ReadWrite)];
        belljar::app::start(&Setup { dirs, ..Setup::default() }).unwrap();
    }
}

#[tokio::test]
async fn nothing_gets_from_a_writable_folder_into_a_read_only_one() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["rw", "ro"] {
        fs::create_dir(folder.path().join(name)).unwrap();
        fs::write(folder.path().join(name).join("f.txt"), name).unwrap();
    }
    let files = folder_with(&[("probes", built::rust("hostile"))]);
    let dirs =
        vec![dir(&folder.path().join("rw"), ReadWrite), dir(&folder.path().join("ro"), ReadOnly)];
    let app = start(&Setup { dirs, ..plugins(&files) });
    for tool in ["rename", "hard-link", "copy"] {
        for new in ["/ro/f.txt", "/ro/new.txt"] {
            let arguments = json!({"existing": "/rw/f.txt", "new": new});
            let result = call(&app, &format!("probes.{tool}"), arguments).await;
            assert_eq!(result.outcome, Outcome::ToolError, "{tool} {new}: {result:?}");
        }
        // The other way it would take the file away, or give the read-only one a writable name.
        if tool != "copy" {
            let arguments = json!({"existing": "/ro/f.txt", "new": "/rw/new.txt"});
            let result = call(&app, &format!("probes.{tool}"), arguments).await;
            assert_eq!(result.outcome, Outcome::ToolError, "{tool}: {result:?}");
        }
    }
    assert_eq!(fs::read(folder.path().join("ro/f.txt")).unwrap(), b"ro");
    assert_eq!(fs::read_dir(folder.path().join("ro")).unwrap().count(), 1);
    assert_eq!(fs::read(folder.path().join("rw/f.txt")).unwrap(), b"rw");
}

/// A set-up that keeps its code in `code`, with one folder granted.
fn keeping(code: &Path, host: &Path, mode: DirMode) -> Setup {
    Setup {
        code_folder: Some(code.to_owned()),
        dirs: vec![grant(host, "/w", mode)],
        builtins: false,
        ..builtins()
    }
}

#[test]
fn no_plugin_may_write_where_compiled_code_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    let code = cache.join("belljar/code");
    fs::create_dir_all(code.parent().unwrap()).unwrap();
    fs::DirBuilder::new().mode(0o700).create(&code).unwrap();
    let inside = code.join("inside");
    fs::create_dir(&inside).unwrap();
    let link = folder.path().join("link");
    symlink(&code, &link).unwrap();
    for host in [folder.path(), &cache, &code, &inside, &link] {
        let refused = belljar::app::start(&keeping(&code, host, ReadWrite));
        assert!(matches!(refused, Err(StartError::Folder { .. })), "{host:?}: {refused:?}");
        belljar::app::start(&keeping(&code, host, ReadOnly)).unwrap();
    }
    let beside = folder.path().join("beside");
    fs::create_dir(&beside).unwrap();
    belljar::app::start(&keeping(&code, &beside, ReadWrite)).unwrap();
}

#[test]
fn a_code_folder_that_is_not_there_yet_is_guarded_too() {
    let folder = tempfile::tempdir().unwrap();
    let real = folder.path().join("real");
    fs::create_dir(&real).unwrap();
    let link = folder.path().join("link");
    symlink(&real, &link).unwrap();
    for code in [real.join("belljar/code"), link.join("belljar/code")] {
        let refused = belljar::app::start(&keeping(&code, &real, ReadWrite));
        assert!(matches!(refused, Err(StartError::Folder { .. })), "{code:?}: {refused:?}");
    }
}

#[tokio::test]
async fn processes_are_no_files_of_any_grant() {
    for (host, mode) in [("/proc", ReadOnly), ("/proc/self", ReadWrite)] {
        let dirs = vec![dir(Path::new(host), mode)];
        let refused = belljar::app::start(&Setup { dirs, ..Setup::default() }).unwrap_err();
        assert!(refused.to_string().contains("a part of /proc"), "{refused}");
    }
    let files = folder_with(&[("probes", built::rust("hostile"))]);
    let dirs = vec![grant(Path::new("/"), "/all", ReadOnly)];
    let app = start(&Setup { dirs, ..plugins(&files) });
    for path in ["proc/self/environ", "proc/self/maps", "proc/version", "/all/proc/self/environ"] {
        let result = call(&app, "probes.read-file", json!({ "path": path })).await;
        assert_eq!(result.outcome, Outcome::ToolError, "{path}: {result:?}");
        assert!(result.missing_grants.iter().any(|one| one.tried.contains("/proc")), "{result:?}");
    }
    let listing = call(&app, "probes.read-folder", json!({"path": "proc"})).await;
    assert_eq!(listing.outcome, Outcome::ToolError, "{listing:?}");
}
