//! The capabilities an operator gives a plugin: none but these.
//!
//! Checks what can be checked without the disk; `sandbox::capability` opens what is named here.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer};

use super::approval::CallerContext;
use super::ids::Digest;

/// Whether a granted folder may be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DirMode {
    /// Read only.
    ReadOnly,
    /// Read and write.
    ReadWrite,
}

/// A folder a plugin may use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirGrant {
    /// Where it is on this machine: absolute, without links or dots. Never shown to the guest.
    pub host: PathBuf,
    /// Where the guest sees it.
    pub guest: String,
    /// What the guest may do in it.
    pub mode: DirMode,
}

/// An environment variable a plugin sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnvGrant {
    /// Its name.
    pub name: String,
    /// Its value, visible to the guest.
    pub value: String,
}

/// Everything one plugin was given.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Grants {
    dirs: Vec<DirGrant>,
    env: Vec<EnvGrant>,
}

/// Makes the grants of one call out of who calls, where they are templates over it.
pub trait GrantSource: Send + Sync + std::fmt::Debug {
    /// The grants of this caller. May look at the disk, so it isn't for an async thread.
    ///
    /// # Errors
    /// In one sentence: what the template needs isn't known of this caller, or names no folder.
    fn resolve(&self, caller: &CallerContext) -> Result<Grants, String>;
}

/// What the operator gives one plugin.
#[derive(Debug, Clone)]
pub enum Granted {
    /// The same for every caller.
    Fixed(Grants),
    /// A template over the caller.
    PerCall {
        /// The grants as far as they are the same for all: modes, guest paths, names. Its host
        /// paths are the templates' text.
        shape: Grants,
        /// What fills it in.
        source: Arc<dyn GrantSource>,
    },
}

impl Granted {
    /// What is the same for every caller; what effects are read off.
    pub fn shape(&self) -> &Grants {
        match self {
            Self::Fixed(grants) | Self::PerCall { shape: grants, .. } => grants,
        }
    }
}

impl Default for Granted {
    fn default() -> Self {
        Self::Fixed(Grants::default())
    }
}

/// What one tool may use, narrowed by its own tags.
#[derive(Debug, Clone)]
pub enum ToolGrants {
    /// The same for every caller.
    Fixed(Arc<Grants>),
    /// A template over the caller.
    PerCall {
        /// What fills it in.
        source: Arc<dyn GrantSource>,
        /// Whether a tag holds the tool to reading.
        read_only: bool,
    },
}

impl ToolGrants {
    /// The grants of this caller. May look at the disk where they are a template.
    ///
    /// # Errors
    /// As [`GrantSource::resolve`].
    pub fn resolve(&self, caller: &CallerContext) -> Result<Arc<Grants>, String> {
        match self {
            Self::Fixed(grants) => Ok(Arc::clone(grants)),
            Self::PerCall { source, read_only } => {
                let grants = source.resolve(caller)?;
                Ok(Arc::new(if *read_only { grants.read_only() } else { grants }))
            }
        }
    }
}

/// Grants as they are kept beside an approval: with host paths, without values. For the private
/// store alone; a [`Grants`] itself is what descriptors show.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrantsRecord {
    /// The folders, in the order given.
    pub dirs: Vec<DirGrant>,
    /// Names of variables with the SHA-256 of their values, in the order given.
    pub env: Vec<(String, Digest)>,
}

impl GrantsRecord {
    /// Whether everything here was already given by `other`: no folder but its folders, at their
    /// places and with no more rights, no variable that is new or changed. A folder inside one of
    /// them isn't the same: the same path would lead the guest to another file.
    pub fn is_within(&self, other: &Self) -> bool {
        let held = |dir: &DirGrant| {
            other.dirs.iter().any(|wider| {
                dir.guest == wider.guest
                    && dir.host == wider.host
                    && (dir.mode == wider.mode || wider.mode == DirMode::ReadWrite)
            })
        };
        self.dirs.iter().all(held) && self.env.iter().all(|env| other.env.contains(env))
    }
}

/// Why a grant can't be given.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GrantError {
    /// Permissions follow the opened folder: `.:rw` would make `./x:ro` writable.
    #[error(
        "the grants of `{0}` and `{1}` overlap with different modes; give both the same mode or \
         grant one of them"
    )]
    OverlappingModes(String, String),
    /// Two folders at one place.
    #[error("two folders are granted as `{0}`; give one another name with HOST:GUEST")]
    SameGuestPath(String),
    /// A guest path no guest can use.
    #[error(
        "`{0}` is no place for a granted folder: expected `.` or an absolute path without `..`"
    )]
    GuestPath(String),
    /// A variable name no environment can hold.
    #[error("`{0}` is no name of an environment variable")]
    EnvName(String),
    /// A variable named twice.
    #[error("the environment variable `{0}` is granted twice")]
    EnvTwice(String),
}

impl Grants {
    /// The granted folders, in the order given.
    pub fn dirs(&self) -> &[DirGrant] {
        &self.dirs
    }

    /// The granted variables, in the order given.
    pub fn env(&self) -> &[EnvGrant] {
        &self.env
    }

    /// Adds a folder. `host` must be canonical already.
    ///
    /// # Errors
    /// Where it meets another grant: see [`GrantError`].
    pub fn add_dir(&mut self, dir: DirGrant) -> Result<(), GrantError> {
        if !is_guest_path(&dir.guest) {
            return Err(GrantError::GuestPath(super::escape::clipped_line(&dir.guest, 200)));
        }
        for other in &self.dirs {
            if other.guest == dir.guest {
                return Err(GrantError::SameGuestPath(dir.guest));
            }
            if other.mode != dir.mode && overlap(&other.host, &dir.host) {
                return Err(GrantError::OverlappingModes(other.guest.clone(), dir.guest));
            }
        }
        self.dirs.push(dir);
        Ok(())
    }

    /// Adds a variable.
    ///
    /// # Errors
    /// A name that is empty, holds `=` or NUL, or is there already.
    pub fn add_env(&mut self, env: EnvGrant) -> Result<(), GrantError> {
        if env.name.is_empty() || env.name.contains(['=', '\0']) || env.value.contains('\0') {
            return Err(GrantError::EnvName(super::escape::clipped_line(&env.name, 80)));
        }
        if self.env.iter().any(|other| other.name == env.name) {
            return Err(GrantError::EnvTwice(env.name));
        }
        self.env.push(env);
        Ok(())
    }

    /// What is kept of them beside an approval.
    pub fn record(&self) -> GrantsRecord {
        let hashed = |env: &EnvGrant| (env.name.clone(), Digest::of(env.value.as_bytes()));
        GrantsRecord { dirs: self.dirs.clone(), env: self.env.iter().map(hashed).collect() }
    }

    /// Whether any folder may be changed.
    pub fn can_write_files(&self) -> bool {
        self.dirs.iter().any(|dir| dir.mode == DirMode::ReadWrite)
    }

    /// The same grants with every folder read-only: what a tool tagged `@read-only` gets.
    pub fn read_only(&self) -> Self {
        let mut narrowed = self.clone();
        for dir in &mut narrowed.dirs {
            dir.mode = DirMode::ReadOnly;
        }
        narrowed
    }
}

fn is_guest_path(path: &str) -> bool {
    path == "."
        || (path.starts_with('/')
            && !path.contains(['\0', '\\'])
            && !path.split('/').any(|part| part == ".." || part == "."))
}

fn overlap(a: &Path, b: &Path) -> bool {
    a.starts_with(b) || b.starts_with(a)
}

impl Serialize for Grants {
    /// Guest paths and names only: host paths and values stay on the host.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Dir<'a> {
            guest: &'a str,
            mode: DirMode,
        }
        #[derive(Serialize)]
        struct Shown<'a> {
            dirs: Vec<Dir<'a>>,
            env: Vec<&'a str>,
        }
        let dirs = self.dirs.iter().map(|dir| Dir { guest: &dir.guest, mode: dir.mode }).collect();
        let env = self.env.iter().map(|env| env.name.as_str()).collect();
        Shown { dirs, env }.serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dir(host: &str, guest: &str, mode: DirMode) -> DirGrant {
        DirGrant { host: host.into(), guest: guest.into(), mode }
    }

    #[test]
    fn nested_grants_of_different_modes_are_refused() {
        let mut grants = Grants::default();
        grants.add_dir(dir("/a", "/a", DirMode::ReadWrite)).unwrap();
        let error = grants.add_dir(dir("/a/secret", "/s", DirMode::ReadOnly)).unwrap_err();
        assert!(matches!(error, GrantError::OverlappingModes(..)));
        grants.add_dir(dir("/a/x", "/x", DirMode::ReadWrite)).unwrap();
        grants.add_dir(dir("/ab", "/ab", DirMode::ReadOnly)).unwrap();
    }

    #[test]
    fn guest_paths_cannot_climb() {
        for bad in ["", "x", "/a/../b", "..", "/a/./b", "/a\\b", "/a\0"] {
            let error = Grants::default().add_dir(dir("/a", bad, DirMode::ReadOnly)).unwrap_err();
            assert!(matches!(error, GrantError::GuestPath(_)), "{bad:?}");
        }
    }

    #[test]
    fn shown_grants_hold_no_host_path_and_no_value() {
        let mut grants = Grants::default();
        grants.add_dir(dir("/home/me/secret-place", "/w", DirMode::ReadOnly)).unwrap();
        grants.add_env(EnvGrant { name: "A".into(), value: "hush".into() }).unwrap();
        let json = serde_json::to_string(&grants).unwrap();
        assert_eq!(json, r#"{"dirs":[{"guest":"/w","mode":"read-only"}],"env":["A"]}"#);
    }

    #[test]
    fn only_what_is_narrower_is_within() {
        let record = |host: &str, mode| {
            let mut grants = Grants::default();
            grants.add_dir(dir(host, "/w", mode)).unwrap();
            grants.add_env(EnvGrant { name: "A".into(), value: "1".into() }).unwrap();
            grants.record()
        };
        let (ro, rw) = (record("/a", DirMode::ReadOnly), record("/a", DirMode::ReadWrite));
        assert!(ro.is_within(&ro) && ro.is_within(&rw) && !rw.is_within(&ro));
        assert!(!record("/a/b", DirMode::ReadOnly).is_within(&ro));
        assert!(!record("/ab", DirMode::ReadOnly).is_within(&ro));
        assert!(GrantsRecord::default().is_within(&ro) && !ro.is_within(&GrantsRecord::default()));
        let mut other_value = ro.clone();
        other_value.env[0].1 = Digest::of(b"2");
        assert!(!other_value.is_within(&ro));
    }

    #[test]
    fn env_names_are_checked() {
        let env = |name: &str| EnvGrant { name: name.into(), value: String::new() };
        let mut grants = Grants::default();
        grants.add_env(env("A")).unwrap();
        for bad in ["", "A=B", "A\0", "A"] {
            assert!(grants.add_env(env(bad)).is_err(), "{bad:?}");
        }
    }
}
