//! Bounds of the store: what goes, and what stays although it is old.

use super::*;

const HOUR: Duration = Duration::from_secs(60 * 60);

/// With these files, each so many bytes long and so many hours old, and then one more.
fn with(files: &[(&str, u64, u64)]) -> Place {
    let place = Place::new();
    for (name, len, hours) in files {
        let file = std::fs::File::create(place.store.folder.join(name)).unwrap();
        file.set_len(*len).unwrap();
        let age = HOUR * u32::try_from(*hours).unwrap() + Duration::from_secs(60);
        file.set_modified(SystemTime::now() - age).unwrap();
    }
    place.write(b"native");
    place
}

fn has(place: &Place, name: &str) -> bool {
    place.store.folder.join(name).exists()
}

#[test]
fn the_number_of_files_is_bounded() {
    let place = Place::new();
    for index in 0..KEPT_FILES + 5 {
        put(&place.store, &address_of(&index.to_le_bytes()), "e", b"x");
    }
    assert_eq!(std::fs::read_dir(&place.store.folder).unwrap().count(), KEPT_FILES);
}

#[test]
fn the_bytes_of_all_files_are_bounded_and_the_least_recently_used_go() {
    let third = KEPT_BYTES / 3;
    let place = with(&[("a.code", third, 3), ("b.code", third, 4), ("c.code", third, 2)]);
    assert!(place.read().is_some());
    assert_eq!([has(&place, "a.code"), has(&place, "b.code")], [true, false]);
    assert!(has(&place, "c.code"));
}

#[test]
fn code_that_nobody_used_for_long_goes() {
    let days = KEPT_AGE.as_secs() / 60 / 60;
    let place = with(&[("old.code", 9, days), ("young.code", 9, days - 1)]);
    assert_eq!([has(&place, "old.code"), has(&place, "young.code")], [false, true]);
}

#[test]
fn code_that_is_in_use_stays_however_old_it_is() {
    let place = Place::new();
    place.write(b"native");
    let in_use = place.store.read(&plugin(), "e").unwrap().unwrap();
    let Code::File(file) = &in_use.code else { panic!("it isn't mapped") };
    file.set_modified(SystemTime::now() - 2 * KEPT_AGE).unwrap();
    put(&place.store, &plugin(), "f", b"more");
    assert!(place.path(&plugin(), "e").exists());
    drop(in_use);
    // A process that another test just began holds a copy of the lock until it is a program.
    while place.path(&plugin(), "e").exists() {
        put(&place.store, &plugin(), "g", b"more");
    }
}

#[test]
fn code_larger_than_all_that_is_kept_is_not_written() {
    let mut place = Place::new();
    place.write(b"native");
    place.store.most = 1000;
    let largest = 1000 - SEAL_LEN - WORDS.len();
    // Written, it would push out all others.
    put(&place.store, &plugin(), "larger", &vec![1; largest + 1]);
    assert!(place.read().is_some() && !place.path(&plugin(), "larger").exists());
    let mut place = Place::new();
    place.store.most = 1000;
    place.write(&vec![1; largest]);
    assert!(place.read().is_some());
}

#[test]
fn an_entry_larger_than_all_that_is_kept_is_not_read() {
    let mut place = Place::new();
    place.write(b"native");
    let len = std::fs::metadata(place.path(&plugin(), "e")).unwrap().len();
    // Nothing else is wrong with it.
    place.store.most = len;
    assert!(place.read().is_some());
    place.store.most = len - 1;
    assert!(place.read().is_none());
    assert_eq!(place.store.seen().refused, 1);
}

#[test]
fn what_a_killed_process_left_is_swept_and_what_another_writes_is_not() {
    let place = with(&[("old.part", 9, 2), ("new.part", 9, 0), ("old.text", 9, 2)]);
    assert!(!has(&place, "old.part") && has(&place, "new.part") && has(&place, "old.text"));
}
