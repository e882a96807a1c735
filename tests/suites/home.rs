//! A home of its own for the binary: a configuration, what is kept, a folder that tools may write
//! in. Judges nothing.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::harness::{Ran, own_state, settled};

/// Gone afterwards, with all that is in it.
pub(crate) struct Home(tempfile::TempDir);

impl Home {
    /// With these lines in the configuration, after which tables may follow.
    pub(crate) fn new(more: &str) -> Self {
        let home = Self(tempfile::tempdir().unwrap());
        for folder in ["config", "ws"] {
            fs::create_dir(home.path(folder)).unwrap();
        }
        home.configure(more);
        home
    }

    /// Puts another configuration in place.
    pub(crate) fn configure(&self, more: &str) {
        let grants = "[grants]\ndirs = [{ path = \"../ws\", guest = \"/ws\", mode = \"rw\" }]\n";
        fs::write(self.path("config/belljar.toml"), format!("{more}\n{grants}")).unwrap();
    }

    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.0.path().join(relative)
    }

    /// Whether a tool has written this file.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.path("ws").join(name).exists()
    }

    /// The binary itself, so that its process id is the one to end; or another program with the
    /// same surroundings.
    pub(crate) fn command(&self) -> Command {
        self.program(Path::new(env!("CARGO_BIN_EXE_belljar")))
    }

    pub(crate) fn program(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        settled(&mut command);
        own_state(&mut command, &self.path("state"));
        command.env("BELLJAR_CONFIG", self.path("config/belljar.toml"));
        command.current_dir(self.0.path()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub(crate) fn run<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Ran {
        Ran::of(self.command().args(args).output().unwrap())
    }

    /// Writes the lines of a batch, and gives the command that runs it.
    pub(crate) fn batch(&self, file: &str, calls: &[Value], more: &[&str]) -> Command {
        let lines: String = calls.iter().map(|call| format!("{call}\n")).collect();
        fs::write(self.path(file), lines).unwrap();
        let mut command = self.command();
        command.args(["batch", file]).args(more);
        command
    }

    /// The entries of the audit log from a number on.
    pub(crate) fn entries(&self, from: u64) -> Vec<Value> {
        let ran = self.run(["audit", "export", "--from", &from.to_string()]).ends_with(0);
        values(&ran.stdout)
    }

    /// Lanes of the audit log, which each process has while it runs.
    pub(crate) fn lanes(&self) -> usize {
        fs::read_dir(self.path("state/belljar/audit/lanes")).unwrap().count()
    }

    /// Checks that the log is sound and that no process left a lane.
    #[track_caller]
    pub(crate) fn is_sound(&self) {
        let ran = self.run(["audit", "verify"]).ends_with(0);
        assert!(ran.stdout.starts_with("sound: "), "{ran:?}");
        assert_eq!((ran.stderr.as_str(), self.lanes()), ("", 0));
    }
}

/// One JSON value a line.
pub(crate) fn values(lines: &str) -> Vec<Value> {
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A call that is proven to change nothing.
pub(crate) fn hash(id: &str) -> Value {
    let arguments = json!({"algorithm": "sha256", "text": id});
    json!({"toolName": "codec.hash", "callId": id, "arguments": arguments})
}

/// A call that makes the file of its id, and fails where that is there.
pub(crate) fn write(id: &str) -> Value {
    json!({"toolName": "files.write", "callId": id, "arguments": {"path": id, "content": "x"}})
}
