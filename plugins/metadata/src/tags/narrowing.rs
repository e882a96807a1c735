//! Reads and checks the schema keywords with which an author narrows a type.
//!
//! Only keywords that can't widen what the type allows. Must not know the type: whether `minLength`
//! fits is for whoever builds the schema.

use serde_json::{Map, Value};

use crate::finding::quoted;
use crate::limits;
use crate::model::Narrowing;

const KEYWORDS: &str = "`minimum`, `maximum`, `minLength`, `maxLength`, `pattern`, `format`, \
                        `default`, `examples`, `minItems` and `maxItems`";

/// Parses a JSON object on one line.
pub(super) fn parse_object(text: &str) -> Result<Map<String, Value>, String> {
    if text.len() > limits::JSON_VALUE_BYTES {
        let most = limits::JSON_VALUE_BYTES;
        return Err(format!("JSON of {} bytes, expected at most {most}", text.len()));
    }
    match serde_json::from_str(text) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(format!("expected a JSON object on one line, found {}", quoted(text))),
        Err(error) => Err(format!("expected a JSON object on one line: {error}")),
    }
}

/// Parses the keywords of a schema tag.
pub(super) fn parse(text: &str) -> Result<Narrowing, String> {
    let keywords = parse_object(text)?;
    if keywords.is_empty() {
        return Err(format!("expected at least one of {KEYWORDS}"));
    }
    for (keyword, value) in &keywords {
        check_keyword(keyword, value, &keywords)?;
    }
    Ok(keywords)
}

/// Whether one keyword, from a comment or from a section, is allowed and well formed beside the
/// others.
pub(crate) fn check_keyword(keyword: &str, value: &Value, all: &Narrowing) -> Result<(), String> {
    let (fits, expected) = match keyword {
        "minimum" | "maximum" => (value.is_number(), "a number"),
        "minLength" | "maxLength" | "minItems" | "maxItems" => {
            (value.is_u64(), "a whole number from 0")
        }
        "pattern" => (text_of(value, limits::PATTERN_BYTES), "text of at most 1024 bytes"),
        "format" => (text_of(value, limits::WORD_BYTES), "text of at most 128 bytes"),
        "default" => (true, ""),
        "examples" => {
            let few = |list: &Vec<Value>| list.len() <= limits::EXAMPLES;
            (value.as_array().is_some_and(few), "an array of at most 16 values")
        }
        _ => {
            let found = quoted(keyword);
            return Err(format!("schema keyword {found} is not allowed, expected {KEYWORDS}"));
        }
    };
    if !fits {
        return Err(format!("schema keyword `{keyword}` must be {expected}"));
    }
    check_order(keyword, value, all)
}

fn text_of(value: &Value, most: usize) -> bool {
    value.as_str().is_some_and(|text| text.len() <= most)
}

/// A lower bound above the upper one would refuse every value.
fn check_order(keyword: &str, value: &Value, all: &Narrowing) -> Result<(), String> {
    let Some(upper) = keyword.strip_prefix("min").map(|rest| match rest {
        "imum" => "maximum".to_owned(),
        rest => format!("max{rest}"),
    }) else {
        return Ok(());
    };
    let above = match (value.as_f64(), all.get(&upper).and_then(Value::as_f64)) {
        (Some(low), Some(high)) => low > high,
        _ => false,
    };
    if above { Err(format!("schema keyword `{keyword}` is above `{upper}`")) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_narrowing_keywords_are_taken() {
        let all = r#"{"minimum":-1,"maximum":9.5,"minLength":1,"maxLength":2,"pattern":"^a","format":"uri","default":null,"examples":[1],"minItems":0,"maxItems":3}"#;
        assert_eq!(parse(all).unwrap().len(), 10);
        for widening in ["type", "$ref", "enum", "anyOf", "additionalProperties", "Minimum"] {
            let text = format!(r#"{{"{widening}":1}}"#);
            assert!(parse(&text).unwrap_err().contains("not allowed"), "{widening}");
        }
    }

    #[test]
    fn a_keyword_of_the_wrong_type_is_refused() {
        let bad = [
            r#"{"minimum":"1"}"#,
            r#"{"minLength":-1}"#,
            r#"{"maxItems":1.5}"#,
            r#"{"pattern":1}"#,
            r#"{"format":[]}"#,
            r#"{"examples":{}}"#,
        ];
        for text in bad {
            assert!(parse(text).unwrap_err().contains("must be"), "{text}");
        }
        let many = format!(r#"{{"examples":[{}]}}"#, vec!["1"; limits::EXAMPLES + 1].join(","));
        assert!(parse(&many).unwrap_err().contains("at most 16"));
        let long = format!(r#"{{"pattern":"{}"}}"#, "a".repeat(limits::PATTERN_BYTES + 1));
        assert!(parse(&long).unwrap_err().contains("at most 1024"));
    }

    #[test]
    fn bounds_in_the_wrong_order_are_refused() {
        assert!(parse(r#"{"minimum":5,"maximum":4}"#).unwrap_err().contains("above `maximum`"));
        assert!(parse(r#"{"minItems":5,"maxItems":4}"#).unwrap_err().contains("above `maxItems`"));
        assert!(parse(r#"{"minLength":4,"maxLength":4}"#).is_ok());
    }

    #[test]
    fn json_that_is_not_one_small_object_is_refused() {
        for text in ["", "[]", "3", "{", "{}", r#"{"minimum":1} x"#] {
            assert!(parse(text).is_err(), "{text}");
        }
        let long = format!(r#"{{"default":"{}"}}"#, "a".repeat(limits::JSON_VALUE_BYTES));
        assert!(parse(&long).unwrap_err().contains("at most 4096"));
    }
}
