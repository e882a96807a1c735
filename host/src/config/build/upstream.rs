//! MCP servers whose tools are offered.
//!
//! Starts none and reads no secret.

use super::super::error::shown;
use super::super::schema::Kind;
use super::super::settings::{PluginSettings, UpstreamSettings, UpstreamValue, UpstreamWay};
use super::super::value::{Node, Value};
use super::{Build, Reader, plugins, small};
use crate::contract::ids::PluginName;

impl Build<'_> {
    pub(super) fn upstream(
        &mut self,
        root: Reader<'_>,
        others: &[PluginSettings],
        secrets: &[String],
    ) -> Vec<UpstreamSettings> {
        let mut servers = Vec::new();
        for (place, (name, line, server)) in root.each("upstream").into_iter().enumerate() {
            let Ok(parsed) = name.parse::<PluginName>() else { continue };
            let loads = self.known.builtins.contains(&name) && plugins::loads(root, name);
            if loads || others.iter().any(|plugin| plugin.name == parsed) {
                let text = format!("`upstream.{name}`: a plugin has that name; give it another");
                self.problems.push(line, text);
            }
            let Some(way) = self.way(name, line, server, secrets) else { continue };
            servers.push(UpstreamSettings {
                name: parsed,
                server_id: place as u64 + 1,
                way,
                start_timeout_ms: server.number("start_timeout").unwrap_or_default(),
                concurrency: small(server.number("concurrency")).unwrap_or(1),
                limits: server.limits(),
                tools: plugins::tools(server),
            });
        }
        servers
    }

    fn way(
        &mut self,
        name: &str,
        line: u32,
        server: Reader<'_>,
        secrets: &[String],
    ) -> Option<UpstreamWay> {
        let wrong = |key| server.table.get(key).is_some();
        match (server.text("command"), server.text("url")) {
            (Some(command), None) if !wrong("headers") => Some(UpstreamWay::Child {
                // A bare name is looked for later; anything else is a path.
                command: if command.contains('/') { self.path(&command) } else { command.into() },
                args: server.texts("args").unwrap_or_default(),
                dir: self.path(&server.text("dir").unwrap_or_default()),
                env: self.values(&format!("upstream.{name}.env"), server, "env", secrets),
            }),
            (None, Some(url)) if !["args", "dir", "env"].into_iter().any(wrong) => {
                let key = format!("upstream.{name}.headers");
                let headers = self.values(&key, server, "headers", secrets);
                if url.starts_with("http://") && !headers.is_empty() && !is_loopback(&url) {
                    let line = server.line("url");
                    self.find(line, format!("`{key}` goes over `http://`, unencrypted"));
                }
                Some(UpstreamWay::Http { url, headers })
            }
            // A key of the wrong kind was told already, and may have been either.
            (None, None) if server.table.unknown || wrong("command") || wrong("url") => None,
            _ => {
                let text = format!(
                    "`upstream.{name}` must have either `command`, with `args`, `dir` and `env`, \
                     or `url`, with `headers`"
                );
                self.problems.push(line, text);
                None
            }
        }
    }

    fn values(
        &mut self,
        path: &str,
        server: Reader<'_>,
        key: &str,
        secrets: &[String],
    ) -> Vec<(String, UpstreamValue)> {
        let mut values = Vec::new();
        for (name, node) in server.entries(key) {
            let value = match &node.value {
                Value::Text(text) => UpstreamValue::Literal(text.clone()),
                _ => match secret(server, key, node) {
                    Some((secret, prefix)) => {
                        if !secrets.contains(&secret) {
                            let (name, secret) = (shown(name), shown(&secret));
                            let text = format!("`{path}.{name}` is none of `secrets`: `{secret}`");
                            self.problems.push(node.line, text);
                        }
                        UpstreamValue::Secret { name: secret, prefix }
                    }
                    None => continue,
                },
            };
            values.push((name.clone(), value));
        }
        values
    }
}

/// The secret's name and what stands before it.
fn secret(server: Reader<'_>, key: &str, node: &Node) -> Option<(String, String)> {
    let Kind::Map(map) = &server.section.key(key)?.kind else { return None };
    let Value::Table(table) = &node.value else { return None };
    let (_, section) = super::super::schema::sections_in(&map.value).into_iter().next()?;
    let value = Reader { section, table };
    Some((value.text("secret")?, value.text("prefix").unwrap_or_default()))
}

/// Whether an address stays on this machine.
fn is_loopback(url: &str) -> bool {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => authority,
    };
    let address = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

/// Names of the secrets that are handed to servers.
pub(super) fn secrets_of(servers: &[UpstreamSettings]) -> Vec<&str> {
    let values = servers.iter().flat_map(|server| match &server.way {
        UpstreamWay::Child { env, .. } => env,
        UpstreamWay::Http { headers, .. } => headers,
    });
    let named = values.filter_map(|(_, value)| match value {
        UpstreamValue::Secret { name, .. } => Some(name.as_str()),
        UpstreamValue::Literal(_) => None,
    });
    named.collect()
}
