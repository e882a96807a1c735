//! Reads the `belljar:plugin` custom section of a component.
//!
//! Only one top-level section counts; what else bears the name is reported. Must not run, validate
//! or compile the component, and must not panic on any bytes.

use crate::component::{ComponentError, HEADER_BYTES, each_section};
use crate::decode::decode;
use crate::finding::{Finding, Findings};
use crate::limits;
use crate::model::PluginMetadata;
use crate::review::review;

/// The section's name.
pub const SECTION_NAME: &str = "belljar:plugin";

/// What a component says of itself.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reading {
    /// The plugin's words. `None` when there is no section, or none that can be trusted to be the
    /// author's: the plugin works all the same, without words.
    pub metadata: Option<PluginMetadata>,
    /// What is wrong with them; none of it stops the plugin.
    pub findings: Vec<Finding>,
}

/// Reads what a component says of itself.
///
/// Paths of functions are handed over as they stand: whether the component exports them is for the
/// caller to find out.
///
/// # Errors
/// Only where the bytes are not a component, or are damaged.
pub fn read(wasm: &[u8]) -> Result<Reading, ComponentError> {
    let mut content = None;
    let (mut top_level, mut nested) = (0_usize, 0_usize);
    each_section(wasm, |section| match section.custom {
        Some((SECTION_NAME, bytes)) if section.depth == 0 => {
            top_level += 1;
            content = Some(bytes);
        }
        Some((SECTION_NAME, _)) => nested += 1,
        _ => {}
    })?;
    let mut findings = Findings::default();
    if nested > 0 {
        findings.add("", format!("{nested} nested `{SECTION_NAME}` sections are ignored"));
    }
    if top_level > 1 {
        // Two tools that each believe another one would see two different plugins.
        let message = format!(
            "{top_level} `{SECTION_NAME}` sections, expected one: none is trusted, pack again"
        );
        findings.add("", message);
        content = None;
    }
    let mut metadata = content.and_then(|content| decode(content, &mut findings));
    if let Some(plugin) = &mut metadata {
        review(plugin, &mut findings);
    }
    Ok(Reading { metadata, findings: findings.into_vec() })
}

/// A small component in which [`read`] finds the very same as in this one: for whoever keeps what a
/// component says and not the component. `None`: it can't be read, or says too much to be kept.
pub fn excerpt(wasm: &[u8]) -> Option<Vec<u8>> {
    let mut kept = wasm.get(..HEADER_BYTES)?.to_vec();
    let mut nested = 0_usize;
    each_section(wasm, |section| match section.custom {
        Some((SECTION_NAME, content)) if section.depth == 0 => {
            // More than two are as wrong as two, and are counted in words.
            if kept.len() <= EXCERPT_BYTES && content.len() <= EXCERPT_BYTES {
                kept.extend(custom(content));
            } else {
                kept.resize(EXCERPT_BYTES + 1, 0);
            }
        }
        Some((SECTION_NAME, _)) => nested += 1,
        _ => {}
    })
    .ok()?;
    if nested > 0 && nested <= EXCERPT_BYTES {
        let mut module = EMPTY_MODULE.to_vec();
        (0..nested).for_each(|_| module.extend(custom(&[])));
        kept.extend(section(CORE_MODULE, &module));
    }
    (kept.len() <= EXCERPT_BYTES && nested <= EXCERPT_BYTES).then_some(kept)
}

/// Bytes of an excerpt, at most: two sections that are as long as they may be, and a little.
const EXCERPT_BYTES: usize = 2 * limits::SECTION_BYTES + 1024;
/// Ids of sections in a component, and a module without any (WebAssembly core specification and
/// component model, binary formats).
const CUSTOM: u8 = 0;
const CORE_MODULE: u8 = 1;
const EMPTY_MODULE: &[u8] = b"\0asm\x01\0\0\0";

fn custom(content: &[u8]) -> Vec<u8> {
    let mut body = leb128(SECTION_NAME.len());
    body.extend_from_slice(SECTION_NAME.as_bytes());
    body.extend_from_slice(content);
    section(CUSTOM, &body)
}

fn section(id: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![id];
    bytes.extend(leb128(body.len()));
    bytes.extend_from_slice(body);
    bytes
}

/// Unsigned LEB128, the form of every length in WebAssembly.
fn leb128(mut value: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let low = u8::try_from(value & 0x7f).unwrap_or_default();
        value >>= 7;
        if value == 0 {
            bytes.push(low);
            return bytes;
        }
        bytes.push(low | 0x80);
    }
}

#[cfg(test)]
mod tests;
