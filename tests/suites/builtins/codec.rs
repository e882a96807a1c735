//! `codec`: the published vectors, through the whole host.

use belljar::contract::grants::DirMode::ReadOnly;
use serde_json::json;

use super::Workspace;

/// Hashes of `abc`: FIPS 180-2 (appendices B.1 and C.1), BLAKE3's own test of `abc`, RFC 1321
/// (appendix A.5), and CRC-32/ISO-HDLC.
const OF_ABC: [(&str, &str); 5] = [
    ("sha256", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    (
        "sha512",
        "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a\
         2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
    ),
    ("blake3", "6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85"),
    ("md5", "900150983cd24fb0d6963f7d28e17f72"),
    ("crc32", "352441c2"),
];

#[tokio::test]
async fn hashes_are_the_published_ones_for_text_bytes_and_files() {
    let ws = Workspace::new(ReadOnly);
    ws.write("abc.txt", "abc");
    for (algorithm, hex) in OF_ABC {
        for (tool, arguments) in [
            ("codec.hash", json!({"algorithm": algorithm, "text": "abc"})),
            ("codec.hash", json!({"algorithm": algorithm, "base64": "YWJj"})),
            ("codec.hash-file", json!({"algorithm": algorithm, "path": "abc.txt"})),
        ] {
            assert_eq!(
                ws.ask(tool, arguments).await,
                json!({"hex": hex, "size": 3}),
                "{algorithm}"
            );
        }
    }
}

#[tokio::test]
async fn encodings_are_the_published_ones_and_read_back() {
    let ws = Workspace::new(ReadOnly);
    // RFC 4648, section 10, and RFC 3986, section 2.
    for (encoding, text, encoded) in [
        ("base64", "foob", "Zm9vYg=="),
        ("base64url", "~~?", "fn4_"),
        ("base32", "foob", "MZXW6YQ="),
        ("hex", "foobar", "666f6f626172"),
        ("percent", "a b+\u{e9}~", "a%20b%2B%C3%A9~"),
    ] {
        let asked = json!({"encoding": encoding, "text": text});
        assert_eq!(ws.ask("codec.encode", asked).await["text"], encoded, "{encoding}");
        let back = ws.ask("codec.decode", json!({"encoding": encoding, "text": encoded})).await;
        assert_eq!((&back["text"], &back["binary"]), (&json!(text), &json!(false)), "{encoding}");
    }
    let bytes = ws.ask("codec.decode", json!({"encoding": "hex", "text": "FF00"})).await;
    assert_eq!((&bytes["base64"], &bytes["binary"]), (&json!("/wA="), &json!(true)));
}

#[tokio::test]
async fn what_is_malformed_is_refused_with_its_place() {
    let ws = Workspace::new(ReadOnly);
    for (encoding, text) in [
        ("base64", "Zm9vYg"),
        ("base64", "Zm9v Yg=="),
        ("base32", "MZXW6YQ"),
        ("hex", "abc"),
        ("percent", "%zz"),
    ] {
        let asked = json!({"encoding": encoding, "text": text});
        assert_eq!(ws.refusal("codec.decode", asked).await, "malformed", "{encoding} {text}");
    }
    let both = json!({"algorithm": "md5", "text": "a", "base64": "YQ=="});
    assert_eq!(ws.refusal("codec.hash", both).await, "invalid-argument");
    assert_eq!(ws.refusal("codec.hash", json!({"algorithm": "md5"})).await, "invalid-argument");
}
