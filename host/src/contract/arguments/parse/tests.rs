//! What is read as arguments, and what is refused in which words.

use proptest::prelude::*;
use serde_json::json;

use super::super::canonical;
use super::super::walk::PATH_MAX_LEN;
use super::*;

const BOUNDS: ArgumentBounds = ArgumentBounds { bytes: 1 << 20, depth: 128 };

fn value(raw: &str) -> Value {
    Value::Object(parse(raw, BOUNDS).unwrap())
}

fn refusal(raw: &str) -> String {
    parse(raw, BOUNDS).unwrap_err().to_string()
}

/// `{"a":{"a":…}}`, `depth` objects deep, around `inner`.
fn nested(depth: usize, inner: &str) -> String {
    format!("{}{inner}{}", r#"{"a":"#.repeat(depth), "}".repeat(depth))
}

#[test]
fn t17_nothing_and_white_space_are_no_arguments() {
    for raw in ["", " ", "\r\n\t ", "{}", " {} "] {
        assert_eq!(value(raw), json!({}), "{raw:?}");
    }
}

#[test]
fn values_of_every_kind_are_read_in_their_order() {
    let map = parse(r#"{"z":[1,-2,1.5,true,null],"a":{"k":"\u00e9\ud83d\udc4d\u0000"}}"#, BOUNDS);
    let map = map.unwrap();
    assert_eq!(map.keys().collect::<Vec<_>>(), ["z", "a"]);
    assert_eq!(Value::Object(map), json!({"z": [1, -2, 1.5, true, null], "a": {"k": "é👍\u{0}"}}));
}

#[test]
fn what_is_no_object_is_refused_with_what_was_expected() {
    for (raw, found) in [
        ("null", "null"),
        ("[]", "an array"),
        ("5", "a number"),
        ("true", "a boolean"),
        (r#""""#, "a string"),
        (r#""{ a""#, "a string"),
    ] {
        let expected = format!("arguments are {found}: expected a JSON object, such as `{{}}`");
        assert_eq!(refusal(raw), expected);
    }
}

#[test]
fn arguments_in_a_string_are_refused_with_a_hint() {
    assert_eq!(parse(r#""{\"a\":1}""#, BOUNDS), Err(ArgumentsError::Stringified));
    assert_eq!(value(r#"{"content":"{\"a\":1}"}"#), json!({"content": r#"{"a":1}"#}));
}

#[test]
fn t16_truncated_arguments_are_refused_at_every_byte() {
    let raw = r#"{"a":[1,{"b":"x\"{\ud83d\udc4dé"},-12.5e+3,true,null],
 "c":{"d":[]}}"#;
    value(raw);
    for end in (1..raw.len()).filter(|&end| raw.is_char_boundary(end)) {
        let prefix = &raw[..end];
        let error = parse(prefix, BOUNDS).unwrap_err();
        let ArgumentsError::Truncated(at) = error else { panic!("{prefix}: {error}") };
        assert_eq!(at.offset, end);
    }
    assert_eq!(
        refusal("{\"a\":\n12"),
        "arguments are truncated: they stop at line 2 column 3 (byte 8), expected the rest of the \
         JSON object"
    );
}

#[test]
fn what_is_no_json_is_refused_with_its_place() {
    for raw in [
        r#"{"a":NaN}"#,
        r#"{"a":Infinity}"#,
        r#"{"a":-Infinity}"#,
        r#"{"a":+1}"#,
        r#"{"a":01}"#,
        r#"{"a":.5}"#,
        r#"{"a":1.}"#,
        r#"{"a":1,}"#,
        r#"{"a":[1,]}"#,
        "{'a':1}",
        "{a:1}",
        r#"{"a":1/*c*/}"#,
        "{\"a\":\"\n\"}",
        r#"{"a":1]"#,
        r#"{"a":"\x41"}"#,
        "nope",
        "\u{a0}{}",
    ] {
        let error = parse(raw, BOUNDS).unwrap_err();
        assert!(matches!(error, ArgumentsError::Syntax { .. }), "{raw}: {error}");
    }
    assert_eq!(
        refusal("{\"a\":1,\n \"b\":[0, +1]}"),
        "arguments are not JSON: expected value at line 2 column 10 (byte 17), inside `/b/1`"
    );
}

#[test]
fn lone_surrogates_are_refused_with_their_place() {
    for raw in [r#"{"a":"\ud800"}"#, r#"{"a":"\udc00\ud800"}"#, r#"{"a":"\ud800\ud800"}"#] {
        let error = parse(raw, BOUNDS).unwrap_err();
        let ArgumentsError::Syntax { path, position, .. } = &error else { panic!("{error}") };
        assert_eq!(path, "/a");
        assert!(error.to_string().contains("is half of a pair"), "{error}");
        assert!((6..raw.len()).contains(&position.offset), "{error}");
    }
}

#[test]
fn numbers_beyond_doubles_are_refused() {
    for raw in [r#"{"a":1e400}"#, r#"{"a":-1E400}"#, r#"{"a":[1e309]}"#] {
        assert!(refusal(raw).contains("number out of range"), "{raw}");
    }
}

#[test]
fn integers_keep_every_digit_of_64_bits() {
    for text in ["9007199254740993", "18446744073709551615", "-9223372036854775808", "0"] {
        let read = value(&format!(r#"{{"a":{text}}}"#));
        assert_eq!(read["a"].to_string(), text);
        assert!(!read["a"].is_f64());
    }
}

#[test]
fn integral_doubles_are_integers_only_where_they_are_exact() {
    for (text, integer) in [("5.0", 5), ("1e2", 100), ("0.1e1", 1), ("-0", 0), ("-0.0", 0)] {
        assert_eq!(value(&format!(r#"{{"a":{text}}}"#))["a"], json!(integer), "{text}");
    }
    // The first would round to a neighbour, the others to the ends of the 64-bit range.
    for text in ["9007199254740993.5", "-9223372036854775809", "18446744073709551616"] {
        assert!(value(&format!(r#"{{"a":{text}}}"#))["a"].is_f64(), "{text}");
    }
}

#[test]
fn a_byte_order_mark_is_refused() {
    assert_eq!(parse("\u{feff}{}", BOUNDS), Err(ArgumentsError::ByteOrderMark));
}

#[test]
fn what_follows_the_object_is_refused() {
    assert_eq!(
        refusal("{}\n {}"),
        "arguments go on after their end, at line 2 column 2 (byte 4): expected one JSON object \
         and nothing more"
    );
}

#[test]
fn duplicate_keys_are_refused_at_any_depth_by_path() {
    for (raw, path) in [
        (r#"{"path":"ok","path":"../x"}"#, "/path"),
        (r#"{"path":"ok","p\u0061th":"../x"}"#, "/path"),
        (r#"{"a":[{"b/c":{"d":1,"d":1}}]}"#, "/a/0/b~1c/d"),
        (r#"{"":1,"":2}"#, "/"),
    ] {
        let error = parse(raw, BOUNDS).unwrap_err();
        let ArgumentsError::DuplicateKey { path: found, .. } = &error else { panic!("{error}") };
        assert_eq!(found, path);
    }
    value(r#"{"a":{"a":{"a":1}},"A":1}"#);
}

#[test]
fn a_path_in_an_error_is_escaped_and_cut() {
    let key = format!("\u{202e}{}", "k".repeat(10_000));
    let message = refusal(&format!(r#"{{"{key}":1,"{key}":2}}"#));
    assert!(message.contains("`/<U+202E>kkk"), "{message}");
    assert!(message.len() < 2 * PATH_MAX_LEN, "{}", message.len());
}

#[test]
fn more_bytes_than_the_bound_are_refused() {
    let bounds = ArgumentBounds { bytes: 7, depth: 8 };
    assert!(parse(r#"{"a":1}"#, bounds).is_ok());
    assert_eq!(
        parse(r#"{"a":10}"#, bounds),
        Err(ArgumentsError::TooLong { bytes: 8, max_bytes: 7 })
    );
}

#[test]
fn more_depth_than_the_bound_is_refused() {
    let bounds = ArgumentBounds { bytes: 1 << 20, depth: 3 };
    assert!(parse(&nested(3, "1"), bounds).is_ok());
    assert!(parse(r#"{"a":[[1],[2]]}"#, bounds).is_ok(), "siblings don't add up");
    let error = parse(&nested(3, "[]"), bounds).unwrap_err();
    assert_eq!(
        error.to_string(),
        "arguments are nested too deep at line 1 column 17 (byte 16), at `/a/a/a`: expected at \
         most 3 levels"
    );
}

#[test]
fn the_ceiling_of_depth_is_read_and_nothing_deeper_whatever_is_asked() {
    let bounds = ArgumentBounds { bytes: 1 << 24, depth: usize::MAX };
    assert!(parse(&nested(128, "1"), bounds).is_ok());
    for raw in [nested(129, "1"), "[".repeat(1 << 20), r#"{"a":"#.repeat(1 << 20)] {
        let error = parse(&raw, bounds).unwrap_err();
        assert!(matches!(error, ArgumentsError::TooDeep { max_depth: 128, .. }), "{error}");
    }
}

#[test]
fn a_met_limit_says_who_set_it() {
    let limits = Limits::default();
    let error = ArgumentsError::TooLong { bytes: 2 << 20, max_bytes: 1 << 20 };
    assert_eq!(
        error.sentence(&limits),
        "the arguments are 2097152 bytes long: the argument-bytes limit is 1 MiB, belljar's \
         default; raise it with `argument_bytes` under [limits] in belljar.toml"
    );
    let error = parse(&nested(65, "1"), ArgumentBounds::of(&limits)).unwrap_err();
    assert!(
        error.sentence(&limits).contains("limit is 64, belljar's default; raise it"),
        "{error}"
    );
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_filter("JSON has no others", |x| x.is_finite()).prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map(".{0,4}", inner, 0..5)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn reversed(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(reversed).collect(),
        Value::Object(map) => {
            map.iter().rev().map(|(key, value)| (key.clone(), reversed(value))).collect()
        }
        other => other.clone(),
    }
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(raw in ".{0,200}") {
        let error = parse(&raw, BOUNDS).err().map(|error| error.to_string());
        prop_assert!(error.is_none_or(|words| words.len() < 1000));
    }

    #[test]
    fn any_damage_is_read_or_refused(
        inner in any_json(),
        at in any::<prop::sample::Index>(),
        put in r#"[\[\]{}",:\\0-9eE+\-tfnu\x00\x{feff}]{0,3}"#,
    ) {
        let raw: Vec<char> = json!({"a": inner}).to_string().chars().collect();
        let at = at.index(raw.len());
        let damaged: String =
            raw[..at].iter().copied().chain(put.chars()).chain(raw[at + 1..].iter().copied()).collect();
        if let Err(error) = parse(&damaged, BOUNDS) {
            prop_assert!(!error.to_string().is_empty());
        }
    }

    #[test]
    fn canonical_text_ignores_order_and_white_space_and_reads_back(inner in any_json()) {
        let json = json!({"k": inner, "a": 1});
        let read = value(&json.to_string());
        let text = canonical::to_string(&read);
        let spaced = serde_json::to_string_pretty(&reversed(&json)).unwrap();
        prop_assert_eq!(&canonical::to_string(&value(&spaced)), &text);
        prop_assert_eq!(canonical::to_string(&value(&text)), text);
    }

    #[test]
    fn a_duplicate_is_refused_wherever_it_is(
        key in "[a-z]{1,4}",
        steps in prop::collection::vec(any::<bool>(), 0..20),
        between in any_json(),
    ) {
        let mut raw = format!(r#"{{"{key}":1,"X":{between},"{key}":1}}"#);
        for in_array in steps {
            raw = if in_array { format!("[0,{raw}]") } else { format!(r#"{{"s":{raw}}}"#) };
        }
        let error = parse(&format!(r#"{{"r":{raw}}}"#), BOUNDS).unwrap_err();
        let is_duplicate = matches!(error, ArgumentsError::DuplicateKey { .. });
        prop_assert!(is_duplicate, "{}", error);
    }
}
