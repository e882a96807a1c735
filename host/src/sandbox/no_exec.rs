//! Loads kept code where its file can't be mapped as code: on a file system that is mounted
//! `noexec`, or where a security module forbids it.
//!
//! Judges no code: whoever hands over a file has checked it.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::sync::Once;

use rustix::io::Errno;

/// Maps the file; where the machine forbids that alone, reads it and loads what was read.
///
/// # Errors
/// Those of `map`, and where that is forbidden those of reading and of `load`.
pub(super) fn map_or_load<T>(
    file: &File,
    map: impl FnOnce(&File) -> wasmtime::Result<T>,
    load: impl FnOnce(&[u8]) -> wasmtime::Result<T>,
) -> wasmtime::Result<T> {
    match map(file) {
        Err(error) if is_forbidden(&error) => {
            static TOLD: Once = Once::new();
            TOLD.call_once(|| {
                tracing::debug!("kept code is read instead of mapped, by each process: {error:#}");
            });
            // Its length was bounded where it was checked.
            let mut bytes = vec![0; usize::try_from(file.metadata()?.len())?];
            file.read_exact_at(&mut bytes, 0)?;
            load(&bytes)
        }
        answer => answer,
    }
}

/// mmap(2) has EPERM for a file on a `noexec` mount, mprotect(2) has EACCES for what was mapped of
/// one. Damaged code has neither.
fn is_forbidden(error: &wasmtime::Error) -> bool {
    let forbidden = [Errno::PERM, Errno::ACCESS];
    error.chain().any(|cause| {
        let number = cause.downcast_ref::<Errno>().copied();
        let of_std = || cause.downcast_ref().and_then(Errno::from_io_error);
        number.or_else(of_std).is_some_and(|number| forbidden.contains(&number))
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn kept() -> File {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"code").unwrap();
        file
    }

    #[test]
    fn code_that_may_not_be_mapped_is_read() {
        for error in [
            wasmtime::Error::from(Errno::ACCESS),
            wasmtime::Error::from(Errno::PERM).context("mapping it"),
            std::io::Error::from_raw_os_error(Errno::ACCESS.raw_os_error()).into(),
        ] {
            let read = map_or_load(&kept(), |_| Err(error), |bytes| Ok(bytes.to_vec()));
            assert_eq!(read.unwrap(), b"code");
        }
    }

    #[test]
    fn code_that_is_damaged_is_told_and_read_no_second_time() {
        for error in [wasmtime::Error::msg("bad"), Errno::NOMEM.into()] {
            let refused = map_or_load(&kept(), |_| Err::<(), _>(error), |_| panic!("it is read"));
            refused.unwrap_err();
        }
        let mapped = map_or_load(&kept(), |_| Ok(1), |_| panic!("it is read"));
        assert_eq!(mapped.unwrap(), 1);
    }
}
