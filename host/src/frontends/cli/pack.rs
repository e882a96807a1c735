//! `belljar pack`: what a plugin's WIT says of it goes into its component.
//!
//! Never runs or compiles the component, and writes nothing where anything is wrong.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use belljar_metadata::component::export_names;
use belljar_metadata::wit::{Identity, WitError, read_folder};
use belljar_metadata::{Finding, PackError, PluginMetadata};

use super::args::{IdentityArgs, PackArgs};
use super::error::{CliError, shown};
use super::exit::Exit;
use super::replace::replace;
use super::show::{indented, print, tell};
use crate::contract::escape::escaped_line;
use crate::contract::ids::Digest;
use crate::registry::COMPONENT_MAX_LEN;

/// Packs one component.
pub(super) fn run(args: PackArgs) -> Result<Exit, CliError> {
    let PackArgs { file, wit, world, out, in_place: _, identity } = args;
    let component = read_component(&file)?;
    let (metadata, findings) =
        read_folder(&wit, &identity_of(identity, world)).map_err(|error| refuse_wit(&error))?;
    let findings = [findings, strangers(&metadata, &component)].concat();
    if !findings.is_empty() {
        return Err(refuse(&file, &findings));
    }
    let packed = belljar_metadata::pack(&component, &metadata).map_err(|error| match error {
        PackError::Refused { findings } => refuse(&file, &findings),
        other => CliError::Refused(format!("{} can't be packed: {other}", shown(&file))),
    })?;
    let out = out.unwrap_or(file);
    replace(&out, &packed)?;
    print(&report(&out, &metadata, &packed))?;
    Ok(Exit::Success)
}

/// What the WIT describes and the component doesn't export: it is another plugin's WIT.
fn strangers(metadata: &PluginMetadata, component: &[u8]) -> Vec<Finding> {
    // Bytes that are no component are told by the packing.
    let Ok(exports) = export_names(component) else { return Vec::new() };
    let exports_it = |path: &str| {
        let (interface, _function) = path.rsplit_once('/').unwrap_or((path, ""));
        exports.iter().any(|name| name == path || name == interface)
    };
    let told = |path: &str, message: &str| Finding { path: path.into(), message: message.into() };
    if metadata.functions.is_empty() {
        return vec![told("", "the WIT exports no function: is it this component's?")];
    }
    let strange = metadata.functions.keys().filter(|path| !exports_it(path));
    strange.map(|path| told(path, "the component doesn't export it: is the WIT its own?")).collect()
}

fn read_component(path: &Path) -> Result<Vec<u8>, CliError> {
    let io = |error| CliError::io("read", path, &error);
    // Opening a pipe would wait for whoever writes it.
    if !std::fs::metadata(path).map_err(io)?.is_file() {
        return Err(CliError::Usage(format!("{} is no regular file", shown(path))));
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(io)?;
    file.take(COMPONENT_MAX_LEN as u64 + 1).read_to_end(&mut bytes).map_err(io)?;
    if bytes.len() > COMPONENT_MAX_LEN {
        return Err(CliError::Refused(format!(
            "{} has more than {COMPONENT_MAX_LEN} bytes, and no such component is loaded",
            shown(path)
        )));
    }
    Ok(bytes)
}

fn identity_of(args: IdentityArgs, world: Option<String>) -> Identity {
    Identity {
        world,
        name: args.name,
        version: args.plugin_version,
        description: args.description,
        authors: args.author,
        license: args.license,
        homepage: args.homepage,
        source: args.source,
        revision: args.revision,
        toolchain: args.toolchain,
    }
}

fn refuse_wit(error: &WitError) -> CliError {
    let message = indented(error.to_string().trim_end(), "  ");
    match error {
        WitError::NotFolder { .. } | WitError::World { .. } => CliError::Usage(message),
        WitError::Invalid { .. } => CliError::Refused(message),
    }
}

/// Tells each finding and makes the one sentence that ends the command.
fn refuse(file: &Path, findings: &[Finding]) -> CliError {
    for finding in findings {
        tell(&format!("error: {}", escaped_line(&finding.to_string())));
    }
    let (count, them) = match findings.len() {
        1 => ("one fault".to_owned(), "it"),
        many => (format!("{many} faults"), "them"),
    };
    CliError::Refused(format!(
        "{} isn't packed: what its plugin says of itself has {count}; mend {them} and pack again",
        shown(file)
    ))
}

fn report(out: &Path, metadata: &PluginMetadata, packed: &[u8]) -> String {
    let name = metadata.name.as_deref().unwrap_or("a plugin without a name");
    let version = metadata.version.as_deref().unwrap_or("without a version");
    format!(
        "packed {name} {version} into {}: {} functions described, {} bytes, sha256 {}\n",
        shown(out),
        metadata.functions.len(),
        packed.len(),
        Digest::of(packed)
    )
}
