//! Reads a mapping field by field, as Go's libraries decode YAML into a struct by way of JSON.
//!
//! Names of fields match without regard to case, null leaves a field as it is, and a number or boolean is accepted as a
//! string in its canonical spelling.

use super::error::{ConfigError, kind_of};
use bumpwright_gostd::{format_float, parse_float, parse_int};
use bumpwright_nearest::nearest;
use bumpwright_text::Excerpt;
use bumpwright_yaml::{Mapping, Node, Place, Scalar, Tag};
use compact_str::{CompactString, ToCompactString, format_compact};

/// Maximum number of characters of a text in messages.
const BRIEF: usize = 60;
/// Maximum number of unknown fields reported at once.
const MAX_UNKNOWN: usize = 20;

/// A mapping that is being read, and the names that were looked up.
#[derive(Debug)]
pub struct Fields<'a> {
    what: &'a str,
    place: Place,
    mapping: Option<&'a Mapping>,
    known: Vec<&'static str>,
    exact: bool,
}

impl<'a> Fields<'a> {
    /// Starts reading `node`, called `what` in messages. Null is a mapping without fields.
    ///
    /// # Errors
    /// It is not a mapping.
    pub fn of(node: &'a Node, what: &'a str) -> Result<Self, ConfigError> {
        let mapping = node.as_mapping();
        if mapping.is_none() && !node.is_null() {
            return Err(wrong(node, what, "a mapping"));
        }
        Ok(Self {
            what,
            place: node.place,
            mapping,
            known: Vec::new(),
            exact: false,
        })
    }

    /// Accepts only strings as strings, as kustomize does for a kustomization; it is less strict for other files.
    #[must_use]
    pub const fn exact(mut self, exact: bool) -> Self {
        self.exact = exact;
        self
    }

    /// Declares the fields: an error that comes before all were looked up then reports none of them as unknown.
    #[must_use]
    pub fn declare(mut self, names: &[&'static str]) -> Self {
        self.known.extend(names);
        self
    }

    /// The text of a scalar in a string field.
    fn text(&self, node: &Node) -> Option<CompactString> {
        let scalar = node.as_scalar()?;
        let is_other = matches!(scalar.tag, Tag::Bool | Tag::Int | Tag::Float);
        (!(self.exact && is_other)).then(|| string_of(scalar))
    }

    /// The place of the mapping.
    #[must_use]
    pub const fn place(&self) -> Place {
        self.place
    }

    /// The value of a field; `None` where it is missing or null. Several spellings have been
    /// merged by [`super::settle`] before.
    pub fn get(&mut self, name: &'static str) -> Option<&'a Node> {
        if !self.known.contains(&name) {
            self.known.push(name);
        }
        let entries = self.mapping.into_iter().flat_map(|mapping| &mapping.entries);
        let ours = entries.rev().find(|entry| entry.key.text.eq_ignore_ascii_case(name));
        ours.map(|entry| &entry.value).filter(|value| !value.is_null())
    }

    /// A string; empty where it is missing.
    ///
    /// # Errors
    /// The value is not a scalar.
    pub fn string(&mut self, name: &'static str) -> Result<CompactString, ConfigError> {
        Ok(self.optional_string(name)?.unwrap_or_default())
    }

    /// A string, if the field exists.
    ///
    /// # Errors
    /// The value is not a scalar.
    pub(crate) fn optional_string(&mut self, name: &'static str) -> Result<Option<CompactString>, ConfigError> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let text = self.text(value);
        text.map(Some).ok_or_else(|| self.wrong(name, value, "a string"))
    }

    /// A boolean; false where it is missing.
    ///
    /// # Errors
    /// The value is not a boolean.
    pub fn boolean(&mut self, name: &'static str) -> Result<bool, ConfigError> {
        let Some(value) = self.get(name) else { return Ok(false) };
        let scalar = value.as_scalar().filter(|scalar| scalar.tag == Tag::Bool);
        let scalar = scalar.ok_or_else(|| self.wrong(name, value, "true or false"))?;
        Ok(is_true(&scalar.text))
    }

    /// An integer; zero where it is missing.
    ///
    /// # Errors
    /// The value is not an integer, or too large for 64 bits.
    pub fn integer(&mut self, name: &'static str) -> Result<i64, ConfigError> {
        let Some(value) = self.get(name) else { return Ok(0) };
        let scalar = value
            .as_scalar()
            .filter(|scalar| matches!(scalar.tag, Tag::Int | Tag::Float));
        let number = scalar.and_then(|scalar| string_of(scalar).parse().ok());
        number.ok_or_else(|| self.wrong(name, value, "a whole number"))
    }

    /// The items of a list; empty where it is missing.
    ///
    /// # Errors
    /// The value is not a list.
    pub fn list(&mut self, name: &'static str) -> Result<&'a [Node], ConfigError> {
        let Some(value) = self.get(name) else { return Ok(&[]) };
        value.as_items().ok_or_else(|| self.wrong(name, value, "a list"))
    }

    /// A list of strings; empty where it is missing.
    ///
    /// # Errors
    /// The value is not a list, or an item is not a scalar.
    pub fn strings(&mut self, name: &'static str) -> Result<Vec<CompactString>, ConfigError> {
        let items = self.list(name)?.iter().map(|item| {
            let text = self.text(item);
            text.ok_or_else(|| self.wrong(name, item, "a string"))
        });
        items.collect()
    }

    /// A mapping of strings to strings, sorted by key; each value is a string node at its place.
    ///
    /// # Errors
    /// The value is not a mapping, or holds something else.
    pub fn pairs(&mut self, name: &'static str) -> Result<Vec<(CompactString, Node)>, ConfigError> {
        let Some(value) = self.get(name) else {
            return Ok(Vec::new());
        };
        let mapping = value.as_mapping().ok_or_else(|| self.wrong(name, value, "a mapping"))?;
        let pairs = mapping.entries.iter().map(|entry| {
            let text = self.text(&entry.value);
            let text = text.ok_or_else(|| self.wrong(name, &entry.value, "a mapping of strings"))?;
            Ok((string_of(&entry.key), Node::string(text).at(entry.value.place)))
        });
        let mut pairs = pairs.collect::<Result<Vec<_>, ConfigError>>()?;
        pairs.sort_by(|(a, _), (b, _)| a.cmp(b));
        Ok(pairs)
    }

    /// Rejects fields that were never looked up.
    ///
    /// # Errors
    /// There is one.
    pub fn finish(self) -> Result<(), ConfigError> {
        let entries = self.mapping.into_iter().flat_map(|mapping| &mapping.entries);
        let unknown = entries.filter(|entry| {
            let is_known = self.known.iter().any(|name| entry.key.text.eq_ignore_ascii_case(name));
            !is_known
        });
        let errors = unknown
            .take(MAX_UNKNOWN)
            .map(|entry| self.unknown(&entry.key.text, entry.place));
        ConfigError::all(errors.collect())
    }

    fn unknown(&self, name: &str, place: Place) -> ConfigError {
        let hint = match nearest(name, self.known.iter().copied()) {
            Some(near) => format!("did you mean {near:?}?"),
            None => format!("known are {}", self.known.join(", ")),
        };
        ConfigError::Field {
            place,
            what: self.what.to_owned(),
            problem: format!("unknown field {:?}; {hint}", brief(name)),
        }
    }

    /// The error of a field whose value is not what it must be.
    #[must_use]
    pub fn wrong(&self, name: &str, value: &Node, wanted: &str) -> ConfigError {
        wrong(value, &format!("{} field {name:?}", self.what), wanted)
    }
}

/// The beginning of a long text.
fn brief(text: &str) -> CompactString {
    match text.cut_to(BRIEF) {
        Some(cut) => format_compact!("{}…", cut),
        None => text.into(),
    }
}

fn wrong(value: &Node, what: &str, wanted: &str) -> ConfigError {
    let actual = value.as_scalar().map_or_else(
        || kind_of(value).to_owned(),
        |scalar| format!("{:?}", brief(&scalar.text)),
    );
    ConfigError::Field {
        place: value.place,
        what: what.to_owned(),
        problem: format!("must be {wanted}, not {actual}"),
    }
}

/// The text of a scalar in a string field of Go: numbers and booleans in their canonical spelling, null as empty.
fn string_of(scalar: &Scalar) -> CompactString {
    let text = scalar.text.as_str();
    match scalar.tag {
        Tag::Null => CompactString::default(),
        Tag::Bool => is_true(text).to_compact_string(),
        Tag::Int => integer_of(text).unwrap_or_else(|| text.into()),
        Tag::Float => parse_float(text.replace('_', ""), 64)
            .map_or_else(|_| text.into(), |number| format_float(number, b'g', None, 64).into()),
        _ => text.into(),
    }
}

fn integer_of(text: &str) -> Option<CompactString> {
    let plain = text.replace('_', "");
    let binary = plain.strip_prefix("0b").map(|digits| parse_int(digits, 2, 64));
    let number = binary.unwrap_or_else(|| parse_int(&plain, 0, 64)).ok()?;
    Some(format_compact!("{number}"))
}

fn is_true(text: &str) -> bool {
    matches!(text.to_ascii_lowercase().as_str(), "true" | "yes" | "on" | "y")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::node;

    #[test]
    fn strings_take_numbers_and_booleans_in_their_canonical_spelling() {
        let config = node(r#"{"Name":1.5,"flag":true,"count":7,"none":null}"#);
        let mut fields = Fields::of(&config, "config").unwrap();
        assert_eq!(fields.string("name").unwrap(), "1.5");
        assert_eq!(fields.string("flag").unwrap(), "true");
        assert_eq!(fields.string("none").unwrap(), "");
        assert_eq!(fields.integer("count").unwrap(), 7);
        assert!(fields.boolean("flag").unwrap());
        fields.finish().unwrap();
        let mut exact = Fields::of(&config, "config").unwrap().exact(true);
        assert!(
            exact.string("name").is_err(),
            "a kustomization holds no numbers where strings are wanted"
        );
    }

    #[test]
    fn errors_name_the_field() {
        let config = node(r#"{"list":"x","other":1}"#);
        let mut fields = Fields::of(&config, "config").unwrap();
        let error = fields.list("list").unwrap_err().to_string();
        assert_eq!(error, r#"config field "list": must be a list, not "x""#);
        let error = fields.finish().unwrap_err().to_string();
        assert_eq!(error, r#"config: unknown field "other"; known are list"#);
    }
}
