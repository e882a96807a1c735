//! `docs/limits.md` says what the tables say: the kinds of limits, and the hostile guests.
//!
//! `BELLJAR_WRITE_DOCS=1 cargo test limits_page` writes the page anew.

use std::fmt::Write as _;

use belljar::contract::limits::LimitKind;
use belljar::registry::PLUGINS_MAX;
use belljar::sandbox::{
    BLOCKED_CALLS, COMPONENT_MAX_LEN, HEAVY_CALLS, HOST_CALLS, PLUGIN_CALLS, READY_INSTANCES,
    WAITING_CALLS,
};

use crate::guests::built;
use crate::guests::outcomes::{End, Guest, Row, SECTIONS, Spoiled};

const PAGE: &str = "docs/limits.md";
const WRITE: &str = "BELLJAR_WRITE_DOCS";

const HEAD: &str = "\
# Limits

<!-- Written by `tests/suites/limits_page.rs` from `host/src/contract/limits.rs` and
`tests/guests/outcomes/`. `BELLJAR_WRITE_DOCS=1 cargo test limits_page` writes it anew. -->

Every call runs under every limit of this table; there is no unlimited. The operator's setting goes
up to the ceiling; a plugin's own tag or a caller's request only lowers it. `belljar inspect` shows
the limits of each tool and where each came from, and a call that meets one says which. In
`belljar.toml` a limit is set for all tools, for a plugin or for one tool:
[configuration](configuration.md).

| limit | default | ceiling | setting |
|---|---|---|---|
";

const ATTACKS: &str = "
# What hostile guests come to

Each row is a test: the guest is run against a whole host, four times, and afterwards another plugin of
the same host still works, every permit is free and no sandbox is left. Calls that meet a deadline
end at most 100 ms after it, also while both cores are busy; the test takes the best of five tries,
so that a busy machine can't break it. Where a guest tries to reach what nobody gave it,
`tool_error` means that it was refused and said so.
";

const AROUND: &str = "
Around the calls stand bounds that no option of a call moves; the first three are the operator's, by
the section `sandbox` of the [configuration](configuration.md):

| bound | value |
|---|---|
";

/// The bounds that are no `LimitKind`, since they hold for more than one call.
fn around() -> [(&'static str, u64); 8] {
    [
        ("calls at once in a host", HOST_CALLS.into()),
        ("calls at once of one plugin", PLUGIN_CALLS.into()),
        ("instances made ahead of calls, in a host", READY_INSTANCES.into()),
        ("calls at once of plugins with a large image, in a host", HEAVY_CALLS.into()),
        ("calls that wait for their turn; one more is `overloaded`", WAITING_CALLS.into()),
        ("blocked calls from which on calls with folders are `overloaded`", BLOCKED_CALLS.into()),
        ("bytes of a component", COMPONENT_MAX_LEN as u64),
        ("plugins in one folder", PLUGINS_MAX as u64),
    ]
}

fn page() -> String {
    let mut page = HEAD.to_owned();
    for kind in LimitKind::ALL {
        let facts = kind.facts();
        let setting = setting(facts.setting);
        let (default, ceiling) = (kind.show(facts.default), kind.show(facts.ceiling));
        writeln!(page, "| {} | {default} | {ceiling} | {setting} |", facts.name).unwrap();
    }
    page.push_str(AROUND);
    for (bound, value) in around() {
        writeln!(page, "| {bound} | {value} |").unwrap();
    }
    page.push_str(ATTACKS);
    for section in SECTIONS {
        write!(page, "\n## {}\n\n| the guest | ends as | limit |\n|---|---|---|\n", section.title)
            .unwrap();
        for row in section.rows {
            writeln!(page, "| {} ({}) | {} | {} |", row.says, who(row), end(row.end), limit(row))
                .unwrap();
        }
    }
    page
}

fn setting(setting: Option<&str>) -> String {
    match setting {
        Some(option) if option.starts_with("--") => format!("`{option}`, or `belljar.toml`"),
        Some(_) => "`belljar.toml`".to_owned(),
        None => "`belljar.toml`, which can only lower it".to_owned(),
    }
}

fn who(row: &Row) -> String {
    match row.guest {
        Guest::Wat(name) => format!("`wat/{name}.wat`{}", by(row)),
        Guest::Rust(name) => format!("`rust/{name}`{}", by(row)),
        Guest::Spoiled(Spoiled::EveryPrefix | Spoiled::EveryByteTurned) => "many files".to_owned(),
        Guest::Spoiled(_) => "a file".to_owned(),
    }
}

fn by(row: &Row) -> String {
    if row.tool.is_empty() { String::new() } else { format!(": `{}`", row.tool) }
}

fn end(end: End) -> String {
    match end {
        End::NotLoaded => "not loaded".to_owned(),
        End::Unsupported => "loaded without that tool".to_owned(),
        End::Survived => "refused or loaded, the host lives".to_owned(),
        End::Call(outcome) => format!("`{}`", outcome.name()),
        End::Content(content) => format!("`success`: {content}"),
    }
}

fn limit(row: &Row) -> String {
    let Some(met) = row.met else { return String::new() };
    let facts = met.kind.facts();
    format!("{}: {}", facts.name, met.kind.show(met.set.unwrap_or(facts.default)))
}

#[test]
fn the_page_is_what_the_tables_say() {
    let path = built::root().join(PAGE);
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(&path, page()).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(written == page(), "`{PAGE}` is out of date: {WRITE}=1 cargo test limits_page");
}
