//! What tools are and can do, in words for people.
//!
//! Text of plugins comes out bounded and in one line; the terminal's escaping is done in `show`.

use crate::contract::descriptor::ToolSource;
use crate::contract::effects::{Basis, Effect, Effects};
use crate::contract::escape::clipped_line;

/// Longest summary of a description, in bytes.
const SUMMARY_MAX_LEN: usize = 160;

/// The first sentence of a description. Docs are wrapped, so its first line would stop midway.
pub(super) fn summary(description: &str) -> String {
    let paragraph: Vec<&str> =
        description.trim().lines().map(str::trim).take_while(|line| !line.is_empty()).collect();
    let paragraph = paragraph.join(" ");
    let sentence = match paragraph.split_once(". ") {
        Some((sentence, _)) => sentence,
        None => paragraph.trim_end_matches('.'),
    };
    clipped_line(sentence, SUMMARY_MAX_LEN)
}

/// Where a plugin comes from.
pub(super) fn source(source: ToolSource) -> &'static str {
    match source {
        ToolSource::Builtin => "builtin",
        ToolSource::Plugin => "plugin",
        ToolSource::Mcp => "mcp",
    }
}

fn basis(basis: Basis) -> &'static str {
    match basis {
        Basis::Proven => "proven",
        Basis::Claimed => "claimed",
        Basis::Assumed => "assumed",
    }
}

/// Every effect in one line, each with how it is known; what follows from another is left out.
pub(super) fn effects(effects: &Effects) -> String {
    let Effects { read_only, cannot_write_files, closed_world, deterministic, .. } = effects;
    let mut parts = vec![(read_only, choose(read_only, "read-only", "may change things"))];
    if !read_only.value {
        parts.push((
            cannot_write_files,
            choose(cannot_write_files, "writes no files", "may write files"),
        ));
        let destructive = &effects.destructive;
        parts.push((destructive, choose(destructive, "may destroy", "destroys nothing")));
        let idempotent = &effects.idempotent;
        parts.push((idempotent, choose(idempotent, "may be repeated", "may not be repeated")));
    }
    parts.push((closed_world, choose(closed_world, "reaches nobody", "may reach others")));
    parts.push((
        deterministic,
        choose(deterministic, "same answer every time", "answers may differ"),
    ));
    let parts: Vec<String> = parts
        .into_iter()
        .map(|(effect, words)| format!("{words} ({})", basis(effect.basis)))
        .collect();
    parts.join(", ")
}

fn choose(effect: &Effect, holds: &'static str, fails: &'static str) -> &'static str {
    if effect.value { holds } else { fails }
}

/// Each effect by its name in the descriptor, for the long view.
pub(super) fn effect_rows(effects: &Effects) -> Vec<String> {
    let rows = [
        ("read-only", effects.read_only),
        ("cannot write files", effects.cannot_write_files),
        ("closed world", effects.closed_world),
        ("deterministic", effects.deterministic),
        ("destructive", effects.destructive),
        ("idempotent", effects.idempotent),
    ];
    let row = |(name, effect): (&str, Effect)| {
        let value = if effect.value { "yes" } else { "no" };
        format!("{name:<19}{value:<4}{}", basis(effect.basis))
    };
    rows.into_iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_is_one_whole_sentence() {
        let cases = [
            ("Reads a file.", "Reads a file"),
            ("Reads a file\nor a part. More.\n\nAnd more.", "Reads a file or a part"),
            ("Uses v1.2 of it.\n\nMore", "Uses v1.2 of it"),
            ("\n\n", ""),
            ("a\u{1b}[2J", "a<U+001B>[2J"),
        ];
        for (description, expected) in cases {
            assert_eq!(summary(description), expected);
        }
        assert!(summary(&"x".repeat(1000)).len() <= SUMMARY_MAX_LEN);
    }

    #[test]
    fn every_word_about_an_effect_says_how_it_is_known() {
        let writer = Effects {
            read_only: Effect::assumed(false),
            cannot_write_files: Effect::assumed(false),
            closed_world: Effect::proven(true),
            deterministic: Effect::assumed(false),
            destructive: Effect::claimed(true),
            idempotent: Effect::claimed(true),
        };
        assert_eq!(
            effects(&writer),
            "may change things (assumed), may write files (assumed), may destroy (claimed), may be \
             repeated (claimed), reaches nobody (proven), answers may differ (assumed)"
        );
        let reader = Effects {
            read_only: Effect::proven(true),
            destructive: Effect::proven(false),
            ..writer
        };
        assert_eq!(
            effects(&reader),
            "read-only (proven), reaches nobody (proven), answers may differ (assumed)"
        );
    }
}
