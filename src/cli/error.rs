//! Why a command fails: its one error.

use std::error::Error;
use std::fmt::{self, Display, Formatter};

/// What is wrong or was attempted, with its place; why; and the way out. Shown as `what: why; hint`.
#[derive(Debug, Default)]
pub struct CliError {
    what: String,
    why: Option<Box<dyn Error + Send + Sync>>,
    hint: String,
}

impl CliError {
    /// An error of what was typed or read.
    pub fn new(what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            ..Self::default()
        }
    }

    /// The error at a place, which is shown first: a file, a flag, an object.
    #[must_use]
    pub fn at(mut self, place: impl Display) -> Self {
        self.what = match self.what.as_str() {
            "" => place.to_string(),
            what => format!("{place}: {what}"),
        };
        self
    }

    /// The error with a way out.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }

    /// The error below it, if it is one of this type.
    pub fn cause<E: Error + 'static>(&self) -> Option<&E> {
        self.why.as_ref()?.downcast_ref()
    }

    /// The error with the name that may be meant, if there is one.
    #[must_use]
    pub fn meant(self, near: Option<&str>) -> Self {
        match near {
            Some(near) => self.hint(format!("did you mean {near}?")),
            None => self,
        }
    }
}

impl Display for CliError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        if let Some(why) = &self.why {
            let colon = if self.what.is_empty() { "" } else { ": " };
            write!(f, "{colon}{why}")?;
        }
        match self.hint.as_str() {
            "" => Ok(()),
            hint => write!(f, "; {hint}"),
        }
    }
}

impl<E: Into<Box<dyn Error + Send + Sync>>> From<E> for CliError {
    fn from(why: E) -> Self {
        Self {
            why: Some(why.into()),
            ..Self::default()
        }
    }
}

/// What was attempted, and where it fails.
pub trait Attempt<T> {
    /// The place of an error: [`CliError::at`].
    ///
    /// # Errors
    /// That of the attempt.
    fn at(self, place: impl Display) -> Result<T, CliError>;

    /// The way out of an error: [`CliError::hint`].
    ///
    /// # Errors
    /// That of the attempt.
    fn hint(self, hint: impl Into<String>) -> Result<T, CliError>;
}

impl<T, E: Into<CliError>> Attempt<T> for Result<T, E> {
    fn at(self, place: impl Display) -> Result<T, CliError> {
        self.map_err(|error| error.into().at(place))
    }

    fn hint(self, hint: impl Into<String>) -> Result<T, CliError> {
        self.map_err(|error| error.into().hint(hint))
    }
}
