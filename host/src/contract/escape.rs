//! Makes text of others safe to look at, and cuts it on character boundaries.
//!
//! For views only: what is kept, hashed or handed on stays as it came. An escape can't be told from
//! the same letters written out, so nothing may read one back.

use std::ops::RangeInclusive;

/// Stands at the end of what `clipped_line` cut.
const CUT_MARK: char = '…';

/// What a terminal acts on or a reader can't see, in rising order.
///
/// From Unicode 17: general categories Cc, Zl and Zp; `Default_Ignorable_Code_Point`; of Cf also
/// the annotation and hieroglyph controls; noncharacters below the astral planes (those above are
/// found by their last four digits). Left out on purpose: marks of Cf that have a glyph, such as
/// the Arabic number signs, and spaces that have a width.
const HIDDEN: [RangeInclusive<u32>; 25] = [
    0x0000..=0x001F,   // C0: ESC begins every ANSI sequence, CR and BS overwrite.
    0x007F..=0x009F,   // DEL and C1: U+009B is CSI in one character.
    0x00AD..=0x00AD,   // Soft hyphen.
    0x034F..=0x034F,   // Combining grapheme joiner.
    0x061C..=0x061C,   // Arabic letter mark, a bidi control.
    0x115F..=0x1160,   // Hangul fillers.
    0x17B4..=0x17B5,   // Khmer inherent vowels.
    0x180B..=0x180F,   // Mongolian variation selectors and vowel separator.
    0x200B..=0x200F,   // Zero-width space, joiners, bidi marks.
    0x2028..=0x2029,   // Line and paragraph separators.
    0x202A..=0x202E,   // Bidi embeddings and overrides.
    0x2060..=0x206F,   // Word joiner, invisible operators, bidi isolates.
    0x3164..=0x3164,   // Hangul filler.
    0xFDD0..=0xFDEF,   // Noncharacters.
    0xFE00..=0xFE0F,   // Variation selectors.
    0xFEFF..=0xFEFF,   // Byte order mark.
    0xFFA0..=0xFFA0,   // Half-width Hangul filler.
    0xFFF0..=0xFFFB,   // Unassigned ignorables, interlinear annotation.
    0xFFFE..=0xFFFF,   // Noncharacters.
    0x13430..=0x1343F, // Egyptian hieroglyph format controls.
    0x1BCA0..=0x1BCA3, // Shorthand format controls.
    0x1D173..=0x1D17A, // Musical format controls.
    0xE0000..=0xE00FF, // Tag block: whole sentences that no reader sees.
    0xE0100..=0xE01EF, // Variation selectors supplement.
    0xE01F0..=0xE0FFF, // Unassigned ignorables.
];

/// Whether a view must show `c` by its number.
pub fn is_hidden(c: char) -> bool {
    let code = u32::from(c);
    if matches!(code, 0x20..=0x7E) {
        return false;
    }
    let past = HIDDEN.partition_point(|range| *range.end() < code);
    HIDDEN.get(past).is_some_and(|range| range.contains(&code)) || code & 0xFFFE == 0xFFFE
}

fn push_shown(out: &mut String, c: char, hidden: bool) {
    if hidden {
        out.push_str(&format!("<U+{:04X}>", u32::from(c)));
    } else {
        out.push(c);
    }
}

/// `text` for a terminal or a prompt: line feeds and tabs stay, all else that acts or hides is
/// shown by its number, as `<U+202E>`.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        push_shown(&mut out, c, is_hidden(c) && c != '\n' && c != '\t');
    }
    out
}

/// Like [`escaped`], for a place that holds one line: line feeds and tabs are shown by number too.
pub fn escaped_line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        push_shown(&mut out, c, is_hidden(c));
    }
    out
}

/// Like [`escaped_line`], in at most `max_len_bytes` bytes; a cut is marked with `…` and never
/// goes through an escape. Reads no more of `text` than it shows.
pub fn clipped_line(text: &str, max_len_bytes: usize) -> String {
    let mut out = String::new();
    // Where a cut would leave room for its mark.
    let mut safe_len = 0;
    for c in text.chars() {
        push_shown(&mut out, c, is_hidden(c));
        if out.len() > max_len_bytes {
            out.truncate(safe_len);
            if safe_len + CUT_MARK.len_utf8() <= max_len_bytes {
                out.push(CUT_MARK);
            }
            return out;
        }
        if out.len() + CUT_MARK.len_utf8() <= max_len_bytes {
            safe_len = out.len();
        }
    }
    out
}

/// The longest beginning of `text` of at most `max_bytes` bytes that ends between characters.
pub fn cut(text: &str, max_bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(max_bytes)).unwrap_or_default()
}

/// The longest end of `text` of at most `max_bytes` bytes that begins between characters.
pub fn cut_to_end(text: &str, max_bytes: usize) -> &str {
    let from = text.ceil_char_boundary(text.len().saturating_sub(max_bytes));
    text.get(from..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_rising_order() {
        for pair in HIDDEN.windows(2) {
            assert!(pair[0].end() < pair[1].start(), "{:X}", pair[1].start());
        }
    }

    #[test]
    fn nothing_a_terminal_acts_on_passes() {
        let text = "\u{1b}[2J\u{1b}]52;c;eA==\u{7}safe\rrm\u{8}\u{9b}1mA\u{0}\u{7f}\u{85}";
        let shown = escaped(text);
        assert!(shown.starts_with("<U+001B>[2J<U+001B>]52;c;eA==<U+0007>safe<U+000D>rm<U+0008>"));
        assert!(!shown.chars().any(char::is_control), "{shown}");
    }

    #[test]
    fn invisible_and_bidi_characters_are_shown() {
        for (c, shown) in [
            ('\u{ad}', "<U+00AD>"),
            ('\u{61c}', "<U+061C>"),
            ('\u{180e}', "<U+180E>"),
            ('\u{200b}', "<U+200B>"),
            ('\u{200d}', "<U+200D>"),
            ('\u{2028}', "<U+2028>"),
            ('\u{202e}', "<U+202E>"),
            ('\u{2060}', "<U+2060>"),
            ('\u{2066}', "<U+2066>"),
            ('\u{3164}', "<U+3164>"),
            ('\u{fdd0}', "<U+FDD0>"),
            ('\u{fe0f}', "<U+FE0F>"),
            ('\u{feff}', "<U+FEFF>"),
            ('\u{ffff}', "<U+FFFF>"),
            ('\u{1fffe}', "<U+1FFFE>"),
            ('\u{e0041}', "<U+E0041>"),
            ('\u{e0100}', "<U+E0100>"),
            ('\u{10ffff}', "<U+10FFFF>"),
        ] {
            assert_eq!(escaped(&format!("a{c}b")), format!("a{shown}b"));
        }
    }

    #[test]
    fn ordinary_text_of_any_script_is_left_alone() {
        for text in ["plain ~", "größe\u{a0}№", "日本語\u{3000}한국어", "نص ۝", "👍🏽", "a\u{301}"]
        {
            assert_eq!(escaped(text), text);
        }
    }

    #[test]
    fn only_the_line_form_escapes_line_feed_and_tab() {
        assert_eq!(escaped("a\n\tb"), "a\n\tb");
        assert_eq!(escaped_line("a\n\tb"), "a<U+000A><U+0009>b");
    }

    #[test]
    fn a_clipped_line_keeps_to_its_length_and_its_escapes_whole() {
        let text = "ab\u{202e}é👍\nz";
        let whole = escaped_line(text);
        for max in 0..=whole.len() + 1 {
            let clipped = clipped_line(text, max);
            assert!(clipped.len() <= max, "{max}: {clipped}");
            assert_eq!(clipped.matches('<').count(), clipped.matches('>').count(), "{clipped}");
            assert_eq!(clipped == whole, max >= whole.len(), "{max}: {clipped}");
            assert_eq!(clipped.ends_with('…'), (3..whole.len()).contains(&max), "{max}");
        }
    }

    #[test]
    fn cuts_fall_between_characters_at_every_offset() {
        let text = "aé👍日z";
        for max in 0..=text.len() + 2 {
            let (head, tail) = (cut(text, max), cut_to_end(text, max));
            assert!(head.len() <= max && text.starts_with(head));
            assert!(tail.len() <= max && text.ends_with(tail));
            assert!(head.len() + 4 > max.min(text.len()), "{max} leaves room for a character");
            assert!(tail.len() + 4 > max.min(text.len()), "{max} leaves room for a character");
        }
    }
}
