//! The globs of rules, compiled when policy is loaded.
//!
//! Sees text and nothing else: a pattern over a path knows no folders, links or dots, so what a
//! tool may reach is for grants to say.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// Longest pattern, in bytes. Bounds what one rule can make the host compile.
const PATTERN_MAX_LEN: usize = 1024;

/// What a glob gives a meaning of its own.
const SPECIAL: [char; 7] = ['*', '?', '[', ']', '{', '}', '\\'];

/// A compiled glob over the whole of a text, with letter case: `*` stands for any text (also with
/// `/`, `.` and line ends in it), `?` for one byte, `[a-z]` and `[!a-z]` for one ASCII character,
/// `{a,b}` for one of several, and a backslash takes the meaning from what follows it. Takes time
/// linear in the text, whatever the pattern.
#[derive(Debug, Clone)]
pub struct Pattern {
    form: Form,
    /// Whether it holds `..` as a part of a path itself.
    climbs: bool,
}

/// The forms that nearly every rule has are matched without a regular expression.
#[derive(Debug, Clone)]
enum Form {
    Any,
    Literal(Box<str>),
    Prefix(Box<str>),
    Suffix(Box<str>),
    Glob(Box<GlobSet>),
}

/// Why a text is no pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// It has too many bytes.
    #[error("it has {0} bytes, and the longest may have {PATTERN_MAX_LEN}")]
    TooLong(usize),
    /// A class would match single bytes of a longer character.
    #[error("`[…]` may hold only ASCII characters; write `{{é,è}}` for a choice of others")]
    WideClass,
    /// It isn't a glob.
    #[error("{0}")]
    Syntax(String),
}

impl Pattern {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// See [`PatternError`].
    pub fn new(text: &str) -> Result<Self, PatternError> {
        Self::compiled(text, false)
    }

    /// Compiles a pattern in which `*` and `?` stop at a `/`, and `**` as a whole part of a path
    /// doesn't.
    ///
    /// # Errors
    /// See [`PatternError`].
    pub(super) fn by_parts(text: &str) -> Result<Self, PatternError> {
        Self::compiled(text, true)
    }

    fn compiled(text: &str, literal_separator: bool) -> Result<Self, PatternError> {
        if text.len() > PATTERN_MAX_LEN {
            return Err(PatternError::TooLong(text.len()));
        }
        Ok(Self { form: Form::new(text, literal_separator)?, climbs: climbs(text) })
    }

    /// Whether the whole of `text` matches.
    pub fn matches(&self, text: &str) -> bool {
        match &self.form {
            Form::Any => true,
            Form::Literal(literal) => **literal == *text,
            Form::Prefix(prefix) => text.starts_with(&**prefix),
            Form::Suffix(suffix) => text.ends_with(&**suffix),
            Form::Glob(glob) => glob.is_match(text),
        }
    }

    /// Like [`Pattern::matches`], for what lets a call through: a text that climbs by `..` is let
    /// in only by a pattern that does so too, or by `*` alone. `src/*` must not let `src/../key`
    /// through.
    pub fn admits(&self, text: &str) -> bool {
        self.matches(text) && (self.climbs || matches!(self.form, Form::Any) || !climbs(text))
    }
}

impl Form {
    fn new(text: &str, literal_separator: bool) -> Result<Self, PatternError> {
        let plain = |part: &str| (!part.contains(SPECIAL)).then(|| Box::<str>::from(part));
        if let Some(literal) = plain(text) {
            return Ok(Self::Literal(literal));
        }
        if !literal_separator {
            if text == "*" {
                return Ok(Self::Any);
            }
            if let Some(prefix) = text.strip_suffix('*').and_then(plain) {
                return Ok(Self::Prefix(prefix));
            }
            if let Some(suffix) = text.strip_prefix('*').and_then(plain) {
                return Ok(Self::Suffix(suffix));
            }
        }
        if has_wide_class(text) {
            return Err(PatternError::WideClass);
        }
        Ok(Self::Glob(Box::new(compile(text, literal_separator)?)))
    }
}

/// Whether a path of this text goes up, with either kind of slash.
fn climbs(text: &str) -> bool {
    text.split(['/', '\\']).any(|part| part == "..")
}

/// A set of one: unlike a single matcher, it is made without a panic when the library's own bounds
/// refuse the expression behind it.
fn compile(text: &str, literal_separator: bool) -> Result<GlobSet, PatternError> {
    let wrong = |error: globset::Error| PatternError::Syntax(error.kind().to_string());
    let glob = |text: &str| {
        let mut builder = GlobBuilder::new(text);
        builder.backslash_escape(true).empty_alternates(true).literal_separator(literal_separator);
        builder.build().map_err(wrong)
    };
    let mut compiled = glob(text)?;
    // By what follows the last dot a set sorts out most texts, and in a last `..` it sees no dot. A
    // choice of nothing at the end keeps it from that.
    if text.ends_with('.') {
        compiled = glob(&format!("{text}{{,}}"))?;
    }
    GlobSetBuilder::new().add(compiled).build().map_err(wrong)
}

/// Whether a class holds what isn't ASCII, which the library would take apart into bytes. Reads
/// classes as the library does: a bracket that stands first doesn't close, a backslash is itself.
fn has_wide_class(text: &str) -> bool {
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' => drop(chars.next()),
            '[' => {
                chars.next_if(|next| matches!(next, '!' | '^'));
                chars.next_if_eq(&']');
                if chars.by_ref().take_while(|c| *c != ']').any(|c| !c.is_ascii()) {
                    return true;
                }
            }
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, text: &str) -> bool {
        Pattern::new(pattern).unwrap().matches(text)
    }

    #[test]
    fn patterns_match_the_whole_text() {
        let rows = [
            ("files.write", "files.write", true),
            ("files.write", "files.write-all", false),
            ("files.write", "xfiles.write", false),
            ("files.write", "Files.write", false),
            ("files.write", "filesXwrite", false),
            ("*", "", true),
            ("*", "a\nb", true),
            ("files.*", "files.read", true),
            ("files.*", "file.read", false),
            ("*.write", "files.write", true),
            ("*.write", "files.writes", false),
            ("*i*w*", "files.write", true),
            ("*x*", "a/b\nx/c", true),
            ("f?les", "files", true),
            ("f?les", "fles", false),
            ("/etc/*", "/etc/a/b", true),
            ("/etc/*", "/etc", false),
            ("[a-c]x", "bx", true),
            ("[!a-c]x", "bx", false),
            ("{a,b}.c", "b.c", true),
            ("a{,.txt}", "a", true),
            ("{é,è}", "è", true),
            ("a\\*", "a*", true),
            ("a\\*", "ab", false),
            ("", "", true),
            ("", "a", false),
        ];
        for (pattern, text, expected) in rows {
            assert_eq!(matches(pattern, text), expected, "`{pattern}` on {text:?}");
        }
    }

    #[test]
    fn a_star_by_parts_stops_at_a_slash() {
        for (pattern, text, expected) in [
            ("*", "a", true),
            ("*", "a/b", false),
            ("src/*", "src/a/b", false),
            ("*.rs", "a/b.rs", false),
            ("a?b", "a/b", false),
            ("src/*.rs", "src/a.rs", true),
            ("src/**", "src/a/b", true),
            ("**/b.rs", "a/b.rs", true),
            ("src/a", "src/a", true),
        ] {
            let matches = Pattern::by_parts(pattern).unwrap().matches(text);
            assert_eq!(matches, expected, "`{pattern}` on {text:?}");
        }
        assert!(!Pattern::by_parts("*").unwrap().admits(".."));
        assert_eq!(Pattern::by_parts("[é]*").unwrap_err(), PatternError::WideClass);
    }

    #[test]
    fn a_text_that_ends_in_two_dots_matches_as_any_other() {
        for (pattern, text) in [("a?/..", "ab/.."), ("[ab]/*..", "a/.."), ("**/..", "a/..")] {
            for compiled in [Pattern::new(pattern), Pattern::by_parts(pattern)] {
                assert!(compiled.unwrap().matches(text), "`{pattern}` on {text:?}");
            }
        }
    }

    #[test]
    fn a_text_that_climbs_is_admitted_only_by_a_pattern_that_does() {
        for (pattern, text, expected) in [
            ("src/*", "src/a..b", true),
            ("src/*", "src/../key", false),
            ("src/*", "src/x\\..\\key", false),
            ("src/*/k?y", "src/../key", false),
            ("*key", "../key", false),
            ("src/../*", "src/../key", true),
            ("*", "../key", true),
        ] {
            let pattern = Pattern::new(pattern).unwrap();
            assert!(pattern.matches(text), "{pattern:?}");
            assert_eq!(pattern.admits(text), expected, "{pattern:?} on {text}");
        }
    }

    #[test]
    fn what_is_no_pattern_is_refused() {
        for (pattern, why) in [
            ("[a", "unclosed character class"),
            ("{a", "unclosed alternate group"),
            ("a?}", "unopened alternate group"),
            ("[z-a]", "invalid range"),
            ("a\\", "dangling"),
            ("x[é]", "only ASCII"),
            ("x[!]é]", "only ASCII"),
            ("[a-é]?", "only ASCII"),
        ] {
            let error = Pattern::new(pattern).unwrap_err().to_string();
            assert!(error.contains(why), "`{pattern}`: {error}");
        }
    }

    #[test]
    fn an_escaped_bracket_opens_no_class() {
        assert!(matches("\\[é*x\\]y?", "[é-x]yz"));
    }

    #[test]
    fn a_long_or_deep_pattern_is_an_error_and_no_panic() {
        assert!(Pattern::new(&"a".repeat(PATTERN_MAX_LEN)).is_ok());
        let error = Pattern::new(&"a".repeat(PATTERN_MAX_LEN + 1)).unwrap_err();
        assert_eq!(error, PatternError::TooLong(PATTERN_MAX_LEN + 1));
        let half = PATTERN_MAX_LEN / 2;
        let deep = format!("{}{}", "{".repeat(half), "}".repeat(half));
        let deeper = format!("{}a?{}", "{".repeat(half - 1), "}".repeat(half - 1));
        for pattern in [deep, deeper, "*a".repeat(half), "?".repeat(PATTERN_MAX_LEN)] {
            let outcome = Pattern::new(&pattern);
            assert!(!matches!(outcome, Err(PatternError::TooLong(_))), "{outcome:?}");
        }
    }
}
