//! How a request's wish meets what its frontend vouches for: it can only narrow.
//!
//! Knows levels and names of tools, no policy.

use std::collections::BTreeSet;

use crate::contract::invocation::PermissionLevel;

/// Whether a call that `lower` lets through is let through by `higher` too, whatever the call and
/// the assessor.
///
/// READ_ONLY is below all and FULL above all. READ_WRITE and SMART are not comparable: SMART asks
/// for a file tool whose author calls it destructive, READ_WRITE for a write to the network that
/// an assessor finds harmless.
pub(super) fn is_at_most(lower: PermissionLevel, higher: PermissionLevel) -> bool {
    lower == higher || lower == PermissionLevel::ReadOnly || higher == PermissionLevel::Full
}

/// The level of a request: the lower of the frontend's and the one that was asked for. Of
/// READ_WRITE and SMART neither is the lower, and the answer is READ_ONLY, the highest that lets
/// through nothing that either would ask for.
pub fn narrow_level(
    configured: PermissionLevel,
    asked: Option<PermissionLevel>,
) -> PermissionLevel {
    match asked {
        None => configured,
        Some(asked) if is_at_most(asked, configured) => asked,
        Some(asked) if is_at_most(configured, asked) => configured,
        Some(_incomparable) => PermissionLevel::ReadOnly,
    }
}

/// The tools of a request: those in both lists, in the frontend's order. No list means every tool.
/// Names are compared as they are written, so a tool's id and its wire name don't meet.
pub fn narrow_tools(
    configured: Option<&[String]>,
    asked: Option<&[String]>,
) -> Option<Vec<String>> {
    match (configured, asked) {
        (None, None) => None,
        (Some(one), None) | (None, Some(one)) => Some(one.to_vec()),
        (Some(configured), Some(asked)) => {
            let asked: BTreeSet<&String> = asked.iter().collect();
            Some(configured.iter().filter(|name| asked.contains(name)).cloned().collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use PermissionLevel::{Full, ReadOnly, ReadWrite, Smart};

    const ALL: [PermissionLevel; 4] = [ReadOnly, ReadWrite, Smart, Full];

    #[test]
    fn a_level_narrows_to_the_highest_that_is_below_both() {
        for a in ALL {
            assert_eq!(narrow_level(a, None), a);
            for b in ALL {
                let met = narrow_level(a, Some(b));
                assert_eq!(met, narrow_level(b, Some(a)), "{a:?} {b:?}");
                assert!(is_at_most(met, a) && is_at_most(met, b), "{a:?} {b:?}");
                for c in ALL.into_iter().filter(|c| is_at_most(*c, a) && is_at_most(*c, b)) {
                    assert!(is_at_most(c, met), "{a:?} {b:?} {c:?}");
                }
            }
        }
        assert_eq!(narrow_level(ReadWrite, Some(Smart)), ReadOnly);
        assert_eq!(narrow_level(ReadWrite, Some(Full)), ReadWrite);
    }

    #[test]
    fn tools_narrow_to_those_in_both_lists() {
        let list = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        let (ab, bc) = (list(&["a.a", "b.b"]), list(&["b.b", "c.c"]));
        assert_eq!(narrow_tools(None, None), None);
        assert_eq!(narrow_tools(Some(&ab), None), Some(ab.clone()));
        assert_eq!(narrow_tools(None, Some(&bc)), Some(bc.clone()));
        assert_eq!(narrow_tools(Some(&ab), Some(&bc)), Some(list(&["b.b"])));
        assert_eq!(narrow_tools(Some(&ab), Some(&[])), Some(Vec::new()));
    }
}
