//! How this run asks a person: on its terminal, through the queue, by `--yes`, or not at all.
//!
//! Decides who is asked, never what is let through.

use std::io::{IsTerminal as _, stderr, stdin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use rustix::process::getuid;

use super::args::CallerArgs;
use super::prompt::TerminalApprover;
use super::screen::Screen;
use crate::config::{CliApprovals, Config};
use crate::contract::approval::{ApprovalDecision, ApprovalRequest, Approver, Channel};
use crate::contract::ids::{ApprovalId, ToolId};
use crate::contract::invocation::ApprovalMode;
use crate::contract::limits::LimitKind;
use crate::contract::outcome::Outcome;
use crate::events::Redactor;
use crate::gate::approval::ApprovalHook;

const NO_TERMINAL: &str = "note: there is no terminal to ask a person on; with --approvals queue \
                           the call waits for `belljar approvals`";
const NO_STATE: &str = "note: nothing is kept for `belljar approvals` to answer, as there is no \
                        folder for state; set `state` in the configuration";
const QUEUED: &str = "note: `belljar approvals list` shows what waits for a person";
/// Requests of one run that are told one by one.
const QUEUED_TOLD: usize = 20;
const WITHOUT_RULE: &str = "--yes stands for a person only where a rule with `yes = true` asks";

/// How a person is asked.
#[derive(Debug, Clone)]
pub(super) struct Asking {
    /// What becomes of a call that needs one.
    pub(super) mode: ApprovalMode,
    /// Who is asked in this process.
    pub(super) approver: Option<Arc<dyn ApprovalHook>>,
    /// What mends a call that ended because nobody could be asked.
    mends: Option<&'static str>,
}

impl Asking {
    /// As the options say, else the configuration.
    pub(super) fn new(
        args: &CallerArgs,
        config: &Config,
        screen: &Arc<Screen>,
        redactor: &Redactor,
    ) -> Self {
        if args.yes {
            let approver = Some(Arc::new(YesApprover) as _);
            return Self { mode: ApprovalMode::Wait, approver, mends: None };
        }
        let nobody = |mends| Self { mode: ApprovalMode::Deny, approver: None, mends };
        match args.approvals.unwrap_or(config.approvals.cli) {
            CliApprovals::Deny => nobody(None),
            CliApprovals::Queue if config.state.is_none() => nobody(Some(NO_STATE)),
            CliApprovals::Queue => {
                let wait_ms = config.approvals.hand_back_ms;
                let approver = Some(Arc::new(QueueTeller::new(screen, wait_ms)) as _);
                Self { mode: ApprovalMode::HandBack, approver, mends: Some(QUEUED) }
            }
            CliApprovals::Prompt if !(stdin().is_terminal() && stderr().is_terminal()) => {
                nobody(Some(NO_TERMINAL))
            }
            CliApprovals::Prompt => {
                let approver = TerminalApprover::new(Arc::clone(screen), redactor.clone());
                let approver = Some(Arc::new(approver) as _);
                Self { mode: ApprovalMode::Wait, approver, mends: None }
            }
        }
    }

    /// What there is to say of a call that ended so.
    pub(super) fn remark(&self, outcome: Outcome) -> Option<&'static str> {
        match (self.mode, outcome) {
            (ApprovalMode::Deny, Outcome::ApprovalDeclined)
            | (ApprovalMode::HandBack, Outcome::ApprovalPending) => self.mends,
            _ => None,
        }
    }
}

/// Who answers here: a fact of the machine, since names of the environment are anybody's to set.
pub(super) fn user() -> String {
    format!("uid {}", getuid().as_raw())
}

/// Answers nothing: says at once which request waits and how to answer it, also where an identical
/// call has made it.
#[derive(Debug)]
struct QueueTeller {
    screen: Arc<Screen>,
    wait_ms: u64,
    told: AtomicUsize,
}

impl QueueTeller {
    fn new(screen: &Arc<Screen>, wait_ms: u64) -> Self {
        Self { screen: Arc::clone(screen), wait_ms, told: AtomicUsize::new(0) }
    }

    /// What is said of a request; the first behind the last that is told stands for all others.
    fn words(&self, id: &ApprovalId, tool: &ToolId) -> Option<String> {
        match self.told.fetch_add(1, Ordering::Relaxed) {
            told if told < QUEUED_TOLD => Some(format!(
                "note: `{tool}` waits up to {} for a person: `belljar approvals approve {id}`, or \
                 `belljar approvals deny {id}`",
                LimitKind::CallDeadline.show(self.wait_ms)
            )),
            QUEUED_TOLD => Some("note: more calls wait: `belljar approvals list`".to_owned()),
            _ => None,
        }
    }
}

#[async_trait]
impl ApprovalHook for QueueTeller {
    async fn decide(&self, request: &ApprovalRequest) -> Option<(ApprovalDecision, Approver)> {
        self.words(&request.id, &request.tool)
            .into_iter()
            .for_each(|words| self.screen.tell(&words));
        None
    }
}

/// Answers as whoever typed `--yes`.
#[derive(Debug)]
struct YesApprover;

#[async_trait]
impl ApprovalHook for YesApprover {
    async fn decide(&self, request: &ApprovalRequest) -> Option<(ApprovalDecision, Approver)> {
        let decision = match request.yes_allowed {
            true => ApprovalDecision::Once,
            false => ApprovalDecision::Deny { reason: Some(WITHOUT_RULE.to_owned()) },
        };
        let name = format!("--yes of {}", user());
        Some((decision, Approver { name, channel: Channel::Terminal }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_requests_are_told_one_by_one_and_then_that_there_are_more() {
        let teller = QueueTeller::new(&Arc::new(Screen::default()), 20_000);
        let (id, tool) = (ApprovalId::from_random([7; 12]), "files.write".parse().unwrap());
        for _ in 0..QUEUED_TOLD {
            let words = teller.words(&id, &tool).unwrap();
            assert!(words.contains(&format!("approvals approve {id}`")), "{words}");
            assert!(words.contains("up to 20 s"), "{words}");
        }
        assert!(teller.words(&id, &tool).unwrap().contains("belljar approvals list"));
        assert_eq!(teller.words(&id, &tool), None);
    }
}
