//! Gives each call of a batch an id of its own.
//!
//! Deterministic: the same ids in the same order always give the same answer. Knows nothing of the
//! calls beside their ids.

use std::collections::{HashMap, HashSet};

use crate::contract::ids::{CALL_ID_MAX_LEN, CallId};

/// So much of an id is kept where a number is put behind it: a `~` and any `u64` fit after it.
const STEM_MAX_LEN: usize = CALL_ID_MAX_LEN - 21;

/// The ids of a batch, in its order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallIds {
    /// One for each call, none twice.
    pub ids: Vec<CallId>,
    /// Those that are not as they came.
    pub renamed: Vec<Renamed>,
}

/// A call whose id had to be another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Renamed {
    /// Its place in the batch, from 0.
    pub index: usize,
    /// The id it came with, as it came; `None`: it had none.
    pub from: Option<String>,
    /// The id it has now.
    pub to: CallId,
}

/// Makes ids unique (T5, T6). The first call of an id keeps it, the next ones become `<id>~2`,
/// `<id>~3`; a call without an id, or with one that is none, becomes `call-<place>`, counted from
/// 1. A new id never takes the place of one that came with a call, wherever that call stands.
pub fn unique_ids(came: &[Option<&str>]) -> CallIds {
    let valid = |raw: &Option<&str>| raw.and_then(|text| text.parse::<CallId>().ok());
    let mut names = Names { taken: came.iter().filter_map(valid).collect(), next: HashMap::new() };
    let mut kept: HashSet<CallId> = HashSet::new();
    let (mut ids, mut renamed) = (Vec::with_capacity(came.len()), Vec::new());
    for (index, raw) in came.iter().enumerate() {
        let to = match valid(raw) {
            Some(id) if kept.insert(id.clone()) => {
                ids.push(id);
                continue;
            }
            Some(id) => names.numbered(id.as_str()),
            None => names.placed(index),
        };
        ids.push(to.clone());
        renamed.push(Renamed { index, from: raw.map(str::to_owned), to });
    }
    CallIds { ids, renamed }
}

struct Names {
    taken: HashSet<CallId>,
    /// The number to try next, for each stem: without it, a thousand equal ids would each count
    /// from 2.
    next: HashMap<String, u64>,
}

impl Names {
    fn placed(&mut self, index: usize) -> CallId {
        let name = format!("call-{}", index + 1);
        self.take(&name).unwrap_or_else(|| self.numbered(&name))
    }

    fn numbered(&mut self, id: &str) -> CallId {
        let stem = id.get(..STEM_MAX_LEN).unwrap_or(id);
        let mut number = self.next.get(stem).copied().unwrap_or(2);
        loop {
            let free = self.take(&format!("{stem}~{number}"));
            number += 1;
            if let Some(id) = free {
                self.next.insert(stem.to_owned(), number);
                return id;
            }
        }
    }

    fn take(&mut self, name: &str) -> Option<CallId> {
        name.parse::<CallId>().ok().filter(|id| self.taken.insert(id.clone()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn named(came: &[Option<&str>]) -> Vec<String> {
        unique_ids(came).ids.into_iter().map(String::from).collect()
    }

    #[test]
    fn t5_duplicate_ids_become_unique_in_order_and_are_reported() {
        let made = unique_ids(&[Some("c1"), Some("c2"), Some("c1"), Some("c1")]);
        let ids: Vec<_> = made.ids.iter().map(CallId::as_str).collect();
        assert_eq!(ids, ["c1", "c2", "c1~2", "c1~3"]);
        let renamed = |index, to: &str| Renamed {
            index,
            from: Some("c1".to_owned()),
            to: to.parse().unwrap(),
        };
        assert_eq!(made.renamed, [renamed(2, "c1~2"), renamed(3, "c1~3")]);
    }

    #[test]
    fn t6_a_missing_or_empty_or_unfit_id_is_made_from_its_place() {
        let long = "x".repeat(CALL_ID_MAX_LEN + 1);
        let came = [None, Some(""), Some("ok"), Some("a b"), Some("ä"), Some(long.as_str())];
        let made = unique_ids(&came);
        let ids: Vec<_> = made.ids.iter().map(CallId::as_str).collect();
        assert_eq!(ids, ["call-1", "call-2", "ok", "call-4", "call-5", "call-6"]);
        let from: Vec<_> = made.renamed.iter().map(|it| (it.index, it.from.as_deref())).collect();
        assert_eq!(
            from,
            [(0, None), (1, Some("")), (3, Some("a b")), (4, Some("ä")), (5, Some(long.as_str()))]
        );
    }

    #[test]
    fn a_new_id_never_takes_one_that_another_call_came_with() {
        let came = [Some("c"), Some("c"), Some("c~2"), None, Some("call-4")];
        assert_eq!(named(&came), ["c", "c~3", "c~2", "call-4~2", "call-4"]);
    }

    #[test]
    fn the_longest_ids_are_numbered_too() {
        let long = "x".repeat(CALL_ID_MAX_LEN);
        let ids = named(&[Some(&long), Some(&long), Some(&long)]);
        assert_eq!(ids[0], long);
        assert_eq!(ids[1], format!("{}~2", "x".repeat(STEM_MAX_LEN)));
        assert_eq!(ids[2], format!("{}~3", "x".repeat(STEM_MAX_LEN)));
    }

    #[test]
    fn ten_thousand_equal_ids_are_numbered_once_each() {
        let ids = named(&vec![Some("c"); 10_000]);
        assert_eq!(ids.last().unwrap(), "c~10000");
    }

    proptest! {
        #[test]
        fn t5_ids_are_unique_and_only_those_reported_have_changed(
            came in proptest::collection::vec(
                proptest::option::of("(c|d)?(~[23])?|call-[1-4](~2)?"), 0..12,
            ),
        ) {
            let came: Vec<_> = came.iter().map(Option::as_deref).collect();
            let made = unique_ids(&came);
            prop_assert_eq!(made.ids.len(), came.len());
            prop_assert_eq!(made.ids.iter().collect::<HashSet<_>>().len(), came.len());
            prop_assert_eq!(&made, &unique_ids(&came));
            for (index, (id, raw)) in made.ids.iter().zip(&came).enumerate() {
                let reported = made.renamed.iter().find(|it| it.index == index);
                prop_assert_eq!(reported.is_none(), Some(id.as_str()) == *raw);
                if let Some(it) = reported {
                    prop_assert_eq!(it.from.as_deref(), *raw);
                    prop_assert_eq!(&it.to, id);
                    prop_assert!(!came.contains(&Some(id.as_str())));
                }
            }
        }
    }
}
