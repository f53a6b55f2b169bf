//! Parses patterns, in Go's syntax (`syntax.Perl`) and with Go's errors.

use super::{
    class::Class,
    error::{Error, ErrorCode},
    escape::check_utf8,
    limits::{Limits, repeats_little_enough},
    rune::{REPLACEMENT, decode_strict},
    tree::{Assertion, Id, Node, Tree},
};
use bumpwright_text::Parts;
use std::{collections::HashMap, sync::Arc};

#[derive(Debug)]
pub(super) struct Parsed {
    pub(super) tree: Tree,
    pub(super) root: Id,
    /// The names of the groups; empty for the whole match, which is the first one, and for groups without a name.
    pub(super) names: Vec<String>,
}

/// The flags of `(?imsU)`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Flags {
    /// `i`: ignores case.
    pub(super) fold: bool,
    /// `m`: `^` and `$` match at every line.
    lines: bool,
    /// `s`: `.` matches newlines.
    dot_newline: bool,
    /// `U`: repetitions are lazy, and greedy with `?`.
    lazy: bool,
}

/// A parenthesis that is not closed yet; the pattern itself is the outermost.
#[derive(Debug, Default)]
struct Group {
    /// The flags outside, restored at its end.
    flags: Flags,
    capture: Option<u32>,
    alternatives: Vec<Id>,
    sequence: Vec<Id>,
}

/// The state of the parser.
#[derive(Debug)]
pub(super) struct Parser<'p> {
    pub(super) pattern: &'p [u8],
    pub(super) at: usize,
    pub(super) flags: Flags,
    pub(super) classes: HashMap<(Vec<u8>, bool, bool), Arc<Class>>,
    tree: Tree,
    limits: Limits,
    outer: Vec<Group>,
    group: Group,
    names: Vec<String>,
}

/// The numbers of `{min,max}`; `max` is `None` in `{min,}`.
struct RepeatCounts {
    min: u32,
    max: Option<u32>,
}

/// A number that is too large for any repetition.
const HUGE: u32 = 100_000_000;
const MAX_TIMES: u32 = 1000;

pub(super) fn parse(pattern: &[u8]) -> Result<Parsed, Error> {
    let mut parser = Parser {
        pattern,
        at: 0,
        flags: Flags::default(),
        classes: HashMap::new(),
        tree: Tree::default(),
        limits: Limits::default(),
        outer: Vec::new(),
        group: Group::default(),
        names: vec![String::new()],
    };
    let mut last_repeat = None;
    while let Some(byte) = parser.rest().first() {
        last_repeat = parser.piece(*byte, last_repeat)?;
    }
    let root = parser.close_alternatives()?;
    if !parser.outer.is_empty() {
        return Err(Error::new(ErrorCode::MissingParen, pattern));
    }
    Ok(Parsed {
        tree: parser.tree,
        root,
        names: parser.names,
    })
}

impl<'p> Parser<'p> {
    pub(super) fn rest(&self) -> &'p [u8] {
        self.pattern.part(self.at..)
    }

    pub(super) fn eat(&mut self, text: &[u8]) -> bool {
        let is_next = self.rest().starts_with(text);
        if is_next {
            self.at += text.len();
        }
        is_next
    }

    /// At the end of the pattern it is U+FFFD, as in Go.
    pub(super) fn next_rune(&mut self) -> Result<u32, Error> {
        if self.rest().is_empty() {
            return Ok(REPLACEMENT);
        }
        let Some((rune, width)) = decode_strict(self.rest()) else {
            return Err(Error::new(ErrorCode::InvalidUtf8, self.rest()));
        };
        self.at += width;
        Ok(rune)
    }

    /// An error about the text since `start`.
    pub(super) fn error_since(&self, code: ErrorCode, start: usize) -> Error {
        Error::new(code, self.pattern.part(start..self.at))
    }

    fn whole(&self, code: ErrorCode) -> Error {
        Error::new(code, self.pattern)
    }

    /// Parses one piece. `last_repeat` is the start of the repetition that directly precedes, and so is the result.
    fn piece(&mut self, byte: u8, last_repeat: Option<usize>) -> Result<Option<usize>, Error> {
        match byte {
            b'(' if self.rest().starts_with(b"(?") => self.perl_group()?,
            b'(' => {
                self.at += 1;
                self.open_group(Some(String::new()), self.flags)?;
            }
            b'|' => {
                self.at += 1;
                if self.group.alternatives.is_empty() {
                    self.limits.allocate();
                }
                self.close_sequence()?;
            }
            b')' => self.close_group()?,
            b'^' if self.flags.lines => self.assertion(1, Assertion::LineStart)?,
            b'^' => self.assertion(1, Assertion::TextStart)?,
            b'$' if self.flags.lines => self.assertion(1, Assertion::LineEnd)?,
            b'$' => self.assertion(1, Assertion::TextEnd)?,
            b'.' => {
                self.at += 1;
                let any = if self.flags.dot_newline {
                    Node::Any
                } else {
                    Node::AnyButNewline
                };
                self.push_new(any)?;
            }
            b'[' => {
                self.limits.allocate();
                let class = self.bracket_class()?;
                self.push(Node::one_of(class))?;
            }
            b'*' | b'+' | b'?' | b'{' => return self.repetition(byte, last_repeat),
            b'\\' => self.escape()?,
            _ => {
                let rune = self.next_rune()?;
                self.literal(rune)?;
            }
        }
        Ok(None)
    }

    fn assertion(&mut self, length: usize, assertion: Assertion) -> Result<(), Error> {
        self.at += length;
        self.push_new(Node::Assert(assertion))
    }

    fn escape(&mut self) -> Result<(), Error> {
        let letter = self.rest().get(1).copied();
        match letter {
            Some(b'A') => return self.assertion(2, Assertion::TextStart),
            Some(b'z') => return self.assertion(2, Assertion::TextEnd),
            Some(b'b') => return self.assertion(2, Assertion::WordBoundary),
            Some(b'B') => return self.assertion(2, Assertion::NoWordBoundary),
            Some(b'C') => return Err(Error::new(ErrorCode::InvalidEscape, br"\C")),
            Some(b'Q') => return self.quoted(),
            _ => {}
        }
        self.limits.allocate();
        if let Some(class) = self.escaped_class()? {
            return self.push(match class.only() {
                Some(_) => Node::one_of(class.as_ref().clone()),
                None => Node::Class(class),
            });
        }
        self.limits.release();
        let rune = self.escaped_rune()?;
        self.literal(rune)
    }

    /// `\Q…\E`
    fn quoted(&mut self) -> Result<(), Error> {
        self.at += 2;
        let rest = self.rest();
        let length = memchr::memmem::find(rest, br"\E");
        let mut text = rest.part(..length.unwrap_or(rest.len()));
        self.at += text.len() + length.map_or(0, |_| 2);
        while !text.is_empty() {
            let Some((rune, width)) = decode_strict(text) else {
                return Err(Error::new(ErrorCode::InvalidUtf8, text));
            };
            self.literal(rune)?;
            text = text.tail(width);
        }
        Ok(())
    }

    fn literal(&mut self, rune: u32) -> Result<(), Error> {
        self.push_new(Node::Literal {
            runes: vec![rune],
            fold: self.flags.fold,
        })
    }

    fn repetition(&mut self, byte: u8, last_repeat: Option<usize>) -> Result<Option<usize>, Error> {
        let start = self.at;
        let times = match byte {
            b'*' => Some(RepeatCounts { min: 0, max: None }),
            b'+' => Some(RepeatCounts { min: 1, max: None }),
            b'?' => Some(RepeatCounts { min: 0, max: Some(1) }),
            _ => self.times(),
        };
        let Some(RepeatCounts { min, max }) = times else {
            self.at += 1;
            self.literal(u32::from(byte))?;
            return Ok(None);
        };
        if byte != b'{' {
            self.at += 1;
        }
        if min > MAX_TIMES || max.is_some_and(|max| max > MAX_TIMES || min > max) {
            return Err(self.error_since(ErrorCode::InvalidRepeatCount, start));
        }
        let switched = self.eat(b"?");
        if let Some(last) = last_repeat {
            return Err(self.error_since(ErrorCode::InvalidRepeatOperator, last));
        }
        let Some(inner) = self.group.sequence.pop() else {
            return Err(self.error_since(ErrorCode::MissingRepeatArgument, start));
        };
        self.limits.allocate();
        let id = self.tree.add(Node::Repeat {
            min,
            max,
            greedy: switched == self.flags.lazy,
            inner,
        });
        self.group.sequence.push(id);
        self.check(id)?;
        if (min >= 2 || max.is_some_and(|max| max >= 2)) && !repeats_little_enough(&self.tree, id) {
            return Err(self.error_since(ErrorCode::InvalidRepeatCount, start));
        }
        Ok(Some(start))
    }

    /// `{2}`, `{2,}` or `{2,3}`; anything else is literal text.
    fn times(&mut self) -> Option<RepeatCounts> {
        let start = self.at;
        self.at += 1;
        let times = self.times_in_braces();
        if times.is_none() {
            self.at = start;
        }
        times
    }

    fn times_in_braces(&mut self) -> Option<RepeatCounts> {
        let min = self.number()?;
        let max = if !self.eat(b",") {
            Some(min)
        } else if self.rest().starts_with(b"}") {
            None
        } else {
            Some(self.number()?)
        };
        self.eat(b"}").then_some(RepeatCounts { min, max })
    }

    fn number(&mut self) -> Option<u32> {
        let digits: Vec<u8> = self
            .rest()
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .copied()
            .collect();
        if digits.is_empty() || (digits.len() > 1 && digits.starts_with(b"0")) {
            return None;
        }
        self.at += digits.len();
        let value = digits.iter().fold(0_u32, |sum, digit| {
            sum.saturating_mul(10).saturating_add(u32::from(digit - b'0')).min(HUGE)
        });
        Some(value)
    }

    /// `(?P<name>…)`, `(?<name>…)`, `(?i:…)` or `(?i)`
    fn perl_group(&mut self) -> Result<(), Error> {
        let start = self.at;
        let rest = self.rest();
        let named = rest.strip_prefix(b"(?P<").filter(|name| !name.is_empty());
        let Some(name) = named.or_else(|| rest.strip_prefix(b"(?<").filter(|name| !name.is_empty())) else {
            self.at += 2;
            return self.perl_flags(start);
        };
        let Some(length) = memchr::memchr(b'>', rest) else {
            check_utf8(rest)?;
            return Err(Error::new(ErrorCode::InvalidNamedCapture, rest));
        };
        self.at += length + 1;
        let opening = rest.len() - name.len();
        let name = rest.part(opening..length);
        check_utf8(name)?;
        let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        match std::str::from_utf8(name) {
            Ok(name) if !name.is_empty() && name.as_bytes().iter().all(is_word) => {
                self.open_group(Some(name.to_owned()), self.flags)
            }
            _ => Err(self.error_since(ErrorCode::InvalidNamedCapture, start)),
        }
    }

    fn perl_flags(&mut self, start: usize) -> Result<(), Error> {
        let mut flags = self.flags;
        let mut on = true;
        let mut has_flag = false;
        while !self.rest().is_empty() {
            let rune = self.next_rune()?;
            let flag = match u8::try_from(rune).unwrap_or(u8::MAX) {
                b'i' => &mut flags.fold,
                b'm' => &mut flags.lines,
                b's' => &mut flags.dot_newline,
                b'U' => &mut flags.lazy,
                b'-' if on => {
                    (on, has_flag) = (false, false);
                    continue;
                }
                end @ (b':' | b')') if on || has_flag => {
                    if end == b':' {
                        return self.open_group(None, flags);
                    }
                    self.flags = flags;
                    return Ok(());
                }
                _ => break,
            };
            *flag = on;
            has_flag = true;
        }
        Err(self.error_since(ErrorCode::InvalidPerlOperator, start))
    }

    /// Opens a group; a capturing one has a name, perhaps an empty one.
    fn open_group(&mut self, name: Option<String>, flags: Flags) -> Result<(), Error> {
        self.limits.allocate();
        self.merge_literals();
        let capture = name.map(|name| {
            self.names.push(name);
            u32::try_from(self.names.len() - 1).unwrap_or(u32::MAX)
        });
        let group = Group {
            flags: self.flags,
            capture,
            ..Group::default()
        };
        self.outer.push(std::mem::replace(&mut self.group, group));
        self.flags = flags;
        Ok(())
    }

    fn close_group(&mut self) -> Result<(), Error> {
        self.at += 1;
        let inner = self.close_alternatives()?;
        let Some(outer) = self.outer.pop() else {
            return Err(self.whole(ErrorCode::UnexpectedParen));
        };
        let group = std::mem::replace(&mut self.group, outer);
        self.flags = group.flags;
        let Some(number) = group.capture else {
            self.merge_literals();
            return self.append(inner);
        };
        // The capture replaces the parenthesis, which is counted already.
        self.push(Node::Capture(number, inner))
    }

    /// Makes one node of the elements between two bars.
    fn close_sequence(&mut self) -> Result<(), Error> {
        self.merge_literals();
        let mut sequence = std::mem::take(&mut self.group.sequence);
        let id = match (sequence.pop(), sequence.is_empty()) {
            (None, _) => {
                self.limits.allocate();
                self.tree.add(Node::Empty)
            }
            (Some(only), true) => only,
            (Some(last), false) => {
                sequence.push(last);
                self.limits.allocate();
                let nodes = self.flattened(sequence, |node| match node {
                    Node::Concat(nodes) => Some(nodes),
                    _ => None,
                });
                self.tree.add(Node::Concat(nodes))
            }
        };
        self.check(id)?;
        self.group.alternatives.push(id);
        Ok(())
    }

    /// Makes one node of the elements of a group.
    fn close_alternatives(&mut self) -> Result<Id, Error> {
        self.close_sequence()?;
        let alternatives = std::mem::take(&mut self.group.alternatives);
        if let [only] = *alternatives {
            return Ok(only);
        }
        self.limits.allocate();
        let nodes = self.flattened(alternatives, |node| match node {
            Node::Alternate(nodes) => Some(nodes),
            _ => None,
        });
        let nodes = self.merged_alternatives(nodes);
        let id = match *nodes {
            [only] => {
                self.limits.release();
                only
            }
            _ => self.tree.add(Node::Alternate(nodes)),
        };
        self.check(id)?;
        Ok(id)
    }

    /// Replaces nodes that `inner` takes apart by their children: a sequence never has sequences as children.
    fn flattened(&mut self, ids: Vec<Id>, inner: fn(&Node) -> Option<&Vec<Id>>) -> Vec<Id> {
        let mut flat = Vec::with_capacity(ids.len());
        for id in ids {
            match inner(self.tree.get(id)) {
                Some(children) => {
                    flat.extend_from_slice(children);
                    self.limits.release();
                }
                None => flat.push(id),
            }
        }
        flat
    }

    /// Merges adjacent nodes that match one rune into one class, and adjacent empty ones into one.
    fn merged_alternatives(&mut self, ids: Vec<Id>) -> Vec<Id> {
        let mut merged: Vec<Id> = Vec::with_capacity(ids.len());
        let ids: Vec<(Id, bool)> = ids.into_iter().map(|id| (id, self.tree.is_single(id))).collect();
        for run in ids.chunk_by(|a, b| a.1 && b.1) {
            let [(first, _), _, ..] = run else {
                let is_empty = |id: &Id| matches!(self.tree.get(*id), Node::Empty);
                let run = run.iter().map(|(id, _)| *id);
                if !(run.clone().all(|id| is_empty(&id)) && merged.last().is_some_and(is_empty)) {
                    merged.extend(run);
                }
                continue;
            };
            let classes = run.iter().filter_map(|(id, _)| self.tree.single(*id));
            let ranges = classes.flat_map(|class| class.ranges().to_vec()).collect();
            run.iter().skip(1).for_each(|_| self.limits.release());
            let class = Node::one_of(Class::new(ranges));
            if let Some(node) = self.tree.get_mut(*first) {
                *node = class;
            }
            merged.push(*first);
        }
        merged
    }

    fn push_new(&mut self, node: Node) -> Result<(), Error> {
        self.limits.allocate();
        self.push(node)
    }

    /// Appends a node to the sequence.
    fn push(&mut self, node: Node) -> Result<(), Error> {
        self.merge_literals();
        let id = self.tree.add(node);
        self.append(id)
    }

    fn append(&mut self, id: Id) -> Result<(), Error> {
        self.limits.count_runes(self.tree.get(id));
        self.group.sequence.push(id);
        self.check(id)
    }

    /// Joins the last two of the sequence if both are text: the last one can no longer be repeated alone.
    fn merge_literals(&mut self) {
        let [.., before, last] = *self.group.sequence else {
            return;
        };
        let (Node::Literal { fold, .. }, Node::Literal { fold: other, .. }) =
            (self.tree.get(before), self.tree.get(last))
        else {
            return;
        };
        if fold != other {
            return;
        }
        self.group.sequence.pop();
        self.limits.release();
        if let (Node::Literal { runes, .. }, Some(Node::Literal { runes: text, .. })) =
            (self.tree.remove(last), self.tree.get_mut(before))
        {
            text.extend(runes);
        }
    }

    fn check(&mut self, id: Id) -> Result<(), Error> {
        let groups = self.outer.iter().chain(std::iter::once(&self.group));
        let open = groups.flat_map(|group| group.alternatives.iter().chain(&group.sequence));
        let checked = self.limits.check(&self.tree, id, open);
        checked.map_err(|code| Error::new(code, self.pattern))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn message(pattern: &[u8]) -> String {
        parse(pattern).unwrap_err().to_string()
    }

    #[test]
    fn errors_name_the_part_that_go_names() {
        let cases: [(&[u8], &str); 26] = [
            (b"a(b", "missing closing ): `a(b`"),
            (b"a)b", "unexpected ): `a)b`"),
            (b"a[b", "missing closing ]: `[b`"),
            (b"[a-", "missing closing ]: `[a-`"),
            (b"a|*?", "missing argument to repetition operator: `*?`"),
            (b"x{2}?{3}", "invalid nested repetition operator: `{2}?{3}`"),
            (b"a*?+?b", "invalid nested repetition operator: `*?+?`"),
            (b"a{1001}", "invalid repeat count: `{1001}`"),
            (b"a{9999999999,}?", "invalid repeat count: `{9999999999,}`"),
            (b"(a{100}){11}?", "invalid repeat count: `{11}?`"),
            (b"[b-a]", "invalid character class range: `b-a`"),
            (b"[[:foo:]]", "invalid character class range: `[:foo:]`"),
            (br"\p{Old_Italic}", r"invalid character class range: `\p{Old_Italic}`"),
            (br"\pQx", r"invalid character class range: `\pQ`"),
            (br"\p", r"invalid character class range: `\p`"),
            (br"\8", r"invalid escape sequence: `\8`"),
            (br"\x{110000}", r"invalid escape sequence: `\x{110000`"),
            (br"a\C", r"invalid escape sequence: `\C`"),
            (b"\\", "trailing backslash at end of expression: ``"),
            (b"(?<n", "invalid named capture: `(?<n`"),
            (b"(?P<n m>a)", "invalid named capture: `(?P<n m>`"),
            (b"(?P=n)", "invalid or unsupported Perl syntax: `(?P`"),
            (b"(?i-)a", "invalid or unsupported Perl syntax: `(?i-)`"),
            (b"(?is", "invalid or unsupported Perl syntax: `(?is`"),
            (b"a\xffb", "invalid UTF-8: `\u{FFFD}b`"),
            (b"\\Qa\xff\\Eb", "invalid UTF-8: `\u{FFFD}`"),
        ];
        for (pattern, expected) in cases {
            assert_eq!(message(pattern), format!("error parsing regexp: {expected}"));
        }
    }

    #[test]
    fn limits_are_at_the_same_place() {
        let nested = |levels: usize| [b"(".repeat(levels), b")".repeat(levels)].concat();
        assert!(parse(&nested(999)).is_ok());
        assert!(message(&nested(1000)).starts_with("error parsing regexp: expression nests too deeply: `((("));
        let copied = |times: usize| format!("(?:{}){{1000}}", "[ab]".repeat(times)).into_bytes();
        assert!(parse(&copied(3355)).is_ok());
        assert!(message(&copied(3356)).starts_with("error parsing regexp: expression too large: `"));
    }

    #[test]
    fn braces_that_repeat_nothing_are_text() {
        for pattern in ["a{", "a{}", "a{,2}", "a{01}", "a{1,02}", "a{x}", "a{1,2", "{"] {
            assert!(parse(pattern.as_bytes()).is_ok(), "{pattern}");
        }
    }
}
