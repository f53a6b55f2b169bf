//! From the text of a template to its trees: Go's `text/template/parse`.
//!
//! This file holds what the grammar stands on: looking ahead, variables in scope, errors. The grammar itself is in
//! `parse_control` (what has a body) and `parse_pipeline` (what has a value).

use super::{
    error::{Error, Missing, MissingKind, Place, Stage},
    functions::Functions,
    lex::{Kind, Lexer, LoopWords, Token},
    node::{List, Node, Pos},
    scope::Scope,
};
use crate::gostd::quote;
use std::collections::HashMap;

/// A text and the templates that it defines.
#[derive(Debug)]
pub(super) struct Parsed {
    /// The text that all positions point into.
    pub(super) text: String,
    /// By name; the text itself is under the name that it was parsed with.
    pub(super) trees: HashMap<String, Tree>,
}

/// A template.
#[derive(Debug)]
pub(super) struct Tree {
    /// What it consists of.
    pub(super) root: List,
    /// Whether that is nothing but space: such a definition gives way to any other.
    is_empty: bool,
}

/// Parses the text of a template, which gets the name.
///
/// # Errors
/// Go's.
pub(super) fn parse(name: &str, text: &str, functions: &Functions) -> Result<Parsed, Error> {
    let mut parser = Parser::new(name, text, functions);
    let root = parser.whole_text().map_err(|error| *error)?;
    parser.define(root.pos, name.to_owned(), root).map_err(|error| *error)?;
    Ok(Parsed {
        text: text.to_owned(),
        trees: parser.trees,
    })
}

/// Levels of parentheses within an expression, and levels of actions with a body. Go allows 10,000 parentheses, but
/// its stacks grow; no template that a human wrote comes near.
const MAX_DEPTH: usize = 1000;

/// Every level asks whether this much stack is left, and goes on elsewhere when it is not.
const STACK_LEFT: usize = 128 << 10;
const STACK_MORE: usize = 2 << 20;

/// The error is in a box, since nearly every function of the parser may return one and few do.
pub(super) type Parsing<T> = Result<T, Box<Error>>;

pub(super) struct Parser<'t> {
    name: &'t str,
    text: &'t str,
    pub(super) functions: &'t Functions,
    lexer: Lexer<'t>,
    /// Words that come again, the next one last. The grammar looks ahead by three.
    ahead: Vec<Token<'t>>,
    pub(super) template: Progress<'t>,
    trees: HashMap<String, Tree>,
    bodies: usize,
}

/// Where the parser is in one template. Templates within it have their own.
pub(super) struct Progress<'t> {
    pub(super) scope: Scope<'t>,
    /// The line of the last word that was read, also ahead: the line of errors.
    pub(super) line: usize,
    /// The line on which the action began.
    pub(super) action_line: Option<usize>,
    pub(super) loops: usize,
    parens: usize,
}

impl Progress<'_> {
    pub(super) fn new() -> Self {
        Self {
            scope: Scope::new(),
            line: 0,
            action_line: None,
            loops: 0,
            parens: 0,
        }
    }
}

impl Tree {
    fn new(root: List) -> Self {
        let is_blank = |node: &Node| matches!(node, Node::Text(_, text) if text.lossy().trim().is_empty());
        Self {
            is_empty: root.nodes.iter().all(is_blank),
            root,
        }
    }
}

impl<'t> Parser<'t> {
    fn new(name: &'t str, text: &'t str, functions: &'t Functions) -> Self {
        let loop_words = LoopWords {
            is_break: functions.get("break").is_none(),
            is_continue: functions.get("continue").is_none(),
        };
        Self {
            name,
            text,
            functions,
            lexer: Lexer::new(text, loop_words),
            ahead: Vec::with_capacity(3),
            template: Progress::new(),
            trees: HashMap::new(),
            bodies: 0,
        }
    }

    /// The next word, also when it is a space.
    pub(super) fn next(&mut self) -> Token<'t> {
        self.ahead.pop().unwrap_or_else(|| {
            let token = self.lexer.token();
            self.template.line = token.line;
            token
        })
    }

    /// Makes a word the next one again.
    pub(super) fn back(&mut self, token: Token<'t>) {
        self.ahead.push(token);
    }

    pub(super) fn peek(&mut self) -> Token<'t> {
        let token = self.next();
        self.back(token);
        token
    }

    pub(super) fn next_word(&mut self) -> Token<'t> {
        loop {
            let token = self.next();
            if token.kind != Kind::Space {
                return token;
            }
        }
    }

    pub(super) fn peek_word(&mut self) -> Token<'t> {
        let token = self.next_word();
        self.back(token);
        token
    }

    pub(super) fn expect(&mut self, kind: Kind, context: &str) -> Parsing<Token<'t>> {
        let token = self.next_word();
        if token.kind == kind {
            Ok(token)
        } else {
            Err(self.unexpected(token, context))
        }
    }

    /// Installs a definition. Another one of the same name is an error, unless one of the two is blank.
    pub(super) fn define(&mut self, pos: Pos, name: String, root: List) -> Parsing<()> {
        let tree = Tree::new(root);
        let is_new = self.trees.get(&name).is_none_or(|old| old.is_empty);
        if is_new {
            self.trees.insert(name, tree);
        } else if !tree.is_empty {
            let name = quote(&name);
            return Err(self.error(pos, &format!("template: multiple definition of template {name}")));
        }
        Ok(())
    }

    /// Runs `inner`, the body of an action, one level deeper.
    pub(super) fn in_body<T>(&mut self, pos: Pos, inner: impl FnOnce(&mut Self) -> Parsing<T>) -> Parsing<T> {
        if self.bodies >= MAX_DEPTH {
            return Err(self.error(pos, "max action depth exceeded"));
        }
        self.bodies += 1;
        let result = stacker::maybe_grow(STACK_LEFT, STACK_MORE, || inner(self));
        self.bodies -= 1;
        result
    }

    /// Runs `inner`, the inside of parentheses, one level deeper.
    pub(super) fn in_parens<T>(&mut self, pos: Pos, inner: impl FnOnce(&mut Self) -> Parsing<T>) -> Parsing<T> {
        if self.template.parens >= MAX_DEPTH {
            return Err(self.error(pos, "max expression depth exceeded"));
        }
        self.template.parens += 1;
        let result = stacker::maybe_grow(STACK_LEFT, STACK_MORE, || inner(self));
        self.template.parens -= 1;
        result
    }

    /// The error that something is wrong at `pos`. Go's text says how far the parser had read.
    pub(super) fn error(&self, pos: Pos, what: &str) -> Box<Error> {
        Box::new(Error {
            text: format!("template: {}:{}: {what}", self.name, self.template.line),
            stage: Stage::Parse,
            place: place(self.text, pos),
            missing: None,
            partial: Vec::new(),
        })
    }

    /// The error that a name stands for nothing.
    pub(super) fn missing(&self, token: Token<'t>, what: MissingKind, text: &str) -> Box<Error> {
        let known = match what {
            MissingKind::Variable => self.template.scope.names(),
            _ => self.functions.names(),
        };
        let mut error = self.error(token.pos, text);
        error.missing = Some(Missing {
            name: token.text.to_owned(),
            known: known.into_iter().map(str::to_owned).collect(),
            what,
        });
        error
    }

    /// The error that a word does not belong where it is; of a word that is none, why.
    pub(super) fn unexpected(&self, token: Token<'t>, context: &str) -> Box<Error> {
        if !matches!(token.kind, Kind::Fault(_)) {
            return self.error(token.pos, &format!("unexpected {token} in {context}"));
        }
        let mut text = token.to_string();
        if let Some(line) = self.template.action_line.filter(|line| *line != token.line) {
            let action = if text.ends_with(" action") { "" } else { " in action" };
            text.push_str(&format!("{action} started at {}:{line}", self.name));
        }
        self.error(token.pos, &text)
    }
}

/// The line and column of a position.
fn place(text: &str, pos: Pos) -> Place {
    let before = text.get(..pos).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    Place {
        line: 1 + before.matches('\n').count(),
        column: 1 + before.get(line_start..).unwrap_or_default().chars().count(),
    }
}
