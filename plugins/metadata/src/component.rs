//! Walks the sections of a component without trusting or validating what is in them.
//!
//! Knows where a section is and what its bytes are, nothing of what they mean.

use thiserror::Error;
use wasmparser::{ComponentExport, ComponentExternalKind, Encoding, Parser, Payload};

use crate::limits;

/// Why bytes are not a component whose sections can be walked.
#[derive(Debug, Error)]
pub enum ComponentError {
    /// No WebAssembly header.
    #[error("not WebAssembly: expected a binary component, which starts with `\\0asm`")]
    NotWasm,
    /// WebAssembly, but the other kind.
    #[error(
        "a core module, expected a component: build for `wasm32-wasip2`, or make one of it with \
         `wasm-tools component new`"
    )]
    CoreModule,
    /// A component inside a component inside …
    #[error("components nested deeper than {} levels", limits::COMPONENT_DEPTH)]
    TooDeep,
    /// Truncated or damaged.
    #[error("a damaged component at byte {offset}: {reason}")]
    Malformed {
        /// Where in the bytes.
        offset: usize,
        /// What the parser expected.
        reason: String,
    },
}

/// The names that a component itself exports: interfaces and bare functions.
///
/// # Errors
/// Bytes that are no component, or damaged.
pub fn export_names(wasm: &[u8]) -> Result<Vec<String>, ComponentError> {
    exports(wasm, |_| true)
}

/// The names of the instances that a component itself exports: its interfaces, also those that have
/// types alone.
///
/// # Errors
/// Bytes that are no component, or damaged.
pub fn instance_names(wasm: &[u8]) -> Result<Vec<String>, ComponentError> {
    exports(wasm, |export| export.kind == ComponentExternalKind::Instance)
}

fn exports(
    wasm: &[u8],
    is_wanted: impl Fn(&ComponentExport<'_>) -> bool,
) -> Result<Vec<String>, ComponentError> {
    each_section(wasm, |_| {})?;
    let mut names = Vec::new();
    let mut depth = 0_usize;
    for payload in Parser::new(0).parse_all(wasm) {
        match payload.map_err(malformed)? {
            Payload::Version { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::ComponentExportSection(exports) if depth == 1 => {
                for export in exports {
                    let export = export.map_err(malformed)?;
                    if is_wanted(&export) {
                        names.push(export.name.name.to_owned());
                    }
                }
            }
            _ => {}
        }
    }
    Ok(names)
}

/// One section that the walk meets.
pub(crate) struct Section<'a> {
    /// 0 for the component itself, more inside nested components and modules.
    pub(crate) depth: usize,
    /// The section with its header, only where `depth` is 0.
    #[cfg_attr(not(feature = "pack"), expect(dead_code, reason = "only packing copies sections"))]
    pub(crate) bytes: &'a [u8],
    /// Name and content, where it is a custom section.
    pub(crate) custom: Option<(&'a str, &'a [u8])>,
}

/// The header that every component starts with: magic, version 13, layer 1.
pub(crate) const HEADER_BYTES: usize = 8;

/// Calls `visit` for each section of the component and of all that is nested in it, in file order.
pub(crate) fn each_section<'a>(
    wasm: &'a [u8],
    mut visit: impl FnMut(Section<'a>),
) -> Result<(), ComponentError> {
    if !wasm.starts_with(b"\0asm") {
        return Err(ComponentError::NotWasm);
    }
    let mut depth = 0_usize;
    let mut end_of_last = HEADER_BYTES;
    for payload in Parser::new(0).parse_all(wasm) {
        let payload = payload.map_err(malformed)?;
        if let Payload::Version { encoding: Encoding::Module, .. } = payload
            && depth == 0
        {
            return Err(ComponentError::CoreModule);
        }
        if let Some((_, range)) = payload.as_section() {
            let bytes = match depth {
                0 => wasm.get(end_of_last..range.end).unwrap_or_default(),
                _ => &[],
            };
            if depth == 0 {
                end_of_last = range.end;
            }
            let custom = match &payload {
                Payload::CustomSection(reader) => Some((reader.name(), reader.data())),
                _ => None,
            };
            visit(Section { depth, bytes, custom });
        }
        match payload {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > limits::COMPONENT_DEPTH {
            return Err(ComponentError::TooDeep);
        }
    }
    Ok(())
}

#[expect(clippy::needless_pass_by_value, reason = "the shape that map_err wants")]
fn malformed(error: wasmparser::Error) -> ComponentError {
    ComponentError::Malformed { offset: error.offset(), reason: error.message().to_owned() }
}
