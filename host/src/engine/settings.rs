//! What an operator sets about batches, retries and repeated failures.
//!
//! Plain values with their bounds; reads no file and acts on nothing.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use serde::{Deserialize, Serialize};

use crate::contract::escape::clipped_line;

/// Most calls of one batch that may run at once.
pub(crate) const CONCURRENCY_MAX: usize = 256;
/// Most retries of one call.
pub(crate) const RETRIES_MAX: u32 = 10;
/// The longest pause between two attempts, before and after it grows.
pub(crate) const RETRY_DELAY_MAX_MS: u64 = 60_000;
/// Most patterns in one list of tools.
pub(crate) const PATTERNS_MAX: usize = 1_000;
/// The longest pattern, in bytes: longer than any tool id.
pub(crate) const PATTERN_MAX_LEN: usize = 300;
/// Most failures in a row that the breaker can be told to wait for.
pub(crate) const FAILURES_MAX: u32 = 100;
/// The longest time that failures in a row may take, in milliseconds.
pub(crate) const FAILURE_WINDOW_MAX_MS: u64 = 3_600_000;

/// A setting that can't be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// No call of a batch could ever begin.
    #[error(
        "`concurrency` is `0`, so no call would ever run: expected 1 to {CONCURRENCY_MAX} calls at \
         once"
    )]
    NoConcurrency,
    /// A number above its bound.
    #[error("`{setting}` is `{found}`: expected at most {max}")]
    TooLarge {
        /// The setting's name.
        setting: &'static str,
        /// What it was set to.
        found: u64,
        /// The bound.
        max: u64,
    },
    /// A number below its bound.
    #[error("`{setting}` is `{found}`: expected at least {min}")]
    TooSmall {
        /// The setting's name.
        setting: &'static str,
        /// What it was set to.
        found: u64,
        /// The bound.
        min: u64,
    },
    /// A list of tools that is too long.
    #[error("`{setting}` has {found} patterns: expected at most {PATTERNS_MAX}")]
    TooManyPatterns {
        /// The setting's name.
        setting: &'static str,
        /// How many there are.
        found: usize,
    },
    /// A pattern that no tool id could match.
    #[error("`{setting}` holds `{pattern}`: {why}")]
    Pattern {
        /// The setting's name.
        setting: &'static str,
        /// The pattern, escaped and clipped.
        pattern: String,
        /// What is wrong with it.
        why: String,
    },
}

/// Batches, retries and repeated failures. `Default` has every default (B9).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EngineSettings {
    /// Calls of one batch that run at once, 1 to 256 (B4).
    pub concurrency: usize,
    /// Retries of a call, so that it is tried at most once more than this, up to 10 (B5). Unset: 2
    /// for tools that are idempotent, 0 for others. A tool that isn't idempotent is only ever
    /// retried where it certainly did not run.
    pub retries: Option<u32>,
    /// The pause before the first retry, in milliseconds, at most a minute; it doubles from retry
    /// to retry (B7).
    pub retry_delay_ms: u64,
    /// Globs of tool ids whose calls never run beside another call (B3). Wins over everything.
    pub unsafe_tools: Vec<String>,
    /// Globs of tool ids whose calls may run beside others, though that isn't proven.
    pub parallel_tools: Vec<String>,
    /// Runs identical calls of one batch once and gives each the same answer, unless they are
    /// proven read-only. Off, each runs.
    pub share_identical: bool,
    /// When the same call has failed often enough.
    pub failure_breaker: BreakerSettings,
}

/// When a call that keeps failing the same way is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BreakerSettings {
    /// Identical failures in a row before the next identical call is refused, at most 100; 0 turns
    /// the breaker off.
    pub after: u32,
    /// The time that they must all lie in, in milliseconds, 1 to 3,600,000.
    pub window_ms: u64,
}

impl Default for EngineSettings {
    fn default() -> Self {
        Self {
            concurrency: 8,
            retries: None,
            retry_delay_ms: 500,
            unsafe_tools: Vec::new(),
            parallel_tools: Vec::new(),
            share_identical: false,
            failure_breaker: BreakerSettings::default(),
        }
    }
}

impl Default for BreakerSettings {
    fn default() -> Self {
        Self { after: 10, window_ms: 60_000 }
    }
}

impl EngineSettings {
    /// Whether every value is within its bounds.
    ///
    /// # Errors
    /// The first value that isn't, with what was expected.
    pub fn validate(&self) -> Result<(), SettingsError> {
        if self.concurrency == 0 {
            return Err(SettingsError::NoConcurrency);
        }
        let concurrency = u64::try_from(self.concurrency).unwrap_or(u64::MAX);
        let breaker = self.failure_breaker;
        at_most("concurrency", concurrency, CONCURRENCY_MAX as u64)?;
        at_most("retries", self.retries.unwrap_or(0).into(), RETRIES_MAX.into())?;
        at_most("retry_delay_ms", self.retry_delay_ms, RETRY_DELAY_MAX_MS)?;
        at_most("failure_breaker.after", breaker.after.into(), FAILURES_MAX.into())?;
        at_most("failure_breaker.window_ms", breaker.window_ms, FAILURE_WINDOW_MAX_MS)?;
        if breaker.window_ms == 0 {
            let setting = "failure_breaker.window_ms";
            return Err(SettingsError::TooSmall { setting, found: 0, min: 1 });
        }
        tool_globs("unsafe_tools", &self.unsafe_tools)?;
        tool_globs("parallel_tools", &self.parallel_tools)?;
        Ok(())
    }
}

fn at_most(setting: &'static str, found: u64, max: u64) -> Result<(), SettingsError> {
    if found > max { Err(SettingsError::TooLarge { setting, found, max }) } else { Ok(()) }
}

/// Compiles a list of globs over tool ids: `*` is any text, also across the dot, `?` one
/// character, `{a,b}` either.
///
/// # Errors
/// A list that is too long, or a pattern that is empty, too long or no glob.
pub(super) fn tool_globs(
    setting: &'static str,
    patterns: &[String],
) -> Result<GlobSet, SettingsError> {
    if patterns.len() > PATTERNS_MAX {
        return Err(SettingsError::TooManyPatterns { setting, found: patterns.len() });
    }
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        let wrong = |why: String| SettingsError::Pattern {
            setting,
            pattern: clipped_line(pattern, 80),
            why,
        };
        if pattern.is_empty() || pattern.len() > PATTERN_MAX_LEN {
            return Err(wrong(format!("expected 1 to {PATTERN_MAX_LEN} bytes")));
        }
        let glob = GlobBuilder::new(pattern).literal_separator(false).build();
        set.add(glob.map_err(|error| wrong(error.kind().to_string()))?);
    }
    set.build().map_err(|error| SettingsError::Pattern {
        setting,
        pattern: clipped_line(&patterns.join(" "), 80),
        why: error.kind().to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(change: impl FnOnce(&mut EngineSettings)) -> String {
        let mut settings = EngineSettings::default();
        change(&mut settings);
        settings.validate().unwrap_err().to_string()
    }

    #[test]
    fn b9_every_default_is_supplied_and_within_its_bounds() {
        let settings = EngineSettings::default();
        settings.validate().unwrap();
        assert_eq!(serde_json::from_str::<EngineSettings>("{}").unwrap(), settings);
        assert_eq!((settings.concurrency, settings.retries), (8, None));
        assert_eq!(settings.retry_delay_ms, 500);
        assert_eq!(settings.failure_breaker, BreakerSettings { after: 10, window_ms: 60_000 });
        assert!(!settings.share_identical);
    }

    #[test]
    fn b4_a_concurrency_of_nought_is_refused_in_words() {
        let why = refused(|it| it.concurrency = 0);
        assert_eq!(
            why,
            "`concurrency` is `0`, so no call would ever run: expected 1 to 256 calls at once"
        );
    }

    #[test]
    fn every_number_has_a_bound() {
        for why in [
            refused(|it| it.concurrency = CONCURRENCY_MAX + 1),
            refused(|it| it.retries = Some(RETRIES_MAX + 1)),
            refused(|it| it.retry_delay_ms = RETRY_DELAY_MAX_MS + 1),
            refused(|it| it.failure_breaker.after = FAILURES_MAX + 1),
            refused(|it| it.failure_breaker.window_ms = FAILURE_WINDOW_MAX_MS + 1),
        ] {
            assert!(why.contains("expected at most"), "{why}");
        }
        assert!(refused(|it| it.failure_breaker.window_ms = 0).contains("at least 1"));
        let all = EngineSettings {
            concurrency: CONCURRENCY_MAX,
            retries: Some(RETRIES_MAX),
            retry_delay_ms: RETRY_DELAY_MAX_MS,
            failure_breaker: BreakerSettings {
                after: FAILURES_MAX,
                window_ms: FAILURE_WINDOW_MAX_MS,
            },
            unsafe_tools: vec!["*".to_owned(); PATTERNS_MAX],
            ..EngineSettings::default()
        };
        all.validate().unwrap();
    }

    #[test]
    fn b3_lists_of_tools_are_bounded_and_checked() {
        let why = refused(|it| it.unsafe_tools = vec!["a".to_owned(); PATTERNS_MAX + 1]);
        assert!(why.starts_with("`unsafe_tools` has 1001 patterns"), "{why}");
        for bad in ["", "files.[", "{a", &"a".repeat(PATTERN_MAX_LEN + 1)] {
            let why = refused(|it| it.parallel_tools = vec![bad.to_owned()]);
            assert!(why.starts_with("`parallel_tools` holds `"), "{why}");
        }
    }

    #[test]
    fn unknown_names_are_refused() {
        for json in [r#"{"paralel_tools":[]}"#, r#"{"failure_breaker":{"afer":1}}"#] {
            let why = serde_json::from_str::<EngineSettings>(json).unwrap_err().to_string();
            assert!(why.contains("unknown field"), "{why}");
        }
    }
}
