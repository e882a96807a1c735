//! The words of an error: bounded, and with the grants that were missing.
//!
//! Knows nothing of why the call failed.

use crate::contract::escape;
use crate::contract::result::MissingGrant;

/// Longest message taken from a tool or a fault, in bytes; its `content` keeps the whole.
pub(super) const MESSAGE_MAX_LEN: usize = 4096;
/// How many missing grants a message lists before it only counts.
const LISTED_MAX: usize = 8;
/// Longest part of a grant's sentence that is a guest's or plugin's own text, in bytes.
const PART_MAX_LEN: usize = 200;

/// `message` as it is, or its beginning and how long it was.
pub(super) fn bounded(message: String) -> String {
    if message.len() <= MESSAGE_MAX_LEN {
        return message;
    }
    format!("{}… ({} bytes in all)", escape::cut(&message, MESSAGE_MAX_LEN), message.len())
}

/// `message` and a sentence for each missing grant; `None` where there is neither.
pub(super) fn with_grants(message: Option<String>, missing: &[MissingGrant]) -> Option<String> {
    let mut parts: Vec<String> = message.into_iter().map(bounded).collect();
    parts.extend(missing.iter().take(LISTED_MAX).map(sentence));
    let unlisted = missing.len().saturating_sub(LISTED_MAX);
    if unlisted > 0 {
        parts.push(format!("and {unlisted} more grants are missing"));
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}

fn sentence(missing: &MissingGrant) -> String {
    let part = |text: &str| escape::clipped_line(text, PART_MAX_LEN);
    let tried = part(&missing.tried);
    let why = missing.why.as_deref().map(|why| format!(" (the plugin says: \"{}\")", part(why)));
    let why = why.unwrap_or_default();
    match &missing.grant {
        Some(grant) => {
            let grant = part(grant);
            format!("the tool tried {tried}, which needs a grant{why}: give it with `{grant}`")
        }
        None => format!("the tool tried {tried}, which no grant gives{why}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn missing(tried: &str, grant: Option<&str>, why: Option<&str>) -> MissingGrant {
        MissingGrant {
            kind: "dir".into(),
            tried: tried.into(),
            grant: grant.map(Into::into),
            why: why.map(Into::into),
        }
    }

    #[test]
    fn each_missing_grant_is_a_sentence_with_what_gives_it() {
        let missing = [
            missing("to open `notes.txt`", Some("--dir ."), Some("reads notes")),
            missing("to make a TCP socket", None, None),
        ];
        assert_eq!(
            with_grants(Some("no such file".into()), &missing).unwrap(),
            "no such file; the tool tried to open `notes.txt`, which needs a grant (the plugin says: \
             \"reads notes\"): give it with `--dir .`; the tool tried to make a TCP socket, which \
             no grant gives"
        );
    }

    #[test]
    fn without_message_and_grants_there_are_no_words() {
        assert_eq!(with_grants(None, &[]), None);
        assert!(with_grants(None, &[missing("x", None, None)]).is_some());
    }

    #[test]
    fn many_long_hostile_grants_make_a_bounded_line() {
        let long = "\u{1b}[2J\n".repeat(10_000);
        let many = vec![missing(&long, Some(&long), Some(&long)); 1000];
        let message = with_grants(Some("x".repeat(1 << 20)), &many).unwrap();
        assert!(message.len() < MESSAGE_MAX_LEN + 20 * 500, "{}", message.len());
        assert!(message.ends_with("; and 992 more grants are missing"), "{message}");
        assert!(!message.contains(['\u{1b}', '\n']));
    }

    #[test]
    fn a_cut_message_says_how_long_it_was() {
        let message = bounded("é".repeat(MESSAGE_MAX_LEN));
        assert!(message.ends_with("é… (8192 bytes in all)"), "{message}");
        assert_eq!(bounded("x".repeat(MESSAGE_MAX_LEN)).len(), MESSAGE_MAX_LEN);
    }
}
