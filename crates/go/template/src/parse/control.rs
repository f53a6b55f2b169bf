//! Parses text, actions, and actions with a body.

use super::node::{Branch, List, Node, Pos, TemplateCall};
use super::pipeline::Context;
use super::token::{Keyword, Token, TokenKind};
use super::trees::{Parser, Parsing, Progress};
use std::fmt;

/// A node, or the end of the list of nodes.
enum Item {
    Node(Node),
    Close(Close),
}

/// `{{end}}` or `{{else}}`.
#[derive(Clone, Copy)]
struct Close {
    kind: CloseKind,
    /// The position of the action.
    action: Pos,
    /// Its position according to Go.
    pos: Pos,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum CloseKind {
    Else,
    End,
}

/// Actions with a body that may have an `else`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BranchKind {
    If,
    Range,
    With,
}

const DEFINE_CLAUSE: &str = "define clause";

impl<'t> Parser<'t> {
    /// The whole text: the only place for definitions.
    pub(crate) fn whole_text(&mut self) -> Parsing<List> {
        let pos = self.peek_word().pos;
        while self.peek().kind != TokenKind::Eof {
            let token = self.next();
            if token.kind == TokenKind::LeftDelim {
                let word = self.next_word();
                if word.kind == TokenKind::Keyword(Keyword::Define) {
                    self.definition(word)?;
                    continue;
                }
                self.back(word);
            }
            self.back(token);
            match self.item()? {
                Item::Node(node) => self.nodes.push(node),
                Item::Close(close) => return Err(self.error(close.action, &format!("unexpected {close}"))),
            }
        }
        let nodes = self.nodes.split_off(0);
        Ok(List { pos, nodes })
    }

    /// `{{define "name"}} … {{end}}` after the keyword.
    fn definition(&mut self, keyword: Token<'t>) -> Parsing<()> {
        let outer = self.enter_template();
        let token = self.next_word();
        if !matches!(token.kind, TokenKind::String | TokenKind::RawString) {
            return Err(self.unexpected(token, DEFINE_CLAUSE));
        }
        let name = self.template_name(token, DEFINE_CLAUSE)?;
        self.expect(TokenKind::RightDelim, DEFINE_CLAUSE)?;
        let (root, close) = self.in_body(keyword.pos, Self::body)?;
        self.expect_end(close, DEFINE_CLAUSE)?;
        self.define(token.pos, name, root)?;
        self.template = outer;
        Ok(())
    }

    /// Begins a template within the current one; returns the state of the latter for later.
    fn enter_template(&mut self) -> Progress<'t> {
        let inner = Progress::new(self.template.read);
        std::mem::replace(&mut self.template, inner)
    }

    fn expect_end(&self, close: Close, context: &str) -> Parsing<()> {
        if close.kind == CloseKind::End {
            return Ok(());
        }
        Err(self.error(close.action, &format!("unexpected {close} in {context}")))
    }

    /// Nodes up to the `{{end}}` or `{{else}}` of the action before them.
    fn body(&mut self) -> Parsing<(List, Close)> {
        let pos = self.peek_word().pos;
        let mark = self.nodes.len();
        loop {
            let token = self.peek_word();
            if token.kind == TokenKind::Eof {
                return Err(self.error(token.pos, "unexpected EOF"));
            }
            match self.item()? {
                Item::Node(node) => self.nodes.push(node),
                Item::Close(close) => {
                    let nodes = self.nodes.split_off(mark);
                    return Ok((List { pos, nodes }, close));
                }
            }
        }
    }

    fn item(&mut self) -> Parsing<Item> {
        let token = self.next_word();
        match token.kind {
            TokenKind::Text => Ok(Item::Node(Node::Text(token.pos, self.shared(token)))),
            TokenKind::LeftDelim => {
                self.template.action = Some(token.pos);
                let item = self.action(token.pos)?;
                self.template.action = None;
                Ok(item)
            }
            _ => Err(self.unexpected(token, "input")),
        }
    }

    /// An action after its left delimiter.
    fn action(&mut self, delim: Pos) -> Parsing<Item> {
        let token = self.next_word();
        let TokenKind::Keyword(keyword) = token.kind else {
            return self.plain_action(token).map(Item::Node);
        };
        let node = match keyword {
            Keyword::Block => self.block(token)?,
            Keyword::Break => self.leave_loop(token, Node::Break)?,
            Keyword::Continue => self.leave_loop(token, Node::Continue)?,
            Keyword::If => Node::If(self.branch(token.pos, BranchKind::If)?),
            Keyword::Range => Node::Range(self.branch(token.pos, BranchKind::Range)?),
            Keyword::With => Node::With(self.branch(token.pos, BranchKind::With)?),
            Keyword::Template => self.template_call()?,
            Keyword::Else => return self.else_action(delim).map(Item::Close),
            Keyword::End => {
                let pos = self.expect(TokenKind::RightDelim, "end")?.pos;
                let kind = CloseKind::End;
                return Ok(Item::Close(Close {
                    kind,
                    action: delim,
                    pos,
                }));
            }
            Keyword::Define | Keyword::Dot | Keyword::Nil => self.plain_action(token)?,
        };
        Ok(Item::Node(node))
    }

    /// `{{pipeline}}`. Its variables stay declared up to the end of the enclosing body.
    fn plain_action(&mut self, first: Token<'t>) -> Parsing<Node> {
        self.back(first);
        let pipe = self.pipeline(Context::Command)?;
        Ok(Node::Action(first.pos, pipe))
    }

    /// `{{break}}` or `{{continue}}`.
    fn leave_loop(&mut self, keyword: Token<'t>, node: fn(Pos) -> Node) -> Parsing<Node> {
        let name = format!("{{{{{}}}}}", keyword.text);
        self.expect(TokenKind::RightDelim, &name)?;
        if self.template.loops == 0 {
            return Err(self.error(keyword.pos, &format!("{name} outside {{{{range}}}}")));
        }
        Ok(node(keyword.pos))
    }

    /// `if`, `range` or `with` after the keyword, up to its `{{end}}`.
    fn branch(&mut self, keyword: Pos, kind: BranchKind) -> Parsing<Box<Branch>> {
        self.in_body(keyword, |parser| parser.branch_here(kind))
    }

    fn branch_here(&mut self, kind: BranchKind) -> Parsing<Box<Branch>> {
        let mark = self.template.scope.mark();
        let pipe = self.pipeline(kind.context())?;
        let loops = usize::from(kind == BranchKind::Range);
        self.template.loops += loops;
        let (list, close) = self.body()?;
        self.template.loops -= loops;
        let else_list = match close.kind {
            CloseKind::End => None,
            CloseKind::Else => Some(self.else_list(close, kind)?),
        };
        self.template.scope.close(mark);
        Ok(Box::new(Branch {
            pos: pipe.pos,
            pipe,
            list,
            else_list,
        }))
    }

    /// The part after an `{{else}}`, up to the `{{end}}`. `{{else if}}` is an `if` within the `else` and shares its
    /// `{{end}}` with it.
    fn else_list(&mut self, close: Close, kind: BranchKind) -> Parsing<List> {
        let token = self.peek();
        let node = match (kind, token.kind) {
            (BranchKind::If, TokenKind::Keyword(Keyword::If)) => Node::If,
            (BranchKind::With, TokenKind::Keyword(Keyword::With)) => Node::With,
            _ => {
                let (list, close) = self.body()?;
                if close.kind == CloseKind::End {
                    return Ok(list);
                }
                return Err(self.error(close.action, &format!("expected end; found {close}")));
            }
        };
        self.next();
        let branch = self.branch(token.pos, kind)?;
        Ok(List {
            pos: close.pos,
            nodes: vec![node(branch)],
        })
    }

    /// `{{else}}`. Of `{{else if` and `{{else with` the second word is left.
    fn else_action(&mut self, delim: Pos) -> Parsing<Close> {
        let token = self.peek_word();
        let pos = match token.kind {
            TokenKind::Keyword(Keyword::If | Keyword::With) => token.pos,
            _ => self.expect(TokenKind::RightDelim, "else")?.pos,
        };
        Ok(Close {
            kind: CloseKind::Else,
            action: delim,
            pos,
        })
    }

    /// `{{block "name" pipeline}} … {{end}}` after the keyword: a definition, and a call of it.
    fn block(&mut self, keyword: Token<'t>) -> Parsing<Node> {
        let token = self.next_word();
        let name = self.template_name(token, Context::Block.name())?;
        let pipe = self.pipeline(Context::Block)?;
        let outer = self.enter_template();
        let (root, close) = self.in_body(keyword.pos, Self::body)?;
        let inner = std::mem::replace(&mut self.template, outer);
        // Of the two errors the first one has the line of the outer template, the second one that of the inner.
        self.expect_end(close, Context::Block.name())?;
        let outer = std::mem::replace(&mut self.template, inner);
        self.define(token.pos, name.clone(), root)?;
        self.template = outer;
        Ok(Node::Template(Box::new(TemplateCall {
            pos: token.pos,
            name,
            pipe: Some(pipe),
        })))
    }

    /// `{{template "name" pipeline}}` after the keyword.
    fn template_call(&mut self) -> Parsing<Node> {
        let token = self.next_word();
        let name = self.template_name(token, Context::Template.name())?;
        let next = self.next_word();
        let pipe = if next.kind == TokenKind::RightDelim {
            None
        } else {
            self.back(next);
            Some(self.pipeline(Context::Template)?)
        };
        Ok(Node::Template(Box::new(TemplateCall {
            pos: token.pos,
            name,
            pipe,
        })))
    }

    fn template_name(&self, token: Token<'t>, context: &str) -> Parsing<String> {
        if !matches!(token.kind, TokenKind::String | TokenKind::RawString) {
            return Err(self.unexpected(token, context));
        }
        Ok(self.unquoted(token)?.lossy().into_owned())
    }
}

impl BranchKind {
    fn context(self) -> Context {
        match self {
            Self::If => Context::If,
            Self::Range => Context::Range,
            Self::With => Context::With,
        }
    }
}

/// Its name in error texts.
impl fmt::Display for Close {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.kind {
            CloseKind::Else => "{{else}}",
            CloseKind::End => "{{end}}",
        })
    }
}
