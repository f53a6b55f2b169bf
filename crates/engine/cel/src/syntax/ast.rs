//! The abstract syntax tree: expressions after parsing, with macros expanded.

use crate::value::Value;

/// The number of an expression in its tree.
pub type Id = i64;

/// A parsed expression with the id that reports refer to.
#[derive(Clone, Debug)]
pub struct Expr {
    pub id: Id,
    pub kind: ExprKind,
}

/// The forms of an expression.
#[derive(Clone, Debug)]
pub enum ExprKind {
    Literal(Value),
    Identifier(String),
    Select {
        operand: Box<Expr>,
        field: String,
        /// Whether it is a test for presence: `has(operand.field)`.
        test: bool,
    },
    Call {
        function: String,
        target: Option<Box<Expr>>,
        arguments: Vec<Expr>,
    },
    List(Vec<(Expr, bool)>),
    Map(Vec<Entry>),
    Message {
        name: String,
        fields: Vec<(Id, String, Expr)>,
    },
    Fold(Box<Fold>),
    /// A part with a reported fault.
    Unspecified,
}

/// An entry of a map; an optional one is left out when its value is empty.
#[derive(Clone, Debug)]
pub struct Entry {
    pub key: Expr,
    pub value: Expr,
    pub optional: bool,
}

/// The expansion of macros over ranges: for each element, while a condition holds, a step computes a new accumulator.
#[derive(Clone, Debug)]
pub struct Fold {
    pub range: Expr,
    pub variable: String,
    pub accumulator: String,
    pub initial: Expr,
    pub condition: Expr,
    pub step: Expr,
    pub result: Expr,
}

/// A whole expression, with the place of each part.
#[derive(Clone, Debug)]
pub struct Ast {
    pub root: Expr,
    offsets: Vec<i32>,
}

impl Ast {
    pub fn new(root: Expr, offsets: Vec<i32>) -> Self {
        Self { root, offsets }
    }

    /// The code points before a part; `None` when it has no place.
    pub fn offset(&self, id: Id) -> Option<i32> {
        let offset = self.offsets.get(usize::try_from(id).ok()?).copied()?;
        (offset >= 0).then_some(offset)
    }
}

/// The functions of operators, by their names in messages.
pub mod operators {
    pub(crate) const CONDITIONAL: &str = "_?_:_";
    pub(crate) const AND: &str = "_&&_";
    pub(crate) const OR: &str = "_||_";
    pub const NOT: &str = "!_";
    pub(crate) const NEGATE: &str = "-_";
    pub(crate) const EQUALS: &str = "_==_";
    pub(crate) const NOT_EQUALS: &str = "_!=_";
    pub const ADD: &str = "_+_";
    pub const INDEX: &str = "_[_]";
    pub(crate) const OPT_INDEX: &str = "_[?_]";
    pub(crate) const OPT_SELECT: &str = "_?._";
    pub(crate) const IN: &str = "@in";
    pub(crate) const NOT_STRICTLY_FALSE: &str = "@not_strictly_false";
}
