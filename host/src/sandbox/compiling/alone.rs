//! The process that compiles one component and ends: a component on stdin, the answer on stdout.
//!
//! Bounds itself before it reads anything. Opens no file, and knows neither configuration nor store.

use std::any::Any;
use std::ffi::OsString;
use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Resource, Rlimit, Signal, getrlimit, set_parent_process_death_signal, setrlimit,
};
use wasmtime::Engine;

use super::super::compiled::{COMPONENT_MAX_LEN, ComponentError};
use super::super::engine::compiling_config;
use super::child::{CPU_SECONDS, MEMORY_BYTES};
use super::wire::{SUBCOMMAND, write};
use super::{CompilingError, check, compatibility_of, compile_here};

/// Descriptors it may have: the three of every process, and a few that libraries open and close.
const OPEN_FILES: u64 = 16;
/// At 0 there is no core file, and a program that cores are piped to gets one all the same: core(5)
/// has no limit for it. At exactly 1 the kernel ends the dump before it starts that program, with
/// which it guards such programs against themselves (Linux, fs/coredump.c), and no file is as short.
const CORE_BYTES: u64 = 1;
/// Between the signal that says that the time is up and the one that can't be answered.
const CPU_GRACE_SECONDS: u64 = 5;

/// Runs the hidden command `compile ENGINE`, if that is what `args` (with the program's name first)
/// ask for; `None` if not. To be called before anything else of a process: it ends descriptors that
/// were inherited, and nobody may have opened one before.
pub fn compile_alone(args: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    let mut args = args.into_iter().skip(1);
    if args.next()? != SUBCOMMAND {
        return None;
    }
    let engine = args.next().and_then(|hash| hash.into_string().ok());
    let (Some(engine), None) = (engine, args.next()) else { return Some(ExitCode::from(2)) };
    Some(match run(&engine) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_unheard) => ExitCode::FAILURE,
    })
}

fn run(wanted: &str) -> std::io::Result<()> {
    close_inherited()?;
    // Whoever asked may be gone by now, and nobody would end this process.
    set_parent_process_death_signal(Some(Signal::KILL))?;
    if nobody_reads()? {
        return Ok(());
    }
    bound()?;
    let mut bytes = Vec::new();
    std::io::stdin().lock().take(COMPONENT_MAX_LEN as u64 + 1).read_to_end(&mut bytes)?;
    // In here is nothing that a panic could leave half done: the process ends.
    let answer = catch_unwind(AssertUnwindSafe(|| compile(&bytes, wanted)));
    let answer =
        answer.unwrap_or_else(|panic| Err(CompilingError::Panicked(words_of(panic)).into()));
    write(std::io::stdout().lock(), &answer)
}

/// What a panic says: the compiler's own faults, and that it can't have its threads.
fn words_of(panic: Box<dyn Any + Send>) -> String {
    let text = match panic.downcast::<String>() {
        Ok(text) => return *text,
        Err(other) => other.downcast::<&str>(),
    };
    text.map_or_else(|_other| "it doesn't say why".to_owned(), |text| (*text).to_owned())
}

fn compile(bytes: &[u8], wanted: &str) -> Result<Vec<u8>, ComponentError> {
    check(bytes)?;
    let engine = Engine::new(&compiling_config())
        .map_err(|error| CompilingError::Start(format!("{error:#}")))?;
    let found = compatibility_of(&engine);
    if found != wanted {
        let wanted = wanted.to_owned();
        return Err(CompilingError::OtherEngine { wanted, found }.into());
    }
    compile_here(&engine, bytes)
}

/// Ends what a careless ancestor left open, so that a compiler that is made to misbehave holds
/// nothing but its two pipes.
fn close_inherited() -> std::io::Result<()> {
    let mut open = Vec::new();
    for entry in std::fs::read_dir("/proc/self/fd")? {
        let name = entry?.file_name();
        open.extend(name.to_str().and_then(|number| number.parse::<i32>().ok()));
    }
    // The listing's own descriptor is among them, and gone already.
    open.into_iter().filter(|fd| *fd > 2).for_each(|fd| nix::unistd::close(fd).unwrap_or_default());
    Ok(())
}

fn nobody_reads() -> std::io::Result<bool> {
    let stdout = std::io::stdout();
    let mut seen = [PollFd::new(&stdout, PollFlags::OUT)];
    poll(&mut seen, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }))?;
    Ok(seen.iter().any(|fd| fd.revents().contains(PollFlags::ERR)))
}

/// No bound is above one that was set already.
fn bound() -> std::io::Result<()> {
    let bounds = [
        (Resource::As, MEMORY_BYTES),
        (Resource::Cpu, CPU_SECONDS),
        // It writes to a pipe and to no file.
        (Resource::Fsize, 0),
        (Resource::Core, CORE_BYTES),
        (Resource::Nofile, OPEN_FILES),
    ];
    for (resource, most) in bounds {
        // The hard one a little higher: at the soft one the signal says which bound it was.
        let above = if resource == Resource::Cpu { most + CPU_GRACE_SECONDS } else { most };
        let before = getrlimit(resource).maximum;
        let at_most = |wanted: u64| Some(before.map_or(wanted, |hard| hard.min(wanted)));
        setrlimit(resource, Rlimit { current: at_most(most), maximum: at_most(above) })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_told_in_its_own_words_where_it_has_any() {
        assert_eq!(words_of(Box::new("a".to_owned())), "a");
        assert_eq!(words_of(Box::new("b")), "b");
        assert_eq!(words_of(Box::new(1)), "it doesn't say why");
    }
}
