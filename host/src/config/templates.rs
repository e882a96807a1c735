//! Texts over the caller's context: `/srv/{workspace}` is another folder for each workspace.
//!
//! Lets no caller put more than one plain name in a placeholder's stead.

mod grants;

use crate::contract::approval::CallerContext;
use crate::contract::escape::is_hidden;

use super::error::shown;

pub use grants::{DirTemplate, EnvTemplate, GrantTemplate, HostGrant, ResolvedDir, ResolvedGrants};
pub(super) use grants::{Lie, lie};

/// Longest value of a placeholder, in bytes.
pub const SEGMENT_MAX: usize = 128;

/// What of a caller a template may name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placeholder {
    /// `{workspace}`.
    Workspace,
    /// `{user}`.
    User,
    /// `{execution_user}`.
    ExecutionUser,
    /// `{session}`.
    Session,
    /// `{caller}`.
    Caller,
}

impl Placeholder {
    const ALL: [Self; 5] =
        [Self::Workspace, Self::User, Self::ExecutionUser, Self::Session, Self::Caller];

    /// Its name between the braces.
    pub fn name(self) -> &'static str {
        match self {
            Self::Workspace => "workspace",
            Self::User => "user",
            Self::ExecutionUser => "execution_user",
            Self::Session => "session",
            Self::Caller => "caller",
        }
    }

    fn value(self, caller: &CallerContext) -> Option<&str> {
        let value = match self {
            Self::Workspace => &caller.workspace,
            Self::User => &caller.user_id,
            Self::ExecutionUser => &caller.execution_user_id,
            Self::Session => &caller.session_id,
            Self::Caller => &caller.caller,
        };
        value.as_deref()
    }
}

/// Why a text is no template, or has no meaning for a caller.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// A name that no caller has.
    #[error(
        "`{{{0}}}` is no placeholder: expected {known}; `{{{{` stands for a brace",
        known = Placeholder::ALL.map(|it| format!("`{{{}}}`", it.name())).join(", ")
    )]
    Unknown(String),
    /// A brace alone.
    #[error("a brace stands alone: write `{{{{` or `}}}}` for a brace")]
    Brace,
    /// The caller has none of it.
    #[error("`{template}` needs `{{{placeholder}}}`, and the caller has none")]
    Missing {
        /// The template.
        template: String,
        /// What it names.
        placeholder: &'static str,
    },
    /// The caller's could lead elsewhere.
    #[error(
        "`{{{placeholder}}}` is `{value}` for this caller: expected one plain name of at most \
         {SEGMENT_MAX} bytes, without `/`, and neither `.` nor `..`"
    )]
    Unsafe {
        /// What the template names.
        placeholder: &'static str,
        /// What the caller has.
        value: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    Placeholder(Placeholder),
}

/// A text with placeholders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    source: String,
    parts: Vec<Part>,
}

impl Template {
    /// Reads a template.
    ///
    /// # Errors
    /// An unknown placeholder, or a brace that stands alone.
    pub fn parse(source: &str) -> Result<Self, TemplateError> {
        let (mut parts, mut text, mut rest) = (Vec::new(), String::new(), source);
        while let Some(at) = rest.find(['{', '}']) {
            let (before, after) = rest.split_at(at);
            text.push_str(before);
            if let Some(after) = after.strip_prefix("{{") {
                text.push('{');
                rest = after;
            } else if let Some(after) = after.strip_prefix("}}") {
                text.push('}');
                rest = after;
            } else if let Some((name, after)) =
                after.strip_prefix('{').and_then(|after| after.split_once('}'))
            {
                let known = Placeholder::ALL.into_iter().find(|it| it.name() == name);
                let placeholder = known.ok_or_else(|| TemplateError::Unknown(shown(name)))?;
                if !text.is_empty() {
                    parts.push(Part::Text(std::mem::take(&mut text)));
                }
                parts.push(Part::Placeholder(placeholder));
                rest = after;
            } else {
                return Err(TemplateError::Brace);
            }
        }
        text.push_str(rest);
        if !text.is_empty() {
            parts.push(Part::Text(text));
        }
        Ok(Self { source: source.to_owned(), parts })
    }

    /// The template as it was written.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Whether it is the same for every caller.
    pub fn is_fixed(&self) -> bool {
        self.parts.iter().all(|part| matches!(part, Part::Text(_)))
    }

    /// The text before the first placeholder, and whether one follows.
    fn beginning(&self) -> (&str, bool) {
        match self.parts.first() {
            Some(Part::Text(text)) => (text, self.parts.len() > 1),
            Some(Part::Placeholder(_)) => ("", true),
            None => ("", false),
        }
    }

    /// The text for a caller.
    ///
    /// # Errors
    /// The caller lacks what a placeholder names, or has a value that isn't one plain name.
    pub fn fill(&self, caller: &CallerContext) -> Result<String, TemplateError> {
        self.parts.iter().try_fold(String::new(), |mut filled, part| {
            filled.push_str(match part {
                Part::Text(text) => text,
                Part::Placeholder(placeholder) => self.value(*placeholder, caller)?,
            });
            Ok(filled)
        })
    }

    fn value<'a>(
        &self,
        placeholder: Placeholder,
        caller: &'a CallerContext,
    ) -> Result<&'a str, TemplateError> {
        let value = placeholder.value(caller).ok_or_else(|| TemplateError::Missing {
            template: shown(&self.source),
            placeholder: placeholder.name(),
        })?;
        if is_safe_segment(value) {
            return Ok(value);
        }
        Err(TemplateError::Unsafe { placeholder: placeholder.name(), value: shown(value) })
    }
}

/// Whether `value` names one folder and nothing above it. What a reader can't see is refused too:
/// two names that look alike must not be two tenants.
fn is_safe_segment(value: &str) -> bool {
    !matches!(value, "" | "." | "..")
        && value.len() <= SEGMENT_MAX
        && !value.contains(['/', '\\'])
        && !value.chars().any(is_hidden)
}

#[cfg(test)]
mod tests;
