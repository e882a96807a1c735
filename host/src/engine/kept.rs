//! Keeps the attachments of calls for a while, so that whoever made a call can fetch them later.
//!
//! In memory alone: bounded in bytes and in time, and gone with the process. Nobody gets what
//! another caller's call left.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::contract::approval::CallerContext;
use crate::contract::result::{Attachment, AttachmentKind, ToolResult};

/// Bytes that are kept in all.
pub const KEPT_MAX_BYTES: u64 = 256 << 20;
/// Bytes that are kept for one caller: more than the largest output, and not all there is.
pub const KEPT_MAX_BYTES_OF_ONE: u64 = 96 << 20;
/// Attachments that are kept in all.
pub const KEPT_MAX: usize = 10_000;
/// Attachments that are kept for one caller: by far more than one result has, and not all there are.
pub const KEPT_MAX_OF_ONE: usize = 4_000;
/// How long one is kept, in milliseconds: an hour.
pub const KEPT_MAX_MS: u64 = 60 * 60 * 1000;

/// Whose attachments they are. The level isn't part of it: it says what may be called.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Owner {
    caller: Option<String>,
    user: Option<String>,
    execution_user: Option<String>,
    workspace: Option<String>,
}

impl Owner {
    fn of(caller: &CallerContext) -> Self {
        Self {
            caller: caller.caller.clone(),
            user: caller.user_id.clone(),
            execution_user: caller.execution_user_id.clone(),
            workspace: caller.workspace.clone(),
        }
    }
}

/// The attachments. Clones are the same.
#[derive(Debug, Clone, Default)]
pub struct KeptResults(Arc<Mutex<Kept>>);

#[derive(Debug, Default)]
struct Kept {
    by_uri: HashMap<(Owner, String), Held>,
    /// By the number they came with, which rises.
    order: BTreeMap<u64, (Owner, String)>,
    bytes: u64,
    of: HashMap<Owner, Part>,
    last: u64,
}

/// What is kept for one caller.
#[derive(Debug, Default)]
struct Part {
    bytes: u64,
    numbers: BTreeSet<u64>,
}

#[derive(Debug)]
struct Held {
    attachment: Arc<Attachment>,
    kept_unix_ms: u64,
    number: u64,
}

impl KeptResults {
    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps what a call's result holds. The oldest goes where there is no room.
    pub fn keep(&self, caller: &CallerContext, result: &ToolResult, now_unix_ms: u64) {
        if result.attachments.is_empty() {
            return;
        }
        let (owner, mut kept) = (Owner::of(caller), self.lock());
        for attachment in &result.attachments {
            kept.add(&owner, attachment, now_unix_ms);
        }
        kept.make_room(&owner, now_unix_ms);
    }

    /// The attachment of this address, where a call of this caller left it and it is still kept.
    pub fn get(
        &self,
        caller: &CallerContext,
        uri: &str,
        now_unix_ms: u64,
    ) -> Option<Arc<Attachment>> {
        let kept = self.lock();
        let held = kept.by_uri.get(&(Owner::of(caller), uri.to_owned()))?;
        held.is_fresh(now_unix_ms).then(|| Arc::clone(&held.attachment))
    }

    /// What is kept of this caller's calls, the oldest first.
    pub fn list(&self, caller: &CallerContext, now_unix_ms: u64) -> Vec<Arc<Attachment>> {
        let (owner, kept) = (Owner::of(caller), self.lock());
        let Some(part) = kept.of.get(&owner) else { return Vec::new() };
        let own = part.numbers.iter().filter_map(|number| kept.numbered(*number));
        let fresh = own.filter(|held| held.is_fresh(now_unix_ms));
        fresh.map(|held| Arc::clone(&held.attachment)).collect()
    }
}

impl Held {
    fn is_fresh(&self, now_unix_ms: u64) -> bool {
        now_unix_ms.saturating_sub(self.kept_unix_ms) < KEPT_MAX_MS
    }
}

/// Its bytes, and the texts that its tool chose: a link has no bytes, and can be long.
fn size(attachment: &Attachment) -> u64 {
    let texts = match &attachment.kind {
        AttachmentKind::ResourceLink { target, name } => target.len() + name.len(),
        AttachmentKind::Resource { target } => target.len(),
        _ => 0,
    };
    let claimed = attachment.mime_type.as_ref().map_or(0, String::len);
    (attachment.bytes.len() + texts + claimed) as u64
}

impl Kept {
    fn add(&mut self, owner: &Owner, attachment: &Attachment, now_unix_ms: u64) {
        let key = (owner.clone(), attachment.uri.clone());
        self.remove(&key);
        self.last += 1;
        self.order.insert(self.last, key.clone());
        self.bytes += size(attachment);
        let part = self.of.entry(owner.clone()).or_default();
        part.bytes += size(attachment);
        part.numbers.insert(self.last);
        let held = Held {
            attachment: Arc::new(attachment.clone()),
            kept_unix_ms: now_unix_ms,
            number: self.last,
        };
        self.by_uri.insert(key, held);
    }

    /// What is too old goes, then the oldest of whoever has too much, then the oldest of all.
    fn make_room(&mut self, owner: &Owner, now_unix_ms: u64) {
        while let Some(oldest) = self.oldest()
            && self.by_uri.get(&oldest).is_some_and(|held| !held.is_fresh(now_unix_ms))
        {
            self.remove(&oldest);
        }
        while let Some(own) = self.oldest_too_many(owner) {
            self.remove(&own);
        }
        while self.is_over()
            && let Some(oldest) = self.oldest()
        {
            self.remove(&oldest);
        }
    }

    fn numbered(&self, number: u64) -> Option<&Held> {
        self.by_uri.get(self.order.get(&number)?)
    }

    fn oldest(&self) -> Option<(Owner, String)> {
        self.order.values().next().cloned()
    }

    /// The oldest of a caller that has too much, or too many.
    fn oldest_too_many(&self, owner: &Owner) -> Option<(Owner, String)> {
        let part = self.of.get(owner)?;
        let over = part.bytes > KEPT_MAX_BYTES_OF_ONE || part.numbers.len() > KEPT_MAX_OF_ONE;
        let oldest = part.numbers.first().filter(|_| over)?;
        self.order.get(oldest).cloned()
    }

    fn is_over(&self) -> bool {
        self.bytes > KEPT_MAX_BYTES || self.by_uri.len() > KEPT_MAX
    }

    fn remove(&mut self, key: &(Owner, String)) {
        let Some(held) = self.by_uri.remove(key) else { return };
        self.order.remove(&held.number);
        self.bytes -= size(&held.attachment);
        if let Some(part) = self.of.get_mut(&key.0) {
            part.bytes -= size(&held.attachment);
            part.numbers.remove(&held.number);
            if part.numbers.is_empty() {
                self.of.remove(&key.0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::outcome::Outcome;

    fn caller(name: &str) -> CallerContext {
        CallerContext { caller: Some(name.to_owned()), ..CallerContext::default() }
    }

    fn result(call: &str, sizes: &[usize]) -> ToolResult {
        let mut result = ToolResult::new(call.parse().unwrap(), Outcome::Success, "");
        result.attachments = sizes
            .iter()
            .enumerate()
            .map(|(number, size)| Attachment {
                uri: format!("belljar://result/{call}/{number}"),
                kind: AttachmentKind::Blob,
                mime_type: None,
                size: *size as u64,
                bytes: vec![0; *size],
            })
            .collect();
        result
    }

    fn uris(kept: &KeptResults, name: &str, now: u64) -> Vec<String> {
        kept.list(&caller(name), now).iter().map(|it| it.uri.clone()).collect()
    }

    #[test]
    fn what_a_call_left_is_its_callers_alone() {
        let kept = KeptResults::default();
        kept.keep(&caller("ann"), &result("c", &[3]), 0);
        let uri = "belljar://result/c/0";
        assert_eq!(kept.get(&caller("ann"), uri, 1).unwrap().bytes, [0; 3]);
        assert_eq!(kept.get(&caller("bob"), uri, 1), None);
        assert_eq!(kept.get(&CallerContext::default(), uri, 1), None);
        let other_user = CallerContext { user_id: Some("u".into()), ..caller("ann") };
        assert_eq!(kept.get(&other_user, uri, 1), None);
        // The same call id of another caller is another call.
        kept.keep(&caller("bob"), &result("c", &[5]), 0);
        assert_eq!(kept.get(&caller("ann"), uri, 1).unwrap().bytes.len(), 3);
    }

    #[test]
    fn it_is_kept_for_an_hour() {
        let kept = KeptResults::default();
        kept.keep(&caller("ann"), &result("c", &[1]), 1000);
        let uri = "belljar://result/c/0";
        assert!(kept.get(&caller("ann"), uri, 1000 + KEPT_MAX_MS - 1).is_some());
        assert_eq!(kept.get(&caller("ann"), uri, 1000 + KEPT_MAX_MS), None);
        assert_eq!(uris(&kept, "ann", 1000 + KEPT_MAX_MS), [""; 0]);
        kept.keep(&caller("ann"), &result("d", &[1]), 1000 + KEPT_MAX_MS);
        assert_eq!(kept.lock().bytes, 1, "what is too old holds no room");
    }

    #[test]
    fn a_caller_that_keeps_much_loses_its_own_oldest_and_nobody_elses() {
        let kept = KeptResults::default();
        kept.keep(&caller("bob"), &result("b", &[1 << 20]), 0);
        for call in ["c0", "c1", "c2", "c3"] {
            kept.keep(&caller("ann"), &result(call, &[32 << 20]), 0);
        }
        assert_eq!(uris(&kept, "bob", 1).len(), 1);
        let left = ["c1", "c2", "c3"].map(|call| format!("belljar://result/{call}/0"));
        assert_eq!(uris(&kept, "ann", 1), left);
    }

    #[test]
    fn a_caller_that_keeps_many_loses_its_own_oldest_and_nobody_elses() {
        let kept = KeptResults::default();
        kept.keep(&caller("bob"), &result("b", &[0]), 0);
        for call in 0..=KEPT_MAX / 10 {
            kept.keep(&caller("ann"), &result(&format!("c{call}"), &[0; 10]), 0);
        }
        assert_eq!(uris(&kept, "bob", 1).len(), 1);
        let own = uris(&kept, "ann", 1);
        assert_eq!(own.len(), KEPT_MAX_OF_ONE);
        assert_eq!(own.last().unwrap(), &format!("belljar://result/c{}/9", KEPT_MAX / 10));
        let all = kept.lock();
        assert_eq!((all.by_uri.len(), all.of.len()), (KEPT_MAX_OF_ONE + 1, 2));
    }

    #[test]
    fn all_together_are_bounded_in_bytes_and_in_number() {
        let kept = KeptResults::default();
        for name in ["a", "b", "c"] {
            kept.keep(&caller(name), &result("x", &[48 << 20, 48 << 20]), 0);
        }
        assert!(kept.lock().bytes <= KEPT_MAX_BYTES);
        assert_eq!((uris(&kept, "a", 1).len(), uris(&kept, "c", 1).len()), (1, 2));
        let many = KeptResults::default();
        for call in 0..=KEPT_MAX / 10 {
            let name = format!("caller {}", call % 5);
            many.keep(&caller(&name), &result(&format!("c{call}"), &[0; 10]), 0);
        }
        let kept = many.lock();
        assert_eq!((kept.by_uri.len(), kept.order.len()), (KEPT_MAX, KEPT_MAX));
    }

    #[test]
    fn the_texts_of_a_link_are_counted_as_well() {
        let kept = KeptResults::default();
        let mut left = result("c", &[0]);
        for link in &mut left.attachments {
            link.kind = AttachmentKind::ResourceLink { target: "abc".into(), name: "de".into() };
            link.mime_type = Some("f/g".into());
        }
        kept.keep(&caller("ann"), &left, 0);
        assert_eq!(kept.lock().bytes, 8);
    }

    #[test]
    fn what_is_replaced_is_counted_once() {
        let kept = KeptResults::default();
        for _ in 0..3 {
            kept.keep(&caller("ann"), &result("c", &[7]), 0);
        }
        assert_eq!(kept.lock().bytes, 7);
        assert_eq!(uris(&kept, "ann", 1).len(), 1);
    }
}
