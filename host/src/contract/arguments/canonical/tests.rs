//! The facts of RFC 8785, and where belljar's form differs.

use serde_json::json;

use super::*;

fn of_bits(bits: u64) -> String {
    to_string(&json!(f64::from_bits(bits)))
}

/// The finite samples of RFC 8785 appendix B, bits against text.
#[test]
fn doubles_are_written_as_ecmascript_writes_them() {
    for (bits, text) in [
        (0x0000_0000_0000_0000, "0"),
        (0x8000_0000_0000_0000, "0"),
        (0x0000_0000_0000_0001, "5e-324"),
        (0x8000_0000_0000_0001, "-5e-324"),
        (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
        (0xffef_ffff_ffff_ffff, "-1.7976931348623157e+308"),
        (0x4340_0000_0000_0000, "9007199254740992"),
        (0xc340_0000_0000_0000, "-9007199254740992"),
        (0x4430_0000_0000_0000, "295147905179352830000"),
        (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
        (0x44b5_2d02_c7e1_4af6, "1e+23"),
        (0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23"),
        (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
        (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
        (0x444b_1ae4_d6e2_ef50, "1e+21"),
        (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
        (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
        (0x41b3_de43_5555_5553, "333333333.3333332"),
        (0x41b3_de43_5555_5554, "333333333.33333325"),
        (0x41b3_de43_5555_5555, "333333333.3333333"),
        (0x41b3_de43_5555_5556, "333333333.3333334"),
        (0x41b3_de43_5555_5557, "333333333.33333343"),
        (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
        (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
    ] {
        assert_eq!(of_bits(bits), text, "{bits:016x}");
    }
}

#[test]
fn integers_keep_all_digits_and_share_no_text() {
    assert_eq!(to_string(&json!(9_007_199_254_740_993_u64)), "9007199254740993");
    assert_eq!(to_string(&json!(u64::MAX)), "18446744073709551615");
    assert_eq!(to_string(&json!(i64::MIN)), "-9223372036854775808");
    // RFC 8785 writes these doubles with noughts at the end, as 9223372036854776000, which is
    // another integer of 64 bits. The last is beyond them and has ECMAScript's form.
    assert_eq!(to_string(&json!(9_223_372_036_854_775_808.0)), "9223372036854775808");
    assert_eq!(to_string(&json!(-9_223_372_036_854_775_808.0)), "-9223372036854775808");
    assert_eq!(to_string(&json!(18_446_744_073_709_551_616.0)), "18446744073709552000");
}

#[test]
fn integral_doubles_are_integers() {
    let value = json!({"a": 5.0, "b": [1e2, -3.0], "c": 0.5});
    assert_eq!(to_string(&value), r#"{"a":5,"b":[100,-3],"c":0.5}"#);
}

/// The sorting sample of RFC 8785 §3.2.3: by UTF-16 code units, an emoji sorts before U+FB33.
#[test]
fn keys_sort_by_utf16_code_units() {
    let keys = ["\u{20ac}", "\r", "\u{fb33}", "1", "\u{1f600}", "\u{80}", "\u{f6}"];
    let map: Map<String, Value> = keys.iter().map(|&key| (key.to_owned(), json!(0))).collect();
    assert_eq!(
        object_to_string(&map),
        "{\"\\r\":0,\"1\":0,\"\u{80}\":0,\"\u{f6}\":0,\"\u{20ac}\":0,\"\u{1f600}\":0,\"\u{fb33}\":0}"
    );
}

#[test]
fn strings_are_escaped_no_more_than_they_must_be() {
    let text = "\u{20ac}$\u{f}\nA'B\"\\/\u{8}\t\u{c}\r\u{7f}\u{2028}";
    assert_eq!(
        to_string(&json!(text)),
        "\"\u{20ac}$\\u000f\\nA'B\\\"\\\\/\\b\\t\\f\\r\u{7f}\u{2028}\""
    );
}

#[test]
fn literals_and_empty_containers_are_bare() {
    assert_eq!(to_string(&json!([null, true, false, [], {}, ""])), r#"[null,true,false,[],{},""]"#);
}

/// Whatever stands before an escape, and however long it is.
#[test]
fn escapes_are_found_wherever_they_stand() {
    for (c, written) in [('"', "\\\""), ('\\', "\\\\"), ('\u{1f}', "\\u001f"), ('\n', "\\n")] {
        // Two bytes each, also across the ends of whole steps.
        for before in (0..100).map(|len| "x".repeat(len % 2) + &"é".repeat(len / 2)) {
            let text = format!("{before}{c}{before}");
            assert_eq!(plain_len(&text), before.len());
            assert_eq!(to_string(&json!(text)), format!("\"{before}{written}{before}\""));
            assert_eq!(plain_len(&before), before.len());
        }
    }
}
