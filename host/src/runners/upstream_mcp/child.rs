//! A server as a child process: its own group, its own environment, and an end for certain.
//!
//! Speaks no protocol.

use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::time::{Instant, sleep};

use super::error::UpstreamError;
use super::notes::notes;
use super::spec::ChildSpec;
use crate::contract::escape::clipped_line;
use crate::contract::ids::PluginName;
use crate::events::Redactor;

/// How long a child may take to end once its input is closed, and again once it is told to.
const GRACE: Duration = Duration::from_secs(2);
/// How long a child that has closed its output is watched for its exit.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// How often it is looked at while it ends.
const LOOK: Duration = Duration::from_millis(10);
/// Most bytes of one line of its standard error that are logged.
const NOTE_SHOWN_MAX: usize = 500;

/// A child that ends with this value, with everything in its process group.
pub(super) struct Process {
    child: Child,
    group: Option<Pid>,
}

/// Starts a child. Its standard error goes to the log.
pub(super) fn start(
    server: &PluginName,
    spec: &ChildSpec,
    redactor: &Redactor,
) -> Result<(Process, (ChildStdout, ChildStdin)), UpstreamError> {
    let failed = |reason| UpstreamError::Spawn {
        program: clipped_line(&spec.program.to_string_lossy(), 300),
        reason,
    };
    let mut child = Command::new(&spec.program)
        .args(&spec.args)
        .current_dir(&spec.dir)
        .env_clear()
        .envs(spec.env.iter().map(|(name, value)| (name, value.expose())))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // A signal from the terminal is for belljar, which ends its children itself.
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
        .map_err(failed)?;
    let group = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
    let streams = (child.stdout.take(), child.stdin.take(), child.stderr.take());
    let process = Process { child, group };
    let (Some(stdout), Some(stdin), Some(stderr)) = streams else {
        return Err(failed(std::io::Error::other("it has no streams")));
    };
    tokio::spawn(log(server.clone(), stderr, redactor.clone()));
    Ok((process, (stdout, stdin)))
}

impl Process {
    /// How it ended by itself, in words that follow "it", where it does so within a moment.
    pub(super) async fn last_words(&self) -> Option<String> {
        exits(self.group?, LAST_WORDS).await
    }

    /// Ends it: waits for it to go by itself, then tells it to, then kills its whole group. Its
    /// input must be closed. How it ended, in words that follow "it".
    pub(super) async fn end(&mut self) -> Option<String> {
        let group = self.group.take()?;
        let by_itself = exits(group, GRACE).await;
        if by_itself.is_none() {
            let _gone = kill_process_group(group, Signal::TERM);
            exits(group, GRACE).await;
        }
        // Not waited for yet, so that the number still is its own.
        let _gone = kill_process_group(group, Signal::KILL);
        let _status = self.child.wait().await;
        by_itself
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(group) = self.group.take() {
            let _gone = kill_process_group(group, Signal::KILL);
        }
    }
}

/// How it exits, where it does in time. Leaves it to be waited for.
async fn exits(group: Pid, time: Duration) -> Option<String> {
    let until = Instant::now() + time;
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    loop {
        match waitid(WaitId::Pid(group), options) {
            Ok(None) if Instant::now() < until => sleep(LOOK).await,
            Ok(None) => return None,
            Ok(Some(ended)) => {
                return Some(match (ended.exit_status(), ended.terminating_signal()) {
                    (Some(status), _) => format!("it ended with exit status {status}"),
                    (None, Some(signal)) => format!("it was ended by signal {signal}"),
                    (None, None) => "it ended".to_owned(),
                });
            }
            Err(_) => return Some("it ended".to_owned()),
        }
    }
}

/// Logs what a child writes to its standard error.
async fn log(server: PluginName, stderr: ChildStderr, redactor: Redactor) {
    notes(stderr, |line| {
        let text = clipped_line(&redactor.text(line), NOTE_SHOWN_MAX);
        tracing::info!("the server `{server}` says: {text}");
    })
    .await;
}
