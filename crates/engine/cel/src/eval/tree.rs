//! The tree that is evaluated.

use std::sync::Arc;

use crate::check::functions::Function;
use crate::syntax::ast::Id;
use crate::value::{Fault, Value};
use bumpwright_re2::Regexp;

/// A part of a plan.
#[derive(Clone, Debug)]
pub enum Node {
    Constant(Result<Value, Fault>),
    Attribute(Attribute),
    And(Box<[Node; 2]>),
    Or(Box<[Node; 2]>),
    Equal(Box<[Node; 2]>),
    NotEqual(Box<[Node; 2]>),
    NotStrictlyFalse(Box<Node>),
    Call(Call),
    /// A search for a constant pattern.
    Matches(Arc<Regexp>, Box<[Node; 2]>),
    OptionalOr(Box<[Node; 2]>),
    OptionalOrValue(Box<[Node; 2]>),
    List(Vec<(Node, bool)>),
    Map(Vec<(Node, Node, bool)>),
    Fold(Box<FoldNode>),
}

/// A function call; without `function` the function is unknown.
#[derive(Clone, Debug)]
pub struct Call {
    pub id: Id,
    pub name: Arc<str>,
    pub function: Option<&'static Function>,
    pub arguments: Vec<Node>,
}

/// A comprehension: `all`, `exists`, `map`, `filter` and their kind.
#[derive(Clone, Debug)]
pub struct FoldNode {
    pub range: Node,
    pub variable: Arc<str>,
    pub accumulator: Arc<str>,
    pub initial: Node,
    pub condition: Node,
    pub step: FoldStep,
    pub result: Node,
}

/// What a fold does with each element.
#[derive(Clone, Debug)]
pub enum FoldStep {
    /// The accumulator becomes the node's value.
    Replace(Node),
    /// When the predicate holds, the elements are appended to the accumulator.
    Append { predicate: Option<Node>, elements: Node },
}

/// A value with the fields and indexes that follow it.
#[derive(Clone, Debug)]
pub struct Attribute {
    pub base: Base,
    pub qualifiers: Vec<Qualifier>,
    /// Whether it is a test for presence: `has(…)`.
    pub test: bool,
}

/// What the fields and indexes of an attribute start from.
#[derive(Clone, Debug)]
pub enum Base {
    Named(Arc<str>),
    Relative(Box<Node>),
    /// The fields and indexes follow either branch.
    Conditional(Box<Node>, Box<[Attribute; 2]>),
}

/// A field or an index.
#[derive(Clone, Debug)]
pub struct Qualifier {
    pub key: QualifierKey,
    /// Whether a missing element is an empty optional value.
    pub optional: bool,
    /// Whether it is a test for presence.
    pub test: bool,
}

/// The field or index, known when the program is compiled or not.
#[derive(Clone, Debug)]
pub enum QualifierKey {
    Constant(Value),
    Dynamic(Box<Node>),
}
