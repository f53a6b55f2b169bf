//! Comments between two tokens: decides which of them belong to the following token.
//!
//! go-yaml's rules (`yaml_parser_scan_comments`): comments on lines of their own are the head of the following token,
//! unless a blank line, a dedent or the end of a flow collection makes them the foot of the preceding one.

/// A comment of the scanner.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Comment {
    /// Offset of `#`.
    pub(crate) start: usize,
    /// Offset after the last byte.
    pub(crate) end: usize,
    /// Line, from 1.
    pub(crate) line: usize,
    /// Column in characters, from 0.
    pub(crate) column: usize,
}

/// The token after a gap.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Next {
    /// Its line, from 1.
    pub(crate) line: usize,
    /// Its column, from 0.
    pub(crate) column: usize,
    /// `]` or `}` of a flow collection.
    pub(crate) closes_flow: bool,
    /// Whether no token of the same document follows.
    pub(crate) is_end: bool,
}

/// The text before and after a gap.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Around {
    /// Line breaks before the first comment.
    pub(crate) newlines: usize,
    /// Whether the token before is `:`.
    pub(crate) after_value: bool,
    /// Whether the token before ends on the first line of the document.
    pub(crate) on_first_line: bool,
    /// The column of the innermost block collection.
    pub(crate) indent: usize,
    /// The token after the gap.
    pub(crate) next: Next,
}

/// A head: consecutive comments (indices into the gap) that belong to the following token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    /// Index of the first comment.
    pub(crate) first: usize,
    pub(crate) count: usize,
    /// Whether a blank line follows them.
    pub(crate) blank_after: bool,
}

struct Open {
    start: usize,
    head: Head,
    line: usize,
    column: usize,
}

/// The head among the comments of a gap, if any; all others are feet. Feet that are not bound to the preceding token
/// go to `loose`, by offset: later comments wait in go-yaml's queue until these are reached.
pub(crate) fn head(comments: &[Comment], around: &Around, loose: &mut Vec<usize>) -> Option<Head> {
    let first = comments.first()?;
    let mut first_empty = around.newlines <= 1;
    // A foot on the first line has no token before it.
    let foot_line = (!around.on_first_line).then(|| {
        let behind_content = around.newlines == 0 && first.column > 1;
        first.line + 1 + usize::from(behind_content) - around.newlines
    });
    let mut open: Option<Open> = None;
    let mut has_foot = false;
    for (index, comment) in comments.iter().enumerate() {
        if let Some(text) = &mut open {
            if comment.column < around.indent && comment.column != text.column {
                if has_foot {
                    loose.push(comment.start);
                }
                has_foot = true;
                open = None;
            } else {
                text.head.count += 1;
                text.head.blank_after = false;
            }
        }
        if open.is_none() {
            // go-yaml counts lines from the last comment, so every comment but the first is one line higher.
            let line = if index == 0 {
                comment.line
            } else {
                comment.line.saturating_sub(1)
            };
            let head = Head {
                first: index,
                count: 1,
                blank_after: false,
            };
            open = Some(Open {
                start: comment.start,
                head,
                line,
                column: comment.column,
            });
        }
        let next_line = comments.get(index + 1).map_or(around.next.line, |next| next.line);
        let last = index + 1 == comments.len();
        let blank = next_line > comment.line + 1 || (last && around.next.is_end);
        if blank {
            let is_foot = open.as_ref().is_some_and(|text| {
                first_empty && ((foot_line == Some(text.line) && !around.after_value) || text.column < around.indent)
            });
            match &mut open {
                Some(text) if is_foot => {
                    if has_foot || text.column < around.indent {
                        loose.push(text.start);
                    }
                    has_foot = true;
                    open = None;
                }
                Some(text) => text.head.blank_after = true,
                None => {}
            }
            first_empty = false;
        }
    }
    let next = &around.next;
    let text = open?;
    let dedents = next.column < around.indent && next.column != text.column;
    (!next.closes_flow && !next.is_end && !dedents).then_some(text.head)
}
