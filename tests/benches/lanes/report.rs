//! A run in words: the table, the JSON, the page in `docs`, and last one line for each goal.
//!
//! Every figure comes from the run. What explains them stands on the page, around the marks.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::bench::{Bench, target};
use super::figures::Figures;
use super::goals::{Verdict, number, verdicts};
use super::guests::root;
use super::machine::facts;

const PAGE: &str = "docs/benchmarks.md";
const BEGIN: &str = "<!-- measured: what stands up to the end mark is written by `make bench` -->";
const END: &str = "<!-- measured: end -->";

/// Shows it, and keeps it. `is_right`: every answer was, so the page may be written.
#[expect(clippy::print_stdout, reason = "a benchmark's output is its purpose")]
pub(crate) fn finish(bench: &Bench, is_right: bool) {
    let took = bench.began.elapsed().as_secs();
    let (facts, verdicts) = (facts(&bench.load), verdicts(&bench.figures, bench.is_whole));
    let measured = tables(&facts, &bench.figures, took);
    println!("{measured}");
    let file = target().join("benchmarks.json");
    let line = json(&facts, &bench.figures, &verdicts, took).to_string();
    std::fs::write(&file, line + "\n").expect("the figures are kept");
    println!("the same as JSON: {}\n", file.display());
    if is_right && bench.is_whole && std::env::var_os("BELLJAR_WRITE_DOCS").is_some() {
        write_page(&format!("{}\n{measured}", goals_table(&verdicts)));
    }
    for Verdict { word, what, figure, goal } in &verdicts {
        println!("{word:<12} {what}: {figure} (goal {goal})");
    }
}

fn tables(facts: &[(&str, String)], figures: &Figures, took: u64) -> String {
    let mut text = String::from("## The run\n\n| what | is |\n|---|---|\n");
    for (name, value) in facts {
        push(&mut text, &[name, value]);
    }
    push(&mut text, &["time", &format!("{} min {} s", took / 60, took % 60)]);
    let mut part = "";
    for figure in figures.all() {
        if figure.part != part {
            part = figure.part;
            write!(text, "\n## Measured: {part}\n\n").expect("text");
            push(&mut text, &["figure", "median", "spread", "rounds"]);
            text.push_str("|---|---|---|---|\n");
        }
        let (least, most) = figure.spread();
        let median = format!("{} {}", number(figure.median()), figure.unit);
        let spread = format!("{} to {}", number(least), number(most));
        let rounds = figure.rounds.len();
        let spread = if rounds > 1 { spread } else { "–".to_owned() };
        push(&mut text, &[&figure.name, median.trim_end(), &spread, &rounds.to_string()]);
    }
    if !figures.missing().is_empty() {
        text.push_str("\n## Not measured in this run\n\n");
        for (name, why) in figures.missing() {
            writeln!(text, "- {name}: {why}").expect("text");
        }
    }
    text
}

fn goals_table(verdicts: &[Verdict]) -> String {
    let mut text = String::from("## Goals\n\n| what | measured | goal | |\n|---|---|---|---|\n");
    for Verdict { word, what, figure, goal } in verdicts {
        let word = if *word == "met" { "met".to_owned() } else { format!("**{word}**") };
        push(&mut text, &[what, figure, goal, &word]);
    }
    text
}

fn push(text: &mut String, cells: &[&str]) {
    // A bar would end its cell.
    let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
    writeln!(text, "| {} |", cells.join(" | ")).expect("text");
}

fn json(facts: &[(&str, String)], figures: &Figures, verdicts: &[Verdict], took: u64) -> Value {
    let facts: Map<String, Value> =
        facts.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
    let measured: Vec<Value> = figures
        .all()
        .iter()
        .map(|it| {
            let (least, most) = it.spread();
            json!({"part": it.part, "name": it.name, "unit": it.unit, "median": it.median(),
                "least": least, "most": most, "rounds": it.rounds})
        })
        .collect();
    let goals: Vec<Value> = verdicts
        .iter()
        .map(|it| json!({"what": it.what, "is": it.word, "figure": it.figure, "goal": it.goal}))
        .collect();
    let missing: Vec<Value> =
        figures.missing().iter().map(|(name, why)| json!({"name": name, "why": why})).collect();
    json!({"run": facts, "seconds": took, "figures": measured, "goals": goals, "missing": missing})
}

/// Puts the run between the page's marks.
fn write_page(measured: &str) {
    let path = root().join(PAGE);
    let page = std::fs::read_to_string(&path).expect("the page");
    let (before, rest) = page.split_once(BEGIN).expect("the mark where the figures begin");
    let (_, after) = rest.split_once(END).expect("the mark where they end");
    let page = format!("{before}{BEGIN}\n\n{measured}\n{END}{after}");
    std::fs::write(path, page).expect("the page can be written");
}
