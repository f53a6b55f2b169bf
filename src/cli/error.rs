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

    /// The error at a place, if that is known.
    #[must_use]
    pub fn at_known(self, place: Option<&str>) -> Self {
        match place {
            Some(place) => self.at(place),
            None => self,
        }
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
            write!(f, "{colon}{}", without_number(&why.to_string()))?;
        }
        match self.hint.as_str() {
            "" => Ok(()),
            hint => write!(f, "; {hint}"),
        }
    }
}

/// The text of an error of the operating system without ` (os error 2)`.
fn without_number(text: &str) -> &str {
    match text.rsplit_once(" (os error ") {
        Some((text, number)) if number.ends_with(')') => text,
        _ => text,
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
pub(in crate::cli) trait Attempt<T> {
    /// The place of an error: [`CliError::at`].
    fn at(self, place: impl Display) -> Result<T, CliError>;

    /// The way out of an error: [`CliError::hint`].
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::io::{Error as IoError, ErrorKind};

    #[test]
    fn an_error_is_its_place_what_is_wrong_why_and_the_way_out() {
        let read = || Err::<(), IoError>(ErrorKind::NotFound.into());
        for (error, shown) in [
            (CliError::new("no such folder"), "no such folder"),
            (CliError::new("not UTF-8").at("a.yaml"), "a.yaml: not UTF-8"),
            (read().at("a.yaml").unwrap_err(), "a.yaml: entity not found"),
            (
                read().at("a.yaml").at("--fleet").unwrap_err(),
                "--fleet: a.yaml: entity not found",
            ),
            (
                read().hint("name another").at("a").unwrap_err(),
                "a: entity not found; name another",
            ),
            (
                CliError::new("no kind ks").meant(Some("kustomization")),
                "no kind ks; did you mean kustomization?",
            ),
            (CliError::new("no kind ks").meant(None), "no kind ks"),
        ] {
            assert_eq!(error.to_string(), shown);
        }
    }

    #[test]
    fn the_error_below_is_kept_with_its_type() {
        let error = CliError::from(IoError::from(ErrorKind::NotFound)).at("a.yaml");
        assert_eq!(error.cause::<IoError>().unwrap().kind(), ErrorKind::NotFound);
        assert!(error.cause::<fmt::Error>().is_none() && CliError::new("x").cause::<IoError>().is_none());
    }
}
