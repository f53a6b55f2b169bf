//! The machine: Pike's algorithm, which follows all threads of a program at once, rune after
//! rune, preferred ones first.

use std::borrow::Cow;

use super::{
    budget::{Budget, Exhausted},
    program::{Instruction, Program},
    rune::decode,
    tree::Assertion,
};
use bumpwright_text::Parts;

/// A position that was not reached.
pub(super) const NOWHERE: usize = usize::MAX;
/// Maximum number of positions in all threads together, 8 MiB; only absurd patterns with thousands of groups need more.
const MAX_POSITIONS: usize = 1 << 20;
/// Positions that are copied in the time of a step.
const POSITIONS_PER_STEP: u64 = 16;

#[derive(Debug)]
pub(super) struct Machine<'r, 't> {
    program: Cow<'r, Program>,
    text: &'t [u8],
    /// The number of positions to save: none, the whole match, or all groups.
    slots: usize,
    current: Threads,
    next: Threads,
    /// The positions of the current thread.
    saved: Vec<usize>,
    left: Vec<PendingStep>,
    found: Vec<usize>,
}

/// Threads: instructions in order of preference, with the positions saved on the way.
#[derive(Debug, Default)]
struct Threads {
    at: Vec<u32>,
    saved: Vec<usize>,
    /// The index of an instruction in `seen`: this makes clearing free.
    place: Vec<u32>,
    seen: Vec<u32>,
}

/// A pending step while a thread is followed.
#[derive(Debug)]
enum PendingStep {
    To(u32),
    Restore(usize, usize),
}

impl<'r, 't> Machine<'r, 't> {
    pub(super) fn new(program: Cow<'r, Program>, text: &'t [u8], slots: usize) -> Self {
        let length = program.instructions.len();
        let slots = slots.min(program.slots);
        Self {
            program,
            text,
            slots,
            current: Threads::new(length),
            next: Threads::new(length),
            saved: vec![NOWHERE; slots],
            left: Vec::new(),
            found: vec![NOWHERE; slots],
        }
    }

    /// The positions of the first match at `from` or later.
    pub(super) fn search(&mut self, from: usize, budget: &mut Budget) -> Result<Option<&[usize]>, Exhausted> {
        self.current.clear();
        let mut matched = false;
        let mut at = from;
        loop {
            if self.current.at.is_empty() {
                if matched || (self.program.anchored && at != 0) {
                    break;
                }
                let Some(start) = self.possible_start(at, budget)? else {
                    break;
                };
                at = start;
                // Assertions that failed at the previous position may hold at this one.
                self.current.clear();
            }
            if !matched {
                self.saved.fill(NOWHERE);
                if let Some(start) = self.saved.first_mut() {
                    *start = at;
                }
                self.current
                    .follow(0, at, &self.program, self.text, &mut self.saved, &mut self.left, budget)?;
            }
            let rune = decode(self.text.part(at..));
            matched |= self.step(rune, at, budget)?;
            if matched && self.slots == 0 {
                break;
            }
            let Some((_, width)) = rune else { break };
            at += width;
            std::mem::swap(&mut self.current, &mut self.next);
            self.next.clear();
        }
        Ok(matched.then_some(&self.found))
    }

    /// The next position where a match can begin.
    fn possible_start(&self, at: usize, budget: &mut Budget) -> Result<Option<usize>, Exhausted> {
        let rest = self.text.part(at..);
        let skipped = if !self.program.prefix.is_empty() {
            memchr::memmem::find(rest, &self.program.prefix)
        } else if let Some(first) = &self.program.first_bytes {
            rest.iter()
                .position(|byte| first.get(usize::from(*byte)) == Some(&true))
        } else {
            Some(0)
        };
        budget.take_steps(1 + skipped.unwrap_or(rest.len()) as u64 / 16)?;
        Ok(skipped.map(|skipped| at + skipped))
    }

    /// Advances all threads by a rune; returns whether one of them matched before it, which cuts
    /// off less preferred ones.
    fn step(&mut self, rune: Option<(u32, usize)>, at: usize, budget: &mut Budget) -> Result<bool, Exhausted> {
        let (slots, program) = (self.slots, &*self.program);
        for (index, instruction) in self.current.at.iter().enumerate() {
            let saved = self.current.saved.part(index * slots..(index + 1) * slots);
            let code = program.instructions.get(*instruction as usize);
            let taken = match (code, rune) {
                (Some(Instruction::Match), _) => {
                    self.found.clear();
                    self.found.extend_from_slice(saved);
                    if let Some(end) = self.found.get_mut(1) {
                        *end = at;
                    }
                    return Ok(true);
                }
                (_, None) => false,
                (Some(Instruction::Rune(expected)), Some((rune, _))) => *expected == rune,
                (Some(Instruction::Class(class)), Some((rune, _))) => {
                    let class = program.classes.get(*class as usize);
                    class.is_some_and(|class| class.contains(rune))
                }
                (Some(Instruction::Any), Some(_)) => true,
                (Some(Instruction::AnyButNewline), Some((rune, _))) => rune != u32::from(b'\n'),
                _ => false,
            };
            if let (true, Some((_, width))) = (taken, rune) {
                self.saved.clear();
                self.saved.extend_from_slice(saved);
                let (saved, left) = (&mut self.saved, &mut self.left);
                self.next
                    .follow(instruction + 1, at + width, program, self.text, saved, left, budget)?;
            }
        }
        budget.take_steps(self.current.at.len() as u64)?;
        Ok(false)
    }
}

impl Threads {
    fn new(length: usize) -> Self {
        Self {
            place: vec![0; length],
            ..Self::default()
        }
    }

    fn clear(&mut self) {
        self.at.clear();
        self.saved.clear();
        self.seen.clear();
    }

    /// Returns whether the instruction is new, and marks it.
    fn enter(&mut self, instruction: u32) -> bool {
        let Some(place) = self.place.get_mut(instruction as usize) else {
            return false;
        };
        if self.seen.get(*place as usize) == Some(&instruction) {
            return false;
        }
        // At most the number of instructions, which fits.
        *place = self.seen.len() as u32;
        self.seen.push(instruction);
        true
    }

    /// Adds all instructions that are reachable without consuming a rune.
    #[allow(clippy::too_many_arguments)] // The parts of the machine that it borrows one by one.
    fn follow(
        &mut self,
        start: u32,
        at: usize,
        program: &Program,
        text: &[u8],
        saved: &mut [usize],
        left: &mut Vec<PendingStep>,
        budget: &mut Budget,
    ) -> Result<(), Exhausted> {
        left.clear();
        left.push(PendingStep::To(start));
        let mut steps = 1;
        while let Some(follow) = left.pop() {
            let mut instruction = match follow {
                PendingStep::To(instruction) => instruction,
                PendingStep::Restore(slot, position) => {
                    if let Some(place) = saved.get_mut(slot) {
                        *place = position;
                    }
                    continue;
                }
            };
            while self.enter(instruction) {
                steps += 1;
                instruction = match program.instructions.get(instruction as usize) {
                    Some(Instruction::Jump(target)) => *target,
                    Some(Instruction::Split { first, second }) => {
                        left.push(PendingStep::To(*second));
                        *first
                    }
                    Some(Instruction::Assert(assertion)) if assertion.holds(text, at) => instruction + 1,
                    Some(Instruction::Assert(_)) | None => break,
                    Some(Instruction::Save(slot)) => {
                        let slot = *slot as usize;
                        if let Some(place) = saved.get_mut(slot) {
                            left.push(PendingStep::Restore(slot, *place));
                            *place = at;
                        }
                        instruction + 1
                    }
                    Some(_) => {
                        if self.saved.len() > MAX_POSITIONS {
                            return Err(Exhausted::Bytes);
                        }
                        self.at.push(instruction);
                        self.saved.extend_from_slice(saved);
                        steps += saved.len() as u64 / POSITIONS_PER_STEP;
                        break;
                    }
                };
            }
        }
        budget.take_steps(steps)
    }
}

impl Assertion {
    /// Whether the assertion holds before the byte at `at`. Words and newlines are ASCII, so bytes are enough.
    fn holds(self, text: &[u8], at: usize) -> bool {
        let before = at.checked_sub(1).and_then(|before| text.get(before));
        let after = text.get(at);
        match self {
            Self::TextStart => before.is_none(),
            Self::TextEnd => after.is_none(),
            Self::LineStart => before.is_none_or(|byte| *byte == b'\n'),
            Self::LineEnd => after.is_none_or(|byte| *byte == b'\n'),
            Self::WordBoundary => before.is_some_and(is_word) != after.is_some_and(is_word),
            Self::NoWordBoundary => before.is_some_and(is_word) == after.is_some_and(is_word),
        }
    }
}

fn is_word(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || *byte == b'_'
}
