//! The rules of the grammar, one function each, with the choices as the generated parser makes them.
//!
//! The numbers are the states of the generated automaton (see `sets`). Where more than one token decides, a comment
//! explains the prediction of the reference parser.

use super::repair::{Parser, Rule, Stop, SyncPoint, SyntaxFault};
use super::report::{Halt, Reports};
use super::sets::{EXPR, FACTOR_OPERATORS, MEMBER, RELATION_OPERATORS, TERM_OPERATORS, next};
use super::token::{Set, Token, TokenKind};
use super::tree::{Field, Node, NodeId, Tree};

/// A rule of the grammar has matched or stopped; the tree grows on the side.
pub type RuleResult = Result<(), Stop>;

pub const END: Set = Set::RULE_END;
/// Bytes of stack that one nested expression may take, and the size of a new segment when they are not available.
const STACK_NEEDED: usize = 128 * 1024;
const STACK_ADDED: usize = 2 * 1024 * 1024;

pub fn parse(reports: &mut Reports) -> Result<Tree, Halt> {
    let mut rules = Rules {
        parser: Parser::new(reports),
        tree: Tree::default(),
    };
    rules.start()?;
    Ok(rules.tree)
}

/// The parser and the tree so far.
pub struct Rules<'r> {
    pub parser: Parser<'r>,
    tree: Tree,
}

impl Rules<'_> {
    /// Runs the steps of a rule on its node, recovers when they fail, and keeps the partial node.
    pub fn rule<N>(
        &mut self,
        rule: Rule,
        follow: Set,
        mut node: N,
        steps: impl FnOnce(&mut Self, &mut N) -> RuleResult,
    ) -> Result<N, Halt> {
        self.parser.enter(rule, follow)?;
        let ended = steps(self, &mut node);
        self.parser.leave(rule, ended)?;
        Ok(node)
    }

    fn start(&mut self) -> Result<(), Halt> {
        let root = self.rule(Rule::Start, END, None, |rules, root| {
            *root = Some(rules.expr(Set::of(&[TokenKind::Eof]))?);
            rules.parser.take(35)?;
            Ok(())
        })?;
        self.tree.root = root.unwrap_or(usize::MAX);
        Ok(())
    }

    pub fn is(&mut self, kind: TokenKind) -> Result<bool, Halt> {
        Ok(self.parser.kind(0)? == kind)
    }

    pub fn expr(&mut self, follow: Set) -> Result<NodeId, Halt> {
        stacker::maybe_grow(STACK_NEEDED, STACK_ADDED, || self.expr_here(follow))
    }

    fn expr_here(&mut self, follow: Set) -> Result<NodeId, Halt> {
        let start = self.parser.offset()?;
        let parts: (Option<NodeId>, Option<Token>, Option<NodeId>, Option<NodeId>) = Default::default();
        let (condition, question, then, otherwise) = self.rule(
            Rule::Expr,
            follow,
            parts,
            |rules, (condition, question, then, otherwise)| {
                *condition = Some(rules.or(next(43))?);
                rules.parser.sync(43, SyncPoint::Entry)?;
                if rules.is(TokenKind::Question)? {
                    *question = Some(rules.parser.take(38)?);
                    *then = Some(rules.or(Set::of(&[TokenKind::Colon]))?);
                    rules.parser.take(40)?;
                    *otherwise = Some(rules.expr(END)?);
                }
                Ok(())
            },
        )?;
        let node = match (question, condition) {
            (Some(question), condition) => Node::Conditional {
                condition,
                question,
                then,
                otherwise,
            },
            (None, Some(only)) => return Ok(only),
            (None, None) => Node::Broken,
        };
        Ok(self.tree.add(start, node))
    }

    fn or(&mut self, follow: Set) -> Result<NodeId, Halt> {
        self.logic(Rule::Or, follow)
    }

    /// `conditionalOr` and `conditionalAnd`, which differ in operator and operands only.
    fn logic(&mut self, rule: Rule, follow: Set) -> Result<NodeId, Halt> {
        let start = self.parser.offset()?;
        let is_and = matches!(rule, Rule::And);
        let (kind, entry, operator_state, again) = if is_and {
            (TokenKind::And, 58, 54, 60)
        } else {
            (TokenKind::Or, 50, 46, 52)
        };
        let parts: (Option<NodeId>, Vec<Token>, Vec<NodeId>) = Default::default();
        let (first, operators, rest) = self.rule(rule, follow, parts, |rules, (first, operators, rest)| {
            *first = Some(rules.operand(is_and, next(entry))?);
            rules.parser.sync(entry, SyncPoint::Entry)?;
            while rules.is(kind)? {
                operators.push(rules.parser.take(operator_state)?);
                rest.push(rules.operand(is_and, next(entry))?);
                rules.parser.sync(again, SyncPoint::Again)?;
            }
            Ok(())
        })?;
        if let (Some(only), true) = (first, operators.is_empty()) {
            return Ok(only);
        }
        let node = Node::Logic {
            is_and,
            first,
            operators,
            rest,
        };
        Ok(self.tree.add(start, node))
    }

    fn operand(&mut self, is_and: bool, follow: Set) -> Result<NodeId, Halt> {
        if is_and {
            self.relation(0, follow)
        } else {
            self.logic(Rule::And, follow)
        }
    }

    fn relation(&mut self, precedence: u8, follow: Set) -> Result<NodeId, Halt> {
        let start = self.parser.offset()?;
        let node = self.rule(Rule::Relation, follow, None, |rules, node| {
            let mut left = rules.calc(0, next(69))?;
            *node = Some(left);
            rules.parser.sync(69, SyncPoint::Entry)?;
            // Operators are left-associative: the right operand has none of the same precedence.
            while precedence <= 1 && RELATION_OPERATORS.has(rules.parser.kind(0)?) {
                left = rules.binary(start, left, node, 65, |rules| rules.relation(2, next(71)))?;
                rules.parser.sync(71, SyncPoint::Again)?;
            }
            Ok(())
        })?;
        Ok(node.unwrap_or(usize::MAX))
    }

    fn calc(&mut self, precedence: u8, follow: Set) -> Result<NodeId, Halt> {
        let start = self.parser.offset()?;
        let node = self.rule(Rule::Calc, follow, None, |rules, node| {
            let mut left = rules.unary(next(83))?;
            *node = Some(left);
            rules.parser.sync(83, SyncPoint::Entry)?;
            loop {
                let kind = rules.parser.kind(0)?;
                if FACTOR_OPERATORS.has(kind) && precedence <= 2 {
                    left = rules.binary(start, left, node, 76, |rules| rules.calc(3, next(85)))?;
                } else if TERM_OPERATORS.has(kind) && precedence <= 1 {
                    left = rules.binary(start, left, node, 79, |rules| rules.calc(2, next(85)))?;
                } else {
                    return Ok(());
                }
                rules.parser.sync(85, SyncPoint::Again)?;
            }
        })?;
        Ok(node.unwrap_or(usize::MAX))
    }

    /// Parses a binary operator and its right operand.
    fn binary(
        &mut self,
        start: i32,
        left: NodeId,
        node: &mut Option<NodeId>,
        state: u16,
        right: impl FnOnce(&mut Self) -> Result<NodeId, Halt>,
    ) -> Result<NodeId, Halt> {
        self.parser.state = state;
        let operator = Some(self.parser.take_matched()?);
        let right = Some(right(self)?);
        let id = self.tree.add(start, Node::Binary { left, operator, right });
        *node = Some(id);
        Ok(id)
    }

    fn unary(&mut self, follow: Set) -> Result<NodeId, Halt> {
        let start = self.parser.offset()?;
        let parts: (bool, Vec<Token>, Option<NodeId>) = Default::default();
        let (known, operators, member) =
            self.rule(Rule::Unary, follow, parts, |rules, (known, operators, member)| {
                rules.parser.sync(99, SyncPoint::Entry)?;
                let alternative = rules.unary_alternative()?;
                *known = true;
                match alternative {
                    TokenKind::Exclamation => rules.exclamations(operators)?,
                    TokenKind::Minus => rules.minuses(operators)?,
                    _ => {}
                }
                *member = Some(rules.member(END)?);
                Ok(())
            })?;
        let node = match (known, member) {
            (false, _) => Node::UnknownUnary,
            (true, Some(member)) if operators.is_empty() => return Ok(member),
            (true, member) => Node::Unary { operators, member },
        };
        Ok(self.tree.add(start, node))
    }

    /// Decides whether `-` is the sign of a number or an operator.
    fn unary_alternative(&mut self) -> Result<TokenKind, Stop> {
        let kind = self.parser.kind(0)?;
        if kind == TokenKind::Minus {
            return match self.parser.kind(1)? {
                TokenKind::Int | TokenKind::Float => Ok(TokenKind::Int),
                ahead if MEMBER.has(ahead) => Ok(TokenKind::Minus),
                _ => Err(no_alternative(1)),
            };
        }
        if EXPR.has(kind) {
            Ok(kind)
        } else {
            Err(no_alternative(0))
        }
    }

    fn exclamations(&mut self, operators: &mut Vec<Token>) -> RuleResult {
        self.parser.sync(88, SyncPoint::Entry)?;
        loop {
            operators.push(self.parser.take(87)?);
            self.parser.sync(90, SyncPoint::Again)?;
            if !self.is(TokenKind::Exclamation)? {
                return Ok(());
            }
        }
    }

    fn minuses(&mut self, operators: &mut Vec<Token>) -> RuleResult {
        self.parser.sync(94, SyncPoint::Entry)?;
        loop {
            operators.push(self.parser.take(93)?);
            self.parser.sync(96, SyncPoint::Again)?;
            let kind = self.parser.kind(0)?;
            if kind != TokenKind::Minus {
                return if MEMBER.has(kind) {
                    Ok(())
                } else {
                    Err(no_alternative(0))
                };
            }
            // The last `-` before a number could be its sign; it is read as an operator.
            if !MEMBER.has(self.parser.kind(1)?) {
                return Err(no_alternative(1));
            }
        }
    }

    fn member(&mut self, follow: Set) -> Result<NodeId, Halt> {
        let start = self.parser.offset()?;
        let node = self.rule(Rule::Member, follow, None, |rules, node| {
            let mut left = rules.primary(next(128))?;
            *node = Some(left);
            rules.parser.sync(128, SyncPoint::Entry)?;
            while matches!(rules.parser.kind(0)?, TokenKind::Dot | TokenKind::OpenBracket) {
                let mut suffix = Node::Broken;
                let ended = rules.suffix(left, &mut suffix);
                if !matches!(suffix, Node::Broken) {
                    left = rules.tree.add(start, suffix);
                    *node = Some(left);
                }
                ended?;
                rules.parser.sync(130, SyncPoint::Again)?;
            }
            Ok(())
        })?;
        Ok(node.unwrap_or(usize::MAX))
    }

    /// `.field`, `.call(…)` or `[index]` after a member.
    fn suffix(&mut self, member: NodeId, node: &mut Node) -> RuleResult {
        self.parser.sync(126, SyncPoint::Entry)?;
        if self.is(TokenKind::OpenBracket)? {
            return self.index(member, node);
        }
        match self.parser.kind(1)? {
            TokenKind::Identifier if self.parser.kind(2)? == TokenKind::OpenParen => self.member_call(member, node),
            TokenKind::Identifier | TokenKind::EscapedIdentifier | TokenKind::Question => self.select(member, node),
            _ => Err(no_alternative(1)),
        }
    }

    fn select(&mut self, member: NodeId, node: &mut Node) -> RuleResult {
        let dot = Some(self.parser.take(105)?);
        self.parser.sync(107, SyncPoint::Entry)?;
        let optional = self.is(TokenKind::Question)?;
        if optional {
            self.parser.take(106)?;
        }
        let field = Some(self.escape_ident(next(130))?);
        *node = Node::Select {
            member,
            dot,
            optional,
            field,
        };
        Ok(())
    }

    fn member_call(&mut self, member: NodeId, node: &mut Node) -> RuleResult {
        self.parser.take(111)?;
        let mut name = None;
        let mut open = None;
        let mut arguments = None;
        let ended = self.call_parts([112, 113, 115, 117], &mut name, &mut open, &mut arguments);
        *node = Node::MemberCall {
            member,
            name,
            open,
            arguments,
        };
        ended
    }

    /// `name(arguments)`, with the states of name, parenthesis, choice and closing parenthesis.
    fn call_parts(
        &mut self,
        [at_name, at_open, at_choice, at_close]: [u16; 4],
        name: &mut Option<Token>,
        open: &mut Option<Token>,
        arguments: &mut Option<Vec<NodeId>>,
    ) -> RuleResult {
        *name = Some(self.parser.take(at_name)?);
        *open = Some(self.parser.take(at_open)?);
        self.parser.sync(at_choice, SyncPoint::Entry)?;
        if EXPR.has(self.parser.kind(0)?) {
            *arguments = Some(self.expr_list()?);
        }
        self.parser.take(at_close)?;
        Ok(())
    }

    fn index(&mut self, member: NodeId, node: &mut Node) -> RuleResult {
        let open = Some(self.parser.take(119)?);
        let mut optional = false;
        let mut index = None;
        let ended = self.index_parts(&mut optional, &mut index);
        *node = Node::Index {
            member,
            open,
            optional,
            index,
        };
        ended
    }

    fn index_parts(&mut self, optional: &mut bool, index: &mut Option<NodeId>) -> RuleResult {
        self.parser.sync(121, SyncPoint::Entry)?;
        *optional = self.is(TokenKind::Question)?;
        if *optional {
            self.parser.take(120)?;
        }
        *index = Some(self.expr(Set::of(&[TokenKind::CloseBracket]))?);
        self.parser.take(124)?;
        Ok(())
    }

    fn primary(&mut self, follow: Set) -> Result<NodeId, Halt> {
        let start = self.parser.offset()?;
        let parts = (Node::Broken, None);
        let (node, nested) = self.rule(Rule::Primary, follow, parts, |rules, (node, nested)| {
            rules.parser.sync(184, SyncPoint::Entry)?;
            match rules.parser.kind(0)? {
                TokenKind::Dot | TokenKind::Identifier => rules.named(node),
                TokenKind::OpenParen => rules.nested(nested),
                TokenKind::OpenBracket => rules.list(node),
                TokenKind::OpenBrace => rules.map(node),
                kind if MEMBER.has(kind) => {
                    *nested = Some(rules.literal()?);
                    Ok(())
                }
                _ => Err(no_alternative(0)),
            }
        })?;
        match nested {
            Some(inner) => Ok(inner),
            None => Ok(self.tree.add(start, node)),
        }
    }

    /// An identifier, a call, or a message, which differ only after all of the dotted names.
    fn named(&mut self, node: &mut Node) -> RuleResult {
        let dots = usize::from(self.is(TokenKind::Dot)?);
        if self.parser.kind(dots)? != TokenKind::Identifier {
            return Err(no_alternative(dots));
        }
        let mut last = dots;
        while self.parser.kind(last + 1)? == TokenKind::Dot && self.parser.kind(last + 2)? == TokenKind::Identifier {
            last += 2;
        }
        if self.parser.kind(last + 1)? == TokenKind::OpenBrace {
            return self.message(node);
        }
        if self.parser.kind(dots + 1)? == TokenKind::OpenParen {
            return self.global_call(node);
        }
        let leading_dot = self.leading_dot(132, 131)?;
        let name = self.parser.take(134)?;
        *node = Node::Identifier {
            leading_dot,
            name: Some(name),
        };
        Ok(())
    }

    pub(crate) fn leading_dot(&mut self, choice: u16, dot: u16) -> Result<bool, Stop> {
        self.parser.sync(choice, SyncPoint::Entry)?;
        let has_dot = self.is(TokenKind::Dot)?;
        if has_dot {
            self.parser.take(dot)?;
        }
        Ok(has_dot)
    }

    fn global_call(&mut self, node: &mut Node) -> RuleResult {
        let leading_dot = self.leading_dot(136, 135)?;
        let mut name = None;
        let mut open = None;
        let mut arguments = None;
        let ended = self.call_parts([138, 139, 141, 143], &mut name, &mut open, &mut arguments);
        *node = Node::GlobalCall {
            leading_dot,
            name,
            open,
            arguments,
        };
        ended
    }

    fn nested(&mut self, nested: &mut Option<NodeId>) -> RuleResult {
        self.parser.take(144)?;
        *nested = Some(self.expr(Set::of(&[TokenKind::CloseParen]))?);
        self.parser.take(146)?;
        Ok(())
    }

    pub(crate) fn escape_ident(&mut self, follow: Set) -> Result<Field, Halt> {
        let field = Field {
            token: None,
            escaped: false,
            start: self.parser.offset()?,
        };
        self.rule(Rule::EscapeIdent, follow, field, |rules, field| {
            rules.parser.sync(235, SyncPoint::Entry)?;
            let state = match rules.parser.kind(0)? {
                TokenKind::Identifier => 233,
                TokenKind::EscapedIdentifier => 234,
                _ => return Err(no_alternative(0)),
            };
            field.escaped = state == 234;
            field.token = Some(rules.parser.take(state)?);
            Ok(())
        })
    }

    fn literal(&mut self) -> Result<NodeId, Halt> {
        let start = self.parser.offset()?;
        let parts: (bool, Option<Token>) = Default::default();
        let (negative, token) = self.rule(Rule::Literal, END, parts, |rules, (negative, token)| {
            rules.parser.sync(256, SyncPoint::Entry)?;
            let first = rules.parser.kind(0)?;
            *negative = first == TokenKind::Minus;
            let ahead = usize::from(*negative);
            let (choice, minus, state) = match rules.parser.kind(ahead)? {
                TokenKind::Int => (Some(243), 242, 245),
                TokenKind::Float => (Some(248), 247, 250),
                _ if *negative => return Err(no_alternative(1)),
                TokenKind::Uint => (None, 0, 246),
                TokenKind::String => (None, 0, 251),
                TokenKind::Bytes => (None, 0, 252),
                TokenKind::True => (None, 0, 253),
                TokenKind::False => (None, 0, 254),
                TokenKind::Null => (None, 0, 255),
                _ => return Err(no_alternative(0)),
            };
            if let Some(choice) = choice {
                rules.parser.sync(choice, SyncPoint::Entry)?;
            }
            if *negative {
                rules.parser.take(minus)?;
            }
            *token = Some(rules.parser.take(state)?);
            Ok(())
        })?;
        Ok(self.tree.add(start, Node::Literal { negative, token }))
    }
}

fn no_alternative(ahead: usize) -> Stop {
    Stop::Syntax(SyntaxFault::NoAlternative { ahead })
}
