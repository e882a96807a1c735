//! What a line of the person at the terminal means.
//!
//! Only reads text. Whatever isn't clearly a yes isn't one.

/// What is asked. Enter alone is a no.
pub(super) const QUESTION: &str = "run it? y yes, n no, ? more [n]: ";

/// Every answer.
pub(super) const HELP: &str = "  \
y           run this call
  n [REASON]  don't (Enter alone and the end of input do the same)
  s           run it, and what else this session calls of this tool
  a           run it, and every later call of this tool by this caller
  x           run it, and later calls with exactly these arguments
  e           run it with other arguments
  r           don't run it: give the answer in the tool's place
  c           cancel the call
  ?           this
What a and x let through, `belljar approvals remembered` lists and `revoke` takes back.";

/// One answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Key {
    Once,
    Deny(Option<String>),
    Session,
    AlwaysTool,
    AlwaysArguments,
    Edit,
    Answer,
    Cancel,
    Help,
}

/// Reads an answer; `None`: it is none.
pub(super) fn key(line: &str) -> Option<Key> {
    let line = line.trim();
    let (word, rest) = match line.split_once(char::is_whitespace) {
        Some((word, rest)) => (word, Some(rest.trim())),
        None => (line, None),
    };
    let key = match word.to_ascii_lowercase().as_str() {
        "" => return Some(Key::Deny(None)),
        "n" | "no" => return Some(Key::Deny(rest.map(str::to_owned))),
        "y" | "yes" => Key::Once,
        "s" => Key::Session,
        "a" => Key::AlwaysTool,
        "x" => Key::AlwaysArguments,
        "e" => Key::Edit,
        "r" => Key::Answer,
        "c" => Key::Cancel,
        "?" | "h" | "help" => Key::Help,
        _ => return None,
    };
    rest.is_none().then_some(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_line_is_a_no_and_only_a_clear_yes_is_one() {
        for line in ["", "  ", "\t", "n", "NO", " n "] {
            assert_eq!(key(line), Some(Key::Deny(None)), "{line:?}");
        }
        assert_eq!(key("n too  risky"), Some(Key::Deny(Some("too  risky".into()))));
        for line in ["y", "Y", "yes", " Yes "] {
            assert_eq!(key(line), Some(Key::Once), "{line:?}");
        }
        for line in ["yy", "y?", "y no", "yess", "ok", "1", "\u{443}", "y\u{200b}", "a n"] {
            assert_eq!(key(line), None, "{line:?}");
        }
    }

    #[test]
    fn every_key_of_the_help_is_one() {
        for line in HELP.lines().filter(|line| line.starts_with("  ")) {
            let shown = line.split_whitespace().next().unwrap();
            assert!(key(shown).is_some(), "{line}");
        }
    }
}
