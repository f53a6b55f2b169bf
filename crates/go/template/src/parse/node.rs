//! The parsed template: Go's `text/template/parse` nodes.
//!
//! Every node has its position (a byte offset into the text of its template) and the text that Go prints for it, since
//! error texts contain both.

use std::cell::Cell;
use std::fmt;

use crate::value::methods::Path;
use crate::value::model::{Field, Function, StructType, Value};
use crate::value::text::Text;

/// A byte offset into the text of the template.
pub(crate) type Pos = usize;

/// A sequence of nodes.
#[derive(Debug, Default)]
pub(crate) struct List {
    pub pos: Pos,
    /// The nodes in order.
    pub nodes: Vec<Node>,
}

/// A node of output or control flow.
#[derive(Debug)]
pub(crate) enum Node {
    /// Plain text, trimmed where a marker asks for it.
    Text(Pos, Text),
    /// `{{pipeline}}`
    Action(Pos, Pipe),
    If(Box<Branch>),
    Range(Box<Branch>),
    With(Box<Branch>),
    /// `{{template "name" pipeline}}`; also the call of a `{{block}}`, besides its definition.
    Template(Box<TemplateCall>),
    Break(Pos),
    Continue(Pos),
}

/// `if`, `range` or `with`.
#[derive(Debug)]
pub(crate) struct Branch {
    pub pos: Pos,
    /// The condition, or the value to iterate over.
    pub pipe: Pipe,
    /// The body when it is not empty.
    pub list: List,
    /// The body when it is empty.
    pub else_list: Option<List>,
}

/// `{{template "name" pipeline}}`
#[derive(Debug)]
pub(crate) struct TemplateCall {
    pub pos: Pos,
    /// The name of the template.
    pub name: String,
    /// Its dot.
    pub pipe: Option<Pipe>,
}

/// Commands, each of which gets the result of the one before it.
#[derive(Debug)]
pub(crate) struct Pipe {
    pub pos: Pos,
    /// Whether the variables are assigned (`=`) and not declared (`:=`).
    pub is_assign: bool,
    /// The variables that get the result.
    pub decl: Vec<Variable>,
    /// The commands, at least one.
    pub commands: Vec<Command>,
}

/// A command: a value, or a function or method with its arguments.
#[derive(Debug)]
pub(crate) struct Command {
    pub pos: Pos,
    /// The operands, at least one.
    pub args: Vec<Expr>,
}

/// `$x.Field.Other`; `names` begins with the variable, dollar sign included.
#[derive(Debug)]
pub(crate) struct Variable {
    pub pos: Pos,
    /// `$x`, `Field`, `Other`; as values, since maps are looked up by them.
    pub names: Vec<Name>,
}

/// A name of a field, a method or a key.
pub(crate) struct Name {
    /// Its text as a string value: the key for a lookup in a map.
    pub key: Value,
    /// The last lookup: a loop looks up the same name in structs of one type.
    pub seen: Cell<Option<Box<PlainField>>>,
}

/// An exported field of a struct, perhaps of one embedded in it, that no method hides.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlainField {
    /// The type of the struct.
    pub of: &'static StructType,
    /// Whether it was addressable, and with it had more methods.
    pub addressable: bool,
    /// The path of the field.
    pub path: Path,
    pub field: &'static Field,
}

#[derive(Debug)]
pub(crate) enum Expr {
    /// `.`
    Dot(Pos),
    Nil(Pos),
    Bool(Pos, bool),
    /// `1`, `0x1p-2`, `'a'`, `2i`
    Number(Box<Number>),
    String(Pos, Box<Literal>),
    /// The name of a function.
    Identifier(Pos, &'static Function),
    /// `.Field.Other`
    Field(Pos, Vec<Name>),
    /// `$x`, `$x.Field`
    Variable(Variable),
    /// `(pipeline).Field`, and fields of other terms.
    Chain(Pos, Box<Expr>, Vec<Name>),
    /// A pipeline in parentheses.
    Pipe(Box<Pipe>),
}

/// A string literal.
#[derive(Debug)]
pub(crate) struct Literal {
    /// As written, with its quotes.
    pub text: Text,
    pub value: Value,
}

/// A number literal with all values that it can stand for.
#[derive(Debug)]
pub(crate) struct Number {
    pub pos: Pos,
    /// As written.
    pub text: String,
    /// As a signed integer.
    pub int: Option<i64>,
    /// As an unsigned integer.
    pub uint: Option<u64>,
    /// As a floating-point number.
    pub float: Option<f64>,
    /// As a complex number.
    pub complex: Option<(f64, f64)>,
}

/// A reference to any node: the place of an error, and how Go prints it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum NodeRef<'t> {
    Node(&'t Node),
    Pipe(&'t Pipe),
    Command(&'t Command),
    Expr(&'t Expr),
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.key, f)
    }
}

impl Name {
    pub fn new(text: Text) -> Self {
        Self {
            key: Value::String(text),
            seen: Cell::new(None),
        }
    }

    pub fn text(&self) -> &str {
        match &self.key {
            Value::String(text) => std::str::from_utf8(text).unwrap_or(""),
            _ => "",
        }
    }
}
