//! What the engine and its frontends need of others, as traits: whoever finds tools, whoever runs
//! them, and whoever takes in clients that run tools of their own.
//!
//! Traits and what they hand over; nothing here does anything.

use std::sync::Arc;

use tokio::sync::{mpsc, watch};

use crate::contract::approval::CallerContext;
use crate::contract::arguments::ArgumentCheck;
use crate::contract::attempt::{Attempt, AttemptEnd};
use crate::contract::client::{ClientMessage, HostMessage};
use crate::contract::descriptor::ToolDescriptor;
use crate::contract::grants::ToolGrants;
use crate::contract::ids::ToolId;
use crate::contract::invocation::{PermissionLevel, ToolInvocation};

/// A tool that can be called.
#[derive(Clone)]
pub struct FoundTool {
    /// What it is.
    pub descriptor: Arc<ToolDescriptor>,
    /// Checks arguments against its schema.
    pub check: Arc<dyn ArgumentCheck>,
    /// What it may use.
    pub grants: ToolGrants,
    /// The one caller it exists for: to all others its name is unknown. `None`: everybody.
    pub owner: Option<Arc<str>>,
}

impl std::fmt::Debug for FoundTool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FoundTool").field("id", &self.descriptor.id).finish_non_exhaustive()
    }
}

/// Finds tools by name.
pub trait ToolLookup: Send + Sync {
    /// The tool of exactly this id or wire name.
    fn find(&self, name: &str) -> Option<FoundTool>;
    /// The tool that a connected client of this caller offers under this name of its own, where
    /// exactly one does (A10 step 2).
    fn of_session(&self, caller: &str, name: &str) -> Option<FoundTool> {
        let _nobody_is_connected = (caller, name);
        None
    }
    /// Ids that somebody who asked for `name` may have meant, nearest first, a few.
    fn near(&self, name: &str) -> Vec<String>;
}

/// Lists tools, for frontends that show them.
pub trait ToolListing: Send + Sync {
    /// All that can be called now, by id.
    fn list(&self) -> Arc<[FoundTool]>;
    /// The same tool that [`ToolLookup::find`] finds.
    fn named(&self, name: &str) -> Option<FoundTool>;
    /// A number that rises whenever what [`Self::list`] gives has changed.
    fn revision(&self) -> watch::Receiver<u64>;
    /// Whether a plugin of this name is still being loaded.
    fn expects(&self, plugin: &str) -> bool {
        let _nothing_comes_later = plugin;
        false
    }
}

/// Runs attempts. The end it returns is typed; it never guesses.
#[async_trait::async_trait]
pub trait ToolRunner: Send + Sync {
    /// Runs one attempt. Must honour its deadline and its cancel token, and be safe to drop at any
    /// await.
    async fn run(&self, tool: &ToolId, attempt: Attempt) -> AttemptEnd;
}

/// Knows the levels that live sessions set for themselves (A15).
pub trait LiveLevels: Send + Sync {
    /// The level that holds for a call now: the narrower of its own and that of the caller's live
    /// sessions.
    fn level(&self, call: &ToolInvocation) -> PermissionLevel;
}

/// Why a client isn't taken in, or isn't any longer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClientError {
    /// Its tools would be everybody's.
    #[error("a client needs a caller by name, to whom its tools belong")]
    Nameless,
    /// Too many clients of one caller.
    #[error("the caller has {0} clients connected, and no more are taken")]
    TooManyOfCaller(usize),
    /// Too many clients.
    #[error("{0} clients are connected, and no more are taken")]
    TooMany(usize),
    /// What it registers can't be taken.
    #[error("{0}")]
    Registration(String),
    /// A message that can't come at this place.
    #[error("{0}")]
    Order(&'static str),
}

/// Takes in clients that run tools of their own.
pub trait ClientGateway: Send + Sync {
    /// A place for a client of this caller.
    ///
    /// # Errors
    /// `Nameless`, `TooManyOfCaller`, `TooMany`.
    fn connect(&self, caller: &CallerContext) -> Result<Connected, ClientError>;
}

/// A client's place.
pub struct Connected {
    /// Where what it says goes.
    pub connection: Box<dyn ClientConnection>,
    /// What it is told. Ends where the client doesn't take what is sent to it.
    pub outgoing: mpsc::Receiver<HostMessage>,
}

impl std::fmt::Debug for Connected {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connected").finish_non_exhaustive()
    }
}

/// One connected client. Dropped, its tools are gone and its open requests end at once.
pub trait ClientConnection: Send {
    /// Takes a message. A result or progress of a request that isn't open is dropped and counted.
    ///
    /// # Errors
    /// `Registration`, `Order`: the client can't stay.
    fn hear(&mut self, message: ClientMessage) -> Result<(), ClientError>;
    /// Whether it has registered.
    fn is_registered(&self) -> bool;
}
