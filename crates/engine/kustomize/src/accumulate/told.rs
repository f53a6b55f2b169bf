//! What a build tells its user besides its objects.

use crate::merge::Loss;
use crate::resource::Resource;
use bumpwright_yaml::{Files, Place};

/// What a step has to tell.
#[derive(Debug)]
pub(super) enum Told {
    /// In words, at the place of the step.
    Unmatched(String),
    /// Items that a patch has dropped, at the place of its list.
    Lost(Place, LostItems),
}

/// Items of a list that a merge patch has dropped: the kind has no schema, so that it replaces the list as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostItems {
    /// The list in the patch, as `path:line:column`; of a patch in a kustomization sometimes the entry.
    pub place: Option<String>,
    /// The group of the kind.
    pub group: String,
    /// The version of the kind.
    pub version: String,
    pub kind: String,
    /// The object, as `namespace/name`.
    pub name: String,
    /// The field, by its parts.
    pub field: Vec<String>,
    /// The entry that tells the items apart, such as `name`.
    pub key: &'static str,
    /// What is gone, in words.
    pub gone: String,
}

/// The loss of an object.
pub(super) fn lost(resource: &Resource, loss: Loss) -> Told {
    let gvk = &resource.id().gvk;
    let name = [resource.namespace(), resource.name()].join("/");
    let lost = LostItems {
        place: None,
        group: gvk.group.to_string(),
        version: gvk.version.to_string(),
        kind: gvk.kind.to_string(),
        name: name.trim_start_matches('/').to_owned(),
        gone: loss.gone(),
        field: loss.field,
        key: loss.key,
    };
    Told::Lost(loss.place, lost)
}

impl LostItems {
    /// With the first of these places that is known.
    pub(super) fn at(mut self, places: [Place; 2], files: &Files) -> Self {
        self.place = places.into_iter().find_map(|place| files.show(place));
        self
    }

    /// What has happened, without the object.
    #[must_use]
    pub fn message(&self) -> String {
        self.told("")
    }

    fn told(&self, of: &str) -> String {
        let Self {
            kind,
            group,
            version,
            gone,
            ..
        } = self;
        let field = self.field.join(".");
        format!(
            "the patch replaces {field}{of} as a whole, since {kind} {group}/{version} has no schema here; lost: {gone}"
        )
    }

    /// The way out that fits any kind.
    #[must_use]
    pub fn way_out(&self) -> String {
        format!(
            "change the list by a JSON patch (path: /{}/-), or name its key in a schema: `openapi: {{path: FILE}}`",
            self.field.join("/")
        )
    }
}

impl std::fmt::Display for LostItems {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.told(&format!(" of {} {}", self.kind, self.name)))
    }
}
