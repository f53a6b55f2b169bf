//! The parse tree: the parts of each rule that were found, also in texts with syntax errors.
//!
//! Nodes refer to each other by number, so that a chain of a hundred thousand operators can be freed without recursion.

use super::token::Token;

/// The number of a node.
pub type NodeId = usize;

/// A parsed rule. Rules that only wrap another one have no node.
#[derive(Debug, Default)]
pub enum Node {
    /// A node without a meaning.
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
    /// A relation or an arithmetic operation.
    Binary {
        left: NodeId,
        operator: Option<Token>,
        right: Option<NodeId>,
    },
    /// One or more `!` or `-`.
    Unary {
        operators: Vec<Token>,
        member: Option<NodeId>,
    },
    /// A unary expression whose operator was not found.
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
        /// Offset of the first field.
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

/// The name of a field, plain or in backquotes, with its token.
#[derive(Clone, Debug)]
pub struct Field {
    pub token: Option<Token>,
    pub escaped: bool,
    /// Offset at which the name is, or should be.
    pub start: i32,
}

/// An element of a list or a key of a map, with an optional `?`.
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
