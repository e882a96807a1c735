//! What belljar keeps, at fault: each is one clear sentence and a code, nothing runs, and nothing
//! that was kept is lost.

mod clock;
mod full;
mod shared;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use rusqlite::Connection;

use super::harness::Ran;
use super::home::{Home, hash, write};

const STATE: &str = "state/belljar";
const DATABASE: &str = "state/belljar/approvals.sqlite";

/// Checks that neither a call nor a batch runs, nor a host starts where `starts` is false.
#[track_caller]
fn nothing_runs(home: &Home, code: i32, said: &[&str], starts: bool) {
    let arguments = r#"{"path":"a","content":"x"}"#;
    let call = home.run(["call", "files.write", arguments]).refused(code, said);
    assert_eq!(call.stderr.lines().count(), 1, "{call:?}");
    let batch = home.batch("calls.jsonl", &[write("b"), hash("c")], &[]).output().unwrap();
    let batch = Ran::of(batch).ends_with(code);
    let told = if starts { &batch.stdout } else { &batch.stderr };
    let lines = if starts { 2 } else { 1 };
    assert_eq!(told.lines().count(), lines, "{batch:?}");
    assert!(told.lines().all(|line| said.iter().all(|word| line.contains(word))), "{batch:?}");
    assert!(!home.has("a") && !home.has("b"), "a file was written");
}

/// A home in which a call is on record and a request waits for a person.
fn kept() -> (Home, String) {
    let home = Home::new("[approvals]\nhand_back = \"0ms\"\n");
    let call = r#"{"path":"asked","content":"x"}"#;
    let args = ["call", "files.write", call, "--level", "READ_ONLY", "--approvals", "queue"];
    let ran = home.run(args.iter().chain(&["--json"])).ends_with(3).json();
    let id = ran["approval"]["approval"].as_str().unwrap_or_else(|| panic!("{ran}")).to_owned();
    (home, id)
}

/// Checks that what was kept is there again.
#[track_caller]
fn nothing_is_lost(home: &Home, id: &str) {
    home.is_sound();
    home.run(["approvals", "show", id]).ends_with(0);
    home.run(["call", "files.write", r#"{"path":"after","content":"x"}"#]).ends_with(0);
    let kinds: Vec<_> = home.entries(1).into_iter().map(|entry| entry["type"].clone()).collect();
    assert_eq!(kinds[0], "ApprovalRequested");
    assert_eq!(kinds[kinds.len() - 2..], ["CallStarted", "CallFinished"]);
}

#[test]
fn with_a_malformed_configuration_nothing_runs() {
    for (text, said) in [
        ("[policy\n", &["belljar.toml:1: ", "expected"][..]),
        ("[engine]\nretires = 1\n", &["belljar.toml:2: ", "`engine.retries`"]),
        ("[callers.cli]\nlevel = \"ALL\"\n", &["belljar.toml:2: ", "READ_ONLY"]),
    ] {
        let home = Home::new(text);
        nothing_runs(&home, 2, said, false);
        let there: Vec<_> = fs::read_dir(home.path(STATE)).unwrap().collect();
        assert!(there.len() == 1, "besides the key that was there: {there:?}");
    }
}

#[test]
fn with_a_store_that_is_at_fault_nothing_runs_and_it_is_left_as_it_is() {
    type Spoil = fn(&Path);
    let cases: [(&[&str], Spoil); 4] = [
        (&["is damaged"], |path| fs::write(path, [b'x'; 8192]).unwrap()),
        (&["is damaged"], |path| fs::write(path, "").unwrap()),
        (&["written by a newer belljar"], |path| {
            Connection::open(path).unwrap().pragma_update(None, "user_version", 99).unwrap();
        }),
        (&["isn't private"], |path| {
            fs::set_permissions(path, fs::Permissions::from_mode(0o644)).unwrap();
        }),
    ];
    for (said, spoil) in cases {
        let (home, id) = kept();
        let database = home.path(DATABASE);
        // All of it into the one file: a process that ends in a hurry leaves some beside it.
        let connection = Connection::open(&database).unwrap();
        connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
        drop(connection);
        let sound = fs::read(&database).unwrap();
        spoil(&database);
        let spoilt = fs::read(&database).unwrap();
        nothing_runs(&home, 6, said, true);
        home.run(["approvals", "list"]).ends_with(6);
        assert_eq!(fs::read(&database).unwrap(), spoilt);
        home.run(["audit", "verify"]).ends_with(0);
        fs::write(&database, sound).unwrap();
        fs::set_permissions(&database, fs::Permissions::from_mode(0o600)).unwrap();
        nothing_is_lost(&home, &id);
    }
}

#[test]
fn with_a_state_folder_that_cannot_be_made_or_written_nothing_runs() {
    // Both refuse root too: a folder below a file, and one that the system makes.
    let home = Home::new("");
    fs::write(home.path("state"), "no folder").unwrap();
    nothing_runs(&home, 6, &["can't be made for approvals and the audit log"], false);
    assert_eq!(fs::read_to_string(home.path("state")).unwrap(), "no folder");
    let home = Home::new("state = \"/proc/belljar\"\n");
    nothing_runs(&home, 6, &["`/proc/belljar` can't be made"], false);
}

#[test]
fn with_an_audit_log_that_takes_no_record_nothing_runs() {
    let (home, id) = kept();
    let (lanes, aside) = (home.path(STATE).join("audit/lanes"), home.path("aside"));
    fs::rename(&lanes, &aside).unwrap();
    fs::write(&lanes, "no folder").unwrap();
    nothing_runs(&home, 6, &["audit/lanes"], false);
    home.run(["approvals", "approve", &id]).refused(6, &["audit/lanes"]);
    fs::remove_file(&lanes).unwrap();
    fs::rename(&aside, &lanes).unwrap();
    nothing_is_lost(&home, &id);
}

#[test]
fn with_a_log_from_a_newer_version_nothing_runs_and_it_is_left_as_it_is() {
    let (home, id) = kept();
    let segment = home.path(STATE).join("audit/log/00000000000000000001.log");
    let sound = fs::read(&segment).unwrap();
    // `[length][CRC-32][payload]`, both numbers of 32 bits with the lowest byte first.
    let header = br#"{"belljarAudit":9}"#;
    let mut newer = u32::try_from(header.len()).unwrap().to_le_bytes().to_vec();
    newer.extend(crc32fast::hash(header).to_le_bytes());
    newer.extend(header);
    fs::write(&segment, &newer).unwrap();
    nothing_runs(&home, 6, &["format 9", "use the belljar that wrote it"], false);
    for command in ["show", "verify", "head"] {
        home.run(["audit", command]).refused(6, &["format 9"]);
    }
    assert_eq!(fs::read(&segment).unwrap(), newer);
    fs::write(&segment, sound).unwrap();
    nothing_is_lost(&home, &id);
}

#[test]
fn a_decision_for_a_request_that_is_gone_is_one_sentence_and_admits_nothing() {
    let (home, id) = kept();
    let decide = |code, said: &[&str]| {
        for command in ["approve", "deny"] {
            let ran = home.run(["approvals", command, &id]).refused(code, said);
            assert_eq!(ran.stderr.lines().count(), 1, "{ran:?}");
        }
    };
    let database = Connection::open(home.path(DATABASE)).unwrap();
    let withdrawn = "UPDATE approvals SET state = 'withdrawn', end_reason = 'its caller has gone', \
                     ended_ms = created_ms";
    database.execute(withdrawn, []).unwrap();
    decide(3, &["was withdrawn", "its caller has gone"]);
    database.execute("DELETE FROM approvals", []).unwrap();
    decide(3, &["there is no approval", &id]);
    drop(database);
    fs::remove_file(home.path(DATABASE)).unwrap();
    decide(3, &["there is no approval", &id]);
    assert!(!home.has("asked"));
}
