//! The two-way map between the names a provider takes and the ids of tools.
//!
//! Must not depend on the order of the tools: a name is made from its tool alone.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use super::format::Format;
use crate::contract::descriptor::ToolDescriptor;
use crate::contract::ids::{Digest, ToolId};

/// Longest name that each provider takes (OpenAI: 64; Anthropic and Gemini write 128, and gateways
/// before them 64).
const NAME_MAX_LEN: usize = 64;
/// Hex digits of the hash that keeps made names apart.
const HASH_LEN: usize = 12;

/// Names of exported tools, each with its tool. Serialises as an object from name to id.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names {
    by_name: BTreeMap<String, ToolId>,
    by_id: BTreeMap<ToolId, String>,
}

impl Names {
    /// The tool that a provider knows by this name, exactly.
    pub fn tool(&self, name: &str) -> Option<&ToolId> {
        self.by_name.get(name)
    }

    /// The name a provider knows this tool by.
    pub fn name(&self, tool: &ToolId) -> Option<&str> {
        self.by_id.get(tool).map(String::as_str)
    }

    /// Every name with its tool, in the order of the names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &ToolId)> {
        self.by_name.iter().map(|(name, tool)| (name.as_str(), tool))
    }

    /// Takes a name for a tool; `Err` is the tool that has it already.
    pub(super) fn take(&mut self, name: String, tool: &ToolId) -> Result<(), ToolId> {
        if let Some(other) = self.by_name.get(&name) {
            return Err(other.clone());
        }
        if self.by_id.contains_key(tool) {
            return Err(tool.clone());
        }
        self.by_id.insert(tool.clone(), name.clone());
        self.by_name.insert(name, tool.clone());
        Ok(())
    }
}

impl Serialize for Names {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(&self.by_name)
    }
}

/// The name of a tool for a provider: its wire name where the provider takes it, else a readable
/// beginning and a hash of it (T41).
pub(super) fn safe_name(format: Format, tool: &ToolDescriptor) -> String {
    let wire = tool.wire_name.as_str();
    if is_safe(format, wire) {
        return wire.to_owned();
    }
    let hash = Digest::of(wire.as_bytes()).to_string();
    let hash = hash.get(..HASH_LEN).unwrap_or(&hash);
    let taken = |c: char| if is_taken(c) { c } else { '_' };
    let mut name: String = wire.chars().map(taken).take(NAME_MAX_LEN - HASH_LEN - 2).collect();
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        name.insert(0, '_');
    }
    format!("{name}_{hash}")
}

fn is_taken(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

fn is_safe(format: Format, name: &str) -> bool {
    // Gemini's `FunctionDeclaration.name`: a letter or an underscore first.
    let begins = |c: char| c.is_ascii_alphabetic() || c == '_';
    !name.is_empty()
        && name.len() <= NAME_MAX_LEN
        && name.chars().all(is_taken)
        && (format != Format::Gemini || name.starts_with(begins))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::contract::descriptor::example;
    use crate::contract::effects::Effect;

    fn tool(wire: &str) -> ToolDescriptor {
        ToolDescriptor { wire_name: wire.to_owned(), ..example("a.b", Effect::proven(true)) }
    }

    #[test]
    fn t41_names_that_every_provider_takes_stay() {
        for format in Format::ALL {
            for name in ["files_read-all", "A", &"x".repeat(64)] {
                assert_eq!(safe_name(format, &tool(name)), name);
            }
        }
        assert_eq!(safe_name(Format::OpenaiChat, &tool("1st")), "1st");
    }

    #[test]
    fn t41_other_names_are_made_safe_and_stay_apart() {
        let long = "x".repeat(65);
        let names = ["a.b", "a_b.", "a b", "naïve", "数据", "", "🦀", &long, &format!("{long}y")];
        for format in Format::ALL {
            let made: Vec<String> = names.iter().map(|it| safe_name(format, &tool(it))).collect();
            for name in &made {
                assert!(is_safe(format, name) && is_safe(Format::Gemini, name), "{name}");
            }
            assert_eq!(made.iter().collect::<BTreeSet<_>>().len(), names.len(), "{made:?}");
        }
        let name = safe_name(Format::Gemini, &tool("1st"));
        assert!(name.starts_with("_1st_") && is_safe(Format::Gemini, &name), "{name}");
        assert!(safe_name(Format::Anthropic, &tool("a.b")).starts_with("a_b_"));
    }

    #[test]
    fn t41_names_read_back_and_are_taken_once() {
        let mut names = Names::default();
        let (one, two): (ToolId, ToolId) = ("a.b".parse().unwrap(), "a.c".parse().unwrap());
        names.take("a_b".into(), &one).unwrap();
        assert_eq!(names.tool("a_b"), Some(&one));
        assert_eq!(names.name(&one), Some("a_b"));
        assert_eq!(names.take("a_b".into(), &two), Err(one.clone()));
        assert_eq!(names.take("other".into(), &one), Err(one));
        assert_eq!((names.tool("a.b"), names.name(&two)), (None, None));
        assert_eq!(serde_json::to_string(&names).unwrap(), r#"{"a_b":"a.b"}"#);
    }
}
