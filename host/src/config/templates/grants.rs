//! Grants over the caller's context: which folders and variables a caller's calls may use.
//!
//! Makes paths and never looks at the disk. Whether a folder is there, and is what it seems to be,
//! is for whoever grants it to find out.

use std::path::{Path, PathBuf};

use super::{Template, TemplateError};
use crate::contract::approval::CallerContext;
use crate::contract::grants::{DirMode, EnvGrant};

/// A folder to grant, for whoever calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirTemplate {
    /// The folder of the file, at which a path that isn't absolute begins.
    pub(in crate::config) folder: PathBuf,
    /// Its line in the file.
    pub(in crate::config) line: u32,
    /// The folder on this machine.
    pub path: Template,
    /// Where the guest sees it; `None`: `/` and the folder's name.
    pub guest: Option<String>,
    /// What the guest may do in it.
    pub mode: DirMode,
}

impl DirTemplate {
    /// The path where it is the same for every caller.
    pub fn fixed(&self) -> Option<PathBuf> {
        let (text, more) = self.path.beginning();
        (!more).then(|| self.folder.join(text))
    }

    /// The folder that holds it whoever calls: all before the first placeholder. A granted folder
    /// that lies elsewhere, once its links are followed, isn't the one that was meant.
    pub fn root(&self) -> PathBuf {
        let (text, more) = self.path.beginning();
        let whole = match text.rfind('/') {
            Some(end) if more => text.get(..=end).unwrap_or_default(),
            None if more => "",
            _ => text,
        };
        self.folder.join(whole)
    }
}

/// A folder to grant to one caller. Nothing of it has been looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedDir {
    /// The folder on this machine.
    pub path: PathBuf,
    /// What it must lie in: see [`DirTemplate::root`].
    pub root: PathBuf,
    /// Where the guest sees it; `None`: `/` and the folder's name.
    pub guest: Option<String>,
    /// What the guest may do in it.
    pub mode: DirMode,
}

/// A variable to grant, for whoever calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnvTemplate {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: Template,
}

/// A host to grant. Without effect in this version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostGrant {
    /// The host, with its port where that isn't the scheme's own.
    pub host: String,
    /// The methods, in capitals.
    pub methods: Vec<String>,
}

/// What may be used, for whoever calls.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GrantTemplate {
    /// Folders, in the order of the file.
    pub dirs: Vec<DirTemplate>,
    /// Variables, in the order of the file.
    pub env: Vec<EnvTemplate>,
    /// Hosts. Without effect in this version.
    pub hosts: Vec<HostGrant>,
    /// Names of secrets. Without effect in this version.
    pub secrets: Vec<String>,
}

/// What one caller's calls may use.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResolvedGrants {
    /// Folders, in the order of the file.
    pub dirs: Vec<ResolvedDir>,
    /// Variables, in the order of the file.
    pub env: Vec<EnvGrant>,
}

impl GrantTemplate {
    /// Whether it is the same for every caller.
    pub fn is_fixed(&self) -> bool {
        self.dirs.iter().all(|dir| dir.path.is_fixed())
            && self.env.iter().all(|env| env.value.is_fixed())
    }

    /// What a caller's calls may use.
    ///
    /// # Errors
    /// The caller lacks what a placeholder names, or has a value that isn't one plain name; nothing
    /// is granted then.
    pub fn resolve(&self, caller: &CallerContext) -> Result<ResolvedGrants, TemplateError> {
        let dir = |dir: &DirTemplate| {
            Ok(ResolvedDir {
                path: dir.folder.join(dir.path.fill(caller)?),
                root: dir.root(),
                guest: dir.guest.clone(),
                mode: dir.mode,
            })
        };
        let env = |env: &EnvTemplate| {
            Ok(EnvGrant { name: env.name.clone(), value: env.value.fill(caller)? })
        };
        Ok(ResolvedGrants {
            dirs: self.dirs.iter().map(dir).collect::<Result<_, TemplateError>>()?,
            env: self.env.iter().map(env).collect::<Result<_, TemplateError>>()?,
        })
    }

    /// These grants and `own`, whose variables go before those of the same name here.
    pub(in crate::config) fn with(&self, own: &Self) -> Self {
        let covered = |env: &&EnvTemplate| !own.env.iter().any(|it| it.name == env.name);
        let new_secret = |name: &&String| !self.secrets.contains(name);
        Self {
            dirs: self.dirs.iter().chain(&own.dirs).cloned().collect(),
            env: self.env.iter().filter(covered).chain(&own.env).cloned().collect(),
            hosts: self.hosts.iter().chain(&own.hosts).cloned().collect(),
            secrets: self
                .secrets
                .iter()
                .chain(own.secrets.iter().filter(new_secret))
                .cloned()
                .collect(),
        }
    }
}

/// How two folders lie, as far as their paths tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::config) enum Lie {
    Apart,
    /// For some callers one holds the other.
    Perhaps,
    Overlap,
}

/// Whether one of the folders holds the other, for every caller or for some.
pub(in crate::config) fn lie(left: &DirTemplate, right: &DirTemplate) -> Lie {
    if let (Some(left), Some(right)) = (left.fixed(), right.fixed()) {
        return if within(&left, &right) { Lie::Overlap } else { Lie::Apart };
    }
    // Two templates over the same text are one folder, whoever calls.
    if left.path == right.path && left.folder == right.folder {
        return Lie::Overlap;
    }
    let (left_root, right_root) = (left.root(), right.root());
    let holds =
        |fixed: Option<PathBuf>, other: &Path| fixed.is_some_and(|it| other.starts_with(it));
    if holds(left.fixed(), &right_root) || holds(right.fixed(), &left_root) {
        return Lie::Overlap;
    }
    if within(&left_root, &right_root) { Lie::Perhaps } else { Lie::Apart }
}

fn within(left: &Path, right: &Path) -> bool {
    left.starts_with(right) || right.starts_with(left)
}
