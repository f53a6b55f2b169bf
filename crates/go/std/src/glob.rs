//! The parts of patterns that Go's `path.Match` and its copies agree on: pieces between stars, and classes.

use super::runes::first_rune;

/// The number of bytes before the next `*` that is not part of a class or an escape.
pub fn piece_len(pattern: &[u8]) -> usize {
    let mut in_class = false;
    let mut bytes = pattern.iter().enumerate();
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'\\' => drop(bytes.next()),
            b'[' => in_class = true,
            b']' => in_class = false,
            b'*' if !in_class => return at,
            _ => {}
        }
    }
    pattern.len()
}

/// Parses a class after its `[`: `take` gets its ranges. Returns whether it is negated, and the text after its `]`.
///
/// `None` for a malformed one. An empty one is malformed; a `]` or `-` can be its member only when escaped.
pub fn class(text: &[u8], mut take: impl FnMut(char, char)) -> Option<(bool, &[u8])> {
    let (negated, mut text) = match text {
        [b'^', rest @ ..] => (true, rest),
        text => (false, text),
    };
    let mut is_empty = true;
    loop {
        if let [b']', rest @ ..] = text
            && !is_empty
        {
            return Some((negated, rest));
        }
        let (low, rest) = member(text)?;
        let (high, rest) = match rest {
            [b'-', rest @ ..] => member(rest)?,
            rest => (low, rest),
        };
        take(low, high);
        (is_empty, text) = (false, rest);
    }
}

/// A rune of a class, escaped or not. Something must follow it, the `]` at least.
fn member(text: &[u8]) -> Option<(char, &[u8])> {
    let text = match text {
        [] | [b'-' | b']', ..] => return None,
        [b'\\', rest @ ..] => rest,
        text => text,
    };
    let (rune, width) = first_rune(text)?;
    let is_broken = rune == char::REPLACEMENT_CHARACTER && width == 1;
    let rest = text.get(width..).filter(|rest| !rest.is_empty() && !is_broken)?;
    Some((rune, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_end_at_stars() {
        for (pattern, length) in [
            ("ab*c", 2),
            ("*", 0),
            ("a\\*b*", 4),
            ("[*]x*", 4),
            ("[a", 2),
            ("a\\", 2),
            ("]*", 1),
        ] {
            assert_eq!(piece_len(pattern.as_bytes()), length, "{pattern}");
        }
    }

    #[test]
    fn classes_are_read_or_malformed() {
        let read = |text: &'static str| {
            let mut ranges = String::new();
            let (negated, rest) = class(text.as_bytes(), |low, high| ranges.extend([low, high]))?;
            Some((negated, ranges, rest))
        };
        for (text, negated, ranges, rest) in [
            ("a]b", false, "aa", "b"),
            ("^a-c]", true, "ac", ""),
            ("a-cx]]", false, "acxx", "]"),
            ("\\]\\-]", false, "]]--", ""),
            ("\u{e4}-\u{fc}]", false, "\u{e4}\u{fc}", ""),
        ] {
            assert_eq!(
                read(text),
                Some((negated, ranges.to_owned(), rest.as_bytes())),
                "{text}"
            );
        }
        for text in ["", "]", "^]", "a", "a-]", "-a]", "a\\", "a-"] {
            assert_eq!(read(text), None, "{text}");
        }
        assert_eq!(class(b"\xff]", |_, _| {}), None);
    }
}
