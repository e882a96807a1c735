//! Makes grants of what an operator asks for: folders that are there, none of them belljar's own.
//!
//! Loads nothing, and doesn't know which plugin gets what.

use std::path::{Path, PathBuf};

use super::{DirRequest, Setup, StartError};
use crate::contract::escape::clipped_line;
use crate::contract::grants::{DirGrant, DirMode, Grants};

/// The grants of every plugin of this host.
pub(super) fn resolve(setup: &Setup) -> Result<Grants, StartError> {
    let mut grants = Grants::default();
    for (index, request) in setup.dirs.iter().enumerate() {
        let host = canonical_folder(&request.host)?;
        if request.mode == DirMode::ReadWrite {
            refuse_own_state(&host, request, setup.code_folder.as_deref())?;
        }
        let guest = guest_path(request, &host);
        if index == 0 && guest != "." {
            let here = DirGrant { host: host.clone(), guest: ".".to_owned(), mode: request.mode };
            grants.add_dir(here)?;
        }
        grants.add_dir(DirGrant { host, guest, mode: request.mode })?;
    }
    for env in &setup.env {
        grants.add_env(env.clone())?;
    }
    Ok(grants)
}

fn canonical_folder(path: &Path) -> Result<PathBuf, StartError> {
    let refused = |reason: String| StartError::Folder {
        path: clipped_line(&path.to_string_lossy(), 300),
        reason,
    };
    let canonical = std::fs::canonicalize(path).map_err(|error| refused(error.to_string()))?;
    if !canonical.is_dir() {
        return Err(refused("it is not a folder".to_owned()));
    }
    crate::sandbox::refuse_processes(&canonical).map_err(refused)?;
    Ok(canonical)
}

/// A guest that could write where compiled code is kept could run native code at the next start.
fn refuse_own_state(
    host: &Path,
    request: &DirRequest,
    code_folder: Option<&Path>,
) -> Result<(), StartError> {
    let Some(own) = code_folder else { return Ok(()) };
    let own = std::fs::canonicalize(own).unwrap_or_else(|_missing| own.to_owned());
    if own.starts_with(host) || host.starts_with(&own) {
        return Err(StartError::Folder {
            path: clipped_line(&request.host.to_string_lossy(), 300),
            reason: "belljar keeps its compiled code there, so no plugin may write in it; grant a \
                     folder beside it, or grant this one read-only"
                .to_owned(),
        });
    }
    Ok(())
}

fn guest_path(request: &DirRequest, host: &Path) -> String {
    match (&request.guest, host.file_name()) {
        (Some(guest), _) => guest.clone(),
        (None, Some(name)) => format!("/{}", name.to_string_lossy()),
        (None, None) => ".".to_owned(),
    }
}
