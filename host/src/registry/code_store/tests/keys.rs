//! The key: made once, private, and what happens without it.

use super::*;

#[test]
fn the_key_is_made_once_and_for_this_user_alone() {
    let place = Place::new();
    let found = std::fs::metadata(place.key()).unwrap();
    assert_eq!((found.permissions().mode() & 0o7777, found.len()), (0o600, 32));
    let before = std::fs::read(place.key()).unwrap();
    place.again().unwrap();
    assert_eq!(std::fs::read(place.key()).unwrap(), before);
    let folder = std::fs::metadata(place.key().parent().unwrap()).unwrap();
    assert_eq!(folder.permissions().mode() & 0o777, 0o700);
}

#[test]
fn all_who_make_the_key_at_the_same_time_have_the_same() {
    let root = tempfile::tempdir().unwrap();
    let key = root.path().join("deep/down/key");
    let open = |index: usize| CodeStore::open(&root.path().join(index.to_string()), &key).unwrap();
    let stores: Vec<_> = std::thread::scope(|scope| {
        let openings: Vec<_> = (0..16).map(|index| scope.spawn(move || open(index))).collect();
        openings.into_iter().map(|opening| opening.join().unwrap()).collect()
    });
    assert!(stores.iter().all(|store| store.key.whole == stores[0].key.whole));
    assert_eq!(std::fs::read_dir(key.parent().unwrap()).unwrap().count(), 1);
}

#[test]
fn by_another_key_nothing_is_code_and_each_entry_is_told_of() {
    let place = Place::new();
    place.write(b"native");
    std::fs::remove_file(place.key()).unwrap();
    let other = place.again().unwrap();
    assert!(other.read(&plugin(), "e").unwrap().is_none());
    assert_eq!(other.seen(), KeptCode { used: 0, refused: 1 });
    // What is compiled anew takes its place.
    put(&other, &plugin(), "e", b"native");
    assert!(other.read(&plugin(), "e").unwrap().is_some());
    assert!(place.read().is_none());
}

#[test]
fn a_key_that_others_may_know_is_not_used() {
    let place = Place::new();
    std::fs::set_permissions(place.key(), PermissionsExt::from_mode(0o604)).unwrap();
    let error = place.again().unwrap_err().to_string();
    assert!(error.contains("mode 0604"), "{error}");
}

#[test]
fn what_is_no_key_is_not_used() {
    let place = Place::new();
    for (content, words) in [(&b""[..], "0 bytes"), (&[1; 31], "31 bytes"), (&[1; 33], "33 bytes")]
    {
        std::fs::write(place.key(), content).unwrap();
        let error = place.again().unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
    std::fs::remove_file(place.key()).unwrap();
    std::fs::create_dir(place.key()).unwrap();
    assert!(matches!(place.again(), Err(CodeStoreError::Key(_))));
    std::fs::remove_dir(place.key()).unwrap();
    std::os::unix::fs::symlink("elsewhere", place.key()).unwrap();
    assert!(place.again().is_err());
    assert!(!place.root.path().join("s/elsewhere").exists());
}

#[test]
fn a_key_in_the_folder_that_it_guards_is_refused() {
    let place = Place::new();
    let inside = place.store.folder.join("key");
    let opened = CodeStore::open(&place.store.folder, &inside);
    assert!(matches!(opened, Err(CodeStoreError::KeyInside)));
    assert!(!inside.exists());
}

#[test]
fn nothing_shows_the_key() {
    let place = Place::new();
    let shown = format!("{:?}", place.store);
    assert!(shown.contains("key: Key,"), "{shown}");
}
