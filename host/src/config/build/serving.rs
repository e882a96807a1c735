//! Tokens, sets of tools, and what `belljar serve` does.
//!
//! Reads no token and opens no socket.

use std::net::{Ipv4Addr, SocketAddr};

use super::super::secrets::SecretOrigin;
use super::super::settings::{
    CLI_CALLER, ExposedSet, MCP_CALLER, PluginSettings, Role, ServeSettings, TokenOrigin,
    TokenSettings,
};
use super::{Build, Reader};

/// What the ids of the host's own tools begin with.
const OWN_TOOLS: [&str; 2] = ["belljar", "results"];

impl Build<'_> {
    pub(super) fn tokens(&mut self, root: Reader<'_>) -> Vec<TokenSettings> {
        let mut tokens = Vec::new();
        for (name, line, token) in root.each("tokens") {
            let Some(origin) = self.token_origin(name, line, token) else { continue };
            let caller = token.text("caller");
            if let Some(caller) = &caller {
                let line = token.line("caller");
                self.known_caller(root, &format!("tokens.{name}.caller"), caller, line);
            }
            let roles = roles(token);
            if caller.is_none() && roles.contains(&Role::Caller) {
                let text = format!(
                    "`tokens.{name}` has the role `caller` and no `caller`: whose calls it makes \
                     must be said"
                );
                self.problems.push(line, text);
            }
            let expose = token.texts("expose");
            tokens.push(TokenSettings {
                name: name.to_owned(),
                origin,
                caller,
                roles,
                expose,
                line,
            });
        }
        tokens
    }

    fn token_origin(&mut self, name: &str, line: u32, token: Reader<'_>) -> Option<TokenOrigin> {
        match (token.text("sha256"), token.text("from")) {
            (Some(hex), None) => hex.parse().ok().map(TokenOrigin::Sha256),
            (None, Some(from)) => Some(TokenOrigin::From(match from.split_once(':')? {
                ("env", name) => SecretOrigin::Env(name.to_owned()),
                (_, path) => SecretOrigin::File(self.path(path)),
            })),
            _ => {
                let text = format!("`tokens.{name}` must have either `sha256` or `from`");
                self.problems.push(line, text);
                None
            }
        }
    }

    fn known_caller(&mut self, root: Reader<'_>, key: &str, caller: &str, line: u32) {
        let named = root.entries("callers").iter().any(|(name, _)| name == caller);
        if !named && ![CLI_CALLER, MCP_CALLER].contains(&caller) {
            let text = format!("`{key}` is none of `callers`: `{caller}`");
            self.problems.push(line, text);
        }
    }

    /// Sets that are none, as far as can be known: a plugin that a run adds is one too.
    pub(super) fn unknown_sets(&mut self, root: Reader<'_>, plugins: &[PluginSettings]) {
        let builtins = self.known.builtins;
        let is_known = |name: &str| {
            root.entries("expose").iter().any(|(set, _)| set == name)
                || plugins.iter().any(|plugin| plugin.name.as_str() == name)
                || builtins.contains(&name)
                || OWN_TOOLS.contains(&name)
        };
        let of_tokens = root.each("tokens").into_iter();
        let of_tokens = of_tokens.map(|(name, _, it)| (format!("tokens.{name}.expose"), it));
        let all = of_tokens.chain([("serve.expose".to_owned(), root.under("serve"))]);
        for (key, reader) in all {
            if reader.table.get("expose").is_none() {
                continue;
            }
            let names = reader.texts("expose").unwrap_or_default();
            for name in names.iter().filter(|name| !is_known(name)) {
                let text = format!(
                    "`{key}` names `{name}`, which is neither a set under `expose` nor a plugin \
                     of this file"
                );
                self.find(reader.line("expose"), text);
            }
        }
    }

    pub(super) fn open_to_all(&mut self, serve: Reader<'_>) {
        let address = serve.text("http").and_then(|text| text.parse::<SocketAddr>().ok());
        let is_open = address.is_some_and(|address| !address.ip().is_loopback());
        if is_open && serve.text("anonymous").is_some() {
            let text = "`serve.anonymous` holds for this machine alone: requests from others need \
                        a token, though `serve.http` lets them in";
            self.find(serve.line("anonymous"), text);
        }
    }

    pub(super) fn expose(root: Reader<'_>) -> Vec<ExposedSet> {
        let each = root.each("expose").into_iter().map(|(name, _, set)| ExposedSet {
            name: name.to_owned(),
            tools: set.texts("tools").unwrap_or_default(),
        });
        each.collect()
    }

    pub(super) fn serve(&mut self, root: Reader<'_>) -> ServeSettings {
        let serve = root.under("serve");
        let anonymous = serve.text("anonymous");
        if let Some(caller) = &anonymous {
            self.known_caller(root, "serve.anonymous", caller, serve.line("anonymous"));
        }
        let http = serve.text("http").and_then(|text| text.parse().ok());
        ServeSettings {
            // The schema's default is an address, so that this one is never taken.
            http: http.unwrap_or(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))),
            hosts: serve.texts("hosts").unwrap_or_default(),
            origins: serve.texts("origins").unwrap_or_default(),
            expose: serve.table.get("expose").and_then(|_| serve.texts("expose")),
            anonymous,
            drain_ms: serve.number("drain").unwrap_or_default(),
        }
    }
}

fn roles(token: Reader<'_>) -> Vec<Role> {
    let named = token.texts("roles").unwrap_or_default();
    let role = |name: &String| match name.as_str() {
        "caller" => Role::Caller,
        "approver" => Role::Approver,
        _ => Role::Operator,
    };
    named.iter().map(role).collect()
}
