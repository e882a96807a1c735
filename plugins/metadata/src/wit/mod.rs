//! Collects a plugin's words from its WIT package: docs, tags and needs of what its world exports.
//!
//! Must not look at the component: toolchains drop docs on the way there, which is why the words
//! are taken from the source.

mod function;
mod types;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use thiserror::Error;
use wit_parser::{FunctionKind, Interface, PackageId, Resolve, World, WorldItem};

use crate::finding::{Finding, Findings};
use crate::model::{FunctionMetadata, PluginMetadata};
use crate::review::review;
use crate::tags::{self, Place};

/// What a builder knows beside the WIT package. What is left empty comes from there, if it can.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Identity {
    /// Which world, where the package has several: its name, or `namespace:package/name`.
    pub world: Option<String>,
    /// Instead of the WIT package's name.
    pub name: Option<String>,
    /// Instead of the WIT package's version.
    pub version: Option<String>,
    /// Instead of the docs of the world, or else of the package.
    pub description: Option<String>,
    /// One person or organisation an entry.
    pub authors: Vec<String>,
    /// An SPDX licence expression.
    pub license: Option<String>,
    /// An http or https URL.
    pub homepage: Option<String>,
    /// An http or https URL of the source code.
    pub source: Option<String>,
    /// The source's revision, such as a commit id.
    pub revision: Option<String>,
    /// What built the component.
    pub toolchain: Option<String>,
}

/// Why no words can be had from a WIT folder.
#[derive(Debug, Error)]
pub enum WitError {
    /// The folder isn't there, or is something else.
    #[error("`{}` is not a folder, expected one with a WIT package", path.display())]
    NotFolder {
        /// What was asked for.
        path: PathBuf,
    },
    /// The package doesn't parse or resolve.
    #[error("the WIT package in `{}` can't be read: {reason}", path.display())]
    Invalid {
        /// The folder.
        path: PathBuf,
        /// The parser's words, with file and line.
        reason: String,
    },
    /// No world, or several and none named.
    #[error("no world to read in `{}`: {reason}", path.display())]
    World {
        /// The folder.
        path: PathBuf,
        /// What was found instead of one world.
        reason: String,
    },
}

/// Reads the WIT package in `dir`, with its dependencies in `dir/deps`.
///
/// The findings say which tags were left out, and what breaks a limit of [`crate::limits`]; whoever
/// packs refuses to go on with any.
pub fn read_folder(
    dir: &Path,
    identity: &Identity,
) -> Result<(PluginMetadata, Vec<Finding>), WitError> {
    if !dir.is_dir() {
        return Err(WitError::NotFolder { path: dir.to_owned() });
    }
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_dir(dir).map_err(|error| WitError::Invalid {
        path: dir.to_owned(),
        reason: wit_parser::render_anyhow_error(&error, &resolve.source_map),
    })?;
    let world = resolve
        .select_world(&[package], identity.world.as_deref())
        .ok()
        .and_then(|world| resolve.worlds.get(world))
        .ok_or_else(|| WitError::World {
            path: dir.to_owned(),
            reason: which_world(&resolve, package, identity.world.as_deref()),
        })?;
    let mut findings = Findings::default();
    let mut plugin = describe_plugin(&resolve, package, world, identity, &mut findings);
    plugin.functions = describe_exports(&resolve, world, &mut findings);
    review(&mut plugin, &mut findings);
    Ok((plugin, findings.into_vec()))
}

fn which_world(resolve: &Resolve, package: PackageId, wanted: Option<&str>) -> String {
    let worlds: Vec<&str> = resolve
        .packages
        .get(package)
        .map(|package| package.worlds.keys().map(String::as_str).collect())
        .unwrap_or_default();
    let found = match worlds.as_slice() {
        [] => "the package has none".to_owned(),
        worlds => format!("the package has `{}`", worlds.join("`, `")),
    };
    match wanted {
        Some(wanted) => format!("`{wanted}` was named, {found}"),
        None => format!("expected exactly one or a name, {found}"),
    }
}

fn describe_plugin(
    resolve: &Resolve,
    package: PackageId,
    world: &World,
    identity: &Identity,
    findings: &mut Findings,
) -> PluginMetadata {
    let package = resolve.packages.get(package);
    let package_docs = package.and_then(|package| package.docs.contents.as_deref());
    let package_said =
        tags::parse_into(package_docs.unwrap_or_default(), Place::Other, "package", findings);
    let world_docs = world.docs.contents.as_deref().unwrap_or_default();
    let said = tags::parse_into(world_docs, Place::World, "world", findings);
    let description = [said.description, package_said.description];
    let name = package.map(|package| package.name.name.clone());
    let version =
        package.and_then(|package| package.name.version.as_ref()).map(ToString::to_string);
    PluginMetadata {
        name: identity.name.clone().or(name),
        version: identity.version.clone().or(version),
        description: identity
            .description
            .clone()
            .or_else(|| description.into_iter().find(|text| !text.is_empty())),
        authors: identity.authors.clone(),
        license: identity.license.clone(),
        homepage: identity.homepage.clone(),
        source: identity.source.clone(),
        revision: identity.revision.clone(),
        toolchain: identity.toolchain.clone(),
        needs: said.needs,
        functions: BTreeMap::new(),
    }
}

fn describe_exports(
    resolve: &Resolve,
    world: &World,
    findings: &mut Findings,
) -> BTreeMap<String, FunctionMetadata> {
    let mut functions = BTreeMap::new();
    for (key, item) in &world.exports {
        match item {
            WorldItem::Function(function) if function.kind == FunctionKind::Freestanding => {
                let described = function::describe(resolve, function, &function.name, findings);
                functions.insert(function.name.clone(), described);
            }
            WorldItem::Interface { id, .. } => {
                let Some(interface) = resolve.interfaces.get(*id) else {
                    continue;
                };
                let exported_as = resolve.name_world_key(key);
                describe_interface(resolve, interface, &exported_as, &mut functions, findings);
            }
            // Methods and asynchronous functions are no tools, and types are met where they are
            // used.
            WorldItem::Function(_) | WorldItem::Type { .. } => {}
        }
    }
    functions
}

fn describe_interface(
    resolve: &Resolve,
    interface: &Interface,
    exported_as: &str,
    functions: &mut BTreeMap<String, FunctionMetadata>,
    findings: &mut Findings,
) {
    // The interface's own text is for readers of the WIT; a tag in it would be lost unnoticed.
    let docs = interface.docs.contents.as_deref().unwrap_or_default();
    tags::parse_into(docs, Place::Other, exported_as, findings);
    for function in interface.functions.values() {
        if function.kind == FunctionKind::Freestanding {
            let path = format!("{exported_as}/{}", function.name);
            let described = function::describe(resolve, function, &path, findings);
            functions.insert(path, described);
        }
    }
}

#[cfg(test)]
mod tests;
