//! Context, cuts and room of a report.

use super::*;
use crate::line::PatternOptions;

fn report(pattern: &str, text: &[u8], context: usize, limit: usize) -> (Report, Result<(), Stop>) {
    let pattern = LinePattern::compile(pattern, PatternOptions::default()).unwrap();
    let path = shown::show_head(b"file");
    let mut report = Report::new(limit);
    let end = report.add_lines(Searched { path: &path, text }, &pattern, context);
    (report, end)
}

fn lines(pattern: &str, text: &str, context: usize) -> Vec<(u32, Vec<String>, Vec<String>)> {
    let (report, end) = report(pattern, text.as_bytes(), context, 100);
    assert_eq!(end, Ok(()));
    report.matches.into_iter().map(|found| (found.line, found.before, found.after)).collect()
}

#[test]
fn context_shows_each_line_once() {
    let found = lines("x", "a\nb\nx1\nc\nd\ne\nx2\nx3\nf\n", 2);
    let expected =
        [(3, vec!["a", "b"], vec!["c", "d"]), (7, vec!["e"], vec![]), (8, vec![], vec!["f"])];
    assert_eq!(found.len(), expected.len());
    for (found, (line, before, after)) in found.iter().zip(expected) {
        assert_eq!(
            (found.0, &found.1[..], &found.2[..]),
            (
                line,
                &before.into_iter().map(str::to_owned).collect::<Vec<_>>()[..],
                &after.into_iter().map(str::to_owned).collect::<Vec<_>>()[..]
            )
        );
    }
}

#[test]
fn context_stops_at_the_ends_of_the_file() {
    assert_eq!(lines("x", "x", 3), [(1, vec![], vec![])]);
    assert_eq!(lines("x", "\r\nx\r\n", 3), [(2, vec![String::new()], vec![])]);
    assert_eq!(lines("x", "x\n\nlast", 3), [(1, vec![], vec![String::new(), "last".to_owned()])]);
}

#[test]
fn column_counts_characters_from_one() {
    let (report, _) = report("x", "ééx x\n".as_bytes(), 0, 9);
    assert_eq!((report.matches[0].column, report.matches[0].text.as_str()), (3, "ééx x"));
}

#[test]
fn limit_stops_only_where_there_is_more() {
    let (two, end) = report("x", b"x\nx\n", 0, 2);
    assert_eq!((two.matches.len(), end), (2, Ok(())));
    let (one, end) = report("x", b"x\nx\n", 0, 1);
    assert_eq!((one.matches.len(), end), (1, Err(Stop::Limit)));
}

#[test]
fn text_over_the_result_limit_stops_the_search() {
    let line = "x".repeat(1900) + "\n";
    let (report, end) = report("x", line.repeat(200).as_bytes(), 0, 2000);
    assert_eq!(end, Err(Stop::OutputSize));
    let text: usize = report.matches.iter().map(|found| found.text.len()).sum();
    assert!(text <= RESULT_MAX_BYTES && text > RESULT_MAX_BYTES - 20_000, "{text}");
}

#[test]
fn cut_and_escaped_context_is_flagged() {
    let long = "y".repeat(2001);
    let (report, _) = report("x", format!("{long}\nx\n").as_bytes(), 1, 9);
    assert!(report.matches[0].cut && !report.matches[0].escaped);
    assert_eq!(report.matches[0].before[0].len(), 2000);
}
