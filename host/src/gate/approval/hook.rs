//! The approver of a program that holds the host: one way to answer among several.
//!
//! Knows no terminal and no queue.

use async_trait::async_trait;

use crate::contract::approval::{ApprovalDecision, ApprovalEntry, ApprovalRequest, Approver};

/// Somebody in this process who can be asked.
#[async_trait]
pub trait ApprovalHook: Send + Sync + std::fmt::Debug {
    /// Asks, and waits for the answer; `None`: there is none from here, and others may still
    /// answer. Dropped when the call no longer waits.
    async fn decide(&self, request: &ApprovalRequest) -> Option<(ApprovalDecision, Approver)>;

    /// The request ended while [`ApprovalHook::decide`] still asked: somebody else answered, or
    /// nobody did in time.
    fn ended(&self, entry: &ApprovalEntry) {
        let _ = entry;
    }
}
