//! The tables, and the way from one format to the next.
//!
//! A format only grows by a step at the end of `STEPS`; a file of a later format is refused before
//! anything is read or changed. So is one without the tables: a store is made whole or not at all, and
//! one that was emptied must not pass for a new one.

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::fault::Fault;
use crate::storage::error::StorageError;

/// Marks the file as ours in SQLite's header: `bell`.
const APPLICATION_ID: i64 = 0x6265_6c6c;
/// Each brings a file from the format of its index to the next.
const STEPS: [&str; 1] = [FIRST];

/// What is wrong with a file that has been emptied.
pub(super) const EMPTY: &str =
    "it has been emptied, or was cut off: it doesn't hold the tables that it was made with";
/// How many of the tables of the first format are there, which all later ones have.
const OUR_TABLES: &str = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' \
     AND name IN ('approvals', 'remembered', 'results')";
/// How many that must be.
const OUR_TABLES_COUNT: i64 = 3;

/// Large texts come last in their rows, so that a list doesn't read them.
const FIRST: &str = "
CREATE TABLE approvals (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    state TEXT NOT NULL,
    shared INTEGER NOT NULL,
    binding BLOB NOT NULL,
    call_id TEXT NOT NULL,
    tool TEXT NOT NULL,
    caller TEXT,
    session TEXT,
    created_ms INTEGER NOT NULL,
    expires_ms INTEGER NOT NULL,
    lapses_ms INTEGER NOT NULL,
    ended_ms INTEGER,
    bytes INTEGER NOT NULL,
    reason TEXT NOT NULL,
    arguments_head TEXT NOT NULL,
    end_reason TEXT,
    decided TEXT,
    request TEXT NOT NULL
) STRICT;
CREATE INDEX approvals_by_state ON approvals (state, number, bytes);
CREATE INDEX approvals_open_by_lapse ON approvals (lapses_ms) WHERE ended_ms IS NULL;
CREATE INDEX approvals_open_by_binding ON approvals (binding) WHERE ended_ms IS NULL;
CREATE INDEX approvals_open_by_session ON approvals (session) WHERE ended_ms IS NULL;
CREATE INDEX approvals_ended ON approvals (number, ended_ms, bytes) WHERE ended_ms IS NOT NULL;

CREATE TABLE remembered (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    session TEXT,
    expires_ms INTEGER,
    answer TEXT NOT NULL
) STRICT;

CREATE TABLE results (
    key BLOB PRIMARY KEY,
    arguments_hash BLOB NOT NULL,
    call_id TEXT NOT NULL,
    claimed_ms INTEGER NOT NULL,
    bytes INTEGER NOT NULL DEFAULT 0,
    outcome TEXT,
    result TEXT
) STRICT;
CREATE INDEX results_by_age ON results (claimed_ms, bytes);
CREATE INDEX results_in_flight ON results (call_id) WHERE outcome IS NULL;
";

/// The format this belljar writes.
fn newest() -> i64 {
    i64::try_from(STEPS.len()).unwrap_or(i64::MAX)
}

/// Makes the tables in a store that is new.
pub(super) fn make(connection: &mut Connection) -> Result<(), Fault> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    advance(&transaction, 0)?;
    transaction.commit()?;
    Ok(())
}

/// Makes the tables that are missing in a file of an older format.
pub(super) fn bring_up_to_date(connection: &mut Connection, path: &str) -> Result<(), Fault> {
    if format_of(connection, path)? == newest() {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have been here since.
    let found = usize::try_from(format_of(&transaction, path)?).unwrap_or(usize::MAX);
    advance(&transaction, found)?;
    transaction.commit()?;
    Ok(())
}

fn advance(transaction: &Transaction<'_>, from: usize) -> Result<(), Fault> {
    for step in STEPS.iter().skip(from) {
        transaction.execute_batch(step)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", newest())?;
    Ok(())
}

/// Looks whether a file is one to use, and changes nothing of it.
pub(super) fn check(connection: &Connection, path: &str) -> Result<(), Fault> {
    format_of(connection, path).map(drop)
}

/// The format of a file that is ours and has its tables.
fn format_of(connection: &Connection, path: &str) -> Result<i64, Fault> {
    let number = |pragma: &str| connection.pragma_query_value(None, pragma, |row| row.get(0));
    let (application, format): (i64, i64) = (number("application_id")?, number("user_version")?);
    let count = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0));
    let tables = count("SELECT count(*) FROM sqlite_schema")?;
    let path = path.to_owned();
    if application != APPLICATION_ID && (application != 0 || format != 0 || tables != 0) {
        return Err(StorageError::NotOurs { path }.into());
    }
    if format > newest() {
        return Err(StorageError::Newer { path, found: format, known: newest() }.into());
    }
    if format < 1 || count(OUR_TABLES)? != OUR_TABLES_COUNT {
        return Err(Fault::Row(EMPTY.to_owned()));
    }
    Ok(format)
}
