//! `belljar.ask-user`: questions to a person (A12), `ask_user_questions` to models.
//!
//! Asks nobody itself: the gate puts every call before a person, whose answer is its result.

use async_trait::async_trait;
use serde_json::{Map, Value, json};

use super::own::OwnTool;
use crate::contract::arguments::{ArgumentCheck, ArgumentFailure};
use crate::contract::attempt::{Attempt, AttemptEnd, End};
use crate::contract::ids::ToolId;
use crate::contract::result::Usage;
use crate::engine::ports::ToolRunner;

/// Questions of one call.
const QUESTIONS_MAX: usize = 10;
/// Options of one question.
const OPTIONS_MAX: usize = 20;
/// Bytes of a question, and of an option: a person reads them.
const TEXT_MAX_LEN: usize = 4 << 10;

/// The tool.
#[derive(Debug)]
pub(super) struct AskUser;

impl AskUser {
    /// What it is.
    pub(super) fn tool() -> OwnTool {
        OwnTool {
            id: "belljar.ask-user",
            wire_name: "ask_user_questions",
            title: "Ask the user",
            description: "Asks a person 1 to 10 questions and waits for the answers. The result's \
                          `status` says what came of it: `answered`, `cancelled` (the person or \
                          the caller called it off), `timeout` or `unavailable` (nobody can be \
                          asked). `answers` then has one answer for each question, or one text \
                          that answers all of them.",
            input_schema: input_schema(),
            output_schema: json!({
                "type": "object",
                "properties": {
                    "status": { "enum": ["answered", "cancelled", "timeout", "unavailable"] },
                    "answers": {
                        "type": "array",
                        "items": {
                            "anyOf": [
                                { "type": "string" },
                                { "type": "array", "items": { "type": "string" } },
                            ],
                        },
                    },
                },
                "required": ["status"],
                "additionalProperties": false,
            }),
            asks_a_person: true,
        }
    }
}

fn input_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "questions": {
                "type": "array",
                "description": "The questions, in the order to be asked.",
                "minItems": 1,
                "maxItems": QUESTIONS_MAX,
                "items": {
                    "type": "object",
                    "properties": {
                        "question": { "type": "string", "description": "The question.",
                            "minLength": 1 },
                        "options": { "type": "array", "items": { "type": "string" },
                            "maxItems": OPTIONS_MAX,
                            "description": "Answers to choose from; any other is taken too." },
                        "multiple": { "type": "boolean",
                            "description": "Whether several options may be chosen." },
                    },
                    "required": ["question"],
                    "additionalProperties": false,
                },
            },
        },
        "required": ["questions"],
        "additionalProperties": false,
    })
}

impl ArgumentCheck for AskUser {
    fn check(&self, args: Map<String, Value>) -> Result<Map<String, Value>, Vec<ArgumentFailure>> {
        let mut failures = Vec::new();
        for name in args.keys().filter(|name| *name != "questions") {
            failures.push(ArgumentFailure::new(pointer("", name), "there is no such argument"));
        }
        let given = args.get("questions").cloned().map(unquoted);
        let questions = match given {
            Some(Value::Array(questions)) => questions,
            Some(_) => {
                failures.push(ArgumentFailure::new("/questions", "expected a list of questions"));
                Vec::new()
            }
            None => {
                failures.push(ArgumentFailure::new("", "`questions` is missing"));
                Vec::new()
            }
        };
        if failures.is_empty() && !(1..=QUESTIONS_MAX).contains(&questions.len()) {
            let found = questions.len();
            let why = format!("expected 1 to {QUESTIONS_MAX} questions, got {found}");
            failures.push(ArgumentFailure::new("/questions", why));
        }
        for (index, question) in questions.iter().enumerate() {
            check_question(&format!("/questions/{index}"), question, &mut failures);
        }
        if failures.is_empty() {
            return Ok(Map::from_iter([("questions".to_owned(), Value::Array(questions))]));
        }
        Err(failures)
    }
}

/// Models sometimes write a list as the text of a list. No text is a list of questions, so nothing
/// is lost by reading it as one.
fn unquoted(value: Value) -> Value {
    let read = value.as_str().and_then(|text| serde_json::from_str::<Vec<Value>>(text).ok());
    read.map_or(value, Value::Array)
}

fn check_question(at: &str, question: &Value, failures: &mut Vec<ArgumentFailure>) {
    let Value::Object(question) = question else {
        failures.push(ArgumentFailure::new(at, "expected an object with `question`"));
        return;
    };
    if !question.contains_key("question") {
        failures.push(ArgumentFailure::new(at, "`question` is missing"));
    }
    for (name, value) in question {
        let at = pointer(at, name);
        let why = match (name.as_str(), value) {
            ("question", value) => wrong_text(value),
            ("options", Value::Array(options)) if options.len() <= OPTIONS_MAX => {
                options.iter().find_map(wrong_text)
            }
            ("options", _) => Some(format!("expected a list of at most {OPTIONS_MAX} texts")),
            ("multiple", Value::Bool(_)) => None,
            ("multiple", _) => Some("expected `true` or `false`".to_owned()),
            _ => Some("there is no such field".to_owned()),
        };
        failures.extend(why.map(|why| ArgumentFailure::new(at, why)));
    }
}

fn wrong_text(value: &Value) -> Option<String> {
    match value.as_str().map(str::len) {
        Some(1..=TEXT_MAX_LEN) => None,
        Some(0) => Some("expected a text that isn't empty".to_owned()),
        Some(len) => Some(format!("expected at most {TEXT_MAX_LEN} bytes, got {len}")),
        None => Some("expected a text".to_owned()),
    }
}

/// A JSON pointer to a member (RFC 6901).
fn pointer(at: &str, name: &str) -> String {
    format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"))
}

#[async_trait]
impl ToolRunner for AskUser {
    /// Whatever let the call through, nobody has answered it.
    async fn run(&self, tool: &ToolId, _attempt: Attempt) -> AttemptEnd {
        let end = End::Host(format!("a call of `{tool}` was let through and not answered"));
        AttemptEnd { end, usage: Usage::default(), missing_grants: Vec::new() }
    }
}

#[cfg(test)]
mod tests;
