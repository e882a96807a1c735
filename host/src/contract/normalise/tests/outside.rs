//! Ends of what runs outside the sandbox: it answered, or it went away.

use super::*;
use crate::contract::attempt::Answer;

fn answered(content: &str, structured: Option<Value>) -> Answer {
    Answer { is_error: false, content: content.to_owned(), structured, attachments: Vec::new() }
}

#[test]
fn what_went_away_is_unavailable_and_may_have_run() {
    let result = settled(End::Lost("the server went away".into()));
    assert_eq!((result.outcome, result.executed), (Outcome::Unavailable, Executed::Maybe));
    assert_eq!(result.error_message.as_deref(), Some("the server went away"));
    assert_eq!(result.content, "Tool execution failed: the server went away");
    assert!(result.retryable && result.usage.is_some());
    // The same outcome before it began is known not to have run.
    let refused = settled(End::Refused(RunnerRefusal::Unavailable("not there".into())));
    assert_eq!((refused.outcome, refused.executed), (Outcome::Unavailable, Executed::No));
    assert!(refused.usage.is_none());
}

#[test]
fn a20_an_answer_says_itself_whether_it_is_an_error() {
    for text in [r#"{"error":"no"}"#, r#"{"exit_code":3}"#, "Error: no"] {
        let result = settled(End::Answered(answered(text, None)));
        assert_eq!((result.outcome, result.executed), (Outcome::Success, Executed::Yes), "{text}");
        assert_eq!((result.content.as_str(), result.error_message), (text, None));
    }
    let fine = Answer { is_error: true, ..answered("all went well", None) };
    let result = settled(End::Answered(fine));
    assert_eq!((result.outcome, result.executed), (Outcome::ToolError, Executed::Yes));
    assert_eq!(result.error_message.as_deref(), Some("all went well"));
    assert_eq!(result.status, Status::Error);
    let silent = Answer { is_error: true, ..answered(" ", None) };
    let words = settled(End::Answered(silent)).error_message.unwrap();
    assert_eq!(words, "the tool returned an error without words");
}

#[test]
fn an_answer_keeps_its_text_its_structure_and_what_is_beside_it() {
    let attachment = Attachment {
        uri: result_uri(&call_id(), 0),
        kind: AttachmentKind::Image,
        mime_type: Some("image/png".into()),
        size: 2,
        bytes: vec![1, 2],
    };
    let answer =
        Answer { attachments: vec![attachment.clone()], ..answered("x", Some(json!({"n": 7}))) };
    let result = settled(End::Answered(answer));
    assert_eq!((result.content.as_str(), result.structured), ("x", Some(json!({"n": 7}))));
    assert_eq!(result.attachments, [attachment]);
    // Text, structure and attachment count.
    assert_eq!(result.usage.unwrap().bytes_out, 1 + r#"{"n":7}"#.len() as u64 + 2);
}

#[test]
fn an_answer_is_bounded_by_what_is_kept_and_cut_to_what_is_shown() {
    let mut limits = Limits::default();
    limits.set(LimitKind::OutputKept, 1_000).unwrap();
    limits.set(LimitKind::OutputShown, 200).unwrap();
    let settled = |answer| settled_by(&limits, TextRule::On, End::Answered(answer));
    // Content of 500 and structure of 500 bytes, then one more.
    let both = |more: usize| {
        let structured = json!({"x": "y".repeat(500 - r#"{"x":""}"#.len())});
        answered(&"z".repeat(500 + more), Some(structured))
    };
    let kept = settled(both(0));
    assert_eq!(kept.outcome, Outcome::Success);
    assert!(kept.content.len() <= 200 && kept.structured.is_none());
    let kinds: Vec<_> = kept.attachments.iter().map(|it| (&it.kind, it.size)).collect();
    assert_eq!(kinds, [(&AttachmentKind::FullOutput, 500), (&AttachmentKind::FullOutput, 500)]);
    let refused = settled(both(1));
    assert_eq!((refused.outcome, refused.executed), (Outcome::OutputTooLarge, Executed::Yes));
    assert!(refused.attachments.is_empty() && refused.structured.is_none());
}
