//! What an error of the machine means, by when it came up.

use std::io;
use std::sync::Arc;
use std::time::Instant;

use super::*;
use crate::contract::limits::Limits;
use crate::sandbox::store::nobodys;

fn end_of(error: &Error, phase: Phase) -> End {
    let attempt = nobodys(Arc::new(Limits::default()), Instant::now()).unwrap();
    classify(error, phase, &Meter::new(&attempt.limits), &attempt)
}

/// The ways in which wasmtime passes on that a mapping failed.
fn without_memory() -> [Error; 3] {
    [
        Error::from(Errno::NOMEM).context("mmap failed to allocate 0x1000 bytes"),
        io::Error::from_raw_os_error(Errno::NOMEM.raw_os_error()).into(),
        Error::from(Errno::MFILE),
    ]
}

#[test]
fn a_machine_without_room_is_overloaded_and_nothing_ran() {
    for error in without_memory() {
        let end = end_of(&error, Phase::Instantiating);
        let End::Refused(RunnerRefusal::Overloaded(text)) = end else { panic!("{end:?}") };
        assert!(text.contains("no room for another sandbox"), "{text}");
    }
}

#[test]
fn it_may_have_run_where_its_start_asked_something_of_the_host() {
    for error in without_memory() {
        let end = end_of(&error, Phase::Instantiating.having_asked());
        assert!(matches!(end, End::Host(_)), "{end:?}");
    }
}

#[test]
fn what_fails_in_the_call_is_the_guests() {
    for error in without_memory() {
        let end = end_of(&error, Phase::Calling.having_asked());
        assert!(matches!(end, End::Guest(GuestFault::Trapped(_))), "{end:?}");
    }
}

#[test]
fn what_else_the_machine_refuses_is_the_hosts_fault() {
    let end = end_of(&Errno::ACCESS.into(), Phase::Instantiating);
    assert!(matches!(end, End::Host(_)), "{end:?}");
}
