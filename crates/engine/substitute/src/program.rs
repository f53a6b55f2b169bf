//! Compiled texts: steps for a stack of values, arguments before their operator.

use std::borrow::Cow;

#[derive(Debug)]
pub(crate) enum Step<'t> {
    Text(Cow<'t, [u8]>),
    /// Pops its arguments and pushes its result for a variable.
    Call(Call<'t>),
}

/// An operator on a variable.
#[derive(Debug)]
pub(crate) struct Call<'t> {
    pub(crate) variable: &'t str,
    pub(crate) operator: Operator,
    pub(crate) arguments: usize,
}

/// An operation on the value of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operator {
    /// `${a}`, and mixtures such as `${a,^}`
    Value,
    /// `=`, `:=`, `:-`, `:?` and `:+`, which are all one
    Default,
    /// `${#a}`
    Length,
    /// `,` and `,,`
    Lower { first: bool },
    /// `^` and `^^`
    Upper { first: bool },
    /// `#` and `##`
    TrimPrefix { longest: bool },
    /// `%` and `%%`
    TrimSuffix { longest: bool },
    /// `:`
    Substring,
    /// `/`
    ReplaceFirst,
    /// `//`
    ReplaceAll,
    /// `/#`
    ReplacePrefix,
    /// `/%`
    ReplaceSuffix,
}

impl Operator {
    pub(crate) fn of(spelled: &str) -> Self {
        match spelled {
            "=" | ":=" | ":-" | ":?" | ":+" => Self::Default,
            "," => Self::Lower { first: true },
            ",," => Self::Lower { first: false },
            "^" => Self::Upper { first: true },
            "^^" => Self::Upper { first: false },
            "#" => Self::TrimPrefix { longest: false },
            "##" => Self::TrimPrefix { longest: true },
            "%" => Self::TrimSuffix { longest: false },
            "%%" => Self::TrimSuffix { longest: true },
            ":" => Self::Substring,
            "/" => Self::ReplaceFirst,
            "//" => Self::ReplaceAll,
            "/#" => Self::ReplacePrefix,
            "/%" => Self::ReplaceSuffix,
            _ => Self::Value,
        }
    }
}
