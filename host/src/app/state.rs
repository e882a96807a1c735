//! Opens what outlives a run: approvals, results of idempotent calls, and the audit log.
//!
//! An audit log that can't be kept stops the start. A store of approvals is opened when it is first
//! needed, and lets no call through where it is at fault: what was denied for good may stand in it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Setup, StartError};
use crate::config::{Config, Finding};
use crate::contract::escape::clipped_line;
use crate::events::{
    Clock, CutOffListener, InterruptedCall, Journal, JournalOptions, Recovered, Redactor,
    Retention, SECRET_MIN_LEN, recover, unix_ms,
};
use crate::storage::{CutOff, ResultKey, ResultStore, SqliteStore, StorageError};

/// The file of approvals in the state folder.
const APPROVALS_FILE: &str = "approvals.sqlite";
const DAY_MS: u64 = 24 * 60 * 60 * 1000;
/// The folder of the audit log in the state folder.
const AUDIT_FOLDER: &str = "audit";

/// What outlives a run.
#[derive(Debug)]
pub(super) struct State {
    pub(super) store: Arc<SqliteStore>,
    pub(super) journal: Option<Journal>,
}

/// Where the audit log is; `None`: nothing is recorded.
pub fn audit_folder(config: &Config) -> Option<PathBuf> {
    let audit = &config.audit;
    let in_state = || config.state.as_ref().map(|state| state.join(AUDIT_FOLDER));
    audit.enabled.then(|| audit.path.clone().or_else(in_state)).flatten()
}

/// Where approvals are; `None`: they end with the host.
pub fn approvals_file(config: &Config) -> Option<PathBuf> {
    config.state.as_ref().map(|state| state.join(APPROVALS_FILE))
}

/// Opens both, and ends what a crash cut off.
pub(super) fn open(setup: &Setup, clock: Clock) -> Result<State, StartError> {
    let config = &setup.config;
    if let Some(folder) = &config.state {
        make_private(folder)?;
    }
    let store = store_of(config)?;
    let Some(folder) = audit_folder(config) else {
        return Ok(State { store, journal: None });
    };
    make_private(&folder)?;
    let journal = open_journal(&folder, config, Arc::clone(&store), clock)?;
    Ok(State { store, journal: Some(journal) })
}

/// Makes a folder, and those on the way to it, for this user alone.
fn make_private(folder: &Path) -> Result<(), StartError> {
    use std::os::unix::fs::DirBuilderExt as _;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(|error| {
        StartError::State {
            path: clipped_line(&folder.to_string_lossy(), 300),
            reason: error.to_string(),
        }
    })
}

fn open_journal(
    folder: &Path,
    config: &Config,
    store: Arc<SqliteStore>,
    clock: Clock,
) -> Result<Journal, StartError> {
    let (redactor, findings) = redactor(config);
    for finding in findings {
        tracing::warn!("{}", finding.text);
    }
    let mut options = JournalOptions::default();
    options.redactor = redactor;
    options.listener = ending_keys(store);
    options.retention = Retention {
        max_bytes: Some(config.audit.keep_bytes),
        max_age_ms: config.audit.keep_days.map(|days| days.saturating_mul(DAY_MS)),
    };
    let (journal, recovered) = Journal::open(folder, options, clock)?;
    for call in &recovered.interrupted {
        tracing::info!(call = %call.call_id, "an earlier run was cut off in this call");
    }
    for lane in &recovered.damaged {
        tracing::warn!("records of an earlier run are damaged and were set aside: {lane}");
    }
    Ok(journal)
}

/// What takes the declared secrets out of records and of what people are shown, with those that it
/// can't: without a value, or too short.
pub fn redactor(config: &Config) -> (Redactor, Vec<Finding>) {
    let variable = |name: &str| std::env::var_os(name)?.into_string().ok();
    let (secrets, findings) = config.secret_values(variable, SECRET_MIN_LEN);
    let secrets = secrets.into_iter().map(|it| (it.name.clone(), it.expose().to_owned()));
    (Redactor::new(secrets), findings)
}

/// The audit log for a command that records something and makes no call; `None`: nothing is
/// recorded.
///
/// # Errors
/// See [`JournalError`](crate::events::JournalError), and a store at fault where a crash cut off
/// calls.
pub fn open_audit(config: &Config) -> Result<Option<Journal>, StartError> {
    let Some(folder) = audit_folder(config) else { return Ok(None) };
    open_journal(&folder, config, store_of(config)?, unix_ms).map(Some)
}

/// Takes in what processes that are gone left for the log, for a command that reads it.
///
/// # Errors
/// Like [`open_audit`].
pub fn recover_audit(config: &Config) -> Result<Recovered, StartError> {
    let Some(folder) = audit_folder(config) else { return Ok(Recovered::default()) };
    Ok(recover(&folder, unix_ms, &ending_keys(store_of(config)?))?)
}

fn store_of(config: &Config) -> Result<Arc<SqliteStore>, StorageError> {
    let file = approvals_file(config).map(SqliteStore::at);
    Ok(Arc::new(file.map_or_else(SqliteStore::in_memory, Ok)?))
}

/// Ends the keys of calls that a crash cut off.
fn ending_keys(store: Arc<SqliteStore>) -> CutOffListener {
    CutOffListener::new(move |calls| {
        let calls: Vec<_> = calls.iter().filter_map(cut_off).collect();
        if !calls.is_empty() {
            store.interrupt(&calls).map_err(|error| error.to_string())?;
        }
        Ok(())
    })
}

/// What the store knows such a call by; `None` if it had no key.
fn cut_off(call: &InterruptedCall) -> Option<CutOff> {
    let key = ResultKey {
        caller: call.caller.caller.clone(),
        tool: call.tool.clone(),
        plugin_digest: call.plugin_digest?,
        key_hash: call.idempotency_key_hash?,
    };
    Some(CutOff { key, call_id: call.call_id.clone() })
}
