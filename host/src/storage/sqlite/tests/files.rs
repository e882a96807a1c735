//! Files that can't be used: each refused with its own words, and none harmed.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use rusqlite::Connection;

use super::*;
use crate::storage::{ApprovalStore as _, ListFilter, SessionEnd, StorageError};

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

fn with_request(path: &Path) -> SqliteStore {
    let store = SqliteStore::open(path).unwrap();
    store.insert(&request(1), MADE).unwrap();
    store
}

/// The statement on the connection that the store writes by.
fn on(store: &SqliteStore, sql: &str) {
    store.opened.get().unwrap().connection.lock().unwrap().execute_batch(sql).unwrap();
}

#[test]
fn the_file_is_private_and_so_is_all_beside_it() {
    let (_folder, path) = place();
    let _store = with_request(&path);
    assert_eq!(mode(path.parent().unwrap()), 0o700);
    let files: Vec<_> = std::fs::read_dir(path.parent().unwrap()).unwrap().collect();
    assert!(files.len() > 1, "the write-ahead log is there");
    for file in files {
        assert_eq!(mode(&file.unwrap().path()), 0o600);
    }
}

#[test]
fn reading_makes_no_file_and_the_first_request_does() {
    let (_folder, path) = place();
    assert!(SqliteStore::open_existing(&path).unwrap().is_none());
    let store = SqliteStore::at(&path);
    assert_eq!(store.list(&ListFilter::pending()).unwrap(), []);
    assert_eq!(store.expire(MADE).unwrap(), []);
    assert_eq!(store.remembered(MADE).unwrap(), []);
    assert_eq!(store.withdraw_session("s1", MADE).unwrap(), SessionEnd::default());
    store.remembered_mark().unwrap();
    store.revision().unwrap();
    assert!(!path.parent().unwrap().exists());
    store.insert(&request(1), MADE).unwrap();
    assert!(path.exists());
    assert_eq!(store.list(&ListFilter::pending()).unwrap().len(), 1);
}

#[test]
fn what_others_can_reach_is_not_used() {
    let (_folder, path) = place();
    drop(with_request(&path));
    let folder = path.parent().unwrap();
    for (open, open_mode, closed_mode) in [(path.as_path(), 0o640, 0o600), (folder, 0o755, 0o700)] {
        set_mode(open, open_mode);
        let error = SqliteStore::open(&path).unwrap_err();
        assert!(matches!(error, StorageError::NotPrivate { .. }), "{error}");
        assert!(error.to_string().contains(&format!("mode {open_mode:04o}")), "{error}");
        set_mode(open, closed_mode);
    }
    SqliteStore::open(&path).unwrap();
}

#[test]
fn a_link_in_place_of_the_file_is_not_followed() {
    let (_folder, path) = place();
    drop(with_request(&path));
    let link = path.with_file_name("link.sqlite");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    let error = SqliteStore::open(&link).unwrap_err();
    assert!(matches!(error, StorageError::NotPrivate { .. }), "{error}");
}

#[test]
fn a_file_that_is_no_database_is_damaged_and_left_as_it_is() {
    let (_folder, path) = place();
    drop(with_request(&path));
    std::fs::write(&path, "no database, and long enough to be read as one".repeat(20)).unwrap();
    let before = std::fs::read(&path).unwrap();
    let error = SqliteStore::open_existing(&path).unwrap_err();
    assert!(matches!(error, StorageError::Damaged { .. }), "{error}");
    assert!(error.to_string().contains("move it away to begin anew"), "{error}");
    assert!(!error.without_path().contains('/'), "{}", error.without_path());
    assert_eq!(std::fs::read(&path).unwrap(), before);
    let lazy = SqliteStore::at(&path);
    assert!(lazy.remembered(MADE).is_err() && lazy.insert(&request(2), MADE).is_err());
}

#[test]
fn a_file_that_was_emptied_is_damage_and_forgets_no_answer() {
    let (_folder, path) = place();
    let store = with_request(&path);
    // Its log may still hold all of it, as a killed process leaves it.
    let log = path.with_file_name("approvals.sqlite-wal");
    let logged = std::fs::read(&log).unwrap();
    drop(store);
    std::fs::write(&log, &logged).unwrap();
    set_mode(&log, 0o600);
    std::fs::write(&path, "").unwrap();
    for met in [
        SqliteStore::open(&path).map(drop),
        SqliteStore::open_existing(&path).map(drop),
        SqliteStore::at(&path).remembered(MADE).map(drop),
        SqliteStore::at(&path).insert(&request(2), MADE).map(drop),
    ] {
        let error = met.unwrap_err();
        assert!(matches!(error, StorageError::Damaged { .. }), "{error}");
        assert!(error.to_string().contains("it has been emptied"), "{error}");
    }
    assert_eq!(std::fs::metadata(&path).unwrap().len(), 0, "it was made anew");
    assert!(std::fs::read(&log).unwrap() == logged, "what is left of it was removed");
    std::fs::remove_file(&path).unwrap();
    std::fs::remove_file(&log).unwrap();
    SqliteStore::open(&path).unwrap();
}

#[test]
fn a_file_without_its_tables_is_damage_whatever_its_header_says() {
    let empty = "PRAGMA application_id = 0; PRAGMA user_version = 0; DROP TABLE results;
        DROP TABLE remembered; DROP TABLE approvals; VACUUM";
    for sql in [empty, "DROP TABLE remembered", "PRAGMA user_version = 0"] {
        let (_folder, path) = place();
        drop(with_request(&path));
        let other = Connection::open(&path).unwrap();
        // SQLite's own table of sequences would be another program's.
        other.execute_batch(sql).unwrap();
        drop(other);
        let error = SqliteStore::open(&path).unwrap_err();
        let is_refused =
            matches!(error, StorageError::Damaged { .. } | StorageError::NotOurs { .. });
        assert!(is_refused, "{sql}: {error}");
    }
}

#[test]
fn many_that_make_the_file_at_once_end_with_one_store() {
    for _ in 0..20 {
        let (_folder, path) = place();
        let together = std::sync::Barrier::new(4);
        std::thread::scope(|scope| {
            for number in 1..=4 {
                let (path, together) = (&path, &together);
                scope.spawn(move || {
                    let store = SqliteStore::at(path);
                    together.wait();
                    store.insert(&request(number), MADE).unwrap();
                });
            }
        });
        let store = SqliteStore::open_existing(&path).unwrap().unwrap();
        assert_eq!(store.list(&ListFilter::pending()).unwrap().len(), 4);
        let left = std::fs::read_dir(path.parent().unwrap()).unwrap();
        let mut names = left.map(|entry| entry.unwrap().file_name());
        assert!(names.all(|name| name.to_string_lossy().starts_with("approvals.sqlite")));
    }
}

#[test]
fn a_store_gets_its_name_with_its_way_of_writing_set() {
    let (_folder, path) = place();
    let folder = path.parent().unwrap();
    std::fs::create_dir_all(folder).unwrap();
    super::super::create::create(folder, &path).unwrap();
    // SQLite's file format, "The Database Header": bytes 18 and 19 are 2 with a write-ahead log.
    assert_eq!(std::fs::read(&path).unwrap()[18..20], [2, 2]);
    let left: Vec<_> = std::fs::read_dir(folder).unwrap().collect();
    assert_eq!(left.len(), 1, "the unfinished store's own log is left: {left:?}");
}

#[test]
fn a_store_that_was_being_made_when_its_process_went_is_in_nobodys_way() {
    let (_folder, path) = place();
    drop(with_request(&path));
    let folder = path.parent().unwrap();
    std::fs::remove_file(&path).unwrap();
    std::fs::write(folder.join(".belljar-Ab12Cd.new"), "half").unwrap();
    assert!(SqliteStore::open_existing(&path).unwrap().is_none());
    let store = with_request(&path);
    assert_eq!(store.list(&ListFilter::pending()).unwrap().len(), 1);
}

#[test]
fn damage_within_is_told_when_it_is_met() {
    let (_folder, path) = place();
    let store = with_request(&path);
    on(&store, "PRAGMA wal_checkpoint(TRUNCATE)");
    drop(store);
    let mut bytes = std::fs::read(&path).unwrap();
    let page = 4096;
    bytes[page..].fill(0xa5);
    std::fs::write(&path, bytes).unwrap();
    let met = SqliteStore::open(&path).and_then(|store| store.get(&id(1)));
    assert!(matches!(met, Err(StorageError::Damaged { .. })), "{met:?}");
}

#[test]
fn a_row_that_belljar_never_wrote_is_damage_and_never_an_answer() {
    for sql in [
        "UPDATE approvals SET state = 'approved'",
        "UPDATE approvals SET request = '{}'",
        "UPDATE approvals SET state = 'decided', decided = 'yes'",
        "UPDATE approvals SET state = 'decided'",
    ] {
        let store = memory();
        store.insert(&request(1), MADE).unwrap();
        on(&store, sql);
        let taken = store.take(&id(1), &request(1).binding, MADE + 1);
        assert!(matches!(taken, Err(StorageError::Damaged { .. })), "{sql}: {taken:?}");
    }
}

#[test]
fn a_newer_format_is_refused_with_both_numbers() {
    let (_folder, path) = place();
    drop(with_request(&path));
    let other = Connection::open(&path).unwrap();
    other.pragma_update(None, "user_version", 7).unwrap();
    drop(other);
    let error = SqliteStore::open(&path).unwrap_err();
    assert!(matches!(error, StorageError::Newer { found: 7, known: 1, .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains("format 7") && text.contains("up to 1"), "{text}");
    let other = Connection::open(&path).unwrap();
    other.pragma_update(None, "user_version", 1).unwrap();
    let store = SqliteStore::open(&path).unwrap();
    assert!(store.get(&id(1)).is_ok(), "nothing was lost");
}

#[test]
fn a_database_of_another_program_is_left_alone() {
    let (_folder, path) = place();
    std::fs::create_dir(path.parent().unwrap()).unwrap();
    set_mode(path.parent().unwrap(), 0o700);
    let other = Connection::open(&path).unwrap();
    other.execute_batch("CREATE TABLE songs (name TEXT)").unwrap();
    drop(other);
    set_mode(&path, 0o600);
    let before = std::fs::read(&path).unwrap();
    let error = SqliteStore::open(&path).unwrap_err();
    assert!(matches!(error, StorageError::NotOurs { .. }), "{error}");
    assert!(std::fs::read(&path).unwrap() == before, "it was changed");
    assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
}

#[test]
fn a_folder_that_cannot_be_made_says_so() {
    let (folder, _path) = place();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let store = SqliteStore::at(file.join("state").join("approvals.sqlite"));
    let error = store.insert(&request(1), MADE).unwrap_err();
    assert!(matches!(error, StorageError::Unusable { .. }), "{error}");
}

#[test]
fn a_read_only_database_keeps_nothing_and_says_so() {
    let (_folder, path) = place();
    let store = with_request(&path);
    on(&store, "PRAGMA query_only = 1");
    let error = store.decide(&id(1), &decided(ApprovalDecision::Once), None).unwrap_err();
    assert!(matches!(error, StorageError::ReadOnly { .. }), "{error}");
    on(&store, "PRAGMA query_only = 0");
    assert_eq!(store.get(&id(1)).unwrap().decided, None);
    assert!(store.decide(&id(1), &decided(ApprovalDecision::Once), None).is_ok());
}

#[test]
fn a_full_disk_keeps_nothing_and_loses_nothing() {
    let (_folder, path) = place();
    let store = with_request(&path);
    on(&store, "PRAGMA max_page_count = 1");
    let mut large = request(2);
    large.reason = "x".repeat(1 << 20);
    let error = store.insert(&large, MADE).unwrap_err();
    assert!(matches!(error, StorageError::DiskFull { .. }), "{error}");
    assert_eq!(store.list(&ListFilter::pending()).unwrap().len(), 1);
    assert!(store.get(&id(1)).is_ok());
}

#[test]
fn a_store_that_another_process_holds_is_told_apart() {
    let (_folder, path) = place();
    let store = with_request(&path);
    on(&store, "PRAGMA busy_timeout = 0");
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let error = store.insert(&request(2), MADE).unwrap_err();
    assert!(matches!(error, StorageError::Locked { seconds: 5, .. }), "{error}");
    assert!(store.get(&id(1)).is_ok() && store.revision().is_ok(), "reading goes on");
    other.execute_batch("COMMIT").unwrap();
    store.insert(&request(2), MADE).unwrap();
}

#[test]
fn grants_without_json_are_refused_before_anything_is_written() {
    use std::os::unix::ffi::OsStringExt as _;
    let store = memory();
    let mut request = request(1);
    request.grants.dirs.push(crate::contract::grants::DirGrant {
        host: std::ffi::OsString::from_vec(vec![b'/', 0xff]).into(),
        guest: "/w".into(),
        mode: crate::contract::grants::DirMode::ReadOnly,
    });
    let error = store.insert(&request, MADE).unwrap_err();
    assert!(matches!(error, StorageError::Unstorable { what: "request", .. }), "{error}");
}

#[test]
fn reading_waits_for_nobody_who_writes() {
    let (_folder, path) = place();
    let store = with_request(&path);
    // Held as by a write that waits for another process; a reader that needed it would hang here.
    let _writing = store.opened.get().unwrap().connection.lock().unwrap();
    store.revision().unwrap();
    store.remembered_mark().unwrap();
    assert_eq!(store.remembered(MADE).unwrap(), []);
    assert_eq!(store.get(&id(1)).unwrap().request.id, id(1));
}
