//! The rules of lists, maps, messages and arguments.

use super::repair::{Rule, SyncPoint};
use super::report::Halt;
use super::rules::{END, RuleResult, Rules};
use super::sets::{OPT_EXPR, OPT_FIELD, next};
use super::token::{Set, Token, TokenKind};
use super::tree::{Element, Field, Node, NodeId};

impl Rules<'_> {
    pub(super) fn list(&mut self, node: &mut Node) -> RuleResult {
        let open = Some(self.parser.take(148)?);
        let mut elements = Vec::new();
        let ended = self.list_parts(&mut elements);
        *node = Node::List { open, elements };
        ended
    }

    fn list_parts(&mut self, elements: &mut Vec<Element>) -> RuleResult {
        self.parser.sync(150, SyncPoint::Entry)?;
        if OPT_EXPR.has(self.parser.kind(0)?) {
            *elements = self.list_init()?;
        }
        self.trailing_comma(153, 152)?;
        self.parser.take(155)?;
        Ok(())
    }

    fn trailing_comma(&mut self, choice: u16, comma: u16) -> RuleResult {
        self.parser.sync(choice, SyncPoint::Entry)?;
        if self.is(TokenKind::Comma)? {
            self.parser.take(comma)?;
        }
        Ok(())
    }

    pub(super) fn map(&mut self, node: &mut Node) -> RuleResult {
        let open = Some(self.parser.take(156)?);
        let mut entries = Entries::default();
        let ended = self.map_parts(&mut entries);
        *node = Node::Map {
            open,
            keys: entries.keys,
            colons: entries.colons,
            values: entries.values,
        };
        ended
    }

    fn map_parts(&mut self, entries: &mut Entries<Element>) -> RuleResult {
        self.parser.sync(158, SyncPoint::Entry)?;
        if OPT_EXPR.has(self.parser.kind(0)?) {
            *entries = self.map_init()?;
        }
        self.trailing_comma(161, 160)?;
        self.parser.take(163)?;
        Ok(())
    }

    pub(super) fn message(&mut self, node: &mut Node) -> RuleResult {
        let leading_dot = self.leading_dot(165, 164)?;
        let mut names = Vec::new();
        let mut open = None;
        let mut entries = Entries::default();
        let ended = self.message_parts(&mut names, &mut open, &mut entries);
        *node = Node::Message {
            leading_dot,
            names,
            open,
            fields_start: entries.start,
            fields: entries.keys,
            colons: entries.colons,
            values: entries.values,
        };
        ended
    }

    fn message_parts(
        &mut self,
        names: &mut Vec<Token>,
        open: &mut Option<Token>,
        entries: &mut Entries<(bool, Option<Field>)>,
    ) -> RuleResult {
        names.push(self.parser.take(167)?);
        self.parser.sync(172, SyncPoint::Entry)?;
        while self.is(TokenKind::Dot)? {
            self.parser.take(168)?;
            names.push(self.parser.take(169)?);
            self.parser.sync(174, SyncPoint::Again)?;
        }
        *open = Some(self.parser.take(175)?);
        self.parser.sync(177, SyncPoint::Entry)?;
        if OPT_FIELD.has(self.parser.kind(0)?) {
            *entries = self.field_list()?;
        }
        self.trailing_comma(180, 179)?;
        self.parser.take(182)?;
        Ok(())
    }

    pub(super) fn expr_list(&mut self) -> Result<Vec<NodeId>, Halt> {
        let follow = Set::of(&[TokenKind::CloseParen]);
        self.rule(Rule::ExprList, follow, Vec::new(), |rules, list| {
            list.push(rules.expr(next(191))?);
            rules.parser.sync(191, SyncPoint::Entry)?;
            while rules.is(TokenKind::Comma)? {
                rules.parser.take(187)?;
                list.push(rules.expr(next(191))?);
                rules.parser.sync(193, SyncPoint::Again)?;
            }
            Ok(())
        })
    }

    /// Whether a comma is followed by a further entry; otherwise it belongs to the enclosing rule.
    fn has_next_entry(&mut self, first: Set) -> Result<bool, Halt> {
        Ok(self.is(TokenKind::Comma)? && first.has(self.parser.kind(1)?))
    }

    fn list_init(&mut self) -> Result<Vec<Element>, Halt> {
        self.rule(Rule::ListInit, next(153), Vec::new(), |rules, list| {
            list.push(rules.opt_expr(next(199))?);
            rules.parser.sync(199, SyncPoint::Entry)?;
            while rules.has_next_entry(OPT_EXPR)? {
                rules.parser.take(195)?;
                list.push(rules.opt_expr(next(199))?);
                rules.parser.sync(201, SyncPoint::Again)?;
            }
            Ok(())
        })
    }

    fn field_list(&mut self) -> Result<Entries<(bool, Option<Field>)>, Halt> {
        let entries = Entries {
            start: self.parser.offset()?,
            ..Entries::default()
        };
        self.rule(Rule::Fields, next(180), entries, |rules, entries| {
            rules.field_entry(entries, 203)?;
            rules.parser.sync(212, SyncPoint::Entry)?;
            while rules.has_next_entry(OPT_FIELD)? {
                rules.parser.take(205)?;
                rules.field_entry(entries, 207)?;
                rules.parser.sync(214, SyncPoint::Again)?;
            }
            Ok(())
        })
    }

    fn field_entry(&mut self, entries: &mut Entries<(bool, Option<Field>)>, colon: u16) -> RuleResult {
        entries.keys.push(self.opt_field()?);
        entries.colons.push(self.parser.take(colon)?);
        entries.values.push(self.expr(next(212))?);
        Ok(())
    }

    fn opt_field(&mut self) -> Result<(bool, Option<Field>), Halt> {
        let follow = Set::of(&[TokenKind::Colon]);
        self.rule(Rule::OptField, follow, (false, None), |rules, (optional, field)| {
            rules.parser.sync(216, SyncPoint::Entry)?;
            *optional = rules.is(TokenKind::Question)?;
            if *optional {
                rules.parser.take(215)?;
            }
            *field = Some(rules.escape_ident(END)?);
            Ok(())
        })
    }

    fn map_init(&mut self) -> Result<Entries<Element>, Halt> {
        let entries = Entries::default();
        self.rule(Rule::MapInit, next(161), entries, |rules, entries| {
            rules.map_entry(entries, 221)?;
            rules.parser.sync(230, SyncPoint::Entry)?;
            while rules.has_next_entry(OPT_EXPR)? {
                rules.parser.take(223)?;
                rules.map_entry(entries, 225)?;
                rules.parser.sync(232, SyncPoint::Again)?;
            }
            Ok(())
        })
    }

    fn map_entry(&mut self, entries: &mut Entries<Element>, colon: u16) -> RuleResult {
        entries.keys.push(self.opt_expr(Set::of(&[TokenKind::Colon]))?);
        entries.colons.push(self.parser.take(colon)?);
        entries.values.push(self.expr(next(230))?);
        Ok(())
    }

    fn opt_expr(&mut self, follow: Set) -> Result<Element, Halt> {
        let element = Element {
            optional: false,
            expression: None,
        };
        self.rule(Rule::OptExpr, follow, element, |rules, element| {
            rules.parser.sync(238, SyncPoint::Entry)?;
            element.optional = rules.is(TokenKind::Question)?;
            if element.optional {
                rules.parser.take(237)?;
            }
            element.expression = Some(rules.expr(END)?);
            Ok(())
        })
    }
}

/// Keys, colons and values of maps and messages that were found.
struct Entries<K> {
    start: i32,
    keys: Vec<K>,
    colons: Vec<Token>,
    values: Vec<NodeId>,
}

impl<K> Default for Entries<K> {
    fn default() -> Self {
        Self {
            start: 0,
            keys: Vec::new(),
            colons: Vec::new(),
            values: Vec::new(),
        }
    }
}
