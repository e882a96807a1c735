//! Which ends may be tried again at all, and how often.
//!
//! Knows neither time nor how busy the host is.

use crate::contract::descriptor::ToolDescriptor;
use crate::contract::outcome::{Executed, Outcome};
use crate::contract::result::ToolResult;

/// Retries of an idempotent tool where the operator sets none.
const RETRIES_IF_IDEMPOTENT: u32 = 2;

/// Why a result stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The same call would end the same way, or somebody decided that it ends so.
    NotRetryable,
    /// The tool isn't idempotent and may have run.
    MayHaveRun,
    /// It ran until its deadline, and nobody asked for retries.
    Late,
    /// It was tried as often as it may be: so many times.
    AttemptsUsed(u32),
    /// A retry could not begin before the call's deadline.
    Deadline,
    /// The host has spent on retries what it may.
    HostBudget,
}

/// How often a call of `tool` is tried at most: its retries and one (B5).
pub(crate) fn attempts_allowed(retries: Option<u32>, tool: &ToolDescriptor) -> u32 {
    let unset = if tool.effects.idempotent.value { RETRIES_IF_IDEMPOTENT } else { 0 };
    retries.unwrap_or(unset).saturating_add(1)
}

/// Whether a call that ended in `result` may be tried again (T25): only an end that may be another
/// next time, and for a tool that isn't idempotent only where it certainly did not run. One that ran
/// until its deadline would mostly do so again, in as fresh a sandbox, and its caller would wait
/// three times as long: it is repeated only where the operator set retries.
///
/// # Errors
/// Why it may not.
pub(crate) fn may_repeat(
    result: &ToolResult,
    tool: &ToolDescriptor,
    retries: Option<u32>,
) -> Result<(), Stop> {
    if !(result.retryable && result.outcome.is_retryable()) {
        Err(Stop::NotRetryable)
    } else if !tool.effects.idempotent.value && result.executed != Executed::No {
        Err(Stop::MayHaveRun)
    } else if retries.is_none()
        && result.outcome == Outcome::TimedOut
        && result.executed != Executed::No
    {
        Err(Stop::Late)
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::descriptor::example;
    use crate::contract::effects::Effect;

    fn ended(outcome: Outcome) -> ToolResult {
        ToolResult::refused("c".parse().unwrap(), outcome, "no")
    }

    #[test]
    fn b5_attempts_are_retries_and_one() {
        let plain = example("a.b", Effect::assumed(false));
        let idempotent = example("a.b", Effect::claimed(true));
        assert_eq!(attempts_allowed(None, &plain), 1);
        assert_eq!(attempts_allowed(None, &idempotent), 3);
        assert_eq!(attempts_allowed(Some(0), &idempotent), 1);
        assert_eq!(attempts_allowed(Some(4), &plain), 5);
    }

    #[test]
    fn only_ends_that_may_be_others_next_time_are_repeated() {
        let tool = example("a.b", Effect::claimed(true));
        for outcome in Outcome::ALL {
            let again = may_repeat(&ended(outcome), &tool, Some(2)).is_ok();
            let wanted = matches!(
                outcome,
                Outcome::TimedOut | Outcome::Overloaded | Outcome::Unavailable | Outcome::HostFault
            );
            assert_eq!(again, wanted, "{outcome:?}");
        }
        let late = may_repeat(&ended(Outcome::TimedOut), &tool, None);
        assert_eq!(late, Err(Stop::Late), "nobody set retries");
        let mut settled = ended(Outcome::TimedOut);
        settled.retryable = false;
        assert_eq!(may_repeat(&settled, &tool, Some(2)), Err(Stop::NotRetryable));
    }

    #[test]
    fn t25_a_tool_that_is_not_idempotent_is_repeated_only_where_it_did_not_run() {
        let tool = example("a.b", Effect::assumed(false));
        for outcome in [Outcome::TimedOut, Outcome::HostFault] {
            assert_eq!(may_repeat(&ended(outcome), &tool, Some(2)), Err(Stop::MayHaveRun));
        }
        for outcome in [Outcome::Overloaded, Outcome::Unavailable] {
            assert_eq!(may_repeat(&ended(outcome), &tool, Some(2)), Ok(()));
        }
        let mut waited = ended(Outcome::TimedOut);
        waited.executed = Executed::No;
        assert_eq!(may_repeat(&waited, &tool, None), Ok(()), "it timed out before it began");
        for executed in [Executed::Maybe, Executed::Yes] {
            let mut ran = ended(Outcome::Unavailable);
            ran.executed = executed;
            assert_eq!(may_repeat(&ran, &tool, Some(2)), Err(Stop::MayHaveRun));
        }
    }
}
