//! Which provider's shapes, and how strict. Knows no shape itself.

use serde::Serialize;

/// A provider's interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// OpenAI's Chat Completions.
    OpenaiChat,
    /// OpenAI's Responses.
    OpenaiResponses,
    /// Anthropic's Messages.
    Anthropic,
    /// Gemini's `generateContent`.
    Gemini,
}

impl Format {
    /// Every format.
    pub const ALL: [Self; 4] =
        [Self::OpenaiChat, Self::OpenaiResponses, Self::Anthropic, Self::Gemini];

    /// Its name, as it is typed.
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenaiChat => "openai-chat",
            Self::OpenaiResponses => "openai-responses",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
        }
    }
}

/// Whether the provider is asked to hold the model to the schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strict {
    /// The schema guides the model; the host checks what comes.
    Off,
    /// The provider makes only arguments that fit, where a tool's schema can be said in its strict
    /// subset; a tool whose schema can't is told without, and reported.
    On,
}
