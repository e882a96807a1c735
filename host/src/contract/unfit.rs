//! What is wrong with JSON, or a query, that isn't as described: the words of serde in ours.
//!
//! Names no type of the host. Reads only what the library says; what our own types say of a value is
//! kept as it is.

/// What serde expects, by how its words begin, and the same for people.
const EXPECTED: [(&str, &str); 18] = [
    ("string or map", "text or an object"),
    // Before `str`, which it begins with.
    ("struct", "an object"),
    ("a string", "text"),
    ("string", "text"),
    ("str", "text"),
    ("a borrowed string", "text"),
    ("a character", "one character"),
    ("a map", "an object"),
    ("map", "an object"),
    ("internally tagged enum", "an object"),
    ("adjacently tagged enum", "an object"),
    ("a sequence", "an array"),
    ("a boolean", "`true` or `false`"),
    ("unit variant", "a name alone"),
    ("u", "a whole number of 0 or more"),
    ("i", "a whole number"),
    ("f", "a number"),
    ("any value", "a value"),
];

/// What serde found, by how its words begin, and the same for people.
const FOUND: [(&str, &str); 12] = [
    ("integer", "a number"),
    ("floating point", "a number"),
    ("boolean", "`true` or `false`"),
    ("string", "text"),
    ("character", "text"),
    ("null", "null"),
    ("unit value", "null"),
    ("sequence", "an array"),
    ("map", "an object"),
    ("newtype variant", "an object"),
    ("unit variant", "a name alone"),
    ("Option value", "a value"),
];

/// One sentence without its end. `path` is where it is (`calls[0].tool`), empty or `.` for the whole;
/// `said` is what serde says.
pub fn unfit(path: &str, said: &str) -> String {
    // A text that is read says where it stopped, which is no part of what is wrong.
    let said = said.rsplit_once(" at line ").map_or(said, |(said, _position)| said);
    if let Some(rest) = said.strip_prefix("missing field ") {
        return format!("{rest} is missing{}", inside(path));
    }
    if let Some(rest) = said.strip_prefix("duplicate field ") {
        return format!("{rest} is there twice: expected once");
    }
    if let Some(rest) = said.strip_prefix("unknown field ") {
        return format!("unknown member {}", names(rest));
    }
    let place = place(path);
    if let Some(rest) = said.strip_prefix("unknown variant ") {
        return format!("{place} is {}", names(rest));
    }
    for wrong in ["invalid type: ", "invalid value: ", "invalid length "] {
        if let Some((found, wanted)) =
            said.strip_prefix(wrong).and_then(|it| it.split_once(", expected "))
        {
            return format!("{place} is {}: expected {}", found_in_words(found), in_words(wanted));
        }
    }
    match said {
        "invalid digit found in string"
        | "cannot parse integer from empty string"
        | "number too large to fit in target type" => {
            format!("{place} is no such number: expected a whole number of 0 or more")
        }
        "provided string was not `true` or `false`" => {
            format!("{place} is text: expected `true` or `false`")
        }
        said if said.starts_with("data did not match any variant") => {
            format!("{place} has none of the forms that it can have")
        }
        said if is_whole(path) => said.to_owned(),
        said => format!("{place}: {said}"),
    }
}

/// What is wrong with a text that is no JSON, in the words of the JSON library.
pub fn no_json(reason: &str) -> &str {
    match reason {
        "lone leading surrogate in hex escape" | "unexpected end of hex escape" => {
            "an escape `\\u` is half of a pair, or stops"
        }
        "invalid unicode code point" => "an escape `\\u` names no character",
        "expected ident" => "expected `true`, `false` or `null`",
        reason => reason,
    }
}

fn is_whole(path: &str) -> bool {
    matches!(path, "" | "." | "?")
}

fn place(path: &str) -> String {
    if is_whole(path) { "it".to_owned() } else { format!("`{path}`") }
}

fn inside(path: &str) -> String {
    // serde tells the path of the member itself or of what holds it.
    if is_whole(path) { String::new() } else { format!(" in `{path}`") }
}

/// `` `x`, expected one of `a`, `b` `` and its like.
fn names(rest: &str) -> String {
    match rest.split_once(", ") {
        Some((name, "there are no fields" | "there are no variants")) => {
            format!("{name}: expected none")
        }
        Some((name, expected)) => format!("{name}: {expected}"),
        None => rest.to_owned(),
    }
}

fn found_in_words(found: &str) -> &str {
    let words = FOUND.iter().find(|(begins, _)| found.starts_with(begins));
    words.map_or("something else", |(_, words)| words)
}

fn in_words(wanted: &str) -> &str {
    // `u64`, `i32`, `f64` and `usize` begin with one letter, which other words begin with too.
    let is_number = wanted.len() <= 5
        && wanted.get(1..).is_some_and(|rest| {
            rest == "size" || (!rest.is_empty() && rest.bytes().all(|it| it.is_ascii_digit()))
        });
    let fits = |begins: &str| match begins.len() {
        1 => is_number && wanted.starts_with(begins),
        _ => wanted.starts_with(begins),
    };
    let words = EXPECTED.iter().find(|(begins, _)| fits(begins));
    match words {
        Some((_, words)) => words,
        // What our own readers expect is in words already.
        None if wanted.starts_with("an ") || wanted.starts_with("one ") => wanted,
        None => "what the description says",
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;
    use serde::de::DeserializeOwned;
    use serde_json::{Value, json};

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only what is wrong is looked at")]
    struct Body {
        text: String,
        #[serde(default)]
        number: u64,
        #[serde(default)]
        signed: i32,
        #[serde(default)]
        size: usize,
        #[serde(default)]
        part: f64,
        #[serde(default)]
        list: Vec<Inner>,
        #[serde(default)]
        map: BTreeMap<String, String>,
        #[serde(default)]
        flag: bool,
        #[serde(default)]
        choice: Option<Choice>,
        #[serde(default)]
        tagged: Option<Tagged>,
        #[serde(default)]
        either: Option<Either>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only what is wrong is looked at")]
    struct Inner {
        n: u8,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    #[expect(dead_code, reason = "only what is wrong is looked at")]
    enum Choice {
        One,
        Other(BTreeMap<String, String>),
    }

    #[derive(Debug, Deserialize)]
    #[serde(tag = "kind", rename_all = "kebab-case")]
    #[expect(dead_code, reason = "only what is wrong is looked at")]
    enum Tagged {
        Plain { word: String },
    }

    #[derive(Debug, Deserialize)]
    #[serde(untagged)]
    #[expect(dead_code, reason = "only what is wrong is looked at")]
    enum Either {
        Number(u64),
        Text(String),
    }

    fn wrong<T: DeserializeOwned>(value: &Value) -> String {
        let read = T::deserialize(value);
        let said = read.err().unwrap_or_else(|| panic!("it fits: {value}")).to_string();
        unfit("here", &said)
    }

    #[test]
    fn what_is_wrong_is_said_without_a_type_of_ours() {
        for (body, words) in [
            (json!({}), "`text` is missing in `here`"),
            (json!({"text": 5}), "`here` is a number: expected text"),
            (json!({"text": null}), "`here` is null: expected text"),
            (json!({"text": ["x"]}), "`here` is an array: expected text"),
            (
                json!({"text": "", "number": -1}),
                "`here` is a number: expected a whole number of 0 or more",
            ),
            (
                json!({"text": "", "number": 1.5}),
                "`here` is a number: expected a whole number of 0 or more",
            ),
            (
                json!({"text": "", "number": "1"}),
                "`here` is text: expected a whole number of 0 or more",
            ),
            (
                json!({"text": "", "size": true}),
                "`here` is `true` or `false`: expected a whole number of 0 or more",
            ),
            (json!({"text": "", "signed": "1"}), "`here` is text: expected a whole number"),
            (json!({"text": "", "part": {}}), "`here` is an object: expected a number"),
            (json!({"text": "", "list": {}}), "`here` is an object: expected an array"),
            (json!({"text": "", "list": [5]}), "`here` is a number: expected an object"),
            (json!({"text": "", "list": [{}]}), "`n` is missing in `here`"),
            (
                json!({"text": "", "list": [{"n": 300}]}),
                "`here` is a number: expected a whole number of 0 or more",
            ),
            (json!({"text": "", "map": []}), "`here` is an array: expected an object"),
            (json!({"text": "", "flag": "yes"}), "`here` is text: expected `true` or `false`"),
            (json!({"text": "", "choice": "two"}), "`here` is `two`: expected `one` or `other`"),
            (json!({"text": "", "choice": 5}), "`here` is a number: expected text or an object"),
            (json!({"text": "", "tagged": {}}), "`kind` is missing in `here`"),
            (json!({"text": "", "tagged": 5}), "`here` is a number: expected an object"),
            (json!({"text": "", "tagged": {"kind": "x"}}), "`here` is `x`: expected `plain`"),
            (json!({"text": "", "either": {}}), "`here` has none of the forms that it can have"),
        ] {
            assert_eq!(wrong::<Body>(&body), words, "{body}");
        }
        let unknown = wrong::<Inner>(&json!({"n": 1, "m": 2}));
        assert_eq!(unknown, "unknown member `m`: expected `n`");
        assert_eq!(wrong::<Body>(&json!(5)), "`here` is a number: expected an object");
    }

    #[test]
    fn what_names_no_place_names_none_and_our_own_words_stay() {
        assert_eq!(unfit("", "missing field `x`"), "`x` is missing");
        assert_eq!(unfit(".", "missing field `x` at line 1 column 2"), "`x` is missing");
        assert_eq!(unfit("", "an id has 1 to 128 bytes"), "an id has 1 to 128 bytes");
        assert_eq!(unfit("id", "an id has 1 to 128 bytes"), "`id`: an id has 1 to 128 bytes");
        assert_eq!(
            unfit("a", "invalid type: map, expected struct Secret"),
            "`a` is an object: expected an object"
        );
        assert_eq!(
            unfit("a", "invalid type: blob, expected Secret"),
            "`a` is something else: expected what the description says"
        );
        let words = "`wait` is no such number: expected a whole number of 0 or more";
        for said in ["invalid digit found in string", "number too large to fit in target type"] {
            assert_eq!(unfit("wait", said), words);
        }
    }

    #[test]
    fn half_of_a_surrogate_pair_is_called_so() {
        for text in [r#""\ud800""#, r#""\ud800x""#, r#""\ud8""#, r#""\ud800\n""#] {
            let error = serde_json::from_str::<String>(text).unwrap_err().to_string();
            let reason = error.split(" at line").next().unwrap();
            let words = no_json(reason);
            assert!(
                words.contains("half of a pair")
                    || reason.starts_with("invalid escape")
                    || reason.starts_with("EOF"),
                "{text}: {reason}"
            );
        }
        assert_eq!(no_json("expected value"), "expected value");
    }
}
