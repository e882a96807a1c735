//! The folder `damaged`: what is taken out of the log or the lanes, for a person to look at.
//!
//! What is in it is counted, and never read, changed or removed by belljar.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::error::JournalError;
use super::lane_file::sync_folder;
use super::private::{self, make_private_folder};
use crate::contract::ids::Digest;

/// The folder inside the audit folder.
const DAMAGED: &str = "damaged";

/// Where things are put aside.
#[derive(Debug, Clone)]
pub(super) struct Aside(PathBuf);

impl Aside {
    /// The one of an audit folder; it is made once it is needed.
    pub(super) fn in_folder(audit: &Path) -> Self {
        Self(audit.join(DAMAGED))
    }

    /// Keeps bytes that are about to be cut off a file from `offset` on. The same ones are kept
    /// once, and zeros alone say nothing.
    pub(super) fn keep(&self, file: &Path, offset: u64, bytes: &[u8]) -> Result<(), JournalError> {
        if bytes.iter().all(|byte| *byte == 0) {
            return Ok(());
        }
        make_private_folder(&self.0)?;
        let stem = file.file_stem().unwrap_or_default().to_string_lossy();
        let hash = Digest::of(bytes).to_string();
        let path = self.0.join(format!("{stem}-{offset}-{}.cut", hash.get(..16).unwrap_or("")));
        // One that is there is the same, or what a crash left of it.
        let mut to_write = OpenOptions::new();
        let to_write = to_write.write(true).create(true).truncate(true);
        let mut kept = private::open("make", &path, to_write)?;
        kept.write_all(bytes)
            .and_then(|()| kept.sync_all())
            .map_err(JournalError::on("write", &path))?;
        sync_folder(&self.0)
    }

    /// How many lanes are in it.
    pub(super) fn lanes(&self) -> Result<usize, JournalError> {
        let entries = match fs::read_dir(&self.0) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
            other => other.map_err(JournalError::on("list", &self.0))?,
        };
        // What was cut off a file, as a crash leaves it, is a file.
        Ok(entries.flatten().filter(|it| it.file_type().is_ok_and(|it| it.is_dir())).count())
    }

    /// Takes in a whole folder.
    pub(super) fn take(&self, folder: &Path) -> Result<(), JournalError> {
        make_private_folder(&self.0)?;
        let to = self.0.join(folder.file_name().unwrap_or_default());
        fs::rename(folder, &to).map_err(JournalError::on("move", folder))
    }
}
