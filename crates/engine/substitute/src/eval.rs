//! Evaluates the expressions of a text: executes steps, within limits.

use super::operator::apply;
use super::parse::parse;
use super::program::{Call, Operator, Step};
use bumpwright_budget::{Exceeded, Reservation};
use std::borrow::Cow;

/// Maximum size of a text and its values, in bytes: 64 MiB, forty times what an API server stores as one
/// object.
pub const MAX_BYTES: usize = 64 << 20;

/// Maximum cost of all of a text's expressions, in bytes copied: a second or so.
const MAX_WORK: usize = 1 << 30;

/// The cost of a step of pattern matching.
const STEP: usize = 16;

/// Why a text cannot be evaluated. The messages are envsubst's; those of the limits are our own.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EvalError {
    /// An expression is invalid.
    #[error("bad substitution")]
    BadSubstitution,
    /// A variable's name is followed by something other than an operator.
    #[error("missing closing brace")]
    MissingClosingBrace,
    /// `${` is not followed by a name.
    #[error("unable to parse variable name")]
    VariableName,
    /// An operator lacks an argument.
    #[error("unable to parse substitution within function")]
    Parameter,
    /// A variable is not set, and has no default.
    #[error("variable not set (strict mode): {}", bumpwright_gostd::quote(.0))]
    NotSet(String),
    /// The values exceed [`MAX_BYTES`].
    #[error(
        "the variables make more than {} MiB of the text; shorten their values or what replaces a part of them",
        MAX_BYTES >> 20
    )]
    TooLarge,
    /// The memory budget does not allow the text.
    #[error(transparent)]
    Memory(#[from] Exceeded),
    /// Patterns in long values, or defaults in defaults, take too many steps.
    #[error("the expressions take too long; shorten the values of #, ##, % and %%, or nest fewer defaults")]
    TooSlow,
}

/// A value on the stack: parts of the text are not copied.
pub(crate) type Value<'v> = Cow<'v, [u8]>;

/// The remaining cost of an evaluation.
pub(crate) struct Budget<'r> {
    /// Bytes of the current values.
    held: usize,
    work: usize,
    /// The memory reservation for all values ever created, and for the resulting text.
    reservation: Option<&'r mut Reservation>,
}

impl<'r> Budget<'r> {
    const fn new(reservation: Option<&'r mut Reservation>) -> Self {
        Self {
            held: 0,
            work: 0,
            reservation,
        }
    }

    /// Charges for a step of matching.
    pub(crate) const fn step(&mut self) -> Result<(), EvalError> {
        self.spend(STEP)
    }

    /// Charges for bytes visited or copied.
    pub(crate) const fn spend(&mut self, work: usize) -> Result<(), EvalError> {
        self.work = self.work.saturating_add(work);
        if self.work > MAX_WORK {
            Err(EvalError::TooSlow)
        } else {
            Ok(())
        }
    }

    /// Reserves memory before a value is created.
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
        if self.held > MAX_BYTES {
            Err(EvalError::TooLarge)
        } else {
            Ok(())
        }
    }
}

/// The value of an expression whose variable is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Undefined {
    /// Empty, or the default.
    #[default]
    Empty,
    /// An error, unless there is a default.
    Refused,
    /// The expression itself: what gives the variable is not known here.
    Kept,
}

/// Substitutes variables in a text: `${name}`, with bash's operators, of which all that set a default are one; `$${` is
/// a plain `${`, and `$name` is left alone. `lookup` returns values. A missing one counts as empty, unless `strict`
/// rejects those without a default (K-085, K-090 to K-092).
///
/// # Errors
/// In envsubst's words, without any value in them; and where the text exceeds [`MAX_BYTES`].
pub fn eval<'v>(text: &'v [u8], lookup: impl Fn(&str) -> Option<&'v [u8]>, strict: bool) -> Result<Vec<u8>, EvalError> {
    let undefined = if strict { Undefined::Refused } else { Undefined::Empty };
    eval_within(text, lookup, |_| {}, undefined, None)
}

/// As [`eval`], with memory reserved for all values and the text. `missing` is told the names of missing
/// variables without a default.
///
/// # Errors
/// As [`eval`], and [`EvalError::Memory`].
pub(crate) fn eval_within<'v>(
    text: &'v [u8],
    lookup: impl Fn(&str) -> Option<&'v [u8]>,
    missing: impl Fn(&str),
    undefined: Undefined,
    reservation: Option<&mut Reservation>,
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
                let found = lookup(call.variable);
                if found.is_none() && call.operator != Operator::Default {
                    missing(call.variable);
                }
                run(&call, arguments, found, undefined, &mut budget)?
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
    found: Option<&'v [u8]>,
    undefined: Undefined,
    budget: &mut Budget<'_>,
) -> Result<Value<'v>, EvalError> {
    match (found, undefined) {
        (None, Undefined::Refused) if call.operator != Operator::Default => {
            Err(EvalError::NotSet(call.variable.to_owned()))
        }
        (None, Undefined::Kept) => kept(call, &arguments, budget).map(Cow::Owned),
        (value, _) => apply(call.operator, value.unwrap_or_default(), arguments, budget),
    }
}

/// An expression as it was written; of operators other than defaults only the name.
fn kept(call: &Call<'_>, arguments: &[Value<'_>], budget: &mut Budget<'_>) -> Result<Vec<u8>, EvalError> {
    let mut text = [b"${", call.variable.as_bytes()].concat();
    if call.operator == Operator::Default {
        budget.reserve(arguments.iter().map(|argument| argument.len()).sum())?;
        text.extend_from_slice(b":=");
        text.extend(arguments.iter().flat_map(|argument| argument.iter()));
    }
    text.push(b'}');
    Ok(text)
}
