//! What was migrated, what was left, and why.

use bumpwright_api::Place;
use bumpwright_edit::DocumentId;

/// An object that is rewritten as v1, or has references that are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Migrated {
    /// Start of the object.
    pub place: Place,
    /// The object, with its old version.
    pub object: DocumentId,
    /// Old version; empty when only references in it change.
    pub from: String,
    pub to: &'static str,
}

/// An object of an older version that stays as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    pub place: Place,
    /// The object; empty when the file does not parse.
    pub object: DocumentId,
    pub reason: Reason,
}

/// A remark about a migrated object, or about text that was not checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    pub place: Place,
    pub text: String,
}

/// Why an object is not migrated, with the way out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// The file does not parse.
    #[error("the file does not parse: {0}; correct it, nothing in it was changed")]
    Syntax(String),
    /// The file is not text.
    #[error("the file is not UTF-8 text; save it as UTF-8, nothing in it was changed")]
    NotText,
    #[error("version {0} of {1} is not known; write it as v1 by hand")]
    Version(String, &'static str),
    #[error("duplicate key {0:?}; an object has each key once, remove one")]
    Duplicate(String),
    /// Anchors, aliases, merge keys or tags in bytes that move.
    #[error("{0} uses an anchor, an alias, a merge key or a tag; write the value out")]
    Bound(String),
    /// A field that the older version did not have, and that would get an effect.
    #[error("{field} is not a field of {version}, where it had no effect; remove it or write the object as v1 by hand")]
    Unknown { field: String, version: String },
    /// Fields of two versions for the same purpose.
    #[error("{0} and {1} are fields of different versions for the same thing; remove one")]
    Mixed(String, String),
    /// A value that is not valid in the version's schema.
    #[error("{0} is not {1}; correct it")]
    Shape(String, &'static str),
    /// A field without an equivalent in v1.
    #[error("{0}")]
    Meaning(String),
    #[error("{0} is written in a way that is not rewritten here; write it in block style, one field to a line")]
    Layout(String),
    /// The edited text would not parse as expected.
    #[error(
        "the object is written in a way that cannot be rewritten without a change of other values; write it in plain block style"
    )]
    Unproven,
}
