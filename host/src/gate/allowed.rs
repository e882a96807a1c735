//! The caller's set of tools: what isn't in it is refused before anything else (A14).

use crate::contract::decision::Refusal;
use crate::contract::escape::clipped_line;

/// Longest tool name that is repeated, in bytes.
const NAME_MAX_LEN: usize = 128;

/// Refuses a tool none of whose names is in the set. No set means every tool. The first name is the
/// one that was asked for, and the only one that is repeated: another would tell that it exists.
pub fn refuse_unlisted(names: &[String], allowed: Option<&[String]>) -> Option<Refusal> {
    let allowed = allowed?;
    if names.iter().any(|name| allowed.contains(name)) {
        return None;
    }
    let name = names.first().map(String::as_str).unwrap_or_default();
    let name = clipped_line(name, NAME_MAX_LEN);
    Some(Refusal::NotAllowed(format!("tool not allowed: `{name}` is not in this caller's set")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(names: &[&str], allowed: Option<&[&str]>) -> bool {
        let owned = |list: &[&str]| list.iter().map(ToString::to_string).collect::<Vec<_>>();
        refuse_unlisted(&owned(names), allowed.map(owned).as_deref()).is_some()
    }

    #[test]
    fn a14_a_tool_outside_the_set_is_refused() {
        assert!(!refused(&["files.read", "files_read"], None));
        assert!(!refused(&["files.read", "files_read"], Some(&["files_read"])));
        assert!(refused(&["files.read", "files_read"], Some(&["files.write"])));
        assert!(refused(&["files.read"], Some(&[])));
        assert!(refused(&["files.read"], Some(&["files", "FILES.READ", "*"])));
    }
}
