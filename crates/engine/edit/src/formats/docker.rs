//! Dockerfiles and Containerfiles: `FROM`, `ARG`, `ENV`, `LABEL`, and `--from` of `COPY`, `ADD` and `RUN --mount`
//! (Dockerfile reference, *Format*, *Parser directives*, *Here-Documents*). A comment is a line of its own.

use std::ops::Range;

use super::reader::{Cursor, Found, Heredoc, State, Value, is_break};

pub(super) fn read(text: &str) -> Found {
    let mut reader = Reader {
        cursor: Cursor::new(text),
        escape: escape(text),
        found: Found::default(),
        instruction: None,
        heredocs: Vec::new(),
        is_joined: false,
    };
    while reader.cursor.peek().is_some() {
        reader.line();
        reader.cursor.next_line();
        reader.pass_heredocs();
    }
    reader.found
}

/// The character of `# escape=`, if that is one of the directives at the top.
fn escape(text: &str) -> u8 {
    let directives = text.lines().map_while(|line| {
        let (name, value) = line.trim().strip_prefix('#')?.split_once('=')?;
        let is_name = !name.trim().is_empty() && name.trim().bytes().all(|byte| byte.is_ascii_alphanumeric());
        is_name.then(|| (name.trim().to_ascii_lowercase(), value.trim()))
    });
    let mut escapes = directives.filter(|(name, _)| name == "escape");
    match escapes.next() {
        Some((_, "`")) => b'`',
        _ => b'\\',
    }
}

/// An instruction that spans several lines.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Instruction {
    /// The image is still to come.
    From,
    /// `NAME=value`.
    Pairs,
    /// `NAME=value` or `NAME`.
    Arguments,
    /// `ENV NAME value`: the value is the rest of the line.
    Named,
    /// Files and commands, with flags.
    Flags,
    /// `ONBUILD`: another instruction follows.
    OnBuild,
    Other,
}

struct Reader<'a> {
    cursor: Cursor<'a>,
    escape: u8,
    found: Found,
    instruction: Option<Instruction>,
    /// The here documents of this instruction.
    heredocs: Vec<Heredoc>,
    /// Whether the line begins within a word of the one before.
    is_joined: bool,
}

impl Reader<'_> {
    fn line(&mut self) {
        self.cursor.skip_blanks();
        match self.cursor.peek() {
            Some(b'#') => {
                let comment = self.cursor.line_comment(1);
                self.found.comments.push(comment);
                return;
            }
            // An empty line does not end an instruction that continues.
            Some(byte) if is_break(byte) => return,
            _ => {}
        }
        let line = self.cursor.line();
        let trimmed = line.trim_end_matches([' ', '\t']);
        let goes_on = self.goes_on(trimmed);
        let end = self.cursor.at + trimmed.len() - usize::from(goes_on);
        self.words(end, goes_on);
        self.cursor.at = end;
        if !goes_on {
            self.instruction = None;
            self.is_joined = false;
        }
    }

    /// Whether the line ends with the escape, and not with two.
    fn goes_on(&self, trimmed: &str) -> bool {
        match trimmed.as_bytes() {
            [.., before, last] => *last == self.escape && *before != self.escape,
            [last] => *last == self.escape,
            [] => false,
        }
    }

    /// The words of a line of an instruction, which may go on on the next one.
    fn words(&mut self, end: usize, goes_on: bool) {
        loop {
            self.cursor.skip_blanks();
            if self.cursor.at >= end {
                return;
            }
            let start = self.cursor.at;
            if self.instruction == Some(Instruction::Named) {
                self.value(start..end);
                self.not_whole_if(goes_on);
                self.instruction = Some(Instruction::Other);
                return;
            }
            self.pass_word(end);
            let before = self.found.values.len();
            let joins = goes_on && self.cursor.at >= end && self.joins(end);
            let is_tail = std::mem::replace(&mut self.is_joined, joins);
            if !is_tail {
                self.word(start..self.cursor.at);
                self.not_whole_if(self.is_joined && self.found.values.len() > before);
            }
        }
    }

    fn not_whole_if(&mut self, goes_on: bool) {
        if let Some(value) = self.found.values.last_mut().filter(|_| goes_on) {
            value.state = State::LINES;
        }
    }

    /// Whether the next line of the instruction begins without a blank; comments and empty lines are between,
    /// but of no instruction.
    fn joins(&self, end: usize) -> bool {
        let mut next = self.cursor.from(end);
        loop {
            next.next_line();
            let line = next.line();
            let text = line.trim_start_matches([' ', '\t']);
            if next.peek().is_none() || !(text.is_empty() || text.starts_with('#')) {
                return text.len() == line.len() && !text.is_empty();
            }
        }
    }

    /// To the next blank outside of quotes.
    fn pass_word(&mut self, end: usize) {
        let mut quote = None;
        while let Some(byte) = self.cursor.peek().filter(|_| self.cursor.at < end) {
            match (byte, quote) {
                (b' ' | b'\t', None) => return,
                (b'"' | b'\'', None) => quote = Some(byte),
                (_, Some(open)) if byte == open => quote = None,
                (_, None | Some(b'"')) if byte == self.escape => self.cursor.at += 1,
                _ => {}
            }
            self.cursor.at += 1;
        }
        self.cursor.at = self.cursor.at.min(end);
    }

    fn text(&self, span: Range<usize>) -> &str {
        self.cursor.from(span.start).until(span.end)
    }

    fn word(&mut self, span: Range<usize>) {
        let word = self.text(span.clone());
        match self.instruction {
            None | Some(Instruction::OnBuild) => self.instruction = Some(instruction(word)),
            Some(Instruction::From) if !word.starts_with("--") => {
                self.value(span);
                self.instruction = Some(Instruction::Other);
            }
            Some(Instruction::Pairs) => match name_length(word) {
                Some(length) => self.value(span.start + length..span.end),
                // `ENV NAME value`
                None => self.instruction = Some(Instruction::Named),
            },
            Some(Instruction::Arguments) => {
                if let Some(length) = name_length(word) {
                    self.value(span.start + length..span.end);
                }
            }
            Some(Instruction::Flags) => self.flag(span),
            _ => {}
        }
    }

    /// `--from=IMAGE`, `--mount=type=bind,from=IMAGE,…`, `<<END`, `3<<END`.
    fn flag(&mut self, span: Range<usize>) {
        let word = self.text(span.clone()).to_owned();
        if let Some(image) = word.strip_prefix("--from=") {
            self.value(span.end - image.len()..span.end);
        } else if let Some(options) = word.strip_prefix("--mount=") {
            let mut at = span.end - options.len();
            for option in options.split(',') {
                if let Some(image) = option.strip_prefix("from=") {
                    let end = at + option.len();
                    self.value(end - image.len()..end);
                }
                at += option.len() + 1;
            }
        } else if let Some(name) = word.trim_start_matches(|c: char| c.is_ascii_digit()).strip_prefix("<<") {
            let stripped = name.strip_prefix('-');
            let name = stripped.unwrap_or(name).trim_matches(['"', '\'']);
            let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
            self.heredocs.extend(is_name.then(|| Heredoc {
                end: name.as_bytes().to_vec(),
                strips_tabs: stripped.is_some(),
            }));
        }
    }

    fn value(&mut self, span: Range<usize>) {
        let text = self.text(span.clone()).trim_end_matches([' ', '\t']);
        let span = span.start..span.start + text.len();
        let quoted = ['"', '\'']
            .into_iter()
            .find_map(|quote| text.strip_prefix(quote)?.strip_suffix(quote).map(|text| (quote, text)));
        let inside = quoted.map_or(text, |(_, text)| text);
        let is_literal = quoted.is_some_and(|(quote, _)| quote == '\'');
        let state = match inside {
            _ if inside.contains('$') && !is_literal => State::Interpolated,
            _ if inside.as_bytes().contains(&self.escape) && !is_literal => State::ESCAPED,
            _ if inside.contains(['"', '\'']) => State::PARTS,
            _ if inside.contains([' ', '\t']) && quoted.is_none() => State::BLANKS,
            _ => State::Whole,
        };
        let edge = usize::from(quoted.is_some());
        self.found.values.push(Value {
            at: span.start,
            span: span.start + edge..span.end - edge,
            state,
        });
    }

    fn pass_heredocs(&mut self) {
        if self.instruction.is_some() {
            return;
        }
        for heredoc in std::mem::take(&mut self.heredocs) {
            self.cursor.pass_heredoc(&heredoc);
        }
    }
}

fn instruction(word: &str) -> Instruction {
    match word.to_ascii_uppercase().as_str() {
        "FROM" => Instruction::From,
        "ARG" => Instruction::Arguments,
        "ENV" | "LABEL" => Instruction::Pairs,
        "ADD" | "COPY" | "RUN" => Instruction::Flags,
        "ONBUILD" => Instruction::OnBuild,
        _ => Instruction::Other,
    }
}

/// The length of `NAME=`.
fn name_length(word: &str) -> Option<usize> {
    let equals = word.find('=')?;
    let is_name = word
        .get(..equals)
        .is_some_and(|name| !name.is_empty() && !name.contains('$'));
    is_name.then_some(equals + 1)
}
