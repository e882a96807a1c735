//! Why the http API doesn't start.

use crate::frontends::access::AccessError;

/// Why nothing is served. Holds no token.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// A token that is named and can't be had.
    #[error("the token `{name}` has no value: {reason}")]
    Token {
        /// Its name in the configuration.
        name: String,
        /// Where it was looked for, and what is wrong there.
        reason: String,
    },
    /// Two names for one token: nobody could say who it is.
    #[error("the tokens `{0}` and `{1}` are the same: expected one name for each")]
    SameToken(String, String),
    /// A caller or a set of tools.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// A document of ours.
    #[error("the description of the API can't be read: {0}")]
    Description(#[from] serde_json::Error),
    /// The socket.
    #[error("no connection can be accepted: {0}")]
    Socket(std::io::Error),
}
