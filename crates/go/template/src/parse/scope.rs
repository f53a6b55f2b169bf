//! The variables that a template has declared so far.

use std::collections::HashMap;

/// Names of variables, innermost last. A lookup takes constant time.
#[derive(Debug)]
pub(crate) struct Scope<'t> {
    names: Vec<&'t str>,
    /// The number of variables with a name.
    counts: HashMap<&'t str, usize>,
}

impl<'t> Scope<'t> {
    /// The scope at the start of a template: `$` is its data.
    pub(crate) fn new() -> Self {
        let mut scope = Self {
            names: Vec::new(),
            counts: HashMap::new(),
        };
        scope.declare("$");
        scope
    }

    /// Adds a variable, which may hide one of the same name.
    pub(crate) fn declare(&mut self, name: &'t str) {
        self.names.push(name);
        *self.counts.entry(name).or_default() += 1;
    }

    /// Whether there is a variable of that name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.counts.get(name).is_some_and(|count| *count > 0)
    }

    /// The mark for [`Scope::close`].
    pub(crate) fn mark(&self) -> usize {
        self.names.len()
    }

    /// Removes the variables declared since the mark.
    pub(crate) fn close(&mut self, mark: usize) {
        while self.names.len() > mark {
            let Some(name) = self.names.pop() else { return };
            if let Some(count) = self.counts.get_mut(name) {
                *count -= 1;
            }
        }
    }

    /// Each name once, in the order of declaration.
    pub(crate) fn names(&self) -> Vec<&'t str> {
        let mut names = Vec::new();
        let mut distinct = std::collections::HashSet::new();
        for name in &self.names {
            if distinct.insert(*name) {
                names.push(*name);
            }
        }
        names
    }
}

#[cfg(test)]
mod tests {
    use super::Scope;

    #[test]
    fn closing_uncovers_what_was_there_before() {
        let mut scope = Scope::new();
        scope.declare("$x");
        let mark = scope.mark();
        scope.declare("$x");
        scope.declare("$y");
        assert_eq!(scope.names(), ["$", "$x", "$y"]);
        scope.close(mark);
        assert!(scope.has("$x") && !scope.has("$y"));
        scope.close(1);
        assert!(scope.has("$") && !scope.has("$x"));
    }
}
