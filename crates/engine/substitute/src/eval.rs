//! Expressions in a text: steps carried out, within bounds.

use super::operator::apply;
use super::parse::parse;
use super::program::{Call, Operator, Step};
use bumpwright_budget::{Exceeded, Held};
use std::borrow::Cow;

/// What a text and all that it is made of may take, in bytes: 64 MiB, forty times what an API server stores as one
/// object.
pub const MAX_BYTES: usize = 64 << 20;

/// What all of a text's expressions may take, counted in bytes copied: a second or so.
const MAX_WORK: usize = 1 << 30;

/// What a step of matching a pattern takes of that.
const STEP: usize = 16;

/// A text whose variables cannot be put in. The texts are envsubst's; those of the bounds are ours.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EvalError {
    /// An expression is none.
    #[error("bad substitution")]
    BadSubstitution,
    /// A variable's name is followed by what is no operator.
    #[error("missing closing brace")]
    MissingClosingBrace,
    /// `${` is not followed by a name.
    #[error("unable to parse variable name")]
    VariableName,
    /// An operator lacks what it works with.
    #[error("unable to parse substitution within function")]
    Parameter,
    /// A variable is not set, and no default is given for it.
    #[error("variable not set (strict mode): {}", bumpwright_gostd::quote(.0))]
    NotSet(String),
    /// The values grow beyond [`MAX_BYTES`].
    #[error(
        "the variables make more than {} MiB of the text; shorten their values or what replaces a part of them",
        MAX_BYTES >> 20
    )]
    TooLarge,
    /// There is no reservation for the text.
    #[error(transparent)]
    Memory(#[from] Exceeded),
    /// Patterns in long values, or defaults in defaults, ask for too many steps.
    #[error("the expressions take too long; shorten the values that #, ##, % or %% look at, or nest fewer defaults")]
    TooSlow,
}

/// A value on the stack: parts of the text are not copied.
pub(crate) type Value<'v> = Cow<'v, [u8]>;

/// What evaluation may still take.
pub(crate) struct Budget<'r> {
    /// Bytes that values take now.
    held: usize,
    work: usize,
    /// Where there is to be reservation for all that they ever took, and for the text that comes of them.
    reservation: Option<&'r mut Held>,
}

impl<'r> Budget<'r> {
    const fn new(reservation: Option<&'r mut Held>) -> Self {
        Self {
            held: 0,
            work: 0,
            reservation,
        }
    }

    /// Takes note of a step of matching.
    pub(crate) const fn step(&mut self) -> Result<(), EvalError> {
        self.spend(STEP)
    }

    /// Takes note of bytes looked at or copied.
    pub(crate) const fn spend(&mut self, work: usize) -> Result<(), EvalError> {
        self.work = self.work.saturating_add(work);
        match self.work > MAX_WORK {
            true => Err(EvalError::TooSlow),
            false => Ok(()),
        }
    }

    /// Asks for reservation before a value is made.
    pub(crate) fn reserve(&mut self, bytes: usize) -> Result<(), EvalError> {
        if self.held.saturating_add(bytes) > MAX_BYTES {
            return Err(EvalError::TooLarge);
        }
        self.take(bytes)?;
        self.spend(bytes)
    }

    /// Each byte is copied once more, into the text.
    fn take(&mut self, bytes: usize) -> Result<(), EvalError> {
        let reservation = self.reservation.as_mut();
        Ok(reservation.map_or(Ok(()), |reservation| reservation.grow(2 * bytes as u64))?)
    }

    fn hold(&mut self, bytes: usize) -> Result<(), EvalError> {
        self.take(bytes)?;
        self.held = self.held.saturating_add(bytes);
        match self.held > MAX_BYTES {
            true => Err(EvalError::TooLarge),
            false => Ok(()),
        }
    }
}

/// Puts variables into a text: `${name}`, with bash's operators, of which all that give a default are one; `$${` is a
/// plain `${`, and `$name` is left alone. `lookup` gives values. One that is missing counts as empty, unless `strict`
/// asks for those without a default (K-085, K-090 to K-092).
///
/// # Errors
/// With envsubst's words, without any value in them; and where the text grows beyond [`MAX_BYTES`].
pub fn eval<'v>(text: &'v [u8], lookup: impl Fn(&str) -> Option<&'v [u8]>, strict: bool) -> Result<Vec<u8>, EvalError> {
    eval_within(text, lookup, strict, None)
}

/// As [`eval`], with reservation taken for all values and the text.
///
/// # Errors
/// As [`eval`], and [`EvalError::Memory`].
pub(crate) fn eval_within<'v>(
    text: &'v [u8],
    lookup: impl Fn(&str) -> Option<&'v [u8]>,
    strict: bool,
    reservation: Option<&mut Held>,
) -> Result<Vec<u8>, EvalError> {
    let mut budget = Budget::new(reservation);
    let mut stack: Vec<Value<'v>> = Vec::new();
    for step in parse(text)? {
        let value = match step {
            Step::Text(text) => text,
            Step::Call(call) => {
                let arguments = stack.split_off(stack.len().saturating_sub(call.arguments));
                let freed: usize = arguments.iter().map(|argument| argument.len()).sum();
                budget.held = budget.held.saturating_sub(freed);
                run(&call, arguments, &lookup, strict, &mut budget)?
            }
        };
        budget.hold(value.len())?;
        stack.push(value);
    }
    Ok(stack.concat())
}

fn run<'v>(
    call: &Call<'_>,
    arguments: Vec<Value<'v>>,
    lookup: &impl Fn(&str) -> Option<&'v [u8]>,
    strict: bool,
    budget: &mut Budget<'_>,
) -> Result<Value<'v>, EvalError> {
    let value = lookup(call.variable);
    if value.is_none() && strict && call.operator != Operator::Default {
        return Err(EvalError::NotSet(call.variable.to_owned()));
    }
    apply(call.operator, value.unwrap_or_default(), arguments, budget)
}
