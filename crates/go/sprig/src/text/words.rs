//! Names in snake and kebab case, split as xstrings does: `HTTPServer2xx` is `http_server_2xx`.

use super::case::is_connector;
use bumpwright_gostd::{first_rune, runes, unicode};

/// The characters of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WordKind {
    /// No valid character at all: the end, or invalid bytes before it.
    Nothing,
    Number,
    /// Begins with a capital: either all capitals, or one followed by lower-case letters.
    Capital,
    Letters,
    Connector,
    Punct,
    /// Symbols, marks, and the most common Chinese characters.
    Other,
}

/// The words of a name while they are written.
struct Words<'t> {
    kind: WordKind,
    word: &'t [u8],
    rest: &'t [u8],
    connector: u8,
    out: Vec<u8>,
}

/// The words in lower case with `connector` between them. A number belongs to the letters after it, unless a capital
/// follows it.
pub(crate) fn in_lower_case(text: &[u8], connector: u8) -> Vec<u8> {
    let (kind, word, rest) = next_word(text);
    let out = Vec::with_capacity(text.len() + text.len() / 4);
    let mut words = Words {
        kind,
        word,
        rest,
        connector,
        out,
    };
    while !words.rest.is_empty() {
        words.go_on();
    }
    words.write(words.kind, words.word);
    words.out
}

impl<'t> Words<'t> {
    /// Writes the word and the connector before the next one, and moves to that.
    fn go_on(&mut self) {
        let (kind, word) = (self.kind, self.word);
        self.write(kind, word);
        self.advance();
        match kind {
            WordKind::Connector | WordKind::Punct => {}
            WordKind::Number => self.finish_number(),
            _ if self.kind != WordKind::Number => self.separate(),
            _ if self.rest.is_empty() => {}
            _ => self.number_behind_letters(),
        }
    }

    /// `2xx` in `http2xx` is a word, `4` in `Bld4Floor` is not.
    fn number_behind_letters(&mut self) {
        let number = self.word;
        self.advance();
        if self.kind == WordKind::Letters {
            self.connect();
            self.write(WordKind::Number, number);
            self.finish_number();
        } else {
            self.write(WordKind::Number, number);
            self.separate();
        }
    }

    /// Adds the letters and numbers that belong to the number before them.
    fn finish_number(&mut self) {
        while matches!(self.kind, WordKind::Letters | WordKind::Number) {
            self.write(self.kind, self.word);
            self.advance();
        }
        if self.kind != WordKind::Nothing {
            self.separate();
        }
    }

    /// Connects the next word, unless it has its own connector.
    fn separate(&mut self) {
        if !matches!(self.kind, WordKind::Connector | WordKind::Punct) {
            self.connect();
        }
    }

    fn connect(&mut self) {
        self.out.push(self.connector);
    }

    fn advance(&mut self) {
        (self.kind, self.word, self.rest) = next_word(self.rest);
    }

    fn write(&mut self, kind: WordKind, word: &'t [u8]) {
        if !matches!(kind, WordKind::Capital | WordKind::Connector) {
            self.out.extend_from_slice(word);
            return;
        }
        for (ch, _) in runes(word) {
            if is_connector(ch) {
                self.connect();
            } else {
                let small = if unicode::is_upper(ch) {
                    unicode::to_lower(ch)
                } else {
                    ch
                };
                self.out.extend_from_slice(small.encode_utf8(&mut [0; 4]).as_bytes());
            }
        }
    }
}

/// The first word of `text`, and the rest. Invalid bytes belong to the word of the next valid character, or to the last
/// word.
fn next_word(text: &[u8]) -> (WordKind, &[u8], &[u8]) {
    let (kind, end) = match next_valid(text) {
        None => (WordKind::Nothing, text.len()),
        Some((first, end)) => {
            let kind = kind_of(first);
            (kind, end_of_word(kind, text, end))
        }
    };
    let (word, rest) = text.split_at_checked(end).unwrap_or((text, b""));
    (kind, word, rest)
}

fn kind_of(ch: char) -> WordKind {
    if is_connector(ch) {
        WordKind::Connector
    } else if unicode::is_punct(ch) {
        WordKind::Punct
    } else if unicode::is_upper(ch) {
        WordKind::Capital
    } else if is_alphabetic(ch) {
        WordKind::Letters
    } else if unicode::is_number(ch) {
        WordKind::Number
    } else {
        WordKind::Other
    }
}

/// The end of the word whose first character ends at `from`.
fn end_of_word(kind: WordKind, text: &[u8], from: usize) -> usize {
    let is_small = |ch| kind_of(ch) == WordKind::Letters;
    let run = match kind {
        WordKind::Capital => match valid_from(text, from) {
            Some((second, _)) if unicode::is_upper(second) => {
                let capitals = CharacterRun::of(text, from, unicode::is_upper);
                // The last of several capitals begins the next word if lower-case letters follow: HTTP Server.
                return match capitals.next {
                    Some(next) if is_small(next) => capitals.last,
                    _ => capitals.end,
                };
            }
            _ => CharacterRun::of(text, from, is_small),
        },
        WordKind::Letters => CharacterRun::of(text, from, is_small),
        WordKind::Connector => CharacterRun::of(text, from, is_connector),
        WordKind::Punct => CharacterRun::of(text, from, unicode::is_punct),
        WordKind::Number => CharacterRun::of(text, from, unicode::is_number),
        WordKind::Nothing | WordKind::Other => CharacterRun::of(text, from, |ch| kind_of(ch) == WordKind::Other),
    };
    run.end
}

/// Successive characters of one kind.
struct CharacterRun {
    end: usize,
    /// The start of the last of them, or of invalid bytes before it.
    last: usize,
    /// The character after them.
    next: Option<char>,
}

impl CharacterRun {
    fn of(text: &[u8], from: usize, accepts: impl Fn(char) -> bool) -> Self {
        let (mut last, mut end) = (from, from);
        loop {
            match valid_from(text, end) {
                Some((ch, next)) if accepts(ch) => (last, end) = (end, next),
                Some((ch, _)) => {
                    return Self {
                        end,
                        last,
                        next: Some(ch),
                    };
                }
                None => {
                    return Self {
                        end: text.len(),
                        last,
                        next: None,
                    };
                }
            }
        }
    }
}

/// The first valid character at or after `from`, and its end.
fn valid_from(text: &[u8], from: usize) -> Option<(char, usize)> {
    let (ch, width) = next_valid(text.get(from..)?)?;
    Some((ch, from + width))
}

/// The first valid character and its end. A literal U+FFFD counts as invalid, too.
fn next_valid(text: &[u8]) -> Option<(char, usize)> {
    let mut end = 0;
    while let Some((ch, width)) = first_rune(text.get(end..)?) {
        end += width;
        if ch != char::REPLACEMENT_CHARACTER {
            return Some((ch, end));
        }
    }
    None
}

/// A letter of an alphabet, that is, none of the most common Chinese characters.
fn is_alphabetic(ch: char) -> bool {
    let is_han = matches!(ch, '\u{4e00}'..='\u{9fcc}' | '\u{3400}'..='\u{4d85}' | '\u{20000}'..='\u{2b81d}');
    unicode::is_letter(ch) && !is_han
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_apart_into_words() {
        for (given, expected) in [
            ("".as_bytes(), "".as_bytes()),
            (b"FirstName", b"first_name"),
            (b"HTTPServer", b"http_server"),
            (b"GO PATH-x", b"go_path_x"),
            (b"HTTP20xOK", b"http_20x_ok"),
            (b"Bld4Floor3rd", b"bld4_floor_3rd"),
            (b"a1", b"a1"),
            (b"1a2B", b"1a2_b"),
            (b"_leading__", b"_leading__"),
            (b"Dots.AndMore", b"dots.and_more"),
            (
                "\u{c9}t\u{e9}\u{4e2d}\u{6587}2x".as_bytes(),
                "\u{e9}t\u{e9}_\u{4e2d}\u{6587}_2x".as_bytes(),
            ),
            (b"AB\xffCd", "a\u{62}\u{5f}\u{fffd}cd".as_bytes()),
            (b"ab\xff", b"ab\xff"),
        ] {
            assert_eq!(
                String::from_utf8_lossy(&in_lower_case(given, b'_')),
                String::from_utf8_lossy(expected)
            );
        }
    }
}
