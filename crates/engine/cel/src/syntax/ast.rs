//! Expressions after parsing, with macros expanded: what is checked, planned and evaluated.

use crate::value::Value;

/// The number of an expression in its tree.
pub type Id = i64;

/// An expression.
#[derive(Clone, Debug)]
pub struct Expr {
    pub id: Id,
    pub kind: ExprKind,
}

#[derive(Clone, Debug)]
pub enum ExprKind {
    Literal(Value),
    Identifier(String),
    Select {
        operand: Box<Expr>,
        field: String,
        /// Only asks whether the field is there: `has(operand.field)`.
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
    /// Something that was reported.
    Unspecified,
}

/// An entry of a map; an optional one is only there when its value is.
#[derive(Clone, Debug)]
pub struct Entry {
    pub key: Expr,
    pub value: Expr,
    pub optional: bool,
}

/// What all macros over ranges become: for each element, while a condition holds, a step makes the accumulator anew.
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

    /// The code points before a part; none when it has no place.
    pub fn offset(&self, id: Id) -> Option<i32> {
        let offset = self.offsets.get(usize::try_from(id).ok()?).copied()?;
        (offset >= 0).then_some(offset)
    }
}

/// The functions behind operators, by the names that messages give them.
pub mod operators {
    pub const CONDITIONAL: &str = "_?_:_";
    pub const AND: &str = "_&&_";
    pub const OR: &str = "_||_";
    pub const NOT: &str = "!_";
    pub const NEGATE: &str = "-_";
    pub const EQUALS: &str = "_==_";
    pub const NOT_EQUALS: &str = "_!=_";
    pub const ADD: &str = "_+_";
    pub const INDEX: &str = "_[_]";
    pub const OPT_INDEX: &str = "_[?_]";
    pub const OPT_SELECT: &str = "_?._";
    pub const IN: &str = "@in";
    pub const NOT_STRICTLY_FALSE: &str = "@not_strictly_false";
}
