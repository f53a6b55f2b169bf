//! The syntax tree: nodes in one list, so that neither walking nor dropping it needs a deep stack.

use super::class::Class;
use std::sync::Arc;

/// The index of a node in its [`Tree`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Id(usize);

#[derive(Clone, Debug)]
pub(super) enum Node {
    Empty,
    /// These runes, ignoring case if `fold`.
    Literal {
        runes: Vec<u32>,
        fold: bool,
    },
    /// One rune of the class.
    Class(Arc<Class>),
    Any,
    /// Any rune but a newline.
    AnyButNewline,
    /// A condition on the position between two runes.
    Assert(Assertion),
    /// A capturing group with its number.
    Capture(u32, Id),
    /// A repetition, unbounded if `max` is `None`.
    Repeat {
        min: u32,
        max: Option<u32>,
        greedy: bool,
        inner: Id,
    },
    Concat(Vec<Id>),
    /// Alternatives, the first match preferred.
    Alternate(Vec<Id>),
}

/// A condition on the position between two runes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Assertion {
    TextStart,
    TextEnd,
    LineStart,
    LineEnd,
    WordBoundary,
    NoWordBoundary,
}

/// The nodes of a pattern.
#[derive(Debug, Default)]
pub(super) struct Tree {
    nodes: Vec<Node>,
}

impl Tree {
    pub(super) fn add(&mut self, node: Node) -> Id {
        self.nodes.push(node);
        Id(self.nodes.len() - 1)
    }

    /// The node with that id; ids come from [`Tree::add`] of the same tree.
    pub(super) fn get(&self, id: Id) -> &Node {
        self.nodes.get(id.0).unwrap_or(&Node::Empty)
    }

    pub(super) fn get_mut(&mut self, id: Id) -> Option<&mut Node> {
        self.nodes.get_mut(id.0)
    }

    /// Removes a node without references; its index is reused if it was the last one.
    pub(super) fn remove(&mut self, id: Id) -> Node {
        if id.0 + 1 == self.nodes.len() {
            return self.nodes.pop().unwrap_or(Node::Empty);
        }
        self.get_mut(id)
            .map_or(Node::Empty, |node| std::mem::replace(node, Node::Empty))
    }

    pub(super) fn children(&self, id: Id) -> &[Id] {
        match self.get(id) {
            Node::Capture(_, inner) | Node::Repeat { inner, .. } => std::slice::from_ref(inner),
            Node::Concat(children) | Node::Alternate(children) => children,
            _ => &[],
        }
    }

    /// The runes that it matches, if it always matches exactly one.
    pub(super) fn single(&self, id: Id) -> Option<Class> {
        match self.get(id) {
            Node::Literal { runes, fold } => {
                let [rune] = **runes else { return None };
                let class = Class::new(vec![(rune, rune)]);
                Some(if *fold { class.folded() } else { class })
            }
            Node::Class(class) => Some(class.as_ref().clone()),
            Node::Any => Some(Class::default().negated()),
            Node::AnyButNewline => Some(Class::new(vec![NEWLINE]).negated()),
            _ => None,
        }
    }

    /// Whether it always matches exactly one rune.
    pub(super) fn is_single(&self, id: Id) -> bool {
        match self.get(id) {
            Node::Literal { runes, .. } => runes.len() == 1,
            Node::Class(_) | Node::Any | Node::AnyButNewline => true,
            _ => false,
        }
    }
}

impl Id {
    pub(super) fn index(self) -> usize {
        self.0
    }
}

impl Node {
    /// One rune of a class.
    pub(super) fn one_of(class: Class) -> Self {
        if let Some(rune) = class.only() {
            return Self::Literal {
                runes: vec![rune],
                fold: false,
            };
        }
        let excluded = class.negated();
        match excluded.ranges() {
            [] => Self::Any,
            [NEWLINE] => Self::AnyButNewline,
            _ => Self::Class(Arc::new(class)),
        }
    }
}

const NEWLINE: (u32, u32) = (b'\n' as u32, b'\n' as u32);
