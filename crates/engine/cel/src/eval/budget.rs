//! Bounds of an evaluation: an expression comes from a user and runs in a controller.

use crate::value::{Fault, Value};

/// Steps of an evaluation, each well below a microsecond.
const MAX_STEPS: u64 = 3_000_000;
/// Bytes of texts and lists that an evaluation makes.
const MAX_BYTES: u64 = 64 * 1024 * 1024;
/// Steps and bytes of one search with a regular expression.
const MAX_SEARCH_STEPS: u64 = 50_000_000;
const MAX_SEARCH_BYTES: usize = 16 * 1024 * 1024;

/// The remaining steps and bytes.
#[derive(Debug)]
pub struct Budget {
    steps: u64,
    bytes: u64,
}

impl Budget {
    pub fn new() -> Self {
        Self {
            steps: MAX_STEPS,
            bytes: MAX_BYTES,
        }
    }

    /// Spends steps.
    ///
    /// # Errors
    /// When they run out.
    pub fn steps(&mut self, count: usize) -> Result<(), Fault> {
        match self.steps.checked_sub(count as u64) {
            Some(left) => {
                self.steps = left;
                Ok(())
            }
            None => Err(Fault::interrupted()),
        }
    }

    /// Spends bytes, and steps for writing them.
    ///
    /// # Errors
    /// When they run out.
    pub fn bytes(&mut self, count: usize) -> Result<(), Fault> {
        self.steps(count / 16)?;
        match self.bytes.checked_sub(count as u64) {
            Some(left) => {
                self.bytes = left;
                Ok(())
            }
            None => Err(Fault::interrupted()),
        }
    }

    /// Spends the steps of comparing a value with another one.
    ///
    /// # Errors
    /// When they run out.
    pub fn comparison(&mut self, value: &Value) -> Result<(), Fault> {
        match value {
            Value::List(list) => {
                self.steps(list.len())?;
                list.iter().try_for_each(|element| self.comparison(element))
            }
            Value::Map(map) => {
                self.steps(map.len())?;
                map.values().try_for_each(|element| self.comparison(element))
            }
            Value::String(text) => self.steps(text.len() / 16),
            Value::Bytes(bytes) => self.steps(bytes.len() / 16),
            Value::Optional(Some(inner)) => self.comparison(inner),
            _ => Ok(()),
        }
    }

    /// The budget of one search.
    pub fn search(&mut self, text: &str) -> Result<bumpwright_re2::Budget, Fault> {
        self.steps(text.len() + 1)?;
        Ok(bumpwright_re2::Budget::new(MAX_SEARCH_STEPS, MAX_SEARCH_BYTES))
    }
}
