//! What a request holds for as long as something of it is kept, whoever keeps it.
//!
//! Knows neither what that is nor how much of it there is.

use std::any::Any;
use std::sync::Arc;

/// Something held, among the extensions of a request; it is given back with the last clone.
#[derive(Debug, Clone)]
pub(super) struct Held(
    #[expect(dead_code, reason = "it is held, and nothing else")] Arc<dyn Any + Send + Sync>,
);

impl Held {
    /// Holds it.
    #[cfg(feature = "http")]
    pub(super) fn new(held: Arc<dyn Any + Send + Sync>) -> Self {
        Self(held)
    }
}
