//! Every bound of a search, and the check of the arguments that may lower one.
//!
//! The bounds are stated again in `wit/world.wit`, for those who call.

use crate::error::SearchError;

/// Length of a regular expression in bytes. Against patterns that cost more to compile than to run.
pub(crate) const PATTERN_MAX_BYTES: usize = 4096;

/// Size of a compiled regular expression in bytes. Against `(\w{1000}){1000}`.
pub(crate) const COMPILED_MAX_BYTES: usize = 1 << 20;

/// Length of a glob in bytes.
pub(crate) const GLOB_MAX_BYTES: usize = 1024;

/// Length of a path argument in bytes.
pub(crate) const PATH_MAX_BYTES: usize = 4096;

/// Size of a file that is searched, in bytes. Against a file that fills the guest's memory.
pub(crate) const FILE_MAX_BYTES: u64 = 16 << 20;

/// Size of an ignore file in bytes. Against a planted one with a million rules to compile.
pub(crate) const IGNORE_FILE_MAX_BYTES: u64 = 256 << 10;

/// Characters shown of a line.
pub(crate) const LINE_MAX_CHARS: usize = 2000;

/// Text in one result, in bytes: below the 256 KiB that a model is shown, with room for JSON.
pub(crate) const RESULT_MAX_BYTES: usize = 192 << 10;

/// Context lines before and after a match.
const CONTEXT_MAX: u8 = 20;

/// Results by default, and at most.
const RESULTS_DEFAULT: u32 = 100;
const RESULTS_MAX: u32 = 2000;

/// The bounds of a walk; tests take smaller ones.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WalkLimits {
    /// Folder entries looked at in all. Against folders that never end.
    pub(crate) entries_max: usize,
    /// Levels of folders entered. Against a path that grows until nothing can open it.
    pub(crate) depth_max: usize,
}

/// The bounds of every call's walk.
pub(crate) const WALK_LIMITS: WalkLimits = WalkLimits { entries_max: 200_000, depth_max: 64 };

/// The number of results asked for, or the default.
pub(crate) fn results(limit: Option<u32>) -> Result<usize, SearchError> {
    let limit = limit.unwrap_or(RESULTS_DEFAULT);
    if !(1..=RESULTS_MAX).contains(&limit) {
        return Err(SearchError::BadArgument {
            name: "limit",
            found: limit.to_string(),
            expected: "1 to 2000",
        });
    }
    Ok(usize::try_from(limit).unwrap_or(usize::MAX))
}

/// The number of context lines asked for, or none.
pub(crate) fn context(context: Option<u8>) -> Result<usize, SearchError> {
    let context = context.unwrap_or(0);
    if context > CONTEXT_MAX {
        return Err(SearchError::BadArgument {
            name: "context",
            found: context.to_string(),
            expected: "0 to 20",
        });
    }
    Ok(usize::from(context))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_and_context_outside_their_bounds_are_refused() {
        assert_eq!(results(None).unwrap(), 100);
        assert_eq!(results(Some(1)).unwrap(), 1);
        assert_eq!(results(Some(2000)).unwrap(), 2000);
        assert!(results(Some(0)).is_err());
        assert!(results(Some(2001)).is_err());
        assert_eq!(context(Some(20)).unwrap(), 20);
        assert!(context(Some(21)).is_err());
    }
}
