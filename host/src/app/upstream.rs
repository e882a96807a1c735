//! From the configuration's MCP servers to what their runner takes: programs found, secrets read.
//!
//! A server that can't be made out is one that can't be started; it doesn't keep the host from
//! starting.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::Setup;
use super::given::limits;
use crate::config::{Config, UpstreamSettings, UpstreamValue, UpstreamWay};
use crate::contract::limits::Limits;
use crate::events::EventBus;
use crate::host::{Companion, Host};
use crate::registry::ToolSettings;
use crate::runners::Tools;
use crate::runners::upstream_mcp::{ChildSpec, Handed, HttpSpec, UpstreamServer, Upstreams, Way};

/// The configured servers, none of them started.
pub(super) fn upstreams(setup: &Setup, tools: &Arc<Tools>, bus: &EventBus) -> Upstreams {
    let config = &setup.config;
    let servers = config.upstream.iter().map(|server| spec(setup, server));
    let (redactor, _findings) = super::redactor(config);
    Upstreams::new(servers.collect(), Arc::clone(tools), bus.clone(), redactor)
}

/// A host that keeps its servers, for who holds nothing but the host.
pub(super) fn accompany(host: Host, upstream: Upstreams) -> Host {
    let companion: Arc<dyn Companion> = Arc::new(upstream);
    if tokio::runtime::Handle::try_current().is_ok() {
        companion.start();
    }
    host.beside(companion)
}

#[async_trait::async_trait]
impl Companion for Upstreams {
    fn start(&self) {
        Self::start(self);
    }

    async fn settled(&self) {
        Self::settled(self).await;
    }

    async fn end(&self) {
        Self::end(self).await;
    }
}

fn spec(setup: &Setup, server: &UpstreamSettings) -> UpstreamServer {
    let config = &setup.config;
    let all: Vec<_> = config.limits.iter().chain(&server.limits).copied().collect();
    let given = limits(&all, &setup.limits).map_err(|error| error.to_string());
    let (given, way) = match given {
        Ok(given) => (given, way(config, &server.way)),
        Err(why) => (Limits::default(), Err(why)),
    };
    let tools = server.tools.iter().map(|tool| {
        let settings =
            ToolSettings { limits: tool.limits.clone(), wire_name: tool.wire_name.clone() };
        (tool.name.to_string(), settings)
    });
    UpstreamServer {
        name: server.name.clone(),
        server_id: server.server_id,
        way,
        start_timeout: Duration::from_millis(server.start_timeout_ms),
        concurrency: server.concurrency,
        limits: given,
        tools: tools.collect(),
    }
}

fn way(config: &Config, way: &UpstreamWay) -> Result<Way, String> {
    Ok(match way {
        UpstreamWay::Child { command, args, dir, env } => Way::Child(ChildSpec {
            program: program(command)?,
            args: args.clone(),
            dir: dir.clone(),
            env: handed(config, env)?,
        }),
        UpstreamWay::Http { url, headers } => {
            Way::Http(HttpSpec { url: url.clone(), headers: handed(config, headers)? })
        }
    })
}

fn handed(
    config: &Config,
    values: &[(String, UpstreamValue)],
) -> Result<Vec<(String, Handed)>, String> {
    let variable = |name: &str| std::env::var_os(name)?.into_string().ok();
    let each = values.iter().map(|(name, value)| {
        let value = match value {
            UpstreamValue::Literal(text) => Handed::literal(text),
            UpstreamValue::Secret { name, prefix } => {
                let secret = config
                    .secret_value(name, variable)
                    .map_err(|why| format!("the secret `{name}` has no value: {why}"))?;
                Handed::secret(name, format!("{prefix}{}", secret.expose()))
            }
        };
        Ok((name.clone(), value))
    });
    each.collect()
}

/// The program itself: a bare name is looked for in belljar's own `PATH`, in absolute folders only,
/// since whoever can put a file into the current one would choose what runs.
fn program(command: &Path) -> Result<PathBuf, String> {
    if command.components().count() != 1 || command.is_absolute() {
        return std::path::absolute(command)
            .map_err(|error| format!("`{}` is no path: {error}", command.display()));
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let runs = |file: &PathBuf| {
        file.metadata().is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
    };
    std::env::split_paths(&path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(command))
        .find(runs)
        .ok_or_else(|| format!("`{}` is in no folder of `PATH`", command.display()))
}

#[cfg(test)]
mod tests;
