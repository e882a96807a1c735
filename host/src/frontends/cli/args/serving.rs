//! The options of `serve` and `token`, as they are typed.
//!
//! Reads values and does nothing with them.

use std::net::SocketAddr;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{ArgGroup, Args};

use super::{GrantArgs, LimitArgs, PluginArgs, level};
use crate::config::{McpApprovals, Role};
use crate::contract::invocation::PermissionLevel;
use crate::frontends::cli::parse::parse_label;

/// Serve the tools to other programs: MCP on the standard streams, or MCP and a JSON API over http.
#[derive(Debug, Args)]
#[command(
    group = ArgGroup::new("way").required(true).args(["stdio", "http"]),
    after_help = "Examples:
  belljar serve --stdio --expose files,search --dir .
  belljar serve --http
  belljar serve --http 127.0.0.1:9000 --plugin ./weather.wasm

With --stdio, whoever started belljar is the caller that --as names, `mcp` by itself, of level
READ_WRITE unless the configuration says otherwise. stdout holds MCP alone.
With --http, MCP is at /mcp and the API at /v1; who calls is said by a token, which `belljar token`
makes. An address of other machines needs tokens and `serve.hosts` in the configuration.

SIGTERM, Ctrl-C and, with --stdio, the end of stdin end it: it takes no more calls, lets those that
run go on for `serve.drain`, then cancels them. A second signal ends it at once. `docs/serve.md` has
more."
)]
pub(in crate::frontends::cli) struct ServeArgs {
    /// Speak MCP on stdin and stdout.
    #[arg(long)]
    pub(in crate::frontends::cli) stdio: bool,
    /// Listen here. None: where `serve.http` says, 127.0.0.1:8808 by itself. Port 0 is any.
    #[arg(long, value_name = "ADDR", num_args = 0..=1)]
    pub(in crate::frontends::cli) http: Option<Option<SocketAddr>>,
    /// Show these tools alone: names of sets under `expose` in the configuration, or of plugins.
    /// May be given again. None: what `serve.expose` says, every tool by itself.
    #[arg(long, value_name = "SET", value_delimiter = ',', value_parser = parse_label)]
    pub(in crate::frontends::cli) expose: Vec<String>,
    /// With --stdio: call as this caller of the configuration. None: `mcp`.
    #[arg(long = "as", value_name = "NAME", conflicts_with = "http")]
    pub(in crate::frontends::cli) name: Option<String>,
    /// Trust callers no further than this. It can only lower what the configuration says.
    #[arg(long, value_name = "LEVEL", ignore_case = true, value_parser = level())]
    pub(in crate::frontends::cli) level: Option<PermissionLevel>,
    /// What becomes of a call that needs a person: wait for `belljar approvals`, ask whoever sits
    /// at the MCP client, take it that the client has asked already, or decline it. None: what the
    /// configuration says.
    #[arg(
        long,
        value_name = "queue|elicit|client|deny",
        hide_possible_values = true,
        value_parser = PossibleValuesParser::new(["queue", "elicit", "client", "deny"])
            .map(|how| match how.as_str() {
                "queue" => McpApprovals::Queue,
                "elicit" => McpApprovals::Elicit,
                "client" => McpApprovals::Client,
                _ => McpApprovals::Deny,
            })
    )]
    pub(in crate::frontends::cli) approvals: Option<McpApprovals>,
    #[command(flatten)]
    pub(in crate::frontends::cli) plugins: PluginArgs,
    #[command(flatten)]
    pub(in crate::frontends::cli) grants: GrantArgs,
    #[command(flatten)]
    pub(in crate::frontends::cli) limits: LimitArgs,
}

/// Make a token for a client of `serve --http`, and print it once.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  belljar token laptop
  belljar token console --role approver --role operator
  belljar token ci --caller ci

The token goes to stdout, the lines for belljar.toml to stderr. Those hold its SHA-256 alone:
belljar keeps no token.")]
pub(in crate::frontends::cli) struct TokenArgs {
    /// What the token is called; answers to requests bear this name.
    #[arg(value_name = "NAME", value_parser = parse_label)]
    pub(in crate::frontends::cli) name: String,
    /// The caller of the configuration whose calls it makes. None: `mcp`, where it makes any.
    #[arg(long, value_name = "CALLER", value_parser = parse_label)]
    pub(in crate::frontends::cli) caller: Option<String>,
    /// What it may do: make calls (caller), answer requests (approver), read the events and the
    /// audit log of all (operator). May be given again. None: caller.
    #[arg(
        long = "role",
        value_name = "ROLE",
        value_parser = PossibleValuesParser::new(["caller", "approver", "operator"])
            .map(|role| match role.as_str() {
                "caller" => Role::Caller,
                "approver" => Role::Approver,
                _ => Role::Operator,
            })
    )]
    pub(in crate::frontends::cli) roles: Vec<Role>,
}
