//! Writes what a plugin says of itself into its component.
//!
//! Replaces what an earlier run wrote, so that packing again changes nothing. Everything else is
//! copied byte for byte. Must not read WIT or decide what the words are.

use serde_json::{Map, Value};
use thiserror::Error;
use wasm_encoder::{CustomSection, Section as _};

use crate::component::{ComponentError, each_section};
use crate::finding::{Finding, Findings};
use crate::limits;
use crate::model::{FORMAT, PluginMetadata};
use crate::review::review;
use crate::section::SECTION_NAME;
use crate::standard;

/// Why a component was not packed.
#[derive(Debug, Error)]
pub enum PackError {
    /// The bytes are not a component.
    #[error(transparent)]
    Component(#[from] ComponentError),
    /// The words break rules.
    #[error("the plugin's words are refused: {}", list(findings))]
    Refused {
        /// Each rule that is broken, at least one.
        findings: Vec<Finding>,
    },
    /// The words are too many.
    #[error("the section takes {bytes} bytes, expected at most {}", limits::SECTION_BYTES)]
    TooLarge {
        /// The size of the section's JSON.
        bytes: usize,
    },
    /// The words can't be written as JSON.
    #[error("the plugin's words can't be written as JSON")]
    Json(#[from] serde_json::Error),
}

fn list(findings: &[Finding]) -> String {
    findings.iter().map(Finding::to_string).collect::<Vec<_>>().join("; ")
}

/// Returns the component with `metadata` in its `belljar:plugin` section and in the standard
/// sections (component name, version, description, authors, licenses, homepage, source, revision).
///
/// A standard section that `metadata` says nothing of stays as it is. The same component and
/// metadata always give the same bytes, and a packed component packed again is unchanged.
pub fn pack(wasm: &[u8], metadata: &PluginMetadata) -> Result<Vec<u8>, PackError> {
    let content = encode(metadata)?;
    let standard = standard::texts(metadata);
    let replaced = |name: &str| {
        name == SECTION_NAME
            || standard.iter().any(|(known, _)| *known == name)
            || (name == standard::NAME_SECTION && metadata.name.is_some())
    };
    let mut packed = wasm_encoder::Component::HEADER.to_vec();
    let mut old_names = Vec::new();
    each_section(wasm, |section| match section.custom {
        _ if section.depth > 0 => {}
        Some((name, bytes)) if replaced(name) => {
            if name == standard::NAME_SECTION {
                old_names.push(bytes);
            }
        }
        _ => packed.extend_from_slice(section.bytes),
    })?;
    if let Some(name) = &metadata.name {
        append(&mut packed, standard::NAME_SECTION, &standard::name_section(name, &old_names));
    }
    for (name, text) in &standard {
        append(&mut packed, name, text.as_bytes());
    }
    append(&mut packed, SECTION_NAME, &content);
    Ok(packed)
}

fn append(wasm: &mut Vec<u8>, name: &str, content: &[u8]) {
    CustomSection { name: name.into(), data: content.into() }.append_to(wasm);
}

/// The section's content, after every rule that a reader applies.
fn encode(metadata: &PluginMetadata) -> Result<Vec<u8>, PackError> {
    let mut findings = Findings::default();
    review(&mut metadata.clone(), &mut findings);
    standard::check(metadata, &mut findings);
    let findings = findings.into_vec();
    if !findings.is_empty() {
        return Err(PackError::Refused { findings });
    }
    let mut value = serde_json::to_value(metadata)?;
    if let Value::Object(object) = &mut value {
        object.insert("format".to_owned(), FORMAT.into());
    }
    let content = serde_json::to_vec(&sorted(value))?;
    if content.len() > limits::SECTION_BYTES {
        return Err(PackError::TooLarge { bytes: content.len() });
    }
    Ok(content)
}

/// Sorts keys at every level: whether `serde_json` keeps their order depends on what other crates
/// in a build ask of it, and the bytes must not.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(object) => {
            let mut entries: Vec<_> = object.into_iter().map(|(k, v)| (k, sorted(v))).collect();
            entries.sort_by(|(a, _), (b, _)| a.cmp(b));
            Value::Object(Map::from_iter(entries))
        }
        Value::Array(list) => list.into_iter().map(sorted).collect(),
        other => other,
    }
}

#[cfg(test)]
mod tests;
