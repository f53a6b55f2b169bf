//! Errors of the evaluator: the place in the template, and Go's text.

use super::run::{BoxedError, Exec, SMALL_PER_STEP};
use crate::parse::display::context;
use crate::value::error::{Error, Missing, Place, Stage};
use crate::value::failure::Failure;
use bumpwright_gostd::quote;

impl Exec<'_, '_, '_> {
    /// Go's error at the current node.
    pub(crate) fn fail(&self, what: impl AsRef<str>) -> BoxedError {
        self.error(what.as_ref(), Stage::Exec, None)
    }

    /// The same for a name that does not exist.
    pub(crate) fn fail_missing(&self, what: impl AsRef<str>, missing: Missing) -> BoxedError {
        self.error(what.as_ref(), Stage::Exec, Some(missing))
    }

    /// A limit of our own, in Go's form.
    pub(crate) fn limit(&self, what: impl AsRef<str>) -> BoxedError {
        self.error(what.as_ref(), Stage::Limit, None)
    }

    /// An error outside of any call.
    #[cold]
    pub(crate) fn failure(&self, failure: Failure) -> BoxedError {
        match failure {
            Failure::Error(text) => self.fail(text),
            Failure::Limit(text) => self.limit(text),
            Failure::Template(error) => self.fail(error.text),
        }
    }

    #[inline]
    pub(crate) fn step(&mut self, count: u64) -> Result<(), BoxedError> {
        self.host.step(count).map_err(|failure| self.failure(failure))
    }

    /// Counts things that take less than a step each.
    #[inline]
    pub(crate) fn small_steps(&mut self, count: usize) -> Result<(), BoxedError> {
        match count / SMALL_PER_STEP {
            0 => Ok(()),
            steps => self.step(steps as u64),
        }
    }

    fn error(&self, what: &str, stage: Stage, missing: Option<Missing>) -> BoxedError {
        let (name, template) = (&self.source.name, &*self.source.text.lossy());
        let (text, place) = match self.at {
            Some(at) => {
                let (line, column, printed) = context(template, at);
                let executing = quote(self.name);
                let text = format!("template: {name}:{line}:{column}: executing {executing} at <{printed}>: {what}");
                (text, Place::of(template, at.position()))
            }
            None => (format!("template: {name}: {what}"), Place::of(template, 0)),
        };
        Box::new(Error {
            text,
            stage,
            place,
            missing: missing.map(Box::new),
            partial: Vec::new(),
            cause: None,
        })
    }
}
