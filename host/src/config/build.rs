//! Makes settings of checked values, and finds what doesn't go together.
//!
//! Holds no default of its own: every one stands in the schema.

mod grants;
mod people;
mod plugins;
mod rules;
mod serving;
mod shadowed;
mod upstream;

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use crate::contract::limits::LimitKind;

use super::error::Problems;
use super::locate::{Surroundings, state_folder};
use super::schema::{Default, Kind, ROOT, Section};
use super::settings::{
    ApprovalSettings, AuditSettings, Builtins, CliApprovals, Config, EngineValues, Finding,
    HttpApprovals, LimitValues, McpApprovals, SandboxValues,
};
use super::value::{Node, Table, Value};

/// Values of one section: the file's, else the schema's default.
#[derive(Clone, Copy)]
struct Reader<'a> {
    section: &'static Section,
    table: &'a Table,
}

/// What is read where a table isn't there.
static EMPTY: Table = Table { entries: Vec::new(), unknown: false };

impl<'a> Reader<'a> {
    fn node(&self, key: &str) -> Option<Cow<'a, Node>> {
        if let Some(node) = self.table.get(key) {
            return Some(Cow::Borrowed(node));
        }
        let key = self.section.key(key)?;
        let Default::Toml(text) = key.default else { return None };
        super::check::check_value(&key.kind, text).ok().map(Cow::Owned)
    }

    /// The line of a key, or 1 where nothing was written.
    fn line(&self, key: &str) -> u32 {
        self.table.get(key).map_or(1, |node| node.line)
    }

    fn flag(&self, key: &str) -> Option<bool> {
        match self.node(key)?.value {
            Value::Bool(yes) => Some(yes),
            _ => None,
        }
    }

    fn number(&self, key: &str) -> Option<u64> {
        match self.node(key)?.value {
            Value::Count(value) | Value::Millis(value) | Value::Bytes(value) => Some(value),
            _ => None,
        }
    }

    fn text(&self, key: &str) -> Option<String> {
        match &self.node(key)?.value {
            Value::Text(text) => Some(text.clone()),
            _ => None,
        }
    }

    /// A list of texts, or one text alone.
    fn texts(&self, key: &str) -> Option<Vec<String>> {
        texts(&self.node(key)?.value)
    }

    fn list(&self, key: &str) -> &'a [Node] {
        match self.table.get(key).map(|node| &node.value) {
            Some(Value::List(nodes)) => nodes,
            _ => &[],
        }
    }

    /// Names that the operator chose, with their values.
    fn entries(&self, key: &str) -> &'a [(String, Node)] {
        match self.table.get(key).map(|node| &node.value) {
            Some(Value::Table(table)) => &table.entries,
            _ => &[],
        }
    }

    /// The section under a key; all defaults where it isn't there.
    fn under(&self, key: &str) -> Reader<'a> {
        let section = match self.section.key(key).map(|key| &key.kind) {
            Some(Kind::Table(section)) => section,
            _ => self.section,
        };
        let table = match self.table.get(key).map(|node| &node.value) {
            Some(Value::Table(table)) => table,
            _ => &EMPTY,
        };
        Reader { section, table }
    }

    /// The sections of a table of names, or of a list of tables.
    fn each(&self, key: &str) -> Vec<(&'a str, u32, Reader<'a>)> {
        let inner = match self.section.key(key).map(|key| &key.kind) {
            Some(Kind::Map(map)) => &map.value,
            Some(Kind::List(inner)) => inner,
            _ => return Vec::new(),
        };
        let Kind::Table(section) = inner else { return Vec::new() };
        let unnamed = self.list(key).iter().map(|node| ("", node));
        let named = self.entries(key).iter().map(|(name, node)| (name.as_str(), node));
        let tables = named.chain(unnamed).filter_map(|(name, node)| match &node.value {
            Value::Table(table) => Some((name, node.line, Reader { section, table })),
            _ => None,
        });
        tables.collect()
    }

    fn limits(&self) -> LimitValues {
        let values = self.entries("limits").iter().filter_map(|(_, node)| match node.value {
            Value::Limit(kind, value) => Some((kind, value)),
            _ => None,
        });
        values.collect()
    }
}

fn texts(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::Text(text) => Some(vec![text.clone()]),
        Value::List(nodes) => {
            Some(nodes.iter().filter_map(|node| texts(&node.value)).flatten().collect())
        }
        _ => None,
    }
}

/// A number within a bound that the schema holds already.
fn small<N: TryFrom<u64>>(value: Option<u64>) -> Option<N> {
    value.and_then(|value| N::try_from(value).ok())
}

/// What building has to know beside the file.
pub(super) struct Known<'a> {
    /// The folder at which paths that aren't absolute begin.
    pub(super) folder: &'a Path,
    /// The environment.
    pub(super) surroundings: &'a Surroundings,
    /// Names of the builtins that ship.
    pub(super) builtins: &'a [&'a str],
}

struct Build<'a> {
    known: &'a Known<'a>,
    problems: &'a mut Problems,
    findings: Vec<Finding>,
}

/// Everything but the file's name and the effective values, which the caller adds.
pub(super) fn build(table: &Table, known: &Known<'_>, problems: &mut Problems) -> Config {
    let root = Reader { section: &ROOT, table };
    let mut build = Build { known, problems, findings: Vec::new() };
    let secrets = build.secrets(root);
    let named: Vec<_> = root.entries("secrets").iter().map(|(name, _)| name.clone()).collect();
    let grants = build.grants(root.under("grants"), &named);
    let plugins = build.plugins(root, &grants, &named);
    let mut policy = build.policy(root.under("policy"));
    policy.keys = plugins::gate_keys(root);
    let state = root.text("state").map(|text| build.path(&text));
    let state = state.or_else(|| state_folder(known.surroundings));
    let upstream = build.upstream(root, &plugins, &named);
    build.unused(&secrets, &grants, &plugins, &upstream);
    build.limits_of_time(root);
    let approvals = build.approvals(root.under("approvals"));
    let audit = build.audit(root.under("audit"), state.as_deref());
    build.unknown_sets(root, &plugins);
    build.open_to_all(root.under("serve"));
    Config {
        file: None,
        places: Vec::new(),
        builtins: build.builtins(root),
        limits: root.limits(),
        tokens: build.tokens(root),
        expose: Build::expose(root),
        serve: build.serve(root),
        callers: build.callers(root),
        approvals,
        engine: engine(root),
        sandbox: sandbox(root),
        audit,
        state,
        plugins,
        upstream,
        grants,
        secrets,
        policy,
        findings: build.findings,
        effective: Vec::new(),
    }
}

impl Build<'_> {
    fn path(&self, text: &str) -> PathBuf {
        self.known.folder.join(text)
    }

    fn find(&mut self, line: u32, text: impl Into<String>) {
        self.findings.push(Finding { line: Some(line), text: text.into() });
    }

    fn builtins(&mut self, root: Reader<'_>) -> Builtins {
        match root.flag("builtins") {
            Some(true) => Builtins::All,
            Some(false) => Builtins::Only(Vec::new()),
            None => {
                for node in root.list("builtins") {
                    if let Value::Text(name) = &node.value {
                        self.known_builtin("builtins", name, node.line);
                    }
                }
                let names = root.texts("builtins").unwrap_or_default();
                Builtins::Only(names.iter().filter_map(|name| name.parse().ok()).collect())
            }
        }
    }

    fn audit(&mut self, audit: Reader<'_>, state: Option<&Path>) -> AuditSettings {
        let enabled = audit.flag("enabled").unwrap_or(true);
        if !enabled {
            let line = audit.line("enabled");
            self.find(line, "`audit.enabled` is `false`: no call leaves a record");
        }
        let named = audit.text("path").map(|text| self.path(&text));
        AuditSettings {
            enabled,
            path: named.or_else(|| Some(state?.join("audit"))),
            keep_bytes: audit.number("keep_bytes").unwrap_or_default(),
            keep_days: audit.number("keep_days"),
        }
    }

    fn approvals(&mut self, approvals: Reader<'_>) -> ApprovalSettings {
        let of = |key: &str| approvals.number(key).unwrap_or_default();
        let (expires_ms, hand_back_ms) = (of("expires"), of("hand_back"));
        if hand_back_ms > expires_ms {
            let line = approvals.line("expires").max(approvals.line("hand_back"));
            let text =
                "`approvals.hand_back` is longer than `approvals.expires`: no call hands back";
            self.find(line, text);
        }
        ApprovalSettings {
            expires_ms,
            hand_back_ms,
            cli: match approvals.text("cli").as_deref() {
                Some("prompt") => CliApprovals::Prompt,
                Some("queue") => CliApprovals::Queue,
                _ => CliApprovals::Deny,
            },
            mcp: match approvals.text("mcp").as_deref() {
                Some("queue") => McpApprovals::Queue,
                Some("elicit") => McpApprovals::Elicit,
                Some("client") => McpApprovals::Client,
                _ => McpApprovals::Deny,
            },
            http: match approvals.text("http").as_deref() {
                Some("queue") => HttpApprovals::Queue,
                _ => HttpApprovals::Deny,
            },
            self_approval: approvals.flag("self_approval").unwrap_or(false),
        }
    }

    /// A call ends at the first of its two deadlines.
    fn limits_of_time(&mut self, root: Reader<'_>) {
        let limits = root.limits();
        let of = |kind: LimitKind| {
            let set = limits.iter().find(|(set, _)| *set == kind).map(|(_, value)| *value);
            set.unwrap_or(kind.facts().default)
        };
        let (attempt, call) = (of(LimitKind::AttemptDeadline), of(LimitKind::CallDeadline));
        if attempt > call {
            let text = format!(
                "`limits.attempt_deadline` is {}, and the whole call ends after {} all the same, \
                 by `limits.call_deadline`",
                LimitKind::AttemptDeadline.show(attempt),
                LimitKind::CallDeadline.show(call)
            );
            self.find(root.line("limits"), text);
        }
    }
}

fn engine(root: Reader<'_>) -> EngineValues {
    let engine = root.under("engine");
    let breaker = engine.under("failure_breaker");
    let (alone, beside) = plugins::parallel(root);
    let with = |key: &str, more: Vec<String>| {
        engine.texts(key).unwrap_or_default().into_iter().chain(more).collect()
    };
    EngineValues {
        concurrency: small(engine.number("concurrency")).unwrap_or(1),
        retries: small(engine.number("retries")),
        retry_delay_ms: engine.number("retry_delay").unwrap_or_default(),
        unsafe_tools: with("unsafe_tools", alone),
        parallel_tools: with("parallel_tools", beside),
        share_identical: engine.flag("share_identical").unwrap_or(false),
        breaker_after: small(breaker.number("after")).unwrap_or_default(),
        breaker_window_ms: breaker.number("window").unwrap_or(1),
    }
}

fn sandbox(root: Reader<'_>) -> SandboxValues {
    let sandbox = root.under("sandbox");
    SandboxValues {
        concurrency: small(sandbox.number("concurrency")).unwrap_or(1),
        plugin_concurrency: small(sandbox.number("plugin_concurrency")).unwrap_or(1),
        ready_instances: small(sandbox.number("ready_instances")).unwrap_or_default(),
    }
}
