//! The tokens that can come in each state of the grammar's automaton.
//!
//! The automaton is generated from the grammar; the number of a state is only a name here. `next` returns the tokens
//! that may come in a state, and whether the rule may end there; `after_match` does so for the state after the token
//! that is matched there.

use super::token::{Set, TokenKind};

const RULE_END: Set = Set::RULE_END;
/// First tokens of a `member`.
pub const MEMBER: Set = Set::of(&[
    TokenKind::OpenBracket,
    TokenKind::OpenBrace,
    TokenKind::OpenParen,
    TokenKind::Dot,
    TokenKind::Minus,
    TokenKind::True,
    TokenKind::False,
    TokenKind::Null,
    TokenKind::Float,
    TokenKind::Int,
    TokenKind::Uint,
    TokenKind::String,
    TokenKind::Bytes,
    TokenKind::Identifier,
]);
/// First tokens of an `expr`.
pub(crate) const EXPR: Set = MEMBER.and(Set::of(&[TokenKind::Exclamation]));
/// First tokens of an `optExpr`.
pub(crate) const OPT_EXPR: Set = EXPR.and(Set::of(&[TokenKind::Question]));
pub(crate) const RELATION_OPERATORS: Set = Set::of(&[
    TokenKind::Equals,
    TokenKind::NotEquals,
    TokenKind::In,
    TokenKind::Less,
    TokenKind::LessEquals,
    TokenKind::GreaterEquals,
    TokenKind::Greater,
]);
pub(crate) const FACTOR_OPERATORS: Set = Set::of(&[TokenKind::Star, TokenKind::Slash, TokenKind::Percent]);
pub(crate) const TERM_OPERATORS: Set = Set::of(&[TokenKind::Minus, TokenKind::Plus]);
const ESCAPE_IDENT: Set = Set::of(&[TokenKind::Identifier, TokenKind::EscapedIdentifier]);
pub(crate) const OPT_FIELD: Set = ESCAPE_IDENT.and(Set::of(&[TokenKind::Question]));

/// The tokens that may come in a state.
pub fn next(state: u16) -> Set {
    use TokenKind as K;
    let only = |kind: TokenKind| Set::of(&[kind]);
    match state {
        35 => only(K::Eof),
        38 | 106 | 120 | 215 | 237 => only(K::Question),
        40 | 203 | 207 | 221 | 225 => only(K::Colon),
        43 => only(K::Question).and(RULE_END),
        46 => only(K::Or),
        50 | 52 => only(K::Or).and(RULE_END),
        54 => only(K::And),
        58 | 60 => only(K::And).and(RULE_END),
        69 | 71 => RELATION_OPERATORS.and(RULE_END),
        81 => FACTOR_OPERATORS.and(TERM_OPERATORS),
        83 | 85 => FACTOR_OPERATORS.and(TERM_OPERATORS).and(RULE_END),
        87 | 88 => only(K::Exclamation),
        90 => MEMBER.and(only(K::Exclamation)),
        93 | 94 | 242 | 247 => only(K::Minus),
        96 | 184 => MEMBER,
        99 => EXPR,
        105 | 111 | 131 | 135 | 164 | 168 => only(K::Dot),
        107 | 216 => OPT_FIELD,
        112 | 134 | 138 | 167 | 169 | 233 => only(K::Identifier),
        113 | 139 | 144 => only(K::OpenParen),
        115 | 141 => EXPR.and(only(K::CloseParen)),
        117 | 143 | 146 => only(K::CloseParen),
        119 | 148 => only(K::OpenBracket),
        121 | 238 => OPT_EXPR,
        124 | 155 => only(K::CloseBracket),
        126 => Set::of(&[K::Dot, K::OpenBracket]),
        128 | 130 => Set::of(&[K::Dot, K::OpenBracket]).and(RULE_END),
        132 | 136 | 165 => Set::of(&[K::Dot, K::Identifier]),
        150 => OPT_EXPR.and(Set::of(&[K::Comma, K::CloseBracket])),
        152 | 160 | 179 | 187 | 195 | 205 | 223 => only(K::Comma),
        153 => Set::of(&[K::Comma, K::CloseBracket]),
        156 | 175 => only(K::OpenBrace),
        158 => OPT_EXPR.and(Set::of(&[K::Comma, K::CloseBrace])),
        161 | 180 => Set::of(&[K::Comma, K::CloseBrace]),
        163 | 182 => only(K::CloseBrace),
        172 | 174 => Set::of(&[K::Dot, K::OpenBrace]),
        177 => OPT_FIELD.and(Set::of(&[K::Comma, K::CloseBrace])),
        191 | 193 | 199 | 201 | 212 | 214 | 230 | 232 => only(K::Comma).and(RULE_END),
        234 => only(K::EscapedIdentifier),
        235 => ESCAPE_IDENT,
        243 => Set::of(&[K::Minus, K::Int]),
        245 => only(K::Int),
        246 => only(K::Uint),
        248 => Set::of(&[K::Minus, K::Float]),
        250 => only(K::Float),
        251 => only(K::String),
        252 => only(K::Bytes),
        253 => only(K::True),
        254 => only(K::False),
        255 => only(K::Null),
        256 => Set::of(&[
            K::Minus,
            K::True,
            K::False,
            K::Null,
            K::Float,
            K::Int,
            K::Uint,
            K::String,
            K::Bytes,
        ]),
        _ => RULE_END,
    }
}

/// The tokens that may come after the one that is matched in a state.
pub(crate) fn after_match(state: u16) -> Set {
    use TokenKind as K;
    let only = |kind: TokenKind| Set::of(&[kind]);
    match state {
        38 | 40 | 46 | 54 | 144 | 187 | 203 | 207 | 221 | 225 | 237 | 120 => EXPR,
        87 => next(90),
        93 => next(96),
        105 => OPT_FIELD,
        106 | 215 => ESCAPE_IDENT,
        111 | 131 | 135 | 164 | 168 => only(K::Identifier),
        112 | 138 => only(K::OpenParen),
        113 | 139 => EXPR.and(only(K::CloseParen)),
        119 | 195 | 223 => OPT_EXPR,
        148 => next(150),
        152 => only(K::CloseBracket),
        156 => next(158),
        160 | 179 => only(K::CloseBrace),
        167 | 169 => next(172),
        175 => next(177),
        205 => OPT_FIELD,
        242 => only(K::Int),
        247 => only(K::Float),
        _ => RULE_END,
    }
}
