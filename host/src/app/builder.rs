//! A host in a few lines, for programs that hold one as a library.
//!
//! Only puts a [`Setup`] together; [`start`] does the rest.

use std::path::PathBuf;
use std::sync::Arc;

use super::{CompileIn, DirRequest, PluginSource, Setup, StartError, start};
use crate::config::Config;
use crate::contract::grants::{DirMode, EnvGrant};
use crate::contract::limits::Limits;
use crate::gate::approval::ApprovalHook;
use crate::gate::{PolicySettings, RiskAssessor};
use crate::host::Host;

/// Puts a host together. Begins with the builtins, no plugin, nothing granted, belljar's default
/// limits and policy, and nothing kept on the disk.
#[derive(Debug, Clone)]
pub struct HostBuilder(Setup);

impl Host {
    /// Puts a host together.
    ///
    /// The example runs one tool that is let through by what is proven of it, and one that a
    /// person, here the program itself, is asked about:
    ///
    #[doc = include_str!("builder/example.md")]
    pub fn builder() -> HostBuilder {
        HostBuilder(Setup { builtins: true, ..Setup::default() })
    }
}

impl HostBuilder {
    /// Takes over a configuration: see [`crate::config`].
    pub fn config(mut self, config: Config) -> Self {
        self.0.config = config;
        self
    }

    /// Loads no builtin.
    pub fn without_builtins(mut self) -> Self {
        self.0.builtins = false;
        self
    }

    /// Loads a component, or every `.wasm` file of a folder.
    pub fn plugin(mut self, path: impl Into<PathBuf>) -> Self {
        self.0.plugins.push(PluginSource { name: None, path: path.into() });
        self
    }

    /// Grants a folder to every plugin, which sees it as `guest`. The first is also `.`.
    pub fn dir(
        mut self,
        host: impl Into<PathBuf>,
        guest: impl Into<String>,
        mode: DirMode,
    ) -> Self {
        self.0.dirs.push(DirRequest { host: host.into(), guest: Some(guest.into()), mode });
        self
    }

    /// Grants an environment variable to every plugin, which sees its value.
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.0.env.push(EnvGrant { name: name.into(), value: value.into() });
        self
    }

    /// Sets the limits of every tool; tags of a plugin can only lower them.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.0.limits = limits;
        self
    }

    /// Sets the rules.
    pub fn policy(mut self, policy: PolicySettings) -> Self {
        self.0.config.policy = policy;
        self
    }

    /// Keeps approvals and the audit log in this folder, which is made where it isn't there.
    pub fn state(mut self, folder: impl Into<PathBuf>) -> Self {
        self.0.config.state = Some(folder.into());
        self
    }

    /// Keeps compiled code in this folder, so that the next start is quick. Its entries are checked
    /// by a key: see [`Self::code_key`].
    pub fn code_folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.0.code_folder = Some(folder.into());
        self
    }

    /// The file of the key that kept code is checked by; it is made where it isn't there, and must
    /// not be in the code folder. Without this it stands beside that folder, by its name and `.key`.
    pub fn code_key(mut self, file: impl Into<PathBuf>) -> Self {
        self.0.code_key = Some(file.into());
        self
    }

    /// Compiles plugins in a process of their own, bounded in memory and time: by this program,
    /// which is a `belljar` of the same build, or one whose `main` begins with
    /// [`compile_alone`](super::compile_alone). Without this they are compiled in this process, and
    /// a hostile one may use as much of its memory and time as the compiler does.
    pub fn compile_program(mut self, program: impl Into<PathBuf>) -> Self {
        self.0.compile_in = CompileIn::Child(program.into());
        self
    }

    /// Who is asked about calls that need a person. A call waits for the answer in mode
    /// `ApprovalMode::Wait`.
    pub fn approver(mut self, approver: impl ApprovalHook + 'static) -> Self {
        self.0.approver = Some(Arc::new(approver));
        self
    }

    /// Who assesses calls of level SMART.
    pub fn assessor(mut self, assessor: impl RiskAssessor + 'static) -> Self {
        self.0.assessor = Some(Arc::new(assessor));
        self
    }

    /// Starts the host. Takes seconds where plugins have to be compiled.
    ///
    /// MCP servers that the configuration names live as long as the host's last clone. Within a
    /// tokio runtime they are started here, in the background; [`Host::ready`] waits for their
    /// tools, and starts them where there was no runtime. [`Host::close`] ends them in good order.
    ///
    /// # Errors
    /// See [`StartError`]; nothing is left running.
    pub fn start(&self) -> Result<Host, StartError> {
        let app = start(&self.0)?;
        #[cfg(feature = "mcp")]
        return Ok(super::upstream::accompany(app.host, app.upstream));
        #[cfg(not(feature = "mcp"))]
        Ok(app.host)
    }
}
