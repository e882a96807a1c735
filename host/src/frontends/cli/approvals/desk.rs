//! The queue without a host: the store's file, and who sits here.
//!
//! Answers nothing and records nothing by itself.

use std::path::PathBuf;
use std::sync::Arc;

use crate::app::approvals_file;
use crate::config::Config;
use crate::contract::approval::{Approver, Channel};
use crate::events::{EventBus, unix_ms};
use crate::frontends::cli::asking::user;
use crate::frontends::cli::error::{CliError, shown};
use crate::gate::approval::{ApprovalError, ApprovalQueue, ApprovalSettings};
use crate::storage::{SqliteStore, StorageError};

/// The queue and what it is over.
#[derive(Debug)]
pub(super) struct Desk {
    pub(super) store: Arc<SqliteStore>,
    pub(super) queue: ApprovalQueue,
}

impl Desk {
    /// The queue, where anything was ever kept.
    pub(super) fn open(config: &Config) -> Result<Option<Self>, CliError> {
        let file = file(config)?;
        let store = SqliteStore::open_existing(&file).map_err(fault)?;
        Ok(store.map(|store| Self::over(store, config)))
    }

    /// The queue, also where nothing was ever kept: for whoever waits until something is.
    pub(super) fn open_for_later(config: &Config) -> Result<Self, CliError> {
        let file = file(config)?;
        SqliteStore::open_existing(&file).map_err(fault)?;
        Ok(Self::over(SqliteStore::at(file), config))
    }

    fn over(store: SqliteStore, config: &Config) -> Self {
        let store = Arc::new(store);
        let settings = ApprovalSettings {
            self_approval: config.approvals.self_approval,
            ..ApprovalSettings::default()
        };
        let bus = EventBus::new(unix_ms);
        let queue = ApprovalQueue::new(Arc::clone(&store) as _, bus, unix_ms, settings, None);
        Self { store, queue }
    }
}

/// Said where there is no store.
pub(super) fn nothing(config: &Config) -> Result<String, CliError> {
    let file = file(config)?;
    Ok(format!("nothing has been asked yet: there is no {}", shown(&file)))
}

fn file(config: &Config) -> Result<PathBuf, CliError> {
    approvals_file(config).ok_or_else(|| {
        let why = "there is no folder where approvals could be: set `state` in the configuration, \
                   or HOME";
        CliError::Usage(why.to_owned())
    })
}

/// Who answers here: a fact of the machine, which nobody can type.
pub(super) fn approver() -> Approver {
    Approver { name: user(), channel: Channel::Terminal }
}

/// A store at fault is the machine's; what it refuses is the operator's to choose anew.
#[expect(clippy::needless_pass_by_value, reason = "the shape that `map_err` calls")]
pub(super) fn fault(error: StorageError) -> CliError {
    match error {
        StorageError::SameId(_)
        | StorageError::NotFound(_)
        | StorageError::AlreadyDecided { .. }
        | StorageError::NotDecided(_)
        | StorageError::Used(_)
        | StorageError::Expired(_)
        | StorageError::Withdrawn { .. }
        | StorageError::OtherBinding(_)
        | StorageError::NotClaimed(_)
        | StorageError::TooMany { .. } => CliError::Refused(error.to_string()),
        StorageError::Damaged { .. }
        | StorageError::Newer { .. }
        | StorageError::NotOurs { .. }
        | StorageError::NotPrivate { .. }
        | StorageError::ReadOnly { .. }
        | StorageError::DiskFull { .. }
        | StorageError::Locked { .. }
        | StorageError::Unusable { .. }
        | StorageError::Stopped
        | StorageError::Unstorable { .. }
        | StorageError::ClockWentBack { .. } => CliError::Machine(error.to_string()),
    }
}

/// The same for an answer.
pub(super) fn refusal(error: ApprovalError) -> CliError {
    match error {
        ApprovalError::Storage(error) => fault(error),
        ApprovalError::Unbindable(_)
        | ApprovalError::NoRandom(_)
        | ApprovalError::Unrecorded(_) => CliError::Machine(error.to_string()),
        ApprovalError::SelfApproval(_)
        | ApprovalError::Arguments(_)
        | ApprovalError::TooLong { .. }
        | ApprovalError::PastExpiry { .. }
        | ApprovalError::Pattern(_)
        | ApprovalError::NoSession
        | ApprovalError::Question { .. } => CliError::Refused(error.to_string()),
    }
}
