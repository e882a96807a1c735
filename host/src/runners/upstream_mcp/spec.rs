//! What an operator says of one MCP server, as values.
//!
//! Reads no file and no environment: whoever makes one has resolved every secret.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use crate::contract::ids::PluginName;
use crate::contract::limits::{LimitKind, Limits};
use crate::registry::ToolSettings;

/// The least that a message may have, in bytes: a list of tools has no limit of a call.
const MESSAGE_MIN: usize = 4 << 20;
/// What surrounds the output in a message, in bytes.
const MESSAGE_FRAME: usize = 64 << 10;

/// An MCP server whose tools are offered.
#[derive(Debug, Clone)]
pub struct UpstreamServer {
    /// Its name, the first half of its tools' ids.
    pub name: PluginName,
    /// Its number for whoever reads descriptors.
    pub server_id: u64,
    /// How it is spoken to; an error where that can't be made out, in one sentence.
    pub way: Result<Way, String>,
    /// How long it may take to start and to list its tools.
    pub start_timeout: Duration,
    /// Calls that it is given at once.
    pub concurrency: usize,
    /// The limits of its calls.
    pub limits: Limits,
    /// What is said of single tools, by their names here.
    pub tools: BTreeMap<String, ToolSettings>,
}

/// How a server is spoken to.
#[derive(Debug, Clone)]
pub enum Way {
    /// Over the standard streams of a child process.
    Child(ChildSpec),
    /// Over http.
    Http(HttpSpec),
}

/// A child process.
#[derive(Debug, Clone)]
pub struct ChildSpec {
    /// The program, absolute.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
    /// The folder it begins in.
    pub dir: PathBuf,
    /// Its whole environment, by the variables' names.
    pub env: Vec<(String, Handed)>,
}

/// A server behind an address.
#[derive(Debug, Clone)]
pub struct HttpSpec {
    /// Where: `http://` or `https://`.
    pub url: String,
    /// Headers of each request, by their names.
    pub headers: Vec<(String, Handed)>,
}

/// A text that is handed to a server and shown to nobody.
#[derive(Clone)]
pub struct Handed {
    value: String,
    secret: Option<String>,
}

impl Handed {
    /// A text that stands in the configuration.
    pub fn literal(value: impl Into<String>) -> Self {
        Self { value: value.into(), secret: None }
    }

    /// The value of the secret of this name.
    pub fn secret(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self { value: value.into(), secret: Some(name.into()) }
    }

    pub(super) fn expose(&self) -> &str {
        &self.value
    }

    /// What is told of it to whoever compares: a secret may change and stays the same secret.
    fn told(&self) -> Value {
        match &self.secret {
            Some(name) => json!({ "secret": name }),
            None => json!(self.value),
        }
    }
}

impl fmt::Debug for Handed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handed").field("secret", &self.secret).finish_non_exhaustive()
    }
}

impl UpstreamServer {
    /// Which server it is, as the operator says it: part of each tool's digest.
    pub(super) fn identity(&self) -> Value {
        let told = |values: &[(String, Handed)]| -> Value {
            values.iter().map(|(name, it)| (name.clone(), it.told())).collect()
        };
        match &self.way {
            Ok(Way::Child(child)) => json!({
                "program": child.program.to_string_lossy(),
                "args": child.args,
                "dir": child.dir.to_string_lossy(),
                "env": told(&child.env),
            }),
            Ok(Way::Http(http)) => json!({ "url": http.url, "headers": told(&http.headers) }),
            Err(_) => Value::Null,
        }
    }

    /// Most bytes of one of its messages. JSON escapes and base64 make an answer longer than what
    /// is kept of it, rarely twice as long.
    pub(super) fn message_max(&self) -> usize {
        let of_tools = self.tools.values().flat_map(|tool| &tool.limits);
        let kept = of_tools.filter(|(kind, _)| *kind == LimitKind::OutputKept);
        let kept = kept.filter_map(|(_, bytes)| usize::try_from(*bytes).ok());
        let most = kept.fold(self.limits.size(LimitKind::OutputKept), usize::max);
        most.saturating_mul(2).saturating_add(MESSAGE_FRAME).max(MESSAGE_MIN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_in_no_debug_output_and_in_no_identity() {
        let server = UpstreamServer {
            name: "a".parse().unwrap(),
            server_id: 1,
            way: Ok(Way::Child(ChildSpec {
                program: "/bin/x".into(),
                args: vec!["y".into()],
                dir: "/".into(),
                env: vec![
                    ("T".into(), Handed::secret("token", "hunter22")),
                    ("P".into(), Handed::literal("/bin")),
                ],
            })),
            start_timeout: Duration::from_secs(1),
            concurrency: 1,
            limits: Limits::default(),
            tools: BTreeMap::new(),
        };
        let shown = format!("{server:?} {}", server.identity());
        assert!(!shown.contains("hunter22"), "{shown}");
        assert_eq!(server.identity()["env"], json!({"T": {"secret": "token"}, "P": "/bin"}));
    }
}
