//! One object on its way into the cluster.

use std::sync::Arc;

use serde_json::Value;

use super::error::ApplyError;
use super::memory::{Fingerprint, fingerprint};
use super::metadata::{self, DECRYPT_DISABLED, owner_labels};
use super::normalize::normalize;
use super::settings::Settings;
use bumpwright_api::ObjectId;
use bumpwright_kube::{GroupVersionKind, Resource};

/// An object as it should be.
#[derive(Clone, Debug, PartialEq)]
pub struct Desired {
    /// The manifest.
    pub object: Value,
    /// Where it is written, for messages: `app/web.yaml:12`.
    pub origin: Option<String>,
}

/// A field of a manifest that was not applied, since the object's kind has no such field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dropped {
    /// The object, `Kind/namespace/name`.
    pub subject: String,
    /// The field.
    pub path: String,
    /// Where the object is written.
    pub origin: Option<String>,
}

#[derive(Debug)]
pub(super) struct Item {
    pub(super) object: Value,
    pub(super) id: ObjectId,
    pub(super) gvk: GroupVersionKind,
    pub(super) origin: Option<String>,
    /// Of what is asked for.
    pub(super) digest: Fingerprint,
    /// Where its kind is, once that is known.
    pub(super) resource: Option<Arc<Resource>>,
    pub(super) dropped: Vec<String>,
}

impl Item {
    /// Prepares a manifest: labels of its owner, form, common metadata.
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

/// Whether it is a Secret that SOPS wrote, with `data` or with `stringData` (docs/decisions.md, *SOPS Secret without decryption*).
fn is_encrypted(object: &Value) -> bool {
    let is = |field: &str, text: &str| object.get(field).is_some_and(|value| value == text);
    is("kind", "Secret") && is("apiVersion", "v1") && object.get("sops").is_some()
}
