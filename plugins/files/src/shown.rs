//! Makes names safe to print in a message: one line, bounded, nothing hidden.
//!
//! It never changes a name that goes into a result's own field, only text within a sentence.

/// Longest name a message repeats, in characters; a path may have 4096.
const SHOWN_MAX_CHARS: usize = 200;

/// `name` in backticks, with control, bidi and invisible characters as `<U+XXXX>`.
pub(crate) fn quote(name: &str) -> String {
    quote_beside(name, name)
}

/// Like [`quote`], and non-ASCII characters that `other` does not hold are shown by code point too,
/// so that two names that look alike can be told apart.
pub(crate) fn quote_beside(name: &str, other: &str) -> String {
    let mut shown = String::from("`");
    for (count, character) in name.chars().enumerate() {
        if count == SHOWN_MAX_CHARS {
            shown.push('…');
            break;
        }
        let differs = !character.is_ascii() && !other.contains(character);
        if differs || is_hidden(character) {
            shown.push_str(&format!("<U+{:04X}>", u32::from(character)));
        } else {
            shown.push(character);
        }
    }
    shown.push('`');
    shown
}

/// C0, C1, every space but the plain one, soft hyphen, zero-width, bidi, variation selectors,
/// byte order mark, and the tag block.
fn is_hidden(character: char) -> bool {
    character.is_control()
        || (character.is_whitespace() && character != ' ')
        || matches!(character,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
            | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_and_invisible_characters_are_shown_by_code_point() {
        assert_eq!(quote("a\u{1b}[31m\n"), "`a<U+001B>[31m<U+000A>`");
        assert_eq!(quote("x\u{202e}\u{200b}\u{e0041}y"), "`x<U+202E><U+200B><U+E0041>y`");
        assert_eq!(quote("日本 é"), "`日本 é`");
    }

    #[test]
    fn only_characters_the_other_name_lacks_are_spelled_out() {
        assert_eq!(quote_beside("日e\u{301}", "日é"), "`日e<U+0301>`");
    }

    #[test]
    fn long_names_are_cut() {
        assert_eq!(quote(&"é".repeat(5000)).chars().count(), SHOWN_MAX_CHARS + 3);
    }
}
