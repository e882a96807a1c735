//! Tries what a sandbox must not let it. `Ok` is what a probe gained, `Err` is what stopped it, so
//! that a success of any probe but `sleep` and `print` is a hole in the sandbox.

mod bindings {
    wit_bindgen::generate!({ path: "wit" });
}

mod burden;
mod change;
mod look;
mod preopen;

struct Probes;

#[cfg(target_family = "wasm")]
bindings::export!(Probes with_types_in bindings);

/// What stopped a probe, as its `err` says it.
fn stopped(error: impl std::fmt::Display) -> String {
    error.to_string()
}
