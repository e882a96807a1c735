//! The goals: each a figure of this run and the bound that it should keep.
//!
//! Measures nothing.

use super::bench::p50;
use super::figures::Figures;
use super::guests::{JS, PYTHON};
use super::{
    calls, deadline, foreign, growth, loading, memory, parallel, payload, ready, serving, starting,
};

/// The side on which a figure should be.
#[derive(Debug, Clone, Copy)]
enum Bound {
    AtMost(f64),
    AtLeast(f64),
}

/// One goal.
pub(crate) struct Goal {
    what: &'static str,
    figure: String,
    bound: Bound,
    unit: &'static str,
}

/// What became of one.
pub(crate) struct Verdict {
    /// `met`, `not met` or `not measured`.
    pub(crate) word: &'static str,
    pub(crate) what: &'static str,
    /// The figure, or why there is none.
    pub(crate) figure: String,
    pub(crate) goal: String,
}

/// All of them, in the order of the issue that set them.
fn goals() -> Vec<Goal> {
    use Bound::{AtLeast, AtMost};
    let goal = |what, figure: String, bound, unit| Goal { what, figure, bound, unit };
    vec![
        goal("D − C′ p50, `{}`", calls::ADDED.to_owned(), AtMost(2.0), "µs"),
        goal(
            "D with ready instances / C′ p50, 1 ms apart",
            ready::RATIO.to_owned(),
            AtMost(0.6),
            "",
        ),
        goal("D / C′ calls a second, 64 in flight", parallel::ratio(64), AtLeast(0.75), ""),
        goal("p99 / p50 of D", calls::EVEN.to_owned(), AtMost(2.5), ""),
        goal(
            "64 KiB JSON in and out, one text, D / C′ from JSON to JSON",
            payload::text(),
            AtMost(1.3),
            "",
        ),
        goal(
            "64 KiB JSON in and out, rows, D / C′ from JSON to JSON",
            payload::rows(),
            AtMost(1.3),
            "",
        ),
        goal("extism fresh / D", calls::OVER_EXTISM.to_owned(), AtLeast(5.0), ""),
        goal("fork+exec / D", calls::OVER_PROCESS.to_owned(), AtLeast(20.0), ""),
        goal("JavaScript, fresh call", p50(&foreign::whole(JS)), AtMost(200.0), "µs"),
        goal("Python, fresh call", p50(&foreign::whole(PYTHON)), AtMost(640.0), "µs"),
        goal("JavaScript, with ready instances", p50(&ready::ready(JS)), AtMost(180.0), "µs"),
        goal("Python, with ready instances", p50(&ready::ready(PYTHON)), AtMost(160.0), "µs"),
        goal(
            "first call of a builtin, process start included",
            starting::first_call(),
            AtMost(25.0),
            "ms",
        ),
        goal(
            "load of a 12 MB JavaScript component from the store",
            loading::load_js(),
            AtMost(15.0),
            "ms",
        ),
        goal(
            "`serve` with 25 plugins ready, from the store",
            serving::LISTED.to_owned(),
            AtMost(150.0),
            "ms",
        ),
        goal(
            "deadline overshoot, every core spinning, p99",
            deadline::OVERSHOOT.to_owned(),
            AtMost(5.0),
            "ms",
        ),
        goal(
            "memory for each sleeping Rust call, 1,000 at once",
            memory::EACH.to_owned(),
            AtMost(150.0),
            "KiB",
        ),
        goal("dispatch p50 with 10,000 tools / with 10", growth::RATIO.to_owned(), AtMost(1.1), ""),
        goal(
            "memory after 1,000,000 calls / after 10,000",
            memory::GROWTH.to_owned(),
            AtMost(1.1),
            "",
        ),
    ]
}

/// Holds a run against them; one that isn't whole only against those that it has a figure for, or a
/// reason for having none.
pub(crate) fn verdicts(figures: &Figures, is_whole: bool) -> Vec<Verdict> {
    let goals = goals().into_iter();
    goals.filter_map(|goal| goal.verdict(figures, is_whole)).collect()
}

impl Goal {
    fn verdict(self, figures: &Figures, is_whole: bool) -> Option<Verdict> {
        let Self { what, figure, bound, unit } = self;
        let shown = |value: f64| format!("{} {unit}", number(value)).trim_end().to_owned();
        let (sign, limit) = match bound {
            Bound::AtMost(limit) => ("≤", limit),
            Bound::AtLeast(limit) => ("≥", limit),
        };
        let goal = format!("{sign} {limit} {unit}").trim_end().to_owned();
        let Some(found) = figures.get(&figure) else {
            let why = figures.missing().iter().find(|(name, _)| *name == figure);
            let why = why.map(|(_, why)| why.clone());
            let why = why.or_else(|| is_whole.then(|| "its part failed".to_owned()));
            return why.map(|figure| Verdict { word: "not measured", what, figure, goal });
        };
        let value = found.median();
        let is_met = match bound {
            Bound::AtMost(limit) => value <= limit,
            Bound::AtLeast(limit) => value >= limit,
        };
        let word = if is_met { "met" } else { "not met" };
        Some(Verdict { word, what, figure: shown(value), goal })
    }
}

/// As many digits as a figure of its size deserves.
pub(crate) fn number(value: f64) -> String {
    match value.abs() {
        size if size >= 1000.0 => format!("{value:.0}"),
        size if size >= 100.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}
