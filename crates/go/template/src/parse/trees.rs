//! Parses the text of a template into trees: Go's `text/template/parse`.
//!
//! This file holds the basis of the grammar: lookahead, variables in scope, errors. The grammar itself is in
//! `parse_control` (nodes with a body) and `parse_pipeline` (nodes with a value).

use super::lex::{Lexer, LoopWords};
use super::node::{Command, Expr, List, Name, Node, Pos};
use super::scope::Scope;
use super::token::{Token, TokenKind};
use crate::builtin::functions::Functions;
use crate::exec::stack;
use crate::value::error::{Error, Missing, MissingKind, Place, Stage};
use crate::value::text::Text;
use bumpwright_gostd::{Reason, quote, unquote};
use bumpwright_text::Parts;
use std::{collections::HashMap, rc::Rc};

/// A text and the templates that it defines.
#[derive(Debug)]
pub(crate) struct Parsed {
    /// By name; the text itself is under the name of the template.
    pub(crate) trees: HashMap<String, Tree>,
}

/// A text that was parsed.
#[derive(Debug)]
pub(crate) struct Source {
    /// The name that it was parsed under, which errors have.
    pub(crate) name: String,
    /// The text that all positions point into. Texts, names and literals of its trees are parts of it.
    pub(crate) text: Text,
}

#[derive(Debug)]
pub(crate) struct Tree {
    pub(crate) root: List,
    /// Whether they are only space: such a definition is replaced by any other.
    pub(crate) is_empty: bool,
    /// Where it is from.
    pub(crate) source: Rc<Source>,
}

/// Parses the text of the template `name`.
pub(crate) fn parse(name: &str, text: &str, functions: &Functions) -> Result<Parsed, Error> {
    let source = Rc::new(Source {
        name: name.to_owned(),
        text: text.into(),
    });
    let mut parser = Parser::new(name, text, source, functions);
    let root = parser.whole_text().map_err(|error| *error)?;
    parser.define(root.pos, name.to_owned(), root).map_err(|error| *error)?;
    Ok(Parsed { trees: parser.trees })
}

/// Maximum depth of parentheses within an expression, and of actions with a body. Go allows 10,000 parentheses, but
/// its stacks grow; no template written by hand comes near.
const MAX_DEPTH: usize = 1000;

/// The error is boxed, since nearly every function of the parser may return one and few do.
pub(crate) type Parsing<T> = Result<T, Box<Error>>;

/// The input and output of the grammar.
pub(crate) struct Parser<'t> {
    name: &'t str,
    text: &'t str,
    source: Rc<Source>,
    /// The functions that identifiers may name.
    pub(crate) functions: &'t Functions,
    lexer: Lexer<'t>,
    /// Tokens put back, the next one last. The grammar looks ahead by three.
    ahead: Vec<Token<'t>>,
    pub(crate) template: Progress<'t>,
    trees: HashMap<String, Tree>,
    bodies: usize,
    /// What has been read of the lists that are not complete, the innermost one last: so each list is allocated once.
    pub(crate) nodes: Vec<Node>,
    pub(crate) commands: Vec<Command>,
    pub(crate) operands: Vec<Expr>,
    pub(crate) names: Vec<Name>,
}

/// The state of the parser in one template. Nested definitions have their own.
pub(crate) struct Progress<'t> {
    pub(crate) scope: Scope<'t>,
    /// The last token read, also ahead: errors have its line.
    pub(crate) read: Pos,
    /// Where the action began.
    pub(crate) action: Option<Pos>,
    /// The number of enclosing `range`s.
    pub(crate) loops: usize,
    parens: usize,
}

impl Progress<'_> {
    /// The start of a template.
    pub(crate) fn new(read: Pos) -> Self {
        Self {
            scope: Scope::new(),
            read,
            action: None,
            loops: 0,
            parens: 0,
        }
    }
}

impl Tree {
    fn new(root: List, source: Rc<Source>) -> Self {
        let is_blank = |node: &Node| matches!(node, Node::Text(_, text) if text.lossy().trim().is_empty());
        Self {
            is_empty: root.nodes.iter().all(is_blank),
            root,
            source,
        }
    }
}

impl<'t> Parser<'t> {
    fn new(name: &'t str, text: &'t str, source: Rc<Source>, functions: &'t Functions) -> Self {
        let loop_words = LoopWords {
            is_break: functions.get("break").is_none(),
            is_continue: functions.get("continue").is_none(),
        };
        Self {
            name,
            text,
            source,
            functions,
            lexer: Lexer::new(text, loop_words),
            ahead: Vec::with_capacity(3),
            template: Progress::new(0),
            trees: HashMap::new(),
            bodies: 0,
            nodes: Vec::new(),
            commands: Vec::new(),
            operands: Vec::new(),
            names: Vec::new(),
        }
    }

    /// The text of a token.
    pub(crate) fn shared(&self, token: Token<'t>) -> Text {
        self.part(token.pos, token.text)
    }

    /// A text at a position, without a copy.
    pub(crate) fn part(&self, pos: Pos, text: &str) -> Text {
        self.source.text.shared_part(pos..pos + text.len())
    }

    /// The next token, also when it is a space.
    pub(crate) fn next(&mut self) -> Token<'t> {
        self.ahead.pop().unwrap_or_else(|| {
            let token = self.lexer.token();
            self.template.read = token.pos;
            token
        })
    }

    /// Puts a token back.
    pub(crate) fn back(&mut self, token: Token<'t>) {
        self.ahead.push(token);
    }

    /// The next token, without consuming it.
    pub(crate) fn peek(&mut self) -> Token<'t> {
        if let Some(token) = self.ahead.last() {
            return *token;
        }
        let token = self.next();
        self.back(token);
        token
    }

    /// The next token that is not a space.
    pub(crate) fn next_word(&mut self) -> Token<'t> {
        loop {
            let token = self.next();
            if token.kind != TokenKind::Space {
                return token;
            }
        }
    }

    /// The next token that is not a space, without consuming it.
    pub(crate) fn peek_word(&mut self) -> Token<'t> {
        let token = self.next_word();
        self.back(token);
        token
    }

    /// The next token that is not a space, which has to be of a kind.
    pub(crate) fn expect(&mut self, kind: TokenKind, context: &str) -> Parsing<Token<'t>> {
        let token = self.next_word();
        if token.kind == kind {
            Ok(token)
        } else {
            Err(self.unexpected(token, context))
        }
    }

    /// The value of a string literal.
    pub(crate) fn unquoted(&self, token: Token<'t>) -> Parsing<Text> {
        if token.kind == TokenKind::RawString && !token.text.contains('\r') {
            let inner = token.text.trim_matches('`');
            return Ok(self.part(token.pos + 1, inner));
        }
        let text = unquote(token.text).ok_or_else(|| self.error(token.pos, &Reason::Syntax.to_string()))?;
        Ok(text.into())
    }

    /// Adds a definition. Another one of the same name is an error, unless one of the two is blank.
    pub(crate) fn define(&mut self, pos: Pos, name: String, root: List) -> Parsing<()> {
        let tree = Tree::new(root, Rc::clone(&self.source));
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
    pub(crate) fn in_body<T>(&mut self, pos: Pos, inner: impl FnOnce(&mut Self) -> Parsing<T>) -> Parsing<T> {
        if self.bodies >= MAX_DEPTH {
            return Err(self.error(pos, "max action depth exceeded"));
        }
        self.bodies += 1;
        let result = stack::grown(|| inner(self));
        self.bodies -= 1;
        result
    }

    /// Runs `inner`, the inside of parentheses, one level deeper.
    pub(crate) fn in_parens<T>(&mut self, pos: Pos, inner: impl FnOnce(&mut Self) -> Parsing<T>) -> Parsing<T> {
        if self.template.parens >= MAX_DEPTH {
            return Err(self.error(pos, "max expression depth exceeded"));
        }
        self.template.parens += 1;
        let result = stack::grown(|| inner(self));
        self.template.parens -= 1;
        result
    }

    /// The line of a position. Only errors have lines, so that none is counted for a text without one.
    fn line(&self, pos: Pos) -> usize {
        1 + memchr::memchr_iter(b'\n', self.text.as_bytes().part(..pos)).count()
    }

    /// The error at `pos`. Go's text has the line of the last token read.
    pub(crate) fn error(&self, pos: Pos, what: &str) -> Box<Error> {
        Box::new(Error {
            text: format!("template: {}:{}: {what}", self.name, self.line(self.template.read)),
            stage: Stage::Parse,
            place: Place::of(self.text, pos),
            missing: None,
            partial: Vec::new(),
            cause: None,
        })
    }

    /// The error of an undefined name.
    pub(crate) fn missing(&self, token: Token<'t>, what: MissingKind, text: &str) -> Box<Error> {
        let names = match what {
            MissingKind::Variable => self.template.scope.names(),
            _ => self.functions.names(),
        };
        let mut error = self.error(token.pos, text);
        error.missing = Some(Box::new(Missing {
            name: token.text.to_owned(),
            known: names.into_iter().map(str::to_owned).collect(),
            what,
        }));
        error
    }

    /// The error of an unexpected token; for a fault of the lexer, that.
    pub(crate) fn unexpected(&self, token: Token<'t>, context: &str) -> Box<Error> {
        if !matches!(token.kind, TokenKind::Fault(_)) {
            return self.error(token.pos, &format!("unexpected {token} in {context}"));
        }
        let mut text = token.to_string();
        let action = self.template.action.map(|action| self.line(action));
        if let Some(line) = action.filter(|line| *line != self.line(token.pos)) {
            let action = if text.ends_with(" action") { "" } else { " in action" };
            text.push_str(&format!("{action} started at {}:{line}", self.name));
        }
        self.error(token.pos, &text)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use super::*;

    fn parsed(text: &str) -> Result<Parsed, Error> {
        parse("t", text, &Functions::new(&[]))
    }

    #[test]
    fn errors_have_the_line_that_was_read_and_the_place_of_the_word() {
        for (text, expected, line, column) in [
            ("é {{nope}}", r#"1: function "nope" not defined"#, 1, 5),
            ("a\n{{if .x}}\n{{.y}", "3: bad character U+007D '}'", 3, 3),
            ("{{if .x}}\n {{end}}{{end}}", "2: unexpected {{end}}", 2, 9),
            ("{{print\n\n$x}}", r#"3: undefined variable "$x""#, 3, 1),
            ("{{print\n  1\n", "3: unclosed action started at t:1", 3, 1),
            (
                "{{print\n  (1\n}}",
                "3: unclosed left paren in action started at t:1",
                3,
                1,
            ),
            ("{{if .x}}\n", "2: unexpected EOF", 2, 1),
            // The line of the last token before the body: the outer template has not read on.
            (
                "{{block \"a\" .}}\n\n{{else}}{{end}}",
                "1: unexpected {{else}} in block clause",
                3,
                1,
            ),
            (
                "{{define \"a\"}}\n{{else}}",
                "2: unexpected {{else}} in define clause",
                2,
                1,
            ),
            ("{{define \"a\"}}x{{end}}\n{{define \"a\"}}y\n{{end}}", MULTIPLE, 2, 10),
        ] {
            let error = parsed(text).unwrap_err();
            assert_eq!(error.text, format!("template: t:{expected}"), "{text:?}");
            assert_eq!(error.place, Place { line, column }, "{text:?}");
            assert_eq!(error.stage, Stage::Parse);
        }
    }

    const MULTIPLE: &str = "3: template: multiple definition of template \"a\"";

    #[test]
    fn missing_names_come_with_those_that_exist() {
        let missing = |text| parsed(text).unwrap_err().missing.unwrap();
        let function = missing("{{prinft 1}}");
        assert_eq!(
            (function.name.as_str(), function.what),
            ("prinft", MissingKind::Function)
        );
        assert!(function.known.iter().any(|name| name == "printf"));
        let variable = missing("{{$image := 1}}{{with $other := 2}}{{end}}{{$imgae.Name}}");
        assert_eq!(
            (variable.name.as_str(), variable.what),
            ("$imgae", MissingKind::Variable)
        );
        assert_eq!(variable.known, ["$", "$image"]);
    }

    #[test]
    fn blank_definitions_give_way() {
        for (text, name, expected) in [
            ("{{define \"a\"}} \n{{end}}{{define \"a\"}}x{{end}}", "a", "x"),
            (
                "{{define \"a\"}}x{{end}}{{define \"a\"}} {{/* note */}}{{end}}",
                "a",
                "x",
            ),
            ("{{define \"t\"}}x{{end}}\n", "t", "x"),
            ("{{define \"t\"}} {{end}}y", "t", "y"),
            ("{{block \"a\" .}}x{{end}}y", "t", "{{template \"a\" .}}y"),
        ] {
            let trees = parsed(text).unwrap().trees;
            assert_eq!(trees[name].root.to_string(), expected, "{text}");
        }
    }

    #[test]
    fn deep_nesting_is_an_error_and_needs_no_deep_stack() {
        let nested = |bodies: usize, parens: usize| {
            let pipe = format!("{}.a{}", "(".repeat(parens), ")".repeat(parens));
            format!(
                "{}{{{{{pipe}}}}}{}",
                "{{if .a}}".repeat(bodies),
                "{{end}}".repeat(bodies)
            )
        };
        let walk = move || {
            let fits = nested(MAX_DEPTH, MAX_DEPTH);
            assert_eq!(parsed(&fits).unwrap().trees["t"].root.to_string(), fits);
            let chain = format!("{{{{if .a}}}}{}{{{{end}}}}", "{{else if .a}}".repeat(MAX_DEPTH - 1));
            drop(parsed(&chain).unwrap());
            for (text, what) in [
                (nested(MAX_DEPTH + 1, 0), "max action depth exceeded"),
                (nested(0, MAX_DEPTH + 1), "max expression depth exceeded"),
                ("{{with .a}}".repeat(100_000), "max action depth exceeded"),
                ("{{block \"a\" .}}".repeat(100_000), "max action depth exceeded"),
                (format!("{{{{{}", "(".repeat(100_000)), "max expression depth exceeded"),
                (
                    chain.replacen("{{else", "{{else if .b}}{{else", 1),
                    "max action depth exceeded",
                ),
            ] {
                assert_eq!(parsed(&text).unwrap_err().text, format!("template: t:1: {what}"));
            }
        };
        std::thread::Builder::new()
            .stack_size(1 << 20)
            .spawn(walk)
            .unwrap()
            .join()
            .unwrap();
    }

    #[test]
    fn large_texts_take_linear_time() {
        // Each would take minutes if a part of it were read again for every other part.
        for piece in [
            "{{$x := .a}}{{$x.b}}\n",
            "{{define \"a\"}} {{end}}",
            "{{/* note */ -}}\n",
            " {{- .a.b -}} ",
            "{ { \n",
        ] {
            parsed(&piece.repeat(100_000)).unwrap();
        }
        let blank = format!("{{{{define \"a\"}}}}{}x{{{{end}}}}", " {{/**/}}".repeat(100_000));
        parsed(&(blank + &"{{define \"a\"}}{{end}}".repeat(100_000))).unwrap();
    }
}
