//! The parse tree: what of each rule's parts was found, also where the text is wrong.
//!
//! Nodes refer to each other by number, so that a chain of a hundred thousand operators can be freed without recursion.

use super::token::Token;

/// The number of a node.
pub type NodeId = usize;

/// A rule as it was found. Rules that only pass on another are not there.
#[derive(Debug, Default)]
pub enum Node {
    /// Nothing that has a meaning.
    #[default]
    Broken,
    Conditional {
        condition: Option<NodeId>,
        question: Token,
        then: Option<NodeId>,
        otherwise: Option<NodeId>,
    },
    Logic {
        is_and: bool,
        first: Option<NodeId>,
        operators: Vec<Token>,
        rest: Vec<NodeId>,
    },
    /// A relation or a calculation.
    Binary {
        left: NodeId,
        operator: Option<Token>,
        right: Option<NodeId>,
    },
    /// `!` or `-`, so many times.
    Unary {
        operators: Vec<Token>,
        member: Option<NodeId>,
    },
    /// A unary expression about which nothing is known.
    UnknownUnary,
    Select {
        member: NodeId,
        dot: Option<Token>,
        optional: bool,
        field: Option<Field>,
    },
    MemberCall {
        member: NodeId,
        name: Option<Token>,
        open: Option<Token>,
        arguments: Option<Vec<NodeId>>,
    },
    Index {
        member: NodeId,
        open: Option<Token>,
        optional: bool,
        index: Option<NodeId>,
    },
    Identifier {
        leading_dot: bool,
        name: Option<Token>,
    },
    GlobalCall {
        leading_dot: bool,
        name: Option<Token>,
        open: Option<Token>,
        arguments: Option<Vec<NodeId>>,
    },
    List {
        open: Option<Token>,
        elements: Vec<Element>,
    },
    Map {
        open: Option<Token>,
        keys: Vec<Element>,
        colons: Vec<Token>,
        values: Vec<NodeId>,
    },
    Message {
        leading_dot: bool,
        names: Vec<Token>,
        open: Option<Token>,
        /// Where the first field is.
        fields_start: i32,
        fields: Vec<(bool, Option<Field>)>,
        colons: Vec<Token>,
        values: Vec<NodeId>,
    },
    Literal {
        negative: bool,
        token: Option<Token>,
    },
}

/// The name of a field, plain or in backquotes, with the token that it is.
#[derive(Clone, Debug)]
pub struct Field {
    pub token: Option<Token>,
    pub escaped: bool,
    /// Where the name is, or should be.
    pub start: i32,
}

/// An element of a list or a key of a map, perhaps with a `?`.
#[derive(Clone, Copy, Debug)]
pub struct Element {
    pub optional: bool,
    pub expression: Option<NodeId>,
}

/// All nodes, each with the offset of its first token.
#[derive(Debug, Default)]
pub struct Tree {
    nodes: Vec<(i32, Node)>,
    pub root: NodeId,
}

impl Tree {
    pub fn add(&mut self, start: i32, node: Node) -> NodeId {
        self.nodes.push((start, node));
        self.nodes.len() - 1
    }

    pub fn node(&self, id: NodeId) -> &Node {
        self.nodes.get(id).map_or(&Node::Broken, |(_, node)| node)
    }

    pub fn start(&self, id: NodeId) -> i32 {
        self.nodes.get(id).map_or(0, |(start, _)| *start)
    }
}
