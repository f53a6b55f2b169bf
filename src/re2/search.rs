//! One text and the searches in it, by the quickest way that does.

use super::{
    budget::{Budget, Exhausted},
    machine::{Machine, NOWHERE},
    plain::Plain,
    program::Program,
};

/// Searches one text.
#[derive(Debug)]
pub(super) struct Search<'r, 't> {
    program: &'r Program,
    text: &'t [u8],
    plain: Option<&'r Plain>,
    /// Made when it is needed.
    machine: Option<Machine<'r, 't>>,
    positions: Vec<usize>,
}

impl<'r, 't> Search<'r, 't> {
    /// A search that tells so many positions: none, two for the whole match, or those of all groups.
    pub(super) fn new(program: &'r Program, plain: Option<&'r Plain>, text: &'t [u8], slots: usize) -> Self {
        Self {
            program,
            text,
            plain: plain.filter(|_| text.is_ascii()),
            machine: None,
            positions: vec![NOWHERE; slots.min(program.slots)],
        }
    }

    /// The positions of the first match at `from` or later.
    pub(super) fn next(&mut self, from: usize, budget: &mut Budget) -> Result<Option<&[usize]>, Exhausted> {
        if let Some(plain) = self.plain {
            let steps = plain.steps(self.text.len().saturating_sub(from));
            // The machine counts its steps one by one, and so goes on when little is left.
            if budget.affords(steps) {
                budget.take_steps(steps)?;
                let found = plain.search(self.text, from, &mut self.positions);
                return Ok(found.then_some(self.positions.as_slice()));
            }
        }
        let (program, text, slots) = (self.program, self.text, self.positions.len());
        let machine = self.machine.get_or_insert_with(|| Machine::new(program, text, slots));
        machine.search(from, budget)
    }
}
