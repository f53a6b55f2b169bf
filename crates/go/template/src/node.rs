//! The parsed template: Go's `text/template/parse` nodes.
//!
//! Every node knows where it begins (a byte offset into the text of its template) and how Go prints it, since error
//! texts hold both.

use super::{
    function::Function,
    go_type::{Field, StructType},
    methods::Path,
    text::Text,
    value::Value,
};
use std::cell::Cell;

/// A byte offset into the text of the template.
pub(super) type Pos = usize;

/// A sequence of nodes.
#[derive(Debug, Default)]
pub(super) struct List {
    /// Where it begins.
    pub pos: Pos,
    /// In order.
    pub nodes: Vec<Node>,
}

/// What produces output or decides about it.
#[derive(Debug)]
pub(super) enum Node {
    /// Plain text, trimmed where a marker asks for it.
    Text(Pos, Text),
    /// `{{pipeline}}`
    Action(Pos, Pipe),
    /// `{{if}}`
    If(Branch),
    /// `{{range}}`
    Range(Branch),
    /// `{{with}}`
    With(Branch),
    /// `{{template "name" pipeline}}`; `{{block}}` gives one too, and a definition.
    Template(TemplateCall),
    /// `{{break}}`
    Break(Pos),
    /// `{{continue}}`
    Continue(Pos),
}

/// `if`, `range` or `with`.
#[derive(Debug)]
pub(super) struct Branch {
    /// Where it begins.
    pub pos: Pos,
    /// What is tested or walked over.
    pub pipe: Pipe,
    /// What happens when it is not empty.
    pub list: List,
    /// What happens otherwise.
    pub else_list: Option<List>,
}

/// `{{template "name" pipeline}}`
#[derive(Debug)]
pub(super) struct TemplateCall {
    /// Where it begins.
    pub pos: Pos,
    /// The template that is called.
    pub name: String,
    /// What its dot will be.
    pub pipe: Option<Pipe>,
}

/// Commands, each of which gets the result of the one before it.
#[derive(Debug)]
pub(super) struct Pipe {
    /// Where it begins.
    pub pos: Pos,
    /// Whether the variables are assigned (`=`) and not declared (`:=`).
    pub is_assign: bool,
    /// The variables that get the result.
    pub decl: Vec<Variable>,
    /// NodeRef least one.
    pub commands: Vec<Command>,
}

/// A command: a value, or a function or method with its arguments.
#[derive(Debug)]
pub(super) struct Command {
    /// Where it begins.
    pub pos: Pos,
    /// NodeRef least one.
    pub args: Vec<Expr>,
}

/// `$x.Field.Other`; `names` begins with the variable, dollar sign included.
#[derive(Debug)]
pub(super) struct Variable {
    /// Where it begins.
    pub pos: Pos,
    /// `$x`, `Field`, `Other`; as values, since maps are looked up by them.
    pub names: Vec<Name>,
}

/// A name of a field, a method or a key.
#[derive(Debug)]
pub(super) struct Name {
    /// As text.
    pub text: String,
    /// As a string value: the key when the field is looked up in a map.
    pub key: Value,
    /// What it was the last time: a loop asks structs of one type again and again.
    pub seen: Cell<Option<PlainField>>,
}

/// An exported field of a struct, perhaps of one embedded in it, that no method hides.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlainField {
    /// The struct that was asked.
    pub of: &'static StructType,
    /// Whether it had an address, and with it more methods.
    pub addressable: bool,
    /// Where the field is.
    pub path: Path,
    /// What it is.
    pub field: &'static Field,
}

/// An operand.
#[derive(Debug)]
pub(super) enum Expr {
    /// `.`
    Dot(Pos),
    /// `nil`
    Nil(Pos),
    /// `true`, `false`
    Bool(Pos, bool),
    /// `1`, `0x1p-2`, `'a'`, `2i`
    Number(Number),
    /// A string literal: as written, and what it means.
    String(Pos, String, Value),
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

/// A number literal with everything that it can stand for.
#[derive(Debug)]
pub(super) struct Number {
    /// Where it begins.
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

/// Any node by reference: where an error happened, and how Go prints it there.
#[derive(Clone, Copy, Debug)]
pub(super) enum NodeRef<'t> {
    /// A node.
    Node(&'t Node),
    /// A pipeline.
    Pipe(&'t Pipe),
    /// A command.
    Command(&'t Command),
    /// An operand.
    Expr(&'t Expr),
}

impl Name {
    /// A name.
    pub fn new(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            key: Value::text(text),
            seen: Cell::new(None),
        }
    }
}
