//! What plugins and tools are called, and which names may not stand beside each other.

use std::collections::HashMap;

use sha2::Digest as _;

use crate::contract::ids::{PluginName, ToolId, ToolName};

/// Names that belong to the host.
pub const RESERVED_PLUGINS: &[&str] = &["belljar", "jobs", "mcp", "results"];
/// Longest name that OpenAI, Anthropic and MCP clients all take.
const WIRE_NAME_MAX_LEN: usize = 64;
/// Hex digits of the hash that keeps shortened names apart.
const HASH_LEN: usize = 12;
/// What is left of a shortened name before `_` and the hash.
const SHORTENED_LEN: usize = WIRE_NAME_MAX_LEN - HASH_LEN - 1;

/// Why a name can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// It belongs to the host, or looks as if it did.
    #[error(
        "the name `{0}` is reserved or looks so; give the plugin another with --plugin NAME=FILE"
    )]
    Reserved(PluginName),
    /// Nothing gives the plugin a usable name.
    #[error("`{0}` can't name a plugin; give it one with --plugin NAME=FILE")]
    NoName(String),
    /// Two plugins of one name.
    #[error("`{0}` is the name of two plugins; give one another with --plugin NAME=FILE")]
    Taken(PluginName),
    /// Two names that look the same.
    #[error(
        "the plugin names `{0}` and `{1}` look alike; give one another with --plugin NAME=FILE"
    )]
    Confusable(PluginName, PluginName),
    /// Two tools that models could not tell apart.
    #[error("`{0}` and `{1}` would have the same wire name")]
    WireName(ToolId, ToolId),
    /// A tool that could be taken for one of a plugin that is still to come.
    #[error("`{0}` would have a wire name that is kept for `{1}`, which is still being compiled")]
    KeptWire(ToolId, PluginName),
}

/// The name models use: `<plugin>_<tool>`, which reads back since neither half holds `_`; past 64
/// characters a readable prefix and a hash of the id.
pub fn wire_name(id: &ToolId) -> String {
    let plain = format!("{}_{}", id.plugin, id.tool);
    if plain.len() <= WIRE_NAME_MAX_LEN {
        return plain;
    }
    let hash = sha2::Sha256::digest(id.to_string().as_bytes());
    let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).take(HASH_LEN / 2).collect();
    // Names are ASCII, so every byte is a boundary.
    let prefix: String = plain.chars().take(SHORTENED_LEN).collect();
    format!("{prefix}_{hash}")
}

/// A model that changes case or separators must not reach another tool.
fn folded_wire(wire: &str) -> String {
    wire.to_ascii_lowercase().replace('-', "_")
}

/// What names that a person would confuse have in common (UTS 39), separators and case folded: one
/// form by case (`FILES` is `files`), one by sight (`paypaI` is `paypal`), one with `1` for `i`
/// (`f1les` is `files`, though UTS 39 has `1` for `l` alone). Two names that share any look alike.
fn lookalike_forms(name: &str) -> [String; 3] {
    let folded: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    // Whether `I` is an `i` or an `l` depends on which of the two steps is first.
    let lower = folded.to_ascii_lowercase();
    [settled(&lower), settled(&folded), settled(&lower.replace('1', "i"))]
}

/// The skeleton in one case, twice: what the first round lowers (`0` became `O`) has a skeleton of
/// its own. A third round changes nothing more.
fn settled(name: &str) -> String {
    let round = |text: &str| unicode_security::skeleton(text).collect::<String>().to_lowercase();
    round(&round(name))
}

/// The names in use.
#[derive(Debug, Default, Clone)]
pub struct Names {
    plugins: HashMap<String, PluginName>,
    wire: HashMap<String, ToolId>,
    kept: Vec<KeptWires>,
}

/// Wire names of a plugin whose tools aren't known yet.
#[derive(Debug, Clone)]
struct KeptWires {
    plugin: PluginName,
    /// What all of them begin with that are made by rule.
    beginning: String,
    given: Vec<String>,
}

impl Names {
    /// Takes a plugin's name.
    ///
    /// # Errors
    /// One that is reserved, taken, or looks like another.
    pub fn take_plugin(&mut self, name: &PluginName) -> Result<(), NameError> {
        let forms = lookalike_forms(name.as_str());
        if RESERVED_PLUGINS
            .iter()
            .any(|own| lookalike_forms(own).iter().any(|it| forms.contains(it)))
        {
            return Err(NameError::Reserved(name.clone()));
        }
        if let Some(other) = forms.iter().find_map(|form| self.plugins.get(form)) {
            return Err(if other == name {
                NameError::Taken(name.clone())
            } else {
                NameError::Confusable(other.clone(), name.clone())
            });
        }
        self.plugins.extend(forms.map(|form| (form, name.clone())));
        Ok(())
    }

    /// Takes a tool's wire name.
    ///
    /// # Errors
    /// One that another tool has, or that is kept, in any case and with any separator.
    pub fn take_wire(&mut self, wire: &str, id: &ToolId) -> Result<(), NameError> {
        let wire = folded_wire(wire);
        let kept =
            |kept: &&KeptWires| wire.starts_with(&kept.beginning) || kept.given.contains(&wire);
        if let Some(KeptWires { plugin, .. }) = self.kept.iter().find(kept) {
            return Err(NameError::KeptWire(id.clone(), plugin.clone()));
        }
        match self.wire.insert(wire, id.clone()) {
            None => Ok(()),
            Some(other) => Err(NameError::WireName(other, id.clone())),
        }
    }

    /// Keeps every wire name that a tool of this plugin may have: those that its own name begins,
    /// and those that the operator gives its tools.
    pub fn keep_wires(&mut self, plugin: &PluginName, given: &[String]) {
        let beginning: String = format!("{plugin}_").chars().take(SHORTENED_LEN).collect();
        self.kept.push(KeptWires {
            plugin: plugin.clone(),
            beginning: folded_wire(&beginning),
            given: given.iter().map(|wire| folded_wire(wire)).collect(),
        });
    }
}

/// A plugin's own name: its section's, else the WIT package of its one interface, else the file's.
/// Interfaces of WASI say what it can be run as, not what it is.
pub(super) fn plugin_name(
    section: Option<&str>,
    interfaces: &[&str],
    stem: &str,
) -> Result<PluginName, NameError> {
    let mut own = interfaces.iter().filter(|interface| !interface.starts_with("wasi:"));
    let from_package = match (own.next(), own.next()) {
        (Some(one), None) => one
            .split_once(':')
            .and_then(|(_namespace, rest)| rest.split_once('/'))
            .map(|(package, _interface)| package),
        _ => None,
    };
    let name = match section.or(from_package) {
        Some(name) => name.to_owned(),
        // cargo names a file after its library, with `_` for `-`.
        None => stem.replace(['_', '.', ' '], "-"),
    };
    name.parse()
        .map_err(|_error| NameError::NoName(crate::contract::escape::clipped_line(&name, 80)))
}

/// The tools' names, in the order of the functions given as (interface, function): a name that two
/// interfaces share becomes `<interface>-<function>` in both.
pub(super) fn tool_names(functions: &[(Option<&str>, &str)]) -> Vec<Option<ToolName>> {
    let mut uses: HashMap<&str, usize> = HashMap::new();
    for (_, function) in functions {
        *uses.entry(function).or_default() += 1;
    }
    let named: Vec<Option<String>> = functions
        .iter()
        .map(|(interface, function)| match interface {
            Some(interface) if uses.get(function).is_some_and(|uses| *uses > 1) => {
                Some(format!("{}-{function}", short_interface(interface)))
            }
            _ => Some((*function).to_owned()),
        })
        .collect();
    let mut seen: HashMap<String, usize> = HashMap::new();
    for name in named.iter().flatten() {
        *seen.entry(name.clone()).or_default() += 1;
    }
    named
        .into_iter()
        .map(|name| {
            name.filter(|name| seen.get(name) == Some(&1)).and_then(|name| name.parse().ok())
        })
        .collect()
}

/// `acme:weather/current@1.2.0` → `current`.
fn short_interface(interface: &str) -> &str {
    let unversioned = interface.split_once('@').map_or(interface, |(name, _)| name);
    unversioned.rsplit_once('/').map_or(unversioned, |(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> ToolId {
        text.parse().unwrap()
    }

    #[test]
    fn nm02_shortening_keeps_names_apart() {
        let long = "create-confluence-page-with-attachments-and-permissions-for-everybody";
        let (a, b) = (id(&format!("wiki.{long}-a")), id(&format!("wiki.{long}-b")));
        assert_ne!(wire_name(&a), wire_name(&b));
        assert_eq!(wire_name(&a), wire_name(&a));
        assert_eq!(wire_name(&a).len(), WIRE_NAME_MAX_LEN);
        assert_eq!(wire_name(&id("files.read-all")), "files_read-all");
    }

    #[test]
    fn nm05_wire_names_fit_every_client() {
        for text in ["files.read", "a.b", "HTTP.get-it"] {
            let wire = wire_name(&id(text));
            assert!(wire.starts_with(|c: char| c.is_ascii_alphabetic()));
            assert!(wire.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-'));
        }
    }

    #[test]
    fn sec10_lookalikes_are_refused_with_both_owners() {
        let mut names = Names::default();
        names.take_plugin(&"fs-read".parse().unwrap()).unwrap();
        for lookalike in ["fsread", "FS-READ", "f-s-read"] {
            let error = names.take_plugin(&lookalike.parse().unwrap()).unwrap_err().to_string();
            assert!(error.contains("`fs-read`") && error.contains(lookalike), "{error}");
        }
        for (first, second) in [
            ("paypal", "paypa1"),
            ("paypal", "paypaI"),
            ("paypaI", "PAYPAL"),
            ("codec", "c0dec"),
            ("c0dec", "CODEC"),
            ("files", "FILES"),
            ("files", "fi1es"),
            ("files", "f1les"),
            ("f1les", "FILES"),
            ("modern", "modem"),
        ] {
            let mut names = Names::default();
            names.take_plugin(&first.parse().unwrap()).unwrap();
            let error = names.take_plugin(&second.parse().unwrap()).unwrap_err();
            assert!(matches!(error, NameError::Confusable(..)), "{first} {second}: {error}");
        }
    }

    #[test]
    fn every_wire_name_that_a_plugin_may_have_can_be_kept_for_it() {
        let refused = |plugin: &str, other: &str, wire: &str| {
            let mut names = Names::default();
            names.keep_wires(&plugin.parse().unwrap(), &["Its-own".to_owned()]);
            let error = names.take_wire(wire, &id(other)).err();
            error.map(|error| matches!(error, NameError::KeptWire(..)))
        };
        assert_eq!(refused("a-b", "a.b-c", "a_b-c"), Some(true));
        assert_eq!(refused("A-b", "a.b-c", "a_b-c"), Some(true));
        assert_eq!(refused("a-b", "x.y", "its_OWN"), Some(true));
        assert_eq!(refused("a-b", "a.bc", "a_bc"), None);
        let long = "p".repeat(60);
        for tool in [id(&format!("{long}.get")), id(&format!("{long}.{long}"))] {
            assert_eq!(refused(&long, "x.y", &wire_name(&tool)), Some(true), "{tool}");
        }
    }

    #[test]
    fn a_lookalike_form_is_its_own() {
        for c in ('0'..='9').chain('A'..='Z').chain('a'..='z') {
            for form in lookalike_forms(&c.to_string()) {
                assert_eq!(lookalike_forms(&form), [form.clone(), form.clone(), form], "{c}");
            }
        }
    }

    #[test]
    fn names_that_nobody_confuses_stand_beside_each_other() {
        let mut names = Names::default();
        for name in ["codec", "files", "search", "paypal", "mail", "mall", "a1", "b2"] {
            names.take_plugin(&name.parse().unwrap()).unwrap();
        }
    }

    #[test]
    fn reserved_names_are_the_hosts() {
        for name in RESERVED_PLUGINS {
            let error = Names::default().take_plugin(&name.parse().unwrap()).unwrap_err();
            assert!(matches!(error, NameError::Reserved(_)));
        }
        for name in ["Belljar", "be11jar", "MCP", "j0bs", "re-sults"] {
            let error = Names::default().take_plugin(&name.parse().unwrap()).unwrap_err();
            assert!(matches!(error, NameError::Reserved(_)), "{name}: {error}");
        }
    }

    #[test]
    fn a_name_comes_from_the_section_then_the_package_then_the_file() {
        let name = |section, interfaces: &[&str]| {
            plugin_name(section, interfaces, "stem").unwrap().to_string()
        };
        assert_eq!(name(Some("said"), &["acme:weather/weather@1.2.0"]), "said");
        assert_eq!(name(None, &["acme:weather/weather@1.2.0"]), "weather");
        assert_eq!(name(None, &["wasi:cli/run@0.2.0"]), "stem");
        assert_eq!(name(None, &["wasi:cli/run@0.2.0", "acme:weather/x"]), "weather");
        assert_eq!(name(None, &["a:b/c", "a:d/e"]), "stem");
        let stem = |stem| plugin_name(None, &[], stem).map(|name| name.to_string());
        assert_eq!(stem("my_first plugin.v2").as_deref(), Ok("my-first-plugin-v2"));
        assert!(stem("1st").is_err() && stem("_x").is_err() && stem("naïve").is_err());
    }

    #[test]
    fn a_shared_function_name_takes_its_interface() {
        let names = tool_names(&[
            (Some("a:b/one@1.0.0"), "get"),
            (Some("a:b/two@1.0.0"), "get"),
            (Some("a:b/two@1.0.0"), "put"),
            (None, "bare"),
        ]);
        let shown: Vec<_> = names.iter().map(|name| name.as_ref().unwrap().as_str()).collect();
        assert_eq!(shown, ["one-get", "two-get", "put", "bare"]);
    }

    #[test]
    fn names_that_still_collide_are_nobodys() {
        let names = tool_names(&[(Some("a:b/x"), "get"), (Some("c:d/x"), "get"), (None, "ok")]);
        assert_eq!(names[0], None);
        assert_eq!(names[1], None);
        assert!(names[2].is_some());
    }
}
