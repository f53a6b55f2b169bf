//! Scans text into tokens, by the rules and with the words of go-yaml: it accepts what go-yaml
//! accepts, and nothing more.
//!
//! Keys without `?` are recognized late: a possible start is remembered, and at its `:` a key token is inserted
//! before the tokens read since. Such a key is on one line and at most 1024 characters long.

use std::collections::VecDeque;

use super::options::Dialect;
use super::scan_comment::ScannedComment;
use super::token::{Fault, Mark, Token, TokenKind, break_length, is_blank_or_end, width};
use bumpwright_text::Parts;

/// go-yaml's maximum depth.
const MAX_NESTING: usize = 10_000;
/// Maximum length of a key without `?`, in characters.
const MAX_KEY: usize = 1024;
/// The distance that go-yaml looks ahead for a comment.
pub(crate) const COMMENT_REACH: usize = 512;

/// A possible start of a key without `?`.
#[derive(Debug, Clone, Copy, Default)]
struct SimpleKey {
    possible: bool,
    required: bool,
    /// Whether its first token is held back for it.
    waited_for: bool,
    /// The index of its first token in the stream.
    token: usize,
    mark: Mark,
}

/// Reads tokens one by one.
#[derive(Debug)]
pub(crate) struct Scanner<'a> {
    pub(crate) text: &'a str,
    /// The number of bytes read.
    pub(crate) at: usize,
    pub(crate) mark: Mark,
    pub(crate) tokens: VecDeque<Token<'a>>,
    /// Comments not yet returned, if they are kept at all.
    pub(crate) comments: Option<VecDeque<ScannedComment>>,
    /// The number of tokens returned.
    taken: usize,
    keys: Vec<SimpleKey>,
    pub(crate) key_allowed: bool,
    /// The column of the open block collection; -1 outside of all.
    pub(crate) indent: i64,
    indents: Vec<i64>,
    /// The number of open `[` and `{`.
    pub(crate) flow: usize,
    begun: bool,
    ended: bool,
    /// Whether the first token is final.
    ready: bool,
    dialect: Dialect,
}

/// The result of a step of the scanner.
pub(crate) type Scanned<T> = Result<T, Box<Fault>>;

impl<'a> Scanner<'a> {
    /// A scanner over text without characters that YAML rejects.
    pub(crate) fn new(text: &'a str, dialect: Dialect) -> Self {
        Self {
            text,
            at: 0,
            mark: Mark::default(),
            tokens: VecDeque::new(),
            comments: None,
            taken: 0,
            keys: Vec::new(),
            key_allowed: false,
            indent: -1,
            indents: Vec::new(),
            flow: 0,
            begun: false,
            ended: false,
            ready: false,
            dialect,
        }
    }

    /// The next token, without consuming it.
    pub(crate) fn peek(&mut self) -> Scanned<&Token<'a>> {
        if !self.ready {
            self.fill()?;
        }
        self.tokens.front().ok_or_else(|| self.end_fault())
    }

    /// Consumes the next token.
    pub(crate) fn next(&mut self) -> Scanned<Token<'a>> {
        if !self.ready {
            self.fill()?;
        }
        self.ready = false;
        let token = self.tokens.pop_front().ok_or_else(|| self.end_fault())?;
        self.taken += 1;
        Ok(token)
    }

    fn end_fault(&self) -> Box<Fault> {
        Box::new(Fault {
            context: "",
            context_mark: Mark::default(),
            problem: "attempted to go past the end of stream; corrupted value?".into(),
            mark: self.mark,
            scanner: false,
        })
    }

    /// Reads until the first token is final: until no key can come before it. go-yaml v3 keeps two more for comments.
    fn fill(&mut self) -> Scanned<()> {
        let spare = match self.dialect {
            Dialect::V2 => 0,
            Dialect::V3 => 2,
        };
        while (self.tokens.len() <= spare && !self.ended) || self.may_become_key()? {
            if self.ended {
                break;
            }
            self.fetch()?;
        }
        self.ready = true;
        Ok(())
    }

    /// Whether the first token may still turn out to be a key.
    fn may_become_key(&mut self) -> Scanned<bool> {
        let taken = self.taken;
        // Most often the last key is older than the token.
        if self.keys.last().is_none_or(|key| key.token < taken) {
            return Ok(false);
        }
        let level = self.keys.partition_point(|key| key.token < taken);
        let mut level = level;
        while self.keys.get(level).is_some_and(|key| key.token == taken) {
            if self.keys.get(level).is_some_and(|key| key.waited_for) {
                return Ok(self.possible_key(level)?.is_some());
            }
            level += 1;
        }
        Ok(false)
    }

    /// The key of a flow level if it is still possible; it is not after its line or its 1024 characters.
    fn possible_key(&mut self, level: usize) -> Scanned<Option<SimpleKey>> {
        let mark = self.mark;
        let Some(key) = self.keys.get_mut(level).filter(|key| key.possible) else {
            return Ok(None);
        };
        if key.mark.line >= mark.line && key.mark.index + MAX_KEY >= mark.index {
            return Ok(Some(*key));
        }
        let old = *key;
        key.possible = false;
        if old.required {
            return Err(self.fault("while scanning a simple key", old.mark, "could not find expected ':'"));
        }
        Ok(None)
    }

    /// An error at the current position.
    pub(crate) fn fault(&self, context: &'static str, start: Mark, problem: &'static str) -> Box<Fault> {
        Box::new(Fault {
            context,
            context_mark: start,
            problem: problem.into(),
            mark: self.mark,
            scanner: true,
        })
    }

    /// The rest of the text.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.text.as_bytes().part(self.at..)
    }

    /// The byte at an offset; 0 beyond the end.
    pub(crate) fn byte(&self, ahead: usize) -> u8 {
        self.text.as_bytes().get(self.at + ahead).copied().unwrap_or(0)
    }

    pub(crate) fn slice(&self, from: usize, to: usize) -> &'a str {
        self.text.part(from..to)
    }

    /// Consumes one character that is not a line break.
    pub(crate) fn skip(&mut self) {
        if self.at < self.text.len() {
            self.at += width(self.byte(0));
        }
        self.mark.index += 1;
        self.mark.column += 1;
    }

    fn skip_many(&mut self, count: usize) {
        for _ in 0..count {
            self.skip();
        }
    }

    /// Consumes a line break, if there is one.
    pub(crate) fn skip_break(&mut self) -> bool {
        let rest = self.rest();
        let length = break_length(rest);
        if length == 0 {
            return false;
        }
        self.mark.index += if rest.starts_with(b"\r\n") { 2 } else { 1 };
        self.mark.column = 0;
        self.mark.line += 1;
        self.at += length;
        true
    }

    /// Consumes a line break and returns it as in values.
    pub(crate) fn read_break(&mut self) -> &'a str {
        let from = self.at;
        match (self.skip_break(), self.at - from) {
            (false, _) => "",
            (true, 3) => self.slice(from, self.at),
            (true, _) => "\n",
        }
    }

    pub(crate) fn is_blank(&self) -> bool {
        matches!(self.byte(0), b' ' | b'\t')
    }

    pub(crate) fn skip_blanks(&mut self) {
        while self.is_blank() {
            self.skip();
        }
    }

    /// Moves to the end of the line.
    pub(crate) fn skip_line(&mut self) {
        while self.at < self.text.len() && break_length(self.rest()) == 0 {
            self.skip();
        }
    }

    /// Whether `---` or `...` is here, at the start of a line.
    pub(crate) fn at_document_indicator(&self) -> bool {
        self.mark.column == 0
            && matches!(self.rest(), [b'-', b'-', b'-', rest @ ..] | [b'.', b'.', b'.', rest @ ..] if is_blank_or_end(rest))
    }

    pub(crate) fn push(&mut self, start: Mark, kind: TokenKind<'a>) {
        let end = self.mark;
        self.tokens.push_back(Token { start, end, kind });
    }

    /// Inserts a token without text before the token of this index.
    fn insert(&mut self, number: usize, mark: Mark, kind: TokenKind<'a>) {
        let token = Token {
            start: mark,
            end: mark,
            kind,
        };
        match number.checked_sub(self.taken) {
            Some(at) if at < self.tokens.len() => self.tokens.insert(at, token),
            _ => self.tokens.push_back(token),
        }
    }

    /// Reads at least one more token.
    fn fetch(&mut self) -> Scanned<()> {
        if !self.begun {
            self.begun = true;
            self.key_allowed = true;
            self.keys.push(SimpleKey::default());
            if self.text.starts_with('\u{feff}') {
                self.at = '\u{feff}'.len_utf8();
            }
            self.push(self.mark, TokenKind::StreamStart);
            return Ok(());
        }
        let before = self.mark;
        self.skip_to_token(before);
        self.unroll(i64::from(self.mark.column), before);
        if self.at >= self.text.len() {
            return self.fetch_stream_end();
        }
        if self.mark.column == 0 && self.byte(0) == b'%' {
            self.unroll(-1, self.mark);
            self.drop_key()?;
            self.key_allowed = false;
            return self.directive();
        }
        if self.at_document_indicator() {
            return self.fetch_document_indicator();
        }
        let for_the_last = matches!((self.flow, self.byte(0)), (0, b':') | (1.., b','));
        let owner = self
            .tokens
            .back()
            .filter(|_| for_the_last)
            .map_or(self.mark, |token| token.start);
        self.fetch_content()?;
        if self.dialect == Dialect::V3
            && self
                .tokens
                .back()
                .is_none_or(|token| token.kind != TokenKind::BlockEntry)
        {
            if self.comments.is_some() {
                self.scan_line_comment(owner)
            } else {
                self.skip_line_comment()
            }
        }
        Ok(())
    }

    fn fetch_content(&mut self) -> Scanned<()> {
        let rest = self.rest();
        let spaced = is_blank_or_end(rest.tail(1));
        let flow = self.flow > 0;
        match self.byte(0) {
            b'[' => self.fetch_flow_start(TokenKind::FlowSequenceStart),
            b'{' => self.fetch_flow_start(TokenKind::FlowMappingStart),
            b']' => self.fetch_flow_end(TokenKind::FlowSequenceEnd),
            b'}' => self.fetch_flow_end(TokenKind::FlowMappingEnd),
            b',' => {
                self.drop_key()?;
                self.indicator(TokenKind::FlowEntry, true);
                Ok(())
            }
            b'-' if spaced => self.fetch_block_entry(),
            b'?' if flow || spaced => self.fetch_key(),
            b':' if flow || spaced => self.fetch_value(),
            b'*' | b'&' => {
                self.save_key()?;
                self.key_allowed = false;
                self.anchor()
            }
            b'!' => {
                self.save_key()?;
                self.key_allowed = false;
                self.tag()
            }
            b'|' | b'>' if !flow => {
                self.drop_key()?;
                self.key_allowed = true;
                self.block_scalar()
            }
            b'\'' | b'"' => {
                self.save_key()?;
                self.key_allowed = false;
                self.quoted_scalar()
            }
            byte if self.may_start_plain(byte) => {
                self.save_key()?;
                self.key_allowed = false;
                self.plain_scalar()
            }
            _ => Err(self.fault(
                "while scanning for the next token",
                self.mark,
                "found character that cannot start any token",
            )),
        }
    }

    fn may_start_plain(&self, byte: u8) -> bool {
        let next = self.rest().tail(1);
        match byte {
            b'-' => !matches!(next, [b' ' | b'\t', ..]),
            b'?' | b':' => self.flow == 0 && !is_blank_or_end(next),
            b',' | b'[' | b']' | b'{' | b'}' | b'#' | b'&' | b'*' | b'!' | b'|' | b'>' | b'\'' | b'"' | b'%' | b'@'
            | b'`' => false,
            _ => !is_blank_or_end(self.rest()),
        }
    }

    /// Consumes the one character of an indicator.
    fn indicator(&mut self, kind: TokenKind<'a>, key_allowed: bool) {
        self.key_allowed = key_allowed;
        let start = self.mark;
        self.skip();
        self.push(start, kind);
    }

    /// Skips blanks, comments and line breaks. A tab is not a blank where a key could begin.
    fn skip_to_token(&mut self, before: Mark) {
        loop {
            // A byte order mark elsewhere is text: go-yaml looks for it at the start only.
            if self.mark.index == 0 && self.rest().starts_with("\u{feff}".as_bytes()) {
                self.skip();
            }
            while self.byte(0) == b' ' || (self.byte(0) == b'\t' && (self.flow > 0 || !self.key_allowed)) {
                self.skip();
            }
            if self.comments.is_some() {
                self.lift_comment_of_entry();
            }
            if self.byte(0) == b'#' {
                if self.comments.is_some() {
                    self.scan_comments(before)
                } else {
                    self.skip_comments()
                }
            }
            if !self.skip_break() {
                return;
            }
            if self.flow == 0 {
                self.key_allowed = true;
            }
        }
    }

    fn skip_comments(&mut self) {
        self.skip_line();
        if self.dialect == Dialect::V3 {
            self.skip_comments_below();
        }
    }

    /// go-yaml v3 reads adjacent comments at once, with the blanks between them, tabs too.
    fn skip_comments_below(&mut self) {
        loop {
            let rest = self.rest();
            let mut ahead = 0;
            while ahead < COMMENT_REACH {
                let here = rest.tail(ahead);
                match here {
                    [b' ' | b'\t', ..] => ahead += 1,
                    _ if break_length(here) > 0 => ahead += break_length(here),
                    _ => break,
                }
            }
            if ahead >= COMMENT_REACH || rest.get(ahead) != Some(&b'#') {
                return;
            }
            let end = self.at + ahead;
            while self.at < end {
                if !self.skip_break() {
                    self.skip();
                }
            }
            self.skip_line();
        }
    }

    /// go-yaml v3 looks for a comment on the line right after a token; blanks before it may be tabs.
    fn skip_line_comment(&mut self) {
        let read = self.text.as_bytes().part(..self.at);
        let last = read.iter().rev().find(|byte| !matches!(byte, b' ' | b'\t'));
        if last.is_none_or(|byte| matches!(byte, b'\n' | b'\r')) {
            return;
        }
        let rest = self.rest();
        let blanks = rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        if blanks < COMMENT_REACH && rest.get(blanks) == Some(&b'#') {
            self.skip_line();
        }
    }

    /// Remembers the current position as a possible start of a key.
    fn save_key(&mut self) -> Scanned<()> {
        if !self.key_allowed {
            return Ok(());
        }
        self.drop_key()?;
        let key = SimpleKey {
            possible: true,
            waited_for: true,
            required: self.flow == 0 && self.indent == i64::from(self.mark.column),
            token: self.taken + self.tokens.len(),
            mark: self.mark,
        };
        if let Some(last) = self.keys.last_mut() {
            *last = key;
        }
        Ok(())
    }

    /// Forgets the possible start of a key of this flow level.
    fn drop_key(&mut self) -> Scanned<()> {
        let Some(key) = self.keys.last_mut() else { return Ok(()) };
        let old = *key;
        key.possible = false;
        if old.possible && old.required {
            Err(self.fault("while scanning a simple key", old.mark, "could not find expected ':'"))
        } else {
            Ok(())
        }
    }

    /// Opens a block collection at `column`, if none is open there.
    fn roll(&mut self, column: i64, number: usize, kind: TokenKind<'a>, mark: Mark) -> Scanned<()> {
        if self.flow > 0 || self.indent >= column {
            return Ok(());
        }
        self.indents.push(self.indent);
        self.indent = column;
        if self.indents.len() > MAX_NESTING {
            let start = self.keys.last().map(|key| key.mark).unwrap_or_default();
            return Err(self.fault("while increasing indent level", start, "exceeded max depth of 10000"));
        }
        self.insert(number, mark, kind);
        Ok(())
    }

    /// Closes the block collections that begin to the right of `column`.
    fn unroll(&mut self, column: i64, before: Mark) {
        if self.flow > 0 {
            return;
        }
        let mark = match self.dialect {
            Dialect::V2 => self.mark,
            Dialect::V3 => before,
        };
        let mut mark = mark;
        if self.comments.is_some() {
            mark.index = mark.index.saturating_sub(1);
        }
        while self.indent > column {
            mark = self.end_of_block(mark);
            let (start, end) = (mark, mark);
            let kind = TokenKind::BlockEnd;
            self.tokens.push_back(Token { start, end, kind });
            self.indent = self.indents.pop().unwrap_or(-1);
        }
    }

    fn fetch_stream_end(&mut self) -> Scanned<()> {
        if self.mark.column != 0 {
            self.mark.column = 0;
            self.mark.line += 1;
        }
        self.unroll(-1, self.mark);
        self.drop_key()?;
        self.key_allowed = false;
        self.ended = true;
        self.push(self.mark, TokenKind::StreamEnd);
        Ok(())
    }

    fn fetch_document_indicator(&mut self) -> Scanned<()> {
        self.unroll(-1, self.mark);
        self.drop_key()?;
        self.key_allowed = false;
        let start = self.mark;
        let kind = match self.byte(0) {
            b'-' => TokenKind::DocumentStart,
            _ => TokenKind::DocumentEnd,
        };
        self.skip_many(3);
        self.push(start, kind);
        Ok(())
    }

    fn fetch_flow_start(&mut self, kind: TokenKind<'a>) -> Scanned<()> {
        self.save_key()?;
        self.keys.push(SimpleKey {
            token: self.taken + self.tokens.len(),
            mark: self.mark,
            ..SimpleKey::default()
        });
        self.flow += 1;
        if self.flow > MAX_NESTING {
            return Err(self.fault("while increasing flow level", self.mark, "exceeded max depth of 10000"));
        }
        self.indicator(kind, true);
        Ok(())
    }

    fn fetch_flow_end(&mut self, kind: TokenKind<'a>) -> Scanned<()> {
        self.drop_key()?;
        if self.flow > 0 {
            self.flow -= 1;
            // Without content, go-yaml forgets that the collection may be a key.
            let inner = self.keys.pop();
            if let (Some(inner), Some(outer)) = (inner, self.keys.last_mut()) {
                outer.waited_for &= inner.token != outer.token;
            }
        }
        self.indicator(kind, false);
        Ok(())
    }

    fn fetch_block_entry(&mut self) -> Scanned<()> {
        if self.flow == 0 {
            if !self.key_allowed {
                let problem = "block sequence entries are not allowed in this context";
                return Err(self.fault("", self.mark, problem));
            }
            let column = i64::from(self.mark.column);
            self.roll(column, usize::MAX, TokenKind::BlockSequenceStart, self.mark)?;
        }
        self.drop_key()?;
        self.indicator(TokenKind::BlockEntry, true);
        Ok(())
    }

    fn fetch_key(&mut self) -> Scanned<()> {
        if self.flow == 0 {
            if !self.key_allowed {
                return Err(self.fault("", self.mark, "mapping keys are not allowed in this context"));
            }
            let column = i64::from(self.mark.column);
            self.roll(column, usize::MAX, TokenKind::BlockMappingStart, self.mark)?;
        }
        self.drop_key()?;
        self.indicator(TokenKind::Key, self.flow == 0);
        Ok(())
    }

    fn fetch_value(&mut self) -> Scanned<()> {
        let level = self.keys.len().saturating_sub(1);
        if let Some(key) = self.possible_key(level)? {
            self.insert(key.token, key.mark, TokenKind::Key);
            self.roll(
                i64::from(key.mark.column),
                key.token,
                TokenKind::BlockMappingStart,
                key.mark,
            )?;
            if let Some(key) = self.keys.get_mut(level) {
                key.possible = false;
            }
            self.indicator(TokenKind::Value, false);
            return Ok(());
        }
        if self.flow == 0 {
            if !self.key_allowed {
                return Err(self.fault("", self.mark, "mapping values are not allowed in this context"));
            }
            let column = i64::from(self.mark.column);
            self.roll(column, usize::MAX, TokenKind::BlockMappingStart, self.mark)?;
        }
        self.indicator(TokenKind::Value, self.flow == 0);
        Ok(())
    }
}
