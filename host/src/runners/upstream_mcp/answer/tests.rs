//! Answers of every shape.

use serde_json::json;

use super::*;

fn end(json: Value) -> End {
    end_of(&"c1".parse().unwrap(), serde_json::from_value(json).unwrap(), None)
}

#[test]
fn what_is_only_structured_is_shown_as_its_json() {
    let End::Answered(answer) = end(json!({"structuredContent": [1, 2]})) else { panic!() };
    assert_eq!((answer.content.as_str(), answer.is_error), ("[1,2]", false));
    assert_eq!(answer.structured, Some(json!({"result": [1, 2]})));
}

#[test]
fn bytes_that_are_no_base64_and_too_many_blocks_are_the_servers_fault() {
    let image = json!({"type": "image", "data": "?", "mimeType": "image/png"});
    let many = vec![json!({"type": "text", "text": ""}); BLOCKS_MAX + 1];
    for content in [vec![image], many] {
        let end = end(json!({ "content": content }));
        assert!(matches!(end, End::Guest(GuestFault::Trapped(_))), "{end:?}");
    }
}
