//! An object to apply, with its preparation.

use std::sync::Arc;

use serde_json::Value;

use super::error::ApplyError;
use super::memory::{Fingerprint, fingerprint};
use super::metadata::{self, DECRYPT_DISABLED, owner_labels};
use super::normalize::normalize;
use super::settings::Settings;
use bumpwright_api::ObjectId;
use bumpwright_kube::{GroupVersionKind, Resource};

/// A desired object.
#[derive(Clone, Debug, PartialEq)]
pub struct Desired {
    /// The manifest.
    pub object: Value,
    /// Its place in the source, for messages: `app/web.yaml:12`.
    pub origin: Option<String>,
}

/// A manifest field that was not applied because the object's kind does not have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dropped {
    /// The object, `Kind/namespace/name`.
    pub subject: String,
    /// The field.
    pub path: String,
    /// The object's place in the source.
    pub origin: Option<String>,
}

#[derive(Debug)]
pub(super) struct Item {
    pub(super) object: Value,
    pub(super) id: ObjectId,
    pub(super) gvk: GroupVersionKind,
    pub(super) origin: Option<String>,
    /// Digest of the desired object.
    pub(super) digest: Fingerprint,
    /// Its kind's REST mapping, once known.
    pub(super) resource: Option<Arc<Resource>>,
    pub(super) dropped: Vec<String>,
}

impl Item {
    /// Prepares a manifest: owner labels, normal form, common metadata.
    pub(super) fn of(desired: Desired, settings: &Settings) -> Result<Self, ApplyError> {
        let Desired { mut object, origin } = desired;
        let id = ObjectId::of(&object);
        if is_encrypted(&object) && !DECRYPT_DISABLED.is_annotated(&object) {
            return Err(ApplyError::Encrypted(id.to_string()));
        }
        let owner = owner_labels(&settings.owner);
        let mut dropped = Vec::new();
        let mut set = |object: &mut Value, field, values| {
            if metadata::set(object, field, values) {
                dropped.push(format!("metadata.{field}"));
            }
        };
        set(&mut object, "labels", &owner);
        normalize(&mut object);
        set(&mut object, "labels", &settings.labels);
        set(&mut object, "annotations", &settings.annotations);
        Ok(Self {
            gvk: GroupVersionKind::of(&object),
            digest: fingerprint(&[&object]),
            object,
            id,
            origin,
            resource: None,
            dropped,
        })
    }

    /// The fields that are not applied.
    pub(super) fn take_dropped(&mut self) -> impl Iterator<Item = Dropped> {
        let (subject, origin) = (self.id.to_string(), self.origin.clone());
        let paths = std::mem::take(&mut self.dropped).into_iter();
        paths.map(move |path| Dropped {
            subject: subject.clone(),
            path,
            origin: origin.clone(),
        })
    }
}

/// Returns whether it is a Secret encrypted by SOPS, in `data` or `stringData` (docs/decisions.md, *SOPS Secret without
/// decryption*).
fn is_encrypted(object: &Value) -> bool {
    let is = |field: &str, text: &str| object.get(field).is_some_and(|value| value == text);
    is("kind", "Secret") && is("apiVersion", "v1") && object.get("sops").is_some()
}
