//! JSON patches (RFC 6902) on nodes, as kustomize applies them with evanphx/json-patch v4.
//!
//! ```text
//! text ─▶ Patch::read: JSON where it begins with `[`, else YAML ─▶ Patch::apply ─▶ object changed in place, respelled
//! ```
//!
//! kustomize turns the object into JSON and back. Here the nodes stay, and [`Patch::apply`] respells their scalars as
//! after that round trip: numbers lose what a float does not hold (`9007199254740993` becomes `9.007199254740992e+15`),
//! quotes are dropped where a string does not need them, folded text gets the line breaks that kyaml's printing adds.
//!
//! Where the library is laxer than the RFC, so is this: `replace` adds a missing key, `copy` of a missing key gives
//! null, negative indices count from the end, a path need not begin with `/`. `test` compares the spelling of numbers.

mod apply;
mod json_text;
mod operation;
mod pointer;
mod spelling;

pub use operation::Patch;

use crate::growth::GrowthError;
use bumpwright_yaml::{Place, ReadError, WriteError};

/// An error of reading or applying a patch.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatchError {
    /// It begins as JSON does, but is not JSON.
    #[error("invalid JSON patch: {problem}")]
    Json {
        /// The place of the error.
        place: Place,
        problem: &'static str,
    },
    /// It is not YAML.
    #[error("invalid JSON patch: {0}")]
    Yaml(#[from] ReadError),
    /// It is not a list of operations.
    #[error("invalid JSON patch: expected a list of operations (`op`, `path`, …) but got {found}")]
    Shape {
        /// The place of the other value.
        place: Place,
        found: &'static str,
    },
    /// A field of an operation is missing, or is not a string.
    #[error("{op} operation has no `{field}`")]
    Field {
        /// The place of the operation.
        place: Place,
        op: String,
        field: &'static str,
    },
    /// An operation of unknown kind.
    #[error("unexpected kind of operation: {op}: known are add, copy, move, remove, replace, test")]
    Unknown {
        /// The place of the operation.
        place: Place,
        op: String,
    },
    /// The object does not have the path.
    #[error("{op} operation does not apply: doc is missing path: \"{path}\"")]
    Path {
        /// The place of the operation.
        place: Place,
        op: &'static str,
        path: String,
    },
    /// A list has no such element.
    #[error("{op} operation does not apply at \"{path}\": \"{index}\" is not an index of a list of {length}")]
    Index {
        /// The place of the operation.
        place: Place,
        op: &'static str,
        path: String,
        index: String,
        /// The length of the list.
        length: usize,
    },
    /// A `test` compared with another value.
    #[error("testing value {path} failed")]
    Test {
        /// The place of the operation.
        place: Place,
        path: String,
    },
    /// The whole object was replaced by something else.
    #[error("{op} operation leaves {found} instead of an object")]
    Root {
        /// The place of the operation.
        place: Place,
        op: &'static str,
        /// The kind of the result.
        found: &'static str,
    },
    /// Copied values exceed a limit.
    #[error("{op} operation: {cause}")]
    Growth {
        /// The place of the operation.
        place: Place,
        op: &'static str,
        cause: GrowthError,
    },
    /// A value has no form in JSON.
    #[error("{problem}")]
    Value { place: Place, problem: String },
}

impl Patch {
    /// The size of the values of all operations, in bytes of memory.
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
    /// The place of the error; `None` for [`PatchError::Yaml`], whose message has it.
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
