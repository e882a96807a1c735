//! What an error of the machine means, by when it came up and what the guest had done.

use std::io;
use std::sync::Arc;
use std::time::Instant;

use rustix::io::Errno;
use wasmtime::OutOfMemory;

use super::*;
use crate::contract::limits::Limits;
use crate::sandbox::store::nobodys;

fn end_of(error: &Error, phase: Phase, asked: bool) -> End {
    let attempt = nobodys(Arc::new(Limits::default()), Instant::now()).unwrap();
    let meter = &Meter::new(&attempt.limits);
    classify(error, Seen { phase, asked, meter }, &attempt)
}

/// As `memfd` wraps what the system said.
#[derive(Debug, thiserror::Error)]
#[error("cannot create a memfd")]
struct NoImage(#[source] io::Error);

fn io_error(errno: Errno) -> io::Error {
    io::Error::from_raw_os_error(errno.raw_os_error())
}

/// The ways in which wasmtime passes on that there is no room.
fn without_room() -> [Error; 4] {
    [
        Error::from(Errno::NOMEM).context("mmap failed to allocate 0x1000 bytes"),
        Error::from(io_error(Errno::NOMEM)),
        Error::from(NoImage(io_error(Errno::MFILE))).context("failed to create a memory image"),
        Error::from(OutOfMemory::new(64)),
    ]
}

#[test]
fn a_machine_without_room_is_overloaded_and_nothing_ran() {
    for error in without_room() {
        for phase in [Phase::Instantiating, Phase::Calling] {
            let end = end_of(&error, phase, false);
            let End::Refused(RunnerRefusal::Overloaded(text)) = end else { panic!("{end:?}") };
            assert!(text.contains("no room for another sandbox"), "{text}");
        }
    }
}

#[test]
fn what_has_asked_something_of_the_host_may_have_run() {
    for error in without_room() {
        for phase in [Phase::Instantiating, Phase::Calling] {
            let end = end_of(&error, phase, true);
            assert!(matches!(end, End::Host(_)), "{end:?}");
        }
    }
}

#[test]
fn what_else_the_machine_refuses_is_the_hosts_fault_until_the_guest_is_called() {
    let refused = Error::from(Errno::ACCESS);
    let end = end_of(&refused, Phase::Instantiating, false);
    assert!(matches!(end, End::Host(_)), "{end:?}");
    let end = end_of(&refused, Phase::Calling, false);
    assert!(matches!(end, End::Guest(GuestFault::Trapped(_))), "{end:?}");
}
