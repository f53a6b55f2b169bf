//! Parses pipelines, commands and operands.

use super::node::{Command, Expr, Literal, Name, NodeRef, Pipe, Variable};
use super::token::{Keyword, Token, TokenKind};
use super::trees::{Parser, Parsing};
use crate::value::error::MissingKind;
use crate::value::model::Value;
use crate::value::number;
use bumpwright_gostd::quote;

/// The purpose of a pipeline: error texts name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Context {
    Block,
    Command,
    If,
    Parens,
    Range,
    Template,
    With,
}

impl Context {
    /// Its name in error texts.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Block => "block clause",
            Self::Command => "command",
            Self::If => "if",
            Self::Parens => "parenthesized pipeline",
            Self::Range => "range",
            Self::Template => "template clause",
            Self::With => "with",
        }
    }

    /// The token that ends the pipeline.
    fn end(self) -> TokenKind {
        match self {
            Self::Parens => TokenKind::RightParen,
            _ => TokenKind::RightDelim,
        }
    }
}

impl<'t> Parser<'t> {
    /// `$x, $y := command | command`, including the token that ends it.
    pub(crate) fn pipeline(&mut self, context: Context) -> Parsing<Pipe> {
        let mark = self.commands.len();
        let mut pipe = Pipe {
            pos: self.peek_word().pos,
            is_assign: false,
            decl: Vec::new(),
            commands: Vec::new(),
        };
        while self.declaration(&mut pipe, context)? {}
        loop {
            let token = self.next_word();
            if token.kind == context.end() {
                pipe.commands = self.commands.split_off(mark);
                self.check(&pipe, token, context)?;
                return Ok(pipe);
            }
            if !starts_operand(token.kind) {
                return Err(self.unexpected(token, context.name()));
            }
            self.back(token);
            let command = self.command()?;
            self.commands.push(command);
        }
    }

    /// A variable that gets the value, if there is one. Returns true if another one may follow.
    fn declaration(&mut self, pipe: &mut Pipe, context: Context) -> Parsing<bool> {
        let variable = self.peek_word();
        if variable.kind != TokenKind::Variable {
            return Ok(false);
        }
        self.next();
        let after = self.peek();
        let next = self.next_word();
        let is_comma = next.kind == TokenKind::Char && next.text == ",";
        if !is_comma && !matches!(next.kind, TokenKind::Assign | TokenKind::Declare) {
            // It is an operand. The space behind it counts: without it, a field would belong to it.
            self.back(next);
            if after.kind == TokenKind::Space {
                self.back(after);
            }
            self.back(variable);
            return Ok(false);
        }
        pipe.decl.push(Variable {
            pos: variable.pos,
            names: vec![Name::new(self.shared(variable))],
        });
        // Go declares with both signs, and so early that the value may already use the variable.
        self.template.scope.declare(variable.text);
        if !is_comma {
            pipe.is_assign = next.kind == TokenKind::Assign;
            return Ok(false);
        }
        if context != Context::Range || pipe.decl.len() > 1 {
            let text = format!("too many declarations in {}", context.name());
            return Err(self.error(next.pos, &text));
        }
        let second = self.peek_word();
        match second.kind {
            TokenKind::Variable | TokenKind::RightDelim | TokenKind::RightParen => Ok(true),
            _ => Err(self.error(second.pos, "range can only initialize variables")),
        }
    }

    fn check(&self, pipe: &Pipe, end: Token<'t>, context: Context) -> Parsing<()> {
        if pipe.commands.is_empty() {
            return Err(self.error(end.pos, &format!("missing value for {}", context.name())));
        }
        for (index, command) in pipe.commands.iter().enumerate().skip(1) {
            if command.args.first().is_some_and(is_constant) {
                let text = format!("non executable command in pipeline stage {}", index + 1);
                return Err(self.error(command.pos, &text));
            }
        }
        Ok(())
    }

    /// `operand operand …`, up to the token that ends the pipeline, or including the `|` after it.
    fn command(&mut self) -> Parsing<Command> {
        let pos = self.peek_word().pos;
        let mark = self.operands.len();
        loop {
            self.peek_word();
            let operand = self.operand()?;
            self.operands.extend(operand);
            let token = self.next();
            match token.kind {
                TokenKind::Space => continue,
                TokenKind::RightDelim | TokenKind::RightParen => self.back(token),
                TokenKind::Pipe => {}
                _ => return Err(self.unexpected(token, "operand")),
            }
            let args = self.operands.split_off(mark);
            if args.is_empty() {
                return Err(self.error(pos, "empty command"));
            }
            return Ok(Command { pos, args });
        }
    }

    /// `term.Field.Field`, if there is a term.
    fn operand(&mut self) -> Parsing<Option<Expr>> {
        let mark = self.names.len();
        let Some(term) = self.term()? else { return Ok(None) };
        let first = self.peek();
        let has_fields = first.kind == TokenKind::Field;
        while self.peek().kind == TokenKind::Field {
            let field = self.next();
            self.field_name(field);
        }
        let names = self.names.split_off(mark);
        // Go builds a new node for a chain, which begins where the first field behind the term does.
        let pos = |own| if has_fields { first.pos } else { own };
        Ok(Some(match term {
            Expr::Field(own, _) => Expr::Field(pos(own), names),
            Expr::Variable(Variable { pos: own, .. }) => Expr::Variable(Variable { pos: pos(own), names }),
            term if !has_fields => term,
            term if is_constant(&term) => {
                let text = quote(&NodeRef::Expr(&term).to_string());
                return Err(self.error(first.pos, &format!("unexpected . after term {text}")));
            }
            term => Expr::Chain(first.pos, Box::new(term), names),
        }))
    }

    /// A term; the first name of a field or variable is among `names`.
    fn term(&mut self) -> Parsing<Option<Expr>> {
        let token = self.next_word();
        let pos = token.pos;
        Ok(Some(match token.kind {
            TokenKind::Identifier => self.identifier(token)?,
            TokenKind::Keyword(Keyword::Dot) => Expr::Dot(pos),
            TokenKind::Keyword(Keyword::Nil) => Expr::Nil(pos),
            TokenKind::Variable => self.variable(token)?,
            TokenKind::Field => {
                self.field_name(token);
                Expr::Field(pos, Vec::new())
            }
            TokenKind::Bool => Expr::Bool(pos, token.text == "true"),
            TokenKind::CharConstant | TokenKind::Complex | TokenKind::Number => {
                let number = match token.kind {
                    TokenKind::CharConstant => number::character(pos, token.text),
                    TokenKind::Complex => number::complex(pos, token.text),
                    _ => number::number(pos, token.text),
                };
                Expr::Number(Box::new(number.map_err(|error| self.error(pos, &error.to_string()))?))
            }
            TokenKind::LeftParen => {
                let pipe = self.in_parens(pos, |parser| parser.pipeline(Context::Parens))?;
                Expr::Pipe(Box::new(pipe))
            }
            TokenKind::String | TokenKind::RawString => {
                let value = Value::String(self.unquoted(token)?);
                let text = self.shared(token);
                Expr::String(pos, Box::new(Literal { text, value }))
            }
            _ => {
                self.back(token);
                return Ok(None);
            }
        }))
    }

    /// Reads the name of a `.name`.
    fn field_name(&mut self, token: Token<'t>) {
        let name = token.text.strip_prefix('.').unwrap_or(token.text);
        let before = token.text.len() - name.len();
        self.names.push(Name::new(self.part(token.pos + before, name)));
    }

    fn identifier(&self, token: Token<'t>) -> Parsing<Expr> {
        let function = self.functions.get(token.text).ok_or_else(|| {
            let text = format!("function {} not defined", quote(token.text));
            self.missing(token, MissingKind::Function, &text)
        })?;
        Ok(Expr::Identifier(token.pos, function))
    }

    fn variable(&mut self, token: Token<'t>) -> Parsing<Expr> {
        if !self.template.scope.has(token.text) {
            let text = format!("undefined variable {}", quote(token.text));
            return Err(self.missing(token, MissingKind::Variable, &text));
        }
        self.names.push(Name::new(self.shared(token)));
        Ok(Expr::Variable(Variable {
            pos: token.pos,
            names: Vec::new(),
        }))
    }
}

fn starts_operand(kind: TokenKind) -> bool {
    matches!(
        kind,
        TokenKind::Bool
            | TokenKind::CharConstant
            | TokenKind::Complex
            | TokenKind::Field
            | TokenKind::Identifier
            | TokenKind::Keyword(Keyword::Dot | Keyword::Nil)
            | TokenKind::LeftParen
            | TokenKind::Number
            | TokenKind::RawString
            | TokenKind::String
            | TokenKind::Variable
    )
}

/// Whether it can neither be called nor have fields.
fn is_constant(expr: &Expr) -> bool {
    matches!(
        expr,
        Expr::Bool(..) | Expr::Dot(_) | Expr::Nil(_) | Expr::Number(_) | Expr::String(..)
    )
}
