//! What a tool can do, from its component's imports, the effective grants and its enforced tags.
//!
//! A claim the host can enforce is enforced and so becomes proven: that is done where grants are
//! narrowed ([`effective_grants`]), and only then read off here.

use belljar_metadata::Tags;

use crate::contract::effects::{Effect, Effects};
use crate::contract::grants::Grants;

/// The grants one tool of a plugin gets: a `@read-only` tool has every folder read-only, whatever
/// the plugin was given.
pub(super) fn effective_grants(plugin: &Grants, tags: &Tags) -> Grants {
    if tags.read_only { plugin.read_only() } else { plugin.clone() }
}

/// Reads the effects off imports and effective grants.
pub(super) fn effects(imports: &[String], grants: &Grants, tags: &Tags) -> Effects {
    let imports_any = |prefixes: &[&str]| {
        imports.iter().any(|import| prefixes.iter().any(|prefix| import.starts_with(prefix)))
    };
    let has_files = imports_any(&["wasi:filesystem/"]) && !grants.dirs().is_empty();
    let cannot_write = !(has_files && grants.can_write_files());
    // No grant of this version reaches beyond this machine: http and sockets deny everybody.
    let closed_world = Effect::proven(true);
    let read_only = cannot_write;
    let has_env = imports_any(&["wasi:cli/environment"]) && !grants.env().is_empty();
    let has_entropy = imports_any(&["wasi:clocks/", "wasi:random/", "belljar:tool/invocation"]);
    let deterministic = !(has_files || has_env || has_entropy);
    Effects {
        read_only: proven_or_cautious(read_only),
        cannot_write_files: proven_or_cautious(cannot_write),
        closed_world,
        deterministic: proven_or_cautious(deterministic),
        destructive: destructive(read_only, tags),
        idempotent: idempotent(read_only, tags),
    }
}

fn proven_or_cautious(holds: bool) -> Effect {
    if holds { Effect::proven(true) } else { Effect::assumed(false) }
}

fn destructive(read_only: bool, tags: &Tags) -> Effect {
    match (read_only, tags.destructive) {
        (true, _) => Effect::proven(false),
        (false, true) => Effect::claimed(true),
        (false, false) => Effect::assumed(true),
    }
}

fn idempotent(read_only: bool, tags: &Tags) -> Effect {
    match (read_only, tags.idempotent) {
        (true, _) => Effect::proven(true),
        (false, true) => Effect::claimed(true),
        (false, false) => Effect::assumed(false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::effects::Basis;
    use crate::contract::grants::{DirGrant, DirMode, EnvGrant};

    fn imports(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| format!("{name}@0.2.0")).collect()
    }

    fn grants(mode: DirMode) -> Grants {
        let mut grants = Grants::default();
        grants.add_dir(DirGrant { host: "/x".into(), guest: "/x".into(), mode }).unwrap();
        grants
    }

    const FILES: &str = "wasi:filesystem/types";

    #[test]
    fn nothing_granted_proves_everything() {
        let effects = effects(&imports(&[FILES]), &Grants::default(), &Tags::default());
        assert!(effects.read_only.is_proven());
        assert!(effects.deterministic.is_proven());
        assert_eq!(effects.destructive, Effect::proven(false));
    }

    #[test]
    fn a_writable_folder_is_not_read_only_whatever_is_claimed() {
        let tags = Tags { idempotent: true, ..Tags::default() };
        let effects = effects(&imports(&[FILES]), &grants(DirMode::ReadWrite), &tags);
        assert!(!effects.read_only.value);
        assert_eq!(effects.read_only.basis, Basis::Assumed);
        assert_eq!(effects.destructive, Effect::assumed(true));
        assert_eq!(effects.idempotent, Effect::claimed(true));
    }

    #[test]
    fn a_read_only_tag_narrows_the_grant_and_is_then_proven() {
        let tags = Tags { read_only: true, ..Tags::default() };
        let narrowed = effective_grants(&grants(DirMode::ReadWrite), &tags);
        assert!(!narrowed.can_write_files());
        assert!(effects(&imports(&[FILES]), &narrowed, &tags).read_only.is_proven());
    }

    #[test]
    fn what_differs_between_calls_is_not_deterministic() {
        let mut env = Grants::default();
        env.add_env(EnvGrant { name: "A".into(), value: "1".into() }).unwrap();
        let cases = [
            ("wasi:clocks/wall-clock", Grants::default()),
            ("wasi:random/random", Grants::default()),
            ("belljar:tool/invocation", Grants::default()),
            ("wasi:cli/environment", env),
            (FILES, grants(DirMode::ReadOnly)),
        ];
        for (import, grants) in cases {
            let effects = effects(&imports(&[import]), &grants, &Tags::default());
            assert_eq!(effects.deterministic, Effect::assumed(false), "{import}");
        }
    }
}
