//! Cases for `write`, on real folders.

use super::*;

struct Folder(tempfile::TempDir);

impl Folder {
    fn empty() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn with(name: &str, content: &str) -> Self {
        let folder = Self::empty();
        fs::write(folder.path(name), content).unwrap();
        folder
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    fn request(&self, name: &str) -> WriteRequest {
        WriteRequest {
            path: self.path(name),
            content: "new\r\n".to_owned(),
            if_match: None,
            overwrite: None,
            create_parents: None,
        }
    }

    fn content(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// Names in the folder; a staged file left behind would be among them.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

#[test]
fn a_new_file_is_created_exactly() {
    let folder = Folder::empty();
    let result = write(&folder.request("f")).unwrap();
    assert_eq!((result.created, result.size), (true, 5));
    assert_eq!(result.sha256, digest::of_bytes(b"new\r\n"));
    assert_eq!(folder.content("f"), "new\r\n");
    assert_eq!(folder.names(), ["f"]);
}

#[test]
fn an_existing_file_is_not_replaced_unasked() {
    let folder = Folder::with("f", "old");
    let refusal = write(&folder.request("f")).unwrap_err();
    assert_eq!(refusal.code, ErrorCode::Exists);
    assert_eq!((folder.content("f"), folder.names()), ("old".to_owned(), vec!["f".to_owned()]));
}

#[test]
fn overwrite_replaces_whatever_is_there() {
    let folder = Folder::with("f", "old");
    let request = WriteRequest { overwrite: Some(true), ..folder.request("f") };
    assert!(!write(&request).unwrap().created);
    assert_eq!((folder.content("f"), folder.names()), ("new\r\n".to_owned(), vec!["f".to_owned()]));
    let request = WriteRequest { overwrite: Some(true), ..folder.request("g") };
    assert!(write(&request).unwrap().created);
}

#[test]
fn a_matching_hash_lets_the_write_through_and_another_does_not() {
    let folder = Folder::with("f", "old");
    let matching = |hash: String| WriteRequest { if_match: Some(hash), ..folder.request("f") };
    let refusal = write(&matching(digest::of_bytes(b"other"))).unwrap_err();
    assert_eq!(refusal.code, ErrorCode::Changed);
    // Retrying blindly with the hash from the refusal would defeat the check.
    assert!(!refusal.message.contains(&digest::of_bytes(b"old")));
    assert_eq!((folder.content("f"), folder.names()), ("old".to_owned(), vec!["f".to_owned()]));
    assert!(!write(&matching(digest::of_bytes(b"old"))).unwrap().created);
    assert_eq!(folder.content("f"), "new\r\n");
}

#[test]
fn a_hash_wins_over_overwrite() {
    let folder = Folder::with("f", "old");
    let request = WriteRequest {
        if_match: Some(digest::of_bytes(b"other")),
        overwrite: Some(true),
        ..folder.request("f")
    };
    assert_eq!(write(&request).unwrap_err().code, ErrorCode::Changed);
    assert_eq!(folder.content("f"), "old");
}

#[test]
fn a_hash_for_a_file_that_is_gone_writes_nothing() {
    let folder = Folder::empty();
    let request = WriteRequest { if_match: Some(digest::of_bytes(b"old")), ..folder.request("f") };
    assert_eq!(write(&request).unwrap_err().code, ErrorCode::Changed);
    assert!(folder.names().is_empty());
}

#[test]
fn a_malformed_hash_is_not_taken_for_a_mismatch() {
    let folder = Folder::with("f", "old");
    for hash in ["", "abc", &"G".repeat(64), &digest::of_bytes(b"old").to_uppercase()] {
        let request = WriteRequest { if_match: Some(hash.to_owned()), ..folder.request("f") };
        assert_eq!(write(&request).unwrap_err().code, ErrorCode::InvalidArgument);
    }
}

#[test]
fn missing_folders_are_made_only_if_asked_for() {
    let folder = Folder::empty();
    fs::create_dir(folder.path("source")).unwrap();
    let refusal = write(&folder.request("sorce/f")).unwrap_err();
    assert_eq!(refusal.code, ErrorCode::NotFound);
    for part in ["/source`", "`create_parents`"] {
        assert!(refusal.message.contains(part), "{}", refusal.message);
    }
    let request = WriteRequest { create_parents: Some(true), ..folder.request("a/b/f") };
    assert!(write(&request).unwrap().created);
    assert_eq!(folder.content("a/b/f"), "new\r\n");
}

#[test]
fn content_above_the_cap_is_refused_before_any_write() {
    let folder = Folder::empty();
    let content = "a".repeat(CONTENT_MAX_BYTES as usize + 1);
    let request = WriteRequest { content, ..folder.request("f") };
    assert_eq!(write(&request).unwrap_err().code, ErrorCode::TooLarge);
    assert!(folder.names().is_empty());
}

#[test]
fn folders_and_paths_through_files_are_refused() {
    let folder = Folder::with("f", "old");
    fs::create_dir(folder.path("d")).unwrap();
    let over = |name| WriteRequest { overwrite: Some(true), ..folder.request(name) };
    assert_eq!(write(&over("d")).unwrap_err().code, ErrorCode::NotAFile);
    assert_eq!(write(&over("f/x")).unwrap_err().code, ErrorCode::NotADirectory);
    assert_eq!(folder.names(), ["d", "f"]);
}

#[cfg(unix)]
#[test]
fn fs_01_a_link_is_neither_followed_nor_replaced() {
    let folder = Folder::with("secret", "old");
    for (link, target) in [("good", "secret"), ("dangling", "secret-to-be")] {
        std::os::unix::fs::symlink(target, folder.path(link)).unwrap();
        let request = WriteRequest { overwrite: Some(true), ..folder.request(link) };
        let refusal = write(&request).unwrap_err();
        assert_eq!(refusal.code, ErrorCode::Symlink);
        assert!(!refusal.message.contains("secret"), "{}", refusal.message);
    }
    assert_eq!(folder.content("secret"), "old");
    assert_eq!(folder.names(), ["dangling", "good", "secret"]);
}

#[cfg(unix)]
#[test]
fn fs_12_a_pipe_is_refused_without_opening_it() {
    let folder = Folder::empty();
    let made = std::process::Command::new("mkfifo").arg(folder.path("p")).status();
    assert!(made.unwrap().success());
    let request = WriteRequest { overwrite: Some(true), ..folder.request("p") };
    assert_eq!(write(&request).unwrap_err().code, ErrorCode::NotAFile);
}

#[cfg(unix)]
#[test]
fn a_hard_link_elsewhere_keeps_the_old_content() {
    let folder = Folder::with("f", "old");
    fs::hard_link(folder.path("f"), folder.path("other")).unwrap();
    write(&WriteRequest { overwrite: Some(true), ..folder.request("f") }).unwrap();
    assert_eq!((folder.content("f"), folder.content("other")), ("new\r\n".into(), "old".into()));
}

#[test]
fn fs_24_ten_million_bytes_are_written_whole() {
    let folder = Folder::with("f", "old");
    let content = "0123456\r\n\n".repeat(1_000_000);
    let request = WriteRequest {
        content: content.clone(),
        if_match: Some(digest::of_bytes(b"old")),
        ..folder.request("f")
    };
    assert_eq!(write(&request).unwrap().size, 10_000_000);
    assert!(folder.content("f") == content);
}
