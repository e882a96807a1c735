//! Whose answer a line is that can't be read whole.
//!
//! Reads the beginning alone and believes nothing but the id.

use std::cell::RefCell;
use std::fmt;

use rmcp::model::RequestId;
use serde::de::{DeserializeSeed, Deserializer as _, IgnoredAny, MapAccess, Visitor};

/// How much of a line is looked at, in bytes.
const HEAD_MAX: usize = 4 << 10;

/// The id of the request that a line answers, where it stands before the answer itself.
pub(super) fn id_in_head(line: &[u8]) -> Option<RequestId> {
    let head = line.get(..line.len().min(HEAD_MAX)).unwrap_or_default();
    let found = RefCell::new(None);
    let mut json = serde_json::Deserializer::from_slice(head);
    // Ends in an error where the head is cut; what was found until then stands.
    let _ended = json.deserialize_map(Head(&found));
    found.into_inner()
}

struct Head<'a>(&'a RefCell<Option<RequestId>>);

impl<'de> Visitor<'de> for Head<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a message")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key_seed(Word)? {
            match key.as_str() {
                "id" => *self.0.borrow_mut() = map.next_value::<Option<RequestId>>()?,
                // A request of the server has an id of its own, which is none of ours.
                "method" => {
                    *self.0.borrow_mut() = None;
                    return Ok(());
                }
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

struct Word;

impl<'de> DeserializeSeed<'de> for Word {
    type Value = String;

    fn deserialize<D: serde::Deserializer<'de>>(self, from: D) -> Result<String, D::Error> {
        serde::Deserialize::deserialize(from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(line: &str) -> Option<RequestId> {
        id_in_head(line.as_bytes())
    }

    #[test]
    fn an_id_is_found_before_the_answer_and_in_a_whole_line() {
        let long = format!(r#"{{"jsonrpc":"2.0","id":7,"result":"{}"#, "x".repeat(10_000));
        assert_eq!(id(&long), Some(RequestId::Number(7)));
        assert_eq!(
            id(r#"{"result":{"a":[1]},"id":7,"jsonrpc":"2.0"}"#),
            Some(RequestId::Number(7))
        );
        assert_eq!(id(r#"{"jsonrpc":"2.0","id":7,"garbage":"#), Some(RequestId::Number(7)));
    }

    #[test]
    fn what_answers_nothing_has_no_id() {
        let late = format!(r#"{{"result":"{}","id":7}}"#, "x".repeat(10_000));
        let asks = r#"{"id":7,"method":"roots/list"}"#;
        for line in [late.as_str(), asks, "", "[", "null", "{\"id\":null}", "\u{1}", "{\"id\":{}}"]
        {
            assert_eq!(id(line), None, "{line:.40}");
        }
    }
}
