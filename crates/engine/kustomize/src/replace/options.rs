//! Which part of a field a replacement reads or writes.

use super::error::ReplaceError;
use super::lookup::{settle_tag, untagged_scalar};
use crate::fields::{ConfigError, Fault, Fields};
use bumpwright_yaml::{Node, Scalar, Value};
use compact_str::CompactString;

/// The `options` of a source or a target.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldOptions {
    /// The delimiter of the field's text; empty to take it whole.
    pub delimiter: CompactString,
    /// The index of the part; in a target, a part before the first or after the last is inserted there.
    pub index: i64,
    /// Parsed, but without effect, as in kustomize.
    pub encoding: CompactString,
    /// Whether to create a missing field of a target.
    pub create: bool,
}

impl FieldOptions {
    pub(super) fn read(node: &Node, strict: bool) -> Result<Self, ConfigError> {
        let mut fields = Fields::of(node, "options")?.exact(strict);
        let options = Self {
            delimiter: fields.string("delimiter")?,
            index: fields.integer("index")?,
            encoding: fields.string("encoding")?,
            create: fields.boolean("create")?,
        };
        if strict {
            fields.finish()?;
        }
        Ok(options)
    }

    /// The value of a source's field.
    pub(super) fn refine(&self, field: &Node) -> Result<Node, ReplaceError> {
        if self.delimiter.is_empty() {
            return Ok(field.clone());
        }
        let Some(scalar) = field.as_scalar() else {
            return Err(ReplaceError::of(field.place, NEEDS_SCALAR));
        };
        let text = scalar.text.as_str();
        let part = usize::try_from(self.index)
            .ok()
            .and_then(|at| text.split(self.delimiter.as_str()).nth(at));
        let Some(part) = part else {
            let problem = format!("options.index {} is out of bounds for value {text}", self.index);
            return Err(ReplaceError::of(field.place, problem));
        };
        Ok(Node {
            place: field.place,
            value: Value::Scalar(Scalar {
                text: part.into(),
                ..scalar.clone()
            }),
        })
    }

    /// Puts `value` into a target's field. A scalar takes the text and keeps its type; anything else is replaced.
    pub(super) fn set(&self, field: &mut Node, value: &Node) -> Result<(), Fault> {
        let text = value.written();
        let joined;
        let text = match (self.delimiter.as_str(), field.as_scalar()) {
            ("", _) => text,
            (_, None) => return Err(Fault::new(field.place, NEEDS_SCALAR)),
            (_, Some(old)) => {
                joined = self.join(&old.text, value.text());
                &joined
            }
        };
        match &mut field.value {
            Value::Scalar(scalar) => scalar.text = text.into(),
            _ => *field = value.clone(),
        }
        settle_tag(field);
        Ok(())
    }

    /// The text of a target with the part at `index` replaced, or one inserted before or after all.
    fn join(&self, old: &str, part: &str) -> String {
        let mut parts: Vec<&str> = old.split(self.delimiter.as_str()).collect();
        match usize::try_from(self.index) {
            Err(_) => parts.insert(0, part),
            Ok(at) => match parts.get_mut(at) {
                Some(old) => *old = part,
                None => parts.push(part),
            },
        }
        parts.join(&self.delimiter)
    }

    /// The node to create at the end of a missing path: of the value's kind.
    pub(super) fn new_field(&self, value: &Node) -> Option<Node> {
        self.create.then(|| match value.value {
            Value::Scalar(_) => untagged_scalar(""),
            Value::Mapping(_) => Node::mapping(),
            Value::Sequence(_) => Node::sequence(Vec::new()),
        })
    }
}

const NEEDS_SCALAR: &str = "delimiter option can only be used with scalar nodes";
