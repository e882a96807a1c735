//! Files whose opening blocks a thread past every deadline: the answer is on time, the blocked call
//! is counted and keeps its permit, too many of them close the way, and all of it passes.
//!
//! The block is real: another process holds a write lease on the file, and the kernel makes an open
//! wait until it is given back.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use belljar::app::{App, Setup};
use belljar::contract::grants::DirMode;
use belljar::contract::invocation::{PermissionLevel, ToolInvocation};
use belljar::contract::outcome::{Executed, Outcome};
use belljar::contract::result::ToolResult;
use belljar::sandbox::BLOCKED_CALLS;

use super::harness;

/// Takes the lease, says so, and gives it back when its stdin is closed. SIGIO is how the kernel
/// asks for it back.
const HOLDER: &str = "
import fcntl, signal, sys
signal.signal(signal.SIGIO, signal.SIG_IGN)
held = open(sys.argv[1], 'r+')
fcntl.fcntl(held, fcntl.F_SETLEASE, fcntl.F_WRLCK)
print('held', flush=True)
sys.stdin.read()
";

struct Lease(Child);

impl Lease {
    fn on(path: &Path) -> Self {
        let mut holder = Command::new("python3")
            .args(["-c", HOLDER])
            .arg(path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = String::new();
        BufReader::new(holder.stdout.as_mut().unwrap()).read_line(&mut said).unwrap();
        assert_eq!(said, "held\n");
        Self(holder)
    }

    fn give_back(mut self) {
        drop(self.0.stdin.take());
        self.0.wait().unwrap();
    }
}

/// A granted folder with a file in it.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("slow.txt"), "here at last\n").unwrap();
    folder
}

async fn read(app: &App, timeout_ms: u64) -> ToolResult {
    let id = "c".parse().unwrap();
    let mut call = ToolInvocation::new(id, "files.read", r#"{"path":"slow.txt"}"#);
    call.permission_level = PermissionLevel::Full;
    call.timeout = Some(Duration::from_millis(timeout_ms));
    app.host.call(call).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn blocked_calls_are_answered_counted_bounded_and_let_go() {
    let folder = folder();
    let dirs = vec![harness::dir(folder.path(), DirMode::ReadOnly)];
    let app = harness::start(&Setup { dirs, ..harness::builtins() });
    let lease = Lease::on(&folder.path().join("slow.txt"));
    for blocked in 1..=BLOCKED_CALLS as usize {
        let began = Instant::now();
        // Long enough to be in the blocked file by then, on a busy machine too.
        let result = read(&app, 1_000).await;
        assert!(began.elapsed() < Duration::from_secs(10), "{result:?}");
        assert_eq!((result.outcome, result.executed), (Outcome::TimedOut, Executed::Maybe));
        assert_eq!(app.sandbox.blocked_calls(), blocked);
        assert_eq!(app.sandbox.calls_in_use(), blocked, "each keeps its permit");
    }
    let refused = read(&app, 100).await;
    assert_eq!((refused.outcome, refused.executed), (Outcome::Overloaded, Executed::No));
    assert!(refused.content.contains("blocked in file operations"), "{}", refused.content);

    lease.give_back();
    let began = Instant::now();
    while app.sandbox.blocked_calls() + app.sandbox.calls_in_use() > 0 {
        assert!(began.elapsed() < Duration::from_secs(60), "blocked calls are never let go");
        tokio::task::yield_now().await;
    }
    let read = read(&app, 10_000).await;
    assert_eq!(read.outcome, Outcome::Success, "{read:?}");
    assert!(read.content.contains("here at last"));
}

#[test]
fn a_blocked_file_does_not_keep_the_process() {
    let folder = folder();
    let lease = Lease::on(&folder.path().join("slow.txt"));
    let granted = folder.path().display().to_string();
    let began = Instant::now();
    let ran = harness::run([
        "call",
        "files.read",
        r#"{"path":"slow.txt"}"#,
        "--timeout",
        "2s",
        "--dir",
        &granted,
    ]);
    // The kernel itself takes the lease back after 45 s by default.
    assert!(began.elapsed() < Duration::from_secs(40), "{ran:?}");
    let ran = ran.ends_with(4);
    assert!(ran.stderr.contains("waiting for the host"), "{ran:?}");
    lease.give_back();
}
