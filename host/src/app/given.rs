//! What each plugin is given: its grants and limits, from the configuration and from this run.
//!
//! Everything that can be wrong with them is found before any plugin is loaded.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::grants::{OwnFolders, canonical_below, resolve, resolve_behind};
use super::{DirRequest, Setup, StartError};
use crate::config::{GrantTemplate, TemplateError};
use crate::contract::approval::CallerContext;
use crate::contract::grants::{DirGrant, EnvGrant, GrantSource, Granted, Grants};
use crate::contract::ids::PluginName;
use crate::contract::limits::{LimitKind, LimitOrigin, Limits};
use crate::registry::{PluginGiven, ToolSettings};

/// What every plugin of a host is given.
#[derive(Debug)]
pub(super) struct Given {
    common: PluginGiven,
    by_plugin: BTreeMap<PluginName, PluginGiven>,
}

impl Given {
    /// Works it out for the plugins that the configuration names, and for all others.
    pub(super) fn new(setup: &Setup, own: &Arc<OwnFolders>) -> Result<Self, StartError> {
        let config = &setup.config;
        let by_plugin = config.plugins.iter().map(|plugin| {
            let name = &plugin.name;
            let tools = plugin.tools.iter().map(|tool| {
                let kept = |(kind, _): &&(LimitKind, u64)| !is_of_this_run(&setup.limits, *kind);
                let limits = tool.limits.iter().filter(kept).copied().collect();
                let settings = ToolSettings { limits, wire_name: tool.wire_name.clone() };
                (tool.name.to_string(), settings)
            });
            let given = PluginGiven {
                grants: granted(&config.grants_of(name), setup, own)?,
                limits: limits(&config.limits_of(name), &setup.limits)?,
                tools: tools.collect(),
            };
            Ok((name.clone(), given))
        });
        Ok(Self {
            by_plugin: by_plugin.collect::<Result<_, StartError>>()?,
            common: PluginGiven {
                grants: granted(&config.grants, setup, own)?,
                limits: limits(&config.limits, &setup.limits)?,
                tools: BTreeMap::new(),
            },
        })
    }

    /// The limits of a tool that the configuration says nothing of.
    pub(super) fn limits_of_any(&self) -> &Limits {
        &self.common.limits
    }

    /// What the plugin of this name is given.
    pub(super) fn of(&self, plugin: &PluginName) -> &PluginGiven {
        self.by_plugin.get(plugin).unwrap_or(&self.common)
    }
}

fn is_of_this_run(limits: &Limits, kind: LimitKind) -> bool {
    limits.get(kind).origin == LimitOrigin::Operator
}

/// The configuration's limits, under those of this run.
fn limits(configured: &[(LimitKind, u64)], this_run: &Limits) -> Result<Limits, StartError> {
    let mut limits = this_run.clone();
    for (kind, value) in configured.iter().filter(|(kind, _)| !is_of_this_run(this_run, *kind)) {
        limits.set(*kind, *value).map_err(StartError::Limit)?;
    }
    Ok(limits)
}

fn granted(
    template: &GrantTemplate,
    setup: &Setup,
    own: &Arc<OwnFolders>,
) -> Result<Granted, StartError> {
    let source = Template {
        template: template.clone(),
        dirs: setup.dirs.clone(),
        env: setup.env.clone(),
        own: Arc::clone(own),
    };
    if template.is_fixed() {
        return Ok(Granted::Fixed(source.grants(&CallerContext::default())?));
    }
    Ok(Granted::PerCall { shape: source.shape()?, source: Arc::new(source) })
}

/// A configuration's grants over the caller, with those of this run.
#[derive(Debug)]
struct Template {
    template: GrantTemplate,
    dirs: Vec<DirRequest>,
    env: Vec<EnvGrant>,
    own: Arc<OwnFolders>,
}

impl Template {
    fn grants(&self, caller: &CallerContext) -> Result<Grants, StartError> {
        let resolved = self.template.resolve(caller).map_err(StartError::Template)?;
        let mut dirs = Vec::new();
        for dir in resolved.dirs {
            let host = canonical_below(&dir.path, &dir.root)?;
            dirs.push(DirRequest { host, guest: dir.guest, mode: dir.mode });
        }
        dirs.extend(self.dirs.iter().cloned());
        let env: Vec<_> = resolved.env.into_iter().chain(self.env.iter().cloned()).collect();
        resolve(&dirs, &env, &self.own)
    }

    /// What is the same whoever calls. Nothing of it is opened: a template's folder stands as its
    /// text.
    fn shape(&self) -> Result<Grants, StartError> {
        let mut grants = Grants::default();
        let dirs = self.template.dirs.iter().map(|dir| {
            let host = PathBuf::from(dir.path.source());
            let name = || Path::new("/").join(host.file_name().unwrap_or_default());
            let guest = dir.guest.clone().unwrap_or_else(|| name().to_string_lossy().into_owned());
            DirGrant { host, guest, mode: dir.mode }
        });
        for dir in dirs {
            grants.add_dir(dir)?;
        }
        for env in &self.template.env {
            let value = env.value.source().to_owned();
            grants.add_env(EnvGrant { name: env.name.clone(), value })?;
        }
        // Not the first of all, so none of them is also `.`.
        let own = resolve_behind(&self.dirs, &self.env, &self.own)?;
        for dir in own.dirs() {
            grants.add_dir(dir.clone())?;
        }
        for env in own.env() {
            grants.add_env(env.clone())?;
        }
        Ok(grants)
    }
}

/// What the caller is told: no folder of this machine, which is the operator's to know.
fn for_the_caller(error: &StartError) -> String {
    match error {
        StartError::Template(TemplateError::Missing { placeholder, .. }) => {
            format!("what the tool may use depends on the caller's {placeholder}, and it has none")
        }
        StartError::Template(TemplateError::Unsafe { placeholder, .. }) => format!(
            "what the tool may use depends on the caller's {placeholder}, which is no plain name"
        ),
        StartError::Folder { reason, .. } => {
            format!("a folder that the tool is granted for this caller can't be used: {reason}")
        }
        _ => "what the tool is granted for this caller can't be used; the log says why".to_owned(),
    }
}

impl GrantSource for Template {
    fn resolve(&self, caller: &CallerContext) -> Result<Grants, String> {
        self.grants(caller).map_err(|error| {
            tracing::warn!("grants of a caller can't be made: {error}");
            for_the_caller(&error)
        })
    }
}
