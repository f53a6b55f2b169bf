//! Where an object belongs: what shares files on disk goes together.

use crate::images::triggers::{repository_of, source_of};
use bumpwright_api::ObjectName;
use bumpwright_kube::{GIT_REPOSITORY, IMAGE_POLICY, IMAGE_REPOSITORY, IMAGE_UPDATE_AUTOMATION, Kind, Object};

/// The place of an object.
pub(super) struct Place {
    /// What its bucket follows from.
    pub(super) key: String,
    pub(super) id: u64,
}

impl Place {
    pub(super) fn of(kind: &Kind, object: &Object) -> Self {
        let other = if *kind == IMAGE_POLICY {
            // Tags are on the disk of who scans them.
            repository_of(object).map(|name| text(&IMAGE_REPOSITORY, &name))
        } else if *kind == IMAGE_UPDATE_AUTOMATION {
            // One mirror serves both.
            source_of(object).map(|name| text(&GIT_REPOSITORY, &name))
        } else {
            None
        };
        Self {
            key: other.unwrap_or_else(|| text(kind, &object.name)),
            id: id(kind, &object.name),
        }
    }

    pub(super) fn bucket(&self) -> usize {
        bumpwright_shards::bucket(&self.key)
    }
}

/// Whether the places of a kind follow a reference in the spec.
pub(super) fn follows_spec(kind: &Kind) -> bool {
    [&IMAGE_POLICY, &IMAGE_UPDATE_AUTOMATION].contains(&kind)
}

/// The number of an object.
pub(super) fn id(kind: &Kind, name: &ObjectName) -> u64 {
    bumpwright_shards::id(&text(kind, name))
}

fn text(kind: &Kind, name: &ObjectName) -> String {
    format!("{}/{}/{}", kind.kind, name.namespace, name.name)
}
