//! Holds a plugin's words to the limits and forms, whether its author or a section says them.
//!
//! What breaks a rule is reported and taken out, so that what is left can be shown and compared.
//! Control and bidirectional characters stay: they are for whoever shows the text to escape. Must
//! not know types: whether a path exists is for whoever has them.

mod form;

use std::collections::BTreeMap;

use serde::Serialize;

use crate::finding::{Findings, quoted};
use crate::limits;
use crate::model::{FunctionMetadata, ItemMetadata, Need, PluginMetadata, Tags};
use crate::tags;
use form::{TAG_CHARACTERS, is_item_path, is_kebab, is_path, is_tag_character, is_word};

/// Reports and takes out what breaks a rule.
pub(crate) fn review(plugin: &mut PluginMetadata, findings: &mut Findings) {
    review_identity(plugin, findings);
    review_needs(&mut plugin.needs, "needs", findings);
    cap_map(&mut plugin.functions, limits::FUNCTIONS, "functions", findings);
    plugin.functions.retain(|path, _| {
        let good = is_path(path);
        if !good {
            findings.add("functions", format!("{} is no function's path", quoted(path)));
        }
        good
    });
    for (path, function) in &mut plugin.functions {
        review_function(function, path, findings);
    }
}

fn review_identity(plugin: &mut PluginMetadata, findings: &mut Findings) {
    keep(&mut plugin.name, "name", findings, |name| {
        let form = "kebab-case ASCII such as `my-plugin`, at most 64 characters";
        (is_kebab(name) && name.len() <= limits::NAME_BYTES).then_some(()).ok_or(form)
    });
    keep(&mut plugin.version, "version", findings, |version| {
        let plain = |b: u8| b.is_ascii_alphanumeric() || b".+-".contains(&b);
        let good = !version.is_empty() && version.bytes().all(plain);
        (good && version.len() <= limits::VERSION_BYTES)
            .then_some(())
            .ok_or("a version such as `1.2.3`, at most 64 characters")
    });
    for (url, path) in [(&mut plugin.homepage, "homepage"), (&mut plugin.source, "source")] {
        keep(url, path, findings, |url| {
            let http = url.starts_with("https://") || url.starts_with("http://");
            let good = http && url.bytes().all(|b| b.is_ascii_graphic());
            (good && url.len() <= limits::URL_BYTES).then_some(()).ok_or("an http or https URL")
        });
    }
    let lines = [
        (&mut plugin.license, "license"),
        (&mut plugin.revision, "revision"),
        (&mut plugin.toolchain, "toolchain"),
    ];
    for (line, path) in lines {
        keep_text(line, limits::LINE_BYTES, path, findings);
    }
    keep_text(&mut plugin.description, limits::DESCRIPTION_BYTES, "description", findings);
    cap_list(&mut plugin.authors, limits::AUTHORS, "authors", findings);
    for author in &mut plugin.authors {
        review_text(author, limits::LINE_BYTES, "authors", findings);
    }
    plugin.authors.retain(|author| !author.trim().is_empty());
}

fn review_function(function: &mut FunctionMetadata, path: &str, findings: &mut Findings) {
    review_text(&mut function.docs, limits::DOCS_BYTES, path, findings);
    review_needs(&mut function.needs, path, findings);
    review_tags(&mut function.tags, path, findings);
    cap_map(&mut function.items, limits::ITEMS, path, findings);
    function.items.retain(|item, _| {
        let good = is_item_path(item);
        if !good {
            let message = format!("{} is no path of a parameter or result", quoted(item));
            findings.add(path, message);
        }
        good
    });
    for (item_path, item) in &mut function.items {
        review_item(item, &format!("{path} {item_path}"), findings);
    }
}

fn review_item(item: &mut ItemMetadata, path: &str, findings: &mut Findings) {
    review_text(&mut item.docs, limits::DOCS_BYTES, path, findings);
    if let Err(message) = check_json(&item.schema) {
        findings.add(path, format!("schema {message}"));
        item.schema.clear();
    }
    let all = item.schema.clone();
    item.schema.retain(|keyword, value| match tags::check_keyword(keyword, value, &all) {
        Ok(()) => true,
        Err(message) => {
            findings.add(path, message);
            false
        }
    });
}

fn review_tags(tags: &mut Tags, path: &str, findings: &mut Findings) {
    keep_text(&mut tags.title, limits::TITLE_BYTES, path, findings);
    cap_list(&mut tags.examples, limits::EXAMPLES, path, findings);
    tags.examples.retain(|example| match check_json(example) {
        Ok(()) => true,
        Err(message) => {
            findings.add(path, format!("example {message}"));
            false
        }
    });
    cap_list(&mut tags.locks, limits::LOCKS, path, findings);
    tags.locks.retain(|name| {
        let good = is_word(name);
        if !good {
            findings.add(path, format!("{} under `@locks` is no name", quoted(name)));
        }
        good
    });
    if tags.read_only && tags.destructive {
        findings.add(path, tags::CONTRADICTION);
        tags.read_only = false;
        tags.destructive = false;
    }
    above_zero(&mut tags.fuel, "@fuel", path, findings);
    above_zero(&mut tags.memory, "@memory", path, findings);
    above_zero(&mut tags.output, "@output", path, findings);
    if tags.timeout.is_some_and(|time| time.is_zero()) {
        tags.timeout = None;
        findings.add(path, "`@timeout` is 0, expected more");
    }
}

fn above_zero(limit: &mut Option<u64>, tag: &str, path: &str, findings: &mut Findings) {
    if *limit == Some(0) {
        *limit = None;
        findings.add(path, format!("`{tag}` is 0, expected more"));
    }
}

fn review_needs(needs: &mut Vec<Need>, path: &str, findings: &mut Findings) {
    cap_list(needs, limits::NEEDS, path, findings);
    needs.retain(|need| match tags::check_need(need) {
        Ok(()) => true,
        Err(message) => {
            findings.add(path, format!("need: {message}"));
            false
        }
    });
    for need in needs {
        let (Need::Http { why, .. }
        | Need::Dir { why, .. }
        | Need::Env { why, .. }
        | Need::Secret { why, .. }) = need;
        review_text(why, limits::WHY_BYTES, path, findings);
    }
}

/// Text that is too long goes; text with tag characters loses them.
fn review_text(text: &mut String, most: usize, path: &str, findings: &mut Findings) {
    if text.len() > most {
        findings.add(path, format!("text of {} bytes, expected at most {most}", text.len()));
        text.clear();
    }
    if text.contains(is_tag_character) {
        findings.add(path, TAG_CHARACTERS);
        text.retain(|c| !is_tag_character(c));
    }
}

fn keep_text(text: &mut Option<String>, most: usize, path: &str, findings: &mut Findings) {
    if let Some(text) = text {
        review_text(text, most, path, findings);
    }
    if text.as_ref().is_some_and(|text| text.trim().is_empty()) {
        *text = None;
    }
}

fn keep(
    value: &mut Option<String>,
    path: &str,
    findings: &mut Findings,
    check: impl Fn(&str) -> Result<(), &'static str>,
) {
    let Some(text) = value else { return };
    if let Err(expected) = check(text) {
        findings.add(path, format!("expected {expected}, found {}", quoted(text)));
        *value = None;
    }
}

/// Whether JSON of the author is small and without invisible text.
fn check_json(value: &impl Serialize) -> Result<(), String> {
    let text = serde_json::to_string(value).map_err(|error| error.to_string())?;
    if text.len() > limits::JSON_VALUE_BYTES {
        let most = limits::JSON_VALUE_BYTES;
        return Err(format!("of {} bytes, expected at most {most}", text.len()));
    }
    if text.contains(is_tag_character) {
        return Err(format!("with {TAG_CHARACTERS}"));
    }
    Ok(())
}

fn cap_list<T>(list: &mut Vec<T>, most: usize, path: &str, findings: &mut Findings) {
    if list.len() > most {
        findings.add(path, format!("a list of {}, expected at most {most}", list.len()));
        list.truncate(most);
    }
}

fn cap_map<T>(map: &mut BTreeMap<String, T>, most: usize, path: &str, findings: &mut Findings) {
    if map.len() > most {
        findings.add(path, format!("{} entries, expected at most {most}", map.len()));
        while map.len() > most {
            map.pop_last();
        }
    }
}

#[cfg(test)]
mod tests;
