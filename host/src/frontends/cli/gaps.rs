//! The engine's version, and what later versions mend that this one doesn't.
//!
//! Written by hand from wasmtime's advisories; a test fails when the lock file has another version,
//! so that nobody updates one and not the other.

use serde::Serialize;

/// The wasmtime this was written for.
pub(super) const WASMTIME: &str = "48.0.8";

/// A fault of [`WASMTIME`] that a later version mends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct Gap {
    /// The beginning of the advisory's id, GHSA-….
    pub(super) advisory: &'static str,
    /// What goes wrong.
    pub(super) fault: &'static str,
    /// Why no plugin of belljar meets it; `None`: not known.
    pub(super) unmet: Option<&'static str>,
}

/// What 48.0.9 (16 November 2026) mends.
pub(super) const GAPS: [Gap; 8] = [
    Gap {
        advisory: "GHSA-5m8g",
        fault: "empty writes fill an output queue without bound",
        unmet: Some("plugins print into belljar's own bounded streams"),
    },
    Gap {
        advisory: "GHSA-43j2",
        fault: "compiled code uses a GC heap after it has moved",
        unmet: Some("garbage collection is off"),
    },
    Gap {
        advisory: "GHSA-xrvr",
        fault: "cancelling a stream or future panics",
        unmet: Some("component-model async is off"),
    },
    Gap {
        advisory: "GHSA-rc4p",
        fault: "a build without the feature `gc` aborts",
        unmet: Some("the feature is compiled in"),
    },
    Gap {
        advisory: "GHSA-2674",
        fault: "a build without the feature `threads` aborts",
        unmet: Some("the feature is compiled in"),
    },
    Gap {
        advisory: "GHSA-f8mm",
        fault: "empty bodies over HTTP/2",
        unmet: Some("no plugin's request is sent"),
    },
    Gap { advisory: "GHSA-hj27", fault: "not examined", unmet: None },
    Gap { advisory: "GHSA-wvgq", fault: "not examined", unmet: None },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gaps_are_those_of_the_locked_version() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.lock");
        let lock = std::fs::read_to_string(path).unwrap();
        let locked = format!("name = \"wasmtime\"\nversion = \"{WASMTIME}\"\n");
        assert!(lock.contains(&locked), "look at the advisories again and write them down here");
    }
}
