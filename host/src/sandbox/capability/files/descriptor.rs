//! Every method of a descriptor: watched, then wasmtime-wasi's own.
//!
//! Written out in full on purpose: a method that is added upstream fails to compile here, and is
//! looked at before any guest has it.

use wasmtime::component::Resource;
use wasmtime_wasi::filesystem::Descriptor;
use wasmtime_wasi::p2::bindings::filesystem::types::{
    self, Advice, DescriptorFlags, DescriptorStat, DescriptorType, DirectoryEntry,
    DirectoryEntryStream, ErrorCode, Filesize, HostDescriptor, HostDirectoryEntryStream,
    MetadataHashValue, NewTimestamp, OpenFlags, PathFlags,
};
use wasmtime_wasi::p2::{DynInputStream, DynOutputStream, FsError, FsResult};

use super::stream::{WatchedInput, WatchedOutput};
use super::{FilesView, Tried};

type File = Resource<Descriptor>;

impl types::Host for FilesView<'_> {
    fn convert_error_code(&mut self, error: FsError) -> wasmtime::Result<ErrorCode> {
        types::Host::convert_error_code(&mut self.inner, error)
    }

    fn filesystem_error_code(
        &mut self,
        error: Resource<wasmtime::Error>,
    ) -> wasmtime::Result<Option<ErrorCode>> {
        types::Host::filesystem_error_code(&mut self.inner, error)
    }
}

fn changes(open: OpenFlags, flags: DescriptorFlags) -> bool {
    open.intersects(OpenFlags::CREATE | OpenFlags::TRUNCATE)
        || flags.intersects(DescriptorFlags::WRITE | DescriptorFlags::MUTATE_DIRECTORY)
}

impl HostDescriptor for FilesView<'_> {
    async fn open_at(
        &mut self,
        fd: File,
        path_flags: PathFlags,
        path: String,
        open: OpenFlags,
        flags: DescriptorFlags,
    ) -> FsResult<File> {
        let _busy = self.watch.begin()?;
        self.refuse_many()?;
        let writable = self.is_writable(&fd);
        self.refuse_special(&fd, path_flags, &path).await?;
        let opened = self.inner.open_at(fd, path_flags, path.clone(), open, flags).await;
        let tried = Tried { verb: "open", path: &path, changes: changes(open, flags) };
        let opened = self.noted(opened, writable, tried)?;
        self.watch.opened(opened.rep(), 0);
        if self.is_of_processes(&opened) {
            self.denials.note("dir", &format!("to open `{path}`, a part of /proc"), None);
            HostDescriptor::drop(self, opened).map_err(FsError::trap)?;
            return Err(ErrorCode::NotPermitted.into());
        }
        Ok(opened)
    }

    async fn read_directory(&mut self, fd: File) -> FsResult<Resource<DirectoryEntryStream>> {
        let _busy = self.watch.begin()?;
        self.refuse_many()?;
        let entries = self.entries_of(&fd).await?;
        let listing = self.inner.read_directory(fd).await?;
        self.watch.opened(listing.rep(), entries);
        Ok(listing)
    }

    async fn read(
        &mut self,
        fd: File,
        len: Filesize,
        offset: Filesize,
    ) -> FsResult<(Vec<u8>, bool)> {
        let _busy = self.watch.begin()?;
        let read = self.inner.read(fd, len, offset).await?;
        self.watch.count_read(read.0.len());
        Ok(read)
    }

    async fn write(&mut self, fd: File, bytes: Vec<u8>, offset: Filesize) -> FsResult<Filesize> {
        let _busy = self.watch.begin()?;
        let writable = self.is_writable(&fd);
        let len = bytes.len();
        let written = self.inner.write(fd, bytes, offset).await;
        let written = self.noted(written, writable, Tried::changing("write", "a file"))?;
        self.watch.count_written(len);
        Ok(written)
    }

    fn read_via_stream(
        &mut self,
        fd: File,
        offset: Filesize,
    ) -> FsResult<Resource<DynInputStream>> {
        self.refuse_many()?;
        let stream = self.inner.read_via_stream(fd, offset)?;
        let inner = self.inner.table.delete(stream)?;
        let watched: DynInputStream = Box::new(WatchedInput::new(inner, &self.watch));
        Ok(self.inner.table.push(watched)?)
    }

    fn write_via_stream(
        &mut self,
        fd: File,
        offset: Filesize,
    ) -> FsResult<Resource<DynOutputStream>> {
        self.refuse_many()?;
        let writable = self.is_writable(&fd);
        let stream = self.inner.write_via_stream(fd, offset);
        self.watched_output(stream, writable)
    }

    fn append_via_stream(&mut self, fd: File) -> FsResult<Resource<DynOutputStream>> {
        self.refuse_many()?;
        let writable = self.is_writable(&fd);
        let stream = self.inner.append_via_stream(fd);
        self.watched_output(stream, writable)
    }

    async fn set_size(&mut self, fd: File, size: Filesize) -> FsResult<()> {
        let _busy = self.watch.begin()?;
        let writable = self.is_writable(&fd);
        let done = self.inner.set_size(fd, size).await;
        self.noted(done, writable, Tried::changing("resize", "a file"))
    }

    async fn set_times(
        &mut self,
        fd: File,
        accessed: NewTimestamp,
        modified: NewTimestamp,
    ) -> FsResult<()> {
        let _busy = self.watch.begin()?;
        let writable = self.is_writable(&fd);
        let done = self.inner.set_times(fd, accessed, modified).await;
        self.noted(done, writable, Tried::changing("set the times of", "a file"))
    }

    async fn set_times_at(
        &mut self,
        fd: File,
        flags: PathFlags,
        path: String,
        accessed: NewTimestamp,
        modified: NewTimestamp,
    ) -> FsResult<()> {
        let _busy = self.watch.begin()?;
        let writable = self.is_writable(&fd);
        let done = self.inner.set_times_at(fd, flags, path.clone(), accessed, modified).await;
        self.noted(done, writable, Tried::changing("set the times of", &path))
    }

    async fn create_directory_at(&mut self, fd: File, path: String) -> FsResult<()> {
        let _busy = self.watch.begin()?;
        let writable = self.is_writable(&fd);
        let done = self.inner.create_directory_at(fd, path.clone()).await;
        self.noted(done, writable, Tried::changing("create", &path))
    }

    async fn link_at(
        &mut self,
        from: File,
        flags: PathFlags,
        old: String,
        to: File,
        new: String,
    ) -> FsResult<()> {
        let _busy = self.watch.begin()?;
        let writable = self.is_writable(&from) && self.is_writable(&to);
        let done = self.inner.link_at(from, flags, old, to, new.clone()).await;
        self.noted(done, writable, Tried::changing("link", &new))
    }

    async fn symlink_at(&mut self, fd: File, target: String, path: String) -> FsResult<()> {
        let _busy = self.watch.begin()?;
        let writable = self.is_writable(&fd);
        let done = self.inner.symlink_at(fd, target, path.clone()).await;
        self.noted(done, writable, Tried::changing("link", &path))
    }

    async fn rename_at(&mut self, from: File, old: String, to: File, new: String) -> FsResult<()> {
        let _busy = self.watch.begin()?;
        let writable = self.is_writable(&from) && self.is_writable(&to);
        let done = self.inner.rename_at(from, old, to, new.clone()).await;
        self.noted(done, writable, Tried::changing("rename to", &new))
    }

    async fn remove_directory_at(&mut self, fd: File, path: String) -> FsResult<()> {
        let _busy = self.watch.begin()?;
        let writable = self.is_writable(&fd);
        let done = self.inner.remove_directory_at(fd, path.clone()).await;
        self.noted(done, writable, Tried::changing("remove", &path))
    }

    async fn unlink_file_at(&mut self, fd: File, path: String) -> FsResult<()> {
        let _busy = self.watch.begin()?;
        let writable = self.is_writable(&fd);
        let done = self.inner.unlink_file_at(fd, path.clone()).await;
        self.noted(done, writable, Tried::changing("remove", &path))
    }

    async fn stat(&mut self, fd: File) -> FsResult<DescriptorStat> {
        let _busy = self.watch.begin()?;
        self.inner.stat(fd).await
    }

    async fn stat_at(
        &mut self,
        fd: File,
        flags: PathFlags,
        path: String,
    ) -> FsResult<DescriptorStat> {
        let _busy = self.watch.begin()?;
        let stat = self.inner.stat_at(fd, flags, path.clone()).await;
        self.noted(stat, true, Tried::reading("look at", &path))
    }

    async fn readlink_at(&mut self, fd: File, path: String) -> FsResult<String> {
        let _busy = self.watch.begin()?;
        let target = self.inner.readlink_at(fd, path.clone()).await;
        self.noted(target, true, Tried::reading("look at", &path))
    }

    async fn metadata_hash(&mut self, fd: File) -> FsResult<MetadataHashValue> {
        let _busy = self.watch.begin()?;
        self.inner.metadata_hash(fd).await
    }

    async fn metadata_hash_at(
        &mut self,
        fd: File,
        flags: PathFlags,
        path: String,
    ) -> FsResult<MetadataHashValue> {
        let _busy = self.watch.begin()?;
        self.inner.metadata_hash_at(fd, flags, path).await
    }

    async fn get_flags(&mut self, fd: File) -> FsResult<DescriptorFlags> {
        let _busy = self.watch.begin()?;
        self.inner.get_flags(fd).await
    }

    async fn get_type(&mut self, fd: File) -> FsResult<DescriptorType> {
        let _busy = self.watch.begin()?;
        self.inner.get_type(fd).await
    }

    async fn advise(
        &mut self,
        fd: File,
        offset: Filesize,
        len: Filesize,
        advice: Advice,
    ) -> FsResult<()> {
        let _busy = self.watch.begin()?;
        self.inner.advise(fd, offset, len, advice).await
    }

    async fn sync(&mut self, fd: File) -> FsResult<()> {
        let _busy = self.watch.begin()?;
        self.inner.sync(fd).await
    }

    async fn sync_data(&mut self, fd: File) -> FsResult<()> {
        let _busy = self.watch.begin()?;
        self.inner.sync_data(fd).await
    }

    async fn is_same_object(&mut self, a: File, b: File) -> wasmtime::Result<bool> {
        let _busy = self.watch.begin()?;
        self.inner.is_same_object(a, b).await
    }

    fn drop(&mut self, fd: File) -> wasmtime::Result<()> {
        let handle = fd.rep();
        HostDescriptor::drop(&mut self.inner, fd)?;
        self.watch.closed(handle);
        Ok(())
    }
}

impl FilesView<'_> {
    fn watched_output(
        &mut self,
        stream: FsResult<Resource<DynOutputStream>>,
        writable: bool,
    ) -> FsResult<Resource<DynOutputStream>> {
        let stream = self.noted(stream, writable, Tried::changing("write", "a file"))?;
        let inner = self.inner.table.delete(stream)?;
        let watched: DynOutputStream = Box::new(WatchedOutput::new(inner, &self.watch));
        Ok(self.inner.table.push(watched)?)
    }
}

fn is_unsayable(error: &FsError) -> bool {
    matches!(error.downcast_ref(), Some(ErrorCode::IllegalByteSequence))
}

impl HostDirectoryEntryStream for FilesView<'_> {
    async fn read_directory_entry(
        &mut self,
        stream: Resource<DirectoryEntryStream>,
    ) -> FsResult<Option<DirectoryEntry>> {
        // WASI has no way to say such a name, and an error here would end the whole listing.
        loop {
            let stream = Resource::new_borrow(stream.rep());
            match self.inner.read_directory_entry(stream).await {
                Err(error) if is_unsayable(&error) => self.watch.count_unsayable(),
                entry => return entry,
            }
        }
    }

    fn drop(&mut self, stream: Resource<DirectoryEntryStream>) -> wasmtime::Result<()> {
        let handle = stream.rep();
        HostDirectoryEntryStream::drop(&mut self.inner, stream)?;
        self.watch.closed(handle);
        Ok(())
    }
}
