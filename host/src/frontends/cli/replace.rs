//! Writes a file whole or not at all.
//!
//! A reader sees what was there before or what is there now, never a part of it.

use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use tempfile::NamedTempFile;

use super::error::{CliError, shown};

/// The mode of a file for everybody whom the umask lets.
pub(super) const FOR_ALL: u32 = 0o666;
/// The mode of a file for this user alone.
pub(super) const PRIVATE: u32 = 0o600;
/// Links that are followed from one name, as Linux does (`path_resolution(7)`).
const LINKS_MAX: usize = 40;

/// Puts `bytes` in the place of `path`.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> Result<(), CliError> {
    replace_by(path, FOR_ALL, |file| {
        file.write_all(bytes).map_err(|error| CliError::io("written", path, &error))
    })
}

/// The same with what `write` writes; where that fails, nothing has changed. A new file has `mode`,
/// less what the umask takes, and one that is replaced keeps its own.
pub(super) fn replace_by<T>(
    path: &Path,
    mode: u32,
    write: impl FnOnce(&mut dyn Write) -> Result<T, CliError>,
) -> Result<T, CliError> {
    Place::of(path)?.replace_by(mode, write)
}

/// Where a file will stand. What is there must be a file: renaming over a device or a pipe would
/// take it away. A link is refused, since who made it could choose what is overwritten.
#[derive(Debug)]
pub(super) struct Place {
    path: PathBuf,
    /// Held from the time of the checks on: by then a plugin may have put a link to elsewhere into
    /// its path.
    folder: OwnedFd,
    name: OsString,
    /// Those of what is there.
    permissions: Option<Permissions>,
}

impl Place {
    /// Looks whether a file can be written there, and writes none.
    pub(super) fn of(path: &Path) -> Result<Self, CliError> {
        let permissions = replaced(path)?;
        let name = path.file_name().ok_or_else(|| refused(path, "it names a folder"))?.to_owned();
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = rustix::fs::open(folder_of(path), flags, Mode::empty())
            .map_err(|error| failed(path, &error.into()))?;
        Ok(Self { path: path.to_owned(), folder, name, permissions })
    }

    /// As it was named.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether a file can be made there, as far as that can be known before; nothing stays of it. For
    /// what mustn't begin where its outcome couldn't be written.
    pub(super) fn can_be_written(&self) -> Result<(), CliError> {
        // Not kept until then: a plugin that lists the folder would see it.
        self.beside(PRIVATE).map(drop).map_err(|error| failed(&self.path, &error))
    }

    /// Like [`replace_by`].
    pub(super) fn replace_by<T>(
        &self,
        mode: u32,
        write: impl FnOnce(&mut dyn Write) -> Result<T, CliError>,
    ) -> Result<T, CliError> {
        let failed = |error: io::Error| failed(&self.path, &error);
        let mut part = self.beside(mode).map_err(failed)?;
        let mut file = BufWriter::new(part.as_file_mut());
        let written = write(&mut file)?;
        file.flush().map_err(failed)?;
        drop(file);
        self.put(part).map_err(failed)?;
        Ok(written)
    }

    /// The folder, by the descriptor.
    fn folder(&self) -> PathBuf {
        format!("/proc/self/fd/{}", self.folder.as_raw_fd()).into()
    }

    /// A new file in the same folder, since a rename only stays whole on one file system. It is
    /// removed by its own drop where writing fails.
    fn beside(&self, mode: u32) -> io::Result<NamedTempFile> {
        let mut builder = tempfile::Builder::new();
        builder.permissions(Permissions::from_mode(mode));
        builder.tempfile_in(self.folder())
    }

    /// A rename replaces what has the name, also a link, and follows none.
    fn put(&self, part: NamedTempFile) -> io::Result<()> {
        if let Some(permissions) = &self.permissions {
            part.as_file().set_permissions(permissions.clone())?;
        }
        part.as_file().sync_all()?;
        part.persist(self.folder().join(&self.name))?;
        Ok(())
    }
}

/// The permissions of what is there, where that can be replaced.
fn replaced(path: &Path) -> Result<Option<Permissions>, CliError> {
    match fs::metadata(path) {
        Ok(found) if found.is_file() && is_a_descriptor(path) => {
            Err(refused(path, "it stands for what is open elsewhere"))
        }
        Ok(found) if found.is_file() && takes_output(&found) => {
            Err(refused(path, "it is where stdout or stderr goes"))
        }
        Ok(found) if !found.is_file() => Err(refused(path, "it is no regular file")),
        _ if path.is_symlink() => {
            Err(refused(path, "it is a link; name the file that it leads to"))
        }
        Ok(found) => Ok(Some(found.permissions())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if path.as_os_str().as_bytes().ends_with(b"/") {
                return Err(refused(path, "it names a folder"));
            }
            // A folder that isn't there is told in the system's own words.
            fs::metadata(folder_of(path)).map_err(|error| CliError::io("written", path, &error))?;
            Ok(None)
        }
        Err(error) => Err(CliError::io("written", path, &error)),
    }
}

fn refused(path: &Path, why: &str) -> CliError {
    CliError::Usage(format!("{} can't be written: {why}", shown(path)))
}

/// Whether a name is, or leads over, one of those by which a system shows what a process has open:
/// `/dev/stdout` is the very file that stdout was sent to, which would be replaced below its writer.
fn is_a_descriptor(path: &Path) -> bool {
    let mut path = path.to_owned();
    for _ in 0..LINKS_MAX {
        let folder = fs::canonicalize(folder_of(&path)).unwrap_or_default();
        if folder == Path::new("/dev")
            || ["/dev/fd", "/proc"].iter().any(|it| folder.starts_with(it))
        {
            return true;
        }
        let Ok(to) = fs::read_link(&path) else { return false };
        path = folder_of(&path).join(to);
    }
    false
}

/// Whether what this process prints goes into a file, by whatever name: replaced, it would be lost
/// with all that was printed.
fn takes_output(file: &fs::Metadata) -> bool {
    let same = |open: rustix::io::Result<rustix::fs::Stat>| {
        open.is_ok_and(|open| (open.st_dev, open.st_ino) == (file.dev(), file.ino()))
    };
    same(rustix::fs::fstat(io::stdout())) || same(rustix::fs::fstat(io::stderr()))
}

/// Without the name of the file beside it, which nobody asked for and tempfile's errors have.
fn failed(path: &Path, error: &io::Error) -> CliError {
    let code = error.raw_os_error();
    let plain = code.map_or_else(|| error.kind().into(), io::Error::from_raw_os_error);
    CliError::io("written", path, &plain)
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<_> =
            entries.map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_new_file_appears_alone() {
        let root = tempfile::tempdir().unwrap();
        replace(&root.path().join("a.wasm"), b"new").unwrap();
        assert_eq!(fs::read(root.path().join("a.wasm")).unwrap(), b"new");
        assert_eq!(names(root.path()), ["a.wasm"]);
    }

    #[test]
    fn a_mode_survives() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("a.wasm");
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
        replace(&file, b"new").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"new");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(names(root.path()), ["a.wasm"]);
    }

    #[test]
    fn a_link_is_refused_wherever_it_leads() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("file"), "old").unwrap();
        for to in ["file", "missing"] {
            let link = root.path().join("link");
            symlink(to, &link).unwrap();
            let error = replace(&link, b"new").unwrap_err();
            assert!(error.to_string().contains("it is a link"), "{error}");
            assert_eq!(error.exit().code(), 2);
            fs::remove_file(link).unwrap();
        }
        assert_eq!(fs::read(root.path().join("file")).unwrap(), b"old");
        assert_eq!(names(root.path()), ["file"]);
    }

    #[test]
    fn a_link_that_comes_after_the_place_was_looked_at_leads_nowhere() {
        let root = tempfile::tempdir().unwrap();
        let [inner, moved, victims] = ["inner", "moved", "victims"].map(|it| root.path().join(it));
        for folder in [&inner, &victims] {
            fs::create_dir(folder).unwrap();
        }
        let victim = victims.join("file");
        fs::write(&victim, "old").unwrap();
        let write = |place: &Place| {
            place.replace_by(FOR_ALL, |file| {
                file.write_all(b"new").map_err(|error| CliError::io("written", &inner, &error))
            })
        };
        let place = Place::of(&inner.join("file")).unwrap();
        // In the place of the file, then in that of its folder.
        symlink(&victim, inner.join("file")).unwrap();
        write(&place).unwrap();
        assert!(fs::symlink_metadata(inner.join("file")).unwrap().is_file());
        fs::rename(&inner, &moved).unwrap();
        symlink(&victims, &inner).unwrap();
        fs::remove_file(moved.join("file")).unwrap();
        write(&place).unwrap();
        assert_eq!(fs::read(moved.join("file")).unwrap(), b"new");
        assert_eq!(fs::read(&victim).unwrap(), b"old");
    }

    #[test]
    fn what_is_no_file_is_left_alone() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("folder");
        fs::create_dir(&folder).unwrap();
        for path in [folder.as_path(), Path::new("/dev/null")] {
            assert_eq!(replace(path, b"new").unwrap_err().exit().code(), 2);
        }
        assert_eq!(names(root.path()), ["folder"]);
    }

    #[test]
    fn an_open_file_is_not_replaced_by_the_name_of_its_descriptor() {
        let root = tempfile::tempdir().unwrap();
        let open = fs::File::create(root.path().join("open")).unwrap();
        let number = open.as_raw_fd().to_string();
        let [link, over] = ["link", "over"].map(|it| root.path().join(it));
        symlink(Path::new("/dev/fd").join(&number), &link).unwrap();
        symlink("link", &over).unwrap();
        for path in [
            Path::new("/dev/fd").join(&number),
            format!("/proc/self/fd/{number}").into(),
            link,
            over,
        ] {
            let error = replace(&path, b"new").unwrap_err();
            assert!(error.to_string().contains("stands for what is open"), "{error}");
            assert_eq!(error.exit().code(), 2);
        }
        assert_eq!(fs::read(root.path().join("open")).unwrap(), b"");
    }

    #[test]
    fn what_can_be_replaced_is_left_alone_until_it_is() {
        let root = tempfile::tempdir().unwrap();
        let looked = |path: &Path| Place::of(path)?.can_be_written();
        looked(&root.path().join("new")).unwrap();
        assert!(names(root.path()).is_empty());
        fs::write(root.path().join("old"), "old").unwrap();
        looked(&root.path().join("old")).unwrap();
        assert_eq!(fs::read(root.path().join("old")).unwrap(), b"old");
        symlink("loop", root.path().join("loop")).unwrap();
        let inner =
            ["", "new/", "old/new", "no/such", "loop", "loop/new"].map(|it| root.path().join(it));
        for bad in inner.into_iter().chain(["/proc/new".into()]) {
            let error = looked(&bad).unwrap_err();
            assert_eq!(error.exit().code(), 2, "{error}");
            assert!(!error.to_string().contains("at path"), "{error}");
        }
        assert_eq!(names(root.path()), ["loop", "old"]);
    }

    #[test]
    fn nothing_half_written_stays_where_writing_fails() {
        let root = tempfile::tempdir().unwrap();
        let nowhere = replace(&root.path().join("no/such/a.wasm"), b"new").unwrap_err();
        assert_eq!(nowhere.exit().code(), 2);
        let full = replace(Path::new("/proc/a.wasm"), b"new").unwrap_err();
        assert_eq!(full.exit().code(), 2);
        assert!(names(root.path()).is_empty());
    }
}
