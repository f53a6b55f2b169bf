//! Rewrites the first match of each of many texts: a filter compares the result instead of the tag.

use super::{
    budget::{Budget, Exhausted},
    expand::{Piece, next_piece},
    machine::NOWHERE,
    regexp::{Regexp, append},
};
use std::borrow::Cow;

/// A replacement such as `$1` or `${name}.0`, parsed once for many matches of one pattern.
#[derive(Clone, Debug)]
pub struct Extraction {
    parts: Vec<Part>,
    /// The number of positions that it needs.
    slots: usize,
}

#[derive(Clone, Debug)]
enum Part {
    Text(Vec<u8>),
    /// Of groups with the same name, the first one that took part.
    FirstOf(Vec<usize>),
}

/// Positions that are stored without an allocation.
const FEW: usize = 16;

impl Regexp {
    /// Parses a replacement, where `$1` and `${name}` stand for groups as in Go's `Expand`.
    pub fn extraction(&self, template: &[u8]) -> Extraction {
        let mut rest = template;
        let pieces = std::iter::from_fn(|| next_piece(&mut rest));
        let parts: Vec<Part> = pieces
            .map(|piece| match piece {
                Piece::Text(text) => Part::Text(text.to_vec()),
                Piece::Number(number) => Part::FirstOf(vec![number]),
                Piece::Name(name) => Part::FirstOf(self.groups_named(name).collect()),
            })
            .collect();
        let groups = parts.iter().filter_map(|part| match part {
            Part::Text(_) => None,
            Part::FirstOf(groups) => groups.iter().max().map(|last| last + 1),
        });
        let slots = groups.max().map_or(0, |groups| groups.saturating_mul(2));
        Extraction { parts, slots }
    }

    /// The groups that a replacement names, as it names them, each with whether the pattern has it: Go takes nothing
    /// for one that it has not.
    pub fn groups_of(&self, template: &[u8]) -> Vec<(String, bool)> {
        let mut rest = template;
        let pieces = std::iter::from_fn(|| next_piece(&mut rest));
        let group = |piece: Piece<'_>| match piece {
            Piece::Text(_) => None,
            Piece::Number(number) => Some((number.to_string(), number < self.subexp_names().len())),
            Piece::Name(name) => {
                let is_known = self.groups_named(name).next().is_some();
                Some((String::from_utf8_lossy(name).into_owned(), is_known))
            }
        };
        pieces.filter_map(group).collect()
    }

    /// The result of an extraction for this pattern's first match; `None` without a match. A single group is
    /// returned as a part of the text.
    ///
    /// # Errors
    /// As [`Regexp::is_match`].
    pub fn extract<'t>(
        &self,
        extraction: &Extraction,
        text: &'t [u8],
        budget: &mut Budget,
    ) -> Result<Option<Cow<'t, [u8]>>, Exhausted> {
        let mut few = [NOWHERE; FEW];
        let slots = self.slots(extraction.slots);
        if let Some(positions) = few.get_mut(..slots)
            && let Some(found) = self.plainly(text, positions, budget)?
        {
            return found.then(|| extraction.fill(text, positions, budget)).transpose();
        }
        let mut search = self.search(text, slots);
        let first = search.next(0, budget)?;
        first.map(|slots| extraction.fill(text, slots, budget)).transpose()
    }
}

impl Extraction {
    fn fill<'t>(&self, text: &'t [u8], slots: &[usize], budget: &mut Budget) -> Result<Cow<'t, [u8]>, Exhausted> {
        if let [Part::FirstOf(groups)] = &self.parts[..] {
            budget.take_steps(1)?;
            return Ok(Cow::Borrowed(first_of(groups, text, slots)));
        }
        let mut out = Vec::new();
        for part in &self.parts {
            budget.take_steps(1)?;
            let part = match part {
                Part::Text(part) => part,
                Part::FirstOf(groups) => first_of(groups, text, slots),
            };
            append(&mut out, part, budget)?;
        }
        Ok(Cow::Owned(out))
    }
}

/// Empty when no group took part.
fn first_of<'t>(groups: &[usize], text: &'t [u8], slots: &[usize]) -> &'t [u8] {
    let group = |group: &usize| match slots.get(group.saturating_mul(2)..) {
        Some([start, end, ..]) if *start != NOWHERE && *end != NOWHERE => text.get(*start..*end),
        _ => None,
    };
    groups.iter().find_map(group).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_first_match_is_made_into_another_text() {
        let many = "(x?)".repeat(20) + "(y)";
        for (pattern, template, text, expected) in [
            ("^v(?P<v>[0-9.]+)(-alpine)?$", "$v", "v1.2.3-alpine", Some("1.2.3")),
            ("^v(?P<v>[0-9.]+)(-alpine)?$", "${v}$2!", "v1.2.3", Some("1.2.3!")),
            ("^v([0-9]+)", "$1", "main", None),
            ("b+", "$0", "abbab", Some("bb")),
            ("b+", "$1", "abb", Some("")),
            ("b", "yes", "abb", Some("yes")),
            ("a|(?P<n>b)|(?P<n>c)", "$n", "xc", Some("c")),
            ("a|(?P<n>b)", "$n", "a", Some("")),
            ("(a)(b){0}", "$2$1", "a", Some("a")),
            (&many, "$21", "zy", Some("y")),
            ("(é)(.)", "<$2>", "né-", Some("<->")),
        ] {
            let machine = Regexp::new(pattern).unwrap();
            for regexp in [machine.clone().for_many_texts(), machine] {
                let extraction = regexp.extraction(template.as_bytes());
                let found = regexp.extract(&extraction, text.as_bytes(), &mut Budget::default());
                assert_eq!(
                    found.unwrap().as_deref(),
                    expected.map(str::as_bytes),
                    "{pattern} {template} {text}"
                );
            }
        }
    }

    #[test]
    fn a_group_alone_is_a_part_of_the_text() {
        let regexp = Regexp::new("([0-9]+)-").unwrap().for_many_texts();
        let extract = |template: &[u8]| {
            let text = b"main-17-x";
            let extraction = regexp.extraction(template);
            let value = regexp.extract(&extraction, text, &mut Budget::new(1_000, 4));
            value.map(|value| matches!(value, Some(Cow::Borrowed(_))))
        };
        assert_eq!(extract(b"$1"), Ok(true));
        assert_eq!(extract(b"$1$1"), Ok(false));
        assert_eq!(extract(b"$1$1$1"), Err(Exhausted::Bytes));
    }
}
