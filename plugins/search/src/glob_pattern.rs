//! Globs on paths: what may stand in one, and matching.
//!
//! A glob that can't match anything it seems to ask for is refused instead of finding nothing.

use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};

use crate::error::SearchError;
use crate::limit::GLOB_MAX_BYTES;

const WELL_FORMED: &str = "closed `[ ]` and `{ }`, ranges that go up, and a character after `\\`";

/// A glob on a path below some folder.
#[derive(Debug)]
pub(crate) struct PathGlob {
    matcher: GlobMatcher,
}

impl PathGlob {
    /// Compiles `glob`.
    pub(crate) fn compile(glob: &str) -> Result<Self, SearchError> {
        check(glob)?;
        let compiled = GlobBuilder::new(glob)
            .literal_separator(true)
            .backslash_escape(true)
            .empty_alternates(true)
            .build()
            .map_err(|error| refuse(glob, error.kind().to_string(), WELL_FORMED))?;
        Ok(Self { matcher: compiled.compile_matcher() })
    }

    /// Whether it matches `path`, relative to its folder.
    pub(crate) fn matches(&self, path: &Path) -> bool {
        self.matcher.is_match(path)
    }
}

/// Whether `part` of a glob is a plain name.
pub(crate) fn is_plain(part: &str) -> bool {
    !part.contains(['*', '?', '[', ']', '{', '}', '\\'])
}

/// Refuses what no glob may be, compiled or plain.
pub(crate) fn check(glob: &str) -> Result<(), SearchError> {
    if glob.is_empty() || glob.len() > GLOB_MAX_BYTES {
        return Err(SearchError::BadArgument {
            name: "glob pattern",
            found: format!("{} bytes long", glob.len()),
            expected: "1 to 1024 bytes",
        });
    }
    if glob.starts_with('/') {
        return Err(refuse(
            glob,
            "it begins with `/`".to_owned(),
            "a path below the searched folder",
        ));
    }
    for part in parts(glob) {
        if part == ".." {
            return Err(refuse(glob, "it has `..`".to_owned(), "a path below the searched folder"));
        }
        if part.len() > 2 && has_double_star(part) {
            let problem = format!("`**` is only a part of `{}`", part.escape_debug());
            return Err(refuse(glob, problem, "`**` alone between slashes, as in `**/*.rs`"));
        }
    }
    Ok(())
}

/// The names between slashes, also inside `{a,b}`.
fn parts(glob: &str) -> impl Iterator<Item = &str> {
    glob.split(['/', '{', '}', ','])
}

/// Whether two stars stand together, the first not escaped and neither in brackets.
fn has_double_star(part: &str) -> bool {
    let mut previous = None;
    let mut in_class = false;
    let mut characters = part.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => {
                characters.next();
            }
            '[' => in_class = true,
            ']' => in_class = false,
            '*' if !in_class && previous == Some('*') => return true,
            _ => {}
        }
        previous = Some(character);
    }
    false
}

fn refuse(glob: &str, problem: String, expected: &'static str) -> SearchError {
    SearchError::BadGlob { glob: glob.escape_debug().to_string(), problem, expected }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn malformed_glob_is_an_error_and_not_an_empty_answer() {
        let cases = [
            ("{a,b", "unclosed alternate"),
            ("a}", "unopened alternate"),
            ("[z-a]", "invalid range"),
            ("[ab", "unclosed character class"),
            ("**a", "`**` is only a part of `**a`"),
            ("src/a**/b", "`**` is only a part"),
            ("{**a,b}", "`**` is only a part"),
            ("***", "`**` is only a part"),
            ("\\", "dangling"),
            ("/etc/*", "begins with `/`"),
            ("../*", "has `..`"),
            ("a/../b", "has `..`"),
            ("{a,..}/b", "has `..`"),
        ];
        for (glob, problem) in cases {
            let message = PathGlob::compile(glob).unwrap_err().to_string();
            assert!(message.contains(problem), "{glob}: {message}");
        }
        assert!(PathGlob::compile("").is_err());
        assert!(PathGlob::compile(&"a".repeat(GLOB_MAX_BYTES)).is_ok());
        assert!(PathGlob::compile(&"a".repeat(GLOB_MAX_BYTES + 1)).is_err());
    }

    #[test]
    fn star_stays_in_its_folder_and_double_star_does_not() {
        let matches =
            |glob: &str, path: &str| PathGlob::compile(glob).unwrap().matches(Path::new(path));
        assert!(matches("*.rs", "a.rs") && matches("*.rs", ".a.rs"));
        assert!(!matches("*.rs", "b/a.rs"));
        assert!(matches("**/*.rs", "a.rs") && matches("**/*.rs", "b/c/a.rs"));
        assert!(matches("b/**", "b/c/a.rs") && !matches("b/**", "b"));
        assert!(matches("{a,b/**/c}.rs", "b/x/c.rs"));
        assert!(matches("[!a]?.rs", "bc.rs") && !matches("[!a]?.rs", "ab.rs"));
        assert!(matches("\\*\\*a", "**a") && matches("[*][*]*", "**a"));
        assert!(matches("-e", "-e") && matches("--help*", "--help.md"));
    }
}
