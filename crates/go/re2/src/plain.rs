//! The fast engine for ASCII text and patterns of ordinary size: `regex-automata`.
//!
//! Over ASCII every byte is a rune and all classes are small, so the pattern's tree is translated as it is, without
//! what ASCII text cannot match; those engines prefer the same matches as Go. Tags of images are ASCII.

use super::{
    budget::{Budget, Exhausted},
    class::Class,
    machine::NOWHERE,
    tree::{Assertion, Id, Node, Tree},
};
use regex_automata::{
    Input, meta,
    util::primitives::{NonMaxUsize, PatternID},
};
use regex_syntax::hir::{self, Capture, ClassBytes, ClassBytesRange, Hir, Look, Repetition};

/// Deeper trees would need a deep stack to compile.
const MAX_DEPTH: u32 = 64;
/// The worst texts for larger programs take so long that the machine must count the steps.
const MAX_INSTRUCTIONS: usize = 300;
/// Executions of an instruction in the time of a step, at worst.
const RUNS_PER_STEP: u64 = 4;
/// Memory for compiled programs.
const MAX_MEMORY: usize = 4 << 20;
/// Positions that are stored without an allocation.
const FEW: usize = 16;

/// A compiled pattern, for ASCII text only.
#[derive(Clone, Debug)]
pub(super) struct Plain {
    engine: meta::Regex,
    instructions: u64,
}

impl Plain {
    /// Compiles a pattern of `instructions` instructions; `None` when it is better left to the machine.
    pub(super) fn new(tree: &Tree, root: Id, instructions: usize) -> Option<Self> {
        if instructions > MAX_INSTRUCTIONS {
            return None;
        }
        let config = meta::Config::new().nfa_size_limit(Some(MAX_MEMORY)).utf8_empty(false);
        let pattern = ascii_part(tree, root, MAX_DEPTH)?;
        let engine = meta::Builder::new().configure(config).build_from_hir(&pattern).ok()?;
        Some(Self {
            engine,
            instructions: instructions as u64,
        })
    }

    /// Its approximate size in memory.
    pub(super) fn memory(&self) -> usize {
        self.engine.memory_usage()
    }

    /// Upper bound of the steps of a search in `bytes` bytes: every instruction at every byte.
    fn steps(&self, bytes: usize) -> u64 {
        1 + (bytes as u64).saturating_mul(self.instructions) / RUNS_PER_STEP
    }

    /// Finds the first match at `from` or later in an ASCII text, and writes the requested positions. `None` when the
    /// budget might not suffice: the machine counts its steps one by one, and so continues when little is left.
    pub(super) fn search(
        &self,
        text: &[u8],
        from: usize,
        positions: &mut [usize],
        budget: &mut Budget,
    ) -> Result<Option<bool>, Exhausted> {
        let Some(bytes) = text.len().checked_sub(from) else {
            return Ok(Some(false));
        };
        let steps = self.steps(bytes);
        if !budget.affords(steps) {
            return Ok(None);
        }
        budget.take_steps(steps)?;
        Ok(Some(self.find(&Input::new(text).range(from..), positions)))
    }

    fn find(&self, input: &Input<'_>, positions: &mut [usize]) -> bool {
        match positions {
            [] => self.engine.is_match(input.clone()),
            [start, end] => {
                let span = self.engine.find(input.clone());
                if let Some(span) = &span {
                    (*start, *end) = (span.start(), span.end());
                }
                span.is_some()
            }
            _ => self.search_groups(input, positions),
        }
    }

    fn search_groups(&self, input: &Input<'_>, positions: &mut [usize]) -> bool {
        let mut few = [None; FEW];
        let mut many = Vec::new();
        let slots: &mut [Option<NonMaxUsize>] = match few.get_mut(..positions.len()) {
            Some(slots) => slots,
            None => {
                many.resize(positions.len(), None);
                &mut many
            }
        };
        let pattern: Option<PatternID> = self.engine.search_slots(input, slots);
        for (position, slot) in positions.iter_mut().zip(slots) {
            *position = slot.map_or(NOWHERE, NonMaxUsize::get);
        }
        pattern.is_some()
    }
}

/// The part of the pattern that can match ASCII text; `None` when it is too deep.
fn ascii_part(tree: &Tree, id: Id, depth: u32) -> Option<Hir> {
    let depth = depth.checked_sub(1)?;
    let each = |nodes: &[Id]| {
        nodes
            .iter()
            .map(|node| ascii_part(tree, *node, depth))
            .collect::<Option<Vec<_>>>()
    };
    Some(match tree.get(id) {
        Node::Empty => Hir::empty(),
        Node::Literal { runes, fold } => literal(runes, *fold),
        Node::Class(class) => one_of(class),
        Node::Any => one_of(&Class::default().negated()),
        Node::AnyButNewline => one_of(&Class::new(vec![NEWLINE]).negated()),
        Node::Assert(assertion) => Hir::look(match assertion {
            Assertion::TextStart => Look::Start,
            Assertion::TextEnd => Look::End,
            Assertion::LineStart => Look::StartLF,
            Assertion::LineEnd => Look::EndLF,
            Assertion::WordBoundary => Look::WordAscii,
            Assertion::NoWordBoundary => Look::WordAsciiNegate,
        }),
        Node::Capture(index, inner) => Hir::capture(Capture {
            index: *index,
            name: None,
            sub: Box::new(ascii_part(tree, *inner, depth)?),
        }),
        Node::Repeat {
            min,
            max,
            greedy,
            inner,
        } => Hir::repetition(Repetition {
            min: *min,
            max: *max,
            greedy: *greedy,
            sub: Box::new(ascii_part(tree, *inner, depth)?),
        }),
        Node::Concat(nodes) => Hir::concat(each(nodes)?),
        Node::Alternate(nodes) => Hir::alternation(each(nodes)?),
    })
}

fn literal(runes: &[u32], fold: bool) -> Hir {
    let rune = |rune: &u32| {
        let class = Class::new(vec![(*rune, *rune)]);
        one_of(&if fold { class.folded() } else { class })
    };
    Hir::concat(runes.iter().map(rune).collect())
}

fn one_of(class: &Class) -> Hir {
    let ranges = class.ranges().iter().filter_map(|&(low, high)| {
        let low = u8::try_from(low).ok().filter(u8::is_ascii)?;
        let high = u8::try_from(high.min(0x7F)).ok()?;
        Some(ClassBytesRange::new(low, high))
    });
    Hir::class(hir::Class::Bytes(ClassBytes::new(ranges)))
}

const NEWLINE: (u32, u32) = (b'\n' as u32, b'\n' as u32);
