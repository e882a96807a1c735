//! What is taken out, and that nothing else is.

use serde_json::json;

use super::*;

fn redactor(secrets: &[(&str, &str)]) -> Redactor {
    Redactor::new(secrets.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())))
}

#[test]
fn texts_lose_every_secret_and_nothing_else() {
    let one = redactor(&[("token", "s3cret-value")]);
    let two = redactor(&[("short", "abcdef"), ("long", "abcdefghij"), ("tail", "ghijklmnop")]);
    for (redactor, text, clean) in [
        (&one, "plain", "plain"),
        (&one, "", ""),
        (&one, "s3cret-value", "[redacted:token]"),
        (&one, "a s3cret-value, s3cret-values", "a [redacted:token], [redacted:token]s"),
        (&one, "S3cret-value", "S3cret-value"),
        (&one, "日s3cret-value日", "日[redacted:token]日"),
        (&two, "xabcdefx", "x[redacted:short]x"),
        (&two, "xabcdefghijx", "x[redacted:long]x"),
        (&two, "xabcdefghijklmnopx", "x[redacted:long]x"),
        (&two, "abcdefabcdef", "[redacted:short][redacted:short]"),
    ] {
        assert_eq!(redactor.text(text), clean, "{text}");
    }
}

#[test]
fn a_secret_that_overlaps_itself_goes_whole() {
    assert_eq!(redactor(&[("a", "aaaaaa")]).text("xaaaaaaaax"), "x[redacted:a]x");
    assert_eq!(redactor(&[("a", "日日日")]).text("日日日日"), "[redacted:a]");
}

#[test]
fn json_loses_secrets_in_nested_strings_names_and_numbers() {
    let redactor = redactor(&[("key", "qu\"ote\n1"), ("pin", "123456")]);
    let value = json!({
        "deep": [{"list": ["x qu\"ote\n1 y", 1, null, true, 2.5]}],
        "qu\"ote\n1": 1,
        "number": 9_123_456,
        "text": "123456",
    });
    assert!(redactor.may_be_in_json(&value.to_string()));
    assert_eq!(
        redactor.value(&value),
        json!({
            "deep": [{"list": ["x [redacted:key] y", 1, null, true, 2.5]}],
            "[redacted:key]": 1,
            "number": "9[redacted:pin]",
            "text": "[redacted:pin]",
        })
    );
}

#[test]
fn an_escaped_secret_is_seen_in_json_text() {
    let redactor = redactor(&[("key", "qu\"ote\n1")]);
    assert!(redactor.may_be_in_json(r#"{"a":"qu\"ote\n1"}"#));
    assert!(!redactor.may_be_in_json(r#"{"a":"quote"}"#));
    assert!(!Redactor::default().may_be_in_json(r#"{"a":"b"}"#));
}

#[test]
fn names_that_become_the_same_keep_their_values() {
    let clean = redactor(&[("a", "first-secret"), ("a", "other-secret")])
        .value(&json!({"first-secret": 1, "other-secret": 2}));
    assert_eq!(clean, json!({"[redacted:a]": 1, "[redacted:a]~": 2}));
}

#[test]
fn base64_of_a_secret_goes_with_and_without_padding() {
    let redactor = redactor(&[("token", "secret~~?value?")]);
    let (standard, url_safe) =
        (STANDARD.encode("secret~~?value?"), URL_SAFE.encode("secret~~?value?"));
    for text in [standard.trim_end_matches('='), url_safe.trim_end_matches('=')] {
        assert_eq!(redactor.text(&format!("Basic {text}")), "Basic [redacted:token]");
    }
}

#[test]
fn a_short_secret_stays_and_is_named() {
    let redactor = redactor(&[("pin", " 12345\n"), ("word", " secret\n")]);
    assert_eq!(redactor.too_short(), ["pin"]);
    assert_eq!(redactor.text("12345 secret"), "12345 [redacted:word]");
}

#[test]
fn debug_shows_no_secret() {
    assert!(!format!("{:?}", redactor(&[("token", "s3cret-value")])).contains("s3cret"));
}

#[test]
fn the_beginning_of_json_shows_no_part_of_a_secret() {
    let redactor = redactor(&[("key", "abc\"defabc"), ("token", "s3cret-value")]);
    for (json, clean) in [
        (r#"{"a":"plain"}"#, r#"{"a":"plain"}"#),
        (r#"{"a":"abc\"defabc","b"#, r#"{"a":"[redacted:key]","b"#),
        (r#"{"a":"abc\"defabc"#, r#"{"a":"[redacted:key]"#),
        (r#"{"a":"abc\"defabcbc\"def"#, r#"{"a":"[redacted:key]bc\"def"#),
        (r#"{"a":"abc\"def"#, r#"{"a":""#),
        (r#"{"a":"s3cret-value s3cret-valu"#, r#"{"a":"[redacted:token] "#),
        (r#"{"a":"xs"#, r#"{"a":"x"#),
    ] {
        assert_eq!(redactor.json_beginning(json), clean, "{json}");
    }
}
