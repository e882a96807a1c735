//! How much a plugin may say of itself.
//!
//! Every number bounds what a hostile section can make a loader keep, show or pay for. All sizes
//! are bytes of UTF-8 unless the name says otherwise. Must not hold limits of calls.

/// The whole `belljar:plugin` section.
pub const SECTION_BYTES: usize = 1024 * 1024;
/// Arrays and objects inside each other in the section's JSON.
pub const JSON_DEPTH: usize = 32;
/// Components inside each other; deeper bytes are refused unread.
pub const COMPONENT_DEPTH: usize = 100;
/// Findings that are kept one by one; the rest are counted.
pub const FINDINGS: usize = 100;

/// A plugin's name.
pub const NAME_BYTES: usize = 64;
/// A plugin's version.
pub const VERSION_BYTES: usize = 64;
/// A plugin's description.
pub const DESCRIPTION_BYTES: usize = 4 * 1024;
/// Authors of one plugin.
pub const AUTHORS: usize = 16;
/// One author, the licence expression, the revision, or the toolchain.
pub const LINE_BYTES: usize = 256;
/// A homepage or source URL.
pub const URL_BYTES: usize = 2 * 1024;

/// Functions of one plugin.
pub const FUNCTIONS: usize = 1024;
/// The docs of one function or one item.
pub const DOCS_BYTES: usize = 8 * 1024;
/// A function's path, or the path of an item below it.
pub const PATH_BYTES: usize = 512;
/// Items with docs or a schema below one function.
pub const ITEMS: usize = 1024;
/// Types that are looked at below one function while its WIT is read. Records of records of records
/// double at each step, so the walk is bounded by steps and not only by what it finds.
pub const TYPE_VISITS: usize = 4096;
/// Types inside each other below one parameter or result, options, lists and aliases included.
pub const TYPE_DEPTH: usize = 32;

/// A tool's title.
pub const TITLE_BYTES: usize = 128;
/// Examples of one function, or one `examples` keyword.
pub const EXAMPLES: usize = 16;
/// One example, or the keywords of one schema tag, as JSON.
pub const JSON_VALUE_BYTES: usize = 4 * 1024;
/// A `pattern` keyword.
pub const PATTERN_BYTES: usize = 1024;
/// Names under `@locks` of one function.
pub const LOCKS: usize = 8;
/// Needs of the plugin, or of one function.
pub const NEEDS: usize = 64;
/// Why something is needed.
pub const WHY_BYTES: usize = 512;
/// A host name with its port. RFC 1035 allows a name 253 characters.
pub const HOST_BYTES: usize = 260;
/// Methods of one http need.
pub const METHODS: usize = 16;
/// The name of a variable, a secret, a lock or a method.
pub const WORD_BYTES: usize = 128;
