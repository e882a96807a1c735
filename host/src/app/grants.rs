//! Makes grants of what an operator asks for: folders that are there, none of them belljar's own.
//!
//! Loads nothing, and doesn't know which plugin gets what.

use std::path::{Path, PathBuf};

use super::{DirRequest, StartError};
use crate::contract::escape::clipped_line;
use crate::contract::grants::{DirGrant, DirMode, EnvGrant, Grants};
use crate::sandbox::FolderProblem;

/// Folders and files of belljar's own, in which no plugin may write: each with what is kept there.
#[derive(Debug, Default)]
pub(super) struct OwnFolders(Vec<(PathBuf, &'static str)>);

impl OwnFolders {
    /// Adds one, with words for what is kept there; it needn't be there yet. Every link on the way
    /// to it is belljar's own too: whoever can replace one decides where the way leads.
    pub(super) fn add(&mut self, place: Option<&Path>, keeps: &'static str) {
        let Some(place) = place.and_then(|place| std::path::absolute(place).ok()) else { return };
        let (mut real, mut rest) = (PathBuf::new(), place.components());
        while let Some(part) = rest.next() {
            let next = real.join(part);
            if next.is_symlink() {
                self.0.push((next.clone(), keeps));
            }
            match std::fs::canonicalize(&next) {
                Ok(found) => real = found,
                Err(_missing) => {
                    real = next.join(rest.as_path());
                    break;
                }
            }
        }
        self.0.push((real, keeps));
    }
}

/// Checks and canonicalises folders and variables. The first folder is also `.`.
pub(super) fn resolve(
    dirs: &[DirRequest],
    env: &[EnvGrant],
    own: &OwnFolders,
) -> Result<Grants, StartError> {
    resolve_from(0, dirs, env, own)
}

/// The same for folders that stand behind others.
pub(super) fn resolve_behind(
    dirs: &[DirRequest],
    env: &[EnvGrant],
    own: &OwnFolders,
) -> Result<Grants, StartError> {
    resolve_from(1, dirs, env, own)
}

fn resolve_from(
    first: usize,
    dirs: &[DirRequest],
    env: &[EnvGrant],
    own: &OwnFolders,
) -> Result<Grants, StartError> {
    let mut grants = Grants::default();
    for (index, request) in dirs.iter().enumerate().map(|(at, it)| (first + at, it)) {
        let host = canonical_folder(&request.host)?;
        if request.mode == DirMode::ReadWrite {
            refuse_own(&host, request, own)?;
        }
        let guest = guest_path(request, &host);
        if index == 0 && guest != "." {
            let here = DirGrant { host: host.clone(), guest: ".".to_owned(), mode: request.mode };
            grants.add_dir(here)?;
        }
        grants.add_dir(DirGrant { host, guest, mode: request.mode })?;
    }
    for env in env {
        grants.add_env(env.clone())?;
    }
    Ok(grants)
}

/// The folder without links and dots. Below `root`, which is the same for every caller, there must
/// be no link: one in the place of a caller's folder would lead to another caller's.
pub(super) fn canonical_below(path: &Path, root: &Path) -> Result<PathBuf, StartError> {
    let folder = canonical_folder(path)?;
    let meant = match path.strip_prefix(root) {
        Ok(below) => canonical_folder(root)?.join(below),
        Err(_elsewhere) => folder.clone(),
    };
    if folder == meant {
        return Ok(folder);
    }
    Err(refused(path, "a part of it that depends on the caller is a link".to_owned()))
}

fn canonical_folder(path: &Path) -> Result<PathBuf, StartError> {
    let canonical = std::fs::canonicalize(path).map_err(|error| refused(path, error))?;
    if !canonical.is_dir() {
        return Err(refused(path, "it is not a folder".to_owned()));
    }
    crate::sandbox::refuse_processes(&canonical).map_err(|reason| refused(path, reason))?;
    Ok(canonical)
}

/// A guest that could write where compiled code is kept could run native code at the next start,
/// and one that could write the configuration, the approvals or the audit log could grant itself
/// anything.
fn refuse_own(host: &Path, request: &DirRequest, own: &OwnFolders) -> Result<(), StartError> {
    match own.0.iter().find(|(own, _)| own.starts_with(host) || host.starts_with(own)) {
        None => Ok(()),
        Some((_, keeps)) => Err(refused(
            &request.host,
            format!(
                "belljar keeps {keeps} there, so no plugin may write in it; grant a folder beside \
                 it, or grant this one read-only"
            ),
        )),
    }
}

fn refused(path: &Path, reason: impl Into<FolderProblem>) -> StartError {
    let path = clipped_line(&path.to_string_lossy(), 300);
    StartError::Folder { path, reason: reason.into() }
}

fn guest_path(request: &DirRequest, host: &Path) -> String {
    match (&request.guest, host.file_name()) {
        (Some(guest), _) => guest.clone(),
        (None, Some(name)) => format!("/{}", name.to_string_lossy()),
        (None, None) => ".".to_owned(),
    }
}
