//! The words of a template: what stands between the delimiters, and the text around them.

use super::node::Pos;
use bumpwright_gostd::{quote, unicode};
use std::fmt;

/// A word of the template.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token<'t> {
    /// What it is.
    pub(super) kind: TokenKind,
    /// Where it begins.
    pub(super) pos: Pos,
    /// As written.
    pub(super) text: &'t str,
    /// The line that it begins on.
    pub(super) line: usize,
}

/// What a word is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// The lexer does not know how to go on; nothing comes after it.
    Fault(Fault),
    Bool,
    /// Any other printable ASCII character.
    Char,
    CharConstant,
    /// `1+2i`
    Complex,
    Assign,
    Declare,
    Eof,
    /// `.name`
    Field,
    Identifier,
    LeftDelim,
    LeftParen,
    /// Also an imaginary one.
    Number,
    Pipe,
    RawString,
    RightDelim,
    RightParen,
    /// A run of spaces within an action.
    Space,
    String,
    /// What is outside of actions.
    Text,
    /// `$` or `$name`
    Variable,
    Keyword(Keyword),
}

/// Words with a meaning of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keyword {
    Block,
    Break,
    Continue,
    /// `.` alone.
    Dot,
    Define,
    Else,
    End,
    If,
    Nil,
    Range,
    Template,
    With,
}

/// Why the lexer cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    BadCharacter(char),
    BadNumber,
    CommentNotAlone,
    NotDeclare,
    UnclosedAction,
    UnclosedComment,
    UnclosedParen,
    UnexpectedParen,
    UnknownCharacter(char),
    UnterminatedChar,
    UnterminatedRawString,
    UnterminatedString,
}

/// As error texts show it.
impl fmt::Display for Token<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            TokenKind::Fault(Fault::BadNumber) => write!(f, "bad number syntax: {}", quote(self.text)),
            TokenKind::Fault(fault) => fault.fmt(f),
            TokenKind::Eof => f.write_str("EOF"),
            TokenKind::Keyword(_) => write!(f, "<{}>", self.text),
            _ if self.text.len() > 10 => {
                let end = self.text.char_indices().nth(10).map_or(self.text.len(), |(at, _)| at);
                write!(f, "{}...", quote(self.text.get(..end).unwrap_or_default()))
            }
            _ => f.write_str(&quote(self.text)),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BadCharacter(c) => return write!(f, "bad character {}", CodePoint(*c)),
            Self::UnknownCharacter(c) => {
                return write!(f, "unrecognized character in action: {}", CodePoint(*c));
            }
            Self::BadNumber => "bad number syntax",
            Self::CommentNotAlone => "comment ends before closing delimiter",
            Self::NotDeclare => "expected :=",
            Self::UnclosedAction => "unclosed action",
            Self::UnclosedComment => "unclosed comment",
            Self::UnclosedParen => "unclosed left paren",
            Self::UnexpectedParen => "unexpected right paren",
            Self::UnterminatedChar => "unterminated character constant",
            Self::UnterminatedRawString => "unterminated raw quoted string",
            Self::UnterminatedString => "unterminated quoted string",
        })
    }
}

/// Go's `%#U`: the number of a character, and the character if it can be seen.
struct CodePoint(char);

impl fmt::Display for CodePoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(c) = *self;
        write!(f, "U+{:04X}", u32::from(c))?;
        if unicode::is_print(c) {
            write!(f, " '{c}'")
        } else {
            Ok(())
        }
    }
}
