//! A configuration with a state folder of its own, and the binary run with it. Judges nothing.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use crate::suites::harness::{Ran, belljar};

/// Asks for every write.
pub(super) const ASK: &str = "[[policy.rules]]\naction = \"ask\"\ntool = \"files.write\"\nreason = \
                              \"it changes files\"\n";

/// A folder with a configuration and its state, and a workspace beside it; gone afterwards.
pub(super) struct Place {
    _root: tempfile::TempDir,
    workspace: PathBuf,
    configured: PathBuf,
}

impl Place {
    /// With these lines in the configuration, beside its folder for state.
    pub(super) fn new(more: &str) -> Self {
        let root = tempfile::tempdir().unwrap();
        let (workspace, configured) = (root.path().join("ws"), root.path().join("configured"));
        fs::create_dir(&workspace).unwrap();
        fs::create_dir(&configured).unwrap();
        let place = Self { _root: root, workspace, configured };
        place.configure(more);
        place
    }

    /// Where every write is asked about and nobody waits long.
    pub(super) fn asking() -> Self {
        Self::new(&format!("[approvals]\nhand_back = \"1ms\"\n{ASK}"))
    }

    /// Puts another configuration in place.
    pub(super) fn configure(&self, more: &str) {
        fs::write(self.path().join("belljar.toml"), format!("state = \"state\"\n{more}")).unwrap();
    }

    /// Where the configuration is.
    pub(super) fn path(&self) -> &Path {
        &self.configured
    }

    /// What the tools see as `/ws`.
    pub(super) fn workspace(&self) -> &Path {
        &self.workspace
    }

    pub(super) fn database(&self) -> PathBuf {
        self.path().join("state/approvals.sqlite")
    }

    /// The binary with this configuration.
    pub(super) fn command(&self) -> Command {
        let mut command = belljar();
        command.arg("--config").arg(self.path().join("belljar.toml"));
        command
    }

    pub(super) fn run<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Ran {
        Ran::of(self.command().args(args).output().unwrap())
    }

    /// Calls `files.write`, asking through the queue.
    pub(super) fn write(&self, path: &str, content: &str, more: &[&str]) -> Ran {
        let arguments = json!({"path": path, "content": content}).to_string();
        let mut command = self.command();
        command.args([
            "call",
            "files.write",
            &arguments,
            "--approvals",
            "queue",
            "--json",
            "--dir",
        ]);
        command.arg(format!("{}:/ws:rw", self.workspace().display())).args(more);
        Ran::of(command.output().unwrap())
    }

    /// The id of the request that such a call leaves.
    #[track_caller]
    pub(super) fn asked(&self, path: &str, content: &str) -> String {
        let ran = self.write(path, content, &[]).ends_with(3);
        let result = ran.json();
        assert_eq!(result["outcome"], "approval_pending", "{ran:?}");
        result["approval"]["approval"].as_str().unwrap_or_else(|| panic!("{ran:?}")).to_owned()
    }
}
