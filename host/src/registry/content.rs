//! The bytes of a plugin: in memory, or in a file that is read only where it has to be.
//!
//! Knows nothing of what they mean.

use std::borrow::Cow;
use std::fs::File;
use std::io::{Error, ErrorKind, Read as _, Result, Seek as _};
use std::os::unix::fs::FileExt as _;

use crate::sandbox::COMPONENT_MAX_LEN;

/// The bytes of a plugin.
#[derive(Debug)]
pub enum PluginContent {
    /// In memory.
    Bytes(Cow<'static, [u8]>),
    /// In a file. One that changes while it is loaded is a damaged plugin, or its new self.
    File(File),
}

impl PluginContent {
    /// How many there are.
    ///
    /// # Errors
    /// The file can't be looked at.
    pub fn byte_count(&self) -> Result<u64> {
        match self {
            Self::Bytes(bytes) => Ok(bytes.len() as u64),
            Self::File(file) => Ok(file.metadata()?.len()),
        }
    }

    /// Fills `piece` from an offset.
    pub(super) fn fill(&self, from: u64, piece: &mut [u8]) -> Result<()> {
        match self {
            Self::Bytes(bytes) => copy(bytes, from, piece),
            Self::File(file) => file.read_exact_at(piece, from),
        }
    }

    /// All of them; of too many just enough to be refused as such.
    pub(super) fn whole(&self) -> Result<Cow<'_, [u8]>> {
        match self {
            Self::Bytes(bytes) => Ok(Cow::Borrowed(bytes)),
            Self::File(file) => {
                let limit = COMPONENT_MAX_LEN as u64 + 1;
                let len = usize::try_from(file.metadata()?.len().min(limit)).unwrap_or_default();
                let mut bytes = Vec::with_capacity(len);
                let mut file = file;
                file.rewind()?;
                file.take(limit).read_to_end(&mut bytes)?;
                Ok(Cow::Owned(bytes))
            }
        }
    }
}

/// Fills `piece` from an offset of `bytes`.
pub(super) fn copy(bytes: &[u8], from: u64, piece: &mut [u8]) -> Result<()> {
    let beyond = || Error::from(ErrorKind::UnexpectedEof);
    let from = usize::try_from(from).map_err(|_too_far| beyond())?;
    let rest = bytes.get(from..).and_then(|rest| rest.get(..piece.len())).ok_or_else(beyond)?;
    piece.copy_from_slice(rest);
    Ok(())
}
