//! Results of calls with an idempotency key.
//!
//! A row without an outcome is a call in flight, for as long as a call can be: with an audit log,
//! recovery ends those that a crash cut off, and without one only their age tells. None is given
//! out again before `KEPT_MS` have gone by, so that nothing runs twice.

use rusqlite::{Connection, OptionalExtension as _, params};

use super::SqliteStore;
use super::fault::Fault;
use super::rows::{self, integer, unsigned};
use crate::contract::ids::{CallId, Digest};
use crate::contract::limits::LimitKind;
use crate::contract::outcome::Outcome;
use crate::contract::result::ToolResult;
use crate::storage::error::StorageError;
use crate::storage::results::{Claim, CutOff, ResultKey, ResultStore};

/// How long a key is known, in milliseconds. No call runs for a fraction of it.
const KEPT_MS: u64 = 24 * 60 * 60 * 1000;
/// What a call whose time is up may take to settle its key, in milliseconds: a machine may be slow.
const SETTLING_MS: u64 = 60 * 1000;
/// How many keys are known; one more is refused, since a key that is forgotten early runs its call
/// twice.
const KEPT: u64 = 10_000;
/// Bytes of a result that is kept, as JSON; of a larger one only how it ended.
const RESULT_MAX_BYTES: usize = 1 << 20;
/// Bytes of all results that are kept; past them, of a further one only how it ended.
const RESULTS_MAX_BYTES: i64 = 256 << 20;

impl ResultStore for SqliteStore {
    fn known(
        &self,
        key: &ResultKey,
        arguments_hash: &Digest,
        now: u64,
    ) -> Result<Option<Claim>, StorageError> {
        let digest = digest_of(key)?;
        self.read(|| Ok(None), |from| known(from, &digest, arguments_hash, now))
    }

    fn claim(
        &self,
        key: &ResultKey,
        arguments_hash: &Digest,
        call_id: &CallId,
        now: u64,
    ) -> Result<Claim, StorageError> {
        let digest = digest_of(key)?;
        self.write(|to| {
            let since = integer(now.saturating_sub(KEPT_MS));
            to.execute("DELETE FROM results WHERE claimed_ms < ?1", [since])?;
            if let Some(claim) = known(to, &digest, arguments_hash, now)? {
                return Ok(claim);
            }
            let count: i64 = to.query_row("SELECT count(*) FROM results", [], |it| it.get(0))?;
            if unsigned(count) >= KEPT {
                let what = "idempotency keys of the last 24 hours";
                return Err(StorageError::TooMany { what, max: KEPT }.into());
            }
            let sql = "INSERT INTO results (key, arguments_hash, call_id, claimed_ms) VALUES \
                       (?1, ?2, ?3, ?4)";
            to.execute(
                sql,
                params![
                    digest.as_bytes(),
                    arguments_hash.as_bytes(),
                    call_id.as_str(),
                    integer(now),
                ],
            )?;
            Ok(Claim::Mine)
        })
    }

    fn settle(&self, key: &ResultKey, result: &ToolResult) -> Result<(), StorageError> {
        let digest = digest_of(key)?;
        self.write(|to| {
            let sql = "UPDATE results SET outcome = ?3, result = ?4, bytes = coalesce(length(?4), 0) \
                       WHERE key = ?1 AND call_id = ?2 AND outcome IS NULL";
            let call_id = result.call_id.as_str();
            let outcome = result.outcome.name();
            let text = kept(to, result)?;
            held(to.execute(sql, params![digest.as_bytes(), call_id, outcome, text])?, call_id)
        })
    }

    fn release(&self, key: &ResultKey, call_id: &CallId) -> Result<(), StorageError> {
        let digest = digest_of(key)?;
        self.write(|to| {
            let sql = "DELETE FROM results WHERE key = ?1 AND call_id = ?2 AND outcome IS NULL";
            let call_id = call_id.as_str();
            held(to.execute(sql, params![digest.as_bytes(), call_id])?, call_id)
        })
    }

    fn interrupt(&self, calls: &[CutOff]) -> Result<u64, StorageError> {
        let digests =
            calls.iter().map(|call| digest_of(&call.key)).collect::<Result<Vec<_>, _>>()?;
        self.write_existing(|to| {
            let sql = "UPDATE results SET outcome = ?3, result = ?4, bytes = coalesce(length(?4), 0) \
                       WHERE key = ?1 AND call_id = ?2 AND outcome IS NULL";
            let mut statement = to.prepare(sql)?;
            let mut ended = 0;
            for (call, digest) in calls.iter().zip(&digests) {
                let (call_id, outcome) = (&call.call_id, Outcome::Interrupted);
                let text = kept(to, &cut_off(call_id.clone()))?;
                let values = params![digest.as_bytes(), call_id.as_str(), outcome.name(), text];
                ended += statement.execute(values)?;
            }
            Ok(ended as u64)
        })
    }
}

/// How long after its claim a call that hasn't settled its key may still be running, in
/// milliseconds: no deadline of a call is higher, and no person is waited for after the claim. Then
/// it is taken for interrupted and not run again; one that settles its key after all is believed.
fn in_flight_ms() -> u64 {
    LimitKind::CallDeadline.facts().ceiling + SETTLING_MS
}

/// The result of a call whose process went before it ended.
fn cut_off(call_id: CallId) -> ToolResult {
    let message = "belljar ended while the call ran: what it did before is not known";
    ToolResult::refused(call_id, Outcome::Interrupted, message)
}

/// One digest for a key and its whole scope; JSON keeps the parts apart.
fn digest_of(key: &ResultKey) -> Result<Digest, StorageError> {
    let parts = (&key.caller, &key.tool, &key.plugin_digest, &key.key_hash);
    let text = serde_json::to_vec(&parts).map_err(|error| StorageError::Unstorable {
        what: "idempotency key",
        reason: error.to_string(),
    })?;
    Ok(Digest::of(&text))
}

/// What is known of a key at a time.
fn known(
    from: &Connection,
    key: &Digest,
    arguments: &Digest,
    now: u64,
) -> Result<Option<Claim>, Fault> {
    let since = integer(now.saturating_sub(KEPT_MS));
    let sql = "SELECT arguments_hash, call_id, outcome, result, claimed_ms FROM results WHERE \
               key = ?1 AND claimed_ms >= ?2";
    let found = from.query_row(sql, params![key.as_bytes(), since], |row| {
        Ok((
            row.get::<_, Vec<u8>>(0)?,
            row.get::<_, String>(1)?,
            row.get::<_, Option<String>>(2)?,
            row.get::<_, Option<String>>(3)?,
            row.get::<_, i64>(4)?,
        ))
    });
    let Some((hash, call_id, outcome, result, claimed)) = found.optional()? else {
        return Ok(None);
    };
    let call_id: CallId = rows::parsed(&call_id)?;
    if hash != arguments.as_bytes() {
        return Ok(Some(Claim::OtherArguments { call_id }));
    }
    Ok(Some(match (outcome, result) {
        (None, _) if now.saturating_sub(unsigned(claimed)) > in_flight_ms() => {
            Claim::Finished(Box::new(cut_off(call_id)))
        }
        (None, _) => Claim::InFlight { call_id },
        (Some(_), Some(text)) => {
            Claim::Finished(Box::new(rows::from_json("a kept result", &text)?))
        }
        (Some(name), None) => {
            let outcome = Outcome::ALL.into_iter().find(|outcome| outcome.name() == name);
            let wrong = || Fault::Row(format!("a kept outcome is `{name}`"));
            Claim::NotKept { call_id, outcome: outcome.ok_or_else(wrong)? }
        }
    }))
}

/// The text of a result that is small enough.
fn kept(from: &Connection, result: &ToolResult) -> Result<Option<String>, Fault> {
    let text = rows::to_json("result", result)?;
    if text.len() > RESULT_MAX_BYTES {
        return Ok(None);
    }
    let sum = "SELECT coalesce(sum(bytes), 0) FROM results";
    let bytes: i64 = from.query_row(sum, [], |row| row.get(0))?;
    Ok((bytes.saturating_add(integer(text.len() as u64)) <= RESULTS_MAX_BYTES).then_some(text))
}

fn held(rows: usize, call_id: &str) -> Result<(), Fault> {
    match rows {
        0 => Err(StorageError::NotClaimed(call_id.to_owned()).into()),
        _ => Ok(()),
    }
}
