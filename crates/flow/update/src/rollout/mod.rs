//! What Git says of a rollout: whether a commit has the images that were pushed, whether nothing else lies between two commits, and the
//! edits that put images back.

mod files;
mod put_back;

pub use files::{Commits, Ours, changed_files};
pub use put_back::PutBack;

use bumpwright_edit::{Scan, Site};

/// The n-th marked field of a file with the same marker: fields keep their order when others move.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    setter: bumpwright_edit::Setter,
    ordinal: usize,
}

/// The marked fields of a scan, each with its place.
fn places(scan: Option<&Scan>) -> impl Iterator<Item = (Place, &Site)> {
    let mut seen: std::collections::BTreeMap<&bumpwright_edit::Setter, usize> = std::collections::BTreeMap::new();
    scan.into_iter().flat_map(|scan| &scan.sites).map(move |site| {
        let count = seen.entry(&site.setter).or_default();
        let ordinal = *count;
        *count += 1;
        let setter = site.setter.clone();
        (Place { setter, ordinal }, site)
    })
}
