//! A regular expression and its operations: finding, replacing, splitting.

use super::{
    budget::{Budget, Exhausted},
    compile::compile,
    error::Error,
    expand::{Piece, next_piece},
    machine::NOWHERE,
    parse::parse,
    plain::Plain,
    program::{Instruction, Program},
    rune::decode,
    search::Search,
};
use bumpwright_text::Parts;
use std::{borrow::Cow, ops::Range};

/// A compiled pattern: Go's `*regexp.Regexp`. It takes a little memory for each byte of the pattern, and 3 KiB at
/// most for repetitions: larger programs, of up to 1.5 MiB, are compiled for each search and belong to it, and
/// that counts as steps.
#[derive(Clone, Debug)]
pub struct Regexp {
    pattern: Vec<u8>,
    names: Vec<String>,
    /// None if each search has its own.
    program: Option<Program>,
    instructions: usize,
    slots: usize,
    plain: Option<Plain>,
}

/// Whether a program of so many instructions is kept. A few bytes can make a large one, and objects have many patterns.
fn is_kept(instructions: usize, pattern: &[u8]) -> bool {
    const MOST: usize = 256;
    instructions <= MOST.max(2 * pattern.len())
}

/// The positions of a match and its groups: the whole match first, `None` for groups that took no part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Captures(Vec<Option<Range<usize>>>);

/// The start and the end of the whole match are the first two positions.
const WHOLE: usize = 2;
/// The size of a range in a result.
const RANGE_BYTES: usize = size_of::<Range<usize>>();

impl Regexp {
    /// Compiles a pattern: Go's `regexp.Compile`.
    ///
    /// # Errors
    /// Go's error when it is not a regular expression.
    pub fn new(pattern: impl AsRef<[u8]>) -> Result<Self, Error> {
        let pattern = pattern.as_ref();
        let parsed = parse(pattern)?;
        let program = compile(&parsed.tree, parsed.root).map_err(|code| Error::new(code, pattern))?;
        Ok(Self {
            pattern: pattern.to_vec(),
            names: parsed.names,
            instructions: program.instructions.len(),
            slots: program.slots,
            program: Some(program).filter(|program| is_kept(program.instructions.len(), pattern)),
            plain: None,
        })
    }

    /// The program, if need be compiled, a step for each instruction.
    pub(super) fn program(&self, budget: &mut Budget) -> Result<Cow<'_, Program>, Exhausted> {
        if let Some(program) = &self.program {
            return Ok(Cow::Borrowed(program));
        }
        budget.take_steps((self.pattern.len() + self.instructions) as u64)?;
        // It was compiled before, so it is valid.
        let compiled = parse(&self.pattern)
            .ok()
            .and_then(|parsed| compile(&parsed.tree, parsed.root).ok());
        Ok(Cow::Owned(compiled.unwrap_or_default()))
    }

    /// Optimizes it for many ASCII texts, which takes a while and some memory; results stay the same.
    #[must_use]
    pub fn for_many_texts(mut self) -> Self {
        // The pattern was parsed before, so it is valid.
        if let (None, Ok(parsed)) = (&self.plain, parse(&self.pattern)) {
            self.plain = Plain::new(&parsed.tree, parsed.root, self.instructions);
        }
        self
    }

    /// The pattern as it was written.
    pub fn pattern(&self) -> &[u8] {
        &self.pattern
    }

    /// Its approximate size in memory, with its program; a search takes about as much again.
    pub fn memory(&self) -> usize {
        let plain = self.plain.as_ref().map_or(0, Plain::memory);
        self.instructions * size_of::<Instruction>() + self.pattern.len() + plain
    }

    /// The names of the groups. The first one is the whole match, whose name is empty, as those of groups
    /// without a name.
    pub fn subexp_names(&self) -> &[String] {
        &self.names
    }

    /// Whether there is a match: Go's `Match`.
    ///
    /// # Errors
    /// Here and below: the budget is exhausted.
    pub fn is_match(&self, text: &[u8], budget: &mut Budget) -> Result<bool, Exhausted> {
        if let Some(found) = self.plainly(text, &mut [], budget)? {
            return Ok(found);
        }
        let mut search = self.search(text, 0);
        Ok(search.next(0, budget)?.is_some())
    }

    /// The position of the first match: Go's `FindIndex`.
    pub fn find(&self, text: &[u8], budget: &mut Budget) -> Result<Option<Range<usize>>, Exhausted> {
        let mut search = self.search(text, WHOLE);
        Ok(search.next(0, budget)?.and_then(whole))
    }

    /// The positions of the first `limit` matches, all if it is negative: Go's `FindAllIndex`.
    pub fn find_all(&self, text: &[u8], limit: i64, budget: &mut Budget) -> Result<Vec<Range<usize>>, Exhausted> {
        let mut matches = Vec::new();
        self.each_match(text, limit, WHOLE, budget, |slots, budget| {
            budget.take_bytes(RANGE_BYTES)?;
            matches.extend(whole(slots));
            Ok(())
        })?;
        Ok(matches)
    }

    /// The same with the groups: Go's `FindAllSubmatchIndex`.
    pub fn find_all_submatches(
        &self,
        text: &[u8],
        limit: i64,
        budget: &mut Budget,
    ) -> Result<Vec<Captures>, Exhausted> {
        let mut matches = Vec::new();
        self.each_match(text, limit, usize::MAX, budget, |slots, budget| {
            budget.take_bytes(self.names.len().saturating_mul(RANGE_BYTES))?;
            matches.push(self.captures(slots));
            Ok(())
        })?;
        Ok(matches)
    }

    /// The text with all matches replaced, where `$1` and `${name}` stand for groups: Go's `ReplaceAll`.
    pub fn replace_all(&self, text: &[u8], template: &[u8], budget: &mut Budget) -> Result<Vec<u8>, Exhausted> {
        if !template.contains(&b'$') {
            return self.replace_all_literal(text, template, budget);
        }
        self.replace(text, usize::MAX, budget, |slots, out, budget| {
            self.expand(template, text, &self.captures(slots), out, budget)
        })
    }

    /// The text with all matches replaced: Go's `ReplaceAllLiteral`.
    pub fn replace_all_literal(&self, text: &[u8], by: &[u8], budget: &mut Budget) -> Result<Vec<u8>, Exhausted> {
        self.replace(text, WHOLE, budget, |_, out, budget| append(out, by, budget))
    }

    /// Appends the replacement of one match: Go's `Expand`.
    fn expand(
        &self,
        template: &[u8],
        text: &[u8],
        captures: &Captures,
        out: &mut Vec<u8>,
        budget: &mut Budget,
    ) -> Result<(), Exhausted> {
        let mut rest = template;
        while let Some(piece) = next_piece(&mut rest) {
            budget.take_steps(1)?;
            let range = match piece {
                Piece::Text(piece) => {
                    append(out, piece, budget)?;
                    continue;
                }
                Piece::Number(number) => captures.get(number),
                // Of groups with the same name, the first one that took part.
                Piece::Name(name) => self.groups_named(name).find_map(|number| captures.get(number)),
            };
            if let Some(group) = range.and_then(|range| text.get(range)) {
                append(out, group, budget)?;
            }
        }
        Ok(())
    }

    /// The parts between the matches, at most `limit` of them, all if it is negative: Go's `Split`. `None` is its nil.
    pub fn split(&self, text: &[u8], limit: i64, budget: &mut Budget) -> Result<Option<Vec<Range<usize>>>, Exhausted> {
        if limit == 0 {
            return Ok(None);
        }
        if !self.pattern.is_empty() && text.is_empty() {
            return Ok(Some(std::iter::once(0..0).collect()));
        }
        let separators = self.find_all(text, limit, budget)?;
        budget.take_bytes(separators.len().saturating_mul(RANGE_BYTES))?;
        let most = usize::try_from(limit).map_or(usize::MAX, |limit| limit - 1);
        let mut parts = Vec::new();
        let (mut begin, mut end) = (0, 0);
        for separator in separators {
            if parts.len() >= most {
                break;
            }
            end = separator.start;
            if separator.end != 0 {
                parts.push(begin..end);
            }
            begin = separator.end;
        }
        if end != text.len() {
            parts.push(begin..text.len());
        }
        Ok(Some(parts))
    }

    /// Successive matches; an empty one directly after another does not count.
    fn each_match(
        &self,
        text: &[u8],
        limit: i64,
        slots: usize,
        budget: &mut Budget,
        mut each: impl FnMut(&[usize], &mut Budget) -> Result<(), Exhausted>,
    ) -> Result<(), Exhausted> {
        let mut left = u64::try_from(limit).unwrap_or(u64::MAX);
        let mut search = self.search(text, slots);
        let mut at = 0;
        let mut last_end = None;
        while left > 0 && at <= text.len() {
            let Some(slots) = search.next(at, budget)? else {
                break;
            };
            let Some(Range { start, end }) = whole(slots) else {
                break;
            };
            let is_empty = end == at;
            if !(is_empty && last_end == Some(start)) {
                each(slots, budget)?;
                left -= 1;
            }
            at = if is_empty { at + width(text, at).max(1) } else { end };
            last_end = Some(end);
        }
        Ok(())
    }

    /// Go's rules are a little different here: the search can resume before the end of the last match.
    fn replace(
        &self,
        text: &[u8],
        slots: usize,
        budget: &mut Budget,
        mut by: impl FnMut(&[usize], &mut Vec<u8>, &mut Budget) -> Result<(), Exhausted>,
    ) -> Result<Vec<u8>, Exhausted> {
        let mut search = self.search(text, slots);
        let mut out = Vec::new();
        let mut last_end = 0;
        let mut at = 0;
        while at <= text.len() {
            let Some(slots) = search.next(at, budget)? else {
                break;
            };
            let Some(Range { start, end }) = whole(slots) else {
                break;
            };
            append(&mut out, text.part(last_end..start), budget)?;
            if end > last_end || start == 0 {
                by(slots, &mut out, budget)?;
            }
            last_end = end;
            at = end.max(at + width(text, at)).max(at + 1);
        }
        append(&mut out, text.part(last_end..), budget)?;
        Ok(out)
    }

    pub(super) fn search<'s>(&'s self, text: &'s [u8], slots: usize) -> Search<'s, 's> {
        Search::new(self, self.plain.as_ref(), text, slots)
    }

    /// The number of positions, up to those that a search can report.
    pub(super) fn slots(&self, wanted: usize) -> usize {
        wanted.min(self.slots)
    }

    /// Finds the first match by the fast engine, without any preparation; `None` when that is not possible.
    pub(super) fn plainly(
        &self,
        text: &[u8],
        positions: &mut [usize],
        budget: &mut Budget,
    ) -> Result<Option<bool>, Exhausted> {
        match &self.plain {
            Some(plain) if text.is_ascii() => plain.search(text, 0, positions, budget),
            _ => Ok(None),
        }
    }

    /// The numbers of the groups with this name.
    pub(super) fn groups_named(&self, name: &[u8]) -> impl Iterator<Item = usize> {
        let groups = self.names.iter().enumerate();
        groups
            .filter(move |(_, group)| group.as_bytes() == name)
            .map(|(number, _)| number)
    }

    fn captures(&self, slots: &[usize]) -> Captures {
        let mut groups: Vec<_> = slots.chunks(2).map(whole).collect();
        // Groups in an element repeated zero times are not in the program.
        groups.resize(self.names.len(), None);
        Captures(groups)
    }
}

impl Captures {
    /// The position of a group: 0 is the whole match.
    pub fn get(&self, group: usize) -> Option<Range<usize>> {
        self.0.get(group).cloned().flatten()
    }

    /// All groups in order, the whole match first.
    pub fn iter(&self) -> impl Iterator<Item = Option<Range<usize>>> {
        self.0.iter().cloned()
    }
}

pub(super) fn append(out: &mut Vec<u8>, text: &[u8], budget: &mut Budget) -> Result<(), Exhausted> {
    budget.take_bytes(text.len())?;
    out.extend_from_slice(text);
    Ok(())
}

fn whole(slots: &[usize]) -> Option<Range<usize>> {
    match slots {
        [start, end, ..] if *start != NOWHERE && *end != NOWHERE => Some(*start..*end),
        _ => None,
    }
}

fn width(text: &[u8], at: usize) -> usize {
    text.get(at..).and_then(decode).map_or(0, |(_, width)| width)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use super::*;

    fn compiled(pattern: &str) -> Regexp {
        Regexp::new(pattern).unwrap()
    }

    fn all(pattern: &str, text: &[u8]) -> Vec<String> {
        let found = compiled(pattern).find_all(text, -1, &mut Budget::default()).unwrap();
        found
            .into_iter()
            .map(|range| text[range].escape_ascii().to_string())
            .collect()
    }

    #[test]
    fn matches_are_the_ones_that_go_prefers() {
        let cases: [(&str, &[u8], &[&str]); 17] = [
            ("a|ab|abc", b"abc", &["a"]),
            ("(?:a|ab)(?:c|bcd)", b"abcd", &["abcd"]),
            ("a*?b", b"aab", &["aab"]),
            ("(?U)a+", b"aaa", &["a", "a", "a"]),
            ("a*", b"baac", &["", "aa", ""]),
            ("(|a)*", b"aa", &["", "", ""]),
            ("(|a)+", b"aa", &["", "", ""]),
            ("^|$", b"a\nb", &["", ""]),
            ("(?m)^.?$", b"a\n\nb", &["a", "", "b"]),
            ("a?(?m:^)b", b"a\nb", &["b"]),
            (".+", b"a\nb", &["a", "b"]),
            ("(?s).+", b"a\nb", &["a\\nb"]),
            (r"\w+", "né_1".as_bytes(), &["n", "_1"]),
            (r"\b", b"ab c", &["", "", "", ""]),
            ("(?i)k+", "kK\u{212A}x".as_bytes(), &[r"kK\xe2\x84\xaa"]),
            (r"(?i)[^k\n]", "K\u{212A}s".as_bytes(), &["s"]),
            (r"\Qa.b\E+|[]-]", b"a.bbaxb]-", &["a.bb", "]", "-"]),
        ];
        for (pattern, text, expected) in cases {
            assert_eq!(all(pattern, text), expected, "{pattern} {}", text.escape_ascii());
        }
    }

    #[test]
    fn a_byte_that_is_not_utf8_is_one_rune() {
        assert_eq!(all(".", b"\xe2\x82a"), [r"\xe2", r"\x82", "a"]);
        assert_eq!(all(r"\x{FFFD}+", b"a\xff\xef\xbf\xbdb"), [r"\xff\xef\xbf\xbd"]);
        assert_eq!(all("", b"\xc3\xa9\xc3"), ["", "", ""]);
        assert_eq!(all("[^a]$", b"a\xff"), [r"\xff"]);
    }

    #[test]
    fn groups_have_numbers_and_names() {
        let regexp = compiled("(?P<a>x)|(?<b>y)(z)?(w){0}");
        assert_eq!(regexp.subexp_names(), ["", "a", "b", "", ""]);
        let found = regexp.find_all_submatches(b"-y", 1, &mut Budget::default()).unwrap();
        let expected = [Some(1..2), None, Some(1..2), None, None];
        assert!(found[0].iter().eq(expected));
    }

    #[test]
    fn replacements_are_expanded() {
        for (pattern, text, template, expected) in [
            ("a(x*)b", "-ab-axxb-", "${1}W", "-W-xxW-"),
            ("a(x*)b", "-ab-axxb-", "$1W", "---"),
            ("(?P<n>b)(?P<n>c)?", "abc", "<$n|$2|$9|$$>", "a<b|c||$>"),
            ("(b)|(?P<n>c)(?P<n>d)?", "cd", "$n", "c"),
            ("x*", "abxc", "-", "-a-b-c-"),
            ("b|", "abc", "($0)", "()a(b)c()"),
        ] {
            let replaced = compiled(pattern).replace_all(text.as_bytes(), template.as_bytes(), &mut Budget::default());
            assert_eq!(
                String::from_utf8(replaced.unwrap()).unwrap(),
                expected,
                "{pattern} {template}"
            );
        }
    }

    #[test]
    fn texts_are_split() {
        let cases: [(&str, &str, i64, Option<&[&str]>); 8] = [
            ("a*", "abaabaccadaaae", 5, Some(&["", "b", "b", "c", "cadaaae"])),
            (",", "a,b,", -1, Some(&["a", "b", ""])),
            (",", "a,b", 1, Some(&["a,b"])),
            (",", "", -1, Some(&[""])),
            ("", "", -1, Some(&[])),
            ("", "ab", -1, Some(&["a", "b"])),
            (",", "a", 0, None),
            ("a", "a", -1, Some(&["", ""])),
        ];
        for (pattern, text, limit, expected) in cases {
            let parts = compiled(pattern)
                .split(text.as_bytes(), limit, &mut Budget::default())
                .unwrap();
            let parts = parts.map(|parts| parts.into_iter().map(|part| &text[part]).collect::<Vec<_>>());
            assert_eq!(parts.as_deref(), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn a_large_program_is_compiled_for_each_search() {
        let regexp = compiled(&format!("^{}(b*)$", "(?:[a-z]{1000})".repeat(100)));
        assert!(regexp.program.is_none());
        assert!(compiled(&"[a-z]".repeat(100)).program.is_some());
        let text = ["a".repeat(100_000), "b".repeat(3)].concat();
        let mut budget = Budget::default();
        let found = regexp.find_all_submatches(text.as_bytes(), -1, &mut budget).unwrap();
        assert_eq!(found[0].get(1), Some(100_000..100_003));
        assert_eq!(regexp.replace_all(b"-", b"$1", &mut budget).unwrap(), b"-");
        let little = &mut Budget::new(100_000, usize::MAX);
        assert_eq!(regexp.is_match(b"-", little), Err(Exhausted::Steps));
    }

    #[test]
    fn a_program_has_a_megabyte_and_a_half_at_most() {
        let error = Regexp::new("(?:[a-z]{1000})".repeat(140)).unwrap_err().to_string();
        assert!(
            error.starts_with("error parsing regexp: expression too large: `"),
            "{error}"
        );
    }

    #[test]
    fn a_search_ends_with_its_budget() {
        let regexp = compiled("(x?){1000}y");
        let text = vec![b'x'; 1 << 20];
        assert_eq!(
            regexp.is_match(&text, &mut Budget::new(1_000_000, 0)),
            Err(Exhausted::Steps)
        );
        let many = compiled("").find_all(&text, -1, &mut Budget::new(u64::MAX, 1 << 10));
        assert_eq!(many, Err(Exhausted::Bytes));
        let groups = Regexp::new("(a?)".repeat(20_000)).unwrap();
        let found = groups.find_all_submatches(&text, 1, &mut Budget::default());
        assert_eq!(found, Err(Exhausted::Bytes));
    }
}
