//! SHA-256 of bytes and of open files, in lower-case hex.

use std::fmt::Write;
use std::fs::File;
use std::io::{ErrorKind, Read};

use sha2::{Digest, Sha256};

use crate::bindings::exports::belljar::files::files::{ErrorCode, FileError};
use crate::failure::{from_io, refuse};
use crate::shown::quote;

/// Largest file that is hashed. Well within a call's default fuel; a file that grows while it is
/// read ends here too.
pub(crate) const HASHED_MAX_BYTES: u64 = 1 << 30;
const PIECE_BYTES: usize = 64 << 10;

/// The hash of `bytes`.
pub(crate) fn of_bytes(bytes: &[u8]) -> String {
    to_hex(&Sha256::digest(bytes))
}

/// The hash of the rest of `file`, which `path` names in a refusal.
pub(crate) fn of_file(path: &str, file: &mut File) -> Result<String, FileError> {
    let mut hasher = Sha256::new();
    let mut piece = vec![0; PIECE_BYTES];
    let mut rest = HASHED_MAX_BYTES;
    loop {
        let count = match file.read(&mut piece) {
            Ok(0) => return Ok(to_hex(&hasher.finalize())),
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(from_io(path, &error)),
        };
        rest = rest.checked_sub(count as u64).ok_or_else(|| too_large(path))?;
        hasher.update(piece.get(..count).unwrap_or_default());
    }
}

/// The refusal to hash more than the cap.
pub(crate) fn too_large(path: &str) -> FileError {
    refuse(
        ErrorCode::TooLarge,
        format!("{} has more than {HASHED_MAX_BYTES} bytes and is not hashed", quote(path)),
    )
}

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut hex, byte| {
        // Writing to a String can't fail.
        write!(hex, "{byte:02x}").ok();
        hex
    })
}
