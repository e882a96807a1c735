//! Asks people: what an answer is bound to, who may give it, what it covers, and how a call waits.
//!
//! `storage` keeps requests and answers; channels (a terminal, a library's hook) hand answers to
//! [`ApprovalQueue::decide`]. Runs no tool: whoever is admitted still takes the answer at dispatch.

mod answer;
mod ask;
mod binding;
mod card;
mod check;
mod decide;
mod error;
mod hold;
mod hook;
mod notice;
mod pattern;
mod put;
mod queue;
mod recording;
mod remembered;
mod request;
mod seen;
mod waiting;

pub use answer::Answer;
pub use card::{card, entry_card};
pub use decide::{Decisions, Selection};
pub use error::ApprovalError;
pub use hook::ApprovalHook;
pub use notice::Notice;
pub use queue::{ApprovalQueue, ApprovalSettings};
pub use remembered::{Asked, RememberedSet};
pub use request::Asking;

#[cfg(test)]
mod tests;
