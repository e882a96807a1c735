//! The two ways to reach a host that serves: the standard streams, and a socket.
//!
//! Joins frontends to what they listen on; says on stderr what is served to whom.

#[cfg(feature = "http")]
use std::net::SocketAddr;

use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::narrow::refuse_open;
use crate::app::App;
use crate::config::Config;
use crate::frontends::cli::args::ServeArgs;
use crate::frontends::cli::error::CliError;
#[cfg(any(feature = "http", feature = "mcp"))]
use crate::frontends::cli::show::tell;

/// A frontend at work. Its error is one sentence.
pub(super) type Serving = JoinHandle<Result<(), String>>;

/// How programs reach the host.
#[derive(Debug)]
pub(super) enum Way {
    /// On stdin and stdout, as this caller.
    Stdio(String),
    /// At a socket that is listened on already.
    Http(TcpListener),
}

impl Way {
    /// Opens what the options ask for.
    pub(super) async fn open(args: &ServeArgs, config: &Config) -> Result<Self, CliError> {
        let Some(address) = args.http else {
            let name = args.name.as_deref().unwrap_or(crate::config::MCP_CALLER);
            return Ok(Self::Stdio(name.to_owned()));
        };
        let address = address.unwrap_or(config.serve.http);
        refuse_open(address, config)?;
        let listener = TcpListener::bind(address).await.map_err(|error| {
            CliError::Usage(format!("`{address}` can't be listened on: {error}"))
        })?;
        Ok(Self::Http(listener))
    }

    /// Begins to serve, until `shutdown`.
    pub(super) fn serve(
        self,
        app: &App,
        config: Config,
        shutdown: CancellationToken,
    ) -> Result<Serving, CliError> {
        match self {
            Self::Stdio(caller) => over_stdio(app, &config, &caller, shutdown),
            Self::Http(listener) => over_http(app, config, listener, shutdown),
        }
    }
}

#[cfg(feature = "mcp")]
fn mcp(app: &App, config: &Config) -> Result<crate::frontends::mcp::McpFrontend, CliError> {
    use crate::frontends::mcp::{McpFrontend, McpSettings};
    let settings = McpSettings {
        approvals: config.approvals.mcp,
        drain: std::time::Duration::from_millis(config.serve.drain_ms),
        ..McpSettings::default()
    };
    McpFrontend::new(app.host.clone(), settings)
        .map_err(|error| CliError::Machine(error.to_string()))
}

#[cfg(feature = "mcp")]
fn over_stdio(
    app: &App,
    config: &Config,
    caller: &str,
    shutdown: CancellationToken,
) -> Result<Serving, CliError> {
    use super::streams::{input, output};
    use crate::frontends::access::Access;
    use crate::frontends::cli::caller::level_name;
    let wrong = |error: crate::frontends::access::AccessError| CliError::Usage(error.to_string());
    let mut access = Access::new(config, caller).map_err(wrong)?;
    if let Some(sets) = &config.serve.expose {
        access = access.exposing(config, &app.host, sets).map_err(wrong)?;
    }
    let frontend = mcp(app, config)?;
    let (tools, level) = (access.tools(&app.host).len(), access.context().permission_level);
    tell(&format!("serving {tools} tools to `{caller}` ({}) over stdio", level_name(level)));
    let serving = async move { frontend.serve(access, input(), output(), shutdown).await };
    Ok(tokio::spawn(async move { serving.await.map_err(|error| error.to_string()) }))
}

#[cfg(not(feature = "mcp"))]
fn over_stdio(
    _app: &App,
    _config: &Config,
    _caller: &str,
    _shutdown: CancellationToken,
) -> Result<Serving, CliError> {
    Err(CliError::Usage("this belljar was built without MCP (the feature `mcp`)".to_owned()))
}

#[cfg(feature = "http")]
fn over_http(
    app: &App,
    config: Config,
    listener: TcpListener,
    shutdown: CancellationToken,
) -> Result<Serving, CliError> {
    use crate::frontends::http::{HttpFrontend, HttpParts, client};
    let drain = std::time::Duration::from_millis(config.serve.drain_ms);
    let local = listener
        .local_addr()
        .map_err(|error| CliError::Machine(format!("the socket has no address: {error}")))?;
    #[cfg(feature = "mcp")]
    let mcp = mcp(app, &config)?;
    #[cfg(feature = "mcp")]
    let service = mcp.over_http(shutdown.clone());
    warn_of_nobody(&config, local);
    let parts = HttpParts {
        host: app.host.clone(),
        local,
        expose: config.serve.expose.clone(),
        config: std::sync::Arc::new(config),
    };
    let frontend = HttpFrontend::new(parts).map_err(|error| CliError::Usage(error.to_string()))?;
    let beside = client::routes(std::sync::Arc::new(app.clients.clone()), shutdown.clone());
    #[cfg(feature = "mcp")]
    let beside = beside.route("/mcp", service);
    let router = frontend.router(beside);
    tell(&format!("listening on http://{local} (MCP at /mcp, the API at /v1)"));
    Ok(tokio::spawn(async move {
        let served = frontend.run(listener, router, shutdown, drain).await;
        #[cfg(feature = "mcp")]
        mcp.idle().await;
        served.map_err(|error| error.to_string())
    }))
}

#[cfg(not(feature = "http"))]
fn over_http(
    _app: &App,
    _config: Config,
    _listener: TcpListener,
    _shutdown: CancellationToken,
) -> Result<Serving, CliError> {
    Err(CliError::Usage("this belljar was built without http (the feature `http`)".to_owned()))
}

/// What is likely not meant: a server that nobody may speak to, or one that speaks to more than
/// was thought of.
#[cfg(feature = "http")]
fn warn_of_nobody(config: &Config, local: SocketAddr) {
    match (&config.serve.anonymous, config.tokens.is_empty()) {
        (None, true) => tell(
            "warning: nobody may call: there is no token, which `belljar token NAME` makes, and \
             `serve.anonymous` names no caller",
        ),
        (Some(_), _) if !local.ip().is_loopback() => {
            tell("note: `serve.anonymous` holds for this machine alone; others need a token")
        }
        _ => {}
    }
}
