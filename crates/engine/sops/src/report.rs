//! The layout of SOPS' reports: wrapped and prefixed lines.

use bumpwright_gostd::unicode::is_space;

const NO_BREAK_SPACE: char = '\u{a0}';

/// Breaks lines at spaces so that they have `limit` characters at most; longer words stay whole. This is the
/// wrapping of the Go library that SOPS uses, including its treatment of runs of spaces.
pub(crate) fn wrap(text: &str, limit: usize) -> String {
    let mut wrapper = Wrapper {
        out: String::with_capacity(text.len() + text.len() / 16),
        column: 0,
        spaces: TextRun::default(),
        word: TextRun::default(),
        limit,
    };
    for ch in text.chars() {
        wrapper.take(ch);
    }
    wrapper.finish()
}

/// Characters not yet written.
#[derive(Default)]
struct TextRun {
    text: String,
    length: usize,
}

impl TextRun {
    fn push(&mut self, ch: char) {
        self.text.push(ch);
        self.length += 1;
    }

    fn clear(&mut self) {
        self.text.clear();
        self.length = 0;
    }

    const fn is_empty(&self) -> bool {
        self.length == 0
    }
}

struct Wrapper {
    out: String,
    column: usize,
    spaces: TextRun,
    word: TextRun,
    limit: usize,
}

impl Wrapper {
    fn take(&mut self, ch: char) {
        if ch == '\n' {
            self.line_break();
        } else if is_space(ch) && ch != NO_BREAK_SPACE {
            if self.spaces.is_empty() || !self.word.is_empty() {
                self.flush();
            }
            self.spaces.push(ch);
        } else {
            self.word.push(ch);
            let end = self.column + self.word.length + self.spaces.length;
            if end > self.limit && self.word.length < self.limit {
                self.out.push('\n');
                self.column = 0;
                self.spaces.clear();
            }
        }
    }

    fn flush(&mut self) {
        self.column += self.spaces.length + self.word.length;
        self.out.push_str(&self.spaces.text);
        self.out.push_str(&self.word.text);
        self.spaces.clear();
        self.word.clear();
    }

    fn line_break(&mut self) {
        let too_many = self.word.is_empty() && self.column + self.spaces.length > self.limit;
        if too_many {
            self.spaces.clear()
        } else {
            self.flush()
        }
        self.out.push('\n');
        self.column = 0;
    }

    fn finish(mut self) -> String {
        if !self.word.is_empty() || self.column + self.spaces.length <= self.limit {
            self.flush();
        }
        self.out
    }
}

/// Puts `prefix` before each line.
pub(crate) fn prefix(text: &str, prefix: &str) -> String {
    let mut out = String::with_capacity(text.len() + prefix.len() * 8);
    for line in text.split_inclusive('\n') {
        out.push_str(prefix);
        out.push_str(line);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_at_words_as_go_wordwrap_breaks_them() {
        assert_eq!(wrap("one two three", 8), "one two\nthree");
        assert_eq!(wrap("a verylongword b", 6), "a\nverylongword\nb");
        assert_eq!(wrap("keep\n  both   ", 8), "keep\n  both");
        assert_eq!(prefix("a\nb\n", "> "), "> a\n> b\n");
    }
}
