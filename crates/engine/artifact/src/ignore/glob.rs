//! Globs as Go's `path/filepath.Match` reads them, compiled once.
//!
//! Names are bytes. `?` and `[…]` match one rune, where a byte of invalid UTF-8 is the rune U+FFFD; after a `*` the
//! search goes byte by byte, so that a class can match the second byte of a rune there, as in Go. Names have no `/`.

use bumpwright_gostd::{first_rune, glob};
use bumpwright_text::Parts;

/// A pattern for one component of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Glob {
    /// No wildcard: the whole name.
    Literal(Box<[u8]>),
    /// `*.yaml`
    Suffix(Box<[u8]>),
    /// `values*`
    Prefix(Box<[u8]>),
    Chunks(Box<[Chunk]>, Tail),
}

/// Whether a pattern ends in `*`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tail {
    Open,
    Closed,
}

/// Tokens in a row, after any number of bytes when a `*` leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Chunk {
    star: bool,
    tokens: Box<[Token]>,
    /// Its text, if it has no wildcards.
    text: Option<Box<[u8]>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Byte(u8),
    AnyRune,
    Class { negated: bool, ranges: Box<[(char, char)]> },
}

impl Glob {
    /// Parses a glob. `None` for a malformed one (`[a`, `a\`): neither it nor the pattern with it matches anything.
    pub(super) fn parse(pattern: &[u8]) -> Option<Self> {
        let mut chunks = Vec::new();
        let mut rest = pattern;
        while !rest.is_empty() {
            let stars = rest.iter().take_while(|byte| **byte == b'*').count();
            rest = rest.tail(stars);
            if rest.is_empty() {
                return Some(Self::simplest(chunks, Tail::Open));
            }
            let (text, after) = rest.split_at_checked(glob::piece_len(rest))?;
            let star = stars > 0;
            let tokens = tokens(text)?;
            let text = plain(&tokens);
            chunks.push(Chunk { star, tokens, text });
            rest = after;
        }
        Some(Self::simplest(chunks, Tail::Closed))
    }

    fn simplest(chunks: Vec<Chunk>, tail: Tail) -> Self {
        let simple = match (chunks.as_slice(), tail) {
            ([], Tail::Closed) => Some(Self::Literal(Box::default())),
            ([], Tail::Open) => Some(Self::Prefix(Box::default())),
            ([chunk], tail) => chunk.text.clone().and_then(|bytes| match (chunk.star, tail) {
                (false, Tail::Closed) => Some(Self::Literal(bytes)),
                (false, Tail::Open) => Some(Self::Prefix(bytes)),
                (true, Tail::Closed) => Some(Self::Suffix(bytes)),
                (true, Tail::Open) => None,
            }),
            _ => None,
        };
        simple.unwrap_or_else(|| Self::Chunks(chunks.into(), tail))
    }

    /// Whether the glob matches the whole name.
    pub(super) fn matches(&self, name: &[u8]) -> bool {
        match self {
            Self::Literal(text) => name == &**text,
            Self::Suffix(text) => name.ends_with(text),
            Self::Prefix(text) => name.starts_with(text),
            Self::Chunks(chunks, tail) => match_chunks(chunks, *tail, name),
        }
    }
}

/// Matches each chunk at its first occurrence; the last one at the end of the name.
fn match_chunks(chunks: &[Chunk], tail: Tail, mut name: &[u8]) -> bool {
    let last = chunks.len().saturating_sub(1);
    for (index, chunk) in chunks.iter().enumerate() {
        let must_end = index == last && tail == Tail::Closed;
        let after = match (&chunk.text, must_end) {
            (Some(text), true) if chunk.star => name.ends_with(text).then_some(&[][..]),
            (Some(text), false) if chunk.star => after_first(name, text),
            _ => chunk.find_in(name, must_end),
        };
        match after {
            Some(after) => name = after,
            None => return false,
        }
    }
    tail == Tail::Open || name.is_empty()
}

/// The rest after the first occurrence of a text.
fn after_first<'a>(name: &'a [u8], text: &[u8]) -> Option<&'a [u8]> {
    let (first, _) = text.split_first()?;
    let mut rest = name;
    while let Some(at) = rest.iter().position(|byte| byte == first) {
        rest = rest.get(at..)?;
        if let Some(after) = rest.strip_prefix(text) {
            return Some(after);
        }
        rest = rest.get(1..)?;
    }
    None
}

impl Chunk {
    /// The rest after the first match of the chunk, or the first one at the end of the name if it `must_end` there.
    fn find_in<'a>(&self, name: &'a [u8], must_end: bool) -> Option<&'a [u8]> {
        let skips = if self.star { name.len() } else { 0 };
        (0..=skips).find_map(|skip| {
            let after = self.strip_from(name.get(skip..)?)?;
            (!must_end || after.is_empty()).then_some(after)
        })
    }

    /// The rest of `name` after the chunk at its front.
    fn strip_from<'a>(&self, mut name: &'a [u8]) -> Option<&'a [u8]> {
        for token in &self.tokens {
            let width = match token {
                Token::Byte(byte) => (name.first()? == byte).then_some(1)?,
                Token::AnyRune => first_rune(name)?.1,
                Token::Class { negated, ranges } => {
                    let (rune, width) = first_rune(name)?;
                    let within = ranges.iter().any(|(low, high)| *low <= rune && rune <= *high);
                    (within != *negated).then_some(width)?
                }
            };
            name = name.get(width..)?;
        }
        Some(name)
    }
}

/// The text of tokens without wildcards.
fn plain(tokens: &[Token]) -> Option<Box<[u8]>> {
    let byte = |token: &Token| match token {
        Token::Byte(byte) => Some(*byte),
        Token::AnyRune | Token::Class { .. } => None,
    };
    tokens.iter().map(byte).collect()
}

fn tokens(mut text: &[u8]) -> Option<Box<[Token]>> {
    let mut tokens = Vec::new();
    while let Some((first, after)) = text.split_first() {
        text = after;
        tokens.push(match first {
            b'[' => {
                let mut ranges = Vec::new();
                let (negated, after) = glob::class(text, |low, high| ranges.push((low, high)))?;
                text = after;
                let ranges = ranges.into();
                Token::Class { negated, ranges }
            }
            b'?' => Token::AnyRune,
            b'\\' => {
                let (escaped, after) = text.split_first()?;
                text = after;
                Token::Byte(*escaped)
            }
            byte => Token::Byte(*byte),
        });
    }
    Some(tokens.into())
}
