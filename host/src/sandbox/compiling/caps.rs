//! Counts what a component is made of, before a compiler sees it.
//!
//! Reads section headers and sizes and validates nothing. The bounds are a few times what the
//! largest honest components have, and below those of the validator; what passes them and is still
//! a bomb meets the bounds of the process that compiles.

use wasmparser::{KnownCustom, Name, Parser, Payload};

/// Modules and components in components, all in all. componentize-py links about thirty.
const PARTS_MAX: usize = 512;
/// Components in components in components.
const NESTING_MAX: usize = 16;
/// Functions with a body, all in all.
const FUNCTIONS_MAX: u64 = 200_000;
/// Bytes of one function's body: an interpreter's loop has some hundred thousand.
const BODY_MAX_LEN: usize = 1 << 20;
/// Entries of all other sections together: types, imports, exports, elements, instances, aliases.
const ENTRIES_MAX: u64 = 1_000_000;
/// Bytes of a function's name, as engines take for an import's. Each frame of a backtrace copies it.
const NAME_MAX_LEN: usize = 100_000;

/// What is counted, and how: one more where that changes.
const RULES: u64 = 1;

/// All bounds: code that was kept under others may be of a component that these refuse.
pub(super) const ALL: [u64; 7] = [
    RULES,
    PARTS_MAX as u64,
    NESTING_MAX as u64,
    FUNCTIONS_MAX,
    BODY_MAX_LEN as u64,
    ENTRIES_MAX,
    NAME_MAX_LEN as u64,
];

/// What a component has too much of.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CapsError {
    /// Too much of something.
    #[error("it has more {what} than the {most} that are compiled")]
    Count {
        /// What is counted.
        what: &'static str,
        /// How much there may be.
        most: u64,
    },
    /// One function.
    #[error(
        "one of its functions has {0} bytes, and the compiler takes up to {BODY_MAX_LEN}; build it \
         with less inlining, or split it"
    )]
    Body(usize),
    /// One name.
    #[error(
        "the name of one of its functions has {0} bytes, and up to {NAME_MAX_LEN} are taken; strip \
         its names"
    )]
    Name(usize),
}

#[derive(Default)]
struct Tally {
    parts: usize,
    depth: usize,
    functions: u64,
    entries: u64,
}

/// Counts. Bytes that can't be read are left to the validator, which has words for them.
pub(super) fn check(bytes: &[u8]) -> Result<(), CapsError> {
    let mut tally = Tally::default();
    for payload in Parser::new(0).parse_all(bytes) {
        let Ok(payload) = payload else { return Ok(()) };
        tally.add(&payload)?;
    }
    Ok(())
}

impl Tally {
    fn add(&mut self, payload: &Payload<'_>) -> Result<(), CapsError> {
        match payload {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => {
                self.parts += 1;
                self.depth += 1;
                within("modules and components", self.parts as u64, PARTS_MAX as u64)?;
                within("levels of components", self.depth as u64, NESTING_MAX as u64)
            }
            // Each part has an end, and the outermost one's is the last.
            Payload::End(_) => {
                self.depth = self.depth.saturating_sub(1);
                Ok(())
            }
            Payload::CodeSectionStart { count, .. } => {
                self.functions += u64::from(*count);
                within("functions", self.functions, FUNCTIONS_MAX)
            }
            Payload::CodeSectionEntry(body) => {
                let len = body.range().len();
                if len > BODY_MAX_LEN { Err(CapsError::Body(len)) } else { Ok(()) }
            }
            Payload::CustomSection(custom) => match custom.as_known() {
                KnownCustom::Name(names) => check_names(names),
                _ => Ok(()),
            },
            other => {
                self.entries = self.entries.saturating_add(u64::from(count_of(other)));
                within("entries in its sections", self.entries, ENTRIES_MAX)
            }
        }
    }
}

/// Names that can't be read are no names: the compiler leaves them out.
fn check_names(names: wasmparser::NameSectionReader<'_>) -> Result<(), CapsError> {
    let functions = names.into_iter().filter_map(|part| match part {
        Ok(Name::Function(functions)) => Some(functions),
        _ => None,
    });
    let named = functions.flat_map(IntoIterator::into_iter).flatten();
    let longest = named.map(|naming| naming.name.len()).max().unwrap_or_default();
    if longest > NAME_MAX_LEN { Err(CapsError::Name(longest)) } else { Ok(()) }
}

fn within(what: &'static str, found: u64, most: u64) -> Result<(), CapsError> {
    if found > most { Err(CapsError::Count { what, most }) } else { Ok(()) }
}

fn count_of(payload: &Payload<'_>) -> u32 {
    match payload {
        Payload::TypeSection(it) => it.count(),
        Payload::ImportSection(it) => it.count(),
        Payload::FunctionSection(it) => it.count(),
        Payload::TableSection(it) => it.count(),
        Payload::MemorySection(it) => it.count(),
        Payload::TagSection(it) => it.count(),
        Payload::GlobalSection(it) => it.count(),
        Payload::ExportSection(it) => it.count(),
        Payload::ElementSection(it) => it.count(),
        Payload::DataSection(it) => it.count(),
        Payload::InstanceSection(it) => it.count(),
        Payload::CoreTypeSection(it) => it.count(),
        Payload::ComponentInstanceSection(it) => it.count(),
        Payload::ComponentAliasSection(it) => it.count(),
        Payload::ComponentTypeSection(it) => it.count(),
        Payload::ComponentCanonicalSection(it) => it.count(),
        Payload::ComponentImportSection(it) => it.count(),
        Payload::ComponentExportSection(it) => it.count(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests;
