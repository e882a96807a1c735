//! The builtin plugin `search`: grep and glob in the granted folders.
//!
//! Only joins the exported functions to the modules; they run natively too, under `cargo test`.

mod content;
mod error;
mod glob;
mod glob_pattern;
mod grep;
mod limit;
mod line;
mod location;
mod report;
mod rules;
mod shown;
mod syntax;
mod walk;

use crate::bindings::exports::belljar::search::search as wit;

/// What wit-bindgen makes of `wit/`; nothing here is written by hand.
mod bindings {
    wit_bindgen::generate!({
        world: "search-plugin",
        path: "wit",
        additional_derives: [PartialEq],
    });
}

/// The component's exports.
#[derive(Debug)]
struct Component;

impl wit::Guest for Component {
    fn grep(request: wit::GrepRequest) -> Result<wit::GrepResult, wit::SearchError> {
        Ok(grep::grep(&request)?)
    }

    fn glob(request: wit::GlobRequest) -> Result<wit::GlobResult, wit::SearchError> {
        Ok(glob::glob(&request)?)
    }
}

#[cfg(target_family = "wasm")]
bindings::export!(Component with_types_in bindings);
