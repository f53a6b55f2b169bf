//! Messages about an expression, each with its line and a caret below it.

use super::source::{Location, SourceText};

/// Greatest number of messages shown.
const MAX_SHOWN: usize = 100;
/// Greatest length of a line that is shown.
const MAX_SNIPPET_BYTES: usize = 16_384;

/// The end of parsing because of a limit, which has been reported.
#[derive(Debug)]
pub struct Halt;

/// The messages so far, in the order in which they were found.
#[derive(Debug)]
pub struct Reports {
    source: SourceText,
    reports: Vec<(Location, String)>,
    count: usize,
    syntax_errors: usize,
}

impl Reports {
    pub fn new(source: SourceText) -> Self {
        Self {
            source,
            reports: Vec::new(),
            count: 0,
            syntax_errors: 0,
        }
    }

    pub fn source(&self) -> &SourceText {
        &self.source
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Adds a message about the place after `offset` code points.
    pub fn at(&mut self, offset: i32, message: String) {
        self.at_location(self.source.location(offset), message);
    }

    /// Adds a message about the whole expression.
    pub fn nowhere(&mut self, message: String) {
        self.at_location(Location::NOWHERE, message);
    }

    fn at_location(&mut self, location: Location, message: String) {
        self.count += 1;
        if self.count <= MAX_SHOWN {
            self.reports.push((location, message));
        }
    }

    /// Adds a syntax error.
    ///
    /// # Errors
    /// When there are too many of them.
    pub fn syntax(&mut self, offset: i32, message: &str) -> Result<(), Halt> {
        if self.syntax_errors < MAX_SHOWN {
            self.syntax_errors += 1;
            self.at(offset, format!("Syntax error: {message}"));
            return Ok(());
        }
        self.at(offset, format!("Syntax error: More than {MAX_SHOWN} syntax errors"));
        Err(Halt)
    }

    /// All messages, by place.
    pub fn display(&self) -> String {
        let mut sorted: Vec<&(Location, String)> = self.reports.iter().collect();
        sorted.sort_by_key(|(location, _)| *location);
        let mut shown: Vec<String> = sorted
            .into_iter()
            .map(|(location, message)| self.one(*location, message))
            .collect();
        if self.count > MAX_SHOWN {
            shown.push(format!("{} more errors were truncated", self.count - MAX_SHOWN));
        }
        shown.join("\n")
    }

    fn one(&self, location: Location, message: &str) -> String {
        let Location { line, column } = location;
        let mut out = format!("ERROR: <input>:{line}:{}: {message}", column + 1);
        let Some(snippet) = self.source.snippet(line) else {
            return out;
        };
        let text: String = snippet.iter().map(|c| if *c == '\t' { ' ' } else { *c }).collect();
        if text.len() > MAX_SNIPPET_BYTES {
            return out;
        }
        out.push_str("\n | ");
        out.push_str(&text);
        out.push_str("\n | ");
        let before = usize::try_from(column).unwrap_or(0);
        // Wide characters get wide dots; all that are not ASCII count as wide.
        for c in text.chars().take(before) {
            out.push(if c.is_ascii() { '.' } else { '\u{ff0e}' });
        }
        let pointed_at = text.chars().nth(before);
        out.push(if pointed_at.is_none_or(|c| c.is_ascii()) {
            '^'
        } else {
            '\u{ff3e}'
        });
        out
    }
}
