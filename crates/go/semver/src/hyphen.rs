//! Hyphen ranges: `1.2 - 1.4.5`.

use super::spelling::{Spelling, skip_space};

/// Rewrites each `LOW - HIGH` to `>= LOW, <= HIGH ` before any other parsing, as the original does: without regard
/// to `||`, from the left, each at the first occurrence of the same text.
pub(super) fn expand_hyphens(text: &str) -> String {
    let mut out = text.to_owned();
    let mut rest = text;
    while let Some((hyphen, after)) = first_hyphen(rest) {
        let Hyphen { text, low, high } = hyphen;
        out = out.replacen(text, &format!(">= {low}, <= {high} "), 1);
        rest = after;
    }
    out
}

/// A hyphen range with the space around it.
struct Hyphen<'a> {
    text: &'a str,
    low: &'a str,
    high: &'a str,
}

/// The first hyphen range in `text`, and the rest.
fn first_hyphen(text: &str) -> Option<(Hyphen<'_>, &str)> {
    // Without this the search would try every position of a text that has none.
    if !text.contains('-') {
        return None;
    }
    text.char_indices().find_map(|(start, _)| hyphen_at(text.get(start..)?))
}

/// The hyphen range at the front of `text`.
fn hyphen_at(text: &str) -> Option<(Hyphen<'_>, &str)> {
    let (low, rest) = Spelling::take_operand(skip_space(text))?;
    let rest = some_space(some_space(rest)?.strip_prefix('-')?)?;
    let (high, rest) = Spelling::take_operand(rest)?;
    let rest = skip_space(rest);
    let hyphen = Hyphen {
        text: text.get(..text.len() - rest.len())?,
        low: low.text,
        high: high.text,
    };
    Some((hyphen, rest))
}

/// Skips white space, at least one character.
fn some_space(text: &str) -> Option<&str> {
    let rest = skip_space(text);
    (rest.len() < text.len()).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rewrites_what_the_regular_expression_of_the_original_finds() {
        for (text, expected) in [
            ("1 - 2", ">= 1, <= 2 "),
            (" v1.x\t-\n2-rc.1+b  || 3", ">= v1.x, <= 2-rc.1+b || 3"),
            // Space on one side only, or nothing to compare with.
            ("1 -2", "1 -2"),
            ("1- 2", "1- 2"),
            ("1 - a", "1 - a"),
            // It begins wherever a version can begin.
            ("1.2.3.4 - 5", "1.>= 2.3.4, <= 5 "),
            ("1.0.0||2.0.0 - 3", "1.0.>= 0||2.0.0, <= 3 "),
            // The first match ends after the 2; the text of the second is found first within the
            // replacement of the first.
            ("1 - 2 - 3,2 - 3", ">= 1, <= >= 2, <= 3 ,2 - 3"),
        ] {
            assert_eq!(expand_hyphens(text), expected, "{text:?}");
        }
    }
}
