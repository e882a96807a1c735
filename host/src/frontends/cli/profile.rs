//! The file of `call --profile`: asked for before the call, written after it.
//!
//! What goes wrong with it afterwards is told and changes nothing of the call's own result.

use std::path::Path;

use super::error::{CliError, shown};
use super::replace::{FOR_ALL, Place};
use super::show::tell;
use crate::app::Profile;
use crate::events::unix_ms;

/// A profile and where it goes.
#[derive(Debug)]
pub(super) struct ProfileFile {
    place: Place,
    profile: Profile,
}

impl ProfileFile {
    /// Makes sure that the file can be written, since a tool that changes something mustn't run for
    /// a profile that can't be kept.
    pub(super) fn new(path: &Path) -> Result<Self, CliError> {
        if path == Path::new("-") {
            let why = "a profile goes into a file, since stdout is the result's; write ./- for a \
                       file of that name";
            return Err(CliError::Usage(why.to_owned()));
        }
        let place = Place::of(path)?;
        place.can_be_written()?;
        Ok(Self { place, profile: Profile::new(unix_ms()) })
    }

    /// What the host is to sample into.
    pub(super) fn profile(&self) -> Profile {
        self.profile.clone()
    }

    /// Writes what was seen of the call of this tool, and tells where that isn't what was meant.
    pub(super) fn write(&self, tool: &str) {
        let (path, seen) = (shown(self.place.path()), self.profile.seen());
        if seen.attempts == 0 {
            tell(&format!("note: {path} isn't written: nothing of this call ran in the sandbox"));
            return;
        }
        let written = self.place.replace_by(FOR_ALL, |file| {
            let written = self.profile.write(tool, file);
            written.map_err(|error| CliError::io("written", self.place.path(), &error))
        });
        match written {
            Err(error) => tell(&format!("warning: the profile is lost: {error}")),
            Ok(()) if seen.samples == 0 => {
                tell(&format!("note: {path} has no sample: the tool ran for less than about 1 ms"));
            }
            Ok(()) => {}
        }
    }
}
