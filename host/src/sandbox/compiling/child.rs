//! Has a component compiled by a process of its own, and ends that process whatever becomes of it.
//!
//! Judges nothing of the component: the process says what is wrong with it.

use std::io::{Read as _, Seek as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::{
    Pid, PidfdFlags, Resource, Signal, WaitId, WaitIdOptions, getrlimit, kill_process_group,
    pidfd_open, waitid,
};

use super::super::compiled::ComponentError;
use super::super::room::is_short_of_tasks;
use super::CompilingError;
use super::wire::{HEAD_LEN, SUBCOMMAND, read};

/// Address space of the process. 18 MB of Python take about a quarter; nearcore allows its own
/// compilers as much.
pub(super) const MEMORY_BYTES: u64 = 4 << 30;
/// Processor time. 18 MB of Python take about ten seconds.
pub(super) const CPU_SECONDS: u64 = 300;
/// Time on the clock, for a process that sleeps or is starved.
const WALL: Duration = Duration::from_secs(300);
/// Most code that is taken, in bytes: 64 MiB of component give about 240.
const CODE_MAX_LEN: u64 = 512 << 20;
/// Threads that compile at once: each holds the memory of a function.
const THREADS_MAX: usize = 8;
/// How long the end of a process that has said all is waited for: giving back its memory takes a busy
/// machine a while.
const LEAVING: Duration = Duration::from_secs(60);
/// How often a process is asked whether it has ended, where nothing tells.
const ASKING: Duration = Duration::from_millis(10);

/// Compiles in a process of its own.
pub(super) fn compile(
    program: &Path,
    engine: &str,
    bytes: &[u8],
) -> Result<Vec<u8>, ComponentError> {
    let most = Most { wall: WALL, code_len: CODE_MAX_LEN };
    compile_within(program, engine, bytes, &most, |pid| pidfd_open(pid, PidfdFlags::empty()))
}

/// What a process may take before it is ended.
pub(super) struct Most {
    pub(super) wall: Duration,
    pub(super) code_len: u64,
}

/// `watch` opens what can be read once a process has ended.
pub(super) fn compile_within(
    program: &Path,
    engine: &str,
    bytes: &[u8],
    most: &Most,
    watch: fn(Pid) -> rustix::io::Result<OwnedFd>,
) -> Result<Vec<u8>, ComponentError> {
    let deadline = Instant::now() + most.wall;
    let (mut process, stdout) =
        Process::start(program, engine, bytes).map_err(|error| not_started(&error))?;
    let answer = match read_until(stdout, deadline, most.code_len) {
        Ok(answer) => answer,
        Err(Unread::Late) => return Err(CompilingError::Wall(most.wall.as_secs()).into()),
        Err(Unread::TooLong) => return Err(CompilingError::Code(most.code_len >> 20).into()),
        Err(Unread::Io(error)) => return Err(CompilingError::Lost(error.to_string()).into()),
    };
    let status = process.ended(deadline.min(Instant::now() + LEAVING), watch);
    match status {
        Some(status) if status.success() => read(answer, engine)
            .unwrap_or_else(|| Err(CompilingError::Lost("it isn't a compiler".to_owned()).into())),
        Some(status) => Err(lost(status).into()),
        None => Err(CompilingError::Lost("it doesn't end".to_owned()).into()),
    }
}

pub(super) fn not_started(error: &std::io::Error) -> ComponentError {
    if is_short_of_tasks(error) {
        return ComponentError::NoRoom(error.to_string());
    }
    CompilingError::Start(error.to_string()).into()
}

/// Why there is no answer.
enum Unread {
    Late,
    TooLong,
    Io(std::io::Error),
}

/// Reads to the end, as long as the deadline lets it.
fn read_until(
    mut stdout: ChildStdout,
    deadline: Instant,
    code_len: u64,
) -> Result<Vec<u8>, Unread> {
    let mut answer = Vec::new();
    let most = code_len.saturating_add(HEAD_LEN as u64);
    let mut piece = vec![0; 1 << 16];
    loop {
        if !ready(&stdout, deadline).map_err(Unread::Io)? {
            return Err(Unread::Late);
        }
        let len = match stdout.read(&mut piece) {
            Ok(0) => return Ok(answer),
            Ok(len) => len,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(Unread::Io(error)),
        };
        answer.extend_from_slice(piece.get(..len).unwrap_or_default());
        if answer.len() as u64 > most {
            return Err(Unread::TooLong);
        }
    }
}

/// Waits until there is something to read, or an end. `false`: the deadline came first.
fn ready(fd: &impl std::os::fd::AsFd, deadline: Instant) -> std::io::Result<bool> {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        // Also where there always is something to read.
        if left.is_zero() {
            return Ok(false);
        }
        let timeout = Timespec::try_from(left).map_err(std::io::Error::other)?;
        match poll(&mut [PollFd::new(fd, PollFlags::IN)], Some(&timeout)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            Ok(_) => return Ok(true),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Waits like [`ready`] for the end of a process, by asking again and again: before Linux 5.3, under
/// gVisor and where seccomp forbids it there is no pidfd_open(2). The process is still to be reaped.
pub(super) fn ends_when_asked(pid: Pid, deadline: Instant) -> std::io::Result<bool> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    loop {
        match waitid(WaitId::Pid(pid), options) {
            Ok(Some(_)) => return Ok(true),
            Ok(None) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(false);
        }
        std::thread::sleep(left.min(ASKING));
    }
}

/// Says what ended it, as far as its signal does.
pub(super) fn lost(status: ExitStatus) -> CompilingError {
    let signal = |signal: Signal| Some(signal.as_raw());
    match status.signal() {
        ended if ended == signal(Signal::ABORT) => CompilingError::Aborted(memory_bytes() >> 20),
        ended if ended == signal(Signal::XCPU) => CompilingError::Cpu(CPU_SECONDS),
        Some(other) => CompilingError::Lost(format!("signal {other}")),
        None => CompilingError::Lost(status.to_string()),
    }
}

/// What a compiler may really have: one that the machine set to this process holds for it too.
pub(super) fn memory_bytes() -> u64 {
    getrlimit(Resource::As).maximum.map_or(MEMORY_BYTES, |hard| hard.min(MEMORY_BYTES))
}

/// A process that doesn't outlive this value, with all it started.
struct Process(Option<Child>);

impl Process {
    fn start(program: &Path, engine: &str, bytes: &[u8]) -> std::io::Result<(Self, ChildStdout)> {
        // A file in memory can be as long as it is, where a pipe would need a thread to fill it.
        let mut component = std::fs::File::from(memfd_create("component", MemfdFlags::CLOEXEC)?);
        component.write_all(bytes)?;
        component.rewind()?;
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let mut child = Command::new(program)
            .args([SUBCOMMAND, engine])
            .env_clear()
            // What rayon, and so the compiler, reads (its documentation).
            .env("RAYON_NUM_THREADS", cores.min(THREADS_MAX).to_string())
            .current_dir("/")
            .stdin(component)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()?;
        let stdout = child.stdout.take();
        let process = Self(Some(child));
        Ok((process, stdout.ok_or_else(|| std::io::Error::other("it has no stdout"))?))
    }

    /// Waits for its end. `None`: it doesn't come in time, and is made.
    fn ended(
        &mut self,
        deadline: Instant,
        watch: fn(Pid) -> rustix::io::Result<OwnedFd>,
    ) -> Option<ExitStatus> {
        let child = self.0.as_mut()?;
        let pid = Pid::from_child(child);
        let watched = watch(pid).map_err(std::io::Error::from);
        let told = watched.and_then(|end| ready(&end, deadline));
        if !told.or_else(|_unknown| ends_when_asked(pid, deadline)).ok()? {
            return None;
        }
        // The group goes before the process is reaped: afterwards the number may be another's.
        kill_group(child);
        let status = child.wait().ok()?;
        self.0 = None;
        Some(status)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            kill_group(child);
            drop(child.wait());
        }
    }
}

/// One that is gone already is what is wanted.
fn kill_group(child: &Child) {
    kill_process_group(Pid::from_child(child), Signal::KILL).unwrap_or_default();
}
