//! What has to be told: what was left, and what is worth knowing.

use bumpwright_api::Place;

/// How much a remark weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// Worth knowing, or something to do besides.
    Note,
    /// Something that was told before is not said now.
    Left,
}

/// Something about an object or a field, with its reason and the way out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// The file, as it was named.
    pub file: String,
    /// Where.
    pub place: Place,
    /// The object that it is about; may be empty.
    pub subject: String,
    /// What there is to say.
    pub text: String,
    /// How much it weighs.
    pub weight: Weight,
}

/// A place in one of the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct At {
    pub(crate) file: usize,
    pub(crate) place: Place,
}

/// Something that was told, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Told<T> {
    pub(crate) value: T,
    pub(crate) at: At,
    /// The annotation or field, for remarks.
    pub(crate) name: String,
}
