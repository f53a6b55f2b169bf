//! Comments, collected on request: go-yaml v3 finds while scanning whether one stands above, after or below
//! its node. The rules are its own, down to columns that count from one and lines that count from zero.

use super::scan::{COMMENT_REACH, Scanner};
use super::token::{Mark, TokenKind, break_length};
use bumpwright_text::Parts;

/// A comment, and the token that it belongs to.
#[derive(Debug, Default)]
pub(crate) struct ScannedComment {
    scan: Mark,
    pub(crate) token: Mark,
    start: Mark,
    end: Mark,
    pub(crate) head: String,
    pub(crate) line: String,
    pub(crate) foot: String,
}

/// Comments of an event.
#[derive(Debug, Default)]
pub(crate) struct Comments {
    pub(crate) head: String,
    pub(crate) line: String,
    pub(crate) foot: String,
}

/// The state while adjacent comments are scanned.
struct Run {
    scan: Mark,
    token: Mark,
    start: Mark,
    text: String,
    line: u32,
    column: u32,
    indent: i64,
    recent_empty: bool,
    first_empty: bool,
    foot_line: i64,
    /// Whether the token before is the `:` of a key.
    behind_colon: bool,
}

impl Scanner<'_> {
    /// Line breaks since the last character that is not blank.
    fn newlines(&self) -> u32 {
        let read = self.text.as_bytes().part(..self.at);
        let mut count = 0;
        let mut rest = read;
        while let [before @ .., last] = rest {
            rest = match (last, before) {
                (b' ' | b'\t', _) => before,
                (b'\n', [before @ .., b'\r']) => {
                    count += 1;
                    before
                }
                (b'\n' | b'\r', _) => {
                    count += 1;
                    before
                }
                _ => break,
            };
        }
        count
    }

    fn keep(&mut self, comment: ScannedComment) {
        if let Some(comments) = &mut self.comments {
            comments.push_back(comment);
        }
    }

    /// Reads the text up to the end of the line.
    fn comment_text(&mut self) -> &str {
        let from = self.at;
        self.skip_line();
        self.slice(from, self.at)
    }

    /// The comment on the line of the last token.
    pub(crate) fn scan_line_comment(&mut self, token: Mark) {
        if self.newlines() > 0 {
            return;
        }
        let blanks = self
            .rest()
            .iter()
            .take_while(|byte| matches!(byte, b' ' | b'\t'))
            .count();
        if blanks >= COMMENT_REACH || self.rest().get(blanks) != Some(&b'#') {
            return;
        }
        self.skip_blanks();
        let start = self.mark;
        let line = self.comment_text().to_owned();
        self.keep(ScannedComment {
            token,
            start,
            line,
            ..ScannedComment::default()
        });
    }

    /// A comment after a `-` that opens a sequence is above the item, if the item is on the next line.
    pub(crate) fn lift_comment_of_entry(&mut self) {
        let mut last = self.tokens.iter().rev();
        let entry = last.next().is_some_and(|token| token.kind == TokenKind::BlockEntry);
        let opens = last
            .next()
            .is_some_and(|token| token.kind == TokenKind::BlockSequenceStart);
        if !entry || !opens || break_length(self.rest()) > 0 {
            return;
        }
        let mark = self.mark;
        let Some(comment) = self.comments.as_mut().and_then(|comments| comments.back_mut()) else {
            return;
        };
        if !comment.line.is_empty() {
            comment.head = std::mem::take(&mut comment.line);
            if comment.start.line + 1 == mark.line {
                comment.token = mark;
            }
        }
    }

    /// All comments from here to the next token.
    pub(crate) fn scan_comments(&mut self, scan: Mark) {
        let mut run = self.run(scan);
        let mut ahead = 0;
        while ahead < COMMENT_REACH {
            run.column += 1;
            let byte = self.byte(ahead);
            if matches!(byte, b' ' | b'\t') {
                ahead += 1;
                continue;
            }
            let closes = self.flow > 0 && matches!(byte, b']' | b'}');
            let breaks = self.rest().get(ahead..).map_or(0, break_length);
            let at_end = self.at + ahead >= self.text.len();
            if closes || breaks > 0 || at_end {
                self.end_of_line(&mut run, ahead, closes, at_end);
                if breaks == 0 {
                    break;
                }
                run.first_empty = false;
                run.recent_empty = true;
                run.column = 0;
                run.line += 1;
                ahead += breaks;
                continue;
            }
            let dedented = i64::from(run.column) - 1 < run.indent && run.column != run.start.column;
            if !run.text.is_empty() && dedented {
                self.split_foot(&mut run, ahead);
            }
            if byte != b'#' {
                break;
            }
            if run.text.is_empty() {
                run.start = self.mark_ahead(&run, ahead)
            } else {
                run.text.push('\n')
            }
            run.recent_empty = false;
            let sign = self.at + ahead;
            while self.at < sign {
                if !self.skip_break() {
                    self.skip();
                }
            }
            let text = self.comment_text().to_owned();
            run.text.push_str(&text);
            // go-yaml continues after the line break, which it does not count.
            ahead = break_length(self.rest()).max(1);
            run.column = 0;
            run.line = self.mark.line;
            run.indent = self.indent.max(0);
        }
        if !run.text.is_empty() {
            let end = self.mark_ahead(&run, ahead.saturating_sub(1));
            self.keep(ScannedComment {
                scan: run.scan,
                token: run.start,
                start: run.start,
                end,
                head: run.text,
                ..ScannedComment::default()
            });
        }
    }

    fn run(&self, scan: Mark) -> Run {
        let mut before = self.tokens.iter().rev();
        let mut token = before.next();
        if token.is_some_and(|token| token.kind == TokenKind::FlowEntry)
            && let Some(other) = before.next()
        {
            token = Some(other);
        }
        let newlines = self.newlines();
        let foot_line = match scan.line {
            0 => -1,
            _ => {
                let line = i64::from(self.mark.line) - i64::from(newlines) + 1;
                line + i64::from(newlines == 0 && self.mark.column > 1)
            }
        };
        Run {
            scan,
            token: token.map(|token| token.start).unwrap_or_default(),
            start: Mark::default(),
            text: String::new(),
            line: self.mark.line,
            column: self.mark.column,
            indent: self.indent.max(0),
            recent_empty: false,
            first_empty: newlines <= 1,
            foot_line,
            behind_colon: token.is_some_and(|token| token.kind == TokenKind::Value),
        }
    }

    fn mark_ahead(&self, run: &Run, ahead: usize) -> Mark {
        Mark {
            index: self.mark.index + ahead,
            line: run.line,
            column: run.column,
        }
    }

    /// The first empty line separates comments below the last token from those above the next.
    fn end_of_line(&mut self, run: &mut Run, ahead: usize, closes: bool, at_end: bool) {
        if !closes && run.recent_empty {
            return;
        }
        let dedented = i64::from(run.start.column) - 1 < run.indent;
        let below = i64::from(run.start.line) == run.foot_line && !run.behind_colon;
        if closes || (run.first_empty && (below || dedented)) {
            if !run.text.is_empty() {
                if dedented {
                    run.token = run.start;
                }
                self.split_foot(run, ahead);
            }
        } else if !run.text.is_empty() && !at_end {
            run.text.push('\n');
        }
    }

    fn split_foot(&mut self, run: &mut Run, ahead: usize) {
        let end = self.mark_ahead(run, ahead);
        let foot = std::mem::take(&mut run.text);
        self.keep(ScannedComment {
            scan: run.scan,
            token: run.token,
            start: run.start,
            end,
            foot,
            ..ScannedComment::default()
        });
        run.scan = end;
        run.token = end;
    }

    /// The reported end of a block: before comments at its own column.
    pub(crate) fn end_of_block(&self, mut mark: Mark) -> Mark {
        let mut stop = mark.index;
        for comment in self.comments.iter().flatten().rev() {
            if comment.end.index < stop {
                break;
            }
            if i64::from(comment.start.column) == self.indent + 1 {
                mark = comment.start;
            }
            stop = comment.scan.index;
        }
        mark
    }
}
