//! What has to be reported: what was left, and what is worth knowing.

use bumpwright_api::Place;

/// Of what moves as a whole or stays, where a part could not be adopted.
pub(crate) const STAYS: &str = "its annotations stay and none of its fields was marked, since not all of its annotations could \
    be adopted: correct what was skipped, then run it again. Objects that were made for it have no effect until then";

/// How much a remark weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// Worth knowing, or something to do besides.
    Note,
    /// A setting of the other program has no equivalent.
    Left,
}

/// Something about an object or a field, with its reason and the way out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// The file, as it was named.
    pub file: String,
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

/// A setting of the other program, and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Told<T> {
    pub(crate) value: T,
    pub(crate) at: At,
    /// The annotation or field, for remarks.
    pub(crate) name: String,
}
