//! Identifiers, each checked once where it is made.
//!
//! Nothing here looks anything up; a valid id may name a tool that doesn't exist. Names and ids of
//! calls are shared by their clones, for each call makes many.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Longest plugin or tool name, in bytes.
pub const NAME_MAX_LEN: usize = 128;
/// Longest call id, in bytes.
pub const CALL_ID_MAX_LEN: usize = 128;

/// Length of an approval's id: 60 bits, too many to guess and few enough to type.
pub const APPROVAL_ID_LEN: usize = 12;

/// Why a text is not an identifier.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// A plugin or tool name of the wrong form.
    #[error(
        "`{0}` is not a name: expected 1 to {NAME_MAX_LEN} ASCII letters, digits and single \
         hyphens, beginning with a letter"
    )]
    Name(String),
    /// A tool id without its two halves.
    #[error("`{0}` is not a tool id: expected PLUGIN.TOOL")]
    ToolId(String),
    /// A call id that is empty, too long or not printable.
    #[error("`{0}` is not a call id: expected 1 to {CALL_ID_MAX_LEN} printable ASCII characters")]
    CallId(String),
    /// An approval's id of the wrong form.
    #[error("`{0}` is not the id of an approval: expected {APPROVAL_ID_LEN} of a to z and 2 to 7")]
    ApprovalId(String),
    /// A SHA-256 of the wrong form.
    #[error("`{0}` is not a SHA-256: expected 64 hex digits")]
    Digest(String),
}

/// Clips hostile text for an error message; escapes what a terminal would act on.
fn shown(text: &str) -> String {
    super::escape::clipped_line(text, 80)
}

fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= NAME_MAX_LEN
        && text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text
            .split('-')
            .all(|word| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}

macro_rules! name_type {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(Arc<str>);

        impl $name {
            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = IdError;
            fn from_str(text: &str) -> Result<Self, IdError> {
                if is_name(text) {
                    Ok(Self(text.into()))
                } else {
                    Err(IdError::Name(shown(text)))
                }
            }
        }

        impl TryFrom<String> for $name {
            type Error = IdError;
            fn try_from(text: String) -> Result<Self, IdError> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> String {
                name.as_str().to_owned()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

name_type! {
    /// A plugin's name: kebab-case ASCII.
    PluginName
}
name_type! {
    /// A tool's name within its plugin: kebab-case ASCII.
    ToolName
}

/// `<plugin>.<tool>`, unique among what is loaded.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ToolId {
    /// The plugin that holds the tool.
    pub plugin: PluginName,
    /// The tool's name in it.
    pub tool: ToolName,
}

impl FromStr for ToolId {
    type Err = IdError;
    fn from_str(text: &str) -> Result<Self, IdError> {
        let (plugin, tool) = text.split_once('.').ok_or_else(|| IdError::ToolId(shown(text)))?;
        Ok(Self { plugin: plugin.parse()?, tool: tool.parse()? })
    }
}

impl TryFrom<String> for ToolId {
    type Error = IdError;
    fn try_from(text: String) -> Result<Self, IdError> {
        text.parse()
    }
}

impl From<ToolId> for String {
    fn from(id: ToolId) -> String {
        id.to_string()
    }
}

impl fmt::Display for ToolId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.plugin, self.tool)
    }
}

/// Names one call; results carry it back.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CallId(Arc<str>);

impl CallId {
    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for CallId {
    type Err = IdError;
    fn from_str(text: &str) -> Result<Self, IdError> {
        let printable = text.bytes().all(|byte| byte.is_ascii_graphic());
        if printable && !text.is_empty() && text.len() <= CALL_ID_MAX_LEN {
            Ok(Self(text.into()))
        } else {
            Err(IdError::CallId(shown(text)))
        }
    }
}

impl TryFrom<String> for CallId {
    type Error = IdError;
    fn try_from(text: String) -> Result<Self, IdError> {
        text.parse()
    }
}

impl From<CallId> for String {
    fn from(id: CallId) -> String {
        id.as_str().to_owned()
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Names an approval, pending or remembered. Made at random, so that nobody guesses one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ApprovalId(String);

impl ApprovalId {
    /// An id made of random bytes; `random` must come from the operating system.
    pub fn from_random(random: [u8; APPROVAL_ID_LEN]) -> Self {
        const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
        let letter =
            |byte: u8| char::from(ALPHABET.get(usize::from(byte % 32)).copied().unwrap_or(b'a'));
        Self(random.into_iter().map(letter).collect())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ApprovalId {
    type Err = IdError;
    fn from_str(text: &str) -> Result<Self, IdError> {
        let known = |byte: u8| byte.is_ascii_lowercase() || (b'2'..=b'7').contains(&byte);
        if text.len() == APPROVAL_ID_LEN && text.bytes().all(known) {
            Ok(Self(text.to_owned()))
        } else {
            Err(IdError::ApprovalId(shown(text)))
        }
    }
}

impl TryFrom<String> for ApprovalId {
    type Error = IdError;
    fn try_from(text: String) -> Result<Self, IdError> {
        text.parse()
    }
}

impl From<ApprovalId> for String {
    fn from(id: ApprovalId) -> String {
        id.0
    }
}

impl fmt::Display for ApprovalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The SHA-256 of something, shown as 64 lower-case hex digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// Digests `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        use sha2::Digest as _;
        Self(sha2::Sha256::digest(bytes).into())
    }

    /// A digest that was computed before.
    pub(crate) fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The 32 bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The 64 lower-case hex digits, in ASCII. Each record of the audit log has some, so they aren't
    /// formatted byte by byte.
    pub fn hex(&self) -> [u8; 64] {
        let digit = |half: u8| half + if half < 10 { b'0' } else { b'a' - 10 };
        let mut digits = [0; 64];
        for (pair, byte) in digits.chunks_exact_mut(2).zip(self.0) {
            pair.copy_from_slice(&[digit(byte >> 4), digit(byte & 15)]);
        }
        digits
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(std::str::from_utf8(&self.hex()).unwrap_or_default())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl FromStr for Digest {
    type Err = IdError;
    fn from_str(text: &str) -> Result<Self, IdError> {
        let wrong = || IdError::Digest(shown(text));
        let mut bytes = [0; 32];
        if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(wrong());
        }
        for (slot, pair) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
            let pair = std::str::from_utf8(pair).map_err(|_not_ascii| wrong())?;
            *slot = u8::from_str_radix(pair, 16).map_err(|_not_hex| wrong())?;
        }
        Ok(Self(bytes))
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
    }
}

impl Serialize for Digest {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_kebab_ascii() {
        for good in ["a", "read-all", "HTTP-get", "x2"] {
            assert!(good.parse::<ToolName>().is_ok(), "{good}");
        }
        for bad in ["", "-a", "a-", "a--b", "2x", "fs_read", "fs-reаd", "a b", "a.b", "a\u{200b}"]
        {
            assert!(bad.parse::<ToolName>().is_err(), "{bad}");
        }
        assert!("a".repeat(NAME_MAX_LEN).parse::<PluginName>().is_ok());
        assert!("a".repeat(NAME_MAX_LEN + 1).parse::<PluginName>().is_err());
    }

    #[test]
    fn a_tool_id_reads_back() {
        let id: ToolId = "files.read-all".parse().unwrap();
        assert_eq!(id.to_string().parse::<ToolId>().unwrap(), id);
        assert!("files".parse::<ToolId>().is_err());
        assert!("files.a.b".parse::<ToolId>().is_err());
    }

    #[test]
    fn a_refused_name_is_escaped_in_its_error() {
        let error = "\u{1b}[2J".parse::<ToolName>().unwrap_err().to_string();
        assert!(!error.contains('\u{1b}'), "{error:?}");
    }
}
