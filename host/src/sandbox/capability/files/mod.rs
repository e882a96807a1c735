//! `wasi:filesystem` over granted folders, through a wrapper of our own.
//!
//! wasmtime-wasi keeps paths inside their folder and permissions with the opened folder. The
//! wrapper adds what it leaves open: only regular files and folders are opened (a FIFO would block
//! a thread for good), folders are read up to a bound, operations in flight are known when the time
//! is up, none begins after that, bytes are counted and denials named.

mod descriptor;
mod folders;
mod refuse;
mod stream;
mod watch;

pub(crate) use folders::{FolderError, Folders};
pub use folders::{FolderProblem, refuse_processes};
pub(crate) use watch::FileWatch;

use wasmtime::component::{HasData, Resource};
use wasmtime_wasi::filesystem::{Descriptor, WasiFilesystemCtxView};
use wasmtime_wasi::p2::FsError;
use wasmtime_wasi::p2::bindings::filesystem::preopens;
use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;

use super::denied::Denials;

/// How an operator grants a folder.
const DIR_GRANT: &str = "--dir HOST[:GUEST][:ro|rw]";

/// Names this view to the linker.
pub(crate) struct Files;

impl HasData for Files {
    type Data<'a> = FilesView<'a>;
}

/// wasmtime-wasi's view with what the wrapper needs beside it.
pub(crate) struct FilesView<'a> {
    pub(crate) inner: WasiFilesystemCtxView<'a>,
    pub(crate) watch: FileWatch,
    pub(crate) denials: Denials,
}

impl preopens::Host for FilesView<'_> {
    fn get_directories(&mut self) -> wasmtime::Result<Vec<(Resource<Descriptor>, String)>> {
        let folders = preopens::Host::get_directories(&mut self.inner)?;
        // Without one this is all a guest can ask. Some runtimes ask it whatever they run, so a
        // plugin that says what it needs, and doesn't say this, isn't held to have tried.
        if folders.is_empty() && self.watch.may_want_folders() {
            self.denials.note("dir", "to find a granted folder", Some(DIR_GRANT));
        }
        Ok(folders)
    }
}

impl FilesView<'_> {
    /// Whether the folder or file behind a descriptor may be changed.
    fn is_writable(&self, descriptor: &Resource<Descriptor>) -> bool {
        match self.inner.table.get(descriptor) {
            Ok(Descriptor::Dir(dir)) => !dir.perms.write_not_permitted(),
            Ok(Descriptor::File(file)) => !file.perms.write_not_permitted(),
            Err(_) => false,
        }
    }

    /// Passes a result on; a denial in it is noted with what would lift it.
    fn noted<T>(
        &self,
        result: Result<T, FsError>,
        writable: bool,
        tried: Tried<'_>,
    ) -> Result<T, FsError> {
        let denied = result.as_ref().err().and_then(FsError::downcast_ref).is_some_and(|code| {
            matches!(code, ErrorCode::NotPermitted | ErrorCode::ReadOnly | ErrorCode::Access)
        });
        if denied {
            let Tried { verb, path, changes } = tried;
            let own = matches!(
                result.as_ref().err().and_then(FsError::downcast_ref),
                Some(ErrorCode::Access)
            );
            if climbs(path) || (!own && (!changes || writable)) {
                let tried = format!("to {verb} `{path}`, outside the granted folders");
                self.denials.note("dir", &tried, Some(DIR_GRANT));
            } else if own {
                let tried = format!("to {verb} `{path}`, which its own permissions don't allow");
                self.denials.note("dir", &tried, None);
            } else if self.watch.is_held_read_only() {
                let tried = format!("to {verb} `{path}`, though the tool is tagged @read-only");
                self.denials.note("dir", &tried, None);
            } else {
                let tried = format!("to {verb} `{path}` in a folder granted read-only");
                self.denials.note("dir", &tried, Some("--dir HOST[:GUEST]:rw"));
            }
        }
        result
    }
}

/// Whether a path leaves the folder it starts in by its own words.
fn climbs(path: &str) -> bool {
    let mut depth = 0_i64;
    path.starts_with('/')
        || path.split('/').any(|part| {
            depth += match part {
                "" | "." => 0,
                ".." => -1,
                _ => 1,
            };
            depth < 0
        })
}

/// What a guest tried, for the note.
#[derive(Debug, Clone, Copy)]
struct Tried<'a> {
    verb: &'static str,
    path: &'a str,
    changes: bool,
}

impl<'a> Tried<'a> {
    fn reading(verb: &'static str, path: &'a str) -> Self {
        Self { verb, path, changes: false }
    }

    fn changing(verb: &'static str, path: &'a str) -> Self {
        Self { verb, path, changes: true }
    }
}

#[cfg(test)]
mod tests {
    use super::climbs;

    #[test]
    fn only_paths_that_leave_by_their_own_words_climb() {
        for out in ["..", "../x", "a/../../b", "/etc", "./../x"] {
            assert!(climbs(out), "{out}");
        }
        for inside in ["", ".", "a", "a/..", "a/../b", "./a/./b/..", "..a"] {
            assert!(!climbs(inside), "{inside}");
        }
    }
}
