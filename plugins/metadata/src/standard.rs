//! The standard sections of a component that other tools show: its name, and texts named after the
//! OCI annotations.
//!
//! Knows their form, not where in the component they go.

use wasm_encoder::ComponentNameSection;
use wasmparser::BinaryReader;

use crate::finding::{Findings, quoted};
use crate::model::PluginMetadata;

/// The section with the component's own name and the names of what is in it.
pub(crate) const NAME_SECTION: &str = "component-name";

/// Name and text of each standard section that the metadata has something for.
pub(crate) fn texts(metadata: &PluginMetadata) -> Vec<(&'static str, String)> {
    let authors = (!metadata.authors.is_empty()).then(|| metadata.authors.join(", "));
    [
        ("version", metadata.version.clone()),
        ("description", metadata.description.clone()),
        ("authors", authors),
        ("licenses", metadata.license.clone()),
        ("homepage", metadata.homepage.clone()),
        ("source", metadata.source.clone()),
        ("revision", metadata.revision.clone()),
    ]
    .into_iter()
    .filter_map(|(name, text)| Some((name, text?)))
    .collect()
}

/// Reports what other readers would refuse the whole file for.
pub(crate) fn check(metadata: &PluginMetadata, findings: &mut Findings) {
    if let Some(license) = &metadata.license
        && let Err(error) = spdx::Expression::parse(license)
    {
        let (found, reason) = (quoted(license), error.reason);
        let message = format!("expected an SPDX expression such as `MIT`, found {found}: {reason}");
        findings.add("license", message);
    }
    for (path, url) in [("homepage", &metadata.homepage), ("source", &metadata.source)] {
        if let Some(Err(error)) = url.as_deref().map(url::Url::parse) {
            findings.add(path, format!("expected an http or https URL: {error}"));
        }
    }
}

/// The content of a name section with the component named `name`; what the old sections name
/// inside the component stays.
pub(crate) fn name_section(name: &str, old: &[&[u8]]) -> Vec<u8> {
    let mut own = ComponentNameSection::new();
    own.component(name);
    let mut content = own.as_custom().data.into_owned();
    for section in old {
        content.extend_from_slice(&inner_names(section));
    }
    content
}

/// The subsections that don't name the component itself. Names are an aid for people who debug: a
/// damaged rest can't be read by anyone and is left out.
fn inner_names(section: &[u8]) -> Vec<u8> {
    let mut kept = Vec::new();
    let mut reader = BinaryReader::new(section, 0);
    while !reader.eof() {
        let start = reader.original_position();
        let Ok(id) = reader.read_u8() else { break };
        let Ok(length) = reader.read_var_u32() else {
            break;
        };
        if reader.read_bytes(length as usize).is_err() {
            break;
        }
        if id != COMPONENT_SUBSECTION {
            let whole = section.get(start..reader.original_position());
            kept.extend_from_slice(whole.unwrap_or_default());
        }
    }
    kept
}

/// Component model binary format, name section: subsection 0 is the component's name.
const COMPONENT_SUBSECTION: u8 = 0;
