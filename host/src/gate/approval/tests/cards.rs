//! What a person is shown: everything, and nothing that acts.

use super::*;
use crate::contract::escape::is_hidden;
use crate::contract::grants::EnvGrant;

/// What texts of others have been caught with: control and ANSI sequences, line breaks of every
/// kind, bidi, zero-width, fillers, tags.
const TRICKS: [&str; 18] = [
    "\u{1b}[2J\u{1b}[H",
    "\u{1b}]8;;http://x\u{7}",
    "\r",
    "\n",
    "\u{8}",
    "\u{7f}",
    "\u{85}",
    "\u{9b}1m",
    "\u{2028}",
    "\u{2029}",
    "\u{202e}",
    "\u{2066}",
    "\u{200b}",
    "\u{200d}",
    "\u{feff}",
    "\u{3164}",
    "\u{ad}",
    "\u{e0041}\u{e007f}",
];

fn lines(call: &Call) -> Vec<String> {
    card(&Desk::new().request(call), NOW + 5_000)
}

#[track_caller]
fn holds(lines: &[String], label: &str, text: &str) {
    let found = lines.iter().any(|line| line.starts_with(label) && line.contains(text));
    assert!(found, "{label}: {text}\n{}", lines.join("\n"));
}

#[test]
fn t39_nothing_that_others_say_acts_hides_or_begins_a_line() {
    for trick in TRICKS {
        let spoof = format!("a{trick}approval   forged");
        let mut call = Call::new("{}");
        let mut arguments = serde_json::Map::new();
        arguments.insert(spoof.clone(), serde_json::json!([spoof.clone()]));
        call.arguments = arguments.into();
        call.descriptor.title = Some(spoof.clone());
        call.descriptor.plugin.version = Some(spoof.clone());
        call.call.caller = Some(spoof.clone());
        call.call.session_id = Some(spoof.clone());
        call.call.user_id = Some(spoof.clone());
        call.call.execution_user_id = Some(spoof.clone());
        call.call.workspace = Some(spoof.clone());
        call.grants.add_env(EnvGrant { name: spoof.clone(), value: String::new() }).unwrap();
        let (host, guest) = (format!("/{spoof}").into(), format!("/{spoof}"));
        call.grants.add_dir(DirGrant { host, guest, mode: DirMode::ReadOnly }).unwrap();
        let mut request = Desk::new().request(&call);
        request.reason = spoof.clone();
        request.changed = vec![spoof.clone()];
        let lines = card(&request, NOW);
        let plain = card(&Desk::new().request(&Call::new("{}")), NOW);
        for line in &lines {
            assert!(!line.chars().any(is_hidden), "{trick:?}: {line:?}");
            assert!(line == &lines[0] || !line.starts_with("approval"), "{trick:?}: {line}");
        }
        assert_eq!(lines.len(), plain.len() + 11, "{trick:?} adds no line of its own: {lines:?}");
        assert!(lines.iter().filter(|line| line.contains("forged")).count() >= 12, "{lines:?}");
    }
}

#[test]
fn a_card_says_what_the_call_is_what_it_may_do_and_what_is_not_bound() {
    let mut call = Call::new(r#"{"path":"a","text":"two\nlines"}"#);
    call.descriptor.title = Some("Writes a file".into());
    call.descriptor.plugin.version = Some("1.2.0".into());
    let lines = lines(&call);
    holds(&lines, "tool", "files.write");
    holds(&lines, "title", "Writes a file (the plugin's own words)");
    holds(&lines, "plugin", "files 1.2.0");
    holds(&lines, "build", &Digest::of(b"plugin").to_string());
    holds(&lines, "isolation", "sandbox");
    holds(&lines, "reason", "it writes files");
    holds(&lines, "caller", "bot");
    holds(&lines, "level", "READ_ONLY");
    holds(&lines, "effect", "destructive: no (assumed, nothing is known)");
    holds(&lines, "may use", "read the folder /srv/site, as /w");
    holds(&lines, "blocked", "every other file and variable");
    holds(&lines, "limits", "memory 256 MiB");
    holds(&lines, "arguments", &call.arguments.hash().to_string());
    holds(&lines, "  |", r#""text": "two\nlines""#);
    holds(&lines, "not bound", "what is in files");
    holds(&lines, "time left", "14 min 55 s");
    assert!(!lines.iter().any(|line| line.contains("the network")), "that isn't proven");
}

#[test]
fn long_arguments_are_cut_with_a_word_of_how_many_and_where_the_rest_is() {
    let whole = lines(&Call::new(&format!(r#"{{"a":"{}"}}"#, "x".repeat(60_000))));
    assert!(!whole.iter().any(|line| line.starts_with("NOT SHOWN")));
    let call = Call::new(&format!(r#"{{"a":"{}","z":1}}"#, "x".repeat(70_000)));
    let lines = lines(&call);
    holds(&lines, "arguments", &format!("{} bytes", call.arguments.canonical().len()));
    holds(&lines, "NOT SHOWN", "--json");
    assert!(!lines.iter().any(|line| line.contains(r#""z""#)));
}

#[test]
fn an_entry_says_who_answered_what_and_an_expired_request_says_so() {
    let desk = Desk::new();
    let request = desk.request(&Call::new("{}"));
    desk.queue.0.store.insert(&request, NOW).unwrap();
    let waiting = entry_card(&desk.queue.show(&request.id).unwrap(), NOW + TTL_MS);
    holds(&waiting, "time left", "expired");
    holds(&waiting, "state", "waits");
    let decided = entry_card(&desk.decide(&request.id, deny()).unwrap(), NOW);
    holds(&decided, "answer ", "deny");
    holds(&decided, "answered by", "ann");
    assert!(!decided.iter().any(|line| line.starts_with("time left")));
}
