//! Reads the configuration's file, if it is one that nobody else can change.
//!
//! Doesn't look at what the text says.

use std::fs::{File, Metadata, OpenOptions};
use std::io::Read as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use super::error::{ConfigError, shown_path};
use super::locate::{NamedBy, Place};

/// The most bytes of a configuration.
pub const CONFIG_MAX_LEN: u64 = 1 << 20;

/// The text at `place`. `None`: a default place where nothing is.
///
/// # Errors
/// See [`ConfigError`].
pub(super) fn read(place: &Place) -> Result<Option<String>, ConfigError> {
    let failed = |error| ConfigError::read(&place.path, place.named_by.words(), error);
    let file = match open(&place.path) {
        Ok(file) => file,
        Err(error) if is_absent(&error) && place.named_by == NamedBy::Default => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    let path = || shown_path(&place.path);
    let metadata = file.metadata().map_err(failed)?;
    if !metadata.is_file() {
        return Err(ConfigError::NoFile(path()));
    }
    trusted(&metadata, rustix::process::geteuid().as_raw(), path)?;
    let mut bytes = Vec::new();
    file.take(CONFIG_MAX_LEN + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > CONFIG_MAX_LEN {
        return Err(ConfigError::TooLarge { path: path(), max: CONFIG_MAX_LEN });
    }
    text(bytes, place).map(Some)
}

/// Opens without waiting: a pipe must not hold the start.
pub(super) fn open(path: &Path) -> std::io::Result<File> {
    let nonblock = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or(0);
    OpenOptions::new().read(true).custom_flags(nonblock).open(path)
}

fn is_absent(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory)
}

/// Looks at the opened file, so that nobody can put another in its place meanwhile. A group that
/// may write is left alone: many systems give each user a group and a umask that lets it.
fn trusted(metadata: &Metadata, us: u32, path: impl Fn() -> String) -> Result<(), ConfigError> {
    let owner = metadata.uid();
    if owner != us && owner != 0 {
        return Err(ConfigError::Owner { path: path(), owner, expected: us });
    }
    if metadata.mode() & 0o002 != 0 {
        return Err(ConfigError::Writable(path()));
    }
    Ok(())
}

fn text(bytes: Vec<u8>, place: &Place) -> Result<String, ConfigError> {
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.as_bytes().get(..error.utf8_error().valid_up_to()).unwrap_or_default();
        let line = valid.iter().filter(|byte| **byte == b'\n').count();
        ConfigError::NotUtf8 {
            file: file_name(place),
            line: u32::try_from(line).unwrap_or(u32::MAX).saturating_add(1),
        }
    })
}

/// The file as messages and origins name it.
pub(super) fn file_name(place: &Place) -> String {
    let name = place.path.file_name().unwrap_or_default();
    super::error::shown(&name.to_string_lossy())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn at(path: &Path, named_by: NamedBy) -> Place {
        Place { path: path.to_owned(), named_by }
    }

    fn refused(path: &Path) -> String {
        read(&at(path, NamedBy::Option)).unwrap_err().to_string()
    }

    #[test]
    fn a_default_place_may_be_empty_and_a_named_one_may_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("none/belljar.toml");
        assert_eq!(read(&at(&path, NamedBy::Default)).unwrap(), None);
        assert!(refused(&path).contains("named by --config, can't be read"));
        let error = read(&at(&path, NamedBy::Variable)).unwrap_err().to_string();
        assert!(error.contains("named by BELLJAR_CONFIG"), "{error}");
    }

    #[test]
    fn a_file_that_others_can_write_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("belljar.toml");
        std::fs::write(&path, "builtins = true\n").unwrap();
        let set = |mode| std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
        set(0o664);
        assert_eq!(read(&at(&path, NamedBy::Option)).unwrap().unwrap(), "builtins = true\n");
        set(0o646);
        assert!(refused(&path).contains("can be written by every user"), "{}", refused(&path));
        assert!(read(&at(&path, NamedBy::Default)).is_err());
    }

    #[test]
    fn a_file_of_another_user_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("belljar.toml");
        std::fs::write(&path, "").unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
        let metadata = std::fs::metadata(&path).unwrap();
        let owner = metadata.uid();
        assert!(trusted(&metadata, owner, String::new).is_ok());
        let other = trusted(&metadata, owner + 1, String::new);
        assert_eq!(other.is_ok(), owner == 0, "root's files are everybody's");
    }

    #[test]
    fn what_is_no_file_is_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        assert!(refused(folder.path()).contains("is no regular file"));
        let pipe = folder.path().join("pipe");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &pipe,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::from_raw_mode(0o600),
            0,
        )
        .unwrap();
        assert!(refused(&pipe).contains("is no regular file"));
    }

    #[test]
    fn size_and_encoding_are_checked() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("belljar.toml");
        let most = usize::try_from(CONFIG_MAX_LEN).unwrap();
        std::fs::write(&path, " ".repeat(most)).unwrap();
        assert!(read(&at(&path, NamedBy::Option)).is_ok());
        std::fs::write(&path, " ".repeat(2 * most)).unwrap();
        assert!(refused(&path).contains("is larger than 1048576 bytes"));
        std::fs::write(&path, b"a = 1\n# \xff\n").unwrap();
        assert_eq!(refused(&path), "belljar.toml:2: it is not UTF-8, as TOML must be");
    }
}
