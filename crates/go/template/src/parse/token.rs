//! The tokens of a template: those between the delimiters, and the text around them.

use super::node::Pos;
use bumpwright_gostd::{quote, unicode};
use bumpwright_text::Parts;
use std::fmt;

/// A token of the template.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token<'t> {
    pub(crate) kind: TokenKind,
    pub(crate) pos: Pos,
    pub(crate) text: &'t str,
}

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// A fault of the lexer; no token follows it.
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
    /// Text outside of actions.
    Text,
    /// `$` or `$name`
    Variable,
    Keyword(Keyword),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keyword {
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

/// Why the lexer cannot continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
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

/// Its name in error texts.
impl fmt::Display for Token<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            TokenKind::Fault(Fault::BadNumber) => write!(f, "bad number syntax: {}", quote(self.text)),
            TokenKind::Fault(fault) => fault.fmt(f),
            TokenKind::Eof => f.write_str("EOF"),
            TokenKind::Keyword(_) => write!(f, "<{}>", self.text),
            _ if self.text.len() > 10 => {
                let end = self.text.char_indices().nth(10).map_or(self.text.len(), |(at, _)| at);
                write!(f, "{}...", quote(self.text.part(..end)))
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

/// Go's `%#U`: the code point, and the character if it is printable.
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
