//! Reads `belljar.toml`: what an operator set, checked, with where each value comes from.
//!
//! Makes no host and touches nothing that a value names; `app` does both. Every key stands once, in
//! `schema`: what is accepted, shown and documented is read from there.

mod build;
mod check;
mod effective;
mod error;
mod idle;
mod locate;
mod read;
mod reference;
mod schema;
mod secrets;
mod settings;
mod templates;
#[cfg(test)]
mod tests;
mod value;

use std::path::{Path, PathBuf};

pub use effective::{Effective, Origin};
pub use error::{ConfigError, PROBLEMS_MAX, Problem, Problems};
pub use locate::{NamedBy, Place, Surroundings, locate};
pub use read::CONFIG_MAX_LEN;
pub use reference::reference;
pub use secrets::{SECRET_MAX_LEN, SecretOrigin, SecretOwner, SecretSettings, SecretValue};
pub use settings::{
    ApprovalSettings, AuditSettings, Builtins, CLI_CALLER, CallerSettings, CliApprovals, Config,
    EngineValues, ExposedSet, Finding, HttpApprovals, LimitValues, MCP_CALLER, McpApprovals,
    PluginSettings, Role, SandboxValues, ServeSettings, TokenOrigin, TokenSettings, ToolSettings,
    UpstreamSettings, UpstreamValue, UpstreamWay,
};
pub use templates::{
    DirTemplate, EnvTemplate, GrantTemplate, HostGrant, Placeholder, ResolvedDir, ResolvedGrants,
    SEGMENT_MAX, Template, TemplateError,
};

/// What a configuration is read with.
#[derive(Debug, Clone, Default)]
pub struct Sources<'a> {
    /// `--config FILE`.
    pub option: Option<PathBuf>,
    /// The environment.
    pub surroundings: Surroundings,
    /// Names of the builtins that ship.
    pub builtins: &'a [&'a str],
}

/// Finds, reads and checks the configuration. Where none is named and the user has none, everything
/// is default.
///
/// # Errors
/// A file that was named and isn't there, one that somebody else could change, or one that is wrong
/// in any way: see [`ConfigError`].
pub fn load(sources: &Sources<'_>) -> Result<Config, ConfigError> {
    let place = locate(sources.option.clone(), &sources.surroundings)?;
    let found = match &place {
        Some(place) => read::read(place)?.map(|text| (place, text)),
        None => None,
    };
    // Also where none is: a file that appears there is the next run's.
    let places = places(sources);
    let Some((place, text)) = found else {
        return from_text("", Path::new("belljar.toml"), sources).map(|config| Config {
            file: None,
            places,
            ..config
        });
    };
    // An option's path may begin at the current directory; what the file names begins at the file.
    let path = std::path::absolute(&place.path)
        .map_err(|error| ConfigError::read(&place.path, place.named_by.words(), error))?;
    let config = from_text(&text, &path, sources)?;
    Ok(Config { places: places.into_iter().chain([path]).collect(), ..config })
}

/// Where a configuration is looked for, with an option or without.
fn places(sources: &Sources<'_>) -> Vec<PathBuf> {
    let nameless = Surroundings { belljar_config: None, ..sources.surroundings.clone() };
    let places = [locate(None, &sources.surroundings), locate(None, &nameless)];
    places.into_iter().flatten().flatten().map(|place| place.path).collect()
}

/// Checks a configuration's text, as if it had been read from `path`.
///
/// # Errors
/// [`ConfigError::Wrong`] with everything that is wrong.
pub fn from_text(text: &str, path: &Path, sources: &Sources<'_>) -> Result<Config, ConfigError> {
    let name = error::shown(&path.file_name().unwrap_or_default().to_string_lossy());
    let mut problems = Problems::new(&name);
    let table = check::check(text, &mut problems);
    let known = build::Known {
        folder: path.parent().unwrap_or(Path::new("")),
        surroundings: &sources.surroundings,
        builtins: sources.builtins,
    };
    let mut config = build::build(&table, &known, &mut problems);
    if !problems.is_empty() {
        return Err(ConfigError::Wrong(problems.finish()));
    }
    config.file = Some(path.to_owned());
    config.places = vec![path.to_owned()];
    config.effective = effective::effective(&name, &table, &derived(&config));
    Ok(config)
}

impl Default for Config {
    /// What holds where nobody configured anything and the user has no home folder: nothing is
    /// kept on the disk.
    fn default() -> Self {
        let nowhere = Surroundings::default();
        let known = build::Known { folder: Path::new(""), surroundings: &nowhere, builtins: &[] };
        build::build(&value::Table::default(), &known, &mut Problems::new("belljar.toml"))
    }
}

/// Defaults that depend on the machine or on a caller's name.
fn derived(config: &Config) -> Vec<(String, String)> {
    let path = |path: &Option<PathBuf>| match path {
        Some(path) => format!("\"{}\"", error::shown_path(path)),
        None => "none: the user has no home folder".to_owned(),
    };
    let paths = [("state", &config.state), ("audit.path", &config.audit.path)];
    let paths = paths.into_iter().map(|(key, it)| (key.to_owned(), path(it)));
    let levels = config.callers.iter().filter_map(|caller| {
        let key = format!("callers.{}.level", check::key_text(&caller.name));
        Some((key, serde_json::to_string(&caller.level).ok()?))
    });
    paths.chain(levels).collect()
}
