//! The word that a call waits for a person, for whoever runs this process.
//!
//! Apart from the events: whoever hears it is nobody who could answer, so it doesn't count as one.

use tokio::sync::broadcast;

use super::queue::ApprovalQueue;
use crate::contract::approval::ApprovalRequest;
use crate::contract::ids::{ApprovalId, ToolId};

/// Notices that are held for who is slow to hear them; then the oldest go, and are counted.
pub(super) const HELD_MAX: usize = 64;

/// A request that can be answered from now on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// The request.
    pub id: ApprovalId,
    /// The tool.
    pub tool: ToolId,
    /// Who asks.
    pub caller: Option<String>,
    /// Whether it is a question, which only an answer answers.
    pub question: bool,
}

impl ApprovalQueue {
    /// Hears of each request that calls of this process make, from now on; identical calls make one.
    /// Of those in mode `HandBackAtOnce` whoever calls tells somebody itself.
    pub fn notices(&self) -> broadcast::Receiver<Notice> {
        self.0.notices.subscribe()
    }

    /// Tells of a request that waits for whoever looks at the queue.
    pub fn notice(&self, request: &ApprovalRequest) {
        if self.0.notices.receiver_count() == 0 {
            return;
        }
        let notice = Notice {
            id: request.id.clone(),
            tool: request.tool.clone(),
            caller: request.caller.caller.clone(),
            question: request.question,
        };
        // An error means that the last who heard has just gone.
        self.0.notices.send(notice).ok();
    }
}
