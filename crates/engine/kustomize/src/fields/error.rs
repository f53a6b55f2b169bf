//! Errors of fields, and of the configuration that lists fields.

use bumpwright_yaml::{Node, Place, Value};
use thiserror::Error;

/// A transformer cannot change a field.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("field {path:?} of {object}: {fault}")]
pub struct FieldError {
    /// The path as written.
    pub path: String,
    /// The object: kind, then namespace and name.
    pub object: String,
    #[source]
    pub fault: Fault,
}

impl FieldError {
    /// The place of the error.
    #[must_use]
    pub const fn place(&self) -> Place {
        self.fault.place
    }

    /// The error at `path` of `object`.
    #[must_use]
    pub fn new(path: &str, object: &Node, fault: Fault) -> Self {
        Self {
            path: path.to_owned(),
            object: describe(object),
            fault,
        }
    }
}

/// A problem at a place in an object.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{problem}")]
pub struct Fault {
    pub place: Place,
    /// The problem, with the way out where there is one.
    pub problem: String,
}

impl Fault {
    /// A problem at `place`.
    pub fn new(place: Place, problem: impl Into<String>) -> Self {
        Self {
            place,
            problem: problem.into(),
        }
    }

    /// The problem of a node of the wrong kind.
    #[must_use]
    pub(crate) fn wrong_kind(node: &Node, wanted: &str) -> Self {
        Self::new(
            node.place,
            format!("wrong node kind: expected {wanted} but got {}", kind_of(node)),
        )
    }
}

/// An error of the configuration.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ConfigError {
    /// Two specs of the same field disagree.
    #[error("field spec {spec} conflicts with {ours}: they disagree on `create`; give it the same value in both")]
    Conflict {
        /// The spec that is added.
        spec: String,
        /// The spec in the table.
        ours: String,
    },
    /// A field of a configuration is unknown, missing or of the wrong type.
    #[error("{what}: {problem}")]
    Field {
        place: Place,
        /// The name of the configuration.
        what: String,
        problem: String,
    },
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Several(Vec<Self>),
}

impl ConfigError {
    /// Success, the one error, or all of them as one.
    ///
    /// # Errors
    /// There is one.
    pub fn all(errors: Vec<Self>) -> Result<(), Self> {
        let mut errors: Vec<Self> = errors.into_iter().flat_map(Self::each).collect();
        match errors.len() {
            0 => Ok(()),
            1 => errors.pop().map_or(Ok(()), Err),
            _ => Err(Self::Several(errors)),
        }
    }

    #[must_use]
    pub fn each(self) -> Vec<Self> {
        match self {
            Self::Several(errors) => errors,
            one => vec![one],
        }
    }

    /// The place of the error, if there is only one.
    #[must_use]
    pub const fn place(&self) -> Place {
        match self {
            Self::Conflict { .. } => Place::NONE,
            Self::Field { place, .. } => *place,
            Self::Several(errors) => match errors.as_slice() {
                [first, ..] => first.place(),
                [] => Place::NONE,
            },
        }
    }
}

/// `MappingNode`, `SequenceNode` or `ScalarNode`, as kustomize's messages call them.
pub(super) const fn kind_of(node: &Node) -> &'static str {
    match node.value {
        Value::Mapping(_) => "MappingNode",
        Value::Sequence(_) => "SequenceNode",
        Value::Scalar(_) => "ScalarNode",
    }
}

/// `Kind.version.group/name.namespace`, as kustomize's messages show an object.
fn describe(object: &Node) -> String {
    let text = |key, none| {
        let text = object.lookup(&["metadata", key]).and_then(Node::as_str);
        text.filter(|text| !text.is_empty()).unwrap_or(none)
    };
    let gvk = crate::Gvk::of(object);
    format!("{gvk}/{}.{}", text("name", "[noName]"), text("namespace", "[noNs]"))
}
