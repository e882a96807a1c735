//! An entry of the log in one line: number, time, what, tool, call, and what is to be said of it.
//!
//! Fields are looked up by name and may be absent: another belljar may have written them.

use serde_json::Value;

use crate::contract::escape::clipped_line;
use crate::events::Entry;
use crate::frontends::cli::time::utc;

/// Longest reason or message in a line, in bytes.
const TEXT_MAX_LEN: usize = 300;
/// Longest name in a line, in bytes.
const NAME_MAX_LEN: usize = 100;

/// The line, with its end. Nothing in it acts or hides.
pub(super) fn line(entry: &Entry) -> String {
    let (seq, time, kind) = (entry.seq, utc(entry.at_unix_ms), name(&entry.kind));
    let tool = entry.text("tool").or_else(|| entry.text("toolName"));
    // In the record of a call it says who let it through, and comes with the rest.
    let approval = entry.text("approval").filter(|_| entry.kind == "Revoked");
    let subject = [tool, entry.text("callId"), entry.text("request"), approval];
    let subject: Vec<String> = subject.into_iter().flatten().map(name).collect();
    let said = said(entry);
    let gap = if said.is_empty() { "" } else { ": " };
    format!("{seq:>6}  {time}  {kind}  {}{gap}{said}\n", subject.join("  "))
}

fn said(entry: &Entry) -> String {
    let text = |field| entry.text(field).map(|text| clipped_line(text, TEXT_MAX_LEN));
    let because = |field| text(field).map(|text| format!(" ({text})")).unwrap_or_default();
    match entry.kind.as_str() {
        "CallStarted" => {
            let by = match (person(entry), text("approval")) {
                (Some(person), Some(approval)) => format!("{person} by {approval}"),
                (Some(person), None) => person,
                _ => text("by").unwrap_or_default(),
            };
            format!("{}let through by {by}{}", from(entry), because("reason"))
        }
        "CallFinished" => {
            let (outcome, ran) = (text("outcome").unwrap_or_default(), text("executed"));
            let ran = ran.map(|ran| format!(", executed: {ran}")).unwrap_or_default();
            format!("{outcome}{ran}{}", because("errorMessage"))
        }
        "CallRefused" | "CallAnswered" => {
            let approval = text("approval").map(|id| format!(", request {id}")).unwrap_or_default();
            let outcome = text("outcome").unwrap_or_default();
            let ran = if entry.kind == "CallAnswered" { ", not run" } else { "" };
            format!("{}{outcome}{ran}{approval}{}", from(entry), because("reason"))
        }
        "ApprovalRequested" => format!("{}{}", from(entry), text("reason").unwrap_or_default()),
        "ApprovalDecided" => {
            let (decision, by) = (text("decision").unwrap_or_default(), person(entry));
            let scope = entry.fields.get("rememberedScope").map(|scope| {
                let scope = scope.as_str().map_or_else(|| scope.to_string(), str::to_owned);
                format!(", remembered by {}", clipped_line(&scope, TEXT_MAX_LEN))
            });
            let (by, scope) = (by.unwrap_or_default(), scope.unwrap_or_default());
            format!("{decision} by {by}{scope}{}", because("reason"))
        }
        "ApprovalEnded" => format!("{}{}", text("state").unwrap_or_default(), because("reason")),
        "Revoked" => format!("by {}", person(entry).unwrap_or_default()),
        "Checkpoint" => {
            let through = entry.fields.get("removedThrough").and_then(Value::as_u64).unwrap_or(0);
            format!("entries up to {through} were removed{}", because("reason"))
        }
        _ => String::new(),
    }
}

/// Who made the call, and for which user, where either is named.
fn from(entry: &Entry) -> String {
    let of = |field| entry.fields.get("caller")?.get(field)?.as_str().map(name);
    match (of("caller"), of("userId")) {
        (Some(caller), Some(user)) => format!("from {caller} for {user}, "),
        (Some(caller), None) => format!("from {caller}, "),
        (None, Some(user)) => format!("for {user}, "),
        (None, None) => String::new(),
    }
}

fn person(entry: &Entry) -> Option<String> {
    entry.fields.get("approver")?.get("name")?.as_str().map(name)
}

fn name(text: &str) -> String {
    clipped_line(text, NAME_MAX_LEN)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::contract::ids::Digest;

    fn shown(kind: &str, fields: Value) -> String {
        let Value::Object(fields) = fields else { panic!("{fields}") };
        let (kind, hash) = (kind.to_owned(), Digest::of(b""));
        line(&Entry { seq: 1, at_unix_ms: 0, hash, kind, fields, json: String::new() })
    }

    #[test]
    fn a_call_is_shown_with_who_made_it() {
        let started = |caller: Value| {
            let fields = json!({"toolName": "a.b", "callId": "c1", "caller": caller, "by": "rule"});
            shown("CallStarted", fields).split_once(": ").unwrap().1.to_owned()
        };
        let named = json!({"caller": "bo\u{1b}t", "permissionLevel": "FULL"});
        assert_eq!(started(named), "from bo<U+001B>t, let through by rule\n");
        let user = json!({"caller": "bot", "userId": "ann"});
        assert_eq!(started(user), "from bot for ann, let through by rule\n");
        assert_eq!(started(json!({"userId": "ann"})), "for ann, let through by rule\n");
        assert_eq!(started(json!({})), "let through by rule\n", "nobody was named");
    }

    #[test]
    fn a_call_that_did_not_run_and_a_request_are_shown_with_who_made_them() {
        let fields = |more: Value| {
            let mut fields = json!({"callId": "c1", "caller": {"caller": "bot"}, "reason": "no"});
            fields.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            fields
        };
        let denied = json!({"outcome": "denied"});
        let line = shown("CallRefused", fields(denied.clone()));
        assert!(line.ends_with("CallRefused  c1: from bot, denied (no)\n"), "{line}");
        let line = shown("CallAnswered", fields(denied));
        assert!(line.ends_with("c1: from bot, denied, not run (no)\n"), "{line}");
        let line = shown("ApprovalRequested", fields(json!({})));
        assert!(line.ends_with("ApprovalRequested  c1: from bot, no\n"), "{line}");
    }
}
