//! Whole globs over folders on disk.

use tempfile::TempDir;

use super::*;
use crate::wit::{ErrorCode, SearchError as WitError};

fn tree(files: &[&str]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    // A repository of its own, so that no ignore file above the temporary folder counts.
    fs::create_dir(folder.path().join(".git")).unwrap();
    for file in files {
        let path = folder.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }
    folder
}

fn request(folder: &TempDir, pattern: &str) -> GlobRequest {
    GlobRequest {
        pattern: pattern.to_owned(),
        path: Some(folder.path().to_str().unwrap().to_owned()),
        limit: None,
        include_ignored: None,
    }
}

fn found(folder: &TempDir, pattern: &str) -> Vec<String> {
    names(&glob(&request(folder, pattern)).unwrap(), folder)
}

fn names(result: &GlobResult, folder: &TempDir) -> Vec<String> {
    let below = |path: &str| {
        Path::new(path).strip_prefix(folder.path()).unwrap().to_str().unwrap().to_owned()
    };
    result.paths.iter().map(|found| below(&found.path)).collect()
}

#[test]
fn files_are_found_in_the_order_of_paths() {
    let folder = tree(&["b.rs", "src/a.rs", "src.rs", "src/in/c.rs", "src/d.js", ".x.rs"]);
    assert_eq!(found(&folder, "**/*.rs"), [".x.rs", "b.rs", "src.rs", "src/a.rs", "src/in/c.rs"]);
    assert_eq!(found(&folder, "*.rs"), [".x.rs", "b.rs", "src.rs"]);
    assert_eq!(found(&folder, "./src//*.{rs,js}"), ["src/a.rs", "src/d.js"]);
    assert_eq!(found(&folder, "no/*.rs"), [""; 0]);
    assert_eq!(found(&folder, "b.rs/*"), [""; 0]);
}

#[test]
fn exact_path_is_found_though_ignored_and_broad_search_counts() {
    let folder = tree(&["dist/x.js", "src/y.js"]);
    fs::write(folder.path().join(".gitignore"), "dist/\n").unwrap();
    assert_eq!(found(&folder, "dist/x.js"), ["dist/x.js"]);
    assert_eq!(found(&folder, "dist/*.js"), ["dist/x.js"]);
    let broad = glob(&request(&folder, "**/*.js")).unwrap();
    assert_eq!((names(&broad, &folder), broad.ignored), (vec!["src/y.js".to_owned()], 1));
    let mut all = request(&folder, "**/*.js");
    all.include_ignored = Some(true);
    assert_eq!(names(&glob(&all).unwrap(), &folder).len(), 2);
}

#[test]
fn exact_path_tells_its_kind_and_absence_is_no_error() {
    let folder = tree(&["src/a"]);
    let kind = |pattern: &str| {
        glob(&request(&folder, pattern)).unwrap().paths.first().map(|found| found.kind)
    };
    assert_eq!(kind("src"), Some(FileKind::Directory));
    assert_eq!(kind("src/a"), Some(FileKind::File));
    assert_eq!(kind("src/b"), None);
    assert_eq!(kind("src/a/b"), None);
}

#[test]
fn paths_below_the_first_granted_folder_are_plain() {
    let folder = tree(&[]);
    let mut request = request(&folder, "src/gl*.rs");
    request.path = None;
    let paths: Vec<_> = glob(&request).unwrap().paths.into_iter().map(|found| found.path).collect();
    assert_eq!(paths, ["src/glob.rs", "src/glob_pattern.rs"]);
}

#[test]
fn limit_ends_the_search_and_says_so() {
    let folder = tree(&["a", "b", "c"]);
    let mut request = request(&folder, "*");
    request.limit = Some(3);
    assert!(!glob(&request).unwrap().truncated);
    request.limit = Some(2);
    let result = glob(&request).unwrap();
    assert_eq!((result.paths.len(), result.stopped_by), (2, Some(Stop::Limit)));
}

#[test]
fn pattern_that_leads_out_is_refused_even_without_wildcards() {
    let folder = tree(&["a"]);
    for pattern in ["../a", "/etc/passwd", "a/../../b", "../*", "/etc/*"] {
        let error = WitError::from(glob(&request(&folder, pattern)).unwrap_err());
        assert_eq!(error.code, ErrorCode::InvalidPattern, "{pattern}");
    }
}

#[cfg(unix)]
#[test]
fn link_is_listed_and_its_cycle_not_followed() {
    let folder = tree(&["a/file"]);
    std::os::unix::fs::symlink("..", folder.path().join("a/loop")).unwrap();
    let result = glob(&request(&folder, "**")).unwrap();
    let kinds: Vec<_> = result.paths.iter().map(|found| found.kind).collect();
    assert_eq!(kinds, [FileKind::File, FileKind::Symlink]);
}
