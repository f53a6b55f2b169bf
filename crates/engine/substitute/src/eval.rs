//! Evaluates the expressions of a text: executes steps, within limits.

use std::borrow::Cow;

use super::budget::{Budget, EvalError};
use super::operator::apply;
use super::parse::parse;
use super::program::{Call, Operator, Step};
use bumpwright_budget::Reservation;

/// A value on the stack: parts of the text are not copied.
pub(crate) type Value<'v> = Cow<'v, [u8]>;

/// The value of an expression whose variable is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Undefined {
    /// Empty, or the default.
    #[default]
    Empty,
    /// An error, unless there is a default.
    Refused,
    /// The default, else the expression itself: what gives the variable is not known here.
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
    eval_within(text, |name, _| lookup(name), |_, _| {}, undefined, None)
}

/// As [`eval`], with memory reserved for all values and the text. `lookup` and `missing` hear whether an expression
/// has a default; `missing` gets the names of missing variables.
///
/// # Errors
/// As [`eval`], and [`EvalError::Memory`].
pub(crate) fn eval_within<'v>(
    text: &'v [u8],
    lookup: impl Fn(&str, bool) -> Option<&'v [u8]>,
    missing: impl Fn(&str, bool),
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
                let has_default = call.operator == Operator::Default;
                let value = lookup(call.variable, has_default);
                if value.is_none() {
                    missing(call.variable, has_default);
                }
                run(&call, arguments, value, undefined, &mut budget)?
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
        // Of other operators only the name is kept.
        (None, Undefined::Kept) if call.operator != Operator::Default => {
            Ok(Cow::Owned([b"${", call.variable.as_bytes(), b"}"].concat()))
        }
        (value, _) => apply(call.operator, value.unwrap_or_default(), arguments, budget),
    }
}
