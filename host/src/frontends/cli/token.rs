//! `belljar token`: makes a token, prints it once, and says what goes into the configuration.
//!
//! Writes no file: what isn't kept can't be read by others.

use std::io::Read as _;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::args::TokenArgs;
use super::error::CliError;
use super::exit::Exit;
use super::show::{print, tell};
use crate::config::{MCP_CALLER, Role};
use crate::contract::ids::Digest;

/// Random bytes of a token: nobody guesses one in 2²⁵⁶.
const RANDOM_LEN: usize = 32;
/// What a token begins with, so that scanners for leaked secrets know it.
const PREFIX: &str = "bj_";

/// Makes a token.
pub(super) fn run(args: &TokenArgs) -> Result<Exit, CliError> {
    let mut random = [0; RANDOM_LEN];
    std::fs::File::open("/dev/urandom")
        .and_then(|mut source| source.read_exact(&mut random))
        .map_err(|error| CliError::Machine(format!("no token can be made: {error}")))?;
    let token = format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(random));
    // A comment of TOML, so that all of it can be appended to the file.
    tell("# The token is on stdout and kept nowhere. These lines belong into belljar.toml:");
    tell(&lines(args, &Digest::of(token.as_bytes()))?);
    print(&(token + "\n"))?;
    Ok(Exit::Success)
}

/// The token's section of the configuration.
fn lines(args: &TokenArgs, sha256: &Digest) -> Result<String, CliError> {
    let roles = if args.roles.is_empty() { &[Role::Caller][..] } else { &args.roles };
    let caller = args.caller.as_deref();
    let caller = caller.or_else(|| roles.contains(&Role::Caller).then_some(MCP_CALLER));
    let mut text = format!("[tokens.{}]\nsha256 = \"{sha256}\"\n", key(&args.name)?);
    if let Some(caller) = caller {
        text.push_str(&format!("caller = {}\n", quoted(caller)?));
    }
    let names = serde_json::to_string(roles).map_err(|error| unwritten(&error))?;
    text.push_str(&format!("roles = {names}"));
    Ok(text)
}

/// A key of TOML: quoted where it has to be.
fn key(name: &str) -> Result<String, CliError> {
    let bare = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    if bare { Ok(name.to_owned()) } else { quoted(name) }
}

/// A basic string of TOML, which JSON's is where nothing in it hides.
fn quoted(text: &str) -> Result<String, CliError> {
    serde_json::to_string(text).map_err(|error| unwritten(&error))
}

fn unwritten(error: &serde_json::Error) -> CliError {
    CliError::Machine(format!("no configuration can be made: {error}"))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::{Sources, Surroundings, TokenOrigin, from_text};

    fn configured(args: &TokenArgs) -> crate::config::TokenSettings {
        let text = lines(args, &Digest::of(b"token")).unwrap();
        let surroundings = Surroundings::default();
        let sources = Sources { option: None, surroundings, builtins: &[] };
        let config = from_text(&text, Path::new("belljar.toml"), &sources);
        config.unwrap_or_else(|error| panic!("{error}\n{text}")).tokens.remove(0)
    }

    #[test]
    fn the_printed_lines_are_a_configuration() {
        for name in ["laptop", "my laptop", "a\"b\\c", "é"] {
            let args = TokenArgs { name: name.into(), caller: None, roles: Vec::new() };
            let token = configured(&args);
            assert_eq!((token.name.as_str(), token.caller.as_deref()), (name, Some("mcp")));
            assert_eq!(token.roles, [Role::Caller]);
            assert_eq!(token.origin, TokenOrigin::Sha256(Digest::of(b"token")));
        }
    }

    #[test]
    fn a_token_that_makes_no_call_has_no_caller() {
        let roles = vec![Role::Approver, Role::Operator];
        let token = configured(&TokenArgs { name: "console".into(), caller: None, roles });
        assert_eq!((token.caller, token.roles.len()), (None, 2));
    }
}
