//! The findings of an export in lines for a person: what is the same of many tools is told once.
//!
//! Keeps no order but that of the findings. Nothing in a line acts or hides.

use crate::contract::escape::clipped_line;
use crate::contract::ids::ToolId;
use crate::frontends::export::{Finding, FindingKind};

/// Lines that are told; each is for all findings that say the same.
const TOLD_MAX: usize = 100;
/// Tools that a line names.
const TOOLS_MAX: usize = 5;
/// Longest path or reason that is repeated, in bytes.
const PART_MAX_LEN: usize = 300;

/// Findings that say the same, of one tool or of several.
struct Alike<'f> {
    first: &'f Finding,
    /// How many there are.
    count: usize,
    /// Each once, in order.
    tools: Vec<&'f ToolId>,
}

/// The lines, in the order in which each thing was first found.
pub(super) fn lines(report: &[Finding]) -> Vec<String> {
    let all = alike(report);
    let mut lines: Vec<String> = all.iter().take(TOLD_MAX).map(told).collect();
    let untold = all.len().saturating_sub(TOLD_MAX);
    if untold > 0 {
        lines.push(format!("note: and {untold} more kinds of findings"));
    }
    if untold > 0 || all.iter().any(|alike| alike.count > 1) {
        lines.push(format!("note: --json lists each of the {} findings", report.len()));
    }
    lines
}

fn alike(report: &[Finding]) -> Vec<Alike<'_>> {
    let mut places = std::collections::HashMap::new();
    let mut all: Vec<Alike<'_>> = Vec::new();
    for finding in report {
        let place = *places.entry((finding.kind, finding.what.as_str())).or_insert(all.len());
        if place == all.len() {
            all.push(Alike { first: finding, count: 0, tools: Vec::new() });
        }
        let Some(alike) = all.get_mut(place) else { continue };
        alike.count += 1;
        // A tool's findings come one after the other.
        if let Some(tool) = &finding.tool
            && alike.tools.last() != Some(&tool)
        {
            alike.tools.push(tool);
        }
    }
    all
}

fn told(alike: &Alike<'_>) -> String {
    let part = |text: &str| clipped_line(text, PART_MAX_LEN);
    let kind = match alike.first.kind {
        FindingKind::LeftOut => "warning",
        FindingKind::Lossy | FindingKind::Renamed | FindingKind::NotStrict | FindingKind::Note => {
            "note"
        }
    };
    let path = match (alike.first.path.as_str(), alike.tools.len(), alike.count) {
        (_, 2.., count) => format!("at {count} places, "),
        ("", ..) => String::new(),
        (path, _, 1) => format!("at `{}`, ", part(path)),
        (path, _, count) => format!("at `{}` and {} more places, ", part(path), count - 1),
    };
    let tools = match named(&alike.tools) {
        tools if tools.is_empty() => tools,
        tools => format!("{tools}: "),
    };
    format!("{kind}: {tools}{path}{}", part(&alike.first.what))
}

fn named(tools: &[&ToolId]) -> String {
    let names: Vec<_> = tools.iter().take(TOOLS_MAX).map(ToString::to_string).collect();
    let more = tools.len().saturating_sub(TOOLS_MAX);
    let more = if more > 0 { format!(" and {more} more tools") } else { String::new() };
    format!("{}{more}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(tool: &str, path: &str, what: &str) -> Finding {
        let (tool, kind) = (Some(tool.parse().unwrap()), FindingKind::Lossy);
        Finding { tool, kind, path: path.into(), what: what.into() }
    }

    #[test]
    fn what_is_the_same_of_many_tools_is_one_line_with_the_count_and_some_tools() {
        let mut report: Vec<_> = (0..8)
            .flat_map(|tool| {
                let tool = format!("files.t{tool}");
                [finding(&tool, "/a", "no default"), finding(&tool, "/b", "no default")]
            })
            .collect();
        report.insert(3, finding("files.t1", "/c", "no pattern"));
        let tools = "files.t0, files.t1, files.t2, files.t3, files.t4 and 3 more tools";
        assert_eq!(
            lines(&report),
            [
                format!("note: {tools}: at 16 places, no default"),
                "note: files.t1: at `/c`, no pattern".to_owned(),
                "note: --json lists each of the 17 findings".to_owned(),
            ]
        );
    }

    #[test]
    fn what_stands_alone_is_told_as_it_is_and_nothing_more() {
        let whole =
            Finding { kind: FindingKind::LeftOut, ..finding("a.b", "", "is \u{1b}left out") };
        let note =
            Finding { tool: None, kind: FindingKind::Note, ..finding("a.b", "", "set a mode") };
        let report = [finding("a.b", "/x", "is cut"), whole, note];
        let expected =
            ["note: a.b: at `/x`, is cut", "warning: a.b: is <U+001B>left out", "note: set a mode"];
        assert_eq!(lines(&report), expected);
        assert_eq!(lines(&[]), [""; 0]);
    }

    #[test]
    fn several_places_of_one_tool_are_told_by_the_first() {
        let report = ["/x", "/y", "/z"].map(|path| finding("a.b", path, "is cut"));
        let expected = "note: a.b: at `/x` and 2 more places, is cut";
        assert_eq!(lines(&report)[0], expected);
    }

    #[test]
    fn the_lines_are_bounded() {
        let report: Vec<_> =
            (0..250).map(|number| finding("a.b", "", &format!("change {number}"))).collect();
        let lines = lines(&report);
        assert_eq!(lines.len(), TOLD_MAX + 2);
        assert_eq!(lines[TOLD_MAX], "note: and 150 more kinds of findings");
        assert_eq!(lines[TOLD_MAX + 1], "note: --json lists each of the 250 findings");
    }
}
