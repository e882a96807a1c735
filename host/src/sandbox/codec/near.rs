//! Lists valid names in a message, those most like the wrong one first.
//!
//! Must not decide what is valid.

use crate::contract::escape::{clipped_line, cut};

use super::limits::{NAMES_LISTED, SHOWN};

/// A name or value of the caller as a message may repeat it.
pub(super) fn shown(text: &str) -> String {
    format!("`{}`", clipped_line(text, SHOWN))
}

/// The valid names in one clause, nearest to `wrong` first and bounded in number.
pub(super) fn listed(wrong: &str, valid: &[String]) -> String {
    let mut ranked: Vec<_> = valid.iter().map(|name| (distance(wrong, name), name)).collect();
    // A stable sort: equally near names stay in declared order.
    ranked.sort_by_key(|(distance, _)| *distance);
    let names = ranked.iter().take(NAMES_LISTED).map(|(_, name)| format!("`{name}`"));
    let mut text = names.collect::<Vec<_>>().join(", ");
    if let Some(more) = ranked.len().checked_sub(NAMES_LISTED).filter(|more| *more > 0) {
        text.push_str(&format!(" and {more} more"));
    }
    text
}

/// How many edits apart two names are, looking at what a message would show of them.
fn distance(left: &str, right: &str) -> usize {
    strsim::osa_distance(cut(left, SHOWN), cut(right, SHOWN))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_names_come_first_and_the_rest_are_counted() {
        let names: Vec<String> = ["path", "offset", "limit"].map(String::from).to_vec();
        assert_eq!(listed("limitt", &names), "`limit`, `path`, `offset`");
        let many: Vec<String> = (0..20).map(|n| format!("n{n}")).collect();
        assert!(listed("n3", &many).starts_with("`n3`"));
        assert!(listed("n3", &many).ends_with("and 8 more"));
    }
}
