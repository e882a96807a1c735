//! The one linker: every WASI 0.2 interface, `wasi:http` and `belljar:tool`, each denying at use.
//!
//! WASI as wasmtime has it goes in first; what this crate replaces shadows it, so that an interface
//! added upstream is linked (and bounded by the store) rather than missing.

use std::sync::Arc;

use wasmtime::component::{HasData, HasSelf, Linker};
use wasmtime_wasi::cli::WasiCliView as _;
use wasmtime_wasi::filesystem::WasiFilesystemView as _;
use wasmtime_wasi::p2::bindings::{cli, filesystem, random, sockets};
use wasmtime_wasi::random::WasiRandomView as _;

use super::env::{Environment, EnvironmentView};
use super::files::{Files, FilesView};
use super::random::{BoundedRandom, BoundedRandomView};
use super::sockets::{DeniedSockets, DeniedSocketsView};
use super::speech;
use crate::sandbox::state::HostState;

/// Interfaces that are linked, without their version: what an import list is checked against.
/// A tidy test instantiates a component for each.
pub(crate) const LINKED: &[&str] = &[
    "belljar:tool/invocation",
    "belljar:tool/log",
    "belljar:tool/progress",
    "belljar:tool/types",
    "wasi:cli/environment",
    "wasi:cli/exit",
    "wasi:cli/stderr",
    "wasi:cli/stdin",
    "wasi:cli/stdout",
    "wasi:cli/terminal-input",
    "wasi:cli/terminal-output",
    "wasi:cli/terminal-stderr",
    "wasi:cli/terminal-stdin",
    "wasi:cli/terminal-stdout",
    "wasi:clocks/monotonic-clock",
    "wasi:clocks/wall-clock",
    "wasi:filesystem/preopens",
    "wasi:filesystem/types",
    "wasi:http/outgoing-handler",
    "wasi:http/types",
    "wasi:io/error",
    "wasi:io/poll",
    "wasi:io/streams",
    "wasi:random/insecure",
    "wasi:random/insecure-seed",
    "wasi:random/random",
    "wasi:sockets/instance-network",
    "wasi:sockets/ip-name-lookup",
    "wasi:sockets/network",
    "wasi:sockets/tcp",
    "wasi:sockets/tcp-create-socket",
    "wasi:sockets/udp",
    "wasi:sockets/udp-create-socket",
];

/// Makes the linker that every plugin is linked with.
///
/// # Errors
/// Two definitions that contradict each other: a fault of this crate.
pub(crate) fn linker(engine: &wasmtime::Engine) -> wasmtime::Result<Linker<HostState>> {
    let mut linker = Linker::new(engine);
    wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
    wasmtime_wasi_http::p2::add_only_http_to_linker_async(&mut linker)?;
    linker.allow_shadowing(true);
    link_files(&mut linker)?;
    link_sockets(&mut linker)?;
    random::random::add_to_linker::<_, BoundedRandom>(&mut linker, random_view)?;
    random::insecure::add_to_linker::<_, BoundedRandom>(&mut linker, random_view)?;
    cli::environment::add_to_linker::<_, Environment>(&mut linker, environment_view)?;
    super::http::bound_requests(&mut linker)?;
    linker.allow_shadowing(false);
    speech::Imports::add_to_linker::<_, HasSelf<_>>(&mut linker, |state: &mut HostState| {
        state.speech()
    })?;
    Ok(linker)
}

fn link_files(linker: &mut Linker<HostState>) -> wasmtime::Result<()> {
    filesystem::types::add_to_linker::<_, Files>(linker, files_view)?;
    filesystem::preopens::add_to_linker::<_, Files>(linker, files_view)
}

fn link_sockets(linker: &mut Linker<HostState>) -> wasmtime::Result<()> {
    sockets::tcp_create_socket::add_to_linker::<_, DeniedSockets>(linker, sockets_view)?;
    sockets::udp_create_socket::add_to_linker::<_, DeniedSockets>(linker, sockets_view)?;
    sockets::ip_name_lookup::add_to_linker::<_, DeniedSockets>(linker, sockets_view)
}

fn files_view(state: &mut HostState) -> <Files as HasData>::Data<'_> {
    // Handles to what the store shares with whoever waits for it.
    let (watch, denials) = (state.gathered.files.clone(), state.gathered.denials.clone());
    FilesView { inner: state.filesystem(), watch, denials }
}

fn environment_view(state: &mut HostState) -> <Environment as HasData>::Data<'_> {
    let missing = Arc::clone(&state.missing_env);
    let denials = state.gathered.denials.clone();
    EnvironmentView { inner: state.cli(), missing, denials }
}

fn sockets_view(state: &mut HostState) -> <DeniedSockets as HasData>::Data<'_> {
    let (denials, table) = state.denials_and_table();
    DeniedSocketsView { denials, table }
}

fn random_view(state: &mut HostState) -> <BoundedRandom as HasData>::Data<'_> {
    let max = state.random_max;
    BoundedRandomView { inner: state.random(), max }
}
