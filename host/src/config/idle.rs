//! Finds what rules name and nothing has: tools, arguments and callers.
//!
//! A slip in a rule that denies would let through what it was to deny. Is told which tools are
//! loaded, and loads none. Each may be meant all the same, for a plugin of one run or a caller of a
//! program, so none is an error.

use std::collections::BTreeSet;

use super::check::{key_text, near};
use super::effective::Origin;
use super::error::shown;
use super::settings::{Config, Finding};
use crate::contract::descriptor::ToolDescriptor;
use crate::gate::{Globs, Pattern, RuleSettings};

impl Config {
    /// What its rules name that neither these tools nor its callers have.
    pub fn idle<'t>(&self, tools: impl IntoIterator<Item = &'t ToolDescriptor>) -> Vec<Finding> {
        let tools: Vec<_> = tools.into_iter().map(|tool| (tool.id.to_string(), tool)).collect();
        let mut idle = Idle { config: self, tools, findings: Vec::new() };
        for (rule, place) in self.policy.rules.iter().zip(1..) {
            idle.rule(rule, place);
        }
        idle.findings
    }

    /// The line of a value, by its full path.
    fn line_of(&self, key: &str) -> Option<u32> {
        let value = self.effective.iter().find(|it| it.key == key)?;
        match value.origin {
            Origin::File { line, .. } => Some(line),
            Origin::Default => None,
        }
    }
}

struct Idle<'a> {
    config: &'a Config,
    /// Each with its id.
    tools: Vec<(String, &'a ToolDescriptor)>,
    findings: Vec<Finding>,
}

impl Idle<'_> {
    fn rule(&mut self, rule: &RuleSettings, place: usize) {
        let label = match &rule.name {
            Some(name) => format!("rule `{}`", shown(name)),
            None => format!("rule {place}"),
        };
        let path = format!("policy.rules[{place}]");
        let ids: Vec<_> = self.tools.iter().map(|(id, _)| id.clone()).collect();
        for glob in unmatched(rule.tool.as_ref(), &ids) {
            let said = format!("{label} names `{}`", shown(glob));
            let why = "which no tool that is loaded has for its id";
            self.find(&format!("{path}.tool"), &format!("{said}, {why}"), glob, &ids);
        }
        let callers: Vec<_> = self.config.callers.iter().map(|it| it.name.clone()).collect();
        for glob in unmatched(rule.caller.as_ref(), &callers) {
            let said = format!("{label} names the caller `{}`", shown(glob));
            let why = "which the configuration doesn't have";
            self.find(&format!("{path}.caller"), &format!("{said}, {why}"), glob, &callers);
        }
        self.arguments(rule, &label, &path);
    }

    fn arguments(&mut self, rule: &RuleSettings, label: &str, path: &str) {
        let covers = |(id, tool): &&(String, &ToolDescriptor)| {
            rule.tool.as_ref().is_none_or(|globs| globs.0.iter().any(|glob| matches(glob, id)))
                && rule.source.is_none_or(|source| source == tool.source)
        };
        let covered = self.tools.iter().filter(covers).map(|(_, tool)| arguments_of(tool));
        let Some(sets) = covered.collect::<Option<Vec<_>>>().filter(|sets| !sets.is_empty()) else {
            // Nothing is covered, or a tool takes arguments of any name.
            return;
        };
        let known: BTreeSet<_> = sets.into_iter().flatten().collect();
        let names: Vec<_> = known.into_iter().map(str::to_owned).collect();
        for name in rule.arguments.keys().filter(|name| !names.contains(name)) {
            let said = format!("{label} looks at the argument `{}`", shown(name));
            let why = "which no tool that it covers has";
            let key = format!("{path}.arguments.{}", key_text(name));
            self.find(&key, &format!("{said}, {why}"), name, &names);
        }
    }

    fn find(&mut self, key: &str, said: &str, wrong: &str, names: &[String]) {
        let meant = match near::nearest(wrong, names) {
            Some(near) => format!(", did you mean `{}`?", shown(&near)),
            None => String::new(),
        };
        let line = self.config.line_of(key);
        self.findings.push(Finding { line, text: format!("{said}{meant}") });
    }
}

/// The globs that match none of these names.
fn unmatched<'g>(globs: Option<&'g Globs>, names: &[String]) -> Vec<&'g String> {
    let globs = globs.into_iter().flat_map(|globs| &globs.0);
    globs.filter(|glob| !names.iter().any(|name| matches(glob, name))).collect()
}

fn matches(glob: &str, text: &str) -> bool {
    Pattern::new(glob).is_ok_and(|glob| glob.matches(text))
}

/// The names of a tool's arguments; `None` where it takes others as well.
fn arguments_of(tool: &ToolDescriptor) -> Option<Vec<&str>> {
    let schema = &tool.input_schema;
    if schema.get("additionalProperties").and_then(serde_json::Value::as_bool) != Some(false) {
        return None;
    }
    let properties = schema.get("properties").and_then(serde_json::Value::as_object);
    Some(properties.into_iter().flat_map(|it| it.keys()).map(String::as_str).collect())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::{Sources, from_text};
    use super::*;
    use crate::contract::descriptor::example;
    use crate::contract::effects::Effect;

    fn tool(id: &str, arguments: &[&str]) -> ToolDescriptor {
        let mut tool = example(id, Effect::assumed(false));
        let properties: serde_json::Map<_, _> =
            arguments.iter().map(|name| ((*name).to_owned(), true.into())).collect();
        tool.input_schema = serde_json::json!({
            "type": "object", "properties": properties, "additionalProperties": false
        });
        tool
    }

    fn findings(text: &str, tools: &[ToolDescriptor]) -> Vec<(Option<u32>, String)> {
        let config = from_text(text, Path::new("/belljar.toml"), &Sources::default()).unwrap();
        config.idle(tools).into_iter().map(|it| (it.line, it.text)).collect()
    }

    fn of_builtins(text: &str) -> Vec<(Option<u32>, String)> {
        findings(
            text,
            &[tool("files.write", &["path", "content"]), tool("search.grep", &["pattern"])],
        )
    }

    #[test]
    fn what_rules_name_and_nothing_has_is_told_with_its_line_and_what_is_near() {
        let text = "[callers.nightly]\n[[policy.rules]]\naction = \"deny\"\ntool = \"files_write\"\n\
                    caller = [\"nigthly\", \"cli\"]\n[[policy.rules]]\nname = \"env\"\n\
                    action = \"deny\"\ntool = \"files.*\"\n\
                    arguments = { paht = \"*.env\", whatever = \"x\" }\n";
        let expected = [
            (
                4,
                "rule 1 names `files_write`, which no tool that is loaded has for its id, did you \
                 mean `files.write`?",
            ),
            (
                5,
                "rule 1 names the caller `nigthly`, which the configuration doesn't have, did you \
                 mean `nightly`?",
            ),
            (
                10,
                "rule `env` looks at the argument `paht`, which no tool that it covers has, did \
                  you mean `path`?",
            ),
            (10, "rule `env` looks at the argument `whatever`, which no tool that it covers has"),
        ];
        let expected = expected.map(|(line, text)| (Some(line), text.to_owned()));
        assert_eq!(of_builtins(text), expected);
    }

    #[test]
    fn what_one_tool_or_caller_has_is_no_finding() {
        for rule in [
            "arguments = { pattern = \"x\" }",
            "tool = [\"files.*\", \"search.*\"]\narguments = { path = \"x\", pattern = \"y\" }",
            "caller = \"c*\"",
            "tool = \"*\"",
        ] {
            let text = format!("[[policy.rules]]\naction = \"deny\"\n{rule}\n");
            assert_eq!(of_builtins(&text), [], "{rule}");
        }
    }

    #[test]
    fn arguments_are_not_judged_where_a_tool_takes_any_or_none_is_covered() {
        let text = "[[policy.rules]]\naction = \"deny\"\narguments = { paht = \"x\" }\n";
        let open = example("other.tool", Effect::assumed(false));
        assert_eq!(findings(text, &[tool("files.write", &["path"]), open]), []);
        assert_eq!(findings(text, &[]), []);
        assert_eq!(findings(text, &[tool("files.write", &["path"])]).len(), 1);
    }
}
