//! What a `grep` pattern may say: checks it before it is compiled, so that an error names the
//! construct and its place.
//!
//! `regex` alone would take `a++` as a repeated repeat, where its writer meant a possessive one.

use regex_syntax::ast::{self, Ast, RepetitionKind, Span};
use regex_syntax::hir::{Hir, Look, translate};

use crate::error::SearchError;

const SUPPORTED: &str = "a regular expression without look-around, back-references, atomic groups \
                         and possessive repeats";

/// Whether a match in a line is always found, too, by searching the whole text at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Yes: the line's ends look the same to the pattern in either.
    Text,
    /// No: it has `\A`, `\z` or switched flags that make `^` or `$` see more than the line.
    Line,
}

/// Checks `pattern` for everything but its compiled size.
pub(crate) fn check(pattern: &str, ignore_case: bool) -> Result<Scope, SearchError> {
    let ast = ast::parse::Parser::new()
        .parse(pattern)
        .map_err(|error| refuse(pattern, error.kind().to_string(), error.span()))?;
    ast::visit(&ast, Checker { pattern })?;
    let hir = translate::TranslatorBuilder::new()
        .multi_line(true)
        .crlf(true)
        .utf8(false)
        .case_insensitive(ignore_case)
        .build()
        .translate(pattern, &ast)
        .map_err(|error| refuse(pattern, error.kind().to_string(), error.span()))?;
    Ok(scope_of(&hir))
}

fn scope_of(hir: &Hir) -> Scope {
    let looks = hir.properties().look_set();
    let narrow = [Look::Start, Look::End, Look::StartLF, Look::EndLF];
    if narrow.into_iter().any(|look| looks.contains(look)) { Scope::Line } else { Scope::Text }
}

fn refuse(pattern: &str, problem: String, span: &Span) -> SearchError {
    let construct = pattern.get(span.start.offset..span.end.offset);
    SearchError::BadPattern {
        problem,
        offset: span.start.offset,
        construct: construct.unwrap_or_default().escape_debug().to_string(),
        expected: SUPPORTED,
    }
}

/// Refuses what parses but can't mean what it says.
struct Checker<'a> {
    pattern: &'a str,
}

impl ast::Visitor for Checker<'_> {
    type Output = ();
    type Err = SearchError;

    fn finish(self) -> Result<(), SearchError> {
        Ok(())
    }

    fn visit_pre(&mut self, ast: &Ast) -> Result<(), SearchError> {
        match ast {
            Ast::Repetition(outer)
                if matches!(outer.op.kind, RepetitionKind::OneOrMore)
                    && matches!(*outer.ast, Ast::Repetition(_)) =>
            {
                let problem = "possessive repeats are not supported".to_owned();
                Err(refuse(self.pattern, problem, &outer.span))
            }
            Ast::Literal(literal) if literal.c == '\n' => {
                let problem = "a line break never matches, since lines are searched one by one";
                Err(refuse(self.pattern, problem.to_owned(), &literal.span))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unsupported_construct_is_named_with_its_offset() {
        let cases = [
            ("ab(?=c)", "look-around", "offset 2 in `(?=`"),
            ("(?<!x)y", "look-around", "offset 0 in `(?<!`"),
            (r"(a)\1", "backreferences", r"offset 3 in `\\1`"),
            ("ab++c", "possessive", "offset 1 in `b++`"),
            ("a*+", "possessive", "offset 0 in `a*+`"),
            ("(?>ab)", "flag", "offset 2 in `>`"),
            ("é(", "unclosed group", "offset 2 in `(`"),
            ("[z-a]", "range", "offset 1 in `z-a`"),
            (r"a\nb", "line break", r"offset 1 in `\\n`"),
            (r"\p{Klingon}", "not found", "offset 0"),
        ];
        for (pattern, problem, place) in cases {
            let message = check(pattern, false).unwrap_err().to_string();
            assert!(message.contains(problem) && message.contains(place), "{pattern}: {message}");
        }
    }

    #[test]
    fn ordinary_patterns_pass() {
        for pattern in ["(a+)+$", "a{2,3}?", "[^\n]+", "(?i)x", "--help", r"\bfn\b", "(a+)+"] {
            assert!(check(pattern, false).is_ok(), "{pattern}");
        }
    }

    #[test]
    fn text_anchors_confine_a_pattern_to_its_line() {
        assert_eq!(check("^a$", false).unwrap(), Scope::Text);
        for pattern in [r"\Aa", r"a\z", "(?-m)^a", "(?-R)a$"] {
            assert_eq!(check(pattern, false).unwrap(), Scope::Line, "{pattern}");
        }
    }
}
