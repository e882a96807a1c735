//! Whole searches over folders on disk.

use std::fs;

use tempfile::TempDir;

use super::*;
use crate::wit::{ErrorCode, SearchError as WitError};

fn tree(files: &[(&str, &[u8])]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    // A repository of its own, so that no ignore file above the temporary folder counts.
    fs::create_dir(folder.path().join(".git")).unwrap();
    for (file, bytes) in files {
        let path = folder.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    folder
}

fn request(folder: &TempDir, below: &str, pattern: &str) -> GrepRequest {
    GrepRequest {
        pattern: pattern.to_owned(),
        path: Some(folder.path().join(below).to_str().unwrap().to_owned()),
        literal: None,
        ignore_case: None,
        glob: None,
        context: None,
        mode: None,
        limit: None,
        include_ignored: None,
    }
}

fn places(result: &GrepResult, folder: &TempDir) -> Vec<String> {
    let root = folder.path().to_str().unwrap();
    let line = |path: &str, line: u32| format!("{}:{line}", path.strip_prefix(root).unwrap());
    result.matches.iter().map(|found| line(&found.path, found.line)).collect()
}

#[test]
fn matches_come_with_place_in_the_order_of_paths() {
    let folder = tree(&[("b.rs", b"no\nfn main\n"), ("a/c.rs", b"fn main"), ("a.rs", b"fn main")]);
    let result = grep(&request(&folder, "", "fn main")).unwrap();
    assert_eq!(places(&result, &folder), ["/a.rs:1", "/a/c.rs:1", "/b.rs:2"]);
    assert_eq!((result.files_searched, result.files_matched), (3, 3));
    assert!(!result.truncated);
}

#[test]
fn default_path_is_the_first_granted_folder_and_paths_are_plain() {
    let folder = tree(&[]);
    let mut request = request(&folder, "", "belljar-plugin-search");
    request.path = None;
    request.glob = Some("Cargo.toml".to_owned());
    let result = grep(&request).unwrap();
    assert_eq!(result.matches[0].path, "Cargo.toml");
    request.path = Some("./src".to_owned());
    request.glob = None;
    request.pattern = "The tool `grep`".to_owned();
    assert!(grep(&request).unwrap().matches.iter().any(|found| found.path == "src/grep.rs"));
}

#[test]
fn what_is_passed_over_is_counted_by_its_reason() {
    let folder = tree(&[("a.txt", b"x"), ("b.bin", b"x\0"), ("c.log", b"x"), ("d/e", b"x")]);
    fs::write(folder.path().join(".gitignore"), "*.log\nd/\n").unwrap();
    let big = fs::File::create(folder.path().join("big")).unwrap();
    big.set_len(FILE_MAX_BYTES + 1).unwrap();
    let result = grep(&request(&folder, "", "x")).unwrap();
    assert_eq!(places(&result, &folder), ["/a.txt:1"]);
    let skipped = &result.skipped;
    assert_eq!((skipped.ignored, skipped.binary, skipped.too_large), (2, 1, 1));
    let mut all = request(&folder, "", "x");
    all.include_ignored = Some(true);
    assert_eq!(grep(&all).unwrap().matches.len(), 3);
}

#[cfg(unix)]
#[test]
fn pipes_and_links_are_counted_and_never_opened() {
    let folder = tree(&[("a/file", b"x")]);
    let pipe = folder.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(pipe).status().unwrap().success());
    std::os::unix::fs::symlink("..", folder.path().join("a/loop")).unwrap();
    std::os::unix::fs::symlink("a/file", folder.path().join("link")).unwrap();
    let result = grep(&request(&folder, "", "x")).unwrap();
    assert_eq!(places(&result, &folder), ["/a/file:1"]);
    assert_eq!((result.skipped.special, result.skipped.symlinks), (1, 2));
    let named = grep(&request(&folder, "link", "x")).unwrap();
    assert_eq!(places(&named, &folder), ["/link:1"]);
}

#[test]
fn named_file_is_searched_though_ignored_and_filtered() {
    let folder = tree(&[("dist/x.js", b"needle"), (".gitignore", b"dist/\n")]);
    let mut request = request(&folder, "dist/x.js", "needle");
    request.glob = Some("*.rs".to_owned());
    assert_eq!(places(&grep(&request).unwrap(), &folder), ["/dist/x.js:1"]);
}

#[test]
fn named_file_over_the_limit_is_an_error() {
    let folder = tree(&[]);
    let big = fs::File::create(folder.path().join("big")).unwrap();
    big.set_len(FILE_MAX_BYTES + 1).unwrap();
    let error = WitError::from(grep(&request(&folder, "big", "x")).unwrap_err());
    assert_eq!(error.code, ErrorCode::TooLarge);
    let error = WitError::from(grep(&request(&folder, "no", "x")).unwrap_err());
    assert_eq!(error.code, ErrorCode::NotFound);
}

#[test]
fn glob_without_a_slash_is_on_names_and_with_one_on_paths() {
    let folder = tree(&[("a.rs", b"x"), ("src/b.rs", b"x"), ("src/in/c.rs", b"x"), ("d.js", b"x")]);
    let found = |glob: &str| {
        let mut request = request(&folder, "", "x");
        request.glob = Some(glob.to_owned());
        grep(&request).map(|result| places(&result, &folder))
    };
    assert_eq!(found("*.rs").unwrap(), ["/a.rs:1", "/src/b.rs:1", "/src/in/c.rs:1"]);
    assert_eq!(found("src/*.rs").unwrap(), ["/src/b.rs:1"]);
    assert!(found("{a,b").is_err());
}

#[test]
fn modes_give_paths_or_counts_instead_of_lines() {
    let folder = tree(&[("a", b"x\ny\nx"), ("b", b"x"), ("c", b"y")]);
    let mut request = request(&folder, "", "x");
    request.mode = Some(GrepMode::Files);
    let files = grep(&request).unwrap();
    assert_eq!((files.files.len(), files.matches.len(), files.files_matched), (2, 0, 2));
    request.mode = Some(GrepMode::Count);
    let counts = grep(&request).unwrap().counts;
    assert_eq!(counts.iter().map(|count| count.lines).collect::<Vec<_>>(), [2, 1]);
}

#[test]
fn limit_ends_the_search_and_says_so() {
    let folder = tree(&[("a", b"x\nx"), ("b", b"x")]);
    for (mode, most) in [(GrepMode::Content, 3), (GrepMode::Files, 2), (GrepMode::Count, 2)] {
        let mut request = request(&folder, "", "x");
        request.mode = Some(mode);
        request.limit = Some(most);
        assert!(!grep(&request).unwrap().truncated);
        request.limit = Some(most - 1);
        let result = grep(&request).unwrap();
        assert_eq!((result.truncated, result.stopped_by), (true, Some(Stop::Limit)));
    }
}

#[cfg(unix)]
#[test]
fn name_that_is_not_utf8_is_shown_with_escapes() {
    use std::os::unix::ffi::OsStrExt as _;
    let folder = tree(&[]);
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9");
    fs::write(folder.path().join(name), b"x \xff").unwrap();
    let result = grep(&request(&folder, "", "x")).unwrap();
    assert_eq!(places(&result, &folder), ["/caf\\xE9:1"]);
    assert_eq!(result.matches[0].text, "x \\xFF");
    assert!(result.matches[0].escaped);
}
