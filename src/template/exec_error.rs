//! Errors of the evaluator: where the template was, what Go says about it.

use super::{
    display::context,
    error::{Error, Missing, Place, Stage},
    exec::{Exec, Fail},
    function::Failure,
};

impl Exec<'_, '_, '_> {
    /// Go's error at the current node.
    pub(super) fn fail(&self, what: impl AsRef<str>) -> Fail {
        self.error(what.as_ref(), Stage::Exec, None)
    }

    /// The same about a name that does not exist.
    pub(super) fn fail_missing(&self, what: impl AsRef<str>, missing: Missing) -> Fail {
        self.error(what.as_ref(), Stage::Exec, Some(missing))
    }

    /// A limit of ours, told as Go would tell it.
    pub(super) fn limit(&self, what: impl AsRef<str>) -> Fail {
        self.error(what.as_ref(), Stage::Limit, None)
    }

    /// What went wrong outside of any call.
    pub(super) fn failure(&self, failure: Failure) -> Fail {
        match failure {
            Failure::Error(text) => self.fail(text),
            Failure::Limit(text) => self.limit(text),
        }
    }

    /// Counts steps.
    pub(super) fn step(&mut self, count: u64) -> Result<(), Fail> {
        self.host.step(count).map_err(|failure| self.failure(failure))
    }

    fn error(&self, what: &str, stage: Stage, missing: Option<Missing>) -> Fail {
        let name = &self.template.name;
        let text = self.template.text();
        let (text, place) = match self.at {
            Some(at) => {
                let (line, column, printed) = context(text, at);
                let executing = crate::gostd::quote(self.name);
                let text = format!("template: {name}:{line}:{column}: executing {executing} at <{printed}>: {what}");
                (text, place(self.template.text(), at.position()))
            }
            None => (format!("template: {name}: {what}"), Place { line: 1, column: 1 }),
        };
        Box::new(Error {
            text,
            stage,
            place,
            missing: missing.map(Box::new),
            partial: Vec::new(),
        })
    }
}

/// Line and column, in characters, of a byte offset.
fn place(text: &str, position: usize) -> Place {
    let before = text.get(..position).unwrap_or(text);
    let line = before.rsplit_once('\n').map_or(before, |(_, line)| line);
    Place {
        line: before.matches('\n').count() + 1,
        column: line.chars().count() + 1,
    }
}

/// Bytes as text, each one that is not UTF-8 replaced.
pub(super) fn lossy(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    text
}
