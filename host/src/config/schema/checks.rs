//! The kinds of texts, each with its check.
//!
//! Looks at the text alone: whether a folder or a tool is there is found out elsewhere.

use super::Text;
use crate::contract::escape::is_hidden;
use crate::contract::ids::{PluginName, ToolName};
use crate::gate::Pattern;

use super::super::templates::Template;

fn any(_: &str) -> Result<(), String> {
    Ok(())
}

fn filled(text: &str) -> Result<(), String> {
    if text.is_empty() { Err("it is empty".to_owned()) } else { Ok(()) }
}

fn path(text: &str) -> Result<(), String> {
    filled(text)?;
    if text == "~" || text.starts_with("~/") {
        return Err("`~` isn't expanded here, write the whole path".to_owned());
    }
    if text.contains('\0') {
        return Err("a path can't hold NUL".to_owned());
    }
    Ok(())
}

fn folder(text: &str) -> Result<(), String> {
    path(text)?;
    if text.ends_with(":ro") || text.ends_with(":rw") {
        return Err("the mode is a key here: `{ path = \"…\", mode = \"rw\" }`".to_owned());
    }
    Template::parse(text).map(drop).map_err(|error| error.to_string())
}

fn template(text: &str) -> Result<(), String> {
    if text.contains('\0') {
        return Err("a variable can't hold NUL".to_owned());
    }
    Template::parse(text).map(drop).map_err(|error| error.to_string())
}

fn variable(text: &str) -> Result<(), String> {
    filled(text)?;
    if text.contains(['=', '\0']) {
        return Err("a variable's name can't hold `=` or NUL".to_owned());
    }
    Ok(())
}

fn guest(text: &str) -> Result<(), String> {
    let parts = || text.split('/').skip(1);
    let absolute = text.starts_with('/')
        && !text.contains(['\0', '\\'])
        && !parts().any(|part| part == "." || part == "..");
    if text == "." || absolute {
        return Ok(());
    }
    Err("it is neither `.` nor an absolute path without `..`".to_owned())
}

fn plugin_name(text: &str) -> Result<(), String> {
    text.parse::<PluginName>().map(drop).map_err(|error| error.to_string())
}

fn tool_name(text: &str) -> Result<(), String> {
    text.parse::<ToolName>().map(drop).map_err(|error| error.to_string())
}

fn wire_name(text: &str) -> Result<(), String> {
    let known = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if (1..=64).contains(&text.len()) && text.bytes().all(known) {
        return Ok(());
    }
    Err("it must be 1 to 64 of a to z, A to Z, 0 to 9, `_` and `-`".to_owned())
}

fn name(text: &str) -> Result<(), String> {
    filled(text)?;
    if text.len() > 128 || text.chars().any(is_hidden) {
        return Err("a name has at most 128 bytes and nothing that a reader can't see".to_owned());
    }
    Ok(())
}

fn glob(text: &str) -> Result<(), String> {
    filled(text)?;
    Pattern::new(text).map(drop).map_err(|error| error.to_string())
}

fn host(text: &str) -> Result<(), String> {
    let known = |byte: u8| byte.is_ascii_alphanumeric() || b".-:[]*".contains(&byte);
    if text.contains("://") || text.contains('/') {
        return Err("it is a host alone, without scheme and path".to_owned());
    }
    if text.is_empty() || text.len() > 261 || !text.bytes().all(known) {
        return Err("it is no host name or address".to_owned());
    }
    Ok(())
}

fn method(text: &str) -> Result<(), String> {
    if (1..=32).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_uppercase()) {
        return Ok(());
    }
    Err("it is no method such as `GET`, in capitals".to_owned())
}

/// The characters of a token, by RFC 9110, section 5.6.2.
fn header(text: &str) -> Result<(), String> {
    let known = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if (1..=256).contains(&text.len()) && text.bytes().all(known) {
        return Ok(());
    }
    Err("it is no name of a header".to_owned())
}

fn program(text: &str) -> Result<(), String> {
    path(text)?;
    if text.trim() != text {
        return Err("white space stands round it; arguments are for `args`".to_owned());
    }
    Ok(())
}

fn value(text: &str) -> Result<(), String> {
    if text.contains('\0') {
        return Err("it can't hold NUL".to_owned());
    }
    Ok(())
}

/// An absolute http address (RFC 3986) without a name or password, which would be shown.
fn url(text: &str) -> Result<(), String> {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let Some(rest) = rest else {
        return Err("it begins with neither `http://` nor `https://`".to_owned());
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') {
        return Err("a name or a password belongs into `headers`, by a secret".to_owned());
    }
    if text.contains('#') || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err("it holds what an address can't hold".to_owned());
    }
    host(authority)
}

fn address(text: &str) -> Result<(), String> {
    let known = text.parse::<std::net::SocketAddr>().map(drop);
    known.map_err(|_error| "it is no address with a port, such as `127.0.0.1:8808`".to_owned())
}

/// A host as it stands in a `Host` header, with its port where that is sent.
fn authority(text: &str) -> Result<(), String> {
    host(text)?;
    if text.contains('*') {
        return Err("a name under which it is asked can't hold `*`".to_owned());
    }
    Ok(())
}

/// An origin as browsers send it (RFC 6454, section 6.2).
fn web_origin(text: &str) -> Result<(), String> {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    match rest {
        Some(rest) if !rest.contains('/') => authority(rest),
        _ => Err("it is no origin such as `https://console.example`".to_owned()),
    }
}

fn sha256(text: &str) -> Result<(), String> {
    if text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok(());
    }
    Err("it is no SHA-256 in 64 hexadecimal digits".to_owned())
}

fn origin(text: &str) -> Result<(), String> {
    match text.split_once(':') {
        Some(("env", name)) => variable(name),
        Some(("file", file)) => path(file),
        _ => Err("it begins with neither `env:` nor `file:`".to_owned()),
    }
}

pub(super) const PATH: Text = Text { what: "a path", check: path };
pub(super) const FOLDER: Text = Text { what: "a folder", check: folder };
pub(super) const GUEST: Text = Text { what: "a place in the guest", check: guest };
pub(super) const VARIABLE: Text = Text { what: "a variable's name", check: variable };
pub(super) const TEMPLATE: Text = Text { what: "a text", check: template };
pub(super) const PLUGIN: Text = Text { what: "a plugin's name", check: plugin_name };
pub(super) const TOOL: Text = Text { what: "a tool's name", check: tool_name };
pub(super) const WIRE_NAME: Text = Text { what: "a name for models", check: wire_name };
pub(super) const NAME: Text = Text { what: "a name", check: name };
pub(super) const WORDS: Text = Text { what: "a text", check: any };
pub(super) const GLOB: Text = Text { what: "a pattern", check: glob };
pub(super) const PROGRAM: Text = Text { what: "a program", check: program };
pub(super) const VALUE: Text = Text { what: "a text", check: value };
pub(super) const URL: Text = Text { what: "an address", check: url };
pub(super) const ADDRESS: Text = Text { what: "an address with a port", check: address };
pub(super) const AUTHORITY: Text = Text { what: "a host", check: authority };
pub(super) const ORIGIN: Text = Text { what: "an origin", check: web_origin };
pub(super) const SHA256: Text = Text { what: "a SHA-256", check: sha256 };
pub(super) const HOST: Text = Text { what: "a host", check: host };
pub(super) const METHOD: Text = Text { what: "a method", check: method };
pub(super) const HEADER: Text = Text { what: "a header's name", check: header };
pub(super) const FROM: Text = Text { what: "`\"env:NAME\"` or `\"file:PATH\"`", check: origin };
