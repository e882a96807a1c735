//! Which questions are taken.

use super::*;

fn checked(arguments: Value) -> Result<Value, String> {
    let Value::Object(arguments) = arguments else { panic!("no object: {arguments}") };
    let checked = AskUser.check(arguments);
    checked.map(Value::Object).map_err(|failures| {
        failures
            .iter()
            .map(|it| format!("{}: {}", it.path, it.message))
            .collect::<Vec<_>>()
            .join("; ")
    })
}

#[test]
fn a12_an_empty_list_is_an_error_at_once() {
    let error = checked(json!({ "questions": [] })).unwrap_err();
    assert_eq!(error, "/questions: expected 1 to 10 questions, got 0");
    assert_eq!(checked(json!({})).unwrap_err(), ": `questions` is missing");
}

#[test]
fn a12_up_to_ten_questions_are_taken() {
    let questions = |n: usize| json!({ "questions": vec![json!({ "question": "why?" }); n] });
    assert_eq!(checked(questions(10)).unwrap(), questions(10));
    assert!(checked(questions(11)).unwrap_err().contains("got 11"));
}

#[test]
fn t19_a_list_as_text_is_the_list() {
    let list = json!([{ "question": "which?", "options": ["a", "b"], "multiple": true }]);
    let text = json!({ "questions": list.to_string() });
    assert_eq!(checked(text).unwrap(), json!({ "questions": list }));
    // Where a text is expected, a text stays one, whatever it looks like.
    let literal = json!({ "questions": [{ "question": "[1]" }] });
    assert_eq!(checked(literal.clone()).unwrap(), literal);
    for text in ["{}", "\"x\"", "why?", "[1"] {
        let error = checked(json!({ "questions": text })).unwrap_err();
        assert_eq!(error, "/questions: expected a list of questions", "{text}");
    }
}

#[test]
fn what_is_no_question_is_told_by_its_path() {
    for (question, expected) in [
        (json!("why?"), "/questions/0: expected an object with `question`"),
        (json!({}), "/questions/0: `question` is missing"),
        (json!({ "question": 1 }), "/questions/0/question: expected a text"),
        (json!({ "question": "" }), "/questions/0/question: expected a text that isn't empty"),
        (
            json!({ "question": "a".repeat(TEXT_MAX_LEN + 1) }),
            "/questions/0/question: expected at most 4096 bytes, got 4097",
        ),
        (
            json!({ "question": "a", "options": vec!["b"; OPTIONS_MAX + 1] }),
            "/questions/0/options: expected a list of at most 20 texts",
        ),
        (json!({ "question": "a", "options": [1] }), "/questions/0/options: expected a text"),
        (
            json!({ "question": "a", "multiple": "yes" }),
            "/questions/0/multiple: expected `true` or `false`",
        ),
        (json!({ "question": "a", "x/y": 1 }), "/questions/0/x~1y: there is no such field"),
    ] {
        let error = checked(json!({ "questions": [question] })).unwrap_err();
        assert_eq!(error, expected);
    }
    let error = checked(json!({ "questions": [{ "question": "a" }], "more": 1 })).unwrap_err();
    assert_eq!(error, "/more: there is no such argument");
}
