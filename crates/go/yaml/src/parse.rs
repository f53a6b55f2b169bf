//! Tokens to events: where documents, collections and scalars begin and end. What is open is kept in a list and not on
//! the stack of the program, so nesting costs no stack.

use super::node::Style;
use super::read::Dialect;
use super::scan::{Scanned, Scanner};
use super::scan_comment::Comments;
use super::token::{Fault, Kind, Mark, Token};
use std::borrow::Cow;

/// What happens in a stream, and where.
#[derive(Debug)]
pub(crate) struct Event<'a> {
    pub(crate) mark: Mark,
    /// Nothing where comments are not kept.
    pub(crate) comments: Option<Box<Comments>>,
    pub(crate) happening: Happening<'a>,
}

/// What happens.
#[derive(Debug)]
pub(crate) enum Happening<'a> {
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

/// The anchor and the tag of a node, the tag with its prefix put in.
#[derive(Debug, Default)]
pub(crate) struct Properties<'a> {
    pub(crate) anchor: Option<&'a str>,
    pub(crate) tag: Option<Cow<'a, str>>,
}

/// What comes next.
#[derive(Debug, Clone, Copy)]
enum State {
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
    state: State,
    /// What follows what is being read.
    states: Vec<State>,
    /// Where the open collections began.
    marks: Vec<Mark>,
    /// Handles and prefixes of the document.
    tags: Vec<(&'a str, Cow<'a, str>)>,
    /// Comments up to the next token, where they are kept.
    pending: Option<Comments>,
    /// What stood above an item that turned out to be a collection.
    stem: String,
}

/// The shorthands that every document has.
const DEFAULT_TAGS: [(&str, &str); 2] = [("!", "!"), ("!!", "tag:yaml.org,2002:")];

impl<'a> Parser<'a> {
    pub(crate) fn new(text: &'a str, dialect: Dialect) -> Self {
        Self {
            scanner: Scanner::new(text, dialect),
            state: State::StreamStart,
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

    /// Joins the comments that stand before the next token.
    fn unfold(&mut self) -> Scanned<()> {
        let Some(pending) = &mut self.pending else {
            return Ok(());
        };
        let token = self.scanner.peek()?;
        let (index, ends) = (token.start.index, token.kind == Kind::BlockEnd);
        let comments = self.scanner.comments.get_or_insert_default();
        while let Some(comment) = comments.front().filter(|comment| comment.token.index <= index) {
            // What is above stays for what comes behind the end.
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

    /// The event with the comments that were joined for it.
    fn commented(&mut self, mut event: Event<'a>) -> Event<'a> {
        if let Some(pending) = &mut self.pending {
            event.comments = Some(Box::new(std::mem::take(pending)));
            self.stem.clear();
        }
        event
    }

    /// The event with what stood above the item that it begins.
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

    /// Puts aside what stood above an item, this many bytes, if the item is a block collection.
    fn split_stem(&mut self, length: usize) -> Scanned<()> {
        if length == 0 || !matches!(self.kind()?, Kind::BlockSequenceStart | Kind::BlockMappingStart) {
            return Ok(());
        }
        if let Some(pending) = &mut self.pending {
            let rest = pending.head.get(length + 1..).unwrap_or_default().to_owned();
            pending.head.truncate(length);
            self.stem = std::mem::replace(&mut pending.head, rest);
        }
        Ok(())
    }

    fn head_length(&self) -> usize {
        self.pending.as_ref().map_or(0, |pending| pending.head.len())
    }

    /// The next event; [`Happening::StreamEnd`] again and again at the end.
    pub(crate) fn next(&mut self) -> Scanned<Event<'a>> {
        match self.state {
            State::StreamStart => {
                self.scanner.next()?;
                self.document_start(true)
            }
            State::DocumentStart { first } => self.document_start(first),
            State::DocumentContent => self.document_content(),
            State::BlockNode => self.node(true, false),
            State::DocumentEnd => self.document_end(),
            State::BlockSequence => self.block_sequence(),
            State::IndentlessSequence => self.indentless_sequence(),
            State::BlockMappingKey => self.block_mapping_key(),
            State::BlockMappingValue => self.block_mapping_value(),
            State::FlowSequence { first } => self.flow_sequence(first),
            State::FlowPairKey => self.flow_pair_key(),
            State::FlowPairValue => self.flow_pair_value(),
            State::FlowPairEnd => {
                self.state = State::FlowSequence { first: false };
                let mark = self.peek_mark()?;
                Ok(event(mark, Happening::End))
            }
            State::FlowMappingKey { first } => self.flow_mapping_key(first),
            State::FlowMappingValue { empty } => self.flow_mapping_value(empty),
            State::End => Ok(event(Mark::default(), Happening::StreamEnd)),
        }
    }

    fn kind(&mut self) -> Scanned<&Kind<'a>> {
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
        self.state = self.states.pop().unwrap_or(State::End);
    }

    /// A collection ends at the next token.
    fn close(&mut self) -> Scanned<Event<'a>> {
        self.leave();
        self.marks.pop();
        let token = self.take()?;
        Ok(event(token.start, Happening::End))
    }

    /// The same, for the collections whose ends take comments: all but block sequences.
    fn close_with_comments(&mut self) -> Scanned<Event<'a>> {
        let end = self.close()?;
        Ok(self.commented(end))
    }

    fn empty(&mut self, mark: Mark, next: State) -> Event<'a> {
        self.state = next;
        event(mark, empty_scalar(Properties::default()))
    }

    /// Something wrong with the collection that is open.
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
            while *self.kind()? == Kind::DocumentEnd {
                self.take()?;
            }
        }
        let mark = self.peek_mark()?;
        let explicit = matches!(
            self.kind()?,
            Kind::Version { .. } | Kind::TagDirective { .. } | Kind::DocumentStart
        );
        if *self.kind()? == Kind::StreamEnd {
            self.state = State::End;
            self.take()?;
            return Ok(event(mark, Happening::StreamEnd));
        }
        if first && !explicit {
            self.directives()?;
            self.states.push(State::DocumentEnd);
            self.state = State::BlockNode;
            let mut start = event(mark, Happening::DocumentStart);
            start.comments = self.document_head();
            return Ok(start);
        }
        self.directives()?;
        if *self.kind()? != Kind::DocumentStart {
            return self.fault("", Mark::default(), "did not find expected <document start>");
        }
        self.states.push(State::DocumentEnd);
        self.state = State::DocumentContent;
        self.take()?;
        Ok(event(mark, Happening::DocumentStart))
    }

    /// What is parted by an empty line from what stands above the first node, belongs to the document.
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
                Kind::Version { .. } if version => Some("found duplicate %YAML directive"),
                Kind::Version { major: 1, minor: 1 } => None,
                Kind::Version { .. } => Some("found incompatible YAML document"),
                Kind::TagDirective { handle, .. } if self.tags.iter().any(|(known, _)| known == handle) => {
                    Some("found duplicate %TAG directive")
                }
                Kind::TagDirective { .. } => None,
                _ => break,
            };
            if let Some(problem) = problem {
                return Err(fault("", Mark::default(), problem, mark));
            }
            match self.take()?.kind {
                Kind::TagDirective { handle, prefix } => self.tags.push((handle, prefix)),
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
            Kind::Version { .. }
            | Kind::TagDirective { .. }
            | Kind::DocumentStart
            | Kind::DocumentEnd
            | Kind::StreamEnd => {
                self.leave();
                Ok(event(mark, empty_scalar(Properties::default())))
            }
            _ => self.node(true, false),
        }
    }

    fn document_end(&mut self) -> Scanned<Event<'a>> {
        let mark = self.peek_mark()?;
        if *self.kind()? == Kind::DocumentEnd {
            self.take()?;
        }
        self.tags.clear();
        self.state = State::DocumentStart { first: false };
        let mut end = event(mark, Happening::DocumentEnd);
        end = self.commented(end);
        if let Some(comments) = end.comments.as_mut().filter(|comments| comments.foot.is_empty()) {
            comments.foot = std::mem::take(&mut comments.head);
        }
        Ok(end)
    }

    /// A node: an alias, or an anchor and a tag in any order with what they belong to, which may be nothing.
    fn node(&mut self, block: bool, indentless: bool) -> Scanned<Event<'a>> {
        let start = self.peek_mark()?;
        if let Kind::Alias(name) = *self.kind()? {
            let alias = self.commented(event(start, Happening::Alias(name)));
            self.take()?;
            self.leave();
            return Ok(alias);
        }
        let properties = self.properties(start)?;
        let flow = matches!(self.kind()?, Kind::FlowSequenceStart | Kind::FlowMappingStart);
        let (next, happening) = match self.kind()? {
            Kind::BlockEntry if indentless => {
                self.state = State::IndentlessSequence;
                return Ok(event(start, Happening::SequenceStart { flow, properties }));
            }
            Kind::Scalar(..) => {
                self.leave();
                let Kind::Scalar(text, style) = self.take()?.kind else {
                    return self.fault("", start, "did not find expected node content");
                };
                let scalar = Happening::Scalar {
                    text,
                    style,
                    properties,
                };
                return Ok(self.commented(event(start, scalar)));
            }
            Kind::FlowSequenceStart => (
                State::FlowSequence { first: true },
                Happening::SequenceStart { flow, properties },
            ),
            Kind::FlowMappingStart => (
                State::FlowMappingKey { first: true },
                Happening::MappingStart { flow, properties },
            ),
            Kind::BlockSequenceStart if block => (State::BlockSequence, Happening::SequenceStart { flow, properties }),
            Kind::BlockMappingStart if block => (State::BlockMappingKey, Happening::MappingStart { flow, properties }),
            _ if properties.anchor.is_some() || properties.tag.is_some() => {
                self.leave();
                return Ok(event(start, empty_scalar(properties)));
            }
            _ => {
                let context = match block {
                    true => "while parsing a block node",
                    false => "while parsing a flow node",
                };
                return self.fault(context, start, "did not find expected node content");
            }
        };
        self.state = next;
        let begin = match flow {
            true => self.commented(event(start, happening)),
            false => self.stemmed(event(start, happening)),
        };
        let opening = self.take()?;
        self.marks.push(opening.start);
        Ok(begin)
    }

    fn properties(&mut self, start: Mark) -> Scanned<Properties<'a>> {
        let mut properties = Properties::default();
        loop {
            match self.kind()? {
                Kind::Anchor(_) if properties.anchor.is_none() => {
                    if let Kind::Anchor(name) = self.take()?.kind {
                        properties.anchor = Some(name);
                    }
                }
                Kind::Tag { .. } if properties.tag.is_none() => {
                    let token = self.take()?;
                    if let Kind::Tag { handle, suffix } = token.kind {
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
            Kind::BlockEntry => {
                let above = self.head_length();
                let mark = self.take()?.end;
                self.split_stem(above)?;
                match self.kind()? {
                    Kind::BlockEntry | Kind::BlockEnd => Ok(self.empty(mark, State::BlockSequence)),
                    _ => {
                        self.states.push(State::BlockSequence);
                        self.node(true, false)
                    }
                }
            }
            Kind::BlockEnd => self.close(),
            _ => self.collection_fault(
                "while parsing a block collection",
                "did not find expected '-' indicator",
            ),
        }
    }

    fn indentless_sequence(&mut self) -> Scanned<Event<'a>> {
        if *self.kind()? != Kind::BlockEntry {
            self.leave();
            let mark = self.peek_mark()?;
            return Ok(event(mark, Happening::End));
        }
        let above = self.head_length();
        let mark = self.take()?.end;
        self.split_stem(above)?;
        match self.kind()? {
            Kind::BlockEntry | Kind::Key | Kind::Value | Kind::BlockEnd => {
                Ok(self.empty(mark, State::IndentlessSequence))
            }
            _ => {
                self.states.push(State::IndentlessSequence);
                self.node(true, false)
            }
        }
    }

    fn block_mapping_key(&mut self) -> Scanned<Event<'a>> {
        match self.kind()? {
            Kind::Key => {
                let mark = self.take()?.end;
                match self.kind()? {
                    Kind::Key | Kind::Value | Kind::BlockEnd => Ok(self.empty(mark, State::BlockMappingValue)),
                    _ => {
                        self.states.push(State::BlockMappingValue);
                        self.node(true, true)
                    }
                }
            }
            Kind::BlockEnd => self.close_with_comments(),
            _ => self.collection_fault("while parsing a block mapping", "did not find expected key"),
        }
    }

    fn block_mapping_value(&mut self) -> Scanned<Event<'a>> {
        if *self.kind()? != Kind::Value {
            let mark = self.peek_mark()?;
            return Ok(self.empty(mark, State::BlockMappingKey));
        }
        let mark = self.take()?.end;
        match self.kind()? {
            Kind::Key | Kind::Value | Kind::BlockEnd => Ok(self.empty(mark, State::BlockMappingKey)),
            _ => {
                self.states.push(State::BlockMappingKey);
                self.node(true, true)
            }
        }
    }

    fn flow_sequence(&mut self, first: bool) -> Scanned<Event<'a>> {
        if *self.kind()? == Kind::FlowSequenceEnd {
            return self.close_with_comments();
        }
        if !first {
            if *self.kind()? != Kind::FlowEntry {
                return self.collection_fault("while parsing a flow sequence", "did not find expected ',' or ']'");
            }
            self.take()?;
        }
        match self.kind()? {
            Kind::Key => {
                let mark = self.take()?.start;
                self.state = State::FlowPairKey;
                let properties = Properties::default();
                Ok(event(mark, Happening::MappingStart { flow: true, properties }))
            }
            Kind::FlowSequenceEnd => self.close_with_comments(),
            _ => {
                self.states.push(State::FlowSequence { first: false });
                self.node(false, false)
            }
        }
    }

    fn flow_pair_key(&mut self) -> Scanned<Event<'a>> {
        match self.kind()? {
            // go-yaml takes the token here, which makes `[? , a]` an error and `[? : a]` a list with a lone null.
            Kind::Value | Kind::FlowEntry | Kind::FlowSequenceEnd => {
                let mark = self.take()?.end;
                Ok(self.empty(mark, State::FlowPairValue))
            }
            _ => {
                self.states.push(State::FlowPairValue);
                self.node(false, false)
            }
        }
    }

    fn flow_pair_value(&mut self) -> Scanned<Event<'a>> {
        let mut mark = self.peek_mark()?;
        if *self.kind()? == Kind::Value {
            self.take()?;
            if !matches!(self.kind()?, Kind::FlowEntry | Kind::FlowSequenceEnd) {
                self.states.push(State::FlowPairEnd);
                return self.node(false, false);
            }
            mark = self.peek_mark()?;
        }
        Ok(self.empty(mark, State::FlowPairEnd))
    }

    fn flow_mapping_key(&mut self, first: bool) -> Scanned<Event<'a>> {
        if *self.kind()? == Kind::FlowMappingEnd {
            return self.close_with_comments();
        }
        if !first {
            if *self.kind()? != Kind::FlowEntry {
                return self.collection_fault("while parsing a flow mapping", "did not find expected ',' or '}'");
            }
            self.take()?;
        }
        match self.kind()? {
            Kind::Key => {
                self.take()?;
                if matches!(self.kind()?, Kind::Value | Kind::FlowEntry | Kind::FlowMappingEnd) {
                    let mark = self.peek_mark()?;
                    return Ok(self.empty(mark, State::FlowMappingValue { empty: false }));
                }
                self.states.push(State::FlowMappingValue { empty: false });
                self.node(false, false)
            }
            Kind::FlowMappingEnd => self.close_with_comments(),
            _ => {
                self.states.push(State::FlowMappingValue { empty: true });
                self.node(false, false)
            }
        }
    }

    fn flow_mapping_value(&mut self, empty: bool) -> Scanned<Event<'a>> {
        if !empty && *self.kind()? == Kind::Value {
            self.take()?;
            if !matches!(self.kind()?, Kind::FlowEntry | Kind::FlowMappingEnd) {
                self.states.push(State::FlowMappingKey { first: false });
                return self.node(false, false);
            }
        }
        let mark = self.peek_mark()?;
        Ok(self.empty(mark, State::FlowMappingKey { first: false }))
    }
}

/// Adds lines behind lines.
fn join(slot: &mut String, text: &str) {
    if !text.is_empty() {
        if !slot.is_empty() {
            slot.push('\n');
        }
        slot.push_str(text);
    }
}

const fn event(mark: Mark, happening: Happening<'_>) -> Event<'_> {
    Event {
        mark,
        comments: None,
        happening,
    }
}

const fn empty_scalar(properties: Properties<'_>) -> Happening<'_> {
    Happening::Scalar {
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
