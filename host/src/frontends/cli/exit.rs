//! The exit codes of every command: the one place that says which end has which.
//!
//! A new outcome or start error doesn't compile until it has a code here.

use std::process::ExitCode;

use crate::app::StartError;
use crate::contract::outcome::Outcome;

/// How a command ended, as a shell sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// It did what was asked.
    Success,
    /// The tool ran and said no, or the audit log isn't sound.
    SaidNo,
    /// The command line is wrong, or names what can't be read or granted.
    Usage,
    /// The call, or a plugin, was refused.
    Refused,
    /// A limit stopped the call.
    LimitMet,
    /// The plugin crashed.
    Crashed,
    /// The host is at fault, too busy, or can't reach what runs the tool.
    HostFault,
    /// Cancelled or interrupted.
    Interrupted,
}

impl Exit {
    /// Every end, in the order of their codes.
    pub const ALL: [Self; 8] = [
        Self::Success,
        Self::SaidNo,
        Self::Usage,
        Self::Refused,
        Self::LimitMet,
        Self::Crashed,
        Self::HostFault,
        Self::Interrupted,
    ];

    /// The code.
    pub fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::SaidNo => 1,
            // What clap ends with.
            Self::Usage => 2,
            Self::Refused => 3,
            Self::LimitMet => 4,
            Self::Crashed => 5,
            Self::HostFault => 6,
            // What a shell reports of a program that Ctrl-C ended: 128 + SIGINT.
            Self::Interrupted => 130,
        }
    }

    /// Short enough for a line of a terminal 80 columns wide.
    fn meaning(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::SaidNo => "the tool said no, or the audit log isn't sound",
            Self::Usage => "wrong usage, or a file or folder that can't be read or granted",
            Self::Refused => {
                "refused: unknown tool, bad arguments, no permission, approval or plugin"
            }
            Self::LimitMet => "a limit stopped the call: time, fuel, memory or output",
            Self::Crashed => "the plugin crashed",
            Self::HostFault => "belljar's own fault, overloaded, or unavailable",
            Self::Interrupted => "cancelled or interrupted",
        }
    }

    /// The code of a call that ended so.
    pub fn of_outcome(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Success => Self::Success,
            Outcome::ToolError => Self::SaidNo,
            Outcome::InvalidArguments
            | Outcome::NotFound
            | Outcome::NotAllowed
            | Outcome::Denied
            | Outcome::ApprovalPending
            | Outcome::ApprovalDeclined
            | Outcome::ApprovalExpired => Self::Refused,
            Outcome::TimedOut
            | Outcome::OutOfFuel
            | Outcome::OutOfMemory
            | Outcome::OutputTooLarge => Self::LimitMet,
            Outcome::Crashed => Self::Crashed,
            Outcome::Overloaded | Outcome::Unavailable | Outcome::HostFault => Self::HostFault,
            Outcome::Cancelled | Outcome::Interrupted => Self::Interrupted,
        }
    }

    /// The code of a host that didn't start.
    pub fn of_start(error: &StartError) -> Self {
        match error {
            error if error.is_the_hosts() => Self::HostFault,
            StartError::Grant(_)
            | StartError::Folder { .. }
            | StartError::Template(_)
            | StartError::Limit(_)
            | StartError::Policy(_)
            | StartError::Own(_)
            | StartError::Settings(_) => Self::Usage,
            // The configuration is wrong, not the plugin.
            StartError::Plugin { source, .. } if source.is_of_the_configuration() => Self::Usage,
            StartError::Discover(_) | StartError::Plugin { .. } => Self::Refused,
            StartError::Engine(_)
            | StartError::State { .. }
            | StartError::Storage(_)
            | StartError::Audit(_)
            | StartError::CodeStore(_) => Self::HostFault,
        }
    }

    /// The table that `--help` shows.
    pub fn table() -> String {
        let mut table = String::from("Exit codes:\n");
        for exit in Self::ALL {
            table.push_str(&format!("  {:>3}  {}\n", exit.code(), exit.meaning()));
        }
        table
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_outcome_has_the_documented_code() {
        let documented = [
            (0, &["success"][..]),
            (1, &["tool_error"]),
            (
                3,
                &[
                    "invalid_arguments",
                    "not_found",
                    "not_allowed",
                    "denied",
                    "approval_pending",
                    "approval_declined",
                    "approval_expired",
                ],
            ),
            (4, &["timed_out", "out_of_fuel", "out_of_memory", "output_too_large"]),
            (5, &["crashed"]),
            (6, &["overloaded", "unavailable", "host_fault"]),
            (130, &["cancelled", "interrupted"]),
        ];
        let mut seen = 0;
        for (code, names) in documented {
            for outcome in Outcome::ALL.into_iter().filter(|it| names.contains(&it.name())) {
                assert_eq!(Exit::of_outcome(outcome).code(), code, "{}", outcome.name());
                seen += 1;
            }
        }
        assert_eq!(seen, Outcome::ALL.len());
    }

    #[test]
    fn codes_are_distinct_and_all_are_in_the_table() {
        let mut codes: Vec<u8> = Exit::ALL.iter().map(|exit| exit.code()).collect();
        codes.dedup();
        assert_eq!(codes, [0, 1, 2, 3, 4, 5, 6, 130]);
        let table = Exit::table();
        for exit in Exit::ALL {
            let row = format!("{:>3}  {}", exit.code(), exit.meaning());
            assert!(table.contains(&row) && row.len() < 78, "{row} in {table}");
        }
    }
}
