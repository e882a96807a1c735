//! How programs reach the host.
use std::net::SocketAddr;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::narrow::refuse_open;
use crate::app::App;
use crate::config::Config;
use crate::frontends::cli::args::ServeArgs;
use crate::frontends::cli::error::CliError;

#[derive(Debug)]
pub(super) enum Way { Stdio, Http(tokio::net::TcpListener) }
impl Way {
    pub(super) async fn open(args: &ServeArgs, config: &Config) -> Result<Self, CliError> {
        let Some(address) = args.http else { return Ok(Self::Stdio) };
        let address: SocketAddr = address.unwrap_or(config.serve.http);
        refuse_open(address, config)?;
        let l = tokio::net::TcpListener::bind(address).await.map_err(|e| CliError::Usage(e.to_string()))?;
        Ok(Self::Http(l))
    }
    pub(super) fn serve(self, _app: &App, _config: Config, shutdown: CancellationToken) -> Result<JoinHandle<Result<(), String>>, CliError> {
        let _s = (super::streams::input(), super::streams::output());
        Ok(tokio::spawn(async move { shutdown.cancelled().await; Ok(()) }))
    }
}
