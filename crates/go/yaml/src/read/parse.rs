//! Parses tokens into events: start and end of documents, collections and scalars. Open collections are kept in a list
//! and not on the call stack, so nesting needs no stack.

use std::borrow::Cow;

use super::options::Dialect;
use super::scan::{Scanned, Scanner};
use super::scan_comment::Comments;
use super::token::{Fault, Mark, Token, TokenKind};
use crate::node::Style;
use bumpwright_text::Parts;

/// An event of a stream, and its place.
#[derive(Debug)]
pub(crate) struct Event<'a> {
    pub(crate) mark: Mark,
    /// `None` where comments are not kept.
    pub(crate) comments: Option<Box<Comments>>,
    pub(crate) happening: EventKind<'a>,
}

/// The kind of event.
#[derive(Debug)]
pub(crate) enum EventKind<'a> {
    DocumentStart,
    DocumentEnd,
    StreamEnd,
    Alias(&'a str),
    Scalar {
        text: Cow<'a, str>,
        style: Style,
        properties: Properties<'a>,
    },
    SequenceStart {
        flow: bool,
        properties: Properties<'a>,
    },
    MappingStart {
        flow: bool,
        properties: Properties<'a>,
    },
    End,
}

/// The anchor and the tag of a node, the tag with its prefix resolved.
#[derive(Debug, Default)]
pub(crate) struct Properties<'a> {
    pub(crate) anchor: Option<&'a str>,
    pub(crate) tag: Option<Cow<'a, str>>,
}

/// What the parser expects next.
#[derive(Debug, Clone, Copy)]
enum ParserState {
    StreamStart,
    DocumentStart { first: bool },
    DocumentContent,
    BlockNode,
    DocumentEnd,
    BlockSequence,
    IndentlessSequence,
    BlockMappingKey,
    BlockMappingValue,
    FlowSequence { first: bool },
    FlowPairKey,
    FlowPairValue,
    FlowPairEnd,
    FlowMappingKey { first: bool },
    FlowMappingValue { empty: bool },
    End,
}

/// Reads events one by one.
#[derive(Debug)]
pub(crate) struct Parser<'a> {
    scanner: Scanner<'a>,
    state: ParserState,
    /// The states to return to.
    states: Vec<ParserState>,
    /// The marks at which the open collections began.
    marks: Vec<Mark>,
    /// Handles and prefixes of the document.
    tags: Vec<(&'a str, Cow<'a, str>)>,
    /// Comments up to the next token, if they are kept.
    pending: Option<Comments>,
    /// The comment above an item that turned out to be a collection.
    stem: String,
}

/// The default handles of every document.
const DEFAULT_TAGS: [(&str, &str); 2] = [("!", "!"), ("!!", "tag:yaml.org,2002:")];

impl<'a> Parser<'a> {
    pub(crate) fn new(text: &'a str, dialect: Dialect) -> Self {
        Self {
            scanner: Scanner::new(text, dialect),
            state: ParserState::StreamStart,
            states: Vec::new(),
            marks: Vec::new(),
            tags: Vec::new(),
            pending: None,
            stem: String::new(),
        }
    }

    /// A parser of go-yaml v3 that keeps comments.
    pub(crate) fn with_comments(text: &'a str) -> Self {
        let mut parser = Self::new(text, Dialect::V3);
        parser.scanner.comments = Some(Default::default());
        parser.pending = Some(Comments::default());
        parser
    }

    /// Joins the comments before the next token.
    fn unfold(&mut self) -> Scanned<()> {
        let Some(pending) = &mut self.pending else {
            return Ok(());
        };
        let token = self.scanner.peek()?;
        let (index, ends) = (token.start.index, token.kind == TokenKind::BlockEnd);
        let comments = self.scanner.comments.get_or_insert_default();
        while let Some(comment) = comments.front().filter(|comment| comment.token.index <= index) {
            // A comment above stays for the next node after the end.
            if !comment.head.is_empty() && ends {
                break;
            }
            join(&mut pending.head, &comment.head);
            join(&mut pending.foot, &comment.foot);
            join(&mut pending.line, &comment.line);
            comments.pop_front();
        }
        Ok(())
    }

    /// The event with the comments joined for it.
    fn commented(&mut self, mut event: Event<'a>) -> Event<'a> {
        if let Some(pending) = &mut self.pending {
            event.comments = Some(Box::new(std::mem::take(pending)));
            self.stem.clear();
        }
        event
    }

    /// The event with the comment above the item that it begins.
    fn stemmed(&mut self, mut event: Event<'a>) -> Event<'a> {
        let head = std::mem::take(&mut self.stem);
        if !head.is_empty() {
            event.comments = Some(Box::new(Comments {
                head,
                ..Comments::default()
            }));
        }
        event
    }

    /// Keeps the comment above an item, of this many bytes, if the item is a block collection.
    fn split_stem(&mut self, length: usize) -> Scanned<()> {
        if length == 0
            || !matches!(
                self.kind()?,
                TokenKind::BlockSequenceStart | TokenKind::BlockMappingStart
            )
        {
            return Ok(());
        }
        if let Some(pending) = &mut self.pending {
            let rest = pending.head.tail(length + 1).to_owned();
            pending.head.truncate(length);
            self.stem = std::mem::replace(&mut pending.head, rest);
        }
        Ok(())
    }

    fn head_length(&self) -> usize {
        self.pending.as_ref().map_or(0, |pending| pending.head.len())
    }

    /// The next event; [`EventKind::StreamEnd`] again and again at the end.
    pub(crate) fn next(&mut self) -> Scanned<Event<'a>> {
        match self.state {
            ParserState::StreamStart => {
                self.scanner.next()?;
                self.document_start(true)
            }
            ParserState::DocumentStart { first } => self.document_start(first),
            ParserState::DocumentContent => self.document_content(),
            ParserState::BlockNode => self.node(true, false),
            ParserState::DocumentEnd => self.document_end(),
            ParserState::BlockSequence => self.block_sequence(),
            ParserState::IndentlessSequence => self.indentless_sequence(),
            ParserState::BlockMappingKey => self.block_mapping_key(),
            ParserState::BlockMappingValue => self.block_mapping_value(),
            ParserState::FlowSequence { first } => self.flow_sequence(first),
            ParserState::FlowPairKey => self.flow_pair_key(),
            ParserState::FlowPairValue => self.flow_pair_value(),
            ParserState::FlowPairEnd => {
                self.state = ParserState::FlowSequence { first: false };
                let mark = self.peek_mark()?;
                Ok(event(mark, EventKind::End))
            }
            ParserState::FlowMappingKey { first } => self.flow_mapping_key(first),
            ParserState::FlowMappingValue { empty } => self.flow_mapping_value(empty),
            ParserState::End => Ok(event(Mark::default(), EventKind::StreamEnd)),
        }
    }

    fn kind(&mut self) -> Scanned<&TokenKind<'a>> {
        self.unfold()?;
        Ok(&self.scanner.peek()?.kind)
    }

    fn peek_mark(&mut self) -> Scanned<Mark> {
        self.unfold()?;
        Ok(self.scanner.peek()?.start)
    }

    fn take(&mut self) -> Scanned<Token<'a>> {
        self.scanner.next()
    }

    fn leave(&mut self) {
        self.state = self.states.pop().unwrap_or(ParserState::End);
    }

    /// A collection ends at the next token.
    fn close(&mut self) -> Scanned<Event<'a>> {
        self.leave();
        self.marks.pop();
        let token = self.take()?;
        Ok(event(token.start, EventKind::End))
    }

    /// The same, for the collections whose ends have comments: all but block sequences.
    fn close_with_comments(&mut self) -> Scanned<Event<'a>> {
        let end = self.close()?;
        Ok(self.commented(end))
    }

    fn empty(&mut self, mark: Mark, next: ParserState) -> Event<'a> {
        self.state = next;
        event(mark, empty_scalar(Properties::default()))
    }

    /// An error in the innermost open collection.
    fn collection_fault<T>(&mut self, context: &'static str, problem: &'static str) -> Scanned<T> {
        let context_mark = self.marks.pop().unwrap_or_default();
        self.fault(context, context_mark, problem)
    }

    fn fault<T>(&mut self, context: &'static str, context_mark: Mark, problem: &'static str) -> Scanned<T> {
        let mark = self.peek_mark()?;
        Err(fault(context, context_mark, problem, mark))
    }

    fn document_start(&mut self, first: bool) -> Scanned<Event<'a>> {
        if !first {
            while *self.kind()? == TokenKind::DocumentEnd {
                self.take()?;
            }
        }
        let mark = self.peek_mark()?;
        let explicit = matches!(
            self.kind()?,
            TokenKind::Version { .. } | TokenKind::TagDirective { .. } | TokenKind::DocumentStart
        );
        if *self.kind()? == TokenKind::StreamEnd {
            self.state = ParserState::End;
            self.take()?;
            return Ok(event(mark, EventKind::StreamEnd));
        }
        if first && !explicit {
            self.directives()?;
            self.states.push(ParserState::DocumentEnd);
            self.state = ParserState::BlockNode;
            let mut start = event(mark, EventKind::DocumentStart);
            start.comments = self.document_head();
            return Ok(start);
        }
        self.directives()?;
        if *self.kind()? != TokenKind::DocumentStart {
            return self.fault("", Mark::default(), "did not find expected <document start>");
        }
        self.states.push(ParserState::DocumentEnd);
        self.state = ParserState::DocumentContent;
        self.take()?;
        Ok(event(mark, EventKind::DocumentStart))
    }

    /// A comment separated by an empty line from those above the first node belongs to the document.
    fn document_head(&mut self) -> Option<Box<Comments>> {
        let head = &mut self.pending.as_mut()?.head;
        let bytes = head.as_bytes();
        let breaks = |at: &usize| bytes.get(*at) == Some(&b'\n');
        let at = (1..bytes.len())
            .rev()
            .find(|at| breaks(at) && (at + 1 == bytes.len() || breaks(&(at - 1))))?;
        let rest = head.split_off(at + 1);
        head.truncate(if rest.is_empty() { at } else { at - 1 });
        let head = std::mem::replace(head, rest);
        Some(Box::new(Comments {
            head,
            ..Comments::default()
        }))
    }

    fn directives(&mut self) -> Scanned<()> {
        let mut version = false;
        loop {
            let token = self.scanner.peek()?;
            let mark = token.start;
            let problem = match &token.kind {
                TokenKind::Version { .. } if version => Some("found duplicate %YAML directive"),
                TokenKind::Version { major: 1, minor: 1 } => None,
                TokenKind::Version { .. } => Some("found incompatible YAML document"),
                TokenKind::TagDirective { handle, .. } if self.tags.iter().any(|(known, _)| known == handle) => {
                    Some("found duplicate %TAG directive")
                }
                TokenKind::TagDirective { .. } => None,
                _ => break,
            };
            if let Some(problem) = problem {
                return Err(fault("", Mark::default(), problem, mark));
            }
            match self.take()?.kind {
                TokenKind::TagDirective { handle, prefix } => self.tags.push((handle, prefix)),
                _ => version = true,
            }
        }
        for (handle, prefix) in DEFAULT_TAGS {
            if !self.tags.iter().any(|(known, _)| *known == handle) {
                self.tags.push((handle, prefix.into()));
            }
        }
        Ok(())
    }

    fn document_content(&mut self) -> Scanned<Event<'a>> {
        let mark = self.peek_mark()?;
        match self.kind()? {
            TokenKind::Version { .. }
            | TokenKind::TagDirective { .. }
            | TokenKind::DocumentStart
            | TokenKind::DocumentEnd
            | TokenKind::StreamEnd => {
                self.leave();
                Ok(event(mark, empty_scalar(Properties::default())))
            }
            _ => self.node(true, false),
        }
    }

    fn document_end(&mut self) -> Scanned<Event<'a>> {
        let mark = self.peek_mark()?;
        if *self.kind()? == TokenKind::DocumentEnd {
            self.take()?;
        }
        self.tags.clear();
        self.state = ParserState::DocumentStart { first: false };
        let mut end = event(mark, EventKind::DocumentEnd);
        end = self.commented(end);
        if let Some(comments) = end.comments.as_mut().filter(|comments| comments.foot.is_empty()) {
            comments.foot = std::mem::take(&mut comments.head);
        }
        Ok(end)
    }

    /// A node: an alias, or an anchor and a tag in any order with their content, which may be empty.
    fn node(&mut self, block: bool, indentless: bool) -> Scanned<Event<'a>> {
        let start = self.peek_mark()?;
        if let TokenKind::Alias(name) = *self.kind()? {
            let alias = self.commented(event(start, EventKind::Alias(name)));
            self.take()?;
            self.leave();
            return Ok(alias);
        }
        let properties = self.properties(start)?;
        let flow = matches!(self.kind()?, TokenKind::FlowSequenceStart | TokenKind::FlowMappingStart);
        let (next, happening) = match self.kind()? {
            TokenKind::BlockEntry if indentless => {
                self.state = ParserState::IndentlessSequence;
                return Ok(event(start, EventKind::SequenceStart { flow, properties }));
            }
            TokenKind::Scalar(..) => {
                self.leave();
                let TokenKind::Scalar(text, style) = self.take()?.kind else {
                    return self.fault("", start, "did not find expected node content");
                };
                let scalar = EventKind::Scalar {
                    text,
                    style,
                    properties,
                };
                return Ok(self.commented(event(start, scalar)));
            }
            TokenKind::FlowSequenceStart => (
                ParserState::FlowSequence { first: true },
                EventKind::SequenceStart { flow, properties },
            ),
            TokenKind::FlowMappingStart => (
                ParserState::FlowMappingKey { first: true },
                EventKind::MappingStart { flow, properties },
            ),
            TokenKind::BlockSequenceStart if block => (
                ParserState::BlockSequence,
                EventKind::SequenceStart { flow, properties },
            ),
            TokenKind::BlockMappingStart if block => (
                ParserState::BlockMappingKey,
                EventKind::MappingStart { flow, properties },
            ),
            _ if properties.anchor.is_some() || properties.tag.is_some() => {
                self.leave();
                return Ok(event(start, empty_scalar(properties)));
            }
            _ => {
                let context = if block {
                    "while parsing a block node"
                } else {
                    "while parsing a flow node"
                };
                return self.fault(context, start, "did not find expected node content");
            }
        };
        self.state = next;
        let begin = if flow {
            self.commented(event(start, happening))
        } else {
            self.stemmed(event(start, happening))
        };
        let opening = self.take()?;
        self.marks.push(opening.start);
        Ok(begin)
    }

    fn properties(&mut self, start: Mark) -> Scanned<Properties<'a>> {
        let mut properties = Properties::default();
        loop {
            match self.kind()? {
                TokenKind::Anchor(_) if properties.anchor.is_none() => {
                    if let TokenKind::Anchor(name) = self.take()?.kind {
                        properties.anchor = Some(name);
                    }
                }
                TokenKind::Tag { .. } if properties.tag.is_none() => {
                    let token = self.take()?;
                    if let TokenKind::Tag { handle, suffix } = token.kind {
                        properties.tag = Some(self.resolved_tag(handle, suffix, start, token.start)?);
                    }
                }
                _ => return Ok(properties),
            }
        }
    }

    fn resolved_tag(&self, handle: &str, suffix: Cow<'a, str>, start: Mark, mark: Mark) -> Scanned<Cow<'a, str>> {
        if handle.is_empty() {
            return Ok(suffix);
        }
        match self.tags.iter().find(|(known, _)| *known == handle) {
            Some((_, prefix)) => Ok(format!("{prefix}{suffix}").into()),
            None => Err(fault("while parsing a node", start, "found undefined tag handle", mark)),
        }
    }

    fn block_sequence(&mut self) -> Scanned<Event<'a>> {
        match self.kind()? {
            TokenKind::BlockEntry => {
                let above = self.head_length();
                let mark = self.take()?.end;
                self.split_stem(above)?;
                match self.kind()? {
                    TokenKind::BlockEntry | TokenKind::BlockEnd => Ok(self.empty(mark, ParserState::BlockSequence)),
                    _ => {
                        self.states.push(ParserState::BlockSequence);
                        self.node(true, false)
                    }
                }
            }
            TokenKind::BlockEnd => self.close(),
            _ => self.collection_fault(
                "while parsing a block collection",
                "did not find expected '-' indicator",
            ),
        }
    }

    fn indentless_sequence(&mut self) -> Scanned<Event<'a>> {
        if *self.kind()? != TokenKind::BlockEntry {
            self.leave();
            let mark = self.peek_mark()?;
            return Ok(event(mark, EventKind::End));
        }
        let above = self.head_length();
        let mark = self.take()?.end;
        self.split_stem(above)?;
        match self.kind()? {
            TokenKind::BlockEntry | TokenKind::Key | TokenKind::Value | TokenKind::BlockEnd => {
                Ok(self.empty(mark, ParserState::IndentlessSequence))
            }
            _ => {
                self.states.push(ParserState::IndentlessSequence);
                self.node(true, false)
            }
        }
    }

    fn block_mapping_key(&mut self) -> Scanned<Event<'a>> {
        match self.kind()? {
            TokenKind::Key => {
                let mark = self.take()?.end;
                match self.kind()? {
                    TokenKind::Key | TokenKind::Value | TokenKind::BlockEnd => {
                        Ok(self.empty(mark, ParserState::BlockMappingValue))
                    }
                    _ => {
                        self.states.push(ParserState::BlockMappingValue);
                        self.node(true, true)
                    }
                }
            }
            TokenKind::BlockEnd => self.close_with_comments(),
            _ => self.collection_fault("while parsing a block mapping", "did not find expected key"),
        }
    }

    fn block_mapping_value(&mut self) -> Scanned<Event<'a>> {
        if *self.kind()? != TokenKind::Value {
            let mark = self.peek_mark()?;
            return Ok(self.empty(mark, ParserState::BlockMappingKey));
        }
        let mark = self.take()?.end;
        match self.kind()? {
            TokenKind::Key | TokenKind::Value | TokenKind::BlockEnd => {
                Ok(self.empty(mark, ParserState::BlockMappingKey))
            }
            _ => {
                self.states.push(ParserState::BlockMappingKey);
                self.node(true, true)
            }
        }
    }

    fn flow_sequence(&mut self, first: bool) -> Scanned<Event<'a>> {
        if *self.kind()? == TokenKind::FlowSequenceEnd {
            return self.close_with_comments();
        }
        if !first {
            if *self.kind()? != TokenKind::FlowEntry {
                return self.collection_fault("while parsing a flow sequence", "did not find expected ',' or ']'");
            }
            self.take()?;
        }
        match self.kind()? {
            TokenKind::Key => {
                let mark = self.take()?.start;
                self.state = ParserState::FlowPairKey;
                let properties = Properties::default();
                Ok(event(mark, EventKind::MappingStart { flow: true, properties }))
            }
            TokenKind::FlowSequenceEnd => self.close_with_comments(),
            _ => {
                self.states.push(ParserState::FlowSequence { first: false });
                self.node(false, false)
            }
        }
    }

    fn flow_pair_key(&mut self) -> Scanned<Event<'a>> {
        match self.kind()? {
            // go-yaml consumes the token here, which makes `[? , a]` an error and `[? : a]` a list with a lone null.
            TokenKind::Value | TokenKind::FlowEntry | TokenKind::FlowSequenceEnd => {
                let mark = self.take()?.end;
                Ok(self.empty(mark, ParserState::FlowPairValue))
            }
            _ => {
                self.states.push(ParserState::FlowPairValue);
                self.node(false, false)
            }
        }
    }

    fn flow_pair_value(&mut self) -> Scanned<Event<'a>> {
        let mut mark = self.peek_mark()?;
        if *self.kind()? == TokenKind::Value {
            self.take()?;
            if !matches!(self.kind()?, TokenKind::FlowEntry | TokenKind::FlowSequenceEnd) {
                self.states.push(ParserState::FlowPairEnd);
                return self.node(false, false);
            }
            mark = self.peek_mark()?;
        }
        Ok(self.empty(mark, ParserState::FlowPairEnd))
    }

    fn flow_mapping_key(&mut self, first: bool) -> Scanned<Event<'a>> {
        if *self.kind()? == TokenKind::FlowMappingEnd {
            return self.close_with_comments();
        }
        if !first {
            if *self.kind()? != TokenKind::FlowEntry {
                return self.collection_fault("while parsing a flow mapping", "did not find expected ',' or '}'");
            }
            self.take()?;
        }
        match self.kind()? {
            TokenKind::Key => {
                self.take()?;
                if matches!(
                    self.kind()?,
                    TokenKind::Value | TokenKind::FlowEntry | TokenKind::FlowMappingEnd
                ) {
                    let mark = self.peek_mark()?;
                    return Ok(self.empty(mark, ParserState::FlowMappingValue { empty: false }));
                }
                self.states.push(ParserState::FlowMappingValue { empty: false });
                self.node(false, false)
            }
            TokenKind::FlowMappingEnd => self.close_with_comments(),
            _ => {
                self.states.push(ParserState::FlowMappingValue { empty: true });
                self.node(false, false)
            }
        }
    }

    fn flow_mapping_value(&mut self, empty: bool) -> Scanned<Event<'a>> {
        if !empty && *self.kind()? == TokenKind::Value {
            self.take()?;
            if !matches!(self.kind()?, TokenKind::FlowEntry | TokenKind::FlowMappingEnd) {
                self.states.push(ParserState::FlowMappingKey { first: false });
                return self.node(false, false);
            }
        }
        let mark = self.peek_mark()?;
        Ok(self.empty(mark, ParserState::FlowMappingKey { first: false }))
    }
}

/// Appends lines to lines.
fn join(slot: &mut String, text: &str) {
    if !text.is_empty() {
        if !slot.is_empty() {
            slot.push('\n');
        }
        slot.push_str(text);
    }
}

const fn event(mark: Mark, happening: EventKind<'_>) -> Event<'_> {
    Event {
        mark,
        comments: None,
        happening,
    }
}

const fn empty_scalar(properties: Properties<'_>) -> EventKind<'_> {
    EventKind::Scalar {
        text: Cow::Borrowed(""),
        style: Style::Plain,
        properties,
    }
}

fn fault(context: &'static str, context_mark: Mark, problem: &'static str, mark: Mark) -> Box<Fault> {
    Box::new(Fault {
        context,
        context_mark,
        problem: problem.into(),
        mark,
        scanner: false,
    })
}
