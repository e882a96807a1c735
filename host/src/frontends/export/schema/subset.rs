//! What a provider's subset of JSON Schema is made of. Knows no provider.

use serde_json::Value;

/// What becomes of a keyword that holds no schemas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Treatment {
    /// It stays.
    Keep,
    /// It moves into the description.
    Note,
}

/// What becomes of a name that an object needn't have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Optional {
    /// It is required, and null says that it is left out.
    Null,
    /// It may be left out, and then it needn't take null too.
    Absent,
}

/// What holds where the provider keeps the model to the schema.
#[derive(Debug)]
pub(in super::super) struct Strictness {
    /// What becomes of optional names.
    pub(in super::super) optional: Optional,
    /// Whether a definition may refer to itself.
    pub(in super::super) recursion: bool,
}

/// A subset of JSON Schema.
#[derive(Debug)]
pub(in super::super) struct Subset {
    /// What becomes of a keyword with this value; asked for those that hold no schemas, and in a
    /// `plain` subset for all that aren't walked.
    pub(in super::super) keyword: fn(&str, &Value) -> Treatment,
    /// Whether only `properties`, `items`, `anyOf` and definitions hold schemas, and a reference
    /// stands alone.
    pub(in super::super) plain: bool,
    /// Whether it knows `const`, and null in an `enum`.
    pub(in super::super) constants: bool,
    /// Whether arguments need names of 1 to 64 letters, digits, `_`, `.` and `-`.
    pub(in super::super) plain_names: bool,
    /// Set where the provider keeps the model to it.
    pub(in super::super) strictness: Option<Strictness>,
}
