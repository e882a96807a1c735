//! Why a host doesn't start, and who is at fault.

use crate::config::TemplateError;
use crate::contract::grants::GrantError;
use crate::contract::ids::PluginName;
use crate::contract::limits::LimitError;
use crate::engine::SettingsError;
use crate::events::JournalError;
use crate::gate::PolicyError;
use crate::registry::{CatalogError, CodeStoreError, DiscoverError, LoadError};
use crate::runners::OwnError;
use crate::sandbox::{ComponentError, EngineError, FolderProblem, is_short_of_room};
use crate::storage::StorageError;

/// Why a host doesn't start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The machine.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A grant that can't be given.
    #[error(transparent)]
    Grant(#[from] GrantError),
    /// A grant that depends on the caller, where the caller lacks what it depends on.
    #[error(transparent)]
    Template(TemplateError),
    /// A limit that can't be set.
    #[error(transparent)]
    Limit(LimitError),
    /// A rule.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// A setting of batches or retries.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// Nothing can be kept where approvals and the audit log are to be.
    #[error("the folder `{path}` can't be made for approvals and the audit log: {reason}")]
    State {
        /// The folder.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Approvals can't be kept or read.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The audit log can't be kept.
    #[error(transparent)]
    Audit(#[from] JournalError),
    /// The machine has no room to look for compiled code.
    #[error(transparent)]
    CodeStore(#[from] CodeStoreError),
    /// A folder that isn't there.
    #[error("the folder `{path}` can't be granted: {reason}")]
    Folder {
        /// The folder as it was named.
        path: String,
        /// What is wrong with it.
        reason: FolderProblem,
    },
    /// No plugin where one was named.
    #[error(transparent)]
    Discover(#[from] DiscoverError),
    /// A tool of the host itself, whose name is taken.
    #[error(transparent)]
    Own(#[from] OwnError),
    /// A plugin that was named and can't be loaded.
    #[error("the plugin `{path}` can't be loaded: {source}")]
    Plugin {
        /// Where it was to come from.
        path: String,
        /// What is wrong with it.
        source: Box<PluginError>,
    },
}

impl StartError {
    /// Whether the machine, or the host itself, is at fault, and neither what was asked for nor a
    /// plugin.
    pub fn is_the_hosts(&self) -> bool {
        match self {
            Self::Engine(_)
            | Self::State { .. }
            | Self::Storage(_)
            | Self::Audit(_)
            | Self::CodeStore(_) => true,
            Self::Folder { reason, .. } => reason.is_for_want_of_room(),
            Self::Discover(DiscoverError::Io { source, .. }) => is_short_of_room(source),
            Self::Plugin { source, .. } => source.is_the_hosts(),
            _ => false,
        }
    }
}

/// Why one plugin isn't loaded.
#[derive(Debug, thiserror::Error)]
pub enum PluginError {
    /// Its file.
    #[error("{0}")]
    Read(std::io::Error),
    /// Its content.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// Its name.
    #[error(transparent)]
    Name(#[from] CatalogError),
}

impl PluginError {
    /// The tool that the operator said something of and the plugin doesn't have.
    pub fn unknown_tool(&self) -> Option<(&PluginName, &str)> {
        match self {
            Self::Load(LoadError::UnknownTool { plugin, tool, .. }) => Some((plugin, tool)),
            _ => None,
        }
    }

    /// Whether nothing is known to be wrong with the plugin: the machine has no room for it, or the
    /// host no engine or compiler that works.
    pub fn is_the_hosts(&self) -> bool {
        match self {
            Self::Read(error) | Self::Load(LoadError::Read(error)) => is_short_of_room(error),
            Self::Load(LoadError::Grant(error)) => error.problem.is_for_want_of_room(),
            Self::Load(LoadError::Component(error)) => match error {
                ComponentError::NoRoom(_) | ComponentError::Engine(_) => true,
                ComponentError::Compiling(error) => error.is_the_compilers(),
                _ => false,
            },
            Self::Load(_) | Self::Name(_) => false,
        }
    }

    /// Whether what the operator configured is wrong, and not the plugin.
    pub fn is_of_the_configuration(&self) -> bool {
        self.unknown_tool().is_some()
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use rustix::io::Errno;

    use super::*;
    use crate::sandbox::CompilingError;

    fn io(errno: Errno) -> io::Error {
        io::Error::from_raw_os_error(errno.raw_os_error())
    }

    fn plugin(error: impl Into<LoadError>) -> StartError {
        let source = Box::new(PluginError::Load(error.into()));
        StartError::Plugin { path: "p.wasm".to_owned(), source }
    }

    /// The ways in which a start meets what the machine says.
    fn met(errno: Errno) -> [StartError; 4] {
        [
            StartError::Discover(DiscoverError::Io { path: "p".to_owned(), source: io(errno) }),
            StartError::Folder { path: "p".to_owned(), reason: io(errno).into() },
            StartError::Plugin {
                path: "p.wasm".to_owned(),
                source: Box::new(PluginError::Read(io(errno))),
            },
            plugin(io(errno)),
        ]
    }

    #[test]
    fn want_of_room_is_nobodys_fault_wherever_a_start_meets_it() {
        for errno in [Errno::MFILE, Errno::NFILE, Errno::NOMEM] {
            for error in met(errno) {
                assert!(error.is_the_hosts(), "{error:?}");
            }
        }
        let no_room = ComponentError::NoRoom("x".to_owned());
        assert!(plugin(no_room).is_the_hosts());
    }

    #[test]
    fn what_is_missing_or_refused_is_what_was_asked_for() {
        for errno in [Errno::NOENT, Errno::ACCESS] {
            for error in met(errno) {
                assert!(!error.is_the_hosts(), "{error:?}");
            }
        }
        let refused = "it is not a folder".to_owned().into();
        assert!(!StartError::Folder { path: "p".to_owned(), reason: refused }.is_the_hosts());
    }

    #[test]
    fn a_compiler_that_fails_itself_is_the_hosts_and_one_that_met_a_bound_is_not() {
        for ours in [
            CompilingError::Panicked("x".to_owned()),
            CompilingError::Start("x".to_owned()),
            // Less than it may have: the machine has no more.
            CompilingError::Aborted(107),
            CompilingError::OtherEngine { wanted: String::new(), found: String::new() },
        ] {
            let error = plugin(ComponentError::from(ours));
            assert!(error.is_the_hosts(), "{error:?}");
        }
        for bound in [
            CompilingError::Aborted(4096),
            CompilingError::Wall(1),
            CompilingError::Cpu(1),
            CompilingError::Code(1),
            CompilingError::Lost("signal 9".to_owned()),
        ] {
            let error = plugin(ComponentError::from(bound));
            assert!(!error.is_the_hosts(), "{error:?}");
        }
        assert!(!plugin(ComponentError::NotWasm).is_the_hosts());
    }
}
