//! What a guest may use of this machine, one capability a file.
//!
//! Every WASI 0.2 interface is linked, since stock components import them whether they use them or
//! not; each denies at use what wasn't granted. A capability sees its own view of the store only.

pub(crate) mod clocks;
pub(crate) mod denied;
pub(crate) mod env;
pub(crate) mod files;
pub(crate) mod http;
pub(crate) mod link;
pub(crate) mod random;
pub(crate) mod sockets;
pub(crate) mod speech;
