//! Tokens of the grammar, and sets of their kinds.

/// The kind of a token, numbered as in the grammar because messages list expected tokens in that order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum TokenKind {
    Eof = 0,
    Equals,
    NotEquals,
    In,
    Less,
    LessEquals,
    GreaterEquals,
    Greater,
    And,
    Or,
    OpenBracket,
    CloseBracket,
    OpenBrace,
    CloseBrace,
    OpenParen,
    CloseParen,
    Dot,
    Comma,
    Minus,
    Exclamation,
    Question,
    Colon,
    Plus,
    Star,
    Slash,
    Percent,
    True,
    False,
    Null,
    Hidden,
    Float = 31,
    Int,
    Uint,
    String,
    Bytes,
    Identifier,
    EscapedIdentifier,
}

/// The names of the kinds in messages, in the order of their numbers.
const NAMES: [&str; 38] = [
    "<EOF>",
    "'=='",
    "'!='",
    "'in'",
    "'<'",
    "'<='",
    "'>='",
    "'>'",
    "'&&'",
    "'||'",
    "'['",
    "']'",
    "'{'",
    "'}'",
    "'('",
    "')'",
    "'.'",
    "','",
    "'-'",
    "'!'",
    "'?'",
    "':'",
    "'+'",
    "'*'",
    "'/'",
    "'%'",
    "'true'",
    "'false'",
    "'null'",
    "WHITESPACE",
    "COMMENT",
    "NUM_FLOAT",
    "NUM_INT",
    "NUM_UINT",
    "STRING",
    "BYTES",
    "IDENTIFIER",
    "ESC_IDENTIFIER",
];

/// One token: its kind, text, and the code points before it.
#[derive(Clone, Debug)]
pub struct Token {
    pub kind: TokenKind,
    pub text: String,
    /// Code points before it; -1 for the end of an empty text.
    pub offset: i32,
}

/// A set of kinds, and whether the rule may end here without a token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Set(u64);

impl Set {
    /// The bit for the end of the rule.
    pub(crate) const RULE_END: Self = Self(1 << 63);

    pub const fn of(kinds: &[TokenKind]) -> Self {
        let mut bits = 0;
        let mut rest = kinds;
        while let [first, tail @ ..] = rest {
            bits |= 1 << (*first as u8);
            rest = tail;
        }
        Self(bits)
    }

    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub const fn has(self, kind: TokenKind) -> bool {
        self.0 & (1 << (kind as u8)) != 0
    }

    pub(crate) const fn reaches_rule_end(self) -> bool {
        self.0 & Self::RULE_END.0 != 0
    }

    pub(crate) const fn without_rule_end(self) -> Self {
        Self(self.0 & !Self::RULE_END.0)
    }

    /// The set in messages: `'='`, or `{'=', IDENTIFIER}`.
    pub fn display(self) -> String {
        let listed = NAMES.iter().enumerate().filter(|(bit, _)| self.0 & (1 << bit) != 0);
        let names: Vec<&str> = listed.map(|(_, name)| *name).collect();
        match names.as_slice() {
            [] => "{}".to_owned(),
            [one] => (*one).to_owned(),
            several => format!("{{{}}}", several.join(", ")),
        }
    }

    /// The placeholder in a tree for a missing token of this set.
    pub(crate) fn missing_text(self) -> String {
        let name = NAMES.iter().enumerate().find(|(bit, _)| self.0 & (1 << bit) != 0);
        match name {
            Some((0, _)) => "<missing EOF>".to_owned(),
            Some((_, name)) if name.starts_with('\'') => format!("<missing {name}>"),
            _ => "<missing undefined>".to_owned(),
        }
    }
}
