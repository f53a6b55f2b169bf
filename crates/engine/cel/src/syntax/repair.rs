//! Error recovery: a token is dropped or inserted, or tokens are skipped until a rule can continue.
//!
//! This is the error strategy of the reference parser's generator (ANTLR 4's `DefaultErrorStrategy`) with the limits
//! that cel-go puts on it.

use super::lex::Lexer;
use super::report::{Halt, Reports};
use super::sets::{after_match, next};
use super::token::{Set, Token, TokenKind};

/// Greatest number of recoveries (cel-go's `ErrorRecoveryLimit`).
const MAX_REPAIRS: u32 = 30;
/// Greatest number of tokens skipped at once (`ErrorRecoveryLookaheadTokenLimit`).
const MAX_SKIPPED: u32 = 256;
/// Greatest depth of one rule within itself (`MaxRecursionDepth`).
pub const MAX_DEPTH: u32 = 250;

/// Why a rule ends early.
#[derive(Debug)]
pub enum Stop {
    /// The input does not match; the rule recovers and ends.
    Syntax(SyntaxFault),
    Halt,
}

/// Why a rule of the grammar does not match.
#[derive(Debug)]
pub enum SyntaxFault {
    /// Another token is expected.
    Mismatch,
    /// No alternative of the rule matches the visible tokens from here up to that one.
    NoAlternative { ahead: usize },
}

impl From<Halt> for Stop {
    fn from(_: Halt) -> Self {
        Self::Halt
    }
}

/// The point of a loop or choice, which decides how `sync` recovers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncPoint {
    /// Before a choice, or before the first round of a loop.
    Entry,
    /// After a round of a loop.
    Again,
}

/// The rules, each with a limited depth.
#[derive(Clone, Copy, Debug)]
pub enum Rule {
    Start,
    Expr,
    Or,
    And,
    Relation,
    Calc,
    Unary,
    Member,
    Primary,
    ExprList,
    ListInit,
    Fields,
    OptField,
    MapInit,
    EscapeIdent,
    OptExpr,
    Literal,
}

/// The tokens, the position among them, and the active rules.
#[derive(Debug)]
pub struct Parser<'r> {
    pub reports: &'r mut Reports,
    lexer: Lexer,
    tokens: Vec<Token>,
    /// The indexes of the visible tokens.
    visible: Vec<usize>,
    at: usize,
    /// The tokens that may follow each active rule.
    follow: Vec<Set>,
    depth: [u32; 17],
    pub state: u16,
    recovering: bool,
    last_error: Option<(usize, Vec<u16>)>,
    repairs: u32,
}

impl<'r> Parser<'r> {
    pub fn new(reports: &'r mut Reports) -> Self {
        Self {
            reports,
            lexer: Lexer::new(),
            tokens: Vec::new(),
            visible: Vec::new(),
            at: 0,
            follow: Vec::new(),
            depth: [0; 17],
            state: 0,
            recovering: false,
            last_error: None,
            repairs: 0,
        }
    }

    /// Enters a rule that `follow` may follow.
    pub fn enter(&mut self, rule: Rule, follow: Set) -> Result<(), Halt> {
        self.follow.push(follow);
        let Some(depth) = self.depth.get_mut(rule as usize) else {
            return Err(Halt);
        };
        *depth += 1;
        if *depth > MAX_DEPTH {
            self.reports
                .nowhere(format!("expression recursion limit exceeded: {MAX_DEPTH}"));
            return Err(Halt);
        }
        // The reference parser reads the first token of a rule before anything else.
        self.look(0).map(|_| ())
    }

    /// Leaves a rule, and recovers when it ended early.
    pub fn leave(&mut self, rule: Rule, ended: Result<(), Stop>) -> Result<(), Halt> {
        match ended {
            Ok(()) => {}
            Err(Stop::Halt) => return Err(Halt),
            Err(Stop::Syntax(wrong)) => {
                self.report_fault(&wrong)?;
                self.skip_to_follow()?;
            }
        }
        self.follow.pop();
        if let Some(depth) = self.depth.get_mut(rule as usize) {
            *depth = depth.saturating_sub(1);
        }
        Ok(())
    }

    fn fill(&mut self, count: usize) -> Result<(), Halt> {
        while self.visible.len() < count && self.tokens.last().is_none_or(|token| token.kind != TokenKind::Eof) {
            let token = self.lexer.token(self.reports)?;
            if token.kind != TokenKind::Hidden {
                self.visible.push(self.tokens.len());
            }
            self.tokens.push(token);
        }
        Ok(())
    }

    /// The visible token `ahead` of the current one; the last one is the end of the text.
    pub fn look(&mut self, ahead: usize) -> Result<&Token, Halt> {
        self.fill(self.at + ahead + 1)?;
        let index = (self.at + ahead).min(self.visible.len().saturating_sub(1));
        let token = self.visible.get(index).and_then(|place| self.tokens.get(*place));
        token.ok_or(Halt)
    }

    pub fn kind(&mut self, ahead: usize) -> Result<TokenKind, Halt> {
        self.look(ahead).map(|token| token.kind)
    }

    pub fn offset(&mut self) -> Result<i32, Halt> {
        self.look(0).map(|token| token.offset)
    }

    fn consume(&mut self) -> Result<Token, Halt> {
        let token = self.look(0)?.clone();
        if token.kind != TokenKind::Eof {
            self.at += 1;
        }
        Ok(token)
    }

    /// Consumes the token that a state requires, or recovers.
    pub fn take(&mut self, state: u16) -> Result<Token, Stop> {
        self.state = state;
        if next(state).has(self.kind(0)?) {
            return Ok(self.take_matched()?);
        }
        self.recover_inline()
    }

    /// Consumes the current token, which is known to match.
    pub(crate) fn take_matched(&mut self) -> Result<Token, Halt> {
        self.matched();
        self.consume()
    }

    fn matched(&mut self) {
        self.recovering = false;
        self.last_error = None;
    }

    /// The tokens that may come here, including those after rules that may end here.
    fn expected(&self) -> Set {
        self.in_context(next(self.state))
    }

    fn in_context(&self, set: Set) -> Set {
        let mut tokens = set.without_rule_end();
        let mut open = set.reaches_rule_end();
        for follow in self.follow.iter().skip(1).rev() {
            if !open {
                break;
            }
            tokens = tokens.and(follow.without_rule_end());
            open = follow.reaches_rule_end();
        }
        if open {
            tokens.and(Set::of(&[TokenKind::Eof]))
        } else {
            tokens
        }
    }

    /// Recovers before a choice or a round of a loop, so that the token there matches.
    pub fn sync(&mut self, state: u16, point: SyncPoint) -> Result<(), Stop> {
        self.state = state;
        if self.recovering {
            return Ok(());
        }
        let may_come = next(state);
        if may_come.reaches_rule_end() || may_come.has(self.kind(0)?) {
            return Ok(());
        }
        if point == SyncPoint::Again {
            self.report_unwanted()?;
            let wanted = self.expected().and(self.recovery_set());
            return Ok(self.skip_until(wanted, u32::MAX)?);
        }
        if self.drop_one()? {
            return Ok(());
        }
        Err(Stop::Syntax(SyntaxFault::Mismatch))
    }

    /// Drops the current token if the next one is expected.
    fn drop_one(&mut self) -> Result<bool, Halt> {
        if !self.expected().has(self.kind(1)?) {
            return Ok(false);
        }
        self.report_unwanted()?;
        self.consume()?;
        self.matched();
        Ok(true)
    }

    fn recover_inline(&mut self) -> Result<Token, Stop> {
        self.count_repair()?;
        if self.drop_one()? {
            return Ok(self.consume()?);
        }
        if self.in_context(after_match(self.state)).has(self.kind(0)?) {
            self.report_missing()?;
            let text = self.expected().missing_text();
            let offset = self.offset()?;
            return Ok(Token {
                kind: TokenKind::Hidden,
                text,
                offset,
            });
        }
        Err(Stop::Syntax(SyntaxFault::Mismatch))
    }

    fn count_repair(&mut self) -> Result<(), Halt> {
        self.repairs += 1;
        if self.repairs > MAX_REPAIRS {
            let offset = self.offset()?;
            self.reports
                .syntax(offset, &format!("error recovery attempt limit exceeded: {MAX_REPAIRS}"))?;
            return Err(Halt);
        }
        Ok(())
    }

    /// The tokens that may follow any active rule.
    fn recovery_set(&self) -> Set {
        let tokens = self
            .follow
            .iter()
            .skip(1)
            .fold(Set::default(), |all, set| all.and(*set));
        tokens.without_rule_end()
    }

    fn skip_to_follow(&mut self) -> Result<(), Halt> {
        self.count_repair()?;
        let mut left = MAX_SKIPPED;
        let mut states = match self.last_error.take() {
            Some((at, states)) if at == self.at && states.contains(&self.state) => {
                // Nothing was skipped last time: skip a token, or this never ends.
                self.consume()?;
                left -= 1;
                states
            }
            Some((_, states)) => states,
            None => Vec::new(),
        };
        states.push(self.state);
        self.last_error = Some((self.at, states));
        self.skip_until(self.recovery_set(), left)
    }

    fn skip_until(&mut self, wanted: Set, mut left: u32) -> Result<(), Halt> {
        loop {
            let kind = self.kind(0)?;
            if kind == TokenKind::Eof || wanted.has(kind) {
                return Ok(());
            }
            if left == 0 {
                self.reports
                    .nowhere(format!("error recovery token lookahead limit exceeded: {MAX_SKIPPED}"));
                return Err(Halt);
            }
            left -= 1;
            self.consume()?;
        }
    }

    fn report_fault(&mut self, wrong: &SyntaxFault) -> Result<(), Halt> {
        if self.recovering {
            return Ok(());
        }
        self.recovering = true;
        match wrong {
            SyntaxFault::Mismatch => {
                let token = shown(self.look(0)?);
                let expected = self.expected().display();
                let offset = self.offset()?;
                self.reports
                    .syntax(offset, &format!("mismatched input {token} expecting {expected}"))
            }
            SyntaxFault::NoAlternative { ahead } => self.report_no_alternative(*ahead),
        }
    }

    fn report_no_alternative(&mut self, ahead: usize) -> Result<(), Halt> {
        let offset = self.look(ahead)?.offset;
        let first = self.visible.get(self.at).copied().unwrap_or_default();
        let last = self.visible.get(self.at + ahead).copied();
        let last = last.unwrap_or(self.tokens.len().saturating_sub(1));
        let between = self.tokens.get(first..=last).unwrap_or_default();
        let text: String = match between {
            [only] if only.kind == TokenKind::Eof => "<EOF>".to_owned(),
            tokens => tokens
                .iter()
                .filter(|token| token.kind != TokenKind::Eof)
                .map(|token| token.text.as_str())
                .collect(),
        };
        let mut message = format!("no viable alternative at input {}", quoted(&text));
        // cel-go rewrites the message about a reserved word after one other character.
        let mut rest = text.chars();
        if rest.next().is_some_and(|c| c != '\n') && matches!(rest.as_str(), "true" | "false" | "null") {
            message = format!("mismatched input '{}' expecting IDENTIFIER", rest.as_str());
        }
        self.reports.syntax(offset, &message)
    }

    fn report_unwanted(&mut self) -> Result<(), Halt> {
        if self.recovering {
            return Ok(());
        }
        self.recovering = true;
        let token = shown(self.look(0)?);
        let expected = self.expected().display();
        let offset = self.offset()?;
        self.reports
            .syntax(offset, &format!("extraneous input {token} expecting {expected}"))
    }

    fn report_missing(&mut self) -> Result<(), Halt> {
        if self.recovering {
            return Ok(());
        }
        self.recovering = true;
        let token = shown(self.look(0)?);
        let expected = self.expected().display();
        let offset = self.offset()?;
        self.reports.syntax(offset, &format!("missing {expected} at {token}"))
    }
}

fn shown(token: &Token) -> String {
    quoted(&token.text)
}

fn quoted(text: &str) -> String {
    let text = text.replace('\t', "\\t").replace('\n', "\\n").replace('\r', "\\r");
    format!("'{text}'")
}
