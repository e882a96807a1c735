//! Opens what outlives a run: approvals, results of idempotent calls, and the audit log.
//!
//! A store that can't be opened stops the start: what was denied for good may stand in it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Setup, StartError};
use crate::config::Config;
use crate::contract::escape::clipped_line;
use crate::events::{
    Clock, InterruptedCall, Journal, JournalOptions, Recovered, Redactor, Retention, recover,
    unix_ms,
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
    pub(super) recovered: Option<Recovered>,
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
    let store = match approvals_file(config) {
        Some(file) => SqliteStore::at(file),
        None => SqliteStore::in_memory()?,
    };
    let store = Arc::new(store);
    let Some(folder) = audit_folder(config) else {
        return Ok(State { store, journal: None, recovered: None });
    };
    make_private(&folder)?;
    let (journal, recovered) = open_journal(&folder, config, clock)?;
    end_cut_off(&store, &recovered)?;
    Ok(State { store, journal: Some(journal), recovered: Some(recovered) })
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
    clock: Clock,
) -> Result<(Journal, Recovered), StartError> {
    let (secrets, missing) =
        config.secret_values(|name| std::env::var_os(name)?.into_string().ok());
    for finding in missing {
        tracing::warn!("{}", finding.text);
    }
    let secrets = secrets.into_iter().map(|it| (it.name.clone(), it.expose().to_owned()));
    let mut options = JournalOptions::default();
    options.redactor = Redactor::new(secrets);
    options.retention = Retention {
        max_bytes: Some(config.audit.keep_bytes),
        max_age_ms: config.audit.keep_days.map(|days| days.saturating_mul(DAY_MS)),
    };
    Ok(Journal::open(folder, options, clock)?)
}

/// The audit log for a command that records something and makes no call; `None`: nothing is
/// recorded.
///
/// # Errors
/// See [`JournalError`](crate::events::JournalError), and a store at fault where a crash cut off
/// calls.
pub fn open_audit(config: &Config) -> Result<Option<Journal>, StartError> {
    let Some(folder) = audit_folder(config) else { return Ok(None) };
    let (journal, recovered) = open_journal(&folder, config, unix_ms)?;
    if let Some(file) = approvals_file(config) {
        end_cut_off(&SqliteStore::at(file), &recovered)?;
    }
    Ok(Some(journal))
}

/// Takes in what processes that are gone left for the log, for a command that reads it.
///
/// # Errors
/// Like [`open_audit`].
pub fn recover_audit(config: &Config) -> Result<Recovered, StartError> {
    let Some(folder) = audit_folder(config) else { return Ok(Recovered::default()) };
    let recovered = recover(&folder, unix_ms)?;
    if let Some(file) = approvals_file(config) {
        end_cut_off(&SqliteStore::at(file), &recovered)?;
    }
    Ok(recovered)
}

/// Only who recovers learns which calls were cut off, so a store that isn't told now never is.
fn end_cut_off(store: &SqliteStore, recovered: &Recovered) -> Result<(), StorageError> {
    let calls: Vec<_> = recovered.interrupted.iter().filter_map(cut_off).collect();
    if !calls.is_empty() {
        store.interrupt(&calls)?;
    }
    Ok(())
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
