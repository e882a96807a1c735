//! Arguments that passed their tool's check, with the text and hash that stand for them.
//!
//! Checks nothing itself: whoever makes one vouches for the value.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};

use super::canonical;
use crate::contract::ids::Digest;

/// No arguments, as canonical JSON.
const EMPTY: &str = "{}";

/// What gate, prompt, audit and plugin all see. The three parts can't disagree: text and hash are
/// made from the value, also where one is read from JSON (as the plain arguments object).
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(from = "Map<String, Value>")]
pub struct CheckedArguments {
    value: Map<String, Value>,
    canonical: String,
    hash: Digest,
}

impl CheckedArguments {
    /// Takes arguments that have been checked.
    pub fn new(value: Map<String, Value>) -> Self {
        // Many tools take none, and these are hashed once.
        static NONE: LazyLock<Digest> = LazyLock::new(|| Digest::of(EMPTY.as_bytes()));
        if value.is_empty() {
            return Self { value, canonical: EMPTY.to_owned(), hash: *NONE };
        }
        let canonical = canonical::object_to_string(&value);
        let hash = Digest::of(canonical.as_bytes());
        Self { value, canonical, hash }
    }

    /// The arguments, by the names of the tool's schema.
    pub fn value(&self) -> &Map<String, Value> {
        &self.value
    }

    /// Their canonical JSON.
    pub fn canonical(&self) -> &str {
        &self.canonical
    }

    /// The SHA-256 of the canonical JSON.
    pub fn hash(&self) -> Digest {
        self.hash
    }
}

impl From<Map<String, Value>> for CheckedArguments {
    fn from(value: Map<String, Value>) -> Self {
        Self::new(value)
    }
}

impl Serialize for CheckedArguments {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value.serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(json: &str) -> CheckedArguments {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn the_hash_is_of_the_canonical_text() {
        let arguments = checked(r#"{ "b": 5.0, "a": [] }"#);
        assert_eq!(arguments.canonical(), r#"{"a":[],"b":5}"#);
        assert_eq!(arguments.hash(), Digest::of(br#"{"a":[],"b":5}"#));
    }

    #[test]
    fn no_arguments_have_the_hash_of_an_empty_object() {
        assert_eq!(
            CheckedArguments::new(Map::new()).hash().to_string(),
            "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
        );
    }

    #[test]
    fn json_holds_the_arguments_and_text_and_hash_are_made_again() {
        let arguments = checked(r#"{"b":1,"a":"x"}"#);
        let json = serde_json::to_string(&arguments).unwrap();
        assert_eq!(json, r#"{"b":1,"a":"x"}"#);
        assert_eq!(checked(&json), arguments);
    }
}
