//! Starts `belljar serve` as a user would, in a folder of its own.

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// A server; ends when it is dropped.
pub(crate) struct Server {
    pub(crate) child: Child,
    _folder: tempfile::TempDir,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Its own folder, with a configuration that keeps everything there.
fn folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("belljar.toml");
    let text = "state = \"state\"\n[callers.mcp]\nlevel = \"READ_WRITE\"\n[callers.idle]\n[serve]\nanonymous = \"idle\"\n\
                [tokens.bench]\nfrom = \"file:token\"\ncaller = \"mcp\"\nroles = [\"caller\", \
                \"operator\"]\n";
    std::fs::write(&file, text).expect("a configuration");
    std::fs::write(folder.path().join("token"), TOKEN).expect("a token");
    (folder, file)
}

/// The token of the http client.
pub(crate) const TOKEN: &str = "bj_bench-token-of-a-loopback-server";

/// Serves MCP on the standard streams, with these plugins beside the builtins.
pub(crate) fn stdio(plugins: &[PathBuf]) -> Server {
    let (folder, file) = folder();
    let mut command = Command::new(env!("CARGO_BIN_EXE_belljar"));
    command.args(["serve", "--stdio", "--config"]).arg(file);
    for plugin in plugins {
        command.arg("--plugin").arg(plugin);
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    Server { child: command.spawn().expect("belljar starts"), _folder: folder }
}

/// Serves http on a free port; gives its address.
pub(crate) fn http() -> (Server, String) {
    let (folder, file) = folder();
    let mut command = Command::new(env!("CARGO_BIN_EXE_belljar"));
    command.args(["serve", "--http", "127.0.0.1:0", "--config"]).arg(file);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("belljar starts");
    let lines = BufReader::new(child.stderr.take().expect("a stderr")).lines();
    let mut told = lines.map_while(Result::ok);
    let address = told
        .by_ref()
        .find_map(|line| line.split("http://").nth(1)?.split_whitespace().next().map(str::to_owned))
        .expect("belljar says where it listens");
    // Whoever writes to a pipe that nobody reads stops some day.
    std::thread::spawn(move || told.for_each(drop));
    (Server { child, _folder: folder }, address)
}
