//! A request as lines for a person: one line a field, nothing acting or hidden in any.
//!
//! Prints nothing. What belljar knows and what others say stand apart: everything of others comes
//! after its label, escaped.

use crate::contract::approval::{ApprovalEntry, ApprovalRequest, ApprovalState};
use crate::contract::descriptor::Isolation;
use crate::contract::effects::{Basis, Effect};
use crate::contract::escape::{cut, escaped_line};
use crate::contract::grants::DirMode;
use crate::contract::invocation::PermissionLevel;

/// Bytes of arguments that are shown; of longer ones the card says how to see all.
const SHOWN_MAX_LEN: usize = 64 << 10;
/// Where the labels end.
const LABEL_WIDTH: usize = 12;

/// The card of a request that waits, at `now_unix_ms`.
pub fn card(request: &ApprovalRequest, now_unix_ms: u64) -> Vec<String> {
    let mut card = Card(Vec::new());
    card.line("approval", request.id.as_str());
    card.tool(request);
    card.line("reason", &request.reason);
    for change in &request.changed {
        card.line("changed", change);
    }
    card.caller(request);
    card.effects(request);
    card.reach(request);
    let limits = request.limits.iter().map(|(name, value)| format!("{name} {value}"));
    card.line("limits", &limits.collect::<Vec<_>>().join(", "));
    card.arguments(request);
    card.line("not bound", "what is in files: they may change between your answer and the run");
    card.line("time left", &time_left(request, now_unix_ms));
    card.0
}

/// The card of a request with what became of it.
pub fn entry_card(entry: &ApprovalEntry, now_unix_ms: u64) -> Vec<String> {
    let mut card = Card(card(&entry.request, now_unix_ms));
    if entry.state != ApprovalState::Pending {
        card.0.pop();
    }
    card.line(
        "state",
        match entry.state {
            ApprovalState::Pending => "waits for an answer",
            ApprovalState::Decided => "answered; no call has taken the answer yet",
            ApprovalState::Used => "answered, and a call took the answer",
            ApprovalState::Expired => "ended: nobody answered, or no call took the answer, in time",
            ApprovalState::Withdrawn => "ended: its call or its session is gone",
        },
    );
    if let Some(decided) = &entry.decided {
        card.line("answer", decided.decision.name());
        card.line("answered by", &decided.approver.name);
    }
    card.0
}

struct Card(Vec<String>);

impl Card {
    /// A field. Whatever `text` holds, it stays on its line and behind its label.
    fn line(&mut self, label: &str, text: &str) {
        self.0.push(format!("{label:<LABEL_WIDTH$}{}", escaped_line(text)));
    }

    fn tool(&mut self, request: &ApprovalRequest) {
        self.line("tool", &request.tool.to_string());
        if let Some(title) = &request.title {
            self.line("title", &format!("{title} (the plugin's own words)"));
        }
        let plugin = &request.plugin;
        self.line(
            "plugin",
            &match &plugin.version {
                Some(version) => format!("{} {version} (the version is a claim)", plugin.name),
                None => plugin.name.to_string(),
            },
        );
        self.line("build", &format!("SHA-256 {}", plugin.digest));
        self.line(
            "isolation",
            match request.isolation {
                Isolation::Sandbox => "a fresh sandbox for this call",
                Isolation::Process => "a process of its own, without a sandbox",
                Isolation::None => "none: it runs with the rights of whoever started it",
            },
        );
    }

    fn caller(&mut self, request: &ApprovalRequest) {
        let caller = &request.caller;
        self.line("caller", caller.caller.as_deref().unwrap_or("unknown"));
        for (label, known) in [
            ("session", &caller.session_id),
            ("user", &caller.user_id),
            ("runs as", &caller.execution_user_id),
            ("workspace", &caller.workspace),
        ] {
            if let Some(known) = known {
                self.line(label, known);
            }
        }
        self.line(
            "level",
            match caller.permission_level {
                PermissionLevel::ReadOnly => "READ_ONLY",
                PermissionLevel::ReadWrite => "READ_WRITE",
                PermissionLevel::Smart => "SMART",
                PermissionLevel::Full => "FULL",
            },
        );
    }

    fn effects(&mut self, request: &ApprovalRequest) {
        let effects = &request.effects;
        for (name, effect) in [
            ("read-only", effects.read_only),
            ("cannot write files", effects.cannot_write_files),
            ("closed world", effects.closed_world),
            ("deterministic", effects.deterministic),
            ("destructive", effects.destructive),
            ("idempotent", effects.idempotent),
        ] {
            self.line("effect", &shown_effect(name, effect));
        }
    }

    fn reach(&mut self, request: &ApprovalRequest) {
        for dir in &request.grants.dirs {
            let mode = match dir.mode {
                DirMode::ReadOnly => "read",
                DirMode::ReadWrite => "read and write",
            };
            let (guest, host) = (&dir.guest, dir.host.display());
            self.line("may use", &format!("{mode} the folder {host}, as {guest}"));
        }
        for (name, _) in &request.grants.env {
            self.line("may use", &format!("see the variable {name}"));
        }
        if request.grants.dirs.is_empty() && request.grants.env.is_empty() {
            self.line("may use", "nothing of this machine");
        }
        self.line(
            "blocked",
            match request.isolation {
                Isolation::Sandbox if request.effects.closed_world.is_proven() => {
                    "every other file and variable, other programs, the network"
                }
                Isolation::Sandbox => "every other file and variable, other programs",
                Isolation::Process | Isolation::None => "nothing that belljar knows of",
            },
        );
    }

    /// The whole arguments, line by line behind a bar, so that no line of them reads as a field.
    fn arguments(&mut self, request: &ApprovalRequest) {
        let arguments = &request.arguments;
        let (length, hash) = (arguments.canonical().len(), arguments.hash());
        self.line("arguments", &format!("{length} bytes, SHA-256 {hash}"));
        // A JSON object has no value that fails to be written.
        let pretty = serde_json::to_string_pretty(arguments.value())
            .unwrap_or_else(|_unwritable| arguments.canonical().to_owned());
        let shown = cut(&pretty, SHOWN_MAX_LEN);
        self.0.extend(shown.lines().map(|line| format!("  | {}", escaped_line(line))));
        if shown.len() < pretty.len() {
            let (id, hidden) = (&request.id, pretty.len() - shown.len());
            let text = format!(
                "{hidden} bytes more than are shown here; all: belljar approvals show {id} --json"
            );
            self.line("NOT SHOWN", &text);
        }
    }
}

fn shown_effect(name: &str, effect: Effect) -> String {
    let value = if effect.value { "yes" } else { "no" };
    let basis = match effect.basis {
        Basis::Proven => "proven",
        Basis::Claimed => "the plugin says so",
        Basis::Assumed => "assumed, nothing is known",
    };
    format!("{name}: {value} ({basis})")
}

fn time_left(request: &ApprovalRequest, now_unix_ms: u64) -> String {
    let seconds = request.expires_unix_ms.saturating_sub(now_unix_ms) / 1000;
    match (seconds / 60, seconds % 60) {
        (0, 0) if request.expires_unix_ms <= now_unix_ms => "none: it has expired".into(),
        (0, seconds) => format!("{seconds} s"),
        (minutes, seconds) => format!("{minutes} min {seconds} s"),
    }
}
