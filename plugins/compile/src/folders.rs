//! Where nested builds work. It must not create anything: cargo does.

use std::path::{Path, PathBuf};

/// The tag cargo leaves in each target folder it makes.
const TAG: &str = "CACHEDIR.TAG";

/// The folder for compiled guests, `guests` below the outermost target folder that holds `inside`.
///
/// `inside` is a folder cargo gave: a build script's `OUT_DIR`, a test's `CARGO_TARGET_TMPDIR`. All
/// variants of a build (debug, release, clippy) share the one folder, for in `OUT_DIR` each would
/// compile std again. Folders above `root` do not count where `inside` lies below it: a whole
/// cache may be tagged. Where no tag is found it is `guests` in `inside`.
#[must_use]
pub fn guests_folder(inside: &Path, root: &Path) -> PathBuf {
    let below_root = inside.starts_with(root);
    let target = inside
        .ancestors()
        .take_while(|folder| !below_root || folder.starts_with(root))
        .filter(|folder| folder.join(TAG).is_file())
        .last();
    target.unwrap_or(inside).join("guests")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tagged(folder: &Path) {
        std::fs::create_dir_all(folder).unwrap();
        std::fs::write(folder.join(TAG), "").unwrap();
    }

    #[test]
    fn outermost_of_nested_target_folders_is_taken() {
        let root = tempfile::tempdir().unwrap();
        let target = root.path().join("target");
        tagged(&target);
        tagged(&target.join("rust-analyzer"));
        let out = target.join("rust-analyzer/debug/build/x/out");
        assert_eq!(guests_folder(&out, root.path()), target.join("guests"));
    }

    #[test]
    fn tagged_folder_around_the_workspace_is_left_alone() {
        let cache = tempfile::tempdir().unwrap();
        tagged(cache.path());
        let root = cache.path().join("belljar");
        tagged(&root.join("target"));
        let out = root.join("target/debug/build/x/out");
        assert_eq!(guests_folder(&out, &root), root.join("target/guests"));
    }

    #[test]
    fn target_folder_outside_the_workspace_is_found() {
        let elsewhere = tempfile::tempdir().unwrap();
        tagged(&elsewhere.path().join("t"));
        let out = elsewhere.path().join("t/release/build/x/out");
        let root = Path::new("/nowhere/belljar");
        assert_eq!(guests_folder(&out, root), elsewhere.path().join("t/guests"));
    }

    #[test]
    fn untagged_folder_is_used_itself() {
        let out = tempfile::tempdir().unwrap();
        // The folder is its own root here, so that a tag above the system's temporary folder
        // cannot decide the test.
        assert_eq!(guests_folder(out.path(), out.path()), out.path().join("guests"));
    }
}
