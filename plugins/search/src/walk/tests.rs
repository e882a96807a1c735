//! What a walk yields, in which order, and where it stops.

use tempfile::TempDir;

use super::*;
use crate::limit::WALK_LIMITS;

fn tree(files: &[&str]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    // A repository of its own, so that no ignore file above the temporary folder counts.
    fs::create_dir(folder.path().join(".git")).unwrap();
    for file in files {
        let path = folder.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, file).unwrap();
    }
    folder
}

fn names(walk: &mut Walk, root: &Path) -> Vec<String> {
    walk.map(|entry| entry.path.strip_prefix(root).unwrap().to_str().unwrap().to_owned()).collect()
}

fn walk(folder: &TempDir) -> Walk {
    Walk::new(folder.path(), Ignored::Pass, WALK_LIMITS)
}

#[test]
fn paths_come_in_byte_order_of_the_whole_path() {
    let folder = tree(&["b", "a/z", "a/b/c", "a.rs", "a-b", "B", ".hidden/x"]);
    let found = names(&mut walk(&folder), folder.path());
    let mut sorted = found.clone();
    sorted.sort();
    assert_eq!(found, sorted);
    assert_eq!(found, [".hidden/x", "B", "a-b", "a.rs", "a/b/c", "a/z", "b"]);
}

#[test]
fn ignored_entries_are_passed_and_counted_once_a_folder() {
    let folder = tree(&["dist/a", "dist/b", "x.log", "in/x.log", "in/y.log", "src/a"]);
    fs::write(folder.path().join(".gitignore"), "dist/\n*.log\n").unwrap();
    fs::write(folder.path().join("in/.ignore"), "!x.log\n").unwrap();
    let mut pass = walk(&folder);
    let found = names(&mut pass, folder.path());
    assert_eq!(found, [".gitignore", "in/.ignore", "in/x.log", "src/a"]);
    assert_eq!(pass.passed().ignored, 3);
    let mut show = Walk::new(folder.path(), Ignored::Show, WALK_LIMITS);
    assert_eq!(names(&mut show, folder.path()).len(), 8);
    assert_eq!(show.passed(), Passed::default());
}

#[test]
fn folder_named_as_root_is_walked_though_it_is_ignored() {
    let folder = tree(&["dist/a.js", "dist/b.log"]);
    fs::write(folder.path().join(".gitignore"), "dist/\n*.log\n").unwrap();
    let root = folder.path().join("dist");
    let mut walk = Walk::new(&root, Ignored::Pass, WALK_LIMITS);
    assert_eq!(names(&mut walk, &root), ["a.js"]);
    assert_eq!(walk.passed().ignored, 1);
}

#[test]
fn git_folder_is_never_entered() {
    let folder = tree(&[".git/config", "sub/.git/config", "sub/a", ".github/b"]);
    let found = names(&mut walk(&folder), folder.path());
    assert_eq!(found, [".github/b", "sub/a"]);
}

#[test]
fn walk_stops_at_the_entry_limit_and_says_so() {
    let folder = tree(&["a/1", "a/2", "b/1", "b/2", "b/3"]);
    let limits = |entries_max| WalkLimits { entries_max, ..WALK_LIMITS };
    // `.git`, `a` and `b`, then what is in them.
    let mut enough = Walk::new(folder.path(), Ignored::Pass, limits(8));
    assert_eq!(names(&mut enough, folder.path()).len(), 5);
    assert!(!enough.is_exhausted());
    let mut short = Walk::new(folder.path(), Ignored::Pass, limits(7));
    assert_eq!(names(&mut short, folder.path()), ["a/1", "a/2"]);
    assert!(short.is_exhausted());
}

#[test]
fn folders_below_the_depth_limit_are_counted() {
    let folder = tree(&["a/b/c/deep", "a/b/near"]);
    let limits = WalkLimits { depth_max: 2, ..WALK_LIMITS };
    let mut walk = Walk::new(folder.path(), Ignored::Pass, limits);
    assert_eq!(names(&mut walk, folder.path()), ["a/b/near"]);
    assert_eq!(walk.passed().too_deep, 1);
}

#[cfg(unix)]
#[test]
fn symlink_cycle_ends_and_links_are_shown_as_links() {
    let folder = tree(&["a/file"]);
    std::os::unix::fs::symlink("..", folder.path().join("a/loop")).unwrap();
    let kinds: Vec<_> = walk(&folder).map(|entry| entry.kind).collect();
    assert_eq!(kinds, [FileKind::File, FileKind::Symlink]);
}

#[cfg(unix)]
#[test]
fn ignore_file_that_is_a_pipe_is_not_opened() {
    let folder = tree(&["a"]);
    let pipe = folder.path().join(".gitignore");
    assert!(std::process::Command::new("mkfifo").arg(pipe).status().unwrap().success());
    assert_eq!(names(&mut walk(&folder), folder.path()), [".gitignore", "a"]);
}

#[test]
fn folder_that_vanished_is_counted_as_unreadable() {
    let folder = tree(&["a/1", "b/1"]);
    let mut walk = walk(&folder);
    assert!(walk.next().unwrap().path.ends_with("a/1"));
    fs::remove_dir_all(folder.path().join("b")).unwrap();
    assert_eq!(walk.next(), None);
    assert_eq!(walk.passed().unreadable, 1);
}
