//! Go's `path.Match`, and the parts of patterns that it and its copies agree on: pieces between stars, and classes.

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

/// Whether a path matches a pattern; `None` for a malformed pattern. `*`, `?` and classes match no `/`.
#[must_use]
pub fn path_match(pattern: &str, path: &str) -> Option<bool> {
    let (pattern, path) = (pattern.as_bytes(), path.as_bytes());
    let mut rest = pattern;
    while let Some((_, after)) = part(rest)? {
        rest = after;
    }
    Some(matches(pattern, path))
}

/// A part of a pattern.
enum Part {
    Star,
    Any,
    One(char),
    Class { negated: bool, ranges: Vec<(char, char)> },
}

impl Part {
    fn fits(&self, rune: char) -> bool {
        match self {
            Self::Star => false,
            Self::Any => rune != '/',
            Self::One(one) => *one == rune,
            Self::Class { negated, ranges } => {
                let within = ranges.iter().any(|(low, high)| (*low..=*high).contains(&rune));
                rune != '/' && within != *negated
            }
        }
    }
}

/// The first part of a pattern, and what follows; `None` for a malformed one, `None` inside when it has ended.
fn part(pattern: &[u8]) -> Option<Option<(Part, &[u8])>> {
    let (first, rest) = match pattern {
        [] => return Some(None),
        [first, rest @ ..] => (first, rest),
    };
    let literal = |text| {
        let (rune, width) = first_rune(text)?;
        Some((Part::One(rune), text.get(width..)?))
    };
    let part = match first {
        b'*' => (Part::Star, rest),
        b'?' => (Part::Any, rest),
        b'\\' => literal(rest)?,
        b'[' => {
            let mut ranges = Vec::new();
            let (negated, rest) = class(rest, |low, high| ranges.push((low, high)))?;
            (Part::Class { negated, ranges }, rest)
        }
        _ => literal(pattern)?,
    };
    Some(Some(part))
}

/// With one place to go back to, behind the last star: the time is at most the product of both lengths.
fn matches(mut pattern: &[u8], mut path: &[u8]) -> bool {
    let mut retry: Option<(&[u8], &[u8])> = None;
    loop {
        let Some(next) = part(pattern) else { return false };
        let rune = first_rune(path).and_then(|(rune, width)| Some((rune, path.get(width..)?)));
        let advanced = match (&next, rune) {
            (None, None) => return true,
            (Some((Part::Star, rest)), _) => {
                retry = Some((rest, path));
                Some((*rest, path))
            }
            (Some((part, rest)), Some((rune, after))) if part.fits(rune) => Some((*rest, after)),
            _ => None,
        };
        let Some(next) = advanced.or_else(|| {
            let (rest, from) = retry?;
            let (rune, width) = first_rune(from)?;
            let after = from.get(width..).filter(|_| rune != '/')?;
            retry = Some((rest, after));
            Some((rest, after))
        }) else {
            return false;
        };
        (pattern, path) = next;
    }
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

    #[test]
    fn patterns_match_as_in_go() {
        for (pattern, path, expected) in [
            ("a*", "abc", Some(true)),
            ("a*", "ab/c", Some(false)),
            ("a*/b", "abc/b", Some(true)),
            ("*x*y", "axbxy", Some(true)),
            ("[a-c]?", "bz", Some(true)),
            ("[^a]", "a", Some(false)),
            ("?\u{fc}*", "x\u{fc}y", Some(true)),
            ("[", "a", None),
            ("a\\", "a", None),
            ("\\*", "*", Some(true)),
            ("a*b*c*d*e*f*g*h*z", "abcdefghabcdefghabcdefgh", Some(false)),
        ] {
            assert_eq!(path_match(pattern, path), expected, "{pattern} {path}");
        }
    }
}
