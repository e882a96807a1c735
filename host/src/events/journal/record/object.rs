//! A JSON object written field by field into a buffer.
//!
//! Names of fields are ours and need no escaping. Derived serialisation of the same took twice as
//! long, on the way of every call; what is rare or nested still goes by it.

use serde::Serialize;
use serde_json::Result;

use crate::contract::arguments::canonical::plain_len;
use crate::contract::ids::{Digest, ToolId};

/// An object that has been begun and must be [`Self::end`]ed.
pub(super) struct Object<'b> {
    buffer: &'b mut Vec<u8>,
    is_empty: bool,
}

impl<'b> Object<'b> {
    pub(super) fn begin(buffer: &'b mut Vec<u8>) -> Self {
        buffer.push(b'{');
        Self { buffer, is_empty: true }
    }

    pub(super) fn end(self) {
        self.buffer.push(b'}');
    }

    fn name(&mut self, name: &str) {
        self.buffer.extend_from_slice(if self.is_empty { b"\"" } else { b",\"" });
        self.is_empty = false;
        self.buffer.extend_from_slice(name.as_bytes());
        self.buffer.extend_from_slice(b"\":");
    }

    pub(super) fn text(&mut self, name: &str, text: &str) -> Result<()> {
        self.name(name);
        if plain_len(text) == text.len() {
            self.buffer.push(b'"');
            self.buffer.extend_from_slice(text.as_bytes());
            self.buffer.push(b'"');
            return Ok(());
        }
        serde_json::to_writer(&mut *self.buffer, text)
    }

    pub(super) fn text_if(&mut self, name: &str, text: Option<&str>) -> Result<()> {
        text.map_or(Ok(()), |text| self.text(name, text))
    }

    pub(super) fn number(&mut self, name: &str, number: u64) -> Result<()> {
        self.value(name, &number)
    }

    pub(super) fn value(&mut self, name: &str, value: &impl Serialize) -> Result<()> {
        self.name(name);
        serde_json::to_writer(&mut *self.buffer, value)
    }

    /// A field that is JSON already.
    pub(super) fn json(&mut self, name: &str, json: &str) {
        self.name(name);
        self.buffer.extend_from_slice(json.as_bytes());
    }

    /// Plugin and tool names need no escaping.
    pub(super) fn tool(&mut self, name: &str, tool: &ToolId) {
        self.name(name);
        for part in ["\"", tool.plugin.as_str(), ".", tool.tool.as_str(), "\""] {
            self.buffer.extend_from_slice(part.as_bytes());
        }
    }

    pub(super) fn digest(&mut self, name: &str, digest: Option<&Digest>) {
        let Some(digest) = digest else { return };
        self.name(name);
        self.buffer.push(b'"');
        self.buffer.extend_from_slice(&digest.hex());
        self.buffer.push(b'"');
    }

    pub(super) fn object(&mut self, name: &str) -> Object<'_> {
        self.name(name);
        Object::begin(self.buffer)
    }
}
