//! Reads the changes of `update --output json`.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use bumpwright_api::{self as api, Objects};
use bumpwright_edit::DocumentId;
use bumpwright_message::{Data, DataBuilder, FieldChange, Impact, ObjectName};
use bumpwright_policy::{LatestRef, Reference, Validation};
use bumpwright_update::join_by_letters;

#[derive(Deserialize)]
struct Document {
    runs: Vec<Recorded>,
}

/// A run with the data for its message.
#[derive(Debug, Deserialize)]
pub(super) struct Recorded {
    /// `namespace/name`
    pub automation: Option<String>,
    pub changes: Vec<RecordedChange>,
    /// What they alter in clusters.
    #[serde(default)]
    pub impact: Impact,
}

#[derive(Debug, Deserialize)]
pub(super) struct RecordedChange {
    path: String,
    old: String,
    new: String,
    policy: String,
    setter: String,
    object: DocumentId,
}

/// Data of a message, and what could not be determined.
pub(super) struct Read {
    pub data: Data,
    /// Policies whose whole image cannot be derived from the changes.
    pub unknown_images: BTreeSet<String>,
}

/// The values of the fields of one policy.
#[derive(Default)]
struct Written<'a> {
    whole: Option<&'a str>,
    name: Option<&'a str>,
    tag: Option<&'a str>,
}

/// Reads the output of `update --output json`.
///
/// # Errors
///
/// The text has another shape; with line and column.
pub(super) fn read(json: &str) -> Result<Vec<Recorded>, serde_json::Error> {
    serde_json::from_str::<Document>(json).map(|document| document.runs)
}

impl Recorded {
    /// The data of the message; files are named relative to `below` (IUA-062).
    pub(super) fn data(&self, below: &str, objects: &Objects) -> Read {
        let images = self.images(objects);
        // Links in the path cannot be resolved without the repository.
        let below = join_by_letters(below);
        let automation = self.automation.as_deref().unwrap_or("");
        let mut builder = DataBuilder::new(ObjectName::split(automation), &below);
        let mut unknown_images = BTreeSet::new();
        for change in &self.changes {
            let field = FieldChange {
                file: change.path.clone(),
                object: bumpwright_update::identifier(&change.object),
                old: change.old.clone(),
                new: change.new.clone(),
                setter: change.setter.clone(),
            };
            builder.add(field, ObjectName::split(&change.policy), || {
                let image = images.get(change.policy.as_str()).cloned();
                if image.is_none() {
                    unknown_images.insert(change.policy.clone());
                }
                image
            });
        }
        let mut data = builder.data();
        data.impact.clone_from(&self.impact);
        Read { data, unknown_images }
    }

    /// The image of each policy: from its manifest, as in the run; otherwise from a field with the whole image, or from
    /// fields with its parts.
    fn images(&self, objects: &Objects) -> BTreeMap<&str, Reference> {
        let mut written: BTreeMap<&str, Written<'_>> = BTreeMap::new();
        for change in &self.changes {
            let written = written.entry(&change.policy).or_default();
            let marker = change.policy.replacen('/', ":", 1);
            let place = match change.setter.strip_prefix(&marker) {
                Some("") => &mut written.whole,
                Some(":name") => &mut written.name,
                Some(":tag") => &mut written.tag,
                _ => continue,
            };
            *place = Some(&change.new);
        }
        let in_manifest = |policy: &str| {
            let policy = objects.image_policy(&api::ObjectName::parse(policy)?)?;
            policy.latest_ref().ok().flatten().map(|image| image.to_string())
        };
        let in_fields = |written: &Written<'_>| match (written.whole, written.name, written.tag) {
            (Some(image), ..) => Some(image.to_owned()),
            (None, Some(name), Some(tag)) => Some(format!("{name}:{tag}")),
            _ => None,
        };
        let image = |policy: &str, written: &Written<'_>| in_manifest(policy).or_else(|| in_fields(written));
        let images = written.iter().filter_map(|(policy, written)| {
            let image = image(policy, written)?;
            let of_version = || LatestRef::of_version(&image)?.reference();
            let reference = Reference::parse(&image, Validation::Weak).ok().or_else(of_version);
            Some((*policy, reference?))
        });
        images.collect()
    }
}
