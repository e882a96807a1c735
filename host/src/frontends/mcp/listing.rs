//! Pages of lists: the same order each time, made once for each access and state of the tools, with
//! cursors that nobody can make up.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use rmcp::model::{ErrorData, ListToolsResult, RequestStateCodec, SealOptions, Tool};

use super::shared::Shared;
use super::tool::definition;
use crate::frontends::access::Access;

/// How long a client may keep a list without asking again, in milliseconds. Whoever wants to know
/// at once listens.
pub(super) const TTL_MS: u64 = 5_000;
/// Accesses whose tools are kept.
pub(super) const ACCESSES_MAX: usize = 64;
/// Names that are suggested for an unknown one.
const NEAR_MAX: usize = 3;
/// Bytes of a name that others are compared with: that takes time in both lengths, and a message may
/// hold a name of megabytes.
const NEAR_NAME_MAX: usize = 260;
/// How alike a name must be to be suggested.
const NEAR_MIN: f64 = 0.8;

/// The definitions of an access, as of one revision of the tools.
#[derive(Default)]
pub(super) struct Pages(Mutex<Vec<Made>>);

struct Made {
    access: Weak<Access>,
    revision: u64,
    tools: Arc<[Tool]>,
}

impl Pages {
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.0.lock().unwrap().len()
    }

    /// The definitions, by id.
    fn of(&self, shared: &Shared, access: &Arc<Access>) -> Arc<[Tool]> {
        let revision = *shared.host.tools_revision().borrow();
        let this = Arc::downgrade(access);
        {
            let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let same = |it: &&Made| it.revision == revision && it.access.ptr_eq(&this);
            if let Some(made) = kept.iter().find(same) {
                return Arc::clone(&made.tools);
            }
        }
        let seen = access.tools(&shared.host);
        let tools: Arc<[Tool]> = seen.iter().map(|tool| definition(tool)).collect();
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|it| it.access.strong_count() > 0 && !it.access.ptr_eq(&this));
        if kept.len() == ACCESSES_MAX {
            kept.remove(0);
        }
        kept.push(Made { access: this, revision, tools: Arc::clone(&tools) });
        tools
    }
}

/// A page of tools.
pub(super) fn tools(
    shared: &Shared,
    access: &Arc<Access>,
    cursor: Option<&str>,
) -> Result<ListToolsResult, ErrorData> {
    let all = shared.pages.of(shared, access);
    let binding = binding("tools", access);
    // Names are unique, and in the order of ids, which the page's last name finds again.
    let (page, next) =
        page(&shared.codec, &binding, &all, cursor, shared.settings.bounds.page, |tool| {
            &tool.name
        })?;
    let mut result = ListToolsResult::with_all_items(page.to_vec());
    result.next_cursor = next;
    Ok(result)
}

/// What a cursor is good for: the list, and whose.
pub(super) fn binding(list: &str, access: &Access) -> Vec<u8> {
    let caller = access.context().caller.as_deref().unwrap_or_default();
    format!("cursor\0{list}\0{caller}").into_bytes()
}

/// The items after the one that the cursor names, and the cursor of what follows.
pub(super) fn page<'a, T>(
    codec: &RequestStateCodec,
    binding: &[u8],
    all: &'a [T],
    cursor: Option<&str>,
    max: usize,
    name: impl Fn(&T) -> &str,
) -> Result<(&'a [T], Option<String>), ErrorData> {
    let start = match cursor {
        None => 0,
        Some(cursor) => {
            let bad = |why: &str| ErrorData::invalid_params(format!("the cursor {why}"), None);
            let last = codec.open_with(cursor, binding).map_err(|_| bad("is none of this list"))?;
            let at = all.iter().position(|it| name(it).as_bytes() == last);
            at.ok_or_else(|| bad("points to what is gone; begin anew"))? + 1
        }
    };
    let rest = all.get(start..).unwrap_or_default();
    let (page, more) = rest.split_at(rest.len().min(max.max(1)));
    let next = page.last().filter(|_| !more.is_empty()).map(|last| {
        let options = SealOptions::new().associated_data(binding);
        codec.seal_with(name(last).as_bytes(), &options)
    });
    Ok((page, next))
}

/// Wire names that somebody who asked for `name` may have meant, of those the access sees.
pub(super) fn near(shared: &Shared, access: &Arc<Access>, name: &str) -> Vec<String> {
    let all = shared.pages.of(shared, access);
    nearest(all.iter().map(|tool| tool.name.as_ref()), name)
}

fn nearest<'a>(known: impl Iterator<Item = &'a str>, name: &str) -> Vec<String> {
    if name.len() > NEAR_NAME_MAX {
        return Vec::new();
    }
    let mut near: Vec<_> = known.map(|known| (strsim::jaro_winkler(name, known), known)).collect();
    near.retain(|(like, _)| *like >= NEAR_MIN);
    near.sort_by(|a, b| b.0.total_cmp(&a.0));
    near.into_iter().take(NEAR_MAX).map(|(_, name)| name.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(page: &[String]) -> Vec<&str> {
        page.iter().map(String::as_str).collect()
    }

    #[test]
    fn a_name_that_is_too_long_is_compared_with_none() {
        let longest = "a".repeat(NEAR_NAME_MAX);
        assert_eq!(nearest([longest.as_str()].into_iter(), &longest), [longest.as_str()]);
        let longer = "a".repeat(NEAR_NAME_MAX + 1);
        assert_eq!(nearest([longer.as_str()].into_iter(), &longer), [""; 0]);
    }

    fn list() -> (RequestStateCodec, Vec<String>) {
        let key = vec![7; RequestStateCodec::MIN_KEY_LENGTH];
        (
            RequestStateCodec::try_new(key).unwrap(),
            ["a", "b", "c", "d", "e"].map(String::from).into(),
        )
    }

    #[test]
    fn mc12_pages_follow_each_other_and_end() {
        let (codec, all) = list();
        let (first, next) = page(&codec, b"x", &all, None, 2, |it| it).unwrap();
        assert_eq!(names(first), ["a", "b"]);
        let (second, next) = page(&codec, b"x", &all, next.as_deref(), 2, |it| it).unwrap();
        assert_eq!(names(second), ["c", "d"]);
        let (third, next) = page(&codec, b"x", &all, next.as_deref(), 2, |it| it).unwrap();
        assert_eq!((names(third), next), (vec!["e"], None));
    }

    #[test]
    fn mc12_a_cursor_that_was_altered_or_is_anothers_is_refused() {
        let (codec, all) = list();
        let (_, next) = page(&codec, b"x", &all, None, 2, |it| it).unwrap();
        let next = next.unwrap();
        for cursor in ["", "b", "Yg==", &next[1..], &format!("{next}A"), &next.replace('.', "..")] {
            let error = page(&codec, b"x", &all, Some(cursor), 2, |it| it).unwrap_err();
            assert_eq!(error.code.0, -32602, "{cursor}");
        }
        page(&codec, b"another", &all, Some(&next), 2, |it| it).unwrap_err();
        page(&codec, b"x", &all[2..], Some(&next), 2, |it| it).unwrap_err();
    }
}
