//! Templates that call each other: those of several texts, each parsed under a name of its own.

use std::collections::HashMap;
use std::rc::Rc;

use super::host::Host;
use super::run::{self, BoxedError};
use crate::builtin::functions::Functions;
use crate::parse::trees::{self, Tree};
use crate::value::error::{Error, Place, Stage};
use crate::value::failure::NestedError;
use crate::value::model::{Executes, Slot};
use bumpwright_gostd::quote;

/// A set of templates, which may be put over another: Go's `template.Clone` without the copy.
#[derive(Debug)]
pub struct Templates<'p> {
    /// The name of the set in errors.
    name: &'p str,
    /// The functions of texts that are parsed while a template is executed; none if that is not wanted.
    pub(crate) functions: Option<&'p Functions>,
    outer: Option<&'p Templates<'p>>,
    trees: HashMap<String, Rc<Tree>>,
}

/// A text that has been parsed, for any number of sets.
#[derive(Clone, Debug)]
pub struct ParsedText(Vec<(String, Rc<Tree>)>);

impl ParsedText {
    /// Parses a text.
    ///
    /// # Errors
    /// The text is not a template: Go's error.
    pub fn parse(name: &str, text: &str, functions: &Functions) -> Result<Self, Error> {
        let trees = trees::parse(name, text, functions)?.trees;
        Ok(Self(
            trees.into_iter().map(|(name, tree)| (name, Rc::new(tree))).collect(),
        ))
    }
}

impl<'p> Templates<'p> {
    /// An empty set. Its name is in the error about a template that it does not have.
    pub fn new(name: &'p str, functions: &'p Functions) -> Self {
        Self {
            name,
            functions: Some(functions),
            outer: None,
            trees: HashMap::new(),
        }
    }

    /// The set of one text.
    pub(crate) fn of_one(name: &str, text: &str, functions: &Functions) -> Result<Templates<'static>, Error> {
        Ok(Templates {
            name: "",
            functions: None,
            outer: None,
            trees: ParsedText::parse(name, text, functions)?.0.into_iter().collect(),
        })
    }

    /// An empty set over this one.
    pub(crate) fn over(&self) -> Templates<'_> {
        Templates {
            name: self.name,
            functions: self.functions,
            outer: Some(self),
            trees: HashMap::new(),
        }
    }

    /// Parses a text, and adds it and what it defines. A template replaces an earlier one of the same name,
    /// unless it is blank.
    ///
    /// # Errors
    /// The text is not a template: Go's error.
    pub fn add(&mut self, name: &str, text: &str) -> Result<(), Error> {
        let Some(functions) = self.functions else { return Ok(()) };
        self.add_parsed(&ParsedText::parse(name, text, functions)?);
        Ok(())
    }

    /// [`Templates::add`] of a text that has been parsed.
    pub fn add_parsed(&mut self, text: &ParsedText) {
        for (name, tree) in &text.0 {
            if !tree.is_empty || self.find(name).is_none() {
                self.trees.insert(name.clone(), Rc::clone(tree));
            }
        }
    }

    /// The same for a text that is executed next: it is there even if it is blank.
    pub(crate) fn add_own(&mut self, name: &str, text: &str) -> Result<(), Error> {
        let Some(functions) = self.functions else { return Ok(()) };
        for (found, tree) in ParsedText::parse(name, text, functions)?.0 {
            if found == name || !tree.is_empty || self.find(&found).is_none() {
                self.trees.insert(found, tree);
            }
        }
        Ok(())
    }

    /// Renders the template `name` with `data` as its dot.
    ///
    /// # Errors
    /// As [`Template::execute`](crate::Template::execute), and when the template is not defined.
    pub fn execute(&self, name: &str, data: &Slot, host: &mut Host<'_>) -> Result<Vec<u8>, Error> {
        let mut out = Vec::new();
        match run::run(self, name, data, host, &mut out) {
            Ok(()) => Ok(out),
            Err(error) => {
                out.truncate(host.limits().output);
                Err(Error { partial: out, ..*error })
            }
        }
    }

    pub(crate) fn name(&self) -> &'p str {
        self.name
    }

    pub(crate) fn find(&self, name: &str) -> Option<(&str, &Tree)> {
        let mut set = self;
        loop {
            if let Some((name, tree)) = set.trees.get_key_value(name) {
                return Some((name, tree));
            }
            set = set.outer?;
        }
    }

    /// All names, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.trees.keys().cloned().collect();
        let mut outer = self.outer;
        while let Some(set) = outer {
            names.extend(set.trees.keys().cloned());
            outer = set.outer;
        }
        names.sort();
        names.dedup();
        names
    }

    pub(crate) fn unknown(&self, name: &str) -> BoxedError {
        let (name, set) = (quote(name), quote(self.name));
        Box::new(Error {
            text: format!("template: no template {name} associated with template {set}"),
            stage: Stage::Exec,
            place: Place { line: 1, column: 1 },
            missing: None,
            partial: Vec::new(),
            cause: None,
        })
    }
}

impl Executes for Templates<'_> {
    fn render(&self, name: &str, data: &Slot, host: &mut Host<'_>) -> Result<Vec<u8>, Error> {
        self.execute(name, data, host)
    }

    fn render_text(&self, text: &str, data: &Slot, host: &mut Host<'_>) -> Result<Vec<u8>, NestedError> {
        let mut over = self.over();
        let name = over.name();
        over.add_own(name, text).map_err(NestedError::Parse)?;
        host.deeper(|host| over.execute(name, data, host).map_err(NestedError::Exec))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::exec::host::NoWorld;
    use crate::{Limits, Value};

    #[test]
    fn the_last_definition_counts_unless_it_is_blank() {
        let functions = Functions::new(&[]);
        let mut set = Templates::new("set", &functions);
        set.add("a", "{{define \"x\"}}1{{end}}{{template \"x\"}}").unwrap();
        set.add("b", "{{define \"x\"}}2{{end}}").unwrap();
        set.add("c", "{{define \"x\"}} {{end}}\n{{.y.z}}").unwrap();
        let mut host = Host::new(Limits::default(), &NoWorld).with_zero_for_missing_keys();
        let data = Slot::of(Value::dict([("a", Value::Nil)]));
        assert_eq!(set.execute("a", &data, &mut host).unwrap(), b"2");
        assert_eq!(
            set.execute("c", &data, &mut host).unwrap_err().text,
            "template: c:2:4: executing \"c\" at <.y.z>: nil pointer evaluating interface {}.z"
        );
        assert_eq!(
            set.execute("d", &data, &mut host).unwrap_err().text,
            "template: no template \"d\" associated with template \"set\""
        );
    }
}
