//! `belljar pack`: the words of the WIT go in and come out again, or nothing is written.

use std::fs;
use std::path::{Path, PathBuf};

use crate::guests::built;
use crate::suites::harness::{Ran, belljar, run};

struct Bench {
    folder: tempfile::TempDir,
    component: Vec<u8>,
}

impl Bench {
    /// The stock component as its toolchain left it, beside a copy of its WIT.
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let component = built::rust_unpacked("stock").to_vec();
        fs::write(folder.path().join("plain.wasm"), &component).unwrap();
        fs::create_dir(folder.path().join("wit")).unwrap();
        let wit = built::root().join("tests/guests/rust/stock/wit/world.wit");
        fs::copy(wit, folder.path().join("wit/world.wit")).unwrap();
        Self { folder, component }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn pack(&self, args: &[&str]) -> Ran {
        let mut command = belljar();
        Ran::of(command.arg("pack").args(args).current_dir(self.folder.path()).output().unwrap())
    }

    /// Only the component as it was, and the WIT.
    fn is_untouched(&self) {
        assert_eq!(names(self.folder.path()), ["plain.wasm", "wit"]);
        assert_eq!(names(&self.path("wit")), ["world.wit"]);
        assert_eq!(fs::read(self.path("plain.wasm")).unwrap(), self.component);
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> =
        entries.map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn what_the_wit_says_is_shown_after_packing() {
    let bench = Bench::new();
    let said = ["--plugin-version", "1.2.3", "--license", "MIT", "--author", "Ada"];
    let args = [&["plain.wasm", "--wit", "wit", "-o", "packed.wasm"][..], &said].concat();
    bench.pack(&args).ends_with(0);
    let packed = bench.path("packed.wasm");
    let shown = run(["inspect", packed.to_str().unwrap(), "--json"]).ends_with(0).json();
    assert_eq!((&shown["name"], &shown["version"]), (&"greeter".into(), &"1.2.3".into()));
    assert_eq!(shown["findings"], serde_json::json!([]));
    let total = &shown["tools"][1];
    assert_eq!(total["description"], "Adds up the prices of a basket.");
    let schema = total["inputSchema"].to_string();
    assert!(schema.contains("What one of it costs, in cents."), "{schema}");
    let plain = bench.path("plain.wasm");
    let unsaid = run(["inspect", plain.to_str().unwrap(), "--json"]).ends_with(0).json();
    assert_eq!(unsaid["tools"][1]["documented"], false);
    assert_ne!(unsaid["digest"], shown["digest"]);
}

#[test]
fn packing_twice_gives_the_same_bytes() {
    let bench = Bench::new();
    bench.pack(&["plain.wasm", "--wit", "wit", "-o", "a.wasm"]).ends_with(0);
    bench.pack(&["plain.wasm", "--wit", "wit", "-o", "b.wasm"]).ends_with(0);
    bench.pack(&["b.wasm", "--wit", "wit", "--in-place"]).ends_with(0);
    assert!(fs::read(bench.path("a.wasm")).unwrap() == fs::read(bench.path("b.wasm")).unwrap());
    assert_eq!(names(bench.folder.path()), ["a.wasm", "b.wasm", "plain.wasm", "wit"]);
}

#[test]
fn wrong_words_are_all_named_and_nothing_is_written() {
    let bench = Bench::new();
    let wit = "package a:b;\n/// Docs.\n/// @fast\n/// @timeout soon\ninterface i { f: func(); }\nworld w { export i; }\n";
    fs::write(bench.path("wit/world.wit"), wit).unwrap();
    for to in [&["-o", "out.wasm"][..], &["--in-place"]] {
        let args = [&["plain.wasm", "--wit", "wit"][..], to].concat();
        bench.pack(&args).refused(3, &["isn't packed"]);
        bench.is_untouched();
    }
}

#[test]
fn what_cant_be_packed_leaves_nothing_behind() {
    let bench = Bench::new();
    let core = bench.path("plain.wasm");
    let cases: [(&[&str], i32); 6] = [
        (&["plain.wasm", "--wit", "no-wit", "-o", "out.wasm"], 2),
        (&["gone.wasm", "--wit", "wit", "-o", "out.wasm"], 2),
        (&["wit", "--wit", "wit", "-o", "out.wasm"], 2),
        (&["plain.wasm", "--wit", "wit", "-o", "wit"], 2),
        (&["plain.wasm", "--wit", "wit", "-o", "no/such/out.wasm"], 2),
        (&["plain.wasm", "--wit", "wit", "--world", "gone", "-o", "out.wasm"], 2),
    ];
    for (args, code) in cases {
        bench.pack(args).refused(code, &["error: "]);
        bench.is_untouched();
    }
    let null = ["/dev/null", "--wit", "wit", "-o", "out.wasm"];
    bench.pack(&null).refused(2, &["is no regular file"]);
    bench.is_untouched();
    for (bytes, why) in [(built::wat("core-module"), "core"), (b"text".to_vec(), "")] {
        fs::write(&core, &bytes).unwrap();
        bench.pack(&["plain.wasm", "--wit", "wit", "--in-place"]).refused(3, &["error: ", why]);
        assert_eq!(fs::read(&core).unwrap(), bytes);
        assert_eq!(names(bench.folder.path()), ["plain.wasm", "wit"]);
    }
}

#[test]
fn another_plugins_wit_is_noticed_and_nothing_is_written() {
    let bench = Bench::new();
    let wit = "package a:b;\nworld w { export salute: func(who: u32); }\n";
    fs::write(bench.path("wit/world.wit"), wit).unwrap();
    let other = ["plain.wasm", "--wit", "wit", "-o", "o.wasm"];
    bench.pack(&other).refused(3, &["salute", "doesn't export it"]);
    bench.is_untouched();
    fs::write(bench.path("wit/world.wit"), "package a:b;\nworld w {}\n").unwrap();
    bench.pack(&other).refused(3, &["exports no function"]);
    bench.is_untouched();
}

#[test]
fn broken_wit_is_refused_with_its_place() {
    let bench = Bench::new();
    fs::write(bench.path("wit/world.wit"), "package a:b;\nworld w { export ; }\n").unwrap();
    bench.pack(&["plain.wasm", "--wit", "wit", "-o", "o.wasm"]).refused(3, &["world.wit:2"]);
    bench.is_untouched();
}
