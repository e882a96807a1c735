//! Cases for `read`, on real folders.

use std::fs;

use super::*;

struct Folder(tempfile::TempDir);

impl Folder {
    fn with(name: &str, content: impl AsRef<[u8]>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(name), content).unwrap();
        Self(folder)
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    fn read(&self, name: &str) -> Result<ReadResult, FileError> {
        self.read_lines(name, None, None)
    }

    fn read_lines(
        &self,
        name: &str,
        offset: Option<u32>,
        limit: Option<u32>,
    ) -> Result<ReadResult, FileError> {
        read(&ReadRequest { path: self.path(name), offset, limit, lossy: None })
    }
}

#[test]
fn a_window_carries_the_hash_and_size_of_the_whole_file() {
    let folder = Folder::with("f", "\u{feff}one\r\ntwo\r\nthree");
    let result = folder.read_lines("f", Some(2), Some(1)).unwrap();
    assert_eq!(result.text, "two\r\n");
    assert_eq!((result.lines, result.total_lines, result.next_offset), (1, 3, Some(3)));
    assert_eq!(result.size, 18);
    assert_eq!(result.sha256, digest::of_bytes("\u{feff}one\r\ntwo\r\nthree".as_bytes()));
}

#[test]
fn an_empty_file_is_read_with_a_notice() {
    let folder = Folder::with("f", "");
    let result = folder.read("f").unwrap();
    assert_eq!((result.text.as_str(), result.total_lines), ("", 0));
    assert_eq!(result.notice.as_deref(), Some("the file is empty"));
    assert_eq!(folder.read_lines("f", Some(2), None).unwrap_err().code, ErrorCode::OutOfRange);
}

#[test]
fn an_offset_past_the_end_names_the_number_of_lines() {
    let folder = Folder::with("f", "a\nb\n");
    let refusal = folder.read_lines("f", Some(3), None).unwrap_err();
    assert_eq!(refusal.code, ErrorCode::OutOfRange);
    assert!(refusal.message.ends_with("has 2 lines"), "{}", refusal.message);
}

#[test]
fn fs_16_zero_and_huge_windows_are_refused() {
    let folder = Folder::with("f", "a\n");
    for (offset, limit) in [(Some(0), None), (None, Some(0)), (None, Some(LIMIT_MAX + 1))] {
        let refusal = folder.read_lines("f", offset, limit).unwrap_err();
        assert_eq!(refusal.code, ErrorCode::InvalidArgument);
    }
}

#[test]
fn fs_14_characters_at_buffer_edges_stay_whole() {
    for edge in [1023, 4095, 8191, 65_533, 65_535] {
        let content = format!("{}あ\n", "a".repeat(edge).replace("aaaaaaaaaa", "aaaaaaaaa\n"));
        let folder = Folder::with("f", &content);
        let last = u32::try_from(content.lines().count()).unwrap();
        let result = folder.read_lines("f", Some(last), None).unwrap();
        assert!(result.text.ends_with("あ\n"), "{edge}");
        assert!(!result.text.contains('\u{fffd}'), "{edge}");
    }
}

#[test]
fn a_file_above_the_cap_is_refused_for_its_size() {
    let folder = Folder::with("f", "");
    let file = fs::File::options().write(true).open(folder.path("f")).unwrap();
    file.set_len(u64::from(FILE_MAX_BYTES) + 1).unwrap();
    let refusal = folder.read("f").unwrap_err();
    assert_eq!(refusal.code, ErrorCode::TooLarge);
    assert!(refusal.message.contains("16777217"), "{}", refusal.message);
    assert!(refusal.message.contains("16777216"), "{}", refusal.message);
}

#[test]
fn a_file_that_holds_more_than_it_states_is_refused_too() {
    let folder = Folder::with("f", vec![b'a'; 17 << 20]);
    let file = fs::File::open(folder.path("f")).unwrap();
    assert_eq!(read_whole("f", file, 0).unwrap_err().code, ErrorCode::TooLarge);
}

#[test]
fn fs_24_a_large_crlf_file_is_read_and_hashed_whole() {
    let content = "0123456\r\n\n".repeat(1_000_000);
    let folder = Folder::with("f", &content);
    let result = folder.read_lines("f", Some(2_000_000), None).unwrap();
    assert_eq!((result.size, result.total_lines), (10_000_000, 2_000_000));
    assert_eq!(result.sha256, digest::of_bytes(content.as_bytes()));
}

#[test]
fn fs_26_a_binary_file_gives_kind_size_and_hash_whatever_its_name() {
    let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
    let folder = Folder::with("picture.txt", png);
    let refusal = folder.read("picture.txt").unwrap_err();
    assert_eq!(refusal.code, ErrorCode::Binary);
    for part in ["a PNG image", "16 bytes", &digest::of_bytes(png)] {
        assert!(refusal.message.contains(part), "{}", refusal.message);
    }
    let folder = Folder::with("text.wasm", "(module)");
    assert_eq!(folder.read("text.wasm").unwrap().text, "(module)");
}

#[test]
fn malformed_text_is_refused_unless_lossy_is_set() {
    let folder = Folder::with("f", b"caf\xe9\n");
    let refusal = folder.read("f").unwrap_err();
    assert_eq!(refusal.code, ErrorCode::Encoding);
    assert!(refusal.message.contains("at byte 3"), "{}", refusal.message);
    let request =
        ReadRequest { path: folder.path("f"), offset: None, limit: None, lossy: Some(true) };
    let result = read(&request).unwrap();
    assert_eq!((result.text.as_str(), result.replaced), ("caf\u{fffd}\n", 1));
}

#[test]
fn a_folder_is_not_read() {
    let folder = Folder::with("f", "");
    assert_eq!(folder.read("").unwrap_err().code, ErrorCode::NotAFile);
    assert_eq!(folder.read("f/x").unwrap_err().code, ErrorCode::NotADirectory);
}

#[cfg(unix)]
#[test]
fn fs_12_a_pipe_is_refused_without_opening_it() {
    let folder = Folder::with("f", "");
    let made = std::process::Command::new("mkfifo").arg(folder.path("p")).status();
    assert!(made.unwrap().success());
    // Opening a pipe that nobody writes to would hang here.
    assert_eq!(folder.read("p").unwrap_err().code, ErrorCode::NotAFile);
}

#[cfg(unix)]
#[test]
fn fs_05_a_link_inside_the_folder_is_followed() {
    let folder = Folder::with("real", "x\n");
    std::os::unix::fs::symlink("real", folder.path("link")).unwrap();
    assert_eq!(folder.read("link").unwrap().text, "x\n");
}

#[cfg(unix)]
#[test]
fn fs_01_a_link_to_nothing_does_not_tell_where_it_leads() {
    let folder = Folder::with("f", "");
    std::os::unix::fs::symlink("/nowhere/secret", folder.path("leak")).unwrap();
    let refusal = folder.read("leak").unwrap_err();
    assert_eq!(refusal.code, ErrorCode::NotFound);
    assert!(!refusal.message.contains("secret"), "{}", refusal.message);
}

#[test]
fn fs_21_names_are_escaped_in_refusals() {
    let folder = Folder::with("f", "");
    for name in ["a\n.txt", "a\u{1b}[31m.txt"] {
        let refusal = folder.read(name).unwrap_err();
        assert_eq!(refusal.code, ErrorCode::NotFound);
        assert!(!refusal.message.contains(char::is_control), "{:?}", refusal.message);
    }
    let refusal = folder.read("a\0.txt").unwrap_err();
    assert_eq!(refusal.code, ErrorCode::InvalidPath);
}
