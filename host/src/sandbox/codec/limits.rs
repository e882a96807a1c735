//! The bounds of the codec, each with the reason for its number.
//!
//! Must not hold limits of calls, which an operator can set: those are in `contract::limits`.

/// Bytes of one input or output schema as compact JSON: more would fill a model's window.
pub const SCHEMA_BYTES: usize = 64 * 1024;
/// Types inside each other. Every walk over a type or a value recurses at most this deep.
pub const DEPTH: usize = 32;
/// Types, fields, cases and names of one function. Types are a graph and plans are trees: records
/// of records double at each step, so that depth alone bounds nothing.
pub const NODES: usize = 4096;
/// Failures of one set of arguments that are listed one by one; the rest are counted.
pub const FAILURES: usize = 32;
/// Names that a message lists, nearest first.
pub const NAMES_LISTED: usize = 12;
/// Characters of a name or value of the caller that a message repeats.
pub const SHOWN: usize = 60;
/// Decoded bytes in all byte lists of one set of arguments where they go as dynamic values, which
/// take 40 bytes an element: as much as 16 MiB of lifted values can bring back.
pub const DYNAMIC_BYTES: usize = 400 * 1024;
/// Attachments of one result; each costs more than the element it came from.
pub const ATTACHMENTS: usize = 1024;
/// Bytes of a compiled `pattern`, and of its cache while it matches.
pub const PATTERN_COMPILED_BYTES: usize = 256 * 1024;
/// Bytes of a `pattern` as written.
pub const PATTERN_BYTES: usize = 1024;
