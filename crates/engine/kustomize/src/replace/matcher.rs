//! Finds all fields that match a target's path, as kyaml's `PathMatcher` does: keys, positions, `*` for every item,
//! and `[key=expression]` for the items whose entry a regular expression matches.

use super::lookup::split_selection;
use super::lookup::{new_for, new_item, settle_item};
use super::structured;
use crate::fields::Fault;
use bumpwright_gostd::atoi;
use bumpwright_re2::{Budget, Regexp};
use bumpwright_yaml::{Node, Value};
use compact_str::CompactString;

/// A search: what to create where fields are missing, and what to do at each match.
pub(super) struct Search<'a> {
    /// The node to create at the end of a missing path; `None` to create none.
    pub new: Option<&'a Node>,
    /// Called at each match.
    pub found: &'a mut dyn FnMut(&mut Node) -> Result<(), Fault>,
}

impl Search<'_> {
    /// Calls `found` at every field below `node` that matches `path`; returns their number.
    pub(super) fn run(&mut self, node: &mut Node, path: &[CompactString]) -> Result<usize, Fault> {
        let Some((part, rest)) = path.split_first() else {
            (self.found)(node)?;
            return Ok(1);
        };
        if let Some(at) = atoi(part).ok().and_then(|at| usize::try_from(at).ok()) {
            return self.position(node, at, rest);
        }
        if let Some(selection) = split_selection(part) {
            let (key, pattern) = selection.map_err(|error| Fault::new(node.place, error.to_string()))?;
            return self.selection(node, key, pattern, rest);
        }
        if part == "*" {
            let mut count = 0;
            if node.is_null() {
                return Ok(count);
            }
            for item in items(node)? {
                count += self.run(item, rest)?;
            }
            return Ok(count);
        }
        self.key(node, part, rest)
    }

    /// The node to create so that the first of `rest` can be created in it.
    fn new_node(&self, rest: &[CompactString]) -> Option<Node> {
        let end = self.new?;
        Some(match rest.first() {
            None => end.clone(),
            Some(next) if next.is_empty() => end.clone(),
            Some(next) => new_for(Some(next)),
        })
    }

    fn key(&mut self, node: &mut Node, key: &str, rest: &[CompactString]) -> Result<usize, Fault> {
        let new = self.new_node(rest);
        if node.is_null() {
            // What kustomize creates below a null is lost when it is written; only its success is seen.
            return new.map_or(Ok(0), |mut lost| self.run(&mut lost, rest));
        }
        let place = node.place;
        if key.is_empty() {
            return Err(Fault::new(
                place,
                "a part of the path is empty; put a name with dots in brackets or escape them",
            ));
        }
        let wrong = Fault::wrong_kind(node, "MappingNode");
        let mapping = node.as_mapping_mut().ok_or(wrong)?;
        let field = match new {
            Some(new) => mapping.get_or_insert_with(key, || new.at(place)),
            None => match mapping.get_mut(key) {
                Some(field) => field,
                None => return Ok(0),
            },
        };
        if let (Value::Scalar(scalar), false) = (&field.value, rest.is_empty()) {
            // The same here: a text that is a document is searched, but changes in it are lost.
            let mut document = structured::searched(&scalar.text, field.place)?;
            return self.run(&mut document, rest);
        }
        self.run(field, rest)
    }

    fn position(&mut self, node: &mut Node, at: usize, rest: &[CompactString]) -> Result<usize, Fault> {
        let place = node.place;
        let new = self.new_node(rest);
        let mut lost = Node::sequence(Vec::new());
        let node = if node.is_null() { &mut lost } else { node };
        let items = items(node)?;
        if let (Some(new), true) = (new, items.len() == at) {
            items.push(new.at(place));
        }
        let count = items.len();
        let item = items.get_mut(at);
        let item =
            item.ok_or_else(|| Fault::new(place, format!("index {at} specified but only {count} elements found")))?;
        self.run(item, rest)
    }

    fn selection(&mut self, node: &mut Node, key: &str, pattern: &str, rest: &[CompactString]) -> Result<usize, Fault> {
        let place = node.place;
        let mut lost = Node::sequence(Vec::new());
        let node = if node.is_null() { &mut lost } else { node };
        let items = items(node)?;
        let mut regexp = Pattern::new(pattern);
        let mut count = 0;
        for item in items.iter_mut() {
            count += self.selected(item, key, &mut regexp, rest)?;
        }
        if self.new.is_none() || count > 0 {
            return Ok(count);
        }
        let mut item = new_item(key, pattern).at(place);
        let count = self.run(&mut item, if key.is_empty() { &[] } else { rest })?;
        settle_item(&mut item, key);
        items.push(item);
        Ok(count)
    }

    /// Searches an item if its entry matches the expression. An item without a key is a field itself: the rest of the
    /// path is ignored, as in kustomize.
    fn selected(
        &mut self,
        item: &mut Node,
        key: &str,
        pattern: &mut Pattern<'_>,
        rest: &[CompactString],
    ) -> Result<usize, Fault> {
        if key.is_empty() {
            if !pattern.matches(item)? {
                return Ok(0);
            }
            (self.found)(item)?;
            return Ok(1);
        }
        let matches = item.get(key).map_or(Ok(false), |field| pattern.matches(field))?;
        if matches { self.run(item, rest) } else { Ok(0) }
    }
}

/// The items of a list.
fn items(node: &mut Node) -> Result<&mut Vec<Node>, Fault> {
    let wrong = Fault::wrong_kind(node, "SequenceNode");
    node.as_items_mut().ok_or(wrong)
}

/// An expression that is compiled at its first use: an invalid one is not an error where there is nothing to match.
struct Pattern<'a> {
    text: &'a str,
    regexp: Option<Regexp>,
}

impl<'a> Pattern<'a> {
    const fn new(text: &'a str) -> Self {
        Self { text, regexp: None }
    }

    /// Whether it matches a part of a node's YAML.
    fn matches(&mut self, node: &Node) -> Result<bool, Fault> {
        let wrong = |problem: String| Fault::new(node.place, format!("path selection {:?}: {problem}", self.text));
        let regexp = match &self.regexp {
            Some(regexp) => regexp,
            None => {
                let regexp = Regexp::new(self.text).map_err(|error| wrong(error.to_string()))?;
                self.regexp.insert(regexp)
            }
        };
        let text = structured::spell(node);
        let matches = regexp.is_match(text.trim().as_bytes(), &mut Budget::default());
        matches.map_err(|error| wrong(error.to_string()))
    }
}
