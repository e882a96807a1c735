//! The compiler's process: what it is given, how it ends, and who ends it.

use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::child::{Most, compile_within, ends_when_asked, lost, memory_bytes, not_started};
use super::*;

const MINUTE: Most = Most { wall: Duration::from_secs(60), code_len: 1 << 20 };

fn compiling() -> Compiling {
    Compiling::try_new(CompileIn::ThisProcess).unwrap()
}

fn by(program: &str, most: &Most) -> String {
    watched(program, most, |pid| pidfd_open(pid, PidfdFlags::empty()))
}

fn watched(program: &str, most: &Most, watch: fn(Pid) -> Result<OwnedFd, Errno>) -> String {
    compile_within(Path::new(program), "0", b"", most, watch).unwrap_err().to_string()
}

#[test]
fn the_hash_of_the_engine_is_the_same_for_the_same_settings() {
    let hash = compiling().compatibility().to_owned();
    assert_eq!(hash, compiling().compatibility());
    assert_eq!(hash.len(), 16);
}

#[test]
fn the_hash_of_the_engine_says_more_than_that_of_one_without_a_compiler() {
    let without = Engine::new(&super::super::engine::config(None)).unwrap();
    assert_ne!(compatibility_of(&without), compiling().compatibility());
}

#[test]
fn code_that_was_kept_under_another_bound_is_not_found() {
    let engine = Engine::new(&compiling_config()).unwrap();
    let mut found = vec![compatibility_of(&engine)];
    for changed in 0..caps::ALL.len() {
        let mut bounds = caps::ALL;
        bounds[changed] += 1;
        found.push(compatibility_within(&engine, &bounds));
    }
    let all = found.len();
    found.sort();
    found.dedup();
    assert_eq!(found.len(), all);
}

#[test]
fn what_is_no_component_never_reaches_the_compiler() {
    let core = wat::parse_str("(module)").unwrap();
    let too_large = vec![0; COMPONENT_MAX_LEN + 1];
    for (bytes, words) in [
        (core.as_slice(), "core wasm module"),
        (b"(component)", "not those of one"),
        (&too_large, "a component may have"),
    ] {
        let error = compiling().compile(bytes).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn a_damaged_component_is_refused_in_the_compilers_words() {
    let whole = wat::parse_str("(component (core module))").unwrap();
    let cut = &whole[..whole.len() - 1];
    assert!(matches!(compiling().compile(cut), Err(ComponentError::Invalid(_))));
}

#[test]
fn a_process_that_says_no_end_is_ended_at_the_wall_clock() {
    let most = Most { wall: Duration::from_millis(50), code_len: u64::MAX };
    let error = by("yes", &most);
    assert!(error.contains("took longer"), "{error}");
}

#[test]
fn more_code_than_is_taken_ends_the_process() {
    let error = by("yes", &MINUTE);
    assert!(error.contains("more than 1 MiB of code"), "{error}");
}

#[test]
fn a_machine_without_room_for_a_compiler_is_told_as_that() {
    for errno in [Errno::AGAIN, Errno::MFILE, Errno::NOMEM] {
        assert!(matches!(not_started(&errno.into()), ComponentError::NoRoom(_)), "{errno}");
    }
    let missing = not_started(&Errno::NOENT.into());
    assert!(matches!(missing, ComponentError::Compiling(CompilingError::Start(_))), "{missing}");
}

#[test]
fn a_program_that_is_no_compiler_is_told() {
    for (program, words) in [
        ("no-such-program", "no compiler can be started"),
        ("true", "it isn't a compiler"),
        ("false", "exit status: 1"),
        ("echo", "it isn't a compiler"),
    ] {
        let error = by(program, &MINUTE);
        assert!(error.contains(words), "{program}: {error}");
    }
}

#[test]
fn what_ended_the_compiler_is_told_as_far_as_it_is_known() {
    let aborted = format!("it wanted more than the {} MiB of memory", memory_bytes() >> 20);
    for (raw, words) in [
        (6, &*aborted),
        (24, "more than 300 s of processor time"),
        (9, "without an answer: signal 9"),
        (11, "without an answer: signal 11"),
        (0x100, "without an answer: exit status: 1"),
    ] {
        let told = lost(ExitStatus::from_raw(raw)).to_string();
        assert!(told.contains(words), "{raw}: {told}");
    }
}

#[test]
fn without_pidfd_open_the_end_of_the_process_is_met_all_the_same() {
    for missing in [(|_| Err(Errno::NOSYS)) as fn(Pid) -> _, |_| Err(Errno::PERM)] {
        assert!(watched("true", &MINUTE, missing).contains("it isn't a compiler"));
        assert!(watched("false", &MINUTE, missing).contains("exit status: 1"));
    }
}

#[test]
fn a_process_that_is_asked_has_a_deadline_too_and_is_left_to_be_reaped() {
    let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
    let pid = Pid::from_child(&child);
    assert!(!ends_when_asked(pid, Instant::now() + Duration::from_millis(30)).unwrap());
    child.kill().unwrap();
    assert!(ends_when_asked(pid, Instant::now() + Duration::from_secs(60)).unwrap());
    assert!(ends_when_asked(pid, Instant::now()).unwrap());
    child.wait().unwrap();
    ends_when_asked(pid, Instant::now()).unwrap_err();
}

mod answers {
    use super::super::wire::{HEAD_LEN, WORDS_MAX_LEN, read, write};
    use super::*;

    fn through(answer: &Result<Vec<u8>, ComponentError>) -> Result<Vec<u8>, ComponentError> {
        let mut sent = Vec::new();
        write(&mut sent, answer).unwrap();
        read(sent, "wanted").unwrap()
    }

    #[test]
    fn code_comes_through_as_it_is() {
        assert_eq!(through(&Ok(b"code".to_vec())).unwrap(), b"code");
        assert!(through(&Ok(Vec::new())).unwrap().is_empty());
    }

    #[test]
    fn refusals_come_through_in_their_kind_and_escaped() {
        let invalid = through(&Err(ComponentError::Invalid("x\u{1b}".to_owned()))).unwrap_err();
        assert_eq!(invalid.to_string(), "it is no valid component: x<U+001B>");
        assert!(matches!(through(&Err(ComponentError::Async)), Err(ComponentError::Async)));
        let other = CompilingError::OtherEngine { wanted: String::new(), found: "f".to_owned() };
        let other = through(&Err(other.into())).unwrap_err().to_string();
        assert!(other.contains("`f`") && other.contains("`wanted`"), "{other}");
        let start = CompilingError::Start("no memory".to_owned());
        assert_eq!(
            through(&Err(start.into())).unwrap_err().to_string(),
            "no compiler can be started: no memory"
        );
        let panicked = CompilingError::Panicked("no threads".to_owned());
        assert_eq!(
            through(&Err(panicked.into())).unwrap_err().to_string(),
            "its compiler panicked: no threads"
        );
        let no_room = through(&Err(ComponentError::NoRoom("x".to_owned()))).unwrap_err();
        assert!(matches!(no_room, ComponentError::NoRoom(why) if why == "x"));
    }

    #[test]
    fn the_words_of_a_refusal_are_bounded() {
        let mut sent = Vec::new();
        let long = ComponentError::Invalid("x".repeat(WORDS_MAX_LEN * 2));
        write(&mut sent, &Err(long)).unwrap();
        assert_eq!(sent.len(), WORDS_MAX_LEN + HEAD_LEN);
        let flood = [&b"\0belljari"[..], &b"x".repeat(1 << 20)].concat();
        let words = read(flood, "").unwrap().unwrap_err().to_string();
        assert!(words.len() < 1000, "{}", words.len());
    }

    #[test]
    fn what_is_no_answer_is_none() {
        assert!(read(Vec::new(), "").is_none());
        assert!(read(b"\0belljar".to_vec(), "").is_none());
        assert!(read(b"\0belljarx".to_vec(), "").is_none());
        assert!(read(b"code".to_vec(), "").is_none());
    }
}
