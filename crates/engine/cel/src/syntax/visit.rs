//! Turns the parse tree into an expression: literals get their values, macros are expanded, logic is balanced.

use bumpwright_gostd::{parse_float, parse_int, parse_uint};
use bumpwright_text::Parts as _;

use super::ast::{Ast, Entry, Expr, ExprKind, Id, operators};
use super::literal::unescape;
use super::macros;
use super::report::{Halt, Reports};
use super::token::{Token, TokenKind};
use super::tree::{Element, Field, Node, NodeId, Tree};
use crate::value::Value;

/// Greatest nesting of operators, selections and calls (cel-go's `MaxRecursionDepth`).
const MAX_DEPTH: u32 = 250;
/// Greatest number of parts that macros copy; cel-go has no such limit and doubles with each `optMap` in a chain.
const MAX_COPIES: usize = 50_000;
const STACK_NEEDED: usize = 128 * 1024;
const STACK_ADDED: usize = 2 * 1024 * 1024;

/// Reserved words, which the grammar accepts as identifiers.
const RESERVED: [&str; 21] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "false",
    "for",
    "function",
    "if",
    "import",
    "in",
    "let",
    "loop",
    "package",
    "namespace",
    "null",
    "return",
    "true",
    "var",
    "void",
    "while",
];

/// Builds the expression of a parse tree, and reports faults that the grammar does not cover.
pub fn visit(tree: &Tree, reports: &mut Reports) -> Result<Ast, Halt> {
    let mut visitor = Visitor {
        tree,
        parts: Parts {
            reports,
            // Parts are numbered from 1.
            offsets: vec![-1],
            copies: 0,
        },
        depth: 0,
    };
    let root = visitor.visit(Some(tree.root))?;
    Ok(Ast::new(root, visitor.parts.offsets))
}

/// Numbers and places of the parts of an expression.
pub struct Parts<'t> {
    pub reports: &'t mut Reports,
    offsets: Vec<i32>,
    copies: usize,
}

impl Parts<'_> {
    /// Returns a new number for a part at an offset.
    pub fn number(&mut self, offset: i32) -> Id {
        self.offsets.push(offset);
        Id::try_from(self.offsets.len() - 1).unwrap_or(Id::MAX)
    }

    fn number_of_token(&mut self, token: Option<&Token>) -> Id {
        token.map_or(-1, |token| self.number(token.offset))
    }

    /// Releases a number if it is the latest.
    fn release(&mut self, id: Id) {
        if usize::try_from(id).is_ok_and(|id| id + 1 == self.offsets.len() && id > 0) {
            self.offsets.pop();
        }
    }

    pub fn offset(&self, id: Id) -> i32 {
        let index = usize::try_from(id).ok();
        index.and_then(|id| self.offsets.get(id)).copied().unwrap_or(-1)
    }

    /// Counts a copied part.
    pub(crate) fn count_copy(&mut self) -> Result<(), Halt> {
        self.copies += 1;
        if self.copies > MAX_COPIES {
            self.reports
                .nowhere(format!("macros copy more than {MAX_COPIES} parts of the expression"));
            return Err(Halt);
        }
        Ok(())
    }

    fn report(&mut self, offset: i32, message: String) -> Expr {
        let id = self.number(offset);
        self.reports.at(offset, message);
        expr(id, ExprKind::Unspecified)
    }
}

pub fn expr(id: Id, kind: ExprKind) -> Expr {
    Expr { id, kind }
}

struct Visitor<'t> {
    tree: &'t Tree,
    parts: Parts<'t>,
    depth: u32,
}

impl Visitor<'_> {
    fn visit(&mut self, node: Option<NodeId>) -> Result<Expr, Halt> {
        stacker::maybe_grow(STACK_NEEDED, STACK_ADDED, || {
            self.visit_here(node.unwrap_or(usize::MAX))
        })
    }

    fn visit_here(&mut self, id: NodeId) -> Result<Expr, Halt> {
        let tree = self.tree;
        let node = tree.node(id);
        let counted = matches!(
            node,
            Node::Conditional { .. }
                | Node::Binary { .. }
                | Node::Select { .. }
                | Node::MemberCall { .. }
                | Node::Index { .. }
        );
        if counted {
            self.depth += 1;
            if self.depth > MAX_DEPTH {
                self.parts.reports.nowhere("max recursion depth exceeded".to_owned());
                return Err(Halt);
            }
        }
        let visited = self.visit_node(node, tree.start(id));
        self.depth -= u32::from(counted);
        visited
    }

    fn visit_node(&mut self, node: &Node, start: i32) -> Result<Expr, Halt> {
        match node {
            Node::Broken => Ok(expr(self.parts.number(-1), ExprKind::Unspecified)),
            Node::UnknownUnary => {
                let id = self.parts.number(start);
                Ok(expr(id, ExprKind::Literal(Value::string("<<error>>"))))
            }
            Node::Conditional {
                condition,
                question,
                then,
                otherwise,
            } => {
                let condition = self.visit(*condition)?;
                let id = self.parts.number(question.offset);
                let arguments = vec![condition, self.visit(*then)?, self.visit(*otherwise)?];
                self.call_or_macro(id, operators::CONDITIONAL, None, arguments)
            }
            Node::Logic {
                is_and,
                first,
                operators,
                rest,
            } => self.logic(*is_and, *first, operators, rest, start),
            Node::Binary { left, operator, right } => self.binary(*left, operator.as_ref(), *right, start),
            Node::Unary { operators, member } => self.unary(operators, *member),
            Node::Select {
                member,
                dot,
                optional,
                field,
            } => self.select(*member, dot.as_ref(), *optional, field.as_ref(), start),
            Node::MemberCall {
                member,
                name,
                open,
                arguments,
            } => {
                let operand = self.visit(Some(*member))?;
                let Some(name) = name else {
                    return Ok(self.unspecified(start));
                };
                let id = self.parts.number_of_token(open.as_ref());
                let arguments = self.all(arguments.as_deref())?;
                self.call_or_macro(id, &name.text, Some(operand), arguments)
            }
            Node::Index {
                member,
                open,
                optional,
                index,
            } => {
                let operand = self.visit(Some(*member))?;
                let id = self.parts.number_of_token(open.as_ref());
                let index = self.visit(*index)?;
                let function = if *optional {
                    operators::OPT_INDEX
                } else {
                    operators::INDEX
                };
                self.call_or_macro(id, function, None, vec![operand, index])
            }
            Node::Identifier { .. } | Node::GlobalCall { .. } => self.named(node, start),
            Node::List { open, elements } => self.list(open.as_ref(), elements),
            Node::Map { .. } | Node::Message { .. } => self.entries(node),
            Node::Literal { negative, token } => self.literal(*negative, token.as_ref(), start),
        }
    }

    fn unspecified(&mut self, start: i32) -> Expr {
        expr(self.parts.number(start), ExprKind::Unspecified)
    }

    fn all(&mut self, nodes: Option<&[NodeId]>) -> Result<Vec<Expr>, Halt> {
        let nodes = nodes.into_iter().flatten();
        nodes.map(|node| self.visit(Some(*node))).collect()
    }

    fn call_or_macro(
        &mut self,
        id: Id,
        function: &str,
        target: Option<Expr>,
        arguments: Vec<Expr>,
    ) -> Result<Expr, Halt> {
        let Some(expand) = macros::find(function, arguments.len(), target.is_some()) else {
            return Ok(call(id, function, target, arguments));
        };
        let offset = self.parts.offset(id);
        match expand(&mut self.parts, offset, target, arguments) {
            Ok(expanded) => {
                self.parts.release(id);
                Ok(expanded)
            }
            Err(macros::ExpansionError::Halt) => Err(Halt),
            Err(macros::ExpansionError::Argument { argument, message }) => {
                let at = self.parts.offset(argument);
                self.parts.release(id);
                Ok(self.parts.report(at, message.to_owned()))
            }
        }
    }

    /// Builds a balanced tree of the terms of `&&` or `||`, which decides the order of evaluation.
    fn logic(
        &mut self,
        is_and: bool,
        first: Option<NodeId>,
        tokens: &[Token],
        rest: &[NodeId],
        start: i32,
    ) -> Result<Expr, Halt> {
        let mut terms = vec![Some(self.visit(first)?)];
        let mut ids = Vec::new();
        for (index, token) in tokens.iter().enumerate() {
            let Some(node) = rest.get(index) else {
                let wanted = if is_and { "&&" } else { "||" };
                return Ok(self
                    .parts
                    .report(start, format!("unexpected character, wanted '{wanted}'")));
            };
            terms.push(Some(self.visit(Some(*node))?));
            ids.push(self.parts.number(token.offset));
        }
        let function = if is_and { operators::AND } else { operators::OR };
        Ok(balanced(function, &mut terms, &ids))
    }

    fn binary(
        &mut self,
        left: NodeId,
        operator: Option<&Token>,
        right: Option<NodeId>,
        start: i32,
    ) -> Result<Expr, Halt> {
        let Some((function, token)) = operator.and_then(|token| Some((binary_function(&token.text)?, token))) else {
            return Ok(self.parts.report(start, "operator not found".to_owned()));
        };
        let left = self.visit(Some(left))?;
        let id = self.parts.number(token.offset);
        let right = self.visit(right)?;
        self.call_or_macro(id, function, None, vec![left, right])
    }

    fn unary(&mut self, tokens: &[Token], member: Option<NodeId>) -> Result<Expr, Halt> {
        let first = tokens.first().filter(|_| tokens.len() % 2 == 1);
        let Some(first) = first else { return self.visit(member) };
        let id = self.parts.number(first.offset);
        let target = self.visit(member)?;
        let function = if first.text == "-" {
            operators::NEGATE
        } else {
            operators::NOT
        };
        self.call_or_macro(id, function, None, vec![target])
    }

    fn select(
        &mut self,
        member: NodeId,
        dot: Option<&Token>,
        optional: bool,
        field: Option<&Field>,
        start: i32,
    ) -> Result<Expr, Halt> {
        let operand = self.visit(Some(member))?;
        let (Some(field), Some(dot)) = (field, dot) else {
            return Ok(self.unspecified(start));
        };
        let name = match field_name(field) {
            Ok(name) => name,
            Err(message) => {
                self.parts.report(field.start, message.to_owned());
                String::new()
            }
        };
        if optional {
            let name_id = self.parts.number(field.start);
            let name = expr(name_id, ExprKind::Literal(Value::string(&name)));
            let id = self.parts.number(dot.offset);
            return Ok(call(id, operators::OPT_SELECT, None, vec![operand, name]));
        }
        let id = self.parts.number(dot.offset);
        let kind = ExprKind::Select {
            operand: Box::new(operand),
            field: name,
            test: false,
        };
        Ok(expr(id, kind))
    }

    fn named(&mut self, node: &Node, start: i32) -> Result<Expr, Halt> {
        let (Node::Identifier { leading_dot, name } | Node::GlobalCall { leading_dot, name, .. }) = node else {
            return Ok(self.unspecified(start));
        };
        let Some(token) = name else {
            return Ok(self.unspecified(start));
        };
        if RESERVED.contains(&token.text.as_str()) {
            let message = format!("reserved identifier: {}", token.text);
            return Ok(self.parts.report(start, message));
        }
        let name = format!("{}{}", if *leading_dot { "." } else { "" }, token.text);
        let Node::GlobalCall { open, arguments, .. } = node else {
            let id = self.parts.number(token.offset);
            return Ok(expr(id, ExprKind::Identifier(name)));
        };
        let id = self.parts.number_of_token(open.as_ref());
        let arguments = self.all(arguments.as_deref())?;
        self.call_or_macro(id, &name, None, arguments)
    }

    fn list(&mut self, open: Option<&Token>, elements: &[Element]) -> Result<Expr, Halt> {
        let id = self.parts.number_of_token(open);
        let mut list = Vec::with_capacity(elements.len());
        for element in elements {
            list.push((self.visit(element.expression)?, element.optional));
        }
        Ok(expr(id, ExprKind::List(list)))
    }

    fn entries(&mut self, node: &Node) -> Result<Expr, Halt> {
        match node {
            Node::Map {
                open,
                keys,
                colons,
                values,
            } => {
                let id = self.parts.number_of_token(open.as_ref());
                let entries = self.map_entries(keys, colons, values)?;
                Ok(expr(id, ExprKind::Map(entries)))
            }
            Node::Message {
                leading_dot,
                names,
                open,
                fields_start,
                fields,
                colons,
                values,
            } => {
                let names: Vec<&str> = names.iter().map(|name| name.text.as_str()).collect();
                let name = format!("{}{}", if *leading_dot { "." } else { "" }, names.join("."));
                let id = self.parts.number_of_token(open.as_ref());
                let fields = self.fields(*fields_start, fields, colons, values)?;
                Ok(expr(id, ExprKind::Message { name, fields }))
            }
            _ => Ok(self.unspecified(-1)),
        }
    }

    fn map_entries(&mut self, keys: &[Element], colons: &[Token], values: &[NodeId]) -> Result<Vec<Entry>, Halt> {
        let mut entries = Vec::with_capacity(colons.len());
        for (index, colon) in colons.iter().enumerate() {
            self.parts.number(colon.offset);
            let (Some(key), Some(value)) = (keys.get(index), values.get(index)) else {
                return Ok(Vec::new());
            };
            entries.push(Entry {
                key: self.visit(key.expression)?,
                value: self.visit(Some(*value))?,
                optional: key.optional,
            });
        }
        Ok(entries)
    }

    fn fields(
        &mut self,
        start: i32,
        fields: &[(bool, Option<Field>)],
        colons: &[Token],
        values: &[NodeId],
    ) -> Result<Vec<(Id, String, Expr)>, Halt> {
        let mut entries = Vec::with_capacity(fields.len());
        for (index, (_, field)) in fields.iter().enumerate() {
            let (Some(colon), Some(value)) = (colons.get(index), values.get(index)) else {
                return Ok(Vec::new());
            };
            let id = self.parts.number(colon.offset);
            let name = field.as_ref().ok_or("unsupported ident kind").and_then(field_name);
            match name {
                Ok(name) => entries.push((id, name, self.visit(Some(*value))?)),
                Err(message) => {
                    self.parts.report(start, message.to_owned());
                }
            }
        }
        Ok(entries)
    }

    fn literal(&mut self, negative: bool, token: Option<&Token>, start: i32) -> Result<Expr, Halt> {
        let Some(token) = token else {
            return Ok(self.unspecified(start));
        };
        Ok(match literal_value(negative, token) {
            Ok(Some(value)) => expr(self.parts.number(start), ExprKind::Literal(value)),
            Ok(None) => self.unspecified(start),
            Err(message) => self.parts.report(start, message.to_owned()),
        })
    }
}

fn literal_value(negative: bool, token: &Token) -> Result<Option<Value>, &'static str> {
    let text = token.text.as_str();
    let sign = if negative { "-" } else { "" };
    let digits = |text: &str| match text.strip_prefix("0x") {
        Some(hex) => (format!("{sign}{hex}"), 16),
        None => (format!("{sign}{text}"), 10),
    };
    let value = match token.kind {
        TokenKind::Int => {
            let (text, base) = digits(text);
            Value::Int(parse_int(text, base, 64).map_err(|_| "invalid int literal")?)
        }
        TokenKind::Uint => {
            let (text, base) = digits(text.trim_end_matches(['u', 'U']));
            Value::Uint(parse_uint(text, base, 64).map_err(|_| "invalid uint literal")?)
        }
        TokenKind::Float => {
            let text = format!("{sign}{text}");
            Value::Double(parse_float(text, 64).map_err(|_| "invalid double literal")?)
        }
        TokenKind::String => Value::string(&String::from_utf8_lossy(&unescape(text, false)?)),
        TokenKind::Bytes => Value::bytes(unescape(text.get(1..).unwrap_or(""), true)?),
        TokenKind::True => Value::Bool(true),
        TokenKind::False => Value::Bool(false),
        TokenKind::Null => Value::Null,
        _ => return Ok(None),
    };
    Ok(Some(value))
}

fn field_name(field: &Field) -> Result<String, &'static str> {
    match &field.token {
        Some(_) if field.escaped => Err("unsupported syntax: '`'"),
        Some(token) => Ok(token.text.clone()),
        None => Err("unsupported ident kind"),
    }
}

pub fn call(id: Id, function: &str, target: Option<Expr>, arguments: Vec<Expr>) -> Expr {
    let kind = ExprKind::Call {
        function: function.to_owned(),
        target: target.map(Box::new),
        arguments,
    };
    expr(id, kind)
}

fn balanced(function: &str, terms: &mut [Option<Expr>], ids: &[Id]) -> Expr {
    let middle = ids.len() / 2;
    let Some(id) = ids.get(middle).copied() else {
        let only = terms.first_mut().and_then(Option::take);
        return only.unwrap_or(expr(-1, ExprKind::Unspecified));
    };
    let (left, right) = terms.split_at_mut(middle + 1);
    let left = balanced(function, left, ids.part(..middle));
    let right = balanced(function, right, ids.part(middle + 1..));
    call(id, function, None, vec![left, right])
}

fn binary_function(text: &str) -> Option<&'static str> {
    Some(match text {
        "==" => operators::EQUALS,
        "!=" => operators::NOT_EQUALS,
        "in" => operators::IN,
        "<" => "_<_",
        "<=" => "_<=_",
        ">=" => "_>=_",
        ">" => "_>_",
        "+" => operators::ADD,
        "-" => "_-_",
        "*" => "_*_",
        "/" => "_/_",
        "%" => "_%_",
        _ => return None,
    })
}
