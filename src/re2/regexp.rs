//! A regular expression and what can be done with it: finding, replacing, splitting.

use super::{
    budget::{Budget, Exhausted},
    compile::compile,
    error::Error,
    expand::{Piece, next_piece},
    machine::{Machine, NOWHERE},
    parse::parse,
    program::{Instruction, Program},
    rune::decode,
};
use std::ops::Range;

/// A pattern that can be looked for: Go's `*regexp.Regexp`.
#[derive(Clone, Debug)]
pub struct Regexp {
    pattern: Vec<u8>,
    names: Vec<String>,
    program: Program,
}

/// Where a match is, and where its groups are: the whole match first, `None` for groups that took no part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Captures(Vec<Option<Range<usize>>>);

/// The start and the end of the whole match are the first two positions.
const WHOLE: usize = 2;
/// What a range in a result takes.
const RANGE_BYTES: usize = size_of::<Range<usize>>();

impl Regexp {
    /// Reads a pattern: Go's `regexp.Compile`.
    ///
    /// # Errors
    /// Go's error when it is no regular expression.
    pub fn new(pattern: impl AsRef<[u8]>) -> Result<Self, Error> {
        let pattern = pattern.as_ref();
        let parsed = parse(pattern)?;
        let program = compile(&parsed.tree, parsed.root).map_err(|code| Error::new(code, pattern))?;
        Ok(Self {
            pattern: pattern.to_vec(),
            names: parsed.names,
            program,
        })
    }

    /// The pattern as it was written.
    pub fn pattern(&self) -> &[u8] {
        &self.pattern
    }

    /// How many bytes it takes in memory, about; a search takes about as much again.
    pub fn memory(&self) -> usize {
        self.program.instructions.len() * size_of::<Instruction>() + self.pattern.len()
    }

    /// The names of the groups. The first one is the whole match, which has none: it is empty, as those of groups
    /// without a name.
    pub fn subexp_names(&self) -> &[String] {
        &self.names
    }

    /// Whether there is a match: Go's `Match`.
    ///
    /// # Errors
    /// Here and below: the budget is used up.
    pub fn is_match(&self, text: &[u8], budget: &mut Budget) -> Result<bool, Exhausted> {
        let mut machine = Machine::new(&self.program, text, 0);
        Ok(machine.search(0, budget)?.is_some())
    }

    /// Where the first match is: Go's `FindIndex`.
    ///
    /// # Errors
    /// As [`Regexp::is_match`].
    pub fn find(&self, text: &[u8], budget: &mut Budget) -> Result<Option<Range<usize>>, Exhausted> {
        let mut machine = Machine::new(&self.program, text, WHOLE);
        Ok(machine.search(0, budget)?.and_then(whole))
    }

    /// Where the first match and its groups are: Go's `FindSubmatchIndex`.
    ///
    /// # Errors
    /// As [`Regexp::is_match`].
    pub fn find_submatches(&self, text: &[u8], budget: &mut Budget) -> Result<Option<Captures>, Exhausted> {
        let mut machine = Machine::new(&self.program, text, usize::MAX);
        Ok(machine.search(0, budget)?.map(|slots| self.captures(slots)))
    }

    /// Where the first `limit` matches are, all if it is negative: Go's `FindAllIndex`.
    ///
    /// # Errors
    /// As [`Regexp::is_match`].
    pub fn find_all(&self, text: &[u8], limit: i64, budget: &mut Budget) -> Result<Vec<Range<usize>>, Exhausted> {
        let mut found = Vec::new();
        self.each_match(text, limit, WHOLE, budget, |slots, budget| {
            budget.take_bytes(RANGE_BYTES)?;
            found.extend(whole(slots));
            Ok(())
        })?;
        Ok(found)
    }

    /// The same with the groups: Go's `FindAllSubmatchIndex`.
    ///
    /// # Errors
    /// As [`Regexp::is_match`].
    pub fn find_all_submatches(
        &self,
        text: &[u8],
        limit: i64,
        budget: &mut Budget,
    ) -> Result<Vec<Captures>, Exhausted> {
        let mut found = Vec::new();
        self.each_match(text, limit, usize::MAX, budget, |slots, budget| {
            budget.take_bytes(self.names.len().saturating_mul(RANGE_BYTES))?;
            found.push(self.captures(slots));
            Ok(())
        })?;
        Ok(found)
    }

    /// The text with all matches replaced, where `$1` and `${name}` mean groups: Go's `ReplaceAll`.
    ///
    /// # Errors
    /// As [`Regexp::is_match`].
    pub fn replace_all(&self, text: &[u8], template: &[u8], budget: &mut Budget) -> Result<Vec<u8>, Exhausted> {
        if !template.contains(&b'$') {
            return self.replace_all_literal(text, template, budget);
        }
        self.replace(text, usize::MAX, budget, |slots, out, budget| {
            self.expand(template, text, &self.captures(slots), out, budget)
        })
    }

    /// The text with all matches replaced: Go's `ReplaceAllLiteral`.
    ///
    /// # Errors
    /// As [`Regexp::is_match`].
    pub fn replace_all_literal(&self, text: &[u8], by: &[u8], budget: &mut Budget) -> Result<Vec<u8>, Exhausted> {
        self.replace(text, WHOLE, budget, |_, out, budget| append(out, by, budget))
    }

    /// Appends the replacement of one match: Go's `Expand`.
    ///
    /// # Errors
    /// As [`Regexp::is_match`].
    pub fn expand(
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
                Piece::Name(name) => {
                    let groups = self.names.iter().enumerate();
                    let mut named = groups.filter(|(_, group)| group.as_bytes() == name);
                    named.find_map(|(number, _)| captures.get(number))
                }
            };
            if let Some(group) = range.and_then(|range| text.get(range)) {
                append(out, group, budget)?;
            }
        }
        Ok(())
    }

    /// The parts between the matches, at most `limit` of them, all if it is negative: Go's `Split`. `None` is its nil.
    ///
    /// # Errors
    /// As [`Regexp::is_match`].
    pub fn split(
        &self,
        text: &[u8],
        limit: i64,
        budget: &mut Budget,
    ) -> Result<Option<Vec<Range<usize>>>, Exhausted> {
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

    /// Successive matches; an empty one directly behind another does not count.
    fn each_match(
        &self,
        text: &[u8],
        limit: i64,
        slots: usize,
        budget: &mut Budget,
        mut each: impl FnMut(&[usize], &mut Budget) -> Result<(), Exhausted>,
    ) -> Result<(), Exhausted> {
        let mut left = u64::try_from(limit).unwrap_or(u64::MAX);
        let mut machine = Machine::new(&self.program, text, slots);
        let mut at = 0;
        let mut last_end = None;
        while left > 0 && at <= text.len() {
            let Some(slots) = machine.search(at, budget)? else { break };
            let Some(Range { start, end }) = whole(slots) else { break };
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

    /// Go's rules are a little different here: the search can begin again before the end of the last match.
    fn replace(
        &self,
        text: &[u8],
        slots: usize,
        budget: &mut Budget,
        mut by: impl FnMut(&[usize], &mut Vec<u8>, &mut Budget) -> Result<(), Exhausted>,
    ) -> Result<Vec<u8>, Exhausted> {
        let mut machine = Machine::new(&self.program, text, slots);
        let mut out = Vec::new();
        let mut last_end = 0;
        let mut at = 0;
        while at <= text.len() {
            let Some(slots) = machine.search(at, budget)? else { break };
            let Some(Range { start, end }) = whole(slots) else { break };
            append(&mut out, text.get(last_end..start).unwrap_or_default(), budget)?;
            if end > last_end || start == 0 {
                by(slots, &mut out, budget)?;
            }
            last_end = end;
            at = end.max(at + width(text, at)).max(at + 1);
        }
        append(&mut out, text.get(last_end..).unwrap_or_default(), budget)?;
        Ok(out)
    }

    fn captures(&self, slots: &[usize]) -> Captures {
        let mut groups: Vec<_> = slots.chunks(2).map(whole).collect();
        // Groups in what is repeated zero times are not in the program.
        groups.resize(self.names.len(), None);
        Captures(groups)
    }
}

impl Captures {
    /// Where a group is: 0 is the whole match.
    pub fn get(&self, group: usize) -> Option<Range<usize>> {
        self.0.get(group).cloned().flatten()
    }

    /// All groups in order, the whole match first.
    pub fn iter(&self) -> impl Iterator<Item = Option<Range<usize>>> {
        self.0.iter().cloned()
    }
}

fn append(out: &mut Vec<u8>, text: &[u8], budget: &mut Budget) -> Result<(), Exhausted> {
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

