//! What the wrapper refuses before, or right after, wasmtime-wasi opens it.
//!
//! Decides only; `descriptor` asks.

use wasmtime::component::Resource;
use wasmtime_wasi::filesystem::Descriptor;
use wasmtime_wasi::p2::FsResult;
use wasmtime_wasi::p2::bindings::filesystem::types::{
    DescriptorType, ErrorCode, HostDescriptor, PathFlags,
};

use super::FilesView;

/// Entries of one folder that are read at most, `.` and `..` among them; a larger folder is refused before it is collected,
/// since wasmtime-wasi collects it whole.
pub(super) const FOLDER_ENTRIES_MAX: usize = 100_000;

type File = Resource<Descriptor>;

impl FilesView<'_> {
    /// Refuses what is neither a regular file nor a folder, before it is opened: opening a FIFO
    /// blocks its thread until somebody writes.
    pub(super) async fn refuse_special(
        &mut self,
        fd: &File,
        flags: PathFlags,
        path: &str,
    ) -> FsResult<()> {
        let fd = Resource::new_borrow(fd.rep());
        match self.inner.stat_at(fd, flags, path.to_owned()).await {
            Ok(stat) => match stat.type_ {
                DescriptorType::RegularFile
                | DescriptorType::Directory
                // Opening it without following fails by itself.
                | DescriptorType::SymbolicLink => Ok(()),
                _ => Err(ErrorCode::NotPermitted.into()),
            },
            // What isn't there may be about to be made; any other trouble shows again at the open.
            Err(_) => Ok(()),
        }
    }

    /// Refuses one more open file past the bound. WASI has no word for it but this.
    pub(super) fn refuse_many(&self) -> FsResult<()> {
        if self.watch.may_open() { Ok(()) } else { Err(ErrorCode::InsufficientMemory.into()) }
    }

    /// Whether something opened is a view into this machine's processes, belljar's among them: its
    /// memory and environment would be files.
    pub(super) fn is_of_processes(&self, fd: &File) -> bool {
        match self.inner.table.get(fd) {
            Ok(Descriptor::Dir(dir)) => shows_processes(&dir.dir),
            Ok(Descriptor::File(file)) => shows_processes(&file.file),
            Err(_) => true,
        }
    }

    /// Counts the entries of a folder; one with too many, or too many in all, is refused.
    pub(super) async fn entries_of(&mut self, fd: &File) -> FsResult<usize> {
        let Descriptor::Dir(dir) = self.inner.table.get(fd)? else {
            return Err(ErrorCode::NotDirectory.into());
        };
        let dir = std::sync::Arc::clone(&dir.dir);
        let counted = tokio::task::spawn_blocking(move || {
            let entries = rustix::fs::Dir::read_from(&*dir)?;
            Ok::<_, std::io::Error>(entries.take(FOLDER_ENTRIES_MAX + 1).count())
        });
        match counted.await {
            Ok(Ok(count)) if count <= FOLDER_ENTRIES_MAX && self.watch.may_list(count) => Ok(count),
            Ok(Ok(_)) => Err(ErrorCode::FileTooLarge.into()),
            Ok(Err(error)) => Err(error.into()),
            Err(_) => Err(ErrorCode::Io.into()),
        }
    }
}

/// Whether a file lies in procfs; what can't be told is taken for it.
pub(super) fn shows_processes(file: &std::fs::File) -> bool {
    rustix::fs::fstatfs(file).map_or(true, |found| found.f_type == rustix::fs::PROC_SUPER_MAGIC)
}
