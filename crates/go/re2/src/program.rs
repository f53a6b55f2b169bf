//! Programs of the machine.

use super::{class::Class, rune::REPLACEMENT, tree::Assertion};
use std::sync::Arc;

/// An instruction; all but jumps continue with the next one.
#[derive(Clone, Copy, Debug)]
pub(super) enum Instruction {
    Rune(u32),
    /// Consumes a rune of that class.
    Class(u32),
    Any,
    AnyButNewline,
    Assert(Assertion),
    Save(u32),
    /// Continues at both, `first` first.
    Split {
        first: u32,
        second: u32,
    },
    Jump(u32),
    Match,
}

/// A program, and what is known of its matches in advance.
#[derive(Clone, Debug, Default)]
pub(super) struct Program {
    pub(super) instructions: Vec<Instruction>,
    pub(super) classes: Vec<RuneSet>,
    /// The number of positions that it saves, two for each group, the whole match first.
    pub(super) slots: usize,
    /// Whether matches are only at the start of the text.
    pub(super) anchored: bool,
    /// The prefix of every match.
    pub(super) prefix: Vec<u8>,
    /// The bytes that a match can begin with; `None` if any, or if it can be empty.
    pub(super) first_bytes: Option<Box<[bool; 256]>>,
}

/// A class with fast lookup.
#[derive(Clone, Debug)]
pub(super) struct RuneSet {
    ascii: u128,
    class: Arc<Class>,
}

impl RuneSet {
    pub(super) fn new(class: Arc<Class>) -> Self {
        let inside = (0..128).filter(|rune| class.contains(*rune));
        Self {
            ascii: inside.fold(0, |bits, rune| bits | 1 << rune),
            class,
        }
    }

    pub(super) fn contains(&self, rune: u32) -> bool {
        if rune < 128 {
            return self.ascii >> rune & 1 == 1;
        }
        self.class.contains(rune)
    }

    fn has_more_than_ascii(&self) -> bool {
        self.class.ranges().last().is_some_and(|last| last.1 >= 128)
    }
}

impl Program {
    /// Analyzes the finished instructions for what every match has in common.
    pub(super) fn study(&mut self) {
        let mut at = 0;
        let mut prefix = String::new();
        loop {
            match self.instructions.get(at) {
                Some(Instruction::Save(_)) => {}
                Some(Instruction::Assert(Assertion::TextStart)) if prefix.is_empty() => self.anchored = true,
                // Invalid bytes are U+FFFD too, and surrogates are in no text.
                Some(Instruction::Rune(rune)) if *rune != REPLACEMENT => match char::from_u32(*rune) {
                    Some(ch) => prefix.push(ch),
                    None => break,
                },
                _ => break,
            }
            at += 1;
        }
        if !self.anchored {
            self.prefix = prefix.into_bytes();
            self.first_bytes = self.possible_first_bytes();
        }
    }

    fn possible_first_bytes(&self) -> Option<Box<[bool; 256]>> {
        let mut bytes = Box::new([false; 256]);
        let mut visited = vec![false; self.instructions.len()];
        let mut left = vec![0_u32];
        while let Some(at) = left.pop() {
            let index = at as usize;
            if std::mem::replace(visited.get_mut(index)?, true) {
                continue;
            }
            let (set, rest): (&dyn Fn(u32) -> bool, bool) = match self.instructions.get(index)? {
                Instruction::Match => return None,
                Instruction::Assert(_) | Instruction::Save(_) => {
                    left.push(at + 1);
                    continue;
                }
                Instruction::Jump(target) => {
                    left.push(*target);
                    continue;
                }
                Instruction::Split { first, second } => {
                    left.extend([*first, *second]);
                    continue;
                }
                Instruction::Rune(rune) => (&|byte| byte == *rune, *rune >= 128),
                Instruction::Class(class) => {
                    let class = self.classes.get(*class as usize)?;
                    (&|byte| class.contains(byte), class.has_more_than_ascii())
                }
                Instruction::Any => (&|_| true, true),
                Instruction::AnyButNewline => (&|byte| byte != u32::from(b'\n'), true),
            };
            for (byte, place) in (0_u32..).zip(bytes.iter_mut()) {
                *place |= if byte < 128 { set(byte) } else { rest };
            }
        }
        bytes.contains(&false).then_some(bytes)
    }
}
