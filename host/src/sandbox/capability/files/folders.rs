//! Granted folders, opened once and cloned into each store.
//!
//! The opened folder, not its path, is what a grant means from then on: a folder that is renamed or
//! replaced on the host later is still the one that was granted.

use std::path::Path;

use wasmtime::component::ResourceTable;
use wasmtime_wasi::filesystem::{WasiFilesystemCtx, WasiFilesystemView as _};
use wasmtime_wasi::{FsPerms, WasiCtx, WasiCtxView, WasiView};

use super::refuse::shows_processes;
use crate::contract::grants::{DirMode, Grants};

/// A folder that can't be opened. Names the guest's path: the host's stays on the host.
#[derive(Debug, thiserror::Error)]
#[error("the folder granted as `{guest}` can't be opened: {reason}")]
pub struct FolderError {
    guest: String,
    reason: String,
}

/// Why a folder can be nobody's, where it can't. Below a granted folder such files are refused when
/// they are opened; a grant is refused at once.
pub fn refuse_processes(folder: &Path) -> Result<(), String> {
    let opened = std::fs::File::open(folder).map_err(|error| error.to_string())?;
    if shows_processes(&opened) {
        return Err("it is a part of /proc, where belljar's own memory is a file".to_owned());
    }
    Ok(())
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

struct Template(WasiCtx, ResourceTable);

impl WasiView for Template {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.0, table: &mut self.1 }
    }
}

impl Folders {
    /// Opens every granted folder.
    ///
    /// # Errors
    /// The first that is missing, no folder, or not ours to open.
    pub(crate) fn open(grants: &Grants) -> Result<Self, FolderError> {
        let mut builder = WasiCtx::builder();
        for dir in grants.dirs() {
            refuse_processes(&dir.host)
                .map_err(|reason| FolderError { guest: dir.guest.clone(), reason })?;
            let perms = match dir.mode {
                DirMode::ReadOnly => FsPerms::ReadOnly,
                DirMode::ReadWrite => FsPerms::ReadWrite,
            };
            builder.preopened_dir(&dir.host, &dir.guest, perms).map_err(|error| FolderError {
                guest: dir.guest.clone(),
                reason: error.root_cause().to_string(),
            })?;
        }
        let mut template = Template(builder.build(), ResourceTable::new());
        let opened = template.filesystem().ctx.clone();
        Ok(Self { opened, count: grants.dirs().len() })
    }

    /// What a store starts with.
    pub(crate) fn context(&self) -> WasiFilesystemCtx {
        self.opened.clone()
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }
}
