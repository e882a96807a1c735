//! The builtins in their sandboxes, from JSON to the disk and back.

mod codec;
mod files;
mod search;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use belljar::app::{App, Setup};
use belljar::contract::grants::DirMode;
use belljar::contract::outcome::Outcome;
use belljar::contract::result::ToolResult;
use serde_json::Value;

use super::harness::{builtins, call, dir, start};

/// What lies outside the grant; no answer may hold it.
const SECRET: &str = "what nobody granted";

/// A folder `ws`, granted, with a neighbour `ws_private` that isn't.
struct Workspace {
    folder: tempfile::TempDir,
    app: App,
}

impl Workspace {
    fn new(mode: DirMode) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("ws")).unwrap();
        fs::create_dir(folder.path().join("ws_private")).unwrap();
        fs::write(folder.path().join("ws_private/k.txt"), SECRET).unwrap();
        let dirs = vec![dir(&folder.path().join("ws"), mode)];
        let app = start(&Setup { dirs, ..builtins() });
        Self { folder, app }
    }

    fn path(&self, relative: &str) -> PathBuf {
        self.folder.path().join("ws").join(relative)
    }

    fn write(&self, relative: &str, content: impl AsRef<[u8]>) {
        fs::create_dir_all(self.path(relative).parent().unwrap()).unwrap();
        fs::write(self.path(relative), content).unwrap();
    }

    fn link(&self, target: impl AsRef<Path>, relative: &str) {
        symlink(target, self.path(relative)).unwrap();
    }

    fn pipe(&self, relative: &str) {
        assert!(Command::new("mkfifo").arg(self.path(relative)).status().unwrap().success());
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path("")).unwrap();
        let mut names: Vec<_> =
            entries.map(|it| it.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    async fn call(&self, tool: &str, arguments: Value) -> ToolResult {
        let result = call(&self.app, tool, arguments).await;
        assert!(!serde_json::to_string(&result).unwrap().contains(SECRET), "{result:?}");
        result
    }

    /// The answer of a call that must work.
    async fn ask(&self, tool: &str, arguments: Value) -> Value {
        let result = self.call(tool, arguments).await;
        assert_eq!(result.outcome, Outcome::Success, "{result:?}");
        result.structured.unwrap()
    }

    /// The `code` of a call that the tool must refuse.
    async fn refusal(&self, tool: &str, arguments: Value) -> String {
        let result = self.call(tool, arguments).await;
        assert_eq!(result.outcome, Outcome::ToolError, "{result:?}");
        result.structured.unwrap()["code"].as_str().unwrap().to_owned()
    }
}
