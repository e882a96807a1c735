//! How a call can end: a closed set, and what each end means.
//!
//! The one place that says which outcomes may be retried and whether the tool ran.

use serde::{Deserialize, Serialize};

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The tool answered.
    Success,
    /// The tool ran and said no.
    ToolError,
    /// The arguments don't fit the tool's schema.
    InvalidArguments,
    /// No such tool.
    NotFound,
    /// The caller's set of tools doesn't hold it.
    NotAllowed,
    /// Policy said no.
    Denied,
    /// A human has been asked and hasn't answered yet.
    ApprovalPending,
    /// A human said no, or nobody could be asked.
    ApprovalDeclined,
    /// A human didn't answer in time.
    ApprovalExpired,
    /// Cancelled before it started.
    Cancelled,
    /// Cancelled after it started.
    Interrupted,
    /// Met its deadline.
    TimedOut,
    /// Met its work budget.
    OutOfFuel,
    /// Met its memory limit.
    OutOfMemory,
    /// Produced more than is accepted.
    OutputTooLarge,
    /// The plugin trapped, or ended itself.
    Crashed,
    /// Too many calls at once.
    Overloaded,
    /// What runs the tool can't be reached.
    Unavailable,
    /// Belljar's own fault.
    HostFault,
}

/// Whether the tool's code ran. Ordered by how much may have been done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Executed {
    /// Certainly not.
    No,
    /// It began; what it did before its end is not known.
    Maybe,
    /// It ran to its own end.
    Yes,
}

impl Outcome {
    /// Every outcome, in the order of the documentation.
    pub const ALL: [Self; 19] = [
        Self::Success,
        Self::ToolError,
        Self::InvalidArguments,
        Self::NotFound,
        Self::NotAllowed,
        Self::Denied,
        Self::ApprovalPending,
        Self::ApprovalDeclined,
        Self::ApprovalExpired,
        Self::Cancelled,
        Self::Interrupted,
        Self::TimedOut,
        Self::OutOfFuel,
        Self::OutOfMemory,
        Self::OutputTooLarge,
        Self::Crashed,
        Self::Overloaded,
        Self::Unavailable,
        Self::HostFault,
    ];

    /// The name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::ToolError => "tool_error",
            Self::InvalidArguments => "invalid_arguments",
            Self::NotFound => "not_found",
            Self::NotAllowed => "not_allowed",
            Self::Denied => "denied",
            Self::ApprovalPending => "approval_pending",
            Self::ApprovalDeclined => "approval_declined",
            Self::ApprovalExpired => "approval_expired",
            Self::Cancelled => "cancelled",
            Self::Interrupted => "interrupted",
            Self::TimedOut => "timed_out",
            Self::OutOfFuel => "out_of_fuel",
            Self::OutOfMemory => "out_of_memory",
            Self::OutputTooLarge => "output_too_large",
            Self::Crashed => "crashed",
            Self::Overloaded => "overloaded",
            Self::Unavailable => "unavailable",
            Self::HostFault => "host_fault",
        }
    }

    /// Whether the same call may end otherwise if tried again. Deterministic ends (fuel, memory, a
    /// trap, a refusal) would only repeat themselves.
    pub fn is_retryable(self) -> bool {
        matches!(self, Self::TimedOut | Self::Overloaded | Self::Unavailable | Self::HostFault)
    }

    /// What is known of the tool having run.
    pub fn executed(self) -> Executed {
        match self {
            Self::Success | Self::ToolError => Executed::Yes,
            Self::InvalidArguments
            | Self::NotFound
            | Self::NotAllowed
            | Self::Denied
            | Self::ApprovalPending
            | Self::ApprovalDeclined
            | Self::ApprovalExpired
            | Self::Cancelled
            | Self::Overloaded
            | Self::Unavailable => Executed::No,
            Self::Interrupted
            | Self::TimedOut
            | Self::OutOfFuel
            | Self::OutOfMemory
            | Self::OutputTooLarge
            | Self::Crashed
            | Self::HostFault => Executed::Maybe,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_what_json_says() {
        for outcome in Outcome::ALL {
            let json = serde_json::to_string(&outcome).unwrap();
            assert_eq!(json, format!("\"{}\"", outcome.name()));
        }
    }

    #[test]
    fn nothing_that_may_have_run_is_called_unrun() {
        for outcome in Outcome::ALL {
            let started = matches!(
                outcome,
                Outcome::Success
                    | Outcome::ToolError
                    | Outcome::Interrupted
                    | Outcome::TimedOut
                    | Outcome::OutOfFuel
                    | Outcome::OutOfMemory
                    | Outcome::OutputTooLarge
                    | Outcome::Crashed
                    | Outcome::HostFault
            );
            assert_eq!(outcome.executed() != Executed::No, started, "{outcome:?}");
        }
    }
}
