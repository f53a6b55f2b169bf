//! What an evaluation may produce, and how it fails.

use bumpwright_budget::{Exceeded, Reservation};

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
    /// An operator is without its argument.
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

/// The remaining cost of an evaluation.
pub(crate) struct Budget<'r> {
    /// Bytes of the current values.
    pub(crate) held: usize,
    work: usize,
    /// The memory reservation for all values ever created, and for the resulting text.
    pub(crate) reservation: Option<&'r mut Reservation>,
}

impl<'r> Budget<'r> {
    pub(crate) const fn new(reservation: Option<&'r mut Reservation>) -> Self {
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

    pub(crate) fn hold(&mut self, bytes: usize) -> Result<(), EvalError> {
        self.take(bytes)?;
        self.held = self.held.saturating_add(bytes);
        if self.held > MAX_BYTES {
            Err(EvalError::TooLarge)
        } else {
            Ok(())
        }
    }
}

/// Maximum size of a text and its values, in bytes: 64 MiB, forty times what an API server stores as one object.
pub const MAX_BYTES: usize = 64 << 20;

/// Maximum cost of all of a text's expressions, in bytes copied: a second or so.
const MAX_WORK: usize = 1 << 30;

/// The cost of a step of pattern matching.
const STEP: usize = 16;
