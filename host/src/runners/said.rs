//! What tools from elsewhere say of themselves, read in one way whoever says it.
//!
//! Nothing of it is proven. Knows neither clients nor MCP servers.

use crate::contract::client::Annotations;
use crate::contract::effects::{Effect, Effects};
use crate::contract::ids::ToolName;

/// Most bytes of a description.
pub(super) const DESCRIPTION_MAX_LEN: usize = 16 << 10;
/// Most bytes of a title, of a version, and of the name that an MCP server has for a tool.
pub(super) const TITLE_MAX_LEN: usize = 256;
/// Most bytes of a name before it is folded.
const NAME_MAX_LEN: usize = 512;
/// What parts the words of a name.
const SEPARATORS: &str = "_-./: ";

/// The name as an id has it: words of ASCII letters and digits with single hyphens between.
///
/// # Errors
/// What the name has to be, as a fragment.
pub(super) fn tool_name(said: &str) -> Result<ToolName, String> {
    let why = || {
        "its name has to be of ASCII letters and digits, words parted by `-`, `_`, `.`, `/`, `:` \
         or a space, and to begin with a letter"
            .to_owned()
    };
    let separates = |c: char| SEPARATORS.contains(c);
    if said.len() > NAME_MAX_LEN {
        return Err(format!("its name has more than {NAME_MAX_LEN} bytes"));
    }
    if !said.chars().all(|c| c.is_ascii_alphanumeric() || separates(c)) {
        return Err(why());
    }
    let words: Vec<_> = said.split(separates).filter(|word| !word.is_empty()).collect();
    words.join("-").parse().map_err(|_error| why())
}

/// Whether a text fits.
///
/// # Errors
/// How long it is and how long it may be, as a fragment.
pub(super) fn fits(what: &str, text: &str, max: usize) -> Result<(), String> {
    match text.len() {
        len if len > max => Err(format!("its {what} has {len} bytes; at most {max} are taken")),
        _ => Ok(()),
    }
}

/// The effects that annotations claim. MCP's own defaults are the cautious ones: what isn't said is
/// assumed. What only reads changes nothing, so it is held to claim the rest of that too.
pub(super) fn effects(said: &Annotations) -> Effects {
    let hint = |said: Option<bool>, holds: bool, cautious: bool| match said {
        Some(said) => Effect::claimed(said == holds),
        None => Effect::assumed(cautious),
    };
    let reads = said.read_only_hint == Some(true);
    let where_it_reads = |value: bool, otherwise: Effect| match reads {
        true => Effect::claimed(value),
        false => otherwise,
    };
    Effects {
        read_only: hint(said.read_only_hint, true, false),
        cannot_write_files: where_it_reads(true, Effect::assumed(false)),
        closed_world: hint(said.open_world_hint, false, false),
        deterministic: Effect::assumed(false),
        destructive: where_it_reads(false, hint(said.destructive_hint, true, true)),
        idempotent: where_it_reads(true, hint(said.idempotent_hint, true, false)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fold_in_one_way() {
        for (said, folded) in [
            ("echo", Some("echo")),
            ("run_shell", Some("run-shell")),
            ("kinds_of.things", Some("kinds-of-things")),
            ("ns/tool: it", Some("ns-tool-it")),
            ("__a--b..c__", Some("a-b-c")),
            ("Get-It", Some("Get-It")),
            ("2x", None),
            ("", None),
            ("___", None),
            ("na\u{ef}ve", None),
            ("a\u{202e}b", None),
            ("a\nb", None),
        ] {
            let found = tool_name(said).ok();
            assert_eq!(found.as_ref().map(ToolName::as_str), folded, "{said:?}");
        }
        let separated = |n: usize| format!("a{}b", "_".repeat(n));
        assert!(tool_name(&separated(NAME_MAX_LEN - 2)).is_ok());
        assert!(tool_name(&separated(NAME_MAX_LEN - 1)).unwrap_err().contains("512 bytes"));
    }

    #[test]
    fn a_text_fits_up_to_its_bound() {
        assert!(fits("title", &"x".repeat(TITLE_MAX_LEN), TITLE_MAX_LEN).is_ok());
        assert_eq!(
            fits("title", &"x".repeat(TITLE_MAX_LEN + 1), TITLE_MAX_LEN).unwrap_err(),
            "its title has 257 bytes; at most 256 are taken"
        );
    }

    /// Read-only, destructive, idempotent, open world; then what is made of it: read-only, no files
    /// written, closed world, destructive, idempotent. A capital is a claim.
    #[test]
    fn a15_claims_become_effects_in_one_way_and_none_is_proven() {
        let hint = |word: char| match word {
            'y' => Some(true),
            'n' => Some(false),
            _ => None,
        };
        let told = |effect: Effect| match (effect.value, effect == Effect::claimed(effect.value)) {
            (true, true) => 'Y',
            (false, true) => 'N',
            (true, false) => 'y',
            (false, false) => 'n',
        };
        for (said, made) in [
            ("----", "nnnyn"),
            ("y---", "YYnNY"),
            // What only reads isn't destructive, whatever else is said.
            ("yynn", "YYYNY"),
            ("n---", "Nnnyn"),
            ("nnyn", "NnYNY"),
            ("nyny", "NnNYN"),
            ("--y-", "nnnyY"),
        ] {
            let hints: Vec<_> = said.chars().map(hint).collect();
            let effects = effects(&Annotations {
                read_only_hint: hints[0],
                destructive_hint: hints[1],
                idempotent_hint: hints[2],
                open_world_hint: hints[3],
            });
            let found: String = [
                effects.read_only,
                effects.cannot_write_files,
                effects.closed_world,
                effects.destructive,
                effects.idempotent,
            ]
            .map(told)
            .iter()
            .collect();
            assert_eq!(found, made, "{said}");
            assert_eq!(effects.deterministic, Effect::assumed(false));
            assert!(!serde_json::to_string(&effects).unwrap().contains("proven"));
        }
    }
}
