//! The `files` plugin: `read`, `list`, `stat` and `write` over the folders granted to it.
//!
//! This file only joins the WIT world to the modules, which are plain Rust on `std::fs` and are
//! tested natively. What keeps a path inside the granted folders is the host's WASI preopens; no
//! module here resolves, rewrites or guards paths for that.

mod bindings {
    wit_bindgen::generate!({ world: "plugin", path: "wit" });
}

mod decode;
mod digest;
mod failure;
mod list;
mod near;
mod path;
mod read;
mod regular;
mod shown;
mod staged;
mod stat;
mod timestamp;
mod window;
mod write;

use bindings::exports::belljar::files::files;

struct Plugin;

impl files::Guest for Plugin {
    fn read(request: files::ReadRequest) -> Result<files::ReadResult, files::FileError> {
        read::read(&request)
    }

    fn list(request: files::ListRequest) -> Result<files::ListResult, files::FileError> {
        list::list(&request)
    }

    fn stat(request: files::StatRequest) -> Result<files::StatResult, files::FileError> {
        stat::stat(&request)
    }

    fn write(request: files::WriteRequest) -> Result<files::WriteResult, files::FileError> {
        write::write(&request)
    }
}

#[cfg(target_family = "wasm")]
bindings::export!(Plugin with_types_in bindings);
