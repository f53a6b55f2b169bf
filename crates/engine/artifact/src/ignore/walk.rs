//! Ignore rules over a whole tree, with the result for each directory reused below it.
//!
//! A pattern that matches a directory matches everything below it. So a child is matched only against the patterns
//! after the one that decided its parent.

use super::{IgnoreRules, Verdict};
use bumpwright_text::Parts;

/// A position in the tree, at first the root.
///
/// ```
/// use bumpwright_artifact::{IgnoreRules, Verdict};
/// let rules = IgnoreRules::of_tree([], Some("/*\n!/deploy\n*.md"));
/// let mut walk = rules.walk();
/// assert_eq!(walk.enter(b"docs"), Verdict::IgnoredWithAllBelow);
/// walk.leave();
/// assert_eq!(walk.enter(b"deploy"), Verdict::Kept);
/// assert!(walk.ignores_file(b"README.md") && !walk.ignores_file(b"app.yaml"));
/// ```
#[derive(Debug, Clone)]
pub struct Walk<'a> {
    rules: &'a IgnoreRules,
    /// Components of the current path; those from `deciders.len()` on are unused buffers.
    names: Vec<Vec<u8>>,
    /// The last matching pattern for each component.
    deciders: Vec<Option<usize>>,
}

impl<'a> Walk<'a> {
    pub(super) const fn new(rules: &'a IgnoreRules) -> Self {
        Self {
            rules,
            names: Vec::new(),
            deciders: Vec::new(),
        }
    }

    /// Enters a directory of this one, which must be left again, whatever the verdict.
    pub fn enter(&mut self, name: &[u8]) -> Verdict {
        let decider = self.decider(name, true);
        self.deciders.push(decider);
        let path = self.names.part(..self.deciders.len());
        self.rules.conclude(decider, path, true)
    }

    /// Returns to the parent directory; does nothing at the root.
    pub fn leave(&mut self) {
        self.deciders.pop();
    }

    /// Whether a file of this directory is ignored.
    pub fn ignores_file(&mut self, name: &[u8]) -> bool {
        let decider = self.decider(name, false);
        let path = self.names.part(..=self.deciders.len());
        self.rules.conclude(decider, path, false) != Verdict::Kept
    }

    fn decider(&mut self, name: &[u8], is_directory: bool) -> Option<usize> {
        let depth = self.deciders.len();
        match self.names.get_mut(depth) {
            Some(former) => {
                former.clear();
                former.extend_from_slice(name);
            }
            None => self.names.push(name.to_vec()),
        }
        let path = self.names.part(..=depth);
        let inherited = self.deciders.last().copied().flatten();
        self.rules.decider_in_directory(inherited, path, is_directory)
    }
}
