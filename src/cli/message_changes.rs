//! The changes of `update --output json`, read back.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use crate::api::Objects;
use crate::edit::ObjectId;
use crate::message::{Data, FieldChange, ImageChange, ObjectIdentifier, ObjectName};
use crate::policy::{Reference, Validation};

#[derive(Deserialize)]
struct Document {
    runs: Vec<Recorded>,
}

/// A run, as far as a message tells about it.
#[derive(Debug, Deserialize)]
pub(super) struct Recorded {
    /// `namespace/name`
    pub automation: Option<String>,
    /// What changed.
    pub changes: Vec<RecordedChange>,
}

/// A changed field.
#[derive(Debug, Deserialize)]
pub(super) struct RecordedChange {
    path: String,
    old: String,
    new: String,
    policy: String,
    setter: String,
    object: ObjectId,
}

/// Data of a message, and what could not be found out.
pub(super) struct Read {
    /// The data.
    pub data: Data,
    /// Policies whose whole image the changes do not tell.
    pub unknown_images: BTreeSet<String>,
}

/// Reads the output of `update --output json`.
///
/// # Errors
///
/// When the text has another shape; with line and column.
pub(super) fn read(json: &str) -> Result<Vec<Recorded>, serde_json::Error> {
    serde_json::from_str::<Document>(json).map(|document| document.runs)
}

impl Recorded {
    /// What the message tells; files are named relative to `below` (IUA-062).
    pub(super) fn data(&self, below: &str, objects: &Objects) -> Read {
        let images = self.images(objects);
        let below = below.trim_start_matches("./").trim_matches('/');
        let mut data = Data::default();
        let mut unknown_images = BTreeSet::new();
        let mut seen = BTreeSet::new();
        for change in &self.changes {
            let file = relative(&change.path, below);
            let object = identifier(&change.object);
            if seen.insert((file, &change.object, &change.policy)) {
                match images.get(change.policy.as_str()) {
                    Some(image) => data.images.push(ImageChange {
                        file: file.to_owned(),
                        object: object.clone(),
                        image: image.clone(),
                        policy: name(&change.policy),
                    }),
                    None => drop(unknown_images.insert(change.policy.clone())),
                }
            }
            data.changes.push(FieldChange {
                file: file.to_owned(),
                object,
                old: change.old.clone(),
                new: change.new.clone(),
                setter: change.setter.clone(),
            });
        }
        data.automation = self.automation.as_deref().map(name).unwrap_or_default();
        Read { data, unknown_images }
    }

    /// The image of each policy: from its manifest, from a field that holds it whole, or from its parts.
    fn images(&self, objects: &Objects) -> BTreeMap<&str, Reference> {
        let mut parts: BTreeMap<&str, [Option<&str>; 3]> = BTreeMap::new();
        for change in &self.changes {
            let marker = change.policy.replacen('/', ":", 1);
            let place = match change.setter.strip_prefix(&marker) {
                Some("") => 0,
                Some(":name") => 1,
                Some(":tag") => 2,
                _ => continue,
            };
            let known = parts.entry(&change.policy).or_default();
            if let Some(slot) = known.get_mut(place) {
                *slot = Some(&change.new);
            }
        }
        let whole = |policy: &str| {
            let mut policies = objects.image_policies();
            let policy = policies.find(|known| known.policy_name().to_string() == policy)?;
            policy.latest_ref().ok().flatten().map(|image| image.to_string())
        };
        let image = |policy: &str, parts: [Option<&str>; 3]| match parts {
            [Some(image), ..] => Some(image.to_owned()),
            [None, Some(name), Some(tag)] => Some(format!("{name}:{tag}")),
            _ => whole(policy),
        };
        let found = parts
            .into_iter()
            .filter_map(|(policy, parts)| Some((policy, image(policy, parts)?)));
        found
            .filter_map(|(policy, image)| Some((policy, Reference::parse(&image, Validation::Weak).ok()?)))
            .collect()
    }
}

fn relative<'a>(path: &'a str, below: &str) -> &'a str {
    match path.strip_prefix(below).and_then(|rest| rest.strip_prefix('/')) {
        Some(rest) if !below.is_empty() => rest,
        _ => path,
    }
}

fn identifier(object: &ObjectId) -> ObjectIdentifier {
    ObjectIdentifier {
        api_version: object.api_version.clone(),
        kind: object.kind.clone(),
        name: object.name.clone(),
        namespace: object.namespace.clone(),
    }
}

fn name(text: &str) -> ObjectName {
    let (namespace, name) = text.split_once('/').unwrap_or(("", text));
    ObjectName {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    }
}
