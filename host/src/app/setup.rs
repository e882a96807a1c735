//! What an operator wants of a host, as values: nothing is read, opened or checked here.

use std::path::PathBuf;
use std::sync::Arc;

use crate::config::Config;
use crate::contract::grants::{DirMode, EnvGrant};
use crate::contract::ids::PluginName;
use crate::contract::limits::Limits;
use crate::gate::RiskAssessor;
use crate::gate::approval::ApprovalHook;
use crate::registry::OnCompile;
use crate::sandbox::{CompileIn, Profile};

/// A plugin to load.
#[derive(Debug, Clone)]
pub struct PluginSource {
    /// The operator's name for it; not for a folder of several.
    pub name: Option<PluginName>,
    /// A file, or a folder of `.wasm` files.
    pub path: PathBuf,
}

/// A folder to grant, as an operator says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirRequest {
    /// The folder on this machine.
    pub host: PathBuf,
    /// Where the guest sees it; `None`: `/` and the folder's name.
    pub guest: Option<String>,
    /// What the guest may do in it.
    pub mode: DirMode,
}

/// What an operator wants. What stands here beside the configuration is of this run alone.
#[derive(Debug, Clone, Default)]
pub struct Setup {
    /// The configuration.
    pub config: Config,
    /// Plugins beside the builtins and the configuration's.
    pub plugins: Vec<PluginSource>,
    /// Whether the builtins are loaded that the configuration names.
    pub builtins: bool,
    /// Folders for every plugin, behind the configuration's. The first of all is also `.`.
    pub dirs: Vec<DirRequest>,
    /// Environment variables for every plugin.
    pub env: Vec<EnvGrant>,
    /// Limits for every tool. What the operator set here wins over the configuration.
    pub limits: Limits,
    /// Where compiled code is kept; `None` compiles at each start.
    pub code_folder: Option<PathBuf>,
    /// The file of the key that compiled code is checked by, which is made where it isn't there;
    /// `None`: beside the code folder, by its name and `.key`.
    pub code_key: Option<PathBuf>,
    /// Where plugins are compiled.
    pub compile_in: CompileIn,
    /// Plugins of at least so many bytes come later where their code isn't kept: the host starts
    /// without them, and whoever started it begins with them by
    /// [`Later::start`](super::Later::start). `None`, and the builtins: at once.
    pub compile_later: Option<u64>,
    /// Is told of each plugin that has to be compiled.
    pub on_compile: Option<OnCompile>,
    /// Who answers what needs a person, beside `belljar approvals`.
    pub approver: Option<Arc<dyn ApprovalHook>>,
    /// Who assesses calls of level SMART; `None`: by what is proven of the tool.
    pub assessor: Option<Arc<dyn RiskAssessor>>,
    /// Whether the host's own tools are there: for one that stays, so that what a call left can be
    /// read by a later one.
    pub own_tools: bool,
    /// Where all that runs in this host's sandbox is sampled; `None`: nothing is.
    pub profile: Option<Profile>,
}

impl Setup {
    /// The file of the key that compiled code is checked by, where code is kept.
    pub fn key_of_code(&self) -> Option<PathBuf> {
        let folder = self.code_folder.as_ref()?;
        Some(self.code_key.clone().unwrap_or_else(|| {
            let mut beside = folder.clone().into_os_string();
            beside.push(".key");
            beside.into()
        }))
    }
}
