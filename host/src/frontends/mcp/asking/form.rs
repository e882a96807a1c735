//! What a person at a client is shown, and what their answer means.
//!
//! Approval is a form with a decision; a question of the tool that asks is its own form.

use std::path::PathBuf;

use rmcp::model::{ElicitResult, ElicitationAction, ErrorData};
use serde_json::{Map, Value, json};

use crate::contract::approval::{ApprovalDecision, ApprovalRequest};
use crate::contract::descriptor::ToolDescriptor;
use crate::contract::escape::{cut, escaped_line};
use crate::gate::approval::card;

/// The tool whose calls are questions. A person's answer is its result.
const ASK_USER: &str = "belljar.ask-user";
/// Bytes of a reason that are kept.
const REASON_MAX_LEN: usize = 2 << 10;
/// What stands in the place of a folder of this machine: a client may be anywhere.
const FOLDER: &str = "of this machine";

/// Whether a call of it is a question.
pub(in super::super) fn is_question(tool: &ToolDescriptor) -> bool {
    tool.id.to_string() == ASK_USER
}

/// What is asked.
pub(super) enum Form<'a> {
    /// May it run?
    Approval(&'a ApprovalRequest),
    /// The questions of the call.
    Questions(Vec<Question<'a>>),
}

/// One question.
pub(super) struct Question<'a> {
    text: &'a str,
    options: Vec<&'a str>,
    multiple: bool,
}

impl<'a> Form<'a> {
    /// The form of a request.
    pub(super) fn of(asked: &'a ApprovalRequest) -> Self {
        let questions = asked.arguments.value().get("questions").and_then(Value::as_array);
        match questions {
            Some(questions) if asked.tool.to_string() == ASK_USER => {
                Self::Questions(questions.iter().filter_map(Question::of).collect())
            }
            _ => Self::Approval(asked),
        }
    }

    /// The text above the form, each line of it safe to show.
    pub(super) fn message(&self, now_unix_ms: u64) -> String {
        match self {
            Self::Approval(asked) => {
                let mut asked = (*asked).clone();
                for dir in &mut asked.grants.dirs {
                    dir.host = PathBuf::from(FOLDER);
                }
                card(&asked, now_unix_ms).join("\n")
            }
            Self::Questions(questions) => {
                let texts = questions.iter().map(|question| escaped_line(question.text));
                texts.collect::<Vec<_>>().join("\n")
            }
        }
    }

    /// The fields.
    pub(super) fn schema(&self) -> Value {
        match self {
            Self::Approval(_) => json!({
                "type": "object",
                "properties": {
                    "decision": {
                        "type": "string",
                        "title": "Decision",
                        "description": "Whether this one call may run.",
                        "enum": ["deny", "approve"],
                    },
                    "reason": {
                        "type": "string",
                        "title": "Reason",
                        "description": "Told to whoever called, where you deny.",
                    },
                },
                "required": ["decision"],
            }),
            Self::Questions(questions) => {
                let fields = questions.iter().enumerate();
                let properties: Map<_, _> =
                    fields.map(|(at, question)| (name(at), question.field())).collect();
                let required: Vec<_> = properties.keys().cloned().collect();
                json!({ "type": "object", "properties": properties, "required": required })
            }
        }
    }

    /// What an answer means.
    pub(super) fn decision(&self, said: &ElicitResult) -> Result<ApprovalDecision, ErrorData> {
        match said.action {
            ElicitationAction::Decline => Ok(ApprovalDecision::Deny { reason: None }),
            ElicitationAction::Accept => {
                self.accepted(said.content.as_ref().unwrap_or(&Value::Null))
            }
            // What isn't known yet is no answer either.
            _ => Ok(ApprovalDecision::Cancel),
        }
    }

    fn accepted(&self, content: &Value) -> Result<ApprovalDecision, ErrorData> {
        let Self::Questions(questions) = self else {
            let reason = content.get("reason").and_then(Value::as_str).filter(|it| !it.is_empty());
            return match content.get("decision").and_then(Value::as_str) {
                Some("approve") => Ok(ApprovalDecision::Once),
                Some("deny") => Ok(ApprovalDecision::Deny {
                    reason: reason.map(|it| cut(it, REASON_MAX_LEN).to_owned()),
                }),
                _ => Err(ErrorData::invalid_params("`decision` is `approve` or `deny`", None)),
            };
        };
        let answers = questions.iter().enumerate().map(|(at, _)| answered(content.get(name(at))));
        let answers: Option<Vec<Value>> = answers.collect();
        let answers = answers.ok_or_else(|| {
            ErrorData::invalid_params("each question has a text, or several, for its answer", None)
        })?;
        Ok(ApprovalDecision::Answer { content: Value::Array(answers).to_string() })
    }
}

fn name(at: usize) -> String {
    format!("q{}", at + 1)
}

fn answered(said: Option<&Value>) -> Option<Value> {
    let text = |value: &Value| value.is_string();
    let fits =
        |value: &&Value| text(value) || value.as_array().is_some_and(|it| it.iter().all(text));
    said.filter(fits).cloned()
}

impl<'a> Question<'a> {
    fn of(value: &'a Value) -> Option<Self> {
        let options = value.get("options").and_then(Value::as_array);
        Some(Self {
            text: value.get("question")?.as_str()?,
            options: options.into_iter().flatten().filter_map(Value::as_str).collect(),
            multiple: value.get("multiple").and_then(Value::as_bool).unwrap_or(false),
        })
    }

    fn field(&self) -> Value {
        let description = escaped_line(self.text);
        let chosen = json!({ "type": "string", "enum": self.options });
        match (self.options.is_empty(), self.multiple) {
            (true, _) => json!({ "type": "string", "description": description }),
            (false, false) => {
                json!({ "type": "string", "enum": self.options, "description": description })
            }
            (false, true) => {
                json!({ "type": "array", "items": chosen, "description": description })
            }
        }
    }
}
