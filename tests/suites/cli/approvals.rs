//! `belljar approvals`: who is asked what, who answered, and what of it stands.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};

use rusqlite::Connection;
use serde_json::{Value, json};

use super::place::Place;
use crate::suites::harness::{Ran, settled};

/// What a terminal acts on or a reader can't see.
const HOSTILE: &str = "\u{1b}[2J\u{9b}1m\u{202e}x\u{200b}\u{2028}error: approved\u{e0041}\u{feff}";

#[track_caller]
pub(super) fn is_clean(ran: &Ran) {
    for c in HOSTILE.chars().filter(|c| !c.is_ascii_graphic() && *c != ' ') {
        assert!(!ran.stdout.contains(c) && !ran.stderr.contains(c), "{c:?} in {ran:?}");
    }
}

fn list(place: &Place, more: &[&str]) -> Vec<Value> {
    let ran = place.run(["approvals", "list", "--json"].iter().chain(more)).ends_with(0);
    ran.json().as_array().unwrap().clone()
}

fn me() -> String {
    format!("uid {}", rustix::process::getuid().as_raw())
}

#[test]
fn what_a_person_approved_runs_and_what_they_denied_is_declined_and_both_are_on_record() {
    let place = Place::asking();
    let id = place.asked("a.txt", "one");
    assert!(!place.workspace().join("a.txt").exists());
    let listed = list(&place, &[]);
    assert_eq!((&listed[0]["id"], &listed[0]["state"]), (&json!(id), &json!("pending")));
    assert_eq!((&listed[0]["tool"], &listed[0]["caller"]), (&json!("files.write"), &json!("cli")));
    let words = place.run(["approvals", "list"]).ends_with(0).stdout;
    assert!(words.contains(&id) && words.contains("it changes files"), "{words}");
    let card = place.run(["approvals", "show", &id]).ends_with(0).stdout;
    for said in ["files.write", "it changes files", "\"content\": \"one\"", "read and write"] {
        assert!(card.contains(said), "`{said}` in {card}");
    }

    let given = place.run(["approvals", "approve", &id]).ends_with(0);
    assert_eq!(given.stdout, format!("{id}  once: files.write\n"));
    let ran = place.write("a.txt", "one", &[]).ends_with(0).json();
    assert_eq!(
        (&ran["approval"]["by"], &ran["approval"]["approver"]["name"]),
        (&json!("person"), &json!(me()))
    );
    assert_eq!(fs::read_to_string(place.workspace().join("a.txt")).unwrap(), "one");

    let denied = place.asked("b.txt", "two");
    place.run(["approvals", "deny", &denied, "--reason", "not today"]).ends_with(0);
    let refused = place.write("b.txt", "two", &[]).ends_with(3);
    assert_eq!(refused.json()["outcome"], "approval_declined", "{refused:?}");
    assert!(refused.stdout.contains("not today"), "{refused:?}");
    assert!(!place.workspace().join("b.txt").exists());

    let log = place.run(["audit", "show"]).ends_with(0).stdout;
    for (kind, id, said) in [
        ("ApprovalRequested", &id, "it changes files"),
        ("ApprovalDecided", &id, &*format!("once by {}", me())),
        ("CallStarted", &id, "let through by"),
        ("ApprovalDecided", &denied, &*format!("deny by {} (not today)", me())),
        ("CallRefused", &denied, "approval_declined"),
    ] {
        let told = |line: &str| line.contains(kind) && line.contains(&**id) && line.contains(said);
        assert!(log.lines().any(told), "{kind} {id} {said} in {log}");
    }
    place.run(["audit", "verify"]).ends_with(0);
}

#[test]
fn the_second_answer_is_refused_with_who_gave_the_first() {
    let place = Place::asking();
    let id = place.asked("a.txt", "one");
    place.run(["approvals", "approve", &id]).ends_with(0);
    let late = place.run(["approvals", "deny", &id]).refused(3, &["answered already", &me()]);
    assert_eq!(late.stderr.lines().count(), 1, "{late:?}");
    // What didn't count is told of as such.
    let log = place.run(["audit", "show", "--json"]).ends_with(0).json();
    let last = log.as_array().unwrap().last().unwrap();
    assert_eq!((&last["type"], &last["state"]), (&json!("ApprovalEnded"), &json!("decided")));
    place.write("a.txt", "one", &[]).ends_with(0);
    place.run(["approvals", "approve", &id]).refused(3, &["used by another call"]);
}

#[test]
fn ids_that_are_none_gone_or_expired_are_each_one_sentence() {
    let place = Place::asking();
    for args in [["approvals", "approve", "abcdefghijkl"], ["approvals", "show", "abcdefghijkl"]] {
        place.run(args).refused(3, &["there is no approval `abcdefghijkl`"]);
    }
    let bad = place.run(["approvals", "approve", HOSTILE]).refused(2, &["invalid value"]);
    is_clean(&bad);
    let id = place.asked("a.txt", "one");
    let database = Connection::open(place.database()).unwrap();
    let lapsed = "UPDATE approvals SET expires_ms = created_ms, lapses_ms = created_ms";
    database.execute(lapsed, []).unwrap();
    drop(database);
    assert_eq!(list(&place, &["--state", "expired"])[0]["id"], id);
    assert!(list(&place, &[]).is_empty());
    place.run(["approvals", "approve", &id]).refused(3, &["has expired"]);
    place.run(["approvals", "revoke", "abcdefghijkl"]).refused(3, &["nothing is remembered under"]);
}

#[test]
fn where_nothing_was_ever_asked_that_is_said_plainly_and_nothing_is_made() {
    let place = Place::asking();
    for args in [&["approvals", "list"][..], &["approvals", "remembered"]] {
        let ran = place.run(args).ends_with(0);
        assert!(ran.stdout.starts_with("nothing has been asked yet"), "{ran:?}");
        let json = place.run(args.iter().chain(&["--json"])).ends_with(0).json();
        assert_eq!(json, json!([]));
    }
    let all = place.run(["approvals", "approve", "--all"]).ends_with(0);
    assert_eq!(all.stdout, "nothing waits for an answer\n");
    assert!(!place.database().exists());
    let mut homeless = Command::new(env!("CARGO_BIN_EXE_belljar"));
    settled(&mut homeless);
    homeless.env_remove("HOME").env_remove("XDG_STATE_HOME").args(["approvals", "list"]);
    Ran::of(homeless.output().unwrap()).refused(2, &["no folder where approvals could be"]);
}

#[test]
fn wrong_usage_is_2() {
    let place = Place::asking();
    let id = "abcdefghijkl";
    for args in [
        &["approve"][..],
        &["approve", id, "--all"],
        &["approve", id, "--tool", "files.write"],
        &["approve", id, "--always", "--session"],
        &["approve", id, "--for", "7d"],
        &["approve", id, "--always", "--for", "soon"],
        &["approve", id, "--match", "path"],
        &["approve", id, "--match", "path=a", "--match", "path=b"],
        &["approve", id, "--edit", "[]"],
        &["approve", "--all", "--answer", "x"],
        &["deny", id, "--always", "--always-arguments"],
        &["list", "--state", "open"],
        &["revoke"],
    ] {
        place.run(["approvals"].iter().chain(args)).refused(2, &["error: "]);
    }
}

#[test]
fn all_answers_all_that_waits_or_that_of_one_tool() {
    let place = Place::asking();
    let ids = [place.asked("a.txt", "1"), place.asked("b.txt", "1"), place.asked("c.txt", "1")];
    place.run(["approvals", "deny", &ids[1], "--reason", "this one not"]).ends_with(0);
    let none = place.run(["approvals", "approve", "--all", "--tool", "files.read"]).ends_with(0);
    assert_eq!(none.stdout, "nothing waits for an answer\n");
    let all = place.run(["approvals", "approve", "--all", "--json"]).ends_with(0).json();
    let given: Vec<_> = all.as_array().unwrap().iter().map(|it| it["id"].clone()).collect();
    assert_eq!(given, [json!(ids[0]), json!(ids[2])]);
    for (path, code) in [("a.txt", 0), ("b.txt", 3), ("c.txt", 0)] {
        place.write(path, "1", &[]).ends_with(code);
    }
}

#[test]
fn one_bad_id_of_several_leaves_the_others_answered() {
    let place = Place::asking();
    let id = place.asked("a.txt", "1");
    let ran = place.run(["approvals", "approve", "aaaaaaaaaaaa", &id]).ends_with(3);
    assert_eq!(ran.stdout, format!("{id}  once: files.write\n"));
    assert_eq!(ran.stderr.lines().count(), 1, "{ran:?}");
}

#[test]
fn what_is_remembered_lets_through_what_it_covers_until_it_is_revoked() {
    let place = Place::asking();
    let (id, along) = (place.asked("a.txt", "1"), place.asked("b.txt", "1"));
    let other = place.asked("other.md", "1");
    let args = ["approvals", "approve", &id, "--match", "path=*.txt", "--for", "7d"];
    let ran = place.run(args).ends_with(0);
    assert!(ran.stdout.contains(&format!("{along}  once: files.write, by what")), "{ran:?}");
    assert!(!ran.stdout.contains(&other), "{ran:?}");
    place.write("c.txt", "1", &[]).ends_with(0);
    place.write("other.md", "1", &[]).ends_with(3);
    let remembered = place.run(["approvals", "remembered"]).ends_with(0).stdout;
    assert!(remembered.starts_with(&id) && remembered.contains("path=*.txt"), "{remembered}");
    assert!(remembered.contains(&format!("by {} at 20", me())), "{remembered}");
    let explained = place.run(["approvals", "remembered", "--json"]).ends_with(0).json();
    assert_eq!(explained[0]["scope"], json!({"pattern": {"path": "*.txt"}}));

    let revoked = place.run(["approvals", "revoke", &id]).ends_with(0);
    assert_eq!(revoked.stdout, format!("{id}  revoked\n"));
    place.write("d.txt", "1", &[]).ends_with(3);
    place.run(["approvals", "revoke", &id]).refused(3, &["nothing is remembered under"]);
    let log = place.run(["audit", "show"]).ends_with(0).stdout;
    assert!(log.lines().any(|it| it.contains("Revoked") && it.contains(&id)), "{log}");
}

#[test]
fn a_call_can_be_edited_or_answered_in_the_tools_place() {
    let place = Place::asking();
    let id = place.asked("a.txt", "one");
    let edit = json!({"path": "a.txt", "content": "two"}).to_string();
    place.run(["approvals", "approve", &id, "--edit", &edit]).ends_with(0);
    let ran = place.write("a.txt", "one", &[]).ends_with(0).json();
    assert_eq!(ran["approval"]["editedArguments"]["content"], "two");
    assert_eq!(fs::read_to_string(place.workspace().join("a.txt")).unwrap(), "two");
    let id = place.asked("b.txt", "one");
    place.run(["approvals", "approve", &id, "--answer", "done by hand"]).ends_with(0);
    let ran = place.write("b.txt", "one", &[]).ends_with(0).json();
    assert_eq!((&ran["content"], &ran["executed"]), (&json!("done by hand"), &json!("no")));
}

#[test]
fn a_remembered_no_holds() {
    let place = Place::asking();
    let id = place.asked("a.txt", "one");
    place.run(["approvals", "deny", &id, "--always", "--reason", HOSTILE]).ends_with(0);
    let refused = place.write("b.txt", "one", &[]).ends_with(3);
    assert_eq!(refused.json()["outcome"], "denied", "{refused:?}");
    for args in [&["approvals", "remembered"][..], &["audit", "show"], &["approvals", "show", &id]]
    {
        for more in [&[][..], &["--json"]] {
            is_clean(&place.run(args.iter().chain(more)).ends_with(0));
        }
    }
}

#[test]
fn t39_hostile_text_of_a_request_reaches_the_terminal_only_by_number() {
    let place = Place::asking();
    let id = place.asked(HOSTILE, HOSTILE);
    let session = place.write("a.txt", HOSTILE, &["--session", "s\u{202e}1"]);
    is_clean(&session);
    for args in [
        &["approvals", "list"][..],
        &["approvals", "show", &id],
        &["approvals", "deny", &id, "--reason", HOSTILE],
        &["approvals", "list", "--all"],
        &["audit", "show"],
        &["audit", "export"],
    ] {
        for more in [&[][..], &["--json"]] {
            let ran = place.run(args.iter().chain(more));
            is_clean(&ran);
            // The second denial is refused; all else is shown.
            assert!(ran.code == Some(0) || args.contains(&"deny"), "{ran:?}");
        }
    }
    let card = place.run(["approvals", "show", &id]).ends_with(0).stdout;
    assert!(card.contains("<U+202E>x<U+200B><U+2028>error: approved<U+E0041>"), "{card}");
    assert!(!card.lines().any(|line| line.starts_with("error:")), "{card}");
    // JSON says the same to whoever parses it.
    let json = place.run(["approvals", "show", &id, "--json"]).ends_with(0).json();
    assert_eq!(json["request"]["arguments"]["content"], HOSTILE);
}

#[test]
fn ten_thousand_waiting_requests_are_listed_and_hundreds_answered_at_once() {
    let place = Place::asking();
    let first = place.asked("a.txt", "one");
    clone_request(&place, &first, 9_999);
    let found = list(&place, &["--limit", "20000"]);
    assert_eq!(found.len(), 10_000);
    assert_eq!(found[0]["id"], first);
    let some = place.run(["approvals", "list", "--limit", "3"]).ends_with(0);
    assert_eq!(some.stdout.lines().count(), 9, "{some:?}");
    assert!(some.stderr.contains("more than 3"), "{some:?}");
    assert!(place.write("b.txt", "one", &[]).stdout.contains("10000"));
    // Each answer waits for the disk, which may be slow.
    let database = Connection::open(place.database()).unwrap();
    database.execute("DELETE FROM approvals WHERE number > 500", []).unwrap();
    drop(database);
    let denied = place.run(["approvals", "deny", "--all"]).ends_with(0);
    assert_eq!(denied.stdout.lines().count(), 500);
    assert!(list(&place, &[]).is_empty());
    let sound = place.run(["audit", "verify", "--json"]).ends_with(0).json();
    assert!(sound["log"]["entries"].as_u64().unwrap() > 500, "{sound}");
}

/// Puts copies of a request beside it, each with an id of its own.
fn clone_request(place: &Place, id: &str, count: usize) {
    let mut database = Connection::open(place.database()).unwrap();
    let transaction = database.transaction().unwrap();
    let sql = "INSERT INTO approvals (id, state, shared, binding, call_id, tool, caller, session, \
               created_ms, expires_ms, lapses_ms, bytes, reason, arguments_head, request) SELECT \
               ?2, state, shared, binding, call_id, tool, caller, session, created_ms, expires_ms, \
               lapses_ms, bytes, reason, arguments_head, replace(request, ?1, ?2) FROM approvals \
               WHERE id = ?1";
    for number in 0..count {
        let letter = |place: usize| {
            char::from(
                b'a' + u8::try_from(number / 26_usize.pow(u32::try_from(place).unwrap()) % 26)
                    .unwrap(),
            )
        };
        let copy: String = (0..4).map(letter).collect::<String>() + "22222222";
        transaction.execute(sql, [id, &copy]).unwrap();
    }
    transaction.commit().unwrap();
}

#[test]
fn a_store_that_cannot_be_used_is_one_sentence_each() {
    type Spoil = fn(&Place);
    let cases: [(&[&str], Spoil); 4] = [
        (&["is damaged"], |place| fs::write(place.database(), [b'x'; 8192]).unwrap()),
        (&["has format 99", "use the belljar that wrote it"], |place| {
            let database = Connection::open(place.database()).unwrap();
            database.pragma_update(None, "user_version", 99).unwrap();
        }),
        (&["is a database of another program"], |place| {
            let database = Connection::open(place.database()).unwrap();
            database.pragma_update(None, "application_id", 7).unwrap();
        }),
        (&["isn't used", "open to others"], |place| {
            fs::set_permissions(place.database(), fs::Permissions::from_mode(0o666)).unwrap();
        }),
    ];
    for (said, spoil) in cases {
        let place = Place::asking();
        let id = place.asked("a.txt", "one");
        for aside in ["-wal", "-shm"] {
            let mut path = place.database().into_os_string();
            path.push(aside);
            fs::remove_file(path).ok();
        }
        spoil(&place);
        for args in [
            &["approvals", "list"][..],
            &["approvals", "show", &id],
            &["approvals", "approve", &id],
            &["approvals", "remembered"],
            &["approvals", "revoke", &id],
            &["approvals", "watch"],
        ] {
            let ran = place.run(args).refused(6, said);
            assert_eq!(ran.stderr.lines().count(), 1, "{ran:?}");
        }
    }
}

#[test]
fn an_answer_that_cannot_be_recorded_is_not_given() {
    let place = Place::asking();
    let id = place.asked("a.txt", "one");
    fs::remove_dir_all(place.path().join("state/audit")).unwrap();
    fs::write(place.path().join("state/audit"), "no folder").unwrap();
    place.run(["approvals", "approve", &id]).refused(6, &["audit"]);
    assert_eq!(list(&place, &[])[0]["state"], "pending");
}

#[test]
fn watch_tells_of_what_comes_and_how_it_ends_until_nobody_reads() {
    let place = Place::asking();
    let mut command = place.command();
    command.args(["approvals", "watch", "--json"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut told = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert!(told.next().unwrap().contains("watching"));
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut news = lines.map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    let id = place.asked("a.txt", HOSTILE);
    let asked = news.next().unwrap();
    assert_eq!((&asked["type"], &asked["id"]), (&json!("asked"), &json!(id)));
    place.run(["approvals", "deny", &id]).ends_with(0);
    let ended = news.next().unwrap();
    assert_eq!((&ended["type"], &ended["id"]), (&json!("ended"), &json!(id)));
    assert_eq!((&ended["decision"], &ended["approver"]["name"]), (&json!("deny"), &json!(me())));
    drop(news);
    place.asked("b.txt", "one");
    assert!(child.wait().unwrap().success(), "nobody reads, so it ends");
}

#[test]
fn ctrl_c_ends_watching_as_it_should() {
    let place = Place::asking();
    let mut command = Command::new(env!("CARGO_BIN_EXE_belljar"));
    settled(&mut command);
    command.arg("--config").arg(place.path().join("belljar.toml")).args(["approvals", "watch"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut told = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert!(told.next().unwrap().contains("watching"));
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn an_approval_for_a_session_needs_one() {
    let place = Place::asking();
    let id = place.asked("a.txt", "one");
    place.run(["approvals", "approve", &id, "--session"]).refused(3, &["belongs to no session"]);
    let pending = place.write("b.txt", "one", &["--session", "s1"]).ends_with(3).json();
    let id = pending["approval"]["approval"].as_str().unwrap();
    place.run(["approvals", "approve", id, "--session"]).ends_with(0);
    place.write("c.txt", "one", &["--session", "s1"]).ends_with(0);
    place.write("d.txt", "one", &["--session", "s2"]).ends_with(3);
}

#[test]
fn a_glob_that_does_not_match_the_call_itself_is_a_slip() {
    let place = Place::asking();
    let id = place.asked("a.txt", "one");
    for (glob, said) in [("path=src/**", "doesn't match"), ("pth=*", "no argument `pth`")] {
        place.run(["approvals", "approve", &id, "--match", glob]).refused(3, &[said]);
    }
    assert_eq!(list(&place, &[]).len(), 1);
}
