//! A client over the standard streams of the real binary, and a place with a configuration. Judges
//! nothing.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::guests::built;
use crate::suites::harness::{Ran, belljar, settled};

/// Longer than anything may take here.
const PATIENCE: Duration = Duration::from_secs(600);

/// A folder with a configuration, its state and some plugins.
pub(super) struct Place(tempfile::TempDir);

impl Place {
    pub(super) fn new(more: &str) -> Self {
        Self::with_guests(&[], more)
    }

    /// With guests of component text as plugins.
    pub(super) fn with_guests(guests: &[&str], more: &str) -> Self {
        let guests: Vec<_> = guests.iter().map(|guest| (*guest, built::wat(guest))).collect();
        Self::with_components(&guests, more)
    }

    /// With these components as plugins.
    pub(super) fn with_components(plugins: &[(&str, Vec<u8>)], more: &str) -> Self {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("out")).unwrap();
        let mut text = format!("state = \"state\"\n{more}");
        for (name, bytes) in plugins {
            std::fs::write(root.path().join(format!("{name}.wasm")), bytes).unwrap();
            text.push_str(&format!("[plugins.{name}]\npath = \"{name}.wasm\"\n"));
        }
        std::fs::write(root.path().join("belljar.toml"), text).unwrap();
        Self(root)
    }

    /// A folder to grant.
    pub(super) fn folder(&self) -> PathBuf {
        self.0.path().join("out")
    }

    fn config(&self) -> PathBuf {
        self.0.path().join("belljar.toml")
    }

    /// Another command with the same configuration.
    pub(super) fn run(&self, args: &[&str]) -> Ran {
        let mut command = belljar();
        command.args(args).arg("--config").arg(self.config());
        Ran::of(command.output().unwrap())
    }

    /// Waits until a call of this tool has a record of its start.
    pub(super) fn until_recorded(&self, tool: &str) {
        let state = self.config().with_file_name("state");
        until(|| holds(&state, tool).then_some(()));
    }

    /// Waits until a request waits for a person.
    pub(super) fn until_asked(&self) -> String {
        until(|| {
            let listed = self.run(&["approvals", "list", "--json"]).json();
            listed[0]["id"].as_str().map(str::to_owned)
        })
    }
}

/// Asks again and again.
fn until<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(began.elapsed() < PATIENCE, "it never came");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A client that has shaken hands.
pub(super) struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: Receiver<String>,
    stderr: Receiver<String>,
    seen: Vec<String>,
    last: u64,
}

impl Client {
    /// Starts `belljar serve --stdio` with these options.
    pub(super) fn start(place: &Place, more: &[&str]) -> Self {
        Self::start_with(place, more, |command| command)
    }

    /// The like, where no code is kept yet.
    pub(super) fn start_cold(place: &Place) -> Self {
        let cache = place.folder();
        Self::start_with(place, &[], |command| command.env("XDG_CACHE_HOME", cache))
    }

    fn start_with(
        place: &Place,
        more: &[&str],
        change: impl FnOnce(&mut Command) -> &mut Command,
    ) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_belljar"));
        settled(&mut command);
        change(&mut command);
        command.args(["serve", "--stdio", "--config"]).arg(place.config()).args(more);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stdout = lines_of(child.stdout.take().unwrap());
        let stderr = lines_of(child.stderr.take().unwrap());
        let stdin = child.stdin.take();
        let mut client = Self { child, stdin, stdout, stderr, seen: Vec::new(), last: 0 };
        let id = client.request(
            "initialize",
            &json!({
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": { "name": "suite", "version": "1" },
            }),
        );
        client.answer(id);
        client.write("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
        client
    }

    /// Writes as it stands.
    pub(super) fn write(&mut self, text: &str) -> u64 {
        self.stdin.as_mut().unwrap().write_all(text.as_bytes()).unwrap();
        0
    }

    /// Sends a request, and gives its id.
    pub(super) fn request(&mut self, method: &str, params: &Value) -> u64 {
        self.last += 1;
        let id = self.last;
        let line = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.write(&format!("{line}\n"));
        id
    }

    /// Calls a tool.
    pub(super) fn call(&mut self, params: &Value) -> u64 {
        self.request("tools/call", params)
    }

    /// Waits for the answer to a request.
    pub(super) fn answer(&mut self, id: u64) -> Value {
        loop {
            let line = self.stdout.recv_timeout(PATIENCE).unwrap();
            let message: Value = serde_json::from_str(&line).unwrap_or(Value::Null);
            self.seen.push(line);
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
        }
    }

    /// Waits for a notification.
    pub(super) fn until_notified(&mut self, method: &str) {
        loop {
            let line = self.stdout.recv_timeout(PATIENCE).unwrap();
            let message: Value = serde_json::from_str(&line).unwrap_or(Value::Null);
            self.seen.push(line);
            if message["method"] == method {
                return;
            }
        }
    }

    /// Waits for words on stderr.
    pub(super) fn until_told(&mut self, words: &str) {
        loop {
            let line = self.stderr.recv_timeout(PATIENCE).unwrap();
            if line.contains(words) {
                return;
            }
        }
    }

    pub(super) fn signal(&self, signal: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
    }

    /// Closes its input, and waits: its exit code, and every line it wrote.
    pub(super) fn end(mut self) -> (Option<i32>, Vec<String>) {
        drop(self.stdin.take());
        let code = self.ended();
        self.seen.extend(self.stdout.try_iter());
        (code, std::mem::take(&mut self.seen))
    }

    /// Waits until it has ended by itself, and all it wrote has been read.
    pub(super) fn ended(&mut self) -> Option<i32> {
        while let Ok(line) = self.stdout.recv_timeout(PATIENCE) {
            self.seen.push(line);
        }
        let mut ended = || self.child.try_wait().unwrap();
        until(&mut ended).code()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // One that has ended can't be killed, and a failed test leaves none behind.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// The lines of a stream, by a thread that ends with it.
fn lines_of(stream: impl std::io::Read + Send + 'static) -> Receiver<String> {
    let (send, lines) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            if send.send(line).is_err() {
                return;
            }
        }
    });
    lines
}

/// Whether any file below holds these words.
fn holds(folder: &Path, words: &str) -> bool {
    let Ok(entries) = std::fs::read_dir(folder) else { return false };
    entries.flatten().any(|entry| {
        let path = entry.path();
        let found = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).contains(words);
        if path.is_dir() { holds(&path, words) } else { std::fs::read(path).is_ok_and(found) }
    })
}

/// The tools it shows.
pub(super) fn tool_names(client: &mut Client) -> Vec<String> {
    let id = client.request("tools/list", &json!({}));
    let listed = client.answer(id);
    let tools = listed["result"]["tools"].as_array().unwrap();
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}
