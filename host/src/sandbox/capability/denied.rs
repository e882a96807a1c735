//! What a guest tried to use and wasn't given, kept to be named in the result.

use std::sync::{Arc, Mutex, PoisonError};

use crate::contract::escape;
use crate::contract::result::MissingGrant;

/// Distinct denials that are kept; a guest that tries more is told of these.
const KEPT: usize = 8;
/// Longest text of what was tried, in bytes.
const TRIED_MAX_LEN: usize = 200;

/// The denials of one store. Shared with streams that outlive the borrow of the store.
#[derive(Debug, Clone, Default)]
pub(crate) struct Denials(Arc<Mutex<Vec<MissingGrant>>>);

impl Denials {
    /// Notes one denial; `tried` is the guest's own wording and is escaped here.
    pub(crate) fn note(&self, kind: &str, tried: &str, grant: Option<&str>) {
        let tried = escape::clipped_line(tried, TRIED_MAX_LEN);
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = kept.iter().any(|old| old.kind == kind && old.tried == tried);
        if !known && kept.len() < KEPT {
            let grant = grant.map(str::to_owned);
            kept.push(MissingGrant { kind: kind.to_owned(), tried, grant, why: None });
        }
    }

    /// Takes all that was noted.
    pub(crate) fn take(&self) -> Vec<MissingGrant> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_and_endless_denials_stay_bounded() {
        let denials = Denials::default();
        for _ in 0..3 {
            denials.note("http", "GET a", None);
        }
        for index in 0..100 {
            denials.note("http", &format!("GET {index}\u{1b}[2J{}", "x".repeat(5000)), None);
        }
        let kept = denials.take();
        assert_eq!(kept.len(), KEPT);
        assert!(kept.iter().all(|one| one.tried.len() <= TRIED_MAX_LEN + 8));
        assert!(kept.iter().all(|one| !one.tried.contains('\u{1b}')));
        assert!(denials.take().is_empty());
    }
}
