//! Templates that functions execute while a template is being executed.

use super::host::Host;
use crate::value::failure::{Failure, NestedError};
use crate::value::model::{Executes, Nested, Slot, Value};

impl<'t, 'h, 'w> Nested<'t, 'h, 'w> {
    pub(crate) fn new(host: &'h mut Host<'w>, set: &'t dyn Executes) -> Self {
        Self { host, set }
    }

    pub fn host(&mut self) -> &mut Host<'w> {
        self.host
    }

    /// Renders the template `name` of the set, unless more than `most` of its executions are in progress: then `None`.
    pub fn execute(&mut self, name: &str, data: Value, most: usize) -> Result<Option<Vec<u8>>, Failure> {
        let set = self.set;
        self.host.deeper(|host| {
            if host.enter(name) > most {
                return Ok(None);
            }
            let result = set.render(name, &Slot::of(data), host);
            host.leave(name);
            match result {
                Ok(out) => {
                    host.produce(out.len())?;
                    Ok(Some(out))
                }
                Err(error) => Err(Failure::Template(Box::new(error))),
            }
        })
    }

    /// Parses a text under the name of the set and renders it; what it defines is known to it alone.
    ///
    /// # Errors
    /// The text is not a template, or its execution failed.
    pub fn execute_text(&mut self, text: &str, data: Value) -> Result<Vec<u8>, NestedError> {
        // Reading it takes time, too.
        self.host
            .step((text.len() / 8) as u64)
            .and_then(|()| self.host.produce(text.len()))
            .map_err(NestedError::Limit)?;
        self.set.render_text(text, &Slot::of(data), self.host)
    }
}
