//! Hashes a file in pieces, so that its size costs no memory.
//!
//! Opens regular files only: opening a pipe would wait for a writer.

use std::fs::{self, File, FileType};
use std::io::{self, Read as _};

use crate::digest::Hasher;
use crate::error::CodecError;
use crate::wit::{Algorithm, Digest};

/// The largest file hashed, in bytes; the call's fuel would stop a longer one half-way and say
/// less. Tested by `file_over_the_limit_is_refused_unread`.
const FILE_MAX_BYTES: u64 = 1 << 30;

/// How much is read at a time, in bytes.
const CHUNK_BYTES: usize = 64 * 1024;

/// Hashes the regular file at `path`.
pub(crate) fn hash_file(algorithm: Algorithm, path: &str) -> Result<Digest, CodecError> {
    let on_error = |error: io::Error| CodecError::file(path, &error);
    let found = fs::metadata(path).map_err(on_error)?;
    if !found.is_file() {
        return Err(CodecError::NotAFile {
            path: path.escape_debug().to_string(),
            found: describe(found.file_type()),
        });
    }
    check_size(path, found.len())?;
    let mut file = File::open(path).map_err(on_error)?;
    let mut hasher = Hasher::new(algorithm);
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut size = 0;
    loop {
        let count = match file.read(&mut chunk) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(on_error(error)),
        };
        size += count as u64;
        // Again, since a file can grow while it is read.
        check_size(path, size)?;
        hasher.update(chunk.get(..count).unwrap_or_default());
    }
    Ok(Digest { hex: hasher.finish(), size })
}

fn check_size(path: &str, size: u64) -> Result<(), CodecError> {
    if size <= FILE_MAX_BYTES {
        return Ok(());
    }
    Err(CodecError::TooLarge {
        what: format!("`{}`", path.escape_debug()),
        size,
        max: FILE_MAX_BYTES,
    })
}

fn describe(kind: FileType) -> &'static str {
    if kind.is_dir() { "a folder" } else { "a pipe, socket or device" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::hash_bytes;
    use crate::wit::{CodecError as WitError, ErrorCode};

    #[test]
    fn file_hash_equals_the_hash_of_its_bytes_across_chunks() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bytes");
        for length in [0, 1, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 3 * CHUNK_BYTES + 7] {
            let bytes: Vec<u8> = (0..=250).cycle().take(length).collect();
            fs::write(&path, &bytes).unwrap();
            for algorithm in [
                Algorithm::Sha256,
                Algorithm::Sha512,
                Algorithm::Blake3,
                Algorithm::Md5,
                Algorithm::Crc32,
            ] {
                let digest = hash_file(algorithm, path.to_str().unwrap()).unwrap();
                assert_eq!(digest, hash_bytes(algorithm, &bytes));
            }
        }
    }

    #[test]
    fn file_over_the_limit_is_refused_unread() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sparse");
        let file = File::create(&path).unwrap();
        file.set_len(FILE_MAX_BYTES + 1).unwrap();
        let error: WitError =
            hash_file(Algorithm::Crc32, path.to_str().unwrap()).unwrap_err().into();
        assert_eq!(error.code, ErrorCode::TooLarge);
        assert!(error.message.contains("1073741825 bytes, expected at most 1073741824"));
    }

    #[test]
    fn missing_file_and_folder_have_their_own_codes() {
        let folder = tempfile::tempdir().unwrap();
        let code = |path: &str| {
            let error: WitError = hash_file(Algorithm::Md5, path).unwrap_err().into();
            error.code
        };
        assert_eq!(code(folder.path().to_str().unwrap()), ErrorCode::NotAFile);
        assert_eq!(code(folder.path().join("no").to_str().unwrap()), ErrorCode::NotFound);
    }

    #[cfg(unix)]
    #[test]
    fn pipe_is_refused_without_being_opened() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(made.success());
        let error: WitError = hash_file(Algorithm::Md5, path.to_str().unwrap()).unwrap_err().into();
        assert_eq!(error.code, ErrorCode::NotAFile);
    }
}
