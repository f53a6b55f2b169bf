//! Binds comments to tokens as go-yaml does.
//!
//! The rules are go-yaml's (`scannerc.go`): a comment after a token on its line is that token's line comment; after `:`
//! in block context and `,` in flow context it is the line comment of the token before; after `-` it is a head. The
//! remarks are taken by events in [`super::walk`], as in go-yaml's parser.

use granit_parser::{Options, ScalarStyle, Scanner, StrInput, Token, TokenType};

use super::commented::is_commented_out;
use super::gap::{self, Around, Comment, Next};
use super::marker::{is_prose, mentions};
use super::parser::offset;
use super::strict::{self, Before};
use bumpwright_text::Parts;

/// The role of a remark for the node that takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Line,
    /// A comment below a node, which no node takes.
    Foot,
    /// A comment above a node.
    Head {
        /// Offset of the token directly below.
        next: usize,
        /// Whether that is a `-`: a collection in its entry takes the head instead of the entry's first node.
        above_entry: bool,
        /// Whether a blank line follows, so that at the top of a document it belongs to the document.
        blank_after: bool,
    },
}

/// A comment, or several that form one text, bound to an offset.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Remark {
    /// Nodes that start at this offset or later take it.
    pub(crate) mark: usize,
    /// Line comment or head.
    pub(crate) role: Role,
    /// Index of the marker comment, if it is a single comment that looks like a marker.
    pub(crate) marker: Option<u32>,
}

/// A comment that looks like a marker.
#[derive(Clone, Debug)]
pub(crate) struct MarkerComment {
    pub(crate) comment: Comment,
    /// The text with `#`.
    pub(crate) text: String,
    /// Whether it is a commented-out field, or belongs to one.
    pub(crate) is_commented_out: bool,
}

/// Header of a block scalar.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Header {
    /// Offset of `|` or `>`.
    pub(crate) start: usize,
    /// Column of the enclosing block collection, -1 for none.
    pub(crate) indent: isize,
}

/// The results of scanning the tokens of a file.
#[derive(Debug, Default)]
pub(crate) struct Remarks {
    /// All in the order of the file.
    pub(crate) remarks: Vec<Remark>,
    /// All in the order of the file.
    pub(crate) markers: Vec<MarkerComment>,
    /// The header of each block scalar, in the order of the file.
    pub(crate) headers: Vec<Header>,
    /// Offset of a tab that go-yaml refuses.
    pub(crate) refused_tab: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TokenClass {
    /// Start of a document, without line comments.
    Edge,
    BlockEntry,
    /// `?`.
    Key,
    Value,
    FlowEntry,
    BlockScalar,
    /// The start of the file.
    Start,
    Other,
}

#[derive(Clone, Copy, Debug)]
struct Prior {
    start: usize,
    end: usize,
    line: usize,
    kind: TokenClass,
    /// Whether it is a plain scalar, which includes the line break after it.
    ends_late: bool,
}

struct CommentReader<'a> {
    text: &'a str,
    out: Remarks,
    prior: Prior,
    before_prior: Option<usize>,
    closed_since: bool,
    /// Whether the last `:` belongs to a `?`.
    complex: bool,
    /// Whether a key without `?` is waiting for its `:`.
    simple: bool,
    gap: Vec<Comment>,
    /// The last comment on a line of its own.
    alone: Option<Comment>,
    indents: Vec<usize>,
    pops: usize,
    flow: usize,
    first_line: usize,
}

/// Reads the comments of a file, up to an error of the scanner, which the parser will report.
///
/// Offsets are from `shadow`, which is as long as `text` (see [`super::repair`]); texts from `text`.
pub(crate) fn read(text: &str, shadow: &str, options: &Options) -> Remarks {
    let edge = Prior {
        start: 0,
        end: 0,
        line: 1,
        kind: TokenClass::Edge,
        ends_late: false,
    };
    let mut reader = CommentReader {
        text,
        out: Remarks::default(),
        prior: edge,
        before_prior: None,
        closed_since: false,
        complex: false,
        simple: false,
        gap: Vec::new(),
        alone: None,
        indents: Vec::new(),
        pops: 0,
        flow: 0,
        first_line: 1,
    };
    for token in Scanner::with_options(StrInput::new(shadow), options.clone()) {
        let Ok(token) = token else {
            reader.check_tabs(reader.next_content(reader.prior.end));
            break;
        };
        reader.token(token);
    }
    reader.out
}

impl CommentReader<'_> {
    fn token(&mut self, token: Token<'_>) {
        let (span, token) = token.into_parts();
        // A repair puts blanks for a byte order mark at the end of the line before it: an offset among them may be
        // within the mark.
        let place = |offset: usize| self.text.ceil_char_boundary(offset);
        let shadow_start = offset(&span.start);
        let mut start = place(shadow_start);
        let mut end = place(offset(&span.end));
        let (mut line, mut column) = (span.start.line(), span.start.col());
        let mut last_line = span.end.line();
        if matches!(token, TokenType::Comment(_)) {
            // A repair moves a `#` by one.
            let moved = usize::from(self.text.as_bytes().get(shadow_start) != Some(&b'#'));
            let (start, column) = (shadow_start.saturating_sub(moved), column.saturating_sub(moved));
            let end = end.min(self.line_end(start));
            return self.comment(Comment {
                start,
                end,
                line,
                column,
            });
        }
        let is_block = matches!(token, TokenType::Scalar(ScalarStyle::Literal | ScalarStyle::Folded, _));
        if is_block || matches!(token, TokenType::BlockEntry) {
            // granit places an entry after the blanks (and the comment) that follow its `-`, and a block scalar at
            // its content.
            let place = start;
            start = self.next_content(self.prior.end);
            let before = self.text.part(..start);
            column = start - before.rfind(['\n', '\r']).map_or(0, |at| at + 1);
            if is_block {
                line -= line_breaks(self.text.part(start.min(place)..place)).min(line);
                // Only the header can have a line comment.
                last_line = line;
            } else {
                end = start + 1;
            }
        }
        if matches!(token, TokenType::BlockEnd) {
            self.pops += 1;
            self.closed_since = true;
            return;
        }
        if end == start && matches!(token, TokenType::FlowMappingStart | TokenType::FlowMappingEnd) {
            // A pair inside `[]`: go-yaml has no tokens for its bounds.
            return;
        }
        self.check_tabs(start);
        self.close_gap(&token, start, line, column);
        for _ in 0..std::mem::take(&mut self.pops) {
            self.indents.pop();
        }
        match &token {
            TokenType::BlockSequenceStart | TokenType::BlockMappingStart => return self.indents.push(column),
            TokenType::FlowSequenceStart => self.flow += 1,
            TokenType::FlowMappingStart if end > start => self.flow += 1,
            TokenType::FlowSequenceEnd => self.flow = self.flow.saturating_sub(1),
            TokenType::FlowMappingEnd if end > start => self.flow = self.flow.saturating_sub(1),
            TokenType::DocumentStart => {
                self.indents.clear();
                self.first_line = line + 1;
            }
            TokenType::Key if end == start => {
                self.simple = true;
                return;
            }
            TokenType::Value => self.complex = !std::mem::take(&mut self.simple),
            _ => {}
        }
        self.before_prior = Some(if self.closed_since {
            self.prior.end
        } else {
            self.prior.start
        });
        self.closed_since = false;
        self.prior = self.as_prior(&token, start, end, last_line);
    }

    fn as_prior(&mut self, token: &TokenType<'_>, start: usize, end: usize, end_line: usize) -> Prior {
        let mut prior = Prior {
            start,
            end,
            line: end_line,
            kind: TokenClass::Other,
            ends_late: false,
        };
        match token {
            TokenType::StreamStart => prior.kind = TokenClass::Start,
            TokenType::DocumentStart | TokenType::DocumentEnd => prior.kind = TokenClass::Edge,
            TokenType::VersionDirective(..) | TokenType::TagDirective(..) | TokenType::ReservedDirective(..) => {
                prior.kind = TokenClass::Edge;
            }
            TokenType::BlockEntry => prior.kind = TokenClass::BlockEntry,
            TokenType::Key => prior.kind = TokenClass::Key,
            // granit gives `:` and `,` no width.
            TokenType::Value => (prior.kind, prior.end) = (TokenClass::Value, start + 1),
            TokenType::FlowEntry => prior.kind = TokenClass::FlowEntry,
            TokenType::Scalar(ScalarStyle::Plain, _) => prior.ends_late = true,
            TokenType::Scalar(ScalarStyle::Literal | ScalarStyle::Folded, _) => {
                prior.kind = TokenClass::BlockScalar;
                let indent = self
                    .indents
                    .last()
                    .map_or(-1, |&column| isize::try_from(column).unwrap_or(isize::MAX));
                self.out.headers.push(Header { start, indent });
            }
            _ => {}
        }
        prior
    }

    /// Offset of the next byte from `from` on that is neither blank nor part of a comment.
    fn next_content(&self, from: usize) -> usize {
        let bytes = self.text.as_bytes();
        let mut at = from;
        while let Some(byte) = bytes.get(at) {
            match byte {
                b'#' => at = self.line_end(at),
                b' ' | b'\t' | b'\r' | b'\n' => at += 1,
                _ => return at,
            }
        }
        at
    }

    fn line_end(&self, from: usize) -> usize {
        let rest = self.text.as_bytes().part(from..);
        memchr::memchr2(b'\n', b'\r', rest).map_or(self.text.len(), |length| from + length)
    }

    fn comment(&mut self, comment: Comment) {
        let text = self.text_of(comment);
        let is_alone = self.is_alone(comment);
        if mentions(text) {
            let above = self.alone.filter(|above| above.line + 1 == comment.line);
            let above = above.map(|above| self.text_of(above));
            let is_commented_out = is_alone && is_commented_out(text, above);
            if is_commented_out || !is_alone || !is_prose(text, above) {
                self.out.markers.push(MarkerComment {
                    comment,
                    text: text.to_owned(),
                    is_commented_out,
                });
            }
        }
        self.alone = is_alone.then_some(comment);
        let behind = self.gap.is_empty() && comment.line == self.prior.line && comment.start >= self.prior.start;
        if !behind || self.prior.kind == TokenClass::BlockEntry {
            return self.gap.push(comment);
        }
        let mark = match self.prior.kind {
            // Comments after `---`, `...` and directives belong to no node.
            TokenClass::Edge | TokenClass::Start => return,
            TokenClass::Value if self.flow == 0 => self.before_prior.unwrap_or(self.prior.start),
            TokenClass::FlowEntry if self.flow > 0 => self.before_prior.unwrap_or(self.prior.start),
            _ => self.prior.start,
        };
        let marker = self.marker_at(comment.start);
        self.out.remarks.push(Remark {
            mark,
            role: Role::Line,
            marker,
        });
    }

    fn text_of(&self, comment: Comment) -> &str {
        self.text.part(comment.start..comment.end)
    }

    fn is_alone(&self, comment: Comment) -> bool {
        let before = self.text.part(..comment.start);
        let before = before.trim_end_matches([' ', '\t']);
        before.ends_with(['\n', '\r']) || matches!(before, "" | "\u{feff}")
    }

    fn marker_at(&self, start: usize) -> Option<u32> {
        let index = self
            .out
            .markers
            .binary_search_by_key(&start, |marker| marker.comment.start)
            .ok()?;
        u32::try_from(index).ok()
    }

    /// Searches for a tab between the prior token and the one at `start`.
    fn check_tabs(&mut self, start: usize) {
        if self.out.refused_tab.is_some() {
            return;
        }
        let before = match self.prior.kind {
            TokenClass::BlockEntry | TokenClass::Key | TokenClass::Start | TokenClass::BlockScalar => Before::Indicator,
            TokenClass::Value if self.complex => Before::Indicator,
            _ if self.prior.ends_late => Before::Plain(self.indents.last().map_or(0, |indent| indent + 1)),
            _ => Before::Token,
        };
        let gap = self.text.as_bytes().part(self.prior.end.min(start)..start);
        self.out.refused_tab = strict::refused_tab(gap, before, self.flow > 0).map(|at| self.prior.end + at);
    }

    fn close_gap(&mut self, token: &TokenType<'_>, start: usize, line: usize, column: usize) {
        let gap = std::mem::take(&mut self.gap);
        let Some(first) = gap.first() else { return };
        let is_end = matches!(
            token,
            TokenType::DocumentStart | TokenType::DocumentEnd | TokenType::StreamEnd
        );
        let closes_flow = self.flow > 0 && matches!(token, TokenType::FlowSequenceEnd | TokenType::FlowMappingEnd);
        let blanks = self.text.part(..first.start);
        let newlines = line_breaks_at_end(blanks);
        let late = usize::from(self.prior.ends_late && newlines > 0);
        let around = Around {
            newlines,
            after_value: self.prior.kind == TokenClass::Value,
            on_first_line: self.prior.line + late <= self.first_line,
            indent: self.indents.last().copied().unwrap_or_default(),
            next: Next {
                line,
                column,
                closes_flow,
                is_end,
            },
        };
        let mut loose = Vec::new();
        let head = gap::head(&gap, &around, &mut loose);
        self.out.remarks.extend(loose.into_iter().map(|mark| Remark {
            mark,
            role: Role::Foot,
            marker: None,
        }));
        let Some(head) = head else { return };
        let Some(comment) = gap.get(head.first) else { return };
        let marker = if head.count == 1 {
            self.marker_at(comment.start)
        } else {
            None
        };
        let above_entry = matches!(token, TokenType::BlockEntry | TokenType::BlockSequenceStart);
        let role = Role::Head {
            next: start,
            above_entry,
            blank_after: head.blank_after,
        };
        self.out.remarks.push(Remark {
            mark: comment.start,
            role,
            marker,
        });
    }
}

/// The number of line breaks at the end of the text, ignoring blanks.
fn line_breaks_at_end(text: &str) -> usize {
    let kept = text.trim_end_matches([' ', '\t', '\r', '\n']).len();
    line_breaks(text.part(kept..))
}

fn line_breaks(text: &str) -> usize {
    let count = |wanted: u8| text.bytes().filter(|&byte| byte == wanted).count();
    count(b'\n') + count(b'\r') - text.matches("\r\n").count()
}
