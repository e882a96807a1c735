//! What a line is that is no message: somebody's answer, a word beside the protocol, or a break.
//!
//! Believes nothing of it but whose answer it would be. Holds no line.

use std::fmt;

use rmcp::model::RequestId;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};

use super::head::id_in_head;

/// What becomes of such a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Unread {
    /// It would be the answer to this request: that call fails, the others go on.
    Answer(RequestId),
    /// It answers nothing: a banner, a line of a log, or a message that isn't an answer.
    Stray,
    /// It may be an answer, and nobody can tell to what: whoever waits would wait in vain.
    Broken,
}

/// The members by which a message is known. What they hold may be anything.
#[derive(Default)]
struct Members {
    jsonrpc: bool,
    /// A `result` or an `error`.
    outcome: bool,
    method: bool,
}

impl Members {
    /// Of the protocol, and no request or notification.
    fn may_answer(&self) -> bool {
        self.jsonrpc && !self.method
    }

    /// Whether an `id` beside them is that of a request. Logs in JSON have ids of their own.
    fn may_tell_a_request(&self) -> bool {
        (self.jsonrpc || self.outcome) && !self.method
    }
}

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(Names)
    }
}

/// Logs like to name a member twice, which a derived reader would take for broken JSON.
struct Names;

impl<'de> Visitor<'de> for Names {
    type Value = Members;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
        let mut members = Members::default();
        while let Some(name) = map.next_key::<String>()? {
            match name.as_str() {
                "jsonrpc" => members.jsonrpc = true,
                "result" | "error" => members.outcome = true,
                "method" => members.method = true,
                _ => {}
            }
            map.next_value::<IgnoredAny>()?;
        }
        Ok(members)
    }
}

/// Judges a whole line that is no message, without the space around it.
pub(super) fn judge(line: &[u8]) -> Unread {
    match line.first() {
        Some(b'{') => {}
        // Servers that answer several requests in one line: belljar's version of the protocol has
        // none. Logs like to begin with a bracket as well, and aren't JSON.
        Some(b'[') => {
            let all = serde_json::from_slice::<Vec<Members>>(line).unwrap_or_default();
            let answers = all.iter().any(Members::may_answer);
            return if answers { Unread::Broken } else { Unread::Stray };
        }
        _ => return Unread::Stray,
    }
    let may_answer = match serde_json::from_slice::<Members>(line) {
        // Whole JSON of another kind: a log in JSON.
        Ok(members) if !members.may_tell_a_request() => return Unread::Stray,
        Ok(members) => members.may_answer(),
        Err(_) => true,
    };
    match id_in_head(line) {
        Some(id) => Unread::Answer(id),
        None if may_answer => Unread::Broken,
        None => Unread::Stray,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_answers_nothing_is_passed_over() {
        for line in [
            "",
            "listening on stdin",
            "[INFO] started",
            "[]",
            r#"[{"level":"info"}]"#,
            r#"[["started"]]"#,
            r#"{"level":"info","msg":"started","error":null}"#,
            r#"{"level":"info","id":7,"msg":"started"}"#,
            r#"{"id":7}"#,
            r#"{"id":"7","params":{"result":{},"error":{}}}"#,
            r#"{"id":7,"level":"info","id":8,"level":"warn"}"#,
            r#"{"level":"warn","error":"one","error":"two"}"#,
            r#"{"id":7,"method":"GET","result":"ok"}"#,
            r#"{"jsonrpc":"2.0","method":5,"params":[]}"#,
            "\u{1b}[32mok\u{1b}[0m {",
            "Traceback (most recent call last):",
        ] {
            assert_eq!(judge(line.as_bytes()), Unread::Stray, "{line}");
        }
        assert_eq!(judge(b"\xff\xfe{"), Unread::Stray);
    }

    #[test]
    fn an_answer_that_tells_its_request_fails_that_one() {
        for line in [
            r#"{"jsonrpc":"2.0","id":7,"nothing":1}"#,
            r#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"ty"#,
            r#"{"id":7,"result":{}}"#,
            r#"{"id":7,"error":"no"}"#,
            // Cut, so nobody knows what would have followed.
            r#"{"level":"info","id":7,"msg":"sta"#,
        ] {
            assert_eq!(judge(line.as_bytes()), Unread::Answer(RequestId::Number(7)), "{line}");
        }
    }

    #[test]
    fn what_may_be_an_answer_to_anything_is_a_break() {
        for line in [
            "{",
            "{}}",
            "{'jsonrpc': '2.0'}",
            r#"{"jsonrpc":"2.0","result":{"content":[{"ty"#,
            r#"{"jsonrpc":"2.0","result":{}}"#,
            r#"{"jsonrpc":"1.0"}"#,
            r#"[{"jsonrpc":"2.0","id":7,"result":{}}]"#,
        ] {
            assert_eq!(judge(line.as_bytes()), Unread::Broken, "{line}");
        }
        assert_eq!(judge(b"{\"jsonrpc\":\"\xff\"}"), Unread::Broken);
        // Deeper than a message may be, and whole: no stack is spent on it.
        let deep = format!("{{\"result\":{}{}}}", "[".repeat(200_000), "]".repeat(200_000));
        assert_eq!(judge(deep.as_bytes()), Unread::Stray);
    }
}
