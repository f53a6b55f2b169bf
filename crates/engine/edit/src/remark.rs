//! Comments as go-yaml sees them: each bound to the token that it belongs to.
//!
//! The rules are go-yaml's (`scannerc.go`): a comment behind a token on its line is that token's line comment, behind
//! `:` in block context and `,` in flow context the line comment of the token before; behind `-` it is a head. The
//! remarks made here are taken by events in [`super::walk`], which is how go-yaml's parser hands them out.

use granit_parser::{Options, ScalarStyle, Scanner, StrInput, Token, TokenType};

use super::commented::is_commented_out;
use super::gap::{self, Around, Comment, Next};
use super::marker::mentions;
use super::strict::{self, Before};

/// What a remark is to the node that takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// A line comment.
    Line,
    /// A comment below something: no node takes it.
    Foot,
    /// A comment above.
    Head {
        /// Offset of the token directly below.
        next: usize,
        /// Whether that is a `-`: a collection in its entry takes the head away from the entry's first node.
        above_entry: bool,
        /// A blank line follows, so that at the top of a document it is the document's.
        blank_after: bool,
    },
}

/// A comment, or several that make one text, bound to a place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Remark {
    /// Nodes that start here or later take it.
    pub(super) mark: usize,
    /// Line comment or head.
    pub(super) role: Role,
    /// The marker comment (index) that it is, if it is one comment and looks like a marker.
    pub(super) marker: Option<u32>,
}

/// A comment that looks like a marker.
#[derive(Clone, Debug)]
pub(super) struct MarkerComment {
    /// The comment.
    pub(super) comment: Comment,
    /// Its text with `#`.
    pub(super) text: String,
    /// Whether it is a field that is commented out, or belongs to one.
    pub(super) is_commented_out: bool,
}

/// Header of a block scalar.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header {
    /// Offset of `|` or `>`.
    pub(super) start: usize,
    /// Column of the block collection around it, -1 for none.
    pub(super) indent: isize,
}

/// All that the tokens of a file tell.
#[derive(Debug, Default)]
pub(super) struct Remarks {
    /// In the order of the file.
    pub(super) remarks: Vec<Remark>,
    /// In the order of the file.
    pub(super) markers: Vec<MarkerComment>,
    /// Of each block scalar, in the order of the file.
    pub(super) headers: Vec<Header>,
    /// Offset of a tab that go-yaml refuses.
    pub(super) refused_tab: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Start of the file or of a document: no line comments.
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
    kind: Kind,
    /// Plain scalars take in the line break after them.
    ends_late: bool,
}

struct Reader<'a> {
    text: &'a str,
    out: Remarks,
    prior: Prior,
    before_prior: Option<usize>,
    closed_since: bool,
    /// The last `:` belongs to a `?`.
    complex: bool,
    /// A key without `?` waits for its `:`.
    simple: bool,
    gap: Vec<Comment>,
    /// The last comment that is alone on its line.
    alone: Option<Comment>,
    indents: Vec<usize>,
    pops: usize,
    flow: usize,
    first_line: usize,
}

/// Reads the comments of a file. An error of the scanner ends the reading: the parser meets the same one.
///
/// Places come from `shadow`, which is as long as `text` (see [`super::repair`]); words from `text`.
pub(super) fn read(text: &str, shadow: &str, options: &Options) -> Remarks {
    let edge = Prior {
        start: 0,
        end: 0,
        line: 1,
        kind: Kind::Edge,
        ends_late: false,
    };
    let mut reader = Reader {
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

impl Reader<'_> {
    fn token(&mut self, token: Token<'_>) {
        let (span, token) = token.into_parts();
        let mut start = span.start.byte_offset().unwrap_or_default();
        let mut end = span.end.byte_offset().unwrap_or(start);
        let (mut line, mut column) = (span.start.line(), span.start.col());
        let mut last_line = span.end.line();
        if matches!(token, TokenType::Comment(_)) {
            // A repair moves a `#` by one.
            let moved = usize::from(self.text.as_bytes().get(start) != Some(&b'#'));
            let (start, column) = (start.saturating_sub(moved), column.saturating_sub(moved));
            return self.comment(Comment {
                start,
                end,
                line,
                column,
            });
        }
        let is_block = matches!(token, TokenType::Scalar(ScalarStyle::Literal | ScalarStyle::Folded, _));
        if is_block || matches!(token, TokenType::BlockEntry) {
            // granit places an entry behind the blanks (and the comment) that follow its `-`, and a block scalar at
            // its content.
            let place = start;
            start = self.next_content(self.prior.end);
            let before = self.text.get(..start).unwrap_or_default();
            column = start - before.rfind(['\n', '\r']).map_or(0, |at| at + 1);
            if is_block {
                line -= line_breaks(self.text.get(start..place).unwrap_or_default()).min(line);
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
            // A pair within `[]`: go-yaml has no tokens for its bounds.
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
            kind: Kind::Other,
            ends_late: false,
        };
        match token {
            TokenType::StreamStart => prior.kind = Kind::Start,
            TokenType::DocumentStart | TokenType::DocumentEnd => prior.kind = Kind::Edge,
            TokenType::VersionDirective(..) | TokenType::TagDirective(..) | TokenType::ReservedDirective(..) => {
                prior.kind = Kind::Edge;
            }
            TokenType::BlockEntry => prior.kind = Kind::BlockEntry,
            TokenType::Key => prior.kind = Kind::Key,
            // granit gives `:` and `,` no width.
            TokenType::Value => (prior.kind, prior.end) = (Kind::Value, start + 1),
            TokenType::FlowEntry => prior.kind = Kind::FlowEntry,
            TokenType::Scalar(ScalarStyle::Plain, _) => prior.ends_late = true,
            TokenType::Scalar(ScalarStyle::Literal | ScalarStyle::Folded, _) => {
                prior.kind = Kind::BlockScalar;
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
                b'#' => {
                    let rest = bytes.get(at..).unwrap_or_default();
                    at = memchr::memchr2(b'\n', b'\r', rest).map_or(bytes.len(), |length| at + length);
                }
                b' ' | b'\t' | b'\r' | b'\n' => at += 1,
                _ => return at,
            }
        }
        at
    }

    fn comment(&mut self, comment: Comment) {
        let text = self.text_of(comment);
        let is_alone = self.is_alone(comment);
        if mentions(text) {
            let above = self.alone.filter(|above| above.line + 1 == comment.line);
            let above = above.map(|above| self.text_of(above));
            let marker = MarkerComment {
                comment,
                text: text.to_owned(),
                is_commented_out: is_alone && is_commented_out(text, above),
            };
            self.out.markers.push(marker);
        }
        self.alone = is_alone.then_some(comment);
        let behind = self.gap.is_empty() && comment.line == self.prior.line && comment.start >= self.prior.start;
        if !behind || self.prior.kind == Kind::BlockEntry {
            return self.gap.push(comment);
        }
        let mark = match self.prior.kind {
            // Behind `---`, `...` and directives comments are nobody's.
            Kind::Edge | Kind::Start => return,
            Kind::Value if self.flow == 0 => self.before_prior.unwrap_or(self.prior.start),
            Kind::FlowEntry if self.flow > 0 => self.before_prior.unwrap_or(self.prior.start),
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
        self.text.get(comment.start..comment.end).unwrap_or_default()
    }

    fn is_alone(&self, comment: Comment) -> bool {
        let before = self.text.get(..comment.start).unwrap_or_default();
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

    /// Looks for a tab between the prior token and the one at `start`.
    fn check_tabs(&mut self, start: usize) {
        if self.out.refused_tab.is_some() {
            return;
        }
        let before = match self.prior.kind {
            Kind::BlockEntry | Kind::Key | Kind::Start | Kind::BlockScalar => Before::Indicator,
            Kind::Value if self.complex => Before::Indicator,
            _ if self.prior.ends_late => Before::Plain(self.indents.last().map_or(0, |indent| indent + 1)),
            _ => Before::Token,
        };
        let gap = self.text.get(self.prior.end..start).unwrap_or_default();
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
        let blanks = self.text.get(..first.start).unwrap_or_default();
        let newlines = line_breaks_at_end(blanks);
        let late = usize::from(self.prior.ends_late && newlines > 0);
        let around = Around {
            newlines,
            after_value: self.prior.kind == Kind::Value,
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

/// How many line breaks end the text, blanks aside.
fn line_breaks_at_end(text: &str) -> usize {
    let kept = text.trim_end_matches([' ', '\t', '\r', '\n']).len();
    line_breaks(text.get(kept..).unwrap_or_default())
}

fn line_breaks(text: &str) -> usize {
    let count = |wanted: u8| text.bytes().filter(|&byte| byte == wanted).count();
    count(b'\n') + count(b'\r') - text.matches("\r\n").count()
}
