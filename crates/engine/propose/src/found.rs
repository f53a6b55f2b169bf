//! Images that are in use, and what was found of them.

use std::collections::{BTreeMap, BTreeSet};

use super::known::Known;
use super::listed::{Listing, UsedAccess};
use bumpwright_api::Place;
use bumpwright_edit::Part;

/// An image where it is used: the fields that together say which one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Use {
    /// Which of the files.
    pub file: usize,
    /// Where the field with its version is.
    pub place: Place,
    /// The image, without tag and digest, or the chart.
    pub listing: Listing,
    /// The tag in use; empty if the field has only a digest.
    pub tag: String,
    /// Whether it has a digest, or a field for one.
    pub(crate) has_digest: bool,
    /// The fields that get markers, by the byte where they begin.
    pub(crate) fields: BTreeMap<usize, Part>,
}

/// A use that gets no marker, or an image that gets no policy, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// The file, as it was named.
    pub file: String,
    pub place: Place,
    /// The image; empty if it is about the file.
    pub image: String,
    /// Why, with the way out.
    pub why: String,
    /// Whether it could not be read: a registry did not answer, or a file does not parse.
    pub is_error: bool,
}

/// What the files use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    /// The images and charts without markers, by name.
    pub images: BTreeMap<Listing, Vec<Use>>,
    /// Images all of whose uses have markers, or are named by rules.
    pub done: BTreeSet<String>,
    /// What was left, in the order of the files.
    pub left: Vec<Left>,
    /// Images that were not asked for.
    pub others: BTreeSet<String>,
    /// The releases whose values seem to be images by what keys are called, and why that is not known.
    pub guesses: BTreeMap<String, String>,
    /// How those of sources are reached.
    pub(crate) access: BTreeMap<Listing, UsedAccess>,
    /// The ImageRepositories and ImagePolicies that the files already have.
    pub(crate) known: Known,
}

/// A use as it was found. The span is that of the field with the version.
pub(super) struct Raw {
    pub(crate) place: Place,
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) part: Part,
    pub(super) listing: Listing,
    pub(crate) tag: String,
    pub(super) has_digest: bool,
    pub(crate) fields: BTreeMap<usize, Part>,
    /// Whether `images` of kustomizations above replace it.
    pub(super) is_replaced: bool,
    /// Whether no version is written at all.
    pub(super) is_untagged: bool,
    /// Why no policy can be for it.
    pub(super) why_not: Option<String>,
}
