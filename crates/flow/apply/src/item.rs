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
    /// Prepares a manifest.
    pub(super) fn of(desired: Desired, settings: &Settings) -> Result<Self, ApplyError> {
        let Desired { mut object, origin } = desired;
        let id = ObjectId::of(&object);
        let dropped = form(&mut object, settings)?;
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

/// Puts a manifest into the form in which it is applied: owner labels, normal form, common metadata. Returns the fields that are not
/// applied. One that is refused stays as it is.
pub(super) fn form(object: &mut Value, settings: &Settings) -> Result<Vec<String>, ApplyError> {
    if is_encrypted(object) && !DECRYPT_DISABLED.is_annotated(object) {
        return Err(ApplyError::Encrypted(ObjectId::of(object).to_string()));
    }
    let owner = owner_labels(&settings.owner);
    let mut dropped = Vec::new();
    let mut set = |object: &mut Value, field, values| {
        if metadata::set(object, field, values) {
            dropped.push(format!("metadata.{field}"));
        }
    };
    set(object, "labels", &owner);
    normalize(object);
    set(object, "labels", &settings.labels);
    set(object, "annotations", &settings.annotations);
    Ok(dropped)
}

/// Returns whether it is a Secret encrypted by SOPS, in `data` or `stringData` (docs/decisions.md, *SOPS Secret without
/// decryption*).
fn is_encrypted(object: &Value) -> bool {
    let is = |field: &str, text: &str| object.get(field).is_some_and(|value| value == text);
    is("kind", "Secret") && is("apiVersion", "v1") && object.get("sops").is_some()
}
