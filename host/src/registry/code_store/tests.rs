//! Kept code: what is mapped, and all that is refused.

use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, SystemTime};

use super::super::content::copy;
use super::entry::{SEAL_LEN, file_name};
use super::prune::{KEPT_AGE, KEPT_FILES};
use super::*;

mod bounds;
mod keys;

/// What the plugin says of itself, in these tests.
const WORDS: &[u8] = b"words";

fn address_of(bytes: &[u8]) -> Address {
    Address::of(bytes.len() as u64, |from, piece| copy(bytes, from, piece)).unwrap()
}

fn plugin() -> Address {
    address_of(b"plugin")
}

fn put(store: &CodeStore, plugin: &Address, engine: &str, code: &[u8]) {
    store.write(plugin, engine, code, &Digest::of(b"plugin"), WORDS);
}

/// A store in a folder of its own, its key beside it.
struct Place {
    root: tempfile::TempDir,
    store: CodeStore,
}

impl Place {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let store = CodeStore::open(&root.path().join("a/code"), &root.path().join("s/key"));
        Self { store: store.unwrap(), root }
    }

    fn again(&self) -> Result<CodeStore, CodeStoreError> {
        CodeStore::open(&self.store.folder, &self.key())
    }

    fn key(&self) -> PathBuf {
        self.root.path().join("s/key")
    }

    fn path(&self, plugin: &Address, engine: &str) -> PathBuf {
        self.store.folder.join(file_name(plugin, engine))
    }

    fn write(&self, code: &[u8]) {
        put(&self.store, &plugin(), "e", code);
    }

    fn read(&self) -> Option<Vec<u8>> {
        read(&self.store, &plugin(), "e")
    }
}

fn read(store: &CodeStore, plugin: &Address, engine: &str) -> Option<Vec<u8>> {
    let kept = store.read(plugin, engine).unwrap()?;
    assert_eq!((kept.digest, kept.words.as_slice()), (Digest::of(b"plugin"), WORDS));
    let Code::File(file) = kept.code else { panic!("it isn't mapped") };
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut &file, &mut bytes).unwrap();
    bytes.truncate(bytes.len() - SEAL_LEN - WORDS.len());
    Some(bytes)
}

#[test]
fn the_address_of_a_plugin_is_by_all_of_its_bytes() {
    let long = vec![0; 600_000];
    let same = address_of(&long);
    assert_eq!(address_of(&long), same);
    assert_ne!(address_of(&long[1..]), same);
    for at in [0, 262_143, 262_144, 599_999] {
        let mut turned = long.clone();
        turned[at] = 1;
        assert_ne!(address_of(&turned), same);
    }
    let swapped = [&[1; 262_144][..], &[2; 262_144]].concat();
    let other = [&[2; 262_144][..], &[1; 262_144]].concat();
    assert_ne!(address_of(&swapped), address_of(&other));
}

#[test]
fn code_reads_back_for_its_own_engine_only() {
    let place = Place::new();
    place.write(b"native");
    assert_eq!(place.read().as_deref(), Some(&b"native"[..]));
    assert!(place.store.read(&plugin(), "other").unwrap().is_none());
    assert_eq!(place.store.seen().refused, 0);
}

#[test]
fn code_of_many_pieces_reads_back() {
    let place = Place::new();
    let code: Vec<u8> = (0..3_000_001_u32).map(|at| at.to_le_bytes()[at as usize % 3]).collect();
    place.write(&code);
    assert!(place.read().as_deref() == Some(&code[..]));
}

#[test]
fn every_changed_byte_is_noticed() {
    let place = Place::new();
    place.write(&vec![7; 600_000]);
    let path = place.path(&plugin(), "e");
    let whole = std::fs::read(&path).unwrap();
    let ends = [0, 1, 262_143, 262_144, 599_999];
    for at in ends.into_iter().chain(600_000..whole.len()) {
        let mut turned = whole.clone();
        turned[at] ^= 1;
        std::fs::write(&path, turned).unwrap();
        assert!(place.read().is_none(), "byte {at}");
    }
    std::fs::write(&path, whole).unwrap();
    assert!(place.read().is_some());
}

#[test]
fn pieces_that_changed_places_are_noticed() {
    let place = Place::new();
    let piece = 256 << 10;
    let code = [vec![1; piece], vec![2; piece]].concat();
    place.write(&code);
    let path = place.path(&plugin(), "e");
    let mut swapped = std::fs::read(&path).unwrap();
    swapped[..piece].fill(2);
    swapped[piece..2 * piece].fill(1);
    std::fs::write(&path, swapped).unwrap();
    assert!(place.read().is_none());
}

#[test]
fn cut_and_lengthened_files_are_not_code_and_are_counted() {
    let place = Place::new();
    place.write(b"native code");
    let path = place.path(&plugin(), "e");
    let whole = std::fs::read(&path).unwrap();
    let longer = [&whole[..], b"x"].concat();
    let seal = &whole[whole.len() - SEAL_LEN..];
    let bad = [&whole[..whole.len() - 1], &whole[..10], &[], &[0; 64], &longer, seal];
    for (count, damaged) in bad.into_iter().enumerate() {
        std::fs::write(&path, damaged).unwrap();
        assert_eq!(place.read(), None);
        assert_eq!(place.store.seen().refused as usize, count + 1);
    }
}

#[test]
fn code_under_anothers_name_is_not_its_code() {
    let place = Place::new();
    place.write(b"native");
    let other = address_of(b"other");
    for (name, engine) in [(&other, "e"), (&plugin(), "f")] {
        std::fs::copy(place.path(&plugin(), "e"), place.path(name, engine)).unwrap();
        assert!(place.store.read(name, engine).unwrap().is_none());
    }
    assert!(place.read().is_some());
}

#[test]
fn an_entry_that_is_not_a_file_of_ours_alone_is_not_used() {
    let place = Place::new();
    place.write(b"native");
    let path = place.path(&plugin(), "e");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o640)).unwrap();
    assert!(place.read().is_none());
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
    let elsewhere = place.root.path().join("elsewhere");
    std::fs::rename(&path, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &path).unwrap();
    assert!(place.read().is_none());
    std::fs::remove_file(&path).unwrap();
    let fifo = std::process::Command::new("mkfifo").args(["-m", "600"]).arg(&path).status();
    assert!(fifo.unwrap().success());
    assert!(place.read().is_none());
    assert_eq!(place.store.seen().refused, 3);
}

#[test]
fn a_folder_that_others_can_open_is_not_used() {
    let place = Place::new();
    place.write(b"native");
    std::fs::set_permissions(&place.store.folder, PermissionsExt::from_mode(0o755)).unwrap();
    let error = place.again().unwrap_err().to_string();
    assert!(error.contains("mode 0755"), "{error}");
    assert_eq!(place.read(), None);
    put(&place.store, &plugin(), "new", b"native");
    assert!(!place.path(&plugin(), "new").exists());
}

#[test]
fn a_link_in_its_place_is_not_followed() {
    let place = Place::new();
    let link = place.root.path().join("link");
    std::os::unix::fs::symlink(&place.store.folder, &link).unwrap();
    let opened = CodeStore::open(&link, &place.key());
    assert!(matches!(opened, Err(CodeStoreError::NotPrivate(_))));
    let file = place.root.path().join("file");
    std::fs::write(&file, "").unwrap();
    assert!(matches!(CodeStore::open(&file, &place.key()), Err(CodeStoreError::NotPrivate(_))));
}
