//! What a question to a person comes to (A12): an answer, or a flag that says why there is none.
//!
//! Reads no text for how it went: the flags are those of the queue.

use serde_json::{Value, json};

use crate::contract::arguments::CheckedArguments;
use crate::gate::approval::Answer;

/// The argument that holds the questions.
const QUESTIONS: &str = "questions";

/// What somebody answered: one answer for each question where it is a JSON list of that many, else
/// the text alone.
pub(super) fn answered(arguments: &CheckedArguments, content: &str) -> Value {
    let asked = arguments.value().get(QUESTIONS).and_then(Value::as_array).map_or(1, Vec::len);
    let answers = serde_json::from_str::<Vec<Value>>(content).ok();
    let answers = answers.filter(|answers| answers.len() == asked && answers.iter().all(is_answer));
    json!({ "status": "answered", "answers": answers.unwrap_or_else(|| vec![content.into()]) })
}

/// A text, or several where several were to be chosen.
fn is_answer(value: &Value) -> bool {
    match value {
        Value::String(_) => true,
        Value::Array(chosen) => chosen.iter().all(Value::is_string),
        _ => false,
    }
}

/// Why there is no answer; `None`: there may still be one.
pub(super) fn unanswered(answer: &Answer) -> Option<&'static str> {
    match answer {
        Answer::Cancelled | Answer::CalledOff { .. } | Answer::Declined { by: Some(_), .. } => {
            Some("cancelled")
        }
        Answer::Expired(_) => Some("timeout"),
        Answer::Unavailable(_) | Answer::Declined { by: None, .. } => Some("unavailable"),
        Answer::Pending { .. }
        | Answer::Admitted(_)
        | Answer::Edited { .. }
        | Answer::Answered { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(questions: usize) -> CheckedArguments {
        let questions: Vec<_> = (0..questions).map(|n| json!({ "question": n })).collect();
        let Value::Object(arguments) = json!({ "questions": questions }) else { unreachable!() };
        CheckedArguments::new(arguments)
    }

    #[test]
    fn a12_one_text_answers_one_question_whatever_it_says() {
        for text in ["blue", "", "{\"status\":\"cancelled\"}", "[1]", "timeout"] {
            let expected = json!({ "status": "answered", "answers": [text] });
            assert_eq!(answered(&asked(1), text), expected, "{text}");
        }
    }

    #[test]
    fn a12_a_list_answers_one_question_each() {
        let expected = json!({ "status": "answered", "answers": ["a", ["b", "c"]] });
        assert_eq!(answered(&asked(2), r#"["a",["b","c"]]"#), expected);
        for text in [r#"["a"]"#, r#"["a","b","c"]"#, r#"["a",{}]"#, "both"] {
            let expected = json!({ "status": "answered", "answers": [text] });
            assert_eq!(answered(&asked(2), text), expected, "{text}");
        }
    }

    #[test]
    fn a12_what_waits_has_no_flag_yet() {
        let id = "abcdefghijkl".parse().unwrap();
        assert_eq!(unanswered(&Answer::Pending { id, expires_unix_ms: 1 }), None);
    }
}
