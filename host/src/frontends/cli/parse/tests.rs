//! What the values of options mean, and which are refused.

use super::*;

fn dir(host: &str, guest: Option<&str>, mode: DirMode) -> DirRequest {
    DirRequest { host: host.into(), guest: guest.map(Into::into), mode }
}

#[test]
fn amounts_are_exact_or_refused() {
    let cases = [
        ("1", Some(1)),
        ("2e9", Some(2_000_000_000)),
        ("1.5E9", Some(1_500_000_000)),
        ("1.50e1", Some(15)),
        ("18446744073709551615", Some(u64::MAX)),
        ("18446744073709551616", None),
        ("1e99999", None),
        ("1e4294967296", None),
        ("1.5", None),
        ("0", None),
        ("0e5", None),
        ("-1", None),
        ("+1", None),
        ("1e", None),
        ("1.e1", None),
        (".5e1", None),
        ("1_000", None),
        ("", None),
        (" 1", None),
        ("٣", None),
    ];
    for (text, expected) in cases {
        assert_eq!(parse_count(text).ok(), expected, "{text}");
    }
}

#[test]
fn times_need_their_unit_and_whole_milliseconds() {
    let cases = [
        ("200ms", Some(200)),
        ("5s", Some(5000)),
        ("1.5s", Some(1500)),
        ("2m", Some(120_000)),
        ("0.5ms", None),
        ("0s", None),
        ("5", None),
        ("5h", None),
        ("5 s", Some(5000)),
        ("ms", None),
        ("99999999999999999999m", None),
    ];
    for (text, expected) in cases {
        let expected = expected.map(Duration::from_millis).ok_or(ParseError::Duration);
        assert_eq!(parse_duration(text), expected, "{text}");
    }
}

#[test]
fn sizes_are_bytes_or_powers_of_1024() {
    let cases = [
        ("65536", Some(65536)),
        ("64KiB", Some(65536)),
        ("64MiB", Some(64 << 20)),
        ("1.5GiB", Some(3 << 29)),
        ("64MB", None),
        ("64mib", None),
        ("0MiB", None),
        ("MiB", None),
        ("1.5", None),
    ];
    for (text, expected) in cases {
        assert_eq!(parse_size(text), expected.ok_or(ParseError::Size), "{text}");
    }
}

#[test]
fn a_folder_is_read_only_unless_said() {
    let (ro, rw) = (DirMode::ReadOnly, DirMode::ReadWrite);
    let cases = [
        (".", dir(".", None, ro)),
        (".:rw", dir(".", None, rw)),
        ("/srv/x:ro", dir("/srv/x", None, ro)),
        ("x:/work", dir("x", Some("/work"), ro)),
        ("x:.:rw", dir("x", Some("."), rw)),
        ("a:b:/work:rw", dir("a:b", Some("/work"), rw)),
        ("ro", dir("ro", None, ro)),
        ("rw:rw", dir("rw", None, rw)),
    ];
    for (text, expected) in cases {
        assert_eq!(parse_dir(text), Ok(expected), "{text}");
    }
}

#[test]
fn a_folder_with_an_unclear_part_is_refused() {
    for (text, part) in
        [("x:wr", "wr"), ("x:RW", "RW"), ("a:b", "b"), ("x:", ""), ("x:ro:ro", "ro")]
    {
        assert_eq!(parse_dir(text), Err(ParseError::DirPart(part.into())), "{text}");
    }
    for text in ["", ":ro", ":/work", ":/work:rw"] {
        assert_eq!(parse_dir(text), Err(ParseError::NoHost), "{text}");
    }
    let shown = parse_dir("x:\u{1b}[2J").unwrap_err().to_string();
    assert!(!shown.contains('\u{1b}'), "{shown:?}");
}

#[test]
fn a_variable_is_cut_at_its_first_equals_sign() {
    let grant = parse_env("A=b=c").unwrap();
    assert_eq!((grant.name.as_str(), grant.value.as_str()), ("A", "b=c"));
    assert_eq!(parse_env("A=").unwrap().value, "");
    assert_eq!(parse_env("A"), Err(ParseError::Env));
}

#[test]
fn a_plugin_may_have_a_name_before_its_file() {
    let plugin = |text: &str| {
        parse_plugin(text).map(|it| (it.name.map(String::from), it.path.display().to_string()))
    };
    assert_eq!(plugin("a/b.wasm"), Ok((None, "a/b.wasm".into())));
    assert_eq!(plugin("mine=b.wasm"), Ok((Some("mine".into()), "b.wasm".into())));
    assert_eq!(plugin("./x=y.wasm"), Ok((None, "./x=y.wasm".into())));
    assert_eq!(plugin("mine=a=b.wasm"), Ok((Some("mine".into()), "a=b.wasm".into())));
    assert!(matches!(plugin("My_Name=b.wasm"), Err(ParseError::PluginName(_))));
    assert_eq!(plugin("mine="), Err(ParseError::NoFile));
    assert_eq!(plugin(""), Err(ParseError::NoFile));
}

#[test]
fn arguments_are_text_a_file_or_stdin() {
    assert_eq!(parse_arguments("-"), Ok(ArgumentSource::Stdin));
    assert_eq!(parse_arguments("@a.json"), Ok(ArgumentSource::File("a.json".into())));
    assert_eq!(parse_arguments("@-"), Ok(ArgumentSource::File("-".into())));
    assert_eq!(parse_arguments("{}"), Ok(ArgumentSource::Text("{}".into())));
    assert_eq!(parse_arguments("@"), Err(ParseError::NoArgumentFile));
}
