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
pub const EXPR: Set = MEMBER.and(Set::of(&[TokenKind::Exclamation]));
/// First tokens of an `optExpr`.
pub const OPT_EXPR: Set = EXPR.and(Set::of(&[TokenKind::Question]));
pub const RELATION_OPERATORS: Set = Set::of(&[
    TokenKind::Equals,
    TokenKind::NotEquals,
    TokenKind::In,
    TokenKind::Less,
    TokenKind::LessEquals,
    TokenKind::GreaterEquals,
    TokenKind::Greater,
]);
pub const FACTOR_OPERATORS: Set = Set::of(&[TokenKind::Star, TokenKind::Slash, TokenKind::Percent]);
pub const TERM_OPERATORS: Set = Set::of(&[TokenKind::Minus, TokenKind::Plus]);
const ESCAPE_IDENT: Set = Set::of(&[TokenKind::Identifier, TokenKind::EscapedIdentifier]);
pub const OPT_FIELD: Set = ESCAPE_IDENT.and(Set::of(&[TokenKind::Question]));

/// The tokens that may come in a state.
pub fn next(state: u16) -> Set {
    use TokenKind as K;
    let one = |kind: TokenKind| Set::of(&[kind]);
    match state {
        35 => one(K::Eof),
        38 | 106 | 120 | 215 | 237 => one(K::Question),
        40 | 203 | 207 | 221 | 225 => one(K::Colon),
        43 => one(K::Question).and(RULE_END),
        46 => one(K::Or),
        50 | 52 => one(K::Or).and(RULE_END),
        54 => one(K::And),
        58 | 60 => one(K::And).and(RULE_END),
        69 | 71 => RELATION_OPERATORS.and(RULE_END),
        81 => FACTOR_OPERATORS.and(TERM_OPERATORS),
        83 | 85 => FACTOR_OPERATORS.and(TERM_OPERATORS).and(RULE_END),
        87 | 88 => one(K::Exclamation),
        90 => MEMBER.and(one(K::Exclamation)),
        93 | 94 | 242 | 247 => one(K::Minus),
        96 | 184 => MEMBER,
        99 => EXPR,
        105 | 111 | 131 | 135 | 164 | 168 => one(K::Dot),
        107 | 216 => OPT_FIELD,
        112 | 134 | 138 | 167 | 169 | 233 => one(K::Identifier),
        113 | 139 | 144 => one(K::OpenParen),
        115 | 141 => EXPR.and(one(K::CloseParen)),
        117 | 143 | 146 => one(K::CloseParen),
        119 | 148 => one(K::OpenBracket),
        121 | 238 => OPT_EXPR,
        124 | 155 => one(K::CloseBracket),
        126 => Set::of(&[K::Dot, K::OpenBracket]),
        128 | 130 => Set::of(&[K::Dot, K::OpenBracket]).and(RULE_END),
        132 | 136 | 165 => Set::of(&[K::Dot, K::Identifier]),
        150 => OPT_EXPR.and(Set::of(&[K::Comma, K::CloseBracket])),
        152 | 160 | 179 | 187 | 195 | 205 | 223 => one(K::Comma),
        153 => Set::of(&[K::Comma, K::CloseBracket]),
        156 | 175 => one(K::OpenBrace),
        158 => OPT_EXPR.and(Set::of(&[K::Comma, K::CloseBrace])),
        161 | 180 => Set::of(&[K::Comma, K::CloseBrace]),
        163 | 182 => one(K::CloseBrace),
        172 | 174 => Set::of(&[K::Dot, K::OpenBrace]),
        177 => OPT_FIELD.and(Set::of(&[K::Comma, K::CloseBrace])),
        191 | 193 | 199 | 201 | 212 | 214 | 230 | 232 => one(K::Comma).and(RULE_END),
        234 => one(K::EscapedIdentifier),
        235 => ESCAPE_IDENT,
        243 => Set::of(&[K::Minus, K::Int]),
        245 => one(K::Int),
        246 => one(K::Uint),
        248 => Set::of(&[K::Minus, K::Float]),
        250 => one(K::Float),
        251 => one(K::String),
        252 => one(K::Bytes),
        253 => one(K::True),
        254 => one(K::False),
        255 => one(K::Null),
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
pub fn after_match(state: u16) -> Set {
    use TokenKind as K;
    let one = |kind: TokenKind| Set::of(&[kind]);
    match state {
        38 | 40 | 46 | 54 | 144 | 187 | 203 | 207 | 221 | 225 | 237 | 120 => EXPR,
        87 => next(90),
        93 => next(96),
        105 => OPT_FIELD,
        106 | 215 => ESCAPE_IDENT,
        111 | 131 | 135 | 164 | 168 => one(K::Identifier),
        112 | 138 => one(K::OpenParen),
        113 | 139 => EXPR.and(one(K::CloseParen)),
        119 | 195 | 223 => OPT_EXPR,
        148 => next(150),
        152 => one(K::CloseBracket),
        156 => next(158),
        160 | 179 => one(K::CloseBrace),
        167 | 169 => next(172),
        175 => next(177),
        205 => OPT_FIELD,
        242 => one(K::Int),
        247 => one(K::Float),
        _ => RULE_END,
    }
}
