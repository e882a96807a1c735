//! What each import of a component would need granted.
//!
//! Speaks of what this version can grant; whether it is granted is the descriptor's to say.

use serde::Serialize;

/// One import, and what using it takes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Import<'a> {
    /// The interface, as the component names it.
    pub(super) name: &'a str,
    /// What using it takes.
    #[serde(flatten)]
    pub(super) access: Access,
}

/// Who may use an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "access", rename_all = "lowercase")]
pub(super) enum Access {
    /// Every plugin, within its limits.
    All {
        /// In which form.
        how: &'static str,
    },
    /// Who was granted it.
    Grant {
        /// The option that grants it.
        grant: &'static str,
    },
    /// Nobody.
    Denied {
        /// Why not.
        why: &'static str,
    },
}

const NO_HTTP: Access = Access::Denied { why: "no version of http can be granted yet" };
const NO_SOCKETS: Access = Access::Denied { why: "sockets can't be granted" };

impl<'a> Import<'a> {
    /// Looks an import up. The sandbox refuses components with imports that nobody knows.
    pub(super) fn of(name: &'a str) -> Self {
        let (package, interface) = name.split_once('/').unwrap_or((name, ""));
        let interface = interface.split('@').next().unwrap_or_default();
        let access = match (package, interface) {
            ("wasi:filesystem", _) => Access::Grant { grant: "--dir HOST[:GUEST][:ro|rw]" },
            ("wasi:cli", "environment") => Access::Grant { grant: "--env NAME=VALUE" },
            ("wasi:http", _) => NO_HTTP,
            ("wasi:sockets", _) => NO_SOCKETS,
            ("wasi:cli", "stdin") => Access::All { how: "always at its end" },
            ("wasi:cli", "stdout" | "stderr") => Access::All { how: "bounded, shown on stderr" },
            ("wasi:clocks", _) => Access::All { how: "coarse" },
            ("wasi:random", _) => Access::All { how: "bounded" },
            _ => Access::All { how: "harmless" },
        };
        Self { name, access }
    }

    /// In words.
    pub(super) fn words(&self) -> String {
        match self.access {
            Access::All { how } => format!("given to all ({how})"),
            Access::Grant { grant } => format!("needs `{grant}`"),
            Access::Denied { why } => format!("denied ({why})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_say_what_they_take() {
        let cases = [
            ("wasi:filesystem/types@0.2.3", "needs `--dir HOST[:GUEST][:ro|rw]`"),
            ("wasi:cli/environment@0.2.0", "needs `--env NAME=VALUE`"),
            ("wasi:http/outgoing-handler@0.2.0", "denied (no version of http can be granted yet)"),
            ("wasi:sockets/tcp@0.2.0", "denied (sockets can't be granted)"),
            ("wasi:cli/stdout@0.2.0", "given to all (bounded, shown on stderr)"),
            ("wasi:clocks/wall-clock@0.2.0", "given to all (coarse)"),
            ("belljar:tool/log@0.1.0", "given to all (harmless)"),
        ];
        for (name, words) in cases {
            assert_eq!(Import::of(name).words(), words, "{name}");
        }
    }

    #[test]
    fn json_has_one_flat_object_an_import() {
        let json = serde_json::to_value(Import::of("wasi:filesystem/types@0.2.3")).unwrap();
        assert_eq!(
            json,
            serde_json::json!({
                "name": "wasi:filesystem/types@0.2.3",
                "access": "grant",
                "grant": "--dir HOST[:GUEST][:ro|rw]",
            })
        );
    }
}
