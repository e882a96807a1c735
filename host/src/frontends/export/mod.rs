//! What model providers are told of tools, and their messages to calls and back.
//!
//! Makes and reads JSON and nothing else: runs no tool, opens no connection, and leaves every
//! descriptor as it is. The canonical schema stays what arguments are checked by; a provider's is a
//! copy of it, and whatever that copy can't say is reported.
//!
//! A program's loop is: [`definitions`] into the request, [`invocations`] from the answer, those to
//! [`crate::Host::batch`], and [`results`] into the next request.

mod definitions;
mod finding;
mod format;
mod messages;
mod names;
mod schema;

pub use definitions::{Exported, definitions};
pub use finding::{Finding, FindingKind};
pub use format::{Format, Strict};
pub use messages::{CALLS_MAX, Call, Calls, MessagesError, invocations, results};
pub use names::Names;
