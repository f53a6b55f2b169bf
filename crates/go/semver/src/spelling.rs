//! The lenient spelling that versions and ranges share, parsed without a regular expression.
//!
//! `v? SEGMENT (. SEGMENT)? (. SEGMENT)? (- IDENTIFIERS)? (+ IDENTIFIERS)?`, where a segment is digits in a version and
//! may contain `x`, `X`, `*` and (an oddity of the original's character class that is kept) `|` in a range. The byte
//! after each part decides what comes next, so taking the longest part each time finds what the regular expressions of
//! Masterminds/semver v3.5.0 (`looseSemVerRegex`, `cvRegex`) find.

use super::identifier::is_identifier_byte;
use bumpwright_text::Parts;

/// The parts of one version as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spelling<'a> {
    /// All of it, with the `v`.
    pub text: &'a str,
    pub major: &'a str,
    /// The second segment without its dot.
    pub minor: Option<&'a str>,
    /// The third segment without its dot.
    pub patch: Option<&'a str>,
    /// The identifiers after `-`; empty when there are none.
    pub prerelease: &'a str,
    /// The identifiers after `+`; empty when there are none.
    pub metadata: &'a str,
}

impl<'a> Spelling<'a> {
    /// Takes the longest version from the front of `input`, and returns it with the rest.
    pub(super) fn take(input: &'a str, segment: impl Fn(u8) -> bool) -> Option<(Self, &'a str)> {
        let (major, rest) = split_run(input.strip_prefix('v').unwrap_or(input), &segment)?;
        let (minor, rest) = dotted(rest, &segment);
        let (patch, rest) = dotted(rest, &segment);
        let (prerelease, rest) = tail(rest, '-');
        let (metadata, rest) = tail(rest, '+');
        let text = input.get(..input.len() - rest.len())?;
        let spelling = Self {
            text,
            major,
            minor,
            patch,
            prerelease,
            metadata,
        };
        Some((spelling, rest))
    }

    /// The spelling of a whole version: only digits, and nothing left over.
    pub(super) fn of_version(input: &'a str) -> Option<Self> {
        let (found, rest) = Self::take(input, |byte| byte.is_ascii_digit())?;
        rest.is_empty().then_some(found)
    }

    /// The spelling at the front of `input` in the form of a range.
    pub(super) fn take_operand(input: &'a str) -> Option<(Self, &'a str)> {
        Self::take(input, |byte| byte.is_ascii_digit() || b"xX*|".contains(&byte))
    }
}

/// `text` without leading white space, as RE2's `\s` defines it: no vertical tab, nothing beyond ASCII.
pub(super) fn skip_space(text: &str) -> &str {
    text.trim_start_matches(['\t', '\n', '\x0c', '\r', ' '])
}

/// The longest run of accepted bytes, and the rest; `None` when the run is empty. Accepted bytes are ASCII.
fn split_run(text: &str, wanted: impl Fn(u8) -> bool) -> Option<(&str, &str)> {
    let end = text.bytes().position(|byte| !wanted(byte)).unwrap_or(text.len());
    if end == 0 { None } else { text.split_at_checked(end) }
}

/// A dot and a segment, when both are present.
fn dotted(text: &str, segment: impl Fn(u8) -> bool) -> (Option<&str>, &str) {
    match text.strip_prefix('.').and_then(|after| split_run(after, segment)) {
        Some((found, rest)) => (Some(found), rest),
        None => (None, text),
    }
}

/// The mark and dot-separated identifiers, when at least one identifier follows the mark; without the mark.
fn tail(text: &str, mark: char) -> (&str, &str) {
    let Some(identifiers) = text.strip_prefix(mark) else {
        return ("", text);
    };
    let Some((_, mut rest)) = split_run(identifiers, is_identifier_byte) else {
        return ("", text);
    };
    while let (Some(_), after) = dotted(rest, is_identifier_byte) {
        rest = after;
    }
    let end = identifiers.len() - rest.len();
    (identifiers.part(..end), rest)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn takes_the_longest_version_and_leaves_the_rest() {
        for (input, text, rest) in [
            ("v1.2.3-rc.1+b.2 next", "v1.2.3-rc.1+b.2", " next"),
            ("1.2.3.4", "1.2.3", ".4"),
            ("1.2.", "1.2", "."),
            ("1-", "1", "-"),
            ("1-a..b", "1-a", "..b"),
            ("1+é", "1", "+é"),
            ("x.1|*-0", "x.1|*-0", ""),
        ] {
            let (found, left) = Spelling::take_operand(input).unwrap();
            assert_eq!((found.text, left), (text, rest), "{input}");
        }
        for input in ["", "v", "vv1", "-1", ".1", "é"] {
            assert_eq!(Spelling::take_operand(input), None, "{input}");
        }
    }

    #[test]
    fn a_version_has_digits_only_and_nothing_after_it() {
        let parts = Spelling::of_version("v01.2-a.-+0").unwrap();
        assert_eq!((parts.major, parts.minor, parts.patch), ("01", Some("2"), None));
        assert_eq!((parts.prerelease, parts.metadata), ("a.-", "0"));
        for input in ["1.x", "1.2.3.4", "1 ", "1\n", "1|2"] {
            assert_eq!(Spelling::of_version(input), None, "{input:?}");
        }
    }
}
