//! The operations of a patch, read from its text.

use super::spelling::to_json;
use super::{PatchError, json_text, name_of, pointer};
use bumpwright_yaml::{Dialect, FileId, Node, Place, ReadOptions, Scalar, Tag, read_first};

/// A patch: operations in their order.
#[derive(Debug, Clone, Default)]
pub struct Patch {
    pub(super) operations: Vec<Operation>,
}

/// An operation as written: a missing field is an error when it is applied.
#[derive(Debug, Clone)]
pub(super) struct Operation {
    pub(super) place: Place,
    /// Its kind; `unknown` where it has none.
    pub(super) op: String,
    pub(super) path: Option<String>,
    pub(super) from: Option<String>,
    pub(super) value: Option<Node>,
}

impl Patch {
    /// Parses a patch. Text that begins with `[` is JSON and nothing else; all other text is YAML, of which
    /// the first document counts.
    ///
    /// # Errors
    ///
    /// When it is neither, or not a list of operations.
    pub fn read(text: &[u8], file: FileId) -> Result<Self, PatchError> {
        let list = if text.first() == Some(&b'[') {
            json_text::parse(text, file)?
        } else {
            let Some(mut list) = read_first(text, &ReadOptions::sigs(file))? else {
                return Ok(Self::default());
            };
            to_json(&mut list, Dialect::V2)?;
            list
        };
        if list.is_null() {
            return Ok(Self::default());
        }
        let Some(items) = list.as_items() else {
            return Err(shape(&list));
        };
        let operations = items.iter().map(operation).collect::<Result<_, _>>()?;
        Ok(Self { operations })
    }

    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }

    /// Whether an operation reads or changes the field at `keys`, something in it or around it.
    #[must_use]
    pub fn concerns(&self, way: &[&str]) -> bool {
        let paths = self.operations.iter().flat_map(|each| [&each.path, &each.from]);
        paths.flatten().any(|path| pointer::touches(path, way))
    }

    /// How many operations there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.operations.len()
    }
}

const fn shape(node: &Node) -> PatchError {
    PatchError::Shape {
        place: node.place,
        found: name_of(node),
    }
}

fn operation(node: &Node) -> Result<Operation, PatchError> {
    if node.as_mapping().is_none() && !node.is_null() {
        return Err(shape(node));
    }
    let text = |name| node.get(name).and_then(Node::as_scalar).and_then(string);
    Ok(Operation {
        place: node.place,
        op: text("op").unwrap_or_else(|| "unknown".to_owned()),
        path: text("path"),
        from: text("from"),
        value: node.get("value").cloned(),
    })
}

fn string(scalar: &Scalar) -> Option<String> {
    (scalar.tag == Tag::Str).then(|| scalar.text.to_string())
}
