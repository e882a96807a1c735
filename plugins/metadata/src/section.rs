//! Reads the `belljar:plugin` custom section of a component.
//!
//! Only one top-level section counts; what else bears the name is reported. Must not run, validate
//! or compile the component, and must not panic on any bytes.

use crate::component::{ComponentError, each_section};
use crate::decode::decode;
use crate::finding::{Finding, Findings};
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

#[cfg(test)]
mod tests;
