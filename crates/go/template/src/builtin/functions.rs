//! The names that a template may call.

use std::collections::HashMap;

use super::table::BUILTINS;
use crate::value::model::Function;

/// A set of functions: Go's own, and those of the caller.
#[derive(Debug)]
pub struct Functions {
    by_name: HashMap<&'static str, &'static Function>,
}

impl Functions {
    /// Go's own functions and those of `tables`; a later one replaces an earlier one of the same name.
    pub fn new(tables: &[&'static [Function]]) -> Self {
        let tables = std::iter::once(&BUILTINS).chain(tables);
        let by_name = tables
            .flat_map(|table| table.iter())
            .map(|function| (function.name, function));
        Self {
            by_name: by_name.collect(),
        }
    }

    /// The function of that name.
    pub fn get(&self, name: &str) -> Option<&'static Function> {
        self.by_name.get(name).copied()
    }

    /// All names, sorted.
    pub fn names(&self) -> Vec<&'static str> {
        let mut names: Vec<_> = self.by_name.keys().copied().collect();
        names.sort_unstable();
        names
    }
}
