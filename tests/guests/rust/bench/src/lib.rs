//! What the benchmarks call: each as small as its work allows, so that what surrounds it shows.

wit_bindgen::generate!({ path: "wit" });

use exports::guests::bench::calls::{Guest, Row};

struct Calls;

impl Guest for Calls {
    fn nop() {}

    fn echo(text: String) -> String {
        text
    }

    fn copy(rows: Vec<Row>) -> Vec<Row> {
        rows
    }

    fn sleep(ms: u32) {
        std::thread::sleep(std::time::Duration::from_millis(u64::from(ms)));
    }

    #[expect(clippy::empty_loop, reason = "work without end is what it is for")]
    fn spin() {
        loop {}
    }
}

#[cfg(target_family = "wasm")]
export!(Calls);
