//! Reads and checks needs: what a plugin says it wants, with the author's reason.
//!
//! A need grants nothing, so this must not know what is granted.

use super::line::words;
use crate::finding::quoted;
use crate::limits;
use crate::model::{DirMode, Need};

/// Parses what stands after `@needs`.
pub(super) fn parse(text: &str) -> Result<Need, String> {
    let (kind, rest) = words(text);
    let (first, rest) = words(rest);
    let need = match kind {
        "http" => {
            let (methods, rest) = words(rest);
            let methods = methods.split(',').map(str::to_owned).collect();
            Need::Http { host: first.to_ascii_lowercase(), methods, why: why(rest)? }
        }
        "dir" => Need::Dir { mode: dir_mode(first)?, why: why(rest)? },
        "env" => Need::Env { name: first.to_owned(), why: why(rest)? },
        "secret" => Need::Secret { name: first.to_owned(), why: why(rest)? },
        _ => {
            let found = quoted(kind);
            return Err(format!("expected `http`, `dir`, `env` or `secret`, found {found}"));
        }
    };
    check_need(&need)?;
    Ok(need)
}

fn dir_mode(word: &str) -> Result<DirMode, String> {
    match word {
        "ro" => Ok(DirMode::ReadOnly),
        "rw" => Ok(DirMode::ReadWrite),
        _ => Err(format!("expected `ro` or `rw` after `dir`, found {}", quoted(word))),
    }
}

fn why(text: &str) -> Result<String, String> {
    serde_json::from_str(text).map_err(|_| {
        format!("expected the reason in double quotes at the end, found {}", quoted(text))
    })
}

/// Whether a need, from a comment or from a section, is one that can be shown and compared.
pub(crate) fn check_need(need: &Need) -> Result<(), String> {
    let why = match need {
        Need::Http { host, methods, why } => {
            check_host(host)?;
            check_methods(methods)?;
            why
        }
        Need::Dir { why, .. } => why,
        Need::Env { name, why } => {
            check_word(name, "a variable's name", |c| c.is_ascii_alphanumeric() || c == '_')?;
            why
        }
        Need::Secret { name, why } => {
            check_word(name, "a secret's name", |c| {
                c.is_ascii_alphanumeric() || "-_.".contains(c)
            })?;
            why
        }
    };
    match why.len() {
        _ if why.trim().is_empty() => Err("expected a reason, found an empty one".to_owned()),
        len if len > limits::WHY_BYTES => {
            Err(format!("a reason of {len} bytes, expected at most {}", limits::WHY_BYTES))
        }
        _ => Ok(()),
    }
}

fn check_word(word: &str, what: &str, allowed: impl Fn(char) -> bool) -> Result<(), String> {
    if word.is_empty() || word.len() > limits::WORD_BYTES || !word.chars().all(allowed) {
        return Err(format!("expected {what}, found {}", quoted(word)));
    }
    Ok(())
}

fn check_methods(methods: &[String]) -> Result<(), String> {
    let is_method = |method: &String| {
        !method.is_empty()
            && method.len() <= limits::WORD_BYTES
            && method.bytes().all(|b| b.is_ascii_uppercase() || b == b'-')
    };
    if methods.is_empty() || methods.len() > limits::METHODS || !methods.iter().all(is_method) {
        let found = quoted(&methods.join(","));
        return Err(format!("expected methods such as `GET` or `GET,HEAD`, found {found}"));
    }
    Ok(())
}

/// `*`, or a name, IPv4 or bracketed IPv6 address with an optional port, or `*.` and a name.
fn check_host(host: &str) -> Result<(), String> {
    let refuse = || {
        let form = "expected a host such as `api.example.com`, `*.example.com` or `localhost:8080`";
        Err(format!("{form} in lower case ASCII, found {}", quoted(host)))
    };
    if host == "*" {
        return Ok(());
    }
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => (name, Some(port)),
        _ => (host, None),
    };
    if port.is_some_and(|port| port.parse::<u16>().is_err() || port.starts_with('+')) {
        return refuse();
    }
    let good = match name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
        None => name.strip_prefix("*.").unwrap_or(name).split('.').all(is_label),
    };
    if good && host.len() <= limits::HOST_BYTES { Ok(()) } else { refuse() }
}

fn is_label(label: &str) -> bool {
    let is_part = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_';
    !label.is_empty()
        && label.len() <= 63
        && label.bytes().all(is_part)
        && !label.starts_with('-')
        && !label.ends_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_need_is_read() {
        let http = parse(r#"http API.example.com:8443 GET,HEAD "weather \"now\"""#).unwrap();
        let expected = Need::Http {
            host: "api.example.com:8443".into(),
            methods: vec!["GET".into(), "HEAD".into()],
            why: "weather \"now\"".into(),
        };
        assert_eq!(http, expected);
        let dir = parse(r#"dir rw "where it writes""#).unwrap();
        assert_eq!(dir, Need::Dir { mode: DirMode::ReadWrite, why: "where it writes".into() });
        let env = parse(r#"env HTTP_PROXY "to leave""#).unwrap();
        assert_eq!(env, Need::Env { name: "HTTP_PROXY".into(), why: "to leave".into() });
        let secret = parse(r#"secret github.token "to sign in""#).unwrap();
        assert_eq!(secret, Need::Secret { name: "github.token".into(), why: "to sign in".into() });
    }

    #[test]
    fn a_malformed_need_says_what_was_expected() {
        let cases = [
            ("", "expected `http`"),
            ("files ro \"x\"", "expected `http`"),
            ("dir rx \"x\"", "expected `ro` or `rw`"),
            ("dir ro", "double quotes"),
            ("dir ro because", "double quotes"),
            ("dir ro \"x\" y", "double quotes"),
            ("dir ro \"\"", "expected a reason"),
            ("env A=B \"x\"", "a variable's name"),
            ("secret ../x \"x\"", "a secret's name"),
            ("http h get \"x\"", "expected methods"),
            ("http h GET,,PUT \"x\"", "expected methods"),
            ("http h \"x\"", "double quotes"),
        ];
        for (text, part) in cases {
            let reason = parse(text).unwrap_err();
            assert!(reason.contains(part), "{text}: {reason}");
        }
        let long = format!("env A \"{}\"", "x".repeat(limits::WHY_BYTES + 1));
        assert!(parse(&long).unwrap_err().contains("at most 512"));
    }

    #[test]
    fn only_a_plain_host_is_a_host() {
        let good =
            ["*", "*.example.com", "localhost", "10.0.0.1:80", "[::1]", "[::1]:443", "a_b.c"];
        for host in good {
            assert_eq!(check_host(host), Ok(()), "{host}");
        }
        let bad = [
            "",
            "http://a",
            "a/b",
            "a..b",
            "*a.com",
            "a.*",
            "a:",
            "a:99999",
            "a:+1",
            "-a",
            "ü.de",
            "user@host",
            "[::1",
            "[x]",
            "A.com",
            "a b",
        ];
        for host in bad {
            assert!(check_host(host).is_err(), "{host}");
        }
        assert!(check_host(&vec!["a"; 200].join(".")).is_err());
    }
}
