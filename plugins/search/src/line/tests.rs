//! Which lines match, and which patterns compile.

use super::*;

fn numbers(pattern: &str, text: &str) -> Vec<usize> {
    let pattern = LinePattern::compile(pattern, PatternOptions::default()).unwrap();
    pattern.hits(text.as_bytes()).map(|hit| hit.number + 1).collect()
}

#[test]
fn each_matching_line_is_found_once_with_its_number() {
    assert_eq!(numbers("a", "a a\nb\nca\n"), [1, 3]);
    assert_eq!(numbers("a", "b\nb"), [0usize; 0]);
    assert_eq!(numbers("^$", "\nx\n\n"), [1, 3]);
    assert_eq!(numbers("x$", "x\ny\nx"), [1, 3]);
    assert_eq!(numbers("$", "x"), [1]);
    assert_eq!(numbers("$", "x\n"), [1]);
    assert_eq!(numbers("x*", ""), [0usize; 0]);
}

#[test]
fn crlf_is_a_line_end_and_no_part_of_the_line() {
    assert_eq!(numbers("b$", "ab\r\nb\r\n"), [1, 2]);
    assert_eq!(numbers(r"b\s", "ab\r\nb c\r\n"), [2]);
    let pattern = LinePattern::compile("b", PatternOptions::default()).unwrap();
    let hit = pattern.hits(b"\r\nab\r\n").next().unwrap();
    assert_eq!((hit.number, hit.start, hit.end, hit.focus), (1, 2, 4, 1));
}

#[test]
fn no_match_spans_two_lines() {
    assert_eq!(numbers(r"a\s*b", "a\nb\na b\n"), [3]);
    assert_eq!(numbers(r"(?s)a.b", "a\nb\naxb"), [3]);
    assert_eq!(numbers("[^x]*y", "a\nb\ny"), [3]);
}

#[test]
fn anchors_of_the_whole_text_are_the_lines_own() {
    assert_eq!(numbers(r"\Ab", "a\nb\n"), [2]);
    assert_eq!(numbers(r"a\z", "a\nb\n"), [1]);
    assert_eq!(numbers(r"(?-R)a$", "b\r\na\r\n"), [2]);
}

#[test]
fn pattern_that_looks_like_an_option_is_a_pattern() {
    for pattern in ["--help", "-e", "--pre=x"] {
        assert_eq!(numbers(pattern, &format!("no\nsee {pattern}\n")), [2]);
    }
}

#[test]
fn literal_pattern_has_no_syntax_and_case_can_be_ignored() {
    let options = PatternOptions { literal: true, ignore_case: true };
    let pattern = LinePattern::compile("A.b(", options).unwrap();
    let found: Vec<_> = pattern.hits(b"aXb(\na.B(\n").map(|hit| hit.number).collect();
    assert_eq!(found, [1]);
    assert!(LinePattern::compile("a\nb", options).is_err());
}

#[test]
fn bytes_that_are_not_utf8_hide_no_match() {
    let pattern = LinePattern::compile("foo|(?-u:\\xE9)", PatternOptions::default()).unwrap();
    let found: Vec<_> = pattern.hits(b"\xff\xfefoo\xff\nbar\ncaf\xe9\n").collect();
    assert_eq!(
        found.iter().map(|hit| (hit.number, hit.focus)).collect::<Vec<_>>(),
        [(0, 2), (2, 3)]
    );
}

// A backtracking engine would take longer than the universe has; any finite time passes.
#[test]
fn patterns_that_explode_elsewhere_finish_here() {
    let line = "x".repeat(50_000);
    assert_eq!(numbers("(x+x+)+y", &line), [0usize; 0]);
    assert_eq!(numbers("(a+)+$", &("a".repeat(50_000) + "!")), [0usize; 0]);
    assert_eq!(numbers("^(.*)+ $", &line), [0usize; 0]);
}

// A search that began anew at each line and ran to the end of the text would take minutes.
#[test]
fn match_that_could_reach_over_all_lines_costs_one_pass() {
    let text = "ab\n".repeat(400_000);
    assert_eq!(numbers(r"(?s)a.*z|b", &text).len(), 400_000);
}

#[test]
fn pattern_over_a_size_limit_is_refused() {
    let compile = |pattern: &str| LinePattern::compile(pattern, PatternOptions::default());
    assert!(compile(&"a".repeat(PATTERN_MAX_BYTES)).is_ok());
    assert!(compile(&"a".repeat(PATTERN_MAX_BYTES + 1)).is_err());
    assert!(compile("").is_err());
    assert!(compile(r"\w{20}").is_ok());
    let error = compile(r"\w{200}").unwrap_err().to_string();
    assert!(error.contains("more than 1048576 bytes"), "{error}");
}
