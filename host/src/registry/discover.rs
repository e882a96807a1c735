//! Finds plugin files: one file, or the `.wasm` files of a folder.

use std::path::{Path, PathBuf};

/// Plugins one folder may hold.
pub const PLUGINS_MAX: usize = 256;

/// Why no plugin was found.
#[derive(Debug, thiserror::Error)]
pub enum DiscoverError {
    /// Nothing there, or nothing we may read.
    #[error("`{path}` can't be read: {source}")]
    Io {
        /// What was asked for.
        path: String,
        /// What the machine said.
        source: std::io::Error,
    },
    /// A FIFO, a device, a socket.
    #[error("`{0}` is neither a file nor a folder")]
    Special(String),
    /// A folder without plugins.
    #[error("the folder `{0}` holds no .wasm file")]
    Empty(String),
    /// A folder with too many.
    #[error("the folder `{0}` holds more than {PLUGINS_MAX} .wasm files")]
    TooMany(String),
}

/// The plugin files that `path` stands for, sorted by name. Folders in a folder are left alone.
///
/// # Errors
/// See [`DiscoverError`].
pub fn find_plugins(path: &Path) -> Result<Vec<PathBuf>, DiscoverError> {
    let shown = || crate::contract::escape::clipped_line(&path.to_string_lossy(), 300);
    let io = |source| DiscoverError::Io { path: shown(), source };
    let metadata = std::fs::metadata(path).map_err(io)?;
    if metadata.is_file() {
        return Ok(vec![path.to_owned()]);
    }
    if !metadata.is_dir() {
        return Err(DiscoverError::Special(shown()));
    }
    let mut found = Vec::new();
    for entry in std::fs::read_dir(path).map_err(io)? {
        let file = entry.map_err(io)?.path();
        if file.extension().is_some_and(|end| end == "wasm") && file.is_file() {
            found.push(file);
        }
        if found.len() > PLUGINS_MAX {
            return Err(DiscoverError::TooMany(shown()));
        }
    }
    if found.is_empty() {
        return Err(DiscoverError::Empty(shown()));
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_gives_its_wasm_files_in_order() {
        let root = tempfile::tempdir().unwrap();
        for name in ["b.wasm", "a.wasm", "notes.txt"] {
            std::fs::write(root.path().join(name), "").unwrap();
        }
        std::fs::create_dir(root.path().join("c.wasm")).unwrap();
        let found = find_plugins(root.path()).unwrap();
        assert_eq!(found, [root.path().join("a.wasm"), root.path().join("b.wasm")]);
    }

    #[test]
    fn a_folder_holds_a_bounded_number_of_plugins() {
        let root = tempfile::tempdir().unwrap();
        let add = |index| std::fs::write(root.path().join(format!("p{index}.wasm")), "").unwrap();
        (0..PLUGINS_MAX).for_each(add);
        assert_eq!(find_plugins(root.path()).unwrap().len(), PLUGINS_MAX);
        add(PLUGINS_MAX);
        assert!(matches!(find_plugins(root.path()), Err(DiscoverError::TooMany(_))));
    }

    #[test]
    fn nothing_to_find_is_said() {
        let root = tempfile::tempdir().unwrap();
        assert!(matches!(find_plugins(root.path()), Err(DiscoverError::Empty(_))));
        let missing = find_plugins(&root.path().join("x\u{1b}")).unwrap_err().to_string();
        assert!(missing.contains("x<U+001B>"), "{missing}");
        assert!(matches!(find_plugins(Path::new("/dev/null")), Err(DiscoverError::Special(_))));
    }
}
