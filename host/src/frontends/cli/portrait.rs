//! How `inspect` reads for people: one plugin on a page, its tools below.
//!
//! Text of the plugin stays below its heading; the terminal's escaping is done in `show`.

use std::fmt::Write as _;

use serde_json::Value;

use super::inspect::{ToolView, View};
use super::show::indented;
use super::words;
use crate::contract::descriptor::{Need, ToolDescriptor};
use crate::contract::escape::escaped_line;
use crate::contract::grants::{DirMode, Grants};
use crate::contract::limits::{LimitKind, LimitOrigin, Limits};

/// Column at which what stands beside a heading begins.
const HEADING_WIDTH: usize = 15;
/// Limits that stand beside each other.
const LIMITS_PER_LINE: usize = 4;

/// The page of one plugin.
pub(super) fn portrait(view: &View<'_>) -> String {
    let mut page = Page::default();
    page.plugin(view);
    for tool in &view.tools {
        page.tool(tool, view.token_rule);
    }
    page.0
}

#[derive(Debug, Default)]
struct Page(String);

impl Page {
    fn plugin(&mut self, view: &View<'_>) {
        let version = view.identity.version.as_deref().unwrap_or("without a version");
        let source = words::source(view.source);
        self.line(&format!("{} {} ({source})", view.identity.name, escaped_line(version)));
        if let Some(description) = view.description {
            self.block("  ", description);
        }
        self.row("digest", &view.identity.digest.to_string());
        self.row("toolchain", &escaped_line(view.toolchain.unwrap_or("it doesn't say")));
        self.row("grants", &grants(view.grants));
        self.rows("needs", view.needs.iter().map(need));
        let width = view.imports.iter().map(|import| import.name.len()).max().unwrap_or(0);
        let import = |import: &super::imports::Import<'_>| {
            format!("{:<width$}  {}", escaped_line(import.name), import.words())
        };
        self.rows("imports", view.imports.iter().map(import));
        let unsupported = view.unsupported.iter();
        self.rows("no tools", unsupported.map(|it| format!("{}: {}", it.function, it.reason)));
        self.rows("findings", view.findings.iter().map(|finding| escaped_line(finding)));
    }

    fn tool(&mut self, view: &ToolView<'_>, token_rule: &str) {
        let tool: &ToolDescriptor = view.descriptor;
        self.line("");
        self.line(&tool.id.to_string());
        self.block("  ", &tool.description);
        if let Some(title) = &tool.title {
            self.row("title", &escaped_line(title));
        }
        self.row("wire name", &tool.wire_name);
        self.row("definition", &format!("about {} tokens ({token_rule})", view.definition_tokens));
        self.rows("effects", words::effect_rows(&tool.effects).into_iter());
        self.row("beside others", &parallel(tool));
        if tool.requires_approval {
            self.row("approval", "asked for at every call, by its own tag");
        }
        self.rows("needs", tool.needs.iter().map(need));
        self.rows("limits", limits(&tool.limits).into_iter());
        self.rows(
            "examples",
            tool.examples.iter().map(|example| escaped_line(&example.to_string())),
        );
        self.schema("arguments", Some(&tool.input_schema));
        self.schema("answer", tool.output_schema.as_ref());
    }

    fn line(&mut self, text: &str) {
        self.0.push_str(text);
        self.0.push('\n');
    }

    fn block(&mut self, indent: &str, text: &str) {
        let text = indented(text.trim(), indent);
        self.line(&format!("{indent}{text}"));
    }

    fn row(&mut self, heading: &str, text: &str) {
        self.line(&format!("  {heading:<HEADING_WIDTH$}{text}"));
    }

    /// Nothing where there are no lines.
    fn rows(&mut self, heading: &str, lines: impl Iterator<Item = String>) {
        for (index, line) in lines.enumerate() {
            self.row(if index == 0 { heading } else { "" }, &line);
        }
    }

    fn schema(&mut self, heading: &str, schema: Option<&Value>) {
        let Some(schema) = schema else { return self.row(heading, "none") };
        self.line(&format!("  {heading}"));
        // A `Value` always has a text.
        let text = serde_json::to_string_pretty(schema).unwrap_or_default();
        self.block("    ", &text);
    }
}

fn need(need: &Need) -> String {
    let (kind, what, why) =
        (escaped_line(&need.kind), escaped_line(&need.what), escaped_line(&need.why));
    format!("{kind} {what}, because \"{why}\"")
}

fn grants(grants: &Grants) -> String {
    let mode = |mode| match mode {
        DirMode::ReadOnly => "read-only",
        DirMode::ReadWrite => "writable",
    };
    let dirs = grants.dirs().iter();
    let mut parts: Vec<String> = dirs
        .map(|dir| format!("folder {} ({})", escaped_line(&dir.guest), mode(dir.mode)))
        .collect();
    parts.extend(grants.env().iter().map(|env| format!("variable {}", escaped_line(&env.name))));
    if parts.is_empty() { "none".to_owned() } else { parts.join(", ") }
}

fn parallel(tool: &ToolDescriptor) -> String {
    let mut text =
        if tool.parallel.sequential { "never, by its own tag" } else { "allowed" }.to_owned();
    if !tool.parallel.locks.is_empty() {
        let locks = escaped_line(&tool.parallel.locks.join(", "));
        let _written = write!(text, ", one at a time for equal {locks}");
    }
    text
}

/// The limits by who set them, so that what isn't belljar's default stands out.
fn limits(limits: &Limits) -> Vec<String> {
    let origins =
        [LimitOrigin::Operator, LimitOrigin::Tag, LimitOrigin::Caller, LimitOrigin::Default];
    let mut rows = Vec::new();
    for origin in origins {
        let of_origin: Vec<String> = LimitKind::ALL
            .into_iter()
            .filter(|kind| limits.get(*kind).origin == origin)
            .map(|kind| limit(kind, limits.get(kind).value))
            .collect();
        let lines = of_origin.chunks(LIMITS_PER_LINE).map(|line| line.join(", "));
        rows.extend(lines.map(|line| format!("{line} ({origin})")));
    }
    rows
}

fn limit(kind: LimitKind, value: u64) -> String {
    let (name, shown) = (kind.facts().name, kind.show(value));
    // Some units bear the limit's own name.
    if shown.ends_with(name) { shown } else { format!("{name} {shown}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_told_by_who_set_them_and_none_is_left_out() {
        let mut all = Limits::default();
        all.set(LimitKind::Memory, 64 << 20).unwrap();
        all.lower(LimitKind::AttemptDeadline, 5000, LimitOrigin::Tag);
        let rows = limits(&all);
        assert_eq!(rows[0], "memory 64 MiB (the operator's setting)");
        assert_eq!(rows[1], "attempt-deadline 5 s (the plugin's own tag)");
        let told = rows.join(", ");
        for kind in LimitKind::ALL {
            assert!(told.contains(kind.facts().name), "{}", kind.facts().name);
        }
    }

    #[test]
    fn what_a_plugin_says_stays_below_its_heading() {
        let mut page = Page::default();
        page.block("  ", "Reads.\nlimits        none");
        assert_eq!(page.0, "  Reads.\n  limits        none\n");
        let said = Need { kind: "dir".into(), what: "ro".into(), why: "a\nb".into() };
        assert_eq!(need(&said), "dir ro, because \"a<U+000A>b\"");
    }
}
