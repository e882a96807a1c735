//! Granted folders, opened once and cloned into each store.
//!
//! The opened folder, not its path, is what a grant means from then on: a folder that is renamed or
//! replaced on the host later is still the one that was granted.

use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat, openat2};
use rustix::io::Errno;
use wasmtime::component::ResourceTable;
use wasmtime_wasi::filesystem::{WasiFilesystemCtx, WasiFilesystemView as _};
use wasmtime_wasi::{FsPerms, WasiCtx, WasiCtxView, WasiView};

use super::refuse::shows_processes;
use crate::contract::grants::{DirMode, Grants};
use crate::sandbox::room::is_short_of_room;

/// A folder that can't be opened. Names the guest's path: the host's stays on the host.
#[derive(Debug, thiserror::Error)]
#[error("the folder granted as `{guest}` can't be opened: {problem}")]
pub struct FolderError {
    guest: String,
    pub(crate) problem: FolderProblem,
}

/// What is wrong with a folder.
#[derive(Debug, thiserror::Error)]
pub enum FolderProblem {
    /// What the machine says of it.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// It is none that may be granted.
    #[error("{0}")]
    Refused(String),
}

impl From<String> for FolderProblem {
    fn from(why: String) -> Self {
        Self::Refused(why)
    }
}

impl FolderProblem {
    /// Whether the machine has no descriptor or memory for it, whatever it is.
    pub fn is_for_want_of_room(&self) -> bool {
        matches!(self, Self::Io(error) if is_short_of_room(error))
    }
}

/// Why a folder can be nobody's, where it can't. Below a granted folder such files are refused when
/// they are opened; a grant is refused at once.
pub fn refuse_processes(folder: &Path) -> Result<(), FolderProblem> {
    let opened = std::fs::File::open(folder)?;
    if shows_processes(&opened) {
        let why = "it is a part of /proc, where belljar's own memory is a file";
        return Err(why.to_owned().into());
    }
    Ok(())
}

fn problem_of(error: wasmtime::Error) -> FolderProblem {
    match error.downcast::<std::io::Error>() {
        Ok(error) => error.into(),
        Err(other) => other.root_cause().to_string().into(),
    }
}

/// The folders of one tool.
#[derive(Clone, Default)]
pub(crate) struct Folders {
    opened: WasiFilesystemCtx,
    count: usize,
}

impl std::fmt::Debug for Folders {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Folders").field("count", &self.count).finish_non_exhaustive()
    }
}

/// A context that is being made; wasmtime-wasi hands out its parts by this way alone.
struct Making<'a>(&'a mut WasiCtx, &'a mut ResourceTable);

impl WasiView for Making<'_> {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: self.0, table: self.1 }
    }
}

/// A folder that was found without following any link, by which it is opened.
struct Held {
    folder: OwnedFd,
}

impl Held {
    /// A path that leads to this very folder, wherever its name leads by now.
    fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.folder.as_raw_fd()))
    }
}

/// A grant names its folder without links. What was checked may have been replaced by a link since,
/// by somebody who may write there; then this isn't the folder that was granted.
fn hold(host: &Path) -> Result<Held, FolderProblem> {
    let flags = OFlags::DIRECTORY | OFlags::PATH | OFlags::CLOEXEC;
    let opened = match openat2(CWD, host, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
        // Linux before 5.6, and kernels that stand in for it.
        Err(Errno::NOSYS) => openat(CWD, host, flags, Mode::empty()),
        opened => opened,
    };
    opened.map(|folder| Held { folder }).map_err(|error| match error {
        Errno::LOOP => "a part of it has become a link".to_owned().into(),
        other => std::io::Error::from(other).into(),
    })
}

impl Folders {
    /// Opens every granted folder.
    ///
    /// # Errors
    /// The first that is missing, no folder, or not ours to open.
    pub(crate) fn open(grants: &Grants) -> Result<Self, FolderError> {
        let mut builder = WasiCtx::builder();
        for dir in grants.dirs() {
            let refused = |problem| FolderError { guest: dir.guest.clone(), problem };
            let held = hold(&dir.host).map_err(refused)?;
            refuse_processes(&held.path()).map_err(refused)?;
            let perms = match dir.mode {
                DirMode::ReadOnly => FsPerms::ReadOnly,
                DirMode::ReadWrite => FsPerms::ReadWrite,
            };
            builder
                .preopened_dir(held.path(), &dir.guest, perms)
                .map_err(|error| refused(problem_of(error)))?;
        }
        let (mut wasi, mut table) = (builder.build(), ResourceTable::new());
        let opened = Making(&mut wasi, &mut table).filesystem().ctx.clone();
        Ok(Self { opened, count: grants.dirs().len() })
    }

    /// Puts them into a context.
    pub(crate) fn give(&self, wasi: &mut WasiCtx) {
        let mut table = ResourceTable::new();
        *Making(wasi, &mut table).filesystem().ctx = self.opened.clone();
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::contract::grants::DirGrant;

    fn open(host: &Path) -> Result<Folders, FolderError> {
        let mut grants = Grants::default();
        let (host, guest) = (host.to_owned(), "/w".to_owned());
        grants.add_dir(DirGrant { host, guest, mode: DirMode::ReadOnly }).unwrap();
        Folders::open(&grants)
    }

    #[test]
    fn a_folder_that_became_a_link_after_it_was_granted_is_not_opened() {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
        let (mine, theirs) = (root.join("mine"), root.join("theirs"));
        fs::create_dir_all(mine.join("out")).unwrap();
        fs::create_dir_all(theirs.join("out")).unwrap();
        open(&mine.join("out")).unwrap();
        fs::remove_dir(mine.join("out")).unwrap();
        symlink("../theirs/out", mine.join("out")).unwrap();
        let error = open(&mine.join("out")).unwrap_err().to_string();
        assert!(error.contains("become a link"), "{error}");
        fs::remove_dir_all(&mine).unwrap();
        symlink("theirs", &mine).unwrap();
        assert!(open(&mine.join("out")).is_err(), "nor one that lies behind a link");
        assert!(!error.contains(&*root.to_string_lossy()), "{error}");
    }
}
