//! Reads the values of options: amounts, folders, variables, plugins.
//!
//! Looks at nothing but the text: whether a folder is there is found out when it is granted.

use std::path::PathBuf;
use std::time::Duration;

use belljar_metadata::tags::quantity;

use crate::app::{DirRequest, PluginSource};
use crate::contract::escape::{clipped_line, is_hidden};
use crate::contract::grants::{DirMode, EnvGrant};
use crate::contract::ids::{IdError, PluginName};

/// Longest session or key, in bytes.
const LABEL_MAX_LEN: usize = 256;

/// Why a value of an option can't be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum ParseError {
    /// No amount of fuel.
    #[error("expected a whole number above 0, such as `2000000` or `2e9`")]
    Count,
    /// No time.
    #[error("expected a time above 0 in whole milliseconds, such as `200ms`, `5s` or `2m`")]
    Duration,
    /// No size.
    #[error("expected a whole number of bytes above 0, such as `65536`, `64KiB` or `64MiB`")]
    Size,
    /// A grant without a folder.
    #[error("it names no folder: expected HOST[:GUEST][:ro|rw]")]
    NoHost,
    /// A grant whose second part is neither of what it may be.
    #[error(
        "`{0}` is neither a mode (`ro`, `rw`) nor a place in the guest (`.` or an absolute path); \
         for a folder with a colon in its name, give the place too, as in HOST:GUEST"
    )]
    DirPart(String),
    /// A variable without a value.
    #[error("expected NAME=VALUE")]
    Env,
    /// A name that no plugin can have.
    #[error("{0}; for a file with `=` in its name, write ./ before it")]
    PluginName(IdError),
    /// A plugin without a file.
    #[error("it names no file: expected [NAME=]FILE")]
    NoFile,
    /// A session or a key that can't be one.
    #[error("expected 1 to {LABEL_MAX_LEN} bytes of text that hides nothing")]
    Label,
    /// `@` alone.
    #[error("`@` names no file: expected @FILE")]
    NoArgumentFile,
}

/// Where a call's arguments come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ArgumentSource {
    /// They are there.
    Text(String),
    /// A file holds them.
    File(PathBuf),
    /// They come over stdin.
    Stdin,
}

/// `JSON`, `@FILE` or `-`.
pub(super) fn parse_arguments(text: &str) -> Result<ArgumentSource, ParseError> {
    match text.strip_prefix('@') {
        Some("") => Err(ParseError::NoArgumentFile),
        Some(path) => Ok(ArgumentSource::File(path.into())),
        None if text == "-" => Ok(ArgumentSource::Stdin),
        None => Ok(ArgumentSource::Text(text.to_owned())),
    }
}

/// An amount such as `2000000` or `2e9`; as a tag of a plugin has it.
pub(super) fn parse_count(text: &str) -> Result<u64, ParseError> {
    quantity::parse_count(text).map_err(|_| ParseError::Count)
}

/// A time in `ms`, `s` or `m`.
pub(super) fn parse_duration(text: &str) -> Result<Duration, ParseError> {
    quantity::parse_duration(text).map_err(|_| ParseError::Duration)
}

/// A size in bytes, `KiB`, `MiB` or `GiB`.
pub(super) fn parse_size(text: &str) -> Result<u64, ParseError> {
    quantity::parse_bytes(text).map_err(|_| ParseError::Size)
}

/// `HOST[:GUEST][:ro|rw]`; read-only where nothing is said.
pub(super) fn parse_dir(text: &str) -> Result<DirRequest, ParseError> {
    let (places, mode) = match text.rsplit_once(':') {
        Some((places, "ro")) => (places, DirMode::ReadOnly),
        Some((places, "rw")) => (places, DirMode::ReadWrite),
        _ => (text, DirMode::ReadOnly),
    };
    let (host, guest) = match places.rsplit_once(':') {
        Some((host, guest)) if guest == "." || guest.starts_with('/') => (host, Some(guest)),
        Some((_, part)) => return Err(ParseError::DirPart(clipped_line(part, 80))),
        None => (places, None),
    };
    if host.is_empty() {
        return Err(ParseError::NoHost);
    }
    Ok(DirRequest { host: host.into(), guest: guest.map(str::to_owned), mode })
}

/// `NAME=VALUE`. Whether the name can be one is the grant's to say.
pub(super) fn parse_env(text: &str) -> Result<EnvGrant, ParseError> {
    let (name, value) = text.split_once('=').ok_or(ParseError::Env)?;
    Ok(EnvGrant { name: name.to_owned(), value: value.to_owned() })
}

/// The name of a session, or a key: any text that shows as it is.
pub(super) fn parse_label(text: &str) -> Result<String, ParseError> {
    let fits = !text.is_empty() && text.len() <= LABEL_MAX_LEN && !text.chars().any(is_hidden);
    fits.then(|| text.to_owned()).ok_or(ParseError::Label)
}

/// `[NAME=]FILE`. What stands before `=` is a name unless it holds a slash.
pub(super) fn parse_plugin(text: &str) -> Result<PluginSource, ParseError> {
    let (name, path) = match text.split_once('=') {
        Some((name, path)) if !name.contains('/') => {
            (Some(name.parse::<PluginName>().map_err(ParseError::PluginName)?), path)
        }
        _ => (None, text),
    };
    if path.is_empty() {
        return Err(ParseError::NoFile);
    }
    Ok(PluginSource { name, path: path.into() })
}

#[cfg(test)]
mod tests;
