//! Why no marker is put on a field, with the way out.

use bumpwright_edit::{MarkError, Setter};
use thiserror::Error;

/// No marker can be put behind a field.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{place}: {problem}")]
pub(crate) struct NotMarked {
    /// The field: file, line and column.
    pub(crate) place: String,
    #[source]
    pub(crate) problem: Obstacle,
}

/// What is in the way of a marker.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum Obstacle {
    #[error("the file is not YAML, so it has no comments for markers")]
    NotYaml,
    /// Another image is written there, by this marker.
    #[error("another image is written to the same field, by {0}")]
    Taken(Setter),
    /// The file cannot be marked.
    #[error(transparent)]
    Mark(#[from] MarkError),
    /// No comment can be put there.
    #[error("no marker can be put there, {0}")]
    NoRoom(&'static str),
    /// What is written there does not change with the image.
    #[error("{0}")]
    Pinned(&'static str),
    /// Images of one name cannot be distinguished by this tag.
    #[error("{0:?} may be of several images of the same name: have ranges that do not overlap, or fields of their own")]
    Shared(String),
    /// The tag is a version for argocd-image-updater alone.
    #[error(
        "the tag in use is {0:?}, a version for argocd-image-updater, but not for Flux, which wants three numbers: no update \
         would be found; write a policy that chooses by other rules (docs/guides/policies.md), put its marker there, then run again"
    )]
    ShortVersion(String),
    /// Its tags are those of another image of its name.
    #[error("the tag in use is {}, which is not one of its own: write one that is, then run again", listed(.0))]
    OtherTags(Vec<String>),
}

fn listed(tags: &[String]) -> String {
    let tags: Vec<String> = tags.iter().map(|tag| format!("{tag:?}")).collect();
    if tags.is_empty() {
        "none".to_owned()
    } else {
        tags.join(", ")
    }
}
