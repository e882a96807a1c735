//! The visitor that builds the value of arguments: counts depth, refuses a repeated key.
//!
//! Says only which rule was broken and where in the value; `parse` finds the words.

use std::fmt;

use serde::de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::map::Entry;
use serde_json::{Map, Number, Value};

use crate::contract::escape;

/// Longest path an error shows, in bytes.
pub(super) const PATH_MAX_LEN: usize = 400;

/// Largest double below which every integer is a double (2⁵³): up to here an integral double says
/// which integer was meant.
const EXACT_MAX: f64 = 9_007_199_254_740_992.0;

/// Which rule an error stands for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Fault {
    /// One of JSON's own.
    Syntax,
    /// The bound of depth.
    TooDeep,
    /// Each key once.
    DuplicateKey,
}

/// The state of one reading. The path is put together only while an error unwinds, from the inside
/// out, so that good arguments pay nothing for it.
#[derive(Debug)]
pub(super) struct Walk {
    pub(super) max_depth: usize,
    pub(super) fault: Fault,
    depth: usize,
    steps: Vec<String>,
}

impl Walk {
    pub(super) fn new(max_depth: usize) -> Self {
        Self { max_depth, fault: Fault::Syntax, depth: 0, steps: Vec::new() }
    }

    fn enter<E: serde::de::Error>(&mut self) -> Result<(), E> {
        if self.depth >= self.max_depth {
            self.fault = Fault::TooDeep;
            return Err(E::custom("nested too deep"));
        }
        self.depth += 1;
        Ok(())
    }

    /// The JSON pointer to the fault, escaped for views and cut.
    pub(super) fn path(&self) -> String {
        let mut path = String::new();
        for step in self.steps.iter().rev() {
            path.push('/');
            path.push_str(&step.replace('~', "~0").replace('/', "~1"));
            if path.len() > PATH_MAX_LEN {
                break;
            }
        }
        escape::clipped_line(&path, PATH_MAX_LEN)
    }
}

/// Reads one value at any depth.
pub(super) struct Node<'a>(pub(super) &'a mut Walk);

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = Value;
    fn deserialize<D: serde::Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        if value.fract() == 0.0 && value.abs() <= EXACT_MAX {
            #[expect(clippy::cast_possible_truncation, reason = "integral and at most 2^53")]
            return Ok((value as i64).into());
        }
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        self.0.enter()?;
        let mut list = Vec::new();
        loop {
            match items.next_element_seed(Node(self.0)) {
                Ok(Some(item)) => list.push(item),
                Ok(None) => break,
                Err(error) => {
                    self.0.steps.push(list.len().to_string());
                    return Err(error);
                }
            }
        }
        self.0.depth -= 1;
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        self.0.enter()?;
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            // Compared as they read after unescaping, which is what everybody later sees.
            let place = match map.entry(key) {
                Entry::Vacant(place) => place,
                Entry::Occupied(earlier) => {
                    self.0.fault = Fault::DuplicateKey;
                    self.0.steps.push(earlier.key().clone());
                    return Err(A::Error::custom("duplicate key"));
                }
            };
            match entries.next_value_seed(Node(self.0)) {
                Ok(value) => {
                    place.insert(value);
                }
                Err(error) => {
                    self.0.steps.push(place.key().clone());
                    return Err(error);
                }
            }
        }
        self.0.depth -= 1;
        Ok(Value::Object(map))
    }
}
