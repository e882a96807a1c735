//! The definitions of tools for a provider, and the report of what they can't say.
//!
//! One tool that a provider would refuse is left out, and the others stay (T42). Each provider has a
//! file for what it takes; none of them knows another.

mod anthropic;
mod gemini;
mod openai;
#[cfg(test)]
mod tests;

use serde::Serialize;
use serde_json::Value;

use super::finding::{Finding, FindingKind};
use super::format::{Format, Strict};
use super::names::{Names, safe_name};
use super::schema::{Change, Rewritten, Subset, Tally, Unfit, rewritten};
use crate::contract::descriptor::ToolDescriptor;

/// Most changes of one tool that are listed one by one.
const CHANGES_MAX: usize = 50;

/// Definitions of tools.
#[derive(Debug, Clone, Serialize)]
pub struct Exported {
    /// What the request's `tools` is.
    pub tools: Value,
    /// What isn't as the descriptors say.
    pub report: Vec<Finding>,
    /// The tools by the names they have there.
    pub names: Names,
}

/// What a provider's file makes a definition of.
#[derive(Debug)]
struct Definition<'a> {
    name: &'a str,
    description: &'a str,
    schema: Value,
    strict: bool,
}

/// Definitions of `tools` in the shape of `format`, in their order. Never fails: a tool that can't be
/// told of is in the report.
pub fn definitions<'a>(
    tools: impl IntoIterator<Item = &'a ToolDescriptor>,
    format: Format,
    strict: Strict,
) -> Exported {
    let mut export = Export {
        format,
        strict: strict == Strict::On,
        room: anthropic::Room::default(),
        defined: Vec::new(),
        report: Vec::new(),
        names: Names::default(),
    };
    tools.into_iter().for_each(|tool| export.tool(tool));
    export.finish()
}

struct Export {
    format: Format,
    strict: bool,
    room: anthropic::Room,
    defined: Vec<Value>,
    report: Vec<Finding>,
    names: Names,
}

impl Export {
    fn tool(&mut self, tool: &ToolDescriptor) {
        let strict = match self.strict_subset() {
            Some(subset) => self.strictly(tool, subset),
            None => None,
        };
        let (written, strict) = match strict {
            Some(written) => (written, true),
            None => match rewritten(&tool.input_schema, self.open_subset()) {
                Ok(written) => (written, false),
                Err(unfit) => return self.left_out(tool, &unfit),
            },
        };
        let name = safe_name(self.format, tool);
        if let Err(other) = self.names.take(name.clone(), &tool.id) {
            let why = format!("would have the name `{name}`, which `{other}` has");
            return self.left_out(tool, &Unfit { path: String::new(), why });
        }
        if name != tool.wire_name {
            let what = format!("is `{name}` there, since its wire name isn't taken");
            self.found(tool, FindingKind::Renamed, String::new(), what);
        }
        self.changes(tool, written.changes);
        let description = self.description(tool);
        let definition =
            Definition { name: &name, description: &description, schema: written.schema, strict };
        self.defined.push(match self.format {
            Format::OpenaiChat => openai::chat(&definition),
            Format::OpenaiResponses => openai::responses(&definition),
            Format::Anthropic => anthropic::define(&definition),
            Format::Gemini => gemini::define(&definition),
        });
    }

    fn strict_subset(&self) -> Option<&'static Subset> {
        match self.format {
            _ if !self.strict => None,
            Format::OpenaiChat | Format::OpenaiResponses => Some(&openai::STRICT),
            Format::Anthropic => Some(&anthropic::STRICT),
            Format::Gemini => None,
        }
    }

    fn open_subset(&self) -> &'static Subset {
        match self.format {
            Format::OpenaiChat | Format::OpenaiResponses => &openai::OPEN,
            Format::Anthropic => &anthropic::OPEN,
            Format::Gemini => &gemini::LISTED,
        }
    }

    /// The schema in the strict subset; `None`, which is reported, where it can't be.
    fn strictly(&mut self, tool: &ToolDescriptor, subset: &Subset) -> Option<Rewritten> {
        let fits = |tally: &Tally, room: &mut anthropic::Room| match self.format {
            Format::Anthropic => room.take(tally),
            _ => openai::fits(tally),
        };
        let written = rewritten(&tool.input_schema, subset).and_then(|written| {
            let fits = fits(&written.tally, &mut self.room);
            fits.map(|()| written).map_err(|why| Unfit { path: String::new(), why })
        });
        match written {
            Ok(written) => Some(written),
            Err(Unfit { path, why }) => {
                self.found(tool, FindingKind::NotStrict, path, format!("isn't strict: it {why}"));
                None
            }
        }
    }

    fn changes(&mut self, tool: &ToolDescriptor, changes: Vec<Change>) {
        let more = changes.len().saturating_sub(CHANGES_MAX);
        for Change { path, what } in changes.into_iter().take(CHANGES_MAX) {
            self.found(tool, FindingKind::Lossy, path, what);
        }
        if more > 0 {
            let what = format!("and {more} more changes");
            self.found(tool, FindingKind::Lossy, String::new(), what);
        }
    }

    /// The description, as long as the provider takes it.
    fn description(&mut self, tool: &ToolDescriptor) -> String {
        let most = match self.format {
            Format::OpenaiChat | Format::OpenaiResponses => openai::DESCRIPTION_MAX_CHARS,
            Format::Anthropic | Format::Gemini => return tool.description.clone(),
        };
        let length = tool.description.chars().count();
        if length <= most {
            return tool.description.clone();
        }
        let what = format!("the description is cut from {length} to {most} characters");
        self.found(tool, FindingKind::Lossy, String::new(), what);
        tool.description.chars().take(most - 1).chain(['…']).collect()
    }

    fn left_out(&mut self, tool: &ToolDescriptor, unfit: &Unfit) {
        let what = format!("is left out: it {}", unfit.why);
        self.found(tool, FindingKind::LeftOut, unfit.path.clone(), what);
    }

    fn found(&mut self, tool: &ToolDescriptor, kind: FindingKind, path: String, what: String) {
        self.report.push(Finding { tool: Some(tool.id.clone()), kind, path, what });
    }

    fn note(&mut self, what: String) {
        self.report.push(Finding {
            tool: None,
            kind: FindingKind::Note,
            path: String::new(),
            what,
        });
    }

    fn finish(mut self) -> Exported {
        if self.format == Format::Gemini && self.strict {
            self.note(gemini::STRICT_NOTE.to_owned());
        }
        let is_openai = matches!(self.format, Format::OpenaiChat | Format::OpenaiResponses);
        let (count, most) = (self.defined.len(), openai::TOOLS_MAX);
        if is_openai && count > most {
            self.note(format!("these are {count} tools, and OpenAI takes {most} in a request"));
        }
        let tools = match self.format {
            Format::Gemini => gemini::wrapped(&self.defined),
            _ => Value::Array(self.defined),
        };
        Exported { tools, report: self.report, names: self.names }
    }
}
