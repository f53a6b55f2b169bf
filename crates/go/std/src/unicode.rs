//! Go's `unicode`: classes of runes and their other case, in the Unicode version of Go 1.26.
//!
//! Rust's own tables are newer, and its classes wider: Go's upper case is only the category Lu.

use regex_syntax::hir::{Class, HirKind};
use std::sync::LazyLock;

/// The characters of a general category that exist in Unicode 15.0, Go's version.
struct Category(LazyLock<Vec<(char, char)>>);

macro_rules! category {
    ($name:ident, $pattern:literal) => {
        static $name: Category = Category(LazyLock::new(|| {
            ranges(concat!("[", $pattern, r"&&\p{age=15.0}]"))
        }));
    };
}

category!(UPPER, r"\p{Lu}");
category!(LOWER, r"\p{Ll}");
category!(TITLE, r"\p{Lt}");
category!(LETTER, r"\p{L}");
category!(DIGIT, r"\p{Nd}");
category!(NUMBER, r"\p{N}");
category!(PUNCT, r"\p{P}");
category!(GRAPHIC, r"[\p{L}\p{M}\p{N}\p{P}\p{S}]");
category!(KNOWN, r"\p{any}");

fn ranges(class: &str) -> Vec<(char, char)> {
    match regex_syntax::parse(class).map(regex_syntax::hir::Hir::into_kind) {
        Ok(HirKind::Class(Class::Unicode(class))) => class
            .ranges()
            .iter()
            .map(|range| (range.start(), range.end()))
            .collect(),
        // The patterns are above, and a test compiles them all.
        _ => Vec::new(),
    }
}

impl Category {
    fn has(&self, ch: char) -> bool {
        let ranges = &*self.0;
        let after = ranges.partition_point(|(start, _)| *start <= ch);
        let range = after.checked_sub(1).and_then(|index| ranges.get(index));
        range.is_some_and(|(_, end)| ch <= *end)
    }
}

pub fn is_upper(ch: char) -> bool {
    if ch.is_ascii() {
        ch.is_ascii_uppercase()
    } else {
        UPPER.has(ch)
    }
}

pub fn is_lower(ch: char) -> bool {
    if ch.is_ascii() {
        ch.is_ascii_lowercase()
    } else {
        LOWER.has(ch)
    }
}

pub fn is_title(ch: char) -> bool {
    !ch.is_ascii() && TITLE.has(ch)
}

pub fn is_letter(ch: char) -> bool {
    if ch.is_ascii() {
        ch.is_ascii_alphabetic()
    } else {
        LETTER.has(ch)
    }
}

/// `unicode.IsDigit`: decimal digits only.
pub fn is_digit(ch: char) -> bool {
    if ch.is_ascii() {
        ch.is_ascii_digit()
    } else {
        DIGIT.has(ch)
    }
}

pub fn is_number(ch: char) -> bool {
    if ch.is_ascii() {
        ch.is_ascii_digit()
    } else {
        NUMBER.has(ch)
    }
}

pub fn is_punct(ch: char) -> bool {
    PUNCT.has(ch)
}

pub fn is_space(ch: char) -> bool {
    ch.is_whitespace()
}

/// `unicode.IsPrint`: visible characters, and the ASCII space.
pub fn is_print(ch: char) -> bool {
    if ch.is_ascii() {
        ch == ' ' || ch.is_ascii_graphic()
    } else {
        GRAPHIC.has(ch)
    }
}

pub fn to_upper(ch: char) -> char {
    if ch.is_ascii() {
        return ch.to_ascii_uppercase();
    }
    let mut upper = ch.to_uppercase();
    match (upper.next(), upper.next()) {
        (Some(single), None) if KNOWN.has(ch) && KNOWN.has(single) => single,
        (_, None) => ch,
        // Several letters, as of \u{df}: Go has only mappings to one. These few have such a one, with the iota of the
        // Greek below the capital.
        _ => match ch {
            '\u{1f80}'..='\u{1faf}' => shifted(ch, u32::from(ch) | 8),
            '\u{1fb3}' | '\u{1fc3}' | '\u{1ff3}' => shifted(ch, u32::from(ch) + 9),
            _ => ch,
        },
    }
}

pub fn to_lower(ch: char) -> char {
    if ch.is_ascii() {
        return ch.to_ascii_lowercase();
    }
    // Only \u{130} has more than one letter, of which Go takes the first.
    match ch.to_lowercase().next() {
        Some(lower) if KNOWN.has(ch) && KNOWN.has(lower) => lower,
        _ => ch,
    }
}

pub fn to_title(ch: char) -> char {
    match ch {
        '\u{1c4}'..='\u{1c6}' => '\u{1c5}',
        '\u{1c7}'..='\u{1c9}' => '\u{1c8}',
        '\u{1ca}'..='\u{1cc}' => '\u{1cb}',
        '\u{1f1}'..='\u{1f3}' => '\u{1f2}',
        // Georgian has capitals, but no words that begin with one.
        '\u{10d0}'..='\u{10fa}' | '\u{10fd}'..='\u{10ff}' => ch,
        _ => to_upper(ch),
    }
}

fn shifted(ch: char, code: u32) -> char {
    char::from_u32(code).unwrap_or(ch)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_category_has_members() {
        for category in [
            &UPPER, &LOWER, &TITLE, &LETTER, &DIGIT, &NUMBER, &PUNCT, &GRAPHIC, &KNOWN,
        ] {
            assert!(!category.0.is_empty());
        }
    }

    #[test]
    fn classes_are_those_of_unicode_15() {
        for (ch, upper, lower, letter) in [
            ('\u{c4}', true, false, true),
            ('\u{2160}', false, false, false), // a number, though Rust has it as upper case
            ('\u{aa}', false, false, true),
            ('\u{1c5}', false, false, true),
            ('\u{295}', false, true, true),
            ('\u{a7cb}', false, false, false), // newer
            ('\u{345}', false, false, false),
        ] {
            assert_eq!(
                (is_upper(ch), is_lower(ch), is_letter(ch)),
                (upper, lower, letter),
                "{ch:?}"
            );
        }
        assert!(is_digit('\u{661}') && !is_digit('\u{bd}') && !is_digit('\u{2160}'));
        assert!(is_title('\u{1c5}') && is_number('\u{2160}') && is_punct('_') && !is_punct('$'));
        assert!(is_space('\u{85}') && !is_print('\u{a0}') && is_print('\u{301}') && !is_print('\u{a7cb}'));
    }

    #[test]
    fn case_is_changed_rune_by_rune() {
        for (ch, upper, lower, title) in [
            ('\u{df}', '\u{df}', '\u{df}', '\u{df}'),
            ('\u{130}', '\u{130}', 'i', '\u{130}'),
            ('\u{131}', 'I', '\u{131}', 'I'),
            ('\u{1c6}', '\u{1c4}', '\u{1c6}', '\u{1c5}'),
            ('\u{1f80}', '\u{1f88}', '\u{1f80}', '\u{1f88}'),
            ('\u{1fb3}', '\u{1fbc}', '\u{1fb3}', '\u{1fbc}'),
            ('\u{10d0}', '\u{1c90}', '\u{10d0}', '\u{10d0}'),
            ('\u{264}', '\u{264}', '\u{264}', '\u{264}'), // its capital is newer
            ('\u{149}', '\u{149}', '\u{149}', '\u{149}'),
        ] {
            assert_eq!(
                (to_upper(ch), to_lower(ch), to_title(ch)),
                (upper, lower, title),
                "{ch:?}"
            );
        }
    }
}
