//! Kustomization files rewritten byte by byte, where kustomize would write all of them again:
//! deprecated fields, and images.
//!
//! What a rewrite means is computed on values, as kustomize does; the edited text has to parse as that,
//! or nothing is changed.

mod fix;
mod images;
mod text;

use bumpwright_api::Place;

pub use fix::{DEPRECATED, Deprecated, changes_metadata, deprecated, fix};
pub use images::{ImageChange, NoImage, set_images};

/// A kustomization that is not rewritten: what is wrong, and the way out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}:{}: {message}", .place.line, .place.column)]
pub struct Refused {
    pub place: Place,
    pub message: String,
}

impl Refused {
    fn new(place: Place, message: impl Into<String>) -> Self {
        Self {
            place,
            message: message.into(),
        }
    }

    fn layout(place: Place, what: &str) -> Self {
        let message = format!("{what} is written in a way that is not rewritten here; write it in block style");
        Self::new(place, message)
    }
}
