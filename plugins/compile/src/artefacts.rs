//! What cargo's messages say was compiled. It reads no file and runs nothing.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::CompileError;

/// How much of a message that can't be read an error shows.
const SHOWN_CHARS: usize = 200;

/// One component that a package left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artefact {
    /// The package it belongs to.
    pub package: String,
    /// The library's or binary's name within it.
    pub target: String,
    /// The component.
    pub wasm: PathBuf,
}

/// One line of cargo's `--message-format json`: only what is needed of it
/// (<https://doc.rust-lang.org/cargo/reference/external-tools.html>).
#[derive(Deserialize)]
struct Message {
    reason: String,
    #[serde(default)]
    package_id: String,
    target: Option<Target>,
    #[serde(default)]
    filenames: Vec<PathBuf>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
}

/// The components of `packages`, in their order.
pub(crate) fn of_packages(
    messages: &str,
    packages: &[String],
) -> Result<Vec<Artefact>, CompileError> {
    let mut made = Vec::new();
    for line in messages.lines().filter(|line| !line.trim().is_empty()) {
        let message: Message = serde_json::from_str(line).map_err(|source| {
            let line = line.chars().take(SHOWN_CHARS).collect();
            CompileError::Message { line, source }
        })?;
        made.extend(components(message));
    }
    let mut wanted = Vec::new();
    for package in packages {
        let before = wanted.len();
        wanted.extend(made.iter().filter(|artefact| artefact.package == *package).cloned());
        if wanted.len() == before {
            return Err(CompileError::NoComponent { package: package.clone() });
        }
    }
    Ok(wanted)
}

fn components(message: Message) -> Vec<Artefact> {
    let Some(target) = message.target.filter(|_| message.reason == "compiler-artifact") else {
        return Vec::new();
    };
    let package = package_name(&message.package_id);
    let is_wasm = |file: &PathBuf| file.extension().is_some_and(|kind| kind == "wasm");
    let files = message.filenames.into_iter().filter(is_wasm);
    files
        .map(|wasm| Artefact { package: package.clone(), target: target.name.clone(), wasm })
        .collect()
}

/// The name in a package id: `path+file:///a/b#name@1.0.0`, or `path+file:///a/name#1.0.0` where
/// the folder has the package's name
/// (<https://doc.rust-lang.org/cargo/reference/pkgid-spec.html>).
fn package_name(id: &str) -> String {
    let (address, fragment) = id.split_once('#').unwrap_or((id, ""));
    let named = fragment.split_once('@').map(|(name, _)| name);
    let folder = Path::new(address).file_name().and_then(|name| name.to_str());
    named.or(folder).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MESSAGES: &str = r#"
{"reason":"compiler-artifact","package_id":"path+file:///w/plugins/files#belljar-plugin-files@0.1.0","target":{"name":"belljar_plugin_files"},"filenames":["/t/belljar_plugin_files.wasm","/t/libbelljar_plugin_files.rlib"]}
{"reason":"build-script-executed","package_id":"registry+https://x#serde@1.0.0"}
{"reason":"compiler-artifact","package_id":"path+file:///w/guests/echo#0.1.0","target":{"name":"echo"},"filenames":["/t/echo.wasm"]}
{"reason":"build-finished","success":true}
"#;

    #[test]
    fn components_come_in_the_order_asked_for() {
        let packages = ["echo".to_owned(), "belljar-plugin-files".to_owned()];
        let found = of_packages(MESSAGES, &packages).unwrap();
        let names: Vec<_> = found.iter().map(|a| (&*a.package, a.wasm.to_str().unwrap())).collect();
        assert_eq!(
            names,
            [("echo", "/t/echo.wasm"), ("belljar-plugin-files", "/t/belljar_plugin_files.wasm")]
        );
    }

    #[test]
    fn package_without_a_component_is_named() {
        let error = of_packages(MESSAGES, &["serde".to_owned()]).unwrap_err();
        assert!(error.to_string().starts_with("package `serde` left no `.wasm`"), "{error}");
    }

    #[test]
    fn line_that_is_no_message_is_refused() {
        let error = of_packages("warning: hello", &[]).unwrap_err();
        assert!(error.to_string().contains("`warning: hello`"), "{error}");
    }
}
