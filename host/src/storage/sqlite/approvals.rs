//! Lists and ends requests.
//!
//! What keeps one is in `insert`; what answers one, and what takes the answer, in `decide`.

use rusqlite::{Connection, OptionalExtension as _, params};

use super::fault::Fault;
use super::rows::{self, integer};
use super::{SqliteStore, open};
use crate::contract::approval::{
    ApprovalEntry, ApprovalRequest, ApprovalState, Decided, Remembered,
};
use crate::contract::ids::{ApprovalId, Digest};
use crate::storage::approvals::{
    ApprovalStore, Inserted, ListFilter, RememberedMark, Revision, SessionEnd, Summary,
};
use crate::storage::error::StorageError;

/// In the column `shared`: a call has found the request that whoever made it can't know of. Smaller
/// are 0, one call's own, and 1, which identical calls share.
const FOUND_BY_OTHERS: i64 = 2;

impl ApprovalStore for SqliteStore {
    fn is_shared(&self) -> bool {
        self.path.is_some()
    }

    fn looks_at_once(&self) -> bool {
        self.opened.get().is_some() || self.path.as_deref().is_some_and(open::is_absent)
    }

    fn revision(&self) -> Result<Revision, StorageError> {
        self.read_revision()
    }

    fn insert(&self, request: &ApprovalRequest, now: u64) -> Result<(), StorageError> {
        self.write(|to| super::insert::insert(to, request, false, now))
    }

    fn insert_shared(
        &self,
        request: &ApprovalRequest,
        now: u64,
        joins: &mut dyn FnMut(&ApprovalId) -> bool,
    ) -> Result<Inserted, StorageError> {
        self.write(|to| {
            if let Some(entry) = open_by_binding(to, &request.binding, now)? {
                let id = &entry.request.id;
                if !joins(id) {
                    let sql = "UPDATE approvals SET shared = ?2 WHERE id = ?1 AND shared <> ?2";
                    to.execute(sql, params![id.as_str(), FOUND_BY_OTHERS])?;
                }
                return Ok(Inserted::Existing(Box::new(entry)));
            }
            super::insert::insert(to, request, true, now)?;
            Ok(Inserted::New)
        })
    }

    fn get(&self, id: &ApprovalId) -> Result<ApprovalEntry, StorageError> {
        let absent = || Err(StorageError::NotFound(id.clone()));
        self.read(absent, |from| get(from, id))
    }

    fn state(&self, id: &ApprovalId) -> Result<ApprovalState, StorageError> {
        let absent = || Err(StorageError::NotFound(id.clone()));
        self.read(absent, |from| state(from, id))
    }

    fn list(&self, filter: &ListFilter) -> Result<Vec<Summary>, StorageError> {
        self.read(|| Ok(Vec::new()), |from| list(from, filter))
    }

    fn decide(
        &self,
        id: &ApprovalId,
        decided: &Decided,
        remember: Option<&Remembered>,
    ) -> Result<ApprovalEntry, StorageError> {
        if self.for_reading()?.is_none() {
            return Err(StorageError::NotFound(id.clone()));
        }
        self.write(|to| super::decide::decide(to, id, decided, remember))
    }

    fn take(
        &self,
        id: &ApprovalId,
        binding: &Digest,
        now: u64,
    ) -> Result<ApprovalEntry, StorageError> {
        if self.for_reading()?.is_none() {
            return Err(StorageError::NotFound(id.clone()));
        }
        self.write(|to| super::decide::take(to, id, binding, now))
    }

    fn expire(&self, now: u64) -> Result<Vec<ApprovalId>, StorageError> {
        // Most times nothing has lapsed, and looking takes no lock.
        let lapsed = "SELECT EXISTS (SELECT 1 FROM approvals WHERE ended_ms IS NULL AND \
                      lapses_ms <= ?1)";
        let any = |from: &Connection| Ok(from.query_row(lapsed, [integer(now)], |it| it.get(0))?);
        if !self.read(|| Ok(false), any)? {
            return Ok(Vec::new());
        }
        self.write(|to| {
            let sql = "UPDATE approvals SET state = 'expired', ended_ms = ?1 WHERE ended_ms IS \
                       NULL AND lapses_ms <= ?1 RETURNING id";
            ids(to, sql, params![integer(now)])
        })
    }

    fn lapse(&self, id: &ApprovalId, now: u64) -> Result<ApprovalEntry, StorageError> {
        self.write(|to| {
            let sql = "UPDATE approvals SET state = 'expired', ended_ms = ?2 WHERE id = ?1 AND \
                       state = 'pending'";
            to.execute(sql, params![id.as_str(), integer(now)])?;
            get(to, id)
        })
    }

    fn withdraw(&self, id: &ApprovalId, reason: &str, now: u64) -> Result<bool, StorageError> {
        self.write_existing(|to| withdraw(to, id, reason, now, i64::MAX))
    }

    fn let_go(&self, id: &ApprovalId, reason: &str, now: u64) -> Result<bool, StorageError> {
        self.write_existing(|to| withdraw(to, id, reason, now, FOUND_BY_OTHERS))
    }

    fn withdraw_session(&self, session: &str, now: u64) -> Result<SessionEnd, StorageError> {
        self.write_existing(|to| {
            let sql = "DELETE FROM remembered WHERE session = ?1 RETURNING id";
            let forgotten = ids(to, sql, params![session])?;
            let sql = "UPDATE approvals SET state = 'withdrawn', ended_ms = ?2, end_reason = \
                       'its session ended' WHERE session = ?1 AND ended_ms IS NULL RETURNING id";
            let withdrawn = ids(to, sql, params![session, integer(now)])?;
            Ok(SessionEnd { withdrawn, forgotten })
        })
    }

    fn remembered_mark(&self) -> Result<RememberedMark, StorageError> {
        self.read(|| Ok(RememberedMark::default()), super::remembered::mark)
    }

    fn remembered(&self, now: u64) -> Result<Vec<Remembered>, StorageError> {
        self.read(|| Ok(Vec::new()), |from| super::remembered::all(from, now))
    }

    fn revoke(&self, id: &ApprovalId, now: u64) -> Result<bool, StorageError> {
        self.write_existing(|to| super::remembered::revoke(to, id, now))
    }
}

/// Ends a request that is shared by less than `below` says; whether there was one to end.
fn withdraw(
    to: &Connection,
    id: &ApprovalId,
    reason: &str,
    now: u64,
    below: i64,
) -> Result<bool, Fault> {
    let sql = "UPDATE approvals SET state = 'withdrawn', ended_ms = ?2, end_reason = ?3 WHERE id = \
               ?1 AND ended_ms IS NULL AND shared < ?4";
    Ok(to.execute(sql, params![id.as_str(), integer(now), reason, below])? > 0)
}

/// The request of this id.
pub(super) fn get(from: &Connection, id: &ApprovalId) -> Result<ApprovalEntry, Fault> {
    let sql = format!("SELECT {} FROM approvals WHERE id = ?1", rows::ENTRY);
    one_entry(from, &sql, params![id.as_str()])?
        .ok_or_else(|| StorageError::NotFound(id.clone()).into())
}

fn state(from: &Connection, id: &ApprovalId) -> Result<ApprovalState, Fault> {
    let sql = "SELECT state FROM approvals WHERE id = ?1";
    let name: Option<String> = from.query_row(sql, [id.as_str()], |row| row.get(0)).optional()?;
    rows::state_of(&name.ok_or_else(|| StorageError::NotFound(id.clone()))?)
}

fn one_entry(
    from: &Connection,
    sql: &str,
    params: impl rusqlite::Params,
) -> Result<Option<ApprovalEntry>, Fault> {
    let mut statement = from.prepare(sql)?;
    let mut found = statement.query(params)?;
    found.next()?.map(rows::entry).transpose()
}

/// The shared request of identical calls that can still be answered or taken.
fn open_by_binding(
    from: &Connection,
    binding: &Digest,
    now: u64,
) -> Result<Option<ApprovalEntry>, Fault> {
    let sql = format!(
        "SELECT {} FROM approvals WHERE binding = ?1 AND ended_ms IS NULL AND shared >= 1 AND \
         lapses_ms > ?2 ORDER BY number LIMIT 1",
        rows::ENTRY
    );
    one_entry(from, &sql, params![binding.as_bytes(), integer(now)])
}

fn list(from: &Connection, filter: &ListFilter) -> Result<Vec<Summary>, Fault> {
    let mut sql = format!("SELECT {} FROM approvals WHERE number > ?1", rows::SUMMARY);
    let state = filter.state.map(ApprovalState::name);
    let tool = filter.tool.as_ref().map(ToString::to_string);
    // Each name is used in every form, so that the parameters are always the same.
    sql += if state.is_some() { " AND state = ?2" } else { " AND ?2 IS NULL" };
    sql += if tool.is_some() { " AND tool = ?3" } else { " AND ?3 IS NULL" };
    sql += " ORDER BY number LIMIT ?4";
    let mut statement = from.prepare(&sql)?;
    let mut found = statement.query(params![integer(filter.after), state, tool, filter.limit])?;
    let mut all = Vec::new();
    while let Some(row) = found.next()? {
        all.push(rows::summary(row)?);
    }
    Ok(all)
}

fn ids(
    to: &Connection,
    sql: &str,
    params: impl rusqlite::Params,
) -> Result<Vec<ApprovalId>, Fault> {
    let mut statement = to.prepare(sql)?;
    let mut found = statement.query(params)?;
    let mut all = Vec::new();
    while let Some(row) = found.next()? {
        all.push(rows::parsed(&row.get::<_, String>(0)?)?);
    }
    Ok(all)
}
