//! The files that rows with granted folders act on; `outcomes` says what they are.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the files outside every grant hold; no result may say it.
pub(crate) const SECRET: &str = "what lies outside the grant";

/// A folder with the fixture in it, removed when dropped.
#[derive(Debug)]
pub(crate) struct Fixture(tempfile::TempDir);

impl Fixture {
    /// Makes the files.
    pub(crate) fn new() -> Self {
        let fixture = Self(tempfile::tempdir().unwrap());
        for folder in ["granted", "frozen"].map(|name| fixture.path(name)) {
            fs::create_dir_all(folder.join("folder")).unwrap();
            fs::write(folder.join("notes.txt"), "a few notes\n").unwrap();
            symlink("../secret.txt", folder.join("out")).unwrap();
            let made = Command::new("mkfifo").arg(folder.join("pipe")).status().unwrap();
            assert!(made.success(), "mkfifo: {made}");
        }
        fs::create_dir(fixture.path("granted_private")).unwrap();
        fs::write(fixture.path("granted_private/key.txt"), SECRET).unwrap();
        fs::write(fixture.path("secret.txt"), SECRET).unwrap();
        fixture
    }

    /// A path in it.
    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.0.path().join(relative)
    }

    /// Everything that can be seen of it from outside, one line each: path and kind, for a
    /// file also time and content.
    pub(crate) fn seen(&self) -> Vec<String> {
        let mut lines = Vec::new();
        look(self.0.path(), &mut lines);
        lines
    }

    /// The same without what is in `granted`, which a tool with a writable grant may change.
    pub(crate) fn seen_outside(&self) -> Vec<String> {
        let granted = self.path("granted").display().to_string();
        self.seen().into_iter().filter(|line| !inside(line, &granted)).collect()
    }
}

fn inside(line: &str, folder: &str) -> bool {
    line.strip_prefix(folder).is_some_and(|rest| rest.starts_with([' ', '/']))
}

fn look(folder: &Path, lines: &mut Vec<String>) {
    let mut paths: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        let meta = path.symlink_metadata().unwrap();
        let mut line = format!("{} {:?}", path.display(), meta.file_type());
        // A folder's time changes with what comes and goes in it, which the other lines show.
        if meta.is_file() {
            let (time, content) = (meta.modified().unwrap(), fs::read_to_string(&path).unwrap());
            write!(line, " {time:?} {content:?}").unwrap();
        }
        lines.push(line);
        if meta.is_dir() {
            look(&path, lines);
        }
    }
}
