//! Whether the machine refused something because it has no room for it: memory, address space,
//! threads or descriptors.
//!
//! What to make of that is for whoever asked the machine.

use rustix::io::Errno;
use wasmtime::{Error, OutOfMemory};

/// What a machine says that is short of something.
const SHORT: [Errno; 3] = [Errno::NOMEM, Errno::MFILE, Errno::NFILE];

/// Whether the system had no room for a file that was to be opened or read.
pub(crate) fn is_short_of_room(error: &std::io::Error) -> bool {
    // Where memory for what is read can't be had, there is no number.
    error.kind() == std::io::ErrorKind::OutOfMemory
        || Errno::from_io_error(error).is_some_and(|errno| SHORT.contains(&errno))
}

/// The same for a thread or a process (`fork(2)`, `pthread_create(3)`). Of a file EAGAIN means that
/// somebody has a lease on it.
pub(super) fn is_short_of_tasks(error: &std::io::Error) -> bool {
    is_short_of_room(error) || Errno::from_io_error(error) == Some(Errno::AGAIN)
}

/// The same of an error of wasmtime's, and what the machine said.
pub(super) fn short_of(error: &Error) -> Option<String> {
    match errno(error) {
        Some(errno) if errno == Errno::AGAIN || SHORT.contains(&errno) => Some(errno.to_string()),
        Some(_) => None,
        None => error.downcast_ref::<OutOfMemory>().map(ToString::to_string),
    }
}

/// What the machine said. A failed mapping comes as it is, what an image of memory is made in as the
/// source of an error of its own.
pub(super) fn errno(error: &Error) -> Option<Errno> {
    error.chain().find_map(|cause| {
        let of_std = || cause.downcast_ref().and_then(Errno::from_io_error);
        cause.downcast_ref().copied().or_else(of_std)
    })
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    fn io(errno: Errno) -> io::Error {
        io::Error::from_raw_os_error(errno.raw_os_error())
    }

    #[test]
    fn want_of_memory_and_descriptors_is_want_of_room() {
        for errno in SHORT {
            assert!(is_short_of_room(&io(errno)) && is_short_of_tasks(&io(errno)), "{errno}");
            let within = Error::from(errno).context("mmap failed");
            assert_eq!(short_of(&within), Some(errno.to_string()));
        }
        assert!(is_short_of_room(&io::ErrorKind::OutOfMemory.into()));
        assert!(short_of(&Error::from(OutOfMemory::new(64))).is_some());
    }

    #[test]
    fn a_lease_on_a_file_is_none_and_a_process_that_cannot_be_had_is() {
        assert!(!is_short_of_room(&io(Errno::AGAIN)));
        assert!(is_short_of_tasks(&io(Errno::AGAIN)));
    }

    #[test]
    fn what_is_missing_or_forbidden_is_no_want_of_room() {
        for errno in [Errno::NOENT, Errno::ACCESS, Errno::PERM, Errno::NOSPC] {
            assert!(!is_short_of_tasks(&io(errno)), "{errno}");
            assert_eq!(short_of(&Error::from(errno)), None);
        }
        assert_eq!(short_of(&Error::msg("bad")), None);
    }
}
