//! The moves of a migration in the tree of a file, and the check of the edited text against them.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use bumpwright_api::tree::{Node, Value, parse_as_written};
use bumpwright_text::Parts;

/// Keys and indices from the root: document, then keys and items.
pub type Path = Vec<String>;

/// The move of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Move {
    /// It moves to another path.
    To(Path),
    /// It becomes the text of a scalar at another path.
    TextAt(Path),
    Removed,
    Becomes(String),
}

/// All moves of a file, by the old path of a node; and the new nodes.
#[derive(Debug, Default)]
pub struct Moves {
    by_path: HashMap<Path, Move>,
    added: Vec<(Path, Leaf)>,
}

/// A node without children.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Leaf {
    Scalar { text: String, plain: bool },
    EmptyList,
    EmptyMap,
    Alias(usize),
}

/// Prefix of the part of a path that is inside the text of a scalar.
const INSIDE: &str = "\u{0}text";

impl Moves {
    /// Moves a node to another path.
    pub(super) fn to(&mut self, from: Path, to: Path) {
        self.by_path.insert(from, Move::To(to));
    }

    /// Turns a node into text at another path.
    pub(super) fn text_at(&mut self, from: Path, to: Path) {
        self.by_path.insert(from, Move::TextAt(to));
    }

    pub fn remove(&mut self, from: Path) {
        self.by_path.insert(from, Move::Removed);
    }

    /// Changes the text of a scalar.
    pub(super) fn becomes(&mut self, from: Path, text: &str) {
        self.by_path.insert(from, Move::Becomes(text.to_owned()));
    }

    /// Adds a scalar; `plain` when it is not quoted.
    pub(super) fn add(&mut self, at: Path, text: &str, plain: bool) {
        let text = text.to_owned();
        self.added.push((at, Leaf::Scalar { text, plain }));
    }

    /// Adds all moves of another object.
    pub(super) fn extend(&mut self, other: &Self) {
        self.by_path
            .extend(other.by_path.iter().map(|(path, to)| (path.clone(), to.clone())));
        self.added.extend_from_slice(&other.added);
    }

    /// Whether `new`, parsed, is `old` after these moves.
    #[must_use]
    pub fn explain(&self, old: &[Rc<Node>], new: &str) -> bool {
        let Ok(new) = parse_as_written(new) else { return false };
        self.expected(old) == self.found(&new)
    }

    fn expected(&self, old: &[Rc<Node>]) -> Vec<(Path, Leaf)> {
        let mut out: Vec<_> = leaves(old)
            .into_iter()
            .filter_map(|(path, leaf)| self.after(path, leaf))
            .chain(self.added.iter().cloned())
            .collect();
        out.sort();
        out
    }

    /// The new path and value of a leaf; `None` when it is removed. The move of the longest path decides.
    fn after(&self, path: Path, leaf: Leaf) -> Option<(Path, Leaf)> {
        let moved = (1..=path.len())
            .rev()
            .find_map(|length| Some((length, self.by_path.get(path.get(..length)?)?)));
        let Some((length, to)) = moved else {
            return Some((path, leaf));
        };
        let rest = path.tail(length);
        match to {
            Move::Removed => None,
            Move::To(to) => Some(([to.as_slice(), rest].concat(), leaf)),
            Move::TextAt(to) => Some(([to.as_slice(), &[INSIDE.to_owned()], rest].concat(), leaf)),
            Move::Becomes(new) => match leaf {
                Leaf::Scalar { plain, .. } => Some((
                    path,
                    Leaf::Scalar {
                        text: new.clone(),
                        plain,
                    },
                )),
                _ => None,
            },
        }
    }

    /// The actual leaves; nodes that became text are parsed.
    fn found(&self, new: &[Rc<Node>]) -> Vec<(Path, Leaf)> {
        let texts: HashSet<&Path> = self
            .by_path
            .values()
            .filter_map(|to| if let Move::TextAt(path) = to { Some(path) } else { None })
            .collect();
        let mut out = Vec::new();
        for (path, leaf) in leaves(new) {
            match &leaf {
                Leaf::Scalar { text, .. } if texts.contains(&path) => inside(text, path, &mut out),
                _ => out.push((path, leaf)),
            }
        }
        out.sort();
        out
    }
}

/// The leaves of a text that is a document.
fn inside(text: &str, mut path: Path, out: &mut Vec<(Path, Leaf)>) {
    path.push(INSIDE.to_owned());
    if let Ok(documents) = parse_as_written(text)
        && let [root] = documents.as_slice()
    {
        collect(root, &mut path, out);
    }
}

fn leaves(documents: &[Rc<Node>]) -> Vec<(Path, Leaf)> {
    let mut out = Vec::new();
    for (n, root) in documents.iter().enumerate() {
        collect(root, &mut vec![n.to_string()], &mut out);
    }
    out
}

fn collect(node: &Node, path: &mut Path, out: &mut Vec<(Path, Leaf)>) {
    let leaf = match &node.value {
        Value::Scalar { text, plain } => Leaf::Scalar {
            text: text.to_string(),
            plain: *plain,
        },
        Value::Alias { id, .. } => Leaf::Alias(*id),
        Value::List { items, .. } if items.is_empty() => Leaf::EmptyList,
        Value::Map { entries, .. } if entries.is_empty() => Leaf::EmptyMap,
        Value::List { items, .. } => {
            for (n, item) in items.iter().enumerate() {
                path.push(n.to_string());
                collect(item, path, out);
                path.pop();
            }
            return;
        }
        Value::Map { entries, .. } => {
            for entry in entries {
                path.push(entry.name().to_owned());
                collect(&entry.node, path, out);
                path.pop();
            }
            return;
        }
    };
    out.push((path.clone(), leaf));
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn path(words: &str) -> Path {
        words.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn moves_explain_a_text_or_do_not() {
        let old = parse_as_written("a: {b: 1, c: [x]}\nv: old\ng: 1\n").unwrap();
        let mut moves = Moves::default();
        moves.to(path("0 a b"), path("0 d"));
        moves.text_at(path("0 a c"), path("0 a c"));
        moves.becomes(path("0 v"), "new");
        moves.remove(path("0 g"));
        moves.add(path("0 n"), "k", true);
        assert!(moves.explain(&old, "n: k\nd: 1\na:\n  c: '[x]'\nv: new\n"));
        for wrong in [
            "n: k\nd: 1\na:\n  c: '[y]'\nv: new\n",
            "n: k\nd: 1\na:\n  c: [x]\nv: new\n",
            "n: k\nd: '1'\na:\n  c: '[x]'\nv: new\n",
            "n: k\nd: 1\na:\n  c: '[x]'\nv: new\ng: 1\n",
            "n: k\nd: 1\na: {c: '[x]', e: 1}\nv: new\n",
        ] {
            assert!(!moves.explain(&old, wrong), "{wrong}");
        }
    }
}
