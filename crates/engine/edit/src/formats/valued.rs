//! The values of a file in any format, while they are read.

use super::reader::Value;
use crate::find::values::Tree;

/// The values of a file.
#[derive(Debug, Default)]
pub(super) struct Values {
    pub(super) tree: Tree,
    /// Each scalar by its number, keys too.
    pub(super) scalars: Vec<Value>,
}

impl Values {
    pub(super) fn scalar(&mut self, text: &str, value: Value) {
        self.tree.scalar(text);
        self.scalars.push(value);
    }
}

/// An offset and why the file is not read.
pub(super) type Refused = (usize, String);
