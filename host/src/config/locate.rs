//! Says which file is the configuration, and where state is kept by default.
//!
//! Opens nothing and never means the current directory by itself. Settings of the environment come
//! in as values, so that tests set them.

use std::ffi::OsString;
use std::path::PathBuf;

use super::error::{ConfigError, shown};

/// The file's name in the user's config folder.
const FILE: &str = "belljar/belljar.toml";

/// What of the environment counts. An empty variable is one that isn't set.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    /// `BELLJAR_CONFIG`.
    pub belljar_config: Option<OsString>,
    /// `XDG_CONFIG_HOME`.
    pub xdg_config_home: Option<OsString>,
    /// `XDG_STATE_HOME`.
    pub xdg_state_home: Option<OsString>,
    /// `HOME`.
    pub home: Option<OsString>,
}

impl Surroundings {
    /// Reads them by `variable`, as `std::env::var_os` does.
    pub fn read(variable: impl Fn(&str) -> Option<OsString>) -> Self {
        Self {
            belljar_config: variable("BELLJAR_CONFIG"),
            xdg_config_home: variable("XDG_CONFIG_HOME"),
            xdg_state_home: variable("XDG_STATE_HOME"),
            home: variable("HOME"),
        }
    }
}

/// What named the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NamedBy {
    /// `--config FILE`.
    Option,
    /// `BELLJAR_CONFIG`.
    Variable,
    /// Nothing: it is the user's, if it is there.
    Default,
}

impl NamedBy {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Option => "--config",
            Self::Variable => "BELLJAR_CONFIG",
            Self::Default => "the user's config folder",
        }
    }
}

/// A file that may be the configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Where it is.
    pub path: PathBuf,
    /// What named it; only a default place may be empty.
    pub named_by: NamedBy,
}

/// Where the configuration is. `None`: nobody named one and the user has no home folder.
///
/// # Errors
/// `BELLJAR_CONFIG` isn't absolute.
pub fn locate(
    option: Option<PathBuf>,
    surroundings: &Surroundings,
) -> Result<Option<Place>, ConfigError> {
    if let Some(path) = option {
        return Ok(Some(Place { path, named_by: NamedBy::Option }));
    }
    if let Some(text) = surroundings.belljar_config.as_ref().filter(|text| !text.is_empty()) {
        let path = PathBuf::from(text);
        if !path.is_absolute() {
            return Err(ConfigError::RelativeVariable(shown(&path.to_string_lossy())));
        }
        return Ok(Some(Place { path, named_by: NamedBy::Variable }));
    }
    let folder = folder(surroundings.xdg_config_home.as_ref(), surroundings, ".config");
    Ok(folder.map(|folder| Place { path: folder.join(FILE), named_by: NamedBy::Default }))
}

/// Where state is kept where the configuration names no place.
pub(super) fn state_folder(surroundings: &Surroundings) -> Option<PathBuf> {
    let folder = folder(surroundings.xdg_state_home.as_ref(), surroundings, ".local/state");
    folder.map(|folder| folder.join("belljar"))
}

/// The XDG base directory specification says to ignore a path that isn't absolute.
fn folder(xdg: Option<&OsString>, surroundings: &Surroundings, in_home: &str) -> Option<PathBuf> {
    let absolute = |text: &OsString| Some(PathBuf::from(text)).filter(|path| path.is_absolute());
    xdg.and_then(absolute)
        .or_else(|| Some(surroundings.home.as_ref().and_then(absolute)?.join(in_home)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(config: Option<&str>, xdg: Option<&str>, home: Option<&str>) -> Surroundings {
        let text = |it: Option<&str>| it.map(OsString::from);
        Surroundings {
            belljar_config: text(config),
            xdg_config_home: text(xdg),
            xdg_state_home: text(xdg),
            home: text(home),
        }
    }

    fn located(option: Option<&str>, surroundings: &Surroundings) -> Option<(String, NamedBy)> {
        let place = locate(option.map(PathBuf::from), surroundings).unwrap()?;
        Some((place.path.display().to_string(), place.named_by))
    }

    #[test]
    fn the_option_wins_then_the_variable_then_the_users_folder() {
        let all = with(Some("/v.toml"), Some("/x"), Some("/h"));
        assert_eq!(located(Some("o.toml"), &all), Some(("o.toml".into(), NamedBy::Option)));
        assert_eq!(located(None, &all), Some(("/v.toml".into(), NamedBy::Variable)));
        let (xdg, home) = (with(None, Some("/x"), Some("/h")), with(Some(""), None, Some("/h")));
        let default = |path: &str| Some((path.to_owned(), NamedBy::Default));
        assert_eq!(located(None, &xdg), default("/x/belljar/belljar.toml"));
        assert_eq!(located(None, &home), default("/h/.config/belljar/belljar.toml"));
        assert_eq!(state_folder(&xdg), Some("/x/belljar".into()));
        assert_eq!(state_folder(&home), Some("/h/.local/state/belljar".into()));
    }

    #[test]
    fn nothing_relative_means_the_current_directory() {
        let relative = with(None, Some("x"), Some("h"));
        assert_eq!(located(None, &relative), None);
        assert_eq!(located(None, &with(None, Some(""), Some(""))), None);
        assert_eq!(located(None, &with(None, None, None)), None);
        assert_eq!(state_folder(&relative), None);
        let error = locate(None, &with(Some("belljar.toml"), None, Some("/h"))).unwrap_err();
        assert!(matches!(error, ConfigError::RelativeVariable(_)), "{error}");
    }
}
