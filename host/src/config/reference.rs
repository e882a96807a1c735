//! Writes the reference of every key from the schema, so that it says what is accepted.
//!
//! Knows no key by itself.

use crate::contract::limits::LimitKind;

use super::schema::{Default, Kind, ROOT, Section, limit_key, sections_in};

const HEAD: &str = "\
# Configuration

belljar reads one file, `belljar.toml`: the one that `--config FILE` names, else the one that the
variable `BELLJAR_CONFIG` names by an absolute path, else `belljar/belljar.toml` in the user's
config folder (`$XDG_CONFIG_HOME`, else `~/.config`). It never looks for one in the current
directory. A file that was named must be there; without any, every default holds. The file must
belong to the user who runs belljar or to root, and must not be writable by everybody.

`belljar config check` tells everything that is wrong in it, by line. `belljar config show` tells
every value in force and where it comes from. Places in a list are counted from 1: `policy.rules[1]`
is the first rule, and `rule 1` in reasons where it has no name.
";

/// The page of all keys, in Markdown.
pub fn reference() -> String {
    let mut page = HEAD.to_owned();
    let mut written = Vec::new();
    section(&mut page, "", &ROOT, &mut written);
    page
}

fn section(
    page: &mut String,
    path: &str,
    of: &'static Section,
    written: &mut Vec<(*const Section, String)>,
) {
    page.push_str(&match path {
        "" => "\n## The file\n".to_owned(),
        path => format!("\n## `{path}`\n"),
    });
    if let Some((_, first)) = written.iter().find(|(other, _)| std::ptr::eq(*other, of)) {
        page.push_str(&format!("\nThe keys of `{first}`.\n"));
        return;
    }
    written.push((std::ptr::from_ref(of), path.to_owned()));
    if !of.about.is_empty() {
        page.push_str(&format!("\n{}\n", of.about));
    }
    page.push_str("\n| key | takes | default | meaning |\n|---|---|---|---|\n");
    for key in of.keys {
        let (takes, default) = (described(&key.kind), default(key.default));
        page.push_str(&format!("| `{}` | {takes} | {default} | {} |\n", key.name, key.about));
    }
    if !of.example.is_empty() {
        page.push_str(&format!("\n```toml\n{}```\n", of.example));
    }
    for key in of.keys {
        let whole =
            if path.is_empty() { key.name.to_owned() } else { format!("{path}.{}", key.name) };
        if matches!(key.kind, Kind::Limits) && path.is_empty() {
            limits(page, &whole);
        }
        for (suffix, inner) in sections_in(&key.kind) {
            section(page, &format!("{whole}{suffix}"), inner, written);
        }
    }
}

fn limits(page: &mut String, path: &str) {
    page.push_str(&format!(
        "\n## `{path}`\n\nWhat is set for a tool goes before what is set for its plugin, and that \
         before what is set for every tool. A tag of the plugin or a request can only lower it. \
         Names may be written with `-` too.\n\n| key | default | at most |\n|---|---|---|\n"
    ));
    for kind in LimitKind::ALL {
        let facts = kind.facts();
        let (default, ceiling) = (kind.show(facts.default), kind.show(facts.ceiling));
        page.push_str(&format!("| `{}` | {default} | {ceiling} |\n", limit_key(kind)));
    }
    page.push_str(
        "\n```toml\n[limits]\nfuel = 2e9\nattempt_deadline = \"5s\"\nmemory = \"64MiB\"\n```\n",
    );
}

/// What a key takes, with what lists and tables hold.
fn described(kind: &Kind) -> String {
    match kind {
        Kind::List(inner) => format!("a list; each is {}", described(inner)),
        Kind::Map(map) => format!("a table; each is {}", described(&map.value)),
        Kind::Either(kinds) => kinds.iter().map(described).collect::<Vec<_>>().join(", or "),
        kind => kind.expected(),
    }
}

fn default(default: Default) -> String {
    match default {
        Default::Required => "must be there".to_owned(),
        Default::Words(words) => words.to_owned(),
        Default::Toml(text) => format!("`{text}`"),
    }
}
