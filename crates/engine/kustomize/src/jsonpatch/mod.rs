//! JSON patches (RFC 6902) on nodes, as kustomize applies them with evanphx/json-patch v4.
//!
//! ```text
//! text ─▶ Patch::read: JSON where it begins with `[`, else YAML ─▶ Patch::apply ─▶ object changed in place, respelled
//! ```
//!
//! kustomize turns the object into JSON and back. Here the nodes stay, and [`Patch::apply`] spells their scalars as the way
//! through JSON would: numbers lose what a float does not hold (`9007199254740993` becomes `9.007199254740992e+15`), quotes
//! go where a string does not need them, folded text gets the line breaks that kyaml's printing adds.
//!
//! Where the library is laxer than the RFC, so is this: `replace` adds a key that is missing, `copy` of a missing key
//! gives null, negative indices count from the end, a path need not begin with `/`. `test` compares the spelling of numbers.

mod apply;
mod json_text;
mod operation;
mod pointer;
mod spelling;

pub use operation::Patch;

use crate::growth::GrowthError;
use bumpwright_yaml::{Place, ReadError, WriteError};

/// Why a patch cannot be read or applied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatchError {
    /// It begins as JSON does, and is none.
    #[error("invalid JSON patch: {problem}")]
    Json {
        /// Where it stops to be.
        place: Place,
        /// What is wrong.
        problem: &'static str,
    },
    /// It is no YAML.
    #[error("invalid JSON patch: {0}")]
    Yaml(#[from] ReadError),
    /// It is no list of operations.
    #[error("invalid JSON patch: expected a list of operations (`op`, `path`, …) but got {found}")]
    Shape {
        /// Where something else stands.
        place: Place,
        /// What stands there.
        found: &'static str,
    },
    /// An operation missing_field a field, or it is no string.
    #[error("{op} operation has no `{field}`")]
    Field {
        /// Where the operation stands.
        place: Place,
        /// Its kind.
        op: String,
        /// The field.
        field: &'static str,
    },
    /// An operation of no known kind.
    #[error("unexpected kind of operation: {op}: known are add, copy, move, remove, replace, test")]
    Unknown {
        /// Where the operation stands.
        place: Place,
        /// What it calls itself.
        op: String,
    },
    /// The object does not have what the path leads to.
    #[error("{op} operation does not apply: doc is missing path: \"{path}\"")]
    Path {
        /// Where the operation stands.
        place: Place,
        /// Its kind.
        op: &'static str,
        /// The path.
        path: String,
    },
    /// A list has no such element.
    #[error("{op} operation does not apply at \"{path}\": \"{index}\" is not an index of a list of {length}")]
    Index {
        /// Where the operation stands.
        place: Place,
        /// Its kind.
        op: &'static str,
        /// The path.
        path: String,
        /// The last part of it.
        index: String,
        /// Elements of the list.
        length: usize,
    },
    /// A `test` found another value.
    #[error("testing value {path} failed")]
    Test {
        /// Where the operation stands.
        place: Place,
        /// The path.
        path: String,
    },
    /// The whole object was replaced by something that is none.
    #[error("{op} operation leaves no object, but {found}")]
    Root {
        /// Where the operation stands.
        place: Place,
        /// Its kind.
        op: &'static str,
        /// What it leaves.
        found: &'static str,
    },
    /// Values are copied without end.
    #[error("{op} operation: {cause}")]
    Growth {
        /// Where the operation stands.
        place: Place,
        /// Its kind.
        op: &'static str,
        /// What is too much.
        cause: GrowthError,
    },
    /// A value has no form in JSON.
    #[error("{problem}")]
    Value {
        /// Where it stands.
        place: Place,
        /// What is wrong.
        problem: String,
    },
}

impl Patch {
    /// What the values of all operations take, in bytes of memory.
    pub(crate) fn weight(&self) -> u64 {
        let values = self.operations.iter().filter_map(|operation| operation.value.as_ref());
        values.map(bumpwright_yaml::weight::of_node).sum()
    }
}

impl From<WriteError> for PatchError {
    fn from(error: WriteError) -> Self {
        Self::Value {
            place: error.place,
            problem: error.problem,
        }
    }
}

impl PatchError {
    /// Where the fault stands; nothing for [`PatchError::Yaml`], which tells it itself.
    #[must_use]
    pub const fn place(&self) -> Place {
        match self {
            Self::Json { place, .. }
            | Self::Shape { place, .. }
            | Self::Field { place, .. }
            | Self::Unknown { place, .. }
            | Self::Path { place, .. }
            | Self::Index { place, .. }
            | Self::Test { place, .. }
            | Self::Root { place, .. }
            | Self::Growth { place, .. }
            | Self::Value { place, .. } => *place,
            Self::Yaml(_) => Place::NONE,
        }
    }
}

const fn name_of(node: &bumpwright_yaml::Node) -> &'static str {
    match &node.value {
        bumpwright_yaml::Value::Scalar(_) => "a single value",
        bumpwright_yaml::Value::Mapping(_) => "a mapping",
        bumpwright_yaml::Value::Sequence(_) => "a list",
    }
}
