//! Cases for `list`, on real folders.

use super::*;

struct Tree(tempfile::TempDir);

impl Tree {
    /// Paths that end in `/` are folders.
    fn with(paths: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for path in paths {
            let at = folder.path().join(path);
            fs::create_dir_all(if path.ends_with('/') { &at } else { at.parent().unwrap() })
                .unwrap();
            if !path.ends_with('/') {
                fs::write(at, "x").unwrap();
            }
        }
        Self(folder)
    }

    fn granted(&self) -> String {
        self.0.path().to_str().unwrap().to_owned()
    }

    fn request(&self, depth: u32) -> ListRequest {
        ListRequest { path: Some(self.granted()), depth: Some(depth), limit: None, after: None }
    }

    fn names(&self, result: &ListResult) -> Vec<String> {
        let prefix = format!("{}/", self.granted());
        let below = |path: &str| path.strip_prefix(&prefix).unwrap().to_owned();
        result.entries.iter().map(|entry| below(&entry.path)).collect()
    }
}

#[test]
fn entries_are_sorted_name_by_name_and_depth_is_kept() {
    let tree = Tree::with(&["b/y", "b/x/deep", "a-b", "a/z", "C", "empty/"]);
    let result = list(&tree.request(1)).unwrap();
    assert_eq!(tree.names(&result), ["C", "a", "a-b", "b", "empty"]);
    let result = list(&tree.request(2)).unwrap();
    assert_eq!(tree.names(&result), ["C", "a", "a/z", "a-b", "b", "b/x", "b/y", "empty"]);
    let result = list(&tree.request(3)).unwrap();
    assert!(tree.names(&result).contains(&"b/x/deep".to_owned()));
    assert_eq!((result.omitted, result.next_after), (0, None));
}

#[test]
fn kinds_and_sizes_are_reported() {
    let tree = Tree::with(&["d/", "f"]);
    let entries = list(&tree.request(1)).unwrap().entries;
    assert_eq!((entries[0].kind, entries[0].size), (FileKind::Directory, None));
    assert_eq!((entries[1].kind, entries[1].size), (FileKind::File, Some(1)));
}

#[test]
fn pages_put_together_are_the_listing_and_each_counts_the_rest() {
    let tree = Tree::with(&["a/1", "a/2", "a-b", "b/c/3", "b/c/4", "b-", "z"]);
    let whole = list(&tree.request(5)).unwrap();
    for limit in 1..=4 {
        let mut seen = Vec::new();
        let mut after = None;
        loop {
            let page = list(&ListRequest { limit: Some(limit), after, ..tree.request(5) }).unwrap();
            seen.extend(tree.names(&page));
            assert_eq!(seen.len() + page.omitted as usize, whole.entries.len());
            after = page.next_after;
            if after.is_none() {
                break;
            }
        }
        assert_eq!(seen, tree.names(&whole), "{limit}");
    }
}

#[test]
fn a_cursor_whose_entry_is_gone_still_continues_there() {
    let tree = Tree::with(&["a", "c", "d/e"]);
    let after = Some(format!("{}/b/was/here", tree.granted()));
    let page = list(&ListRequest { after, ..tree.request(5) }).unwrap();
    assert_eq!(tree.names(&page), ["c", "d", "d/e"]);
}

#[test]
fn a_cursor_from_elsewhere_is_refused() {
    let tree = Tree::with(&["a"]);
    for after in ["a".to_owned(), tree.granted(), format!("{}/", tree.granted()), String::new()] {
        let refusal = list(&ListRequest { after: Some(after), ..tree.request(1) }).unwrap_err();
        assert_eq!(refusal.code, ErrorCode::InvalidArgument);
    }
}

#[test]
fn depth_and_limit_outside_their_bounds_are_refused() {
    let tree = Tree::with(&["a"]);
    for depth in [0, DEPTH_MAX + 1] {
        assert_eq!(list(&tree.request(depth)).unwrap_err().code, ErrorCode::InvalidArgument);
    }
    for limit in [0, LIMIT_MAX + 1] {
        let request = ListRequest { limit: Some(limit), ..tree.request(1) };
        assert_eq!(list(&request).unwrap_err().code, ErrorCode::InvalidArgument);
    }
}

#[test]
fn a_thousand_entries_are_a_page() {
    let names: Vec<String> = (0..=LIMIT_MAX).map(|number| format!("{number:04}")).collect();
    let tree = Tree::with(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let result = list(&tree.request(1)).unwrap();
    assert_eq!((result.entries.len(), result.omitted), (LIMIT_MAX as usize, 1));
}

#[test]
fn a_page_ends_at_its_byte_cap() {
    let tree = Tree::with(&["a", "b", "c"]);
    let bounds = Bounds { page_max_bytes: 1, ..BOUNDS };
    let result = list_within(&tree.request(1), bounds).unwrap();
    assert_eq!((tree.names(&result), result.omitted), (vec!["a".to_owned()], 2));
}

#[test]
fn counting_stops_at_its_cap() {
    let tree = Tree::with(&["a", "b", "c", "d", "e"]);
    let bounds = Bounds { omitted_max: 2, ..BOUNDS };
    let request = ListRequest { limit: Some(1), ..tree.request(1) };
    assert_eq!(list_within(&request, bounds).unwrap().omitted, 2);
}

#[test]
fn folders_with_too_many_entries_are_refused_or_reported() {
    let tree = Tree::with(&["big/1", "big/2", "big/3", "f"]);
    let bounds = Bounds { folder_max: 2, ..BOUNDS };
    let result = list_within(&tree.request(2), bounds).unwrap();
    assert_eq!(tree.names(&result), ["big", "f"]);
    assert_eq!((result.unreadable_count, result.unreadable.len()), (1, 1));
    let path = Some(format!("{}/big", tree.granted()));
    let refusal = list_within(&ListRequest { path, ..tree.request(1) }, bounds).unwrap_err();
    assert_eq!(refusal.code, ErrorCode::TooLarge);
}

#[test]
fn a_file_and_a_missing_folder_are_refused() {
    let tree = Tree::with(&["file.txt"]);
    let at = |name: &str| ListRequest {
        path: Some(format!("{}/{name}", tree.granted())),
        ..tree.request(1)
    };
    assert_eq!(list(&at("file.txt")).unwrap_err().code, ErrorCode::NotADirectory);
    let refusal = list(&at("flie.txt")).unwrap_err();
    assert_eq!(refusal.code, ErrorCode::NotFound);
    assert!(refusal.message.contains("/file.txt`"), "{}", refusal.message);
}

#[cfg(unix)]
#[test]
fn fs_05_links_are_listed_and_only_the_folder_asked_for_is_followed() {
    let tree = Tree::with(&["a/real/x.txt"]);
    std::os::unix::fs::symlink("a/real", tree.0.path().join("link")).unwrap();
    std::os::unix::fs::symlink(".", tree.0.path().join("loop")).unwrap();
    let result = list(&tree.request(20)).unwrap();
    assert_eq!(tree.names(&result), ["a", "a/real", "a/real/x.txt", "link", "loop"]);
    assert_eq!(result.entries[3].kind, FileKind::Symlink);
    for path in ["link", "link/"] {
        let path = Some(format!("{}/{path}", tree.granted()));
        let result = list(&ListRequest { path, ..tree.request(1) }).unwrap();
        assert_eq!(tree.names(&result), ["link/x.txt"]);
    }
}

#[cfg(unix)]
#[test]
fn names_that_are_not_unicode_are_counted() {
    use std::os::unix::ffi::OsStrExt;
    let tree = Tree::with(&["a"]);
    fs::write(tree.0.path().join(std::ffi::OsStr::from_bytes(b"\xff")), "").unwrap();
    let result = list(&tree.request(1)).unwrap();
    assert_eq!((result.entries.len(), result.unreadable_count), (1, 1));
}
