//! Which way a function is called: by Rust types where bytes would be dear otherwise.
//!
//! Lifting a dynamic value costs 40 bytes of hostcall fuel an element, also for a `list<u8>`: of 16
//! MiB that leaves 410 KiB. A function with these types goes by the typed path, where a byte costs a
//! byte:
//!
//! | parameters | with a return |
//! |---|---|
//! | none · `string` · `list<u8>` · `string, list<u8>` | none · `string` · `list<u8>` · rich output · `result` of one of those or of nothing, with a `string` as error |
//!
//! All others are dynamic, and so are those of this table without bytes on either side. Their byte
//! lists can hold 400 KiB in together (`limits::DYNAMIC_BYTES`) and about as much out. Must not call
//! anything.

use super::plan::{Payload, Returns};
use super::shape::{Record, Shape};

/// How a function is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Route {
    Dynamic,
    Typed(Takes, Gives),
}

/// Parameters of the typed path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Takes {
    Nothing,
    Text,
    Bytes,
    TextBytes,
}

/// Returns of the typed path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gives {
    Nothing,
    Text,
    Bytes,
    Rich,
    UnitOrText,
    TextOrText,
    BytesOrText,
    RichOrText,
}

impl Route {
    pub(super) fn of(arguments: &Record, flattened: bool, returns: &Returns) -> Self {
        let shapes: Vec<&Shape> = arguments.fields.iter().map(|field| &field.shape).collect();
        let takes = match shapes.as_slice() {
            _ if flattened => None,
            [] => Some(Takes::Nothing),
            [Shape::String] => Some(Takes::Text),
            [Shape::Bytes] => Some(Takes::Bytes),
            [Shape::String, Shape::Bytes] => Some(Takes::TextBytes),
            _ => None,
        };
        let gives = match returns {
            Returns::Nothing => Some(Gives::Nothing),
            Returns::Plain(Payload::Value(Shape::String)) => Some(Gives::Text),
            Returns::Plain(Payload::Value(Shape::Bytes)) => Some(Gives::Bytes),
            Returns::Plain(Payload::Rich) => Some(Gives::Rich),
            Returns::Result(ok, Payload::Value(Shape::String)) => match ok {
                Payload::Unit => Some(Gives::UnitOrText),
                Payload::Value(Shape::String) => Some(Gives::TextOrText),
                Payload::Value(Shape::Bytes) => Some(Gives::BytesOrText),
                Payload::Rich => Some(Gives::RichOrText),
                Payload::Value(_) => None,
            },
            _ => None,
        };
        match (takes, gives) {
            (Some(takes), Some(gives)) if takes.has_bytes() || gives.has_bytes() => {
                Self::Typed(takes, gives)
            }
            _ => Self::Dynamic,
        }
    }
}

impl Takes {
    fn has_bytes(self) -> bool {
        matches!(self, Self::Bytes | Self::TextBytes)
    }
}

impl Gives {
    fn has_bytes(self) -> bool {
        matches!(self, Self::Bytes | Self::Rich | Self::BytesOrText | Self::RichOrText)
    }
}
