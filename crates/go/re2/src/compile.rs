//! Compiles the tree of a pattern to a program.

use super::{
    class::Class,
    error::ErrorCode,
    program::{Instruction, Program, RuneSet},
    tree::{Id, Node, Tree},
};
use std::{collections::HashMap, sync::Arc};

/// A program has 1.5 MiB at most. Go allows thirty times as much, which is more than a controller has for the pattern
/// of each object; patterns in use have some hundreds of instructions.
pub(super) const MAX_INSTRUCTIONS: usize = 128 << 10;
/// Instructions written, and nodes visited for them.
const MAX_WORK: usize = 8 * MAX_INSTRUCTIONS;

struct Compiler<'t> {
    tree: &'t Tree,
    program: Program,
    shared: HashMap<*const Class, u32>,
    folded: HashMap<u32, Instruction>,
    work: usize,
}

pub(super) fn compile(tree: &Tree, root: Id) -> Result<Program, ErrorCode> {
    let mut compiler = Compiler {
        tree,
        program: Program {
            slots: 2,
            ..Program::default()
        },
        shared: HashMap::new(),
        folded: HashMap::new(),
        work: 0,
    };
    compiler.node(root)?;
    compiler.emit(Instruction::Match)?;
    let mut program = compiler.program;
    program.instructions.shrink_to_fit();
    program.study();
    Ok(program)
}

impl Compiler<'_> {
    fn work(&mut self) -> Result<(), ErrorCode> {
        self.work += 1;
        if self.work > MAX_WORK || self.program.instructions.len() > MAX_INSTRUCTIONS {
            return Err(ErrorCode::TooLarge);
        }
        Ok(())
    }

    fn emit(&mut self, instruction: Instruction) -> Result<u32, ErrorCode> {
        self.work()?;
        self.program.instructions.push(instruction);
        Ok(self.here() - 1)
    }

    /// The address of the next instruction; [`MAX_INSTRUCTIONS`] fits.
    fn here(&self) -> u32 {
        u32::try_from(self.program.instructions.len()).unwrap_or(u32::MAX)
    }

    fn replace(&mut self, at: u32, instruction: Instruction) {
        if let Some(place) = self.program.instructions.get_mut(at as usize) {
            *place = instruction;
        }
    }

    /// Writes a node, and returns whether it can match without consuming a rune. Trees are at most
    /// a thousand nodes deep.
    fn node(&mut self, id: Id) -> Result<bool, ErrorCode> {
        self.work()?;
        let tree = self.tree;
        match tree.get(id) {
            Node::Empty => return Ok(true),
            Node::Literal { runes, fold } => {
                for rune in runes {
                    let instruction = if *fold {
                        self.folded(*rune)
                    } else {
                        Instruction::Rune(*rune)
                    };
                    self.emit(instruction)?;
                }
                return Ok(runes.is_empty());
            }
            Node::Class(class) => {
                let class = self.class(class);
                self.emit(class)?;
            }
            Node::Any => {
                self.emit(Instruction::Any)?;
            }
            Node::AnyButNewline => {
                self.emit(Instruction::AnyButNewline)?;
            }
            Node::Assert(assertion) => {
                self.emit(Instruction::Assert(*assertion))?;
                return Ok(true);
            }
            Node::Capture(number, inner) => {
                self.emit(Instruction::Save(2 * number))?;
                let nullable = self.node(*inner)?;
                self.emit(Instruction::Save(2 * number + 1))?;
                self.program.slots = self.program.slots.max(2 * *number as usize + 2);
                return Ok(nullable);
            }
            Node::Repeat {
                min,
                max,
                greedy,
                inner,
            } => return self.repeat(*min, *max, *greedy, *inner),
            Node::Concat(nodes) => {
                let mut nullable = true;
                for node in nodes {
                    nullable &= self.node(*node)?;
                }
                return Ok(nullable);
            }
            Node::Alternate(nodes) => return self.alternate(nodes),
        }
        Ok(false)
    }

    fn class(&mut self, class: &Arc<Class>) -> Instruction {
        let next = u32::try_from(self.program.classes.len()).unwrap_or(u32::MAX);
        let index = *self.shared.entry(Arc::as_ptr(class)).or_insert(next);
        if index == next {
            self.program.classes.push(RuneSet::new(Arc::clone(class)));
        }
        Instruction::Class(index)
    }

    fn folded(&mut self, rune: u32) -> Instruction {
        if let Some(known) = self.folded.get(&rune) {
            return *known;
        }
        let class = Class::new(vec![(rune, rune)]).folded();
        let instruction = match class.only() {
            Some(only) => Instruction::Rune(only),
            None => self.class(&Arc::new(class)),
        };
        self.folded.insert(rune, instruction);
        instruction
    }

    /// The first one that matches; the others where it does not.
    fn alternate(&mut self, nodes: &[Id]) -> Result<bool, ErrorCode> {
        let mut nullable = false;
        let mut ends = Vec::new();
        for (index, node) in nodes.iter().enumerate() {
            if index + 1 == nodes.len() {
                nullable |= self.node(*node)?;
                break;
            }
            let split = self.emit(Instruction::Jump(0))?;
            nullable |= self.node(*node)?;
            ends.push(self.emit(Instruction::Jump(0))?);
            self.branch(split, true, self.here());
        }
        for end in ends {
            self.replace(end, Instruction::Jump(self.here()));
        }
        Ok(nullable)
    }

    /// Turns the instruction into a choice between the next one and `past`.
    fn branch(&mut self, at: u32, enters: bool, past: u32) {
        let (first, second) = if enters { (at + 1, past) } else { (past, at + 1) };
        self.replace(at, Instruction::Split { first, second });
    }

    fn repeat(&mut self, min: u32, max: Option<u32>, greedy: bool, inner: Id) -> Result<bool, ErrorCode> {
        let mut nullable = true;
        let Some(max) = max else {
            if min == 0 {
                return self.star(greedy, inner);
            }
            for _ in 1..min {
                nullable &= self.node(inner)?;
            }
            return Ok(nullable & self.plus(greedy, inner)?);
        };
        for _ in 0..min {
            nullable &= self.node(inner)?;
        }
        let mut ends = Vec::new();
        for _ in min..max {
            ends.push(self.emit(Instruction::Jump(0))?);
            self.node(inner)?;
        }
        for end in ends {
            self.branch(end, greedy, self.here());
        }
        Ok(nullable)
    }

    fn plus(&mut self, greedy: bool, inner: Id) -> Result<bool, ErrorCode> {
        let start = self.here();
        let nullable = self.node(inner)?;
        let end = self.here() + 1;
        let (first, second) = if greedy { (start, end) } else { (end, start) };
        self.emit(Instruction::Split { first, second })?;
        Ok(nullable)
    }

    /// A node that can match nothing is repeated as `(x+)?`, which prefers the same matches as a backtracking search.
    fn star(&mut self, greedy: bool, inner: Id) -> Result<bool, ErrorCode> {
        let start = self.emit(Instruction::Jump(0))?;
        if self.node(inner)? {
            let end = self.here() + 1;
            let (first, second) = if greedy { (start + 1, end) } else { (end, start + 1) };
            self.emit(Instruction::Split { first, second })?;
        } else {
            self.emit(Instruction::Jump(start))?;
        }
        self.branch(start, greedy, self.here());
        Ok(true)
    }
}
