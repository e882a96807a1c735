//! Builds a host from what an operator said: the configuration, and this run's own options.
//!
//! The one place that joins all modules.

mod builder;
mod error;
mod given;
mod grants;
mod later;
mod loading;
mod setup;
mod state;
#[cfg(feature = "mcp")]
mod upstream;

use std::sync::Arc;
use std::time::Duration;

use self::given::Given;
use self::grants::OwnFolders;
use self::loading::Loading;
use self::state::State;
use crate::config::SandboxValues;
use crate::contract::ids::PluginName;
use crate::engine::{BreakerSettings, Engine, EngineParts, EngineSettings};
use crate::events::{EventBus, unix_ms};
use crate::gate::Policy;
use crate::gate::approval::{ApprovalQueue, ApprovalSettings};
use crate::host::{Host, HostParts};
use crate::registry::{Catalog, CodeStore, KeptCode, Loader, PluginGiven};
use crate::runners::client::{ClientSettings, Clients};
use crate::runners::{ExpectedPlugin, Router, Tools, add_own_tools};
use crate::sandbox::{Sandbox, SandboxSettings};

pub use crate::registry::OnCompile;
pub use crate::sandbox::{CompileIn, Profile, compile_alone};
pub use builder::HostBuilder;
pub use error::{PluginError, StartError};
pub use later::Later;
pub use setup::{DirRequest, PluginSource, Setup};
pub use state::{approvals_file, audit_folder, open_audit, recover_audit, redactor};

/// A plugin of a folder that was left out.
#[derive(Debug)]
pub struct Failed {
    /// Where it was to come from.
    pub path: String,
    /// What is wrong with it.
    pub error: PluginError,
}

/// A host with what it was made of.
#[derive(Debug)]
pub struct App {
    /// The handle.
    pub host: Host,
    /// Where tools that run elsewhere come and go.
    pub tools: Arc<Tools>,
    /// Where clients that run tools of their own are taken in.
    pub clients: Clients,
    /// The configured MCP servers. None runs before it is started here; they end with this value.
    #[cfg(feature = "mcp")]
    pub upstream: crate::runners::upstream_mcp::Upstreams,
    /// The sandbox behind it.
    pub sandbox: Sandbox,
    /// Plugins of a folder that were left out; one that was named by itself stops the start.
    pub failed: Vec<Failed>,
    /// Plugins that have yet to be compiled, where the set-up says that this may be later and there
    /// are any. Dropped with this value, they never are.
    pub later: Option<Later>,
    /// Why compiled code isn't kept, where it was meant to be.
    pub code_store_problem: Option<String>,
    /// What became of kept code at this start; `None`: none is kept.
    pub kept_code: Option<KeptCode>,
}

/// Starts a host.
///
/// # Errors
/// See [`StartError`]; nothing is left running.
pub fn start(setup: &Setup) -> Result<App, StartError> {
    // Before the grants: whether one of them holds these folders shows only once they are there.
    let state = state::open(setup, unix_ms)?;
    let (code_store, code_store_problem) = open_code_store(setup)?;
    let own = Arc::new(own_folders(setup));
    let given = Given::new(setup, &own)?;
    let policy = policy(setup)?;
    let settings = sandbox_settings(setup.config.sandbox);
    let sandbox = Sandbox::with(setup.compile_in.clone(), settings, setup.profile.clone())?;
    let Loaded { catalog, failed, later } = load(setup, &sandbox, code_store.clone(), given)?;
    let (tools, bus) = (Arc::clone(&later.tools), later.bus.clone());
    let router = Arc::new(Router::new(Arc::clone(&tools), sandbox.clone()));
    let clients = Clients::new(Arc::clone(&tools), client_settings(setup, &later));
    let State { store, journal } = state;
    let approvals = ApprovalQueue::new(
        Arc::clone(&store) as _,
        bus.clone(),
        unix_ms,
        approval_settings(setup),
        setup.approver.clone(),
    );
    if let Some(journal) = &journal {
        approvals.record_in(journal.clone());
    }
    let engine = Engine::new(EngineParts {
        lookup: Arc::clone(&router) as _,
        runner: router,
        bus: bus.clone(),
        policy: Arc::clone(&policy),
        approvals: approvals.clone(),
        results: store,
        journal: journal.clone(),
        settings: engine_settings(setup),
        clock: unix_ms,
        levels: Some(Arc::new(clients.clone())),
    })?;
    if setup.own_tools {
        add_own_tools(&tools, engine.kept(), later.given.limits_of_any(), unix_ms)?;
    }
    #[cfg(feature = "mcp")]
    let upstream = upstream::upstreams(setup, &tools, &bus);
    let listing = Arc::clone(&tools) as _;
    let host = Host::new(HostParts { engine, catalog, tools: listing, bus, approvals, journal });
    Ok(App {
        host,
        tools,
        clients,
        #[cfg(feature = "mcp")]
        upstream,
        sandbox,
        failed,
        later: (later.count() > 0).then_some(later),
        code_store_problem,
        kept_code: code_store.map(|store| store.seen()),
    })
}

/// What was loaded, and what is yet to be.
struct Loaded {
    catalog: Arc<Catalog>,
    failed: Vec<Failed>,
    later: Later,
}

fn load(
    setup: &Setup,
    sandbox: &Sandbox,
    code_store: Option<CodeStore>,
    given: Given,
) -> Result<Loaded, StartError> {
    let mut loading = Loading {
        loader: Loader::new(sandbox.clone(), code_store, setup.on_compile.clone()),
        catalog: Catalog::default(),
        bus: EventBus::new(unix_ms),
        given: Arc::new(given),
        failed: Vec::new(),
        later_len: setup.compile_later,
        later: Vec::new(),
    };
    loading.add_all(setup)?;
    let Loading { loader, catalog, bus, failed, given, later: files, .. } = loading;
    let catalog = Arc::new(catalog);
    let tools = Arc::new(Tools::new(Arc::clone(&catalog), bus.clone()));
    tools.expect(files.iter().map(|it| expected(&it.name, given.of(&it.name))));
    Ok(Loaded { catalog, failed, later: Later { files, loader, given, tools, bus } })
}

fn expected(name: &PluginName, given: &PluginGiven) -> ExpectedPlugin {
    let wire_names = given.tools.values().filter_map(|tool| tool.wire_name.clone());
    ExpectedPlugin { name: name.clone(), wire_names: wire_names.collect() }
}

/// The name of a server, or of a plugin, is its own, also while it isn't there: else a client could
/// stand in for it.
fn client_settings(setup: &Setup, later: &Later) -> ClientSettings {
    let servers = setup.config.upstream.iter().map(|server| &server.name);
    let reserved = servers.chain(later.files.iter().map(|it| &it.name)).cloned().collect();
    ClientSettings { limits: later.given.limits_of_any().clone(), reserved }
}

fn own_folders(setup: &Setup) -> OwnFolders {
    let mut own = OwnFolders::default();
    let config = &setup.config;
    own.add(setup.code_folder.as_deref(), "its compiled code");
    own.add(setup.key_of_code().as_deref(), "the key of its compiled code");
    own.add(config.state.as_deref(), "its approvals and its audit log");
    own.add(config.audit.path.as_deref(), "its audit log");
    for place in &config.places {
        own.add(Some(place), "its configuration");
    }
    own
}

fn policy(setup: &Setup) -> Result<Arc<Policy>, StartError> {
    let policy = Policy::new(&setup.config.policy)?;
    Ok(Arc::new(match &setup.assessor {
        Some(assessor) => policy.with_assessor(Arc::clone(assessor)),
        None => policy,
    }))
}

/// Checks what of a configuration only the parts that use it can: rules and settings of batches.
///
/// # Errors
/// The first that can't be.
pub fn check(config: &crate::config::Config) -> Result<(), StartError> {
    let setup = Setup { config: config.clone(), ..Setup::default() };
    policy(&setup)?;
    Ok(engine_settings(&setup).validate()?)
}

fn approval_settings(setup: &Setup) -> ApprovalSettings {
    let said = &setup.config.approvals;
    ApprovalSettings {
        ttl: Duration::from_millis(said.expires_ms),
        hand_back: Duration::from_millis(said.hand_back_ms),
        self_approval: said.self_approval,
        ..ApprovalSettings::default()
    }
}

fn engine_settings(setup: &Setup) -> EngineSettings {
    let said = setup.config.engine.clone();
    EngineSettings {
        concurrency: said.concurrency,
        retries: said.retries,
        retry_delay_ms: said.retry_delay_ms,
        unsafe_tools: said.unsafe_tools,
        parallel_tools: said.parallel_tools,
        share_identical: said.share_identical,
        failure_breaker: BreakerSettings {
            after: said.breaker_after,
            window_ms: said.breaker_window_ms,
        },
    }
}

/// `config` bounds these by the sandbox's own numbers, which it may not import.
fn sandbox_settings(said: SandboxValues) -> SandboxSettings {
    SandboxSettings {
        calls: said.concurrency,
        plugin_calls: said.plugin_concurrency,
        ready_instances: said.ready_instances,
    }
}

/// Names of the builtins that ship.
pub fn builtin_names() -> Vec<&'static str> {
    #[cfg(feature = "builtins")]
    return belljar_builtin::all().iter().map(|builtin| builtin.name).collect();
    #[cfg(not(feature = "builtins"))]
    Vec::new()
}

/// The store, or why nothing is kept. Where the machine has no room to look, compiling would take
/// more of it, and nothing is known to be wrong with the store.
fn open_code_store(setup: &Setup) -> Result<(Option<CodeStore>, Option<String>), StartError> {
    let (Some(folder), Some(key)) = (&setup.code_folder, setup.key_of_code()) else {
        return Ok((None, None));
    };
    match CodeStore::open(folder, &key) {
        Ok(store) => Ok((Some(store), None)),
        Err(error) if error.is_for_want_of_room() => Err(error.into()),
        Err(error) => {
            tracing::warn!("{error}");
            Ok((None, Some(error.to_string())))
        }
    }
}
