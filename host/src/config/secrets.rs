//! Secrets: named in the file, valued elsewhere.
//!
//! Values are read when somebody asks for them, never shown, and never part of the configuration.

use std::fmt;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::error::shown_path;
use super::settings::{Config, Finding};

/// The most bytes of a secret's value.
pub const SECRET_MAX_LEN: u64 = 64 << 10;

/// Where a secret's value is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretOrigin {
    /// A variable of belljar's own environment.
    Env(String),
    /// A file; line ends after the value don't count.
    File(PathBuf),
}

/// Whose a secret is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecretOwner {
    /// One for the whole host.
    Host,
    /// Each user's own.
    User,
    /// Each workspace's own.
    Workspace,
    /// Each caller's own.
    Caller,
}

/// One secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretSettings {
    /// Its name.
    pub name: String,
    /// Where its value is.
    pub from: SecretOrigin,
    /// The header that carries it. Without effect in this version.
    pub header: Option<String>,
    /// The hosts that it is for. Without effect in this version.
    pub hosts: Vec<String>,
    /// Whose it is. Without effect in this version.
    pub per: SecretOwner,
    /// Its line in the file.
    pub(super) line: u32,
}

/// A secret's value, which no debug output shows.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretValue {
    /// The secret's name.
    pub name: String,
    value: String,
}

impl SecretValue {
    /// The value itself.
    pub fn expose(&self) -> &str {
        &self.value
    }
}

impl fmt::Debug for SecretValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecretValue").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Config {
    /// Reads the values of all secrets, for redaction; `variable` reads one of the environment.
    /// What can't be read is a finding: a call that needs none of it must still run. So is a value
    /// of fewer than `shortest` bytes, which stands in too many harmless texts to be taken out.
    pub fn secret_values(
        &self,
        variable: impl Fn(&str) -> Option<String>,
        shortest: usize,
    ) -> (Vec<SecretValue>, Vec<Finding>) {
        let (mut values, mut findings) = (Vec::new(), Vec::new());
        for secret in &self.secrets {
            let name = &secret.name;
            let mut find = |text| findings.push(Finding { line: Some(secret.line), text });
            match secret.read(&variable) {
                Ok(value) => {
                    // White space round a value doesn't count where it is looked for.
                    if value.trim().len() < shortest {
                        find(format!(
                            "the secret `{name}` isn't hidden anywhere: it is shorter than \
                             {shortest} bytes"
                        ));
                    }
                    values.push(SecretValue { name: name.clone(), value });
                }
                Err(why) => find(format!("the secret `{name}` has no value: {why}")),
            }
        }
        (values, findings)
    }

    /// The value of one secret; `variable` reads one of the environment.
    ///
    /// # Errors
    /// In words that follow its name: why it has none.
    pub fn secret_value(
        &self,
        name: &str,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<SecretValue, String> {
        let secret = self.secrets.iter().find(|secret| secret.name == name);
        let secret = secret.ok_or_else(|| "nothing of that name is among `secrets`".to_owned())?;
        Ok(SecretValue { name: secret.name.clone(), value: secret.read(variable)? })
    }
}

impl SecretSettings {
    fn read(&self, variable: impl Fn(&str) -> Option<String>) -> Result<String, String> {
        self.from.read(variable)
    }
}

impl SecretOrigin {
    /// The value, read now.
    ///
    /// # Errors
    /// In one sentence, which names where it was looked for and never what was found.
    pub fn read(&self, variable: impl Fn(&str) -> Option<String>) -> Result<String, String> {
        let value = match self {
            Self::Env(name) => {
                variable(name).ok_or_else(|| format!("the variable `{name}` isn't set"))?
            }
            Self::File(path) => read_file(path)
                .map_err(|error| format!("`{}` can't be read: {error}", shown_path(path)))?,
        };
        match value.len() as u64 {
            0 => Err("it is empty".to_owned()),
            len if len > SECRET_MAX_LEN => Err(format!("it has more than {SECRET_MAX_LEN} bytes")),
            _ => Ok(value),
        }
    }
}

fn read_file(path: &Path) -> std::io::Result<String> {
    let file = super::read::open(path)?;
    if !file.metadata()?.is_file() {
        return Err(std::io::Error::other("it is no regular file"));
    }
    let mut value = String::new();
    file.take(SECRET_MAX_LEN + 1).read_to_string(&mut value)?;
    value.truncate(value.trim_end_matches(['\r', '\n']).len());
    Ok(value)
}
