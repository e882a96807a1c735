//! The granted folder that a path lies in, for calls that std has no words for.

use wasip2::filesystem::preopens;
use wasip2::filesystem::types::Descriptor;

/// A granted folder, and a path relative to it.
pub(crate) struct Place {
    pub(crate) folder: Descriptor,
    pub(crate) path: String,
}

/// Finds the granted folder of `path`: by the folder's name for an absolute path, else `.`.
pub(crate) fn find(path: &str) -> Result<Place, String> {
    let granted = preopens::get_directories();
    let found = granted.into_iter().find_map(|(folder, name)| {
        let rest = match path.strip_prefix('/') {
            Some(_) => path.strip_prefix(name.as_str())?.strip_prefix('/')?,
            None => (name == ".").then_some(path)?,
        };
        Some(Place { folder, path: rest.to_owned() })
    });
    found.ok_or_else(|| format!("no granted folder holds `{path}`"))
}
