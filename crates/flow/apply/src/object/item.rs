//! An object to apply, with its preparation.

use std::sync::Arc;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::metadata::{self, DECRYPT_DISABLED, owner_labels};
use super::normalize::normalize;
use crate::error::ApplyError;
use crate::settings::Settings;
use bumpwright_api::ObjectId;
use bumpwright_kube::{GroupVersionKind, Resource};
use bumpwright_sops::{Ciphertext, ciphertext, is_encrypted_object, is_encrypted_secret};

pub(crate) type Fingerprint = [u8; 32];

/// A digest over several values.
pub(crate) fn fingerprint(parts: &[&Value]) -> Fingerprint {
    let mut digest = Sha256::new();
    for part in parts {
        let text = part.to_string();
        digest.update(text.len().to_be_bytes());
        digest.update(text);
    }
    digest.finalize().into()
}

/// An object as the Kustomization wants it in the cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct Desired {
    pub object: Value,
    /// Its place in the source, for messages: `app/web.yaml:12`.
    pub origin: Option<String>,
}

/// A manifest field that was not applied because the object's kind does not have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dropped {
    /// The object, `Kind/namespace/name`.
    pub subject: String,
    pub path: String,
    /// The object's place in the source.
    pub origin: Option<String>,
}

#[derive(Debug)]
pub(crate) struct Item {
    pub(crate) object: Value,
    pub(crate) id: ObjectId,
    pub(crate) gvk: GroupVersionKind,
    pub(crate) origin: Option<String>,
    /// Digest of the desired object.
    pub(crate) digest: Fingerprint,
    /// Its kind's REST mapping, once known.
    pub(crate) resource: Option<Arc<Resource>>,
    pub(crate) dropped: Vec<String>,
}

impl Item {
    pub(crate) fn of(desired: Desired, settings: &Settings) -> Result<Self, ApplyError> {
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
    pub(crate) fn take_dropped(&mut self) -> impl Iterator<Item = Dropped> {
        let (subject, origin) = (self.id.to_string(), self.origin.clone());
        let paths = std::mem::take(&mut self.dropped).into_iter();
        paths.map(move |path| Dropped {
            subject: subject.clone(),
            path,
            origin: origin.clone(),
        })
    }
}

/// Puts a manifest into the form in which it is applied: owner labels, normal form, common metadata. Returns the fields
/// that are not applied. One that is refused stays as it is.
pub(crate) fn form(object: &mut Value, settings: &Settings) -> Result<Vec<String>, ApplyError> {
    if !DECRYPT_DISABLED.is_annotated(object) {
        refuse_ciphertext(object)?;
    }
    let owner = owner_labels(&settings.owner);
    let mut dropped = Vec::new();
    let mut set = |object: &mut Value, field, values| {
        if metadata::set(object, field, values) {
            dropped.push(format!("metadata.{field}"));
        }
    };
    if !settings.owner.name.is_empty() {
        set(object, "labels", &owner);
    }
    normalize(object);
    set(object, "labels", &settings.labels);
    set(object, "annotations", &settings.annotations);
    Ok(dropped)
}

/// Refuses an object that is encrypted by SOPS, and a Secret with a value that is
/// (docs/decisions.md, *ciphertext in objects*).
fn refuse_ciphertext(object: &Value) -> Result<(), ApplyError> {
    let subject = || ObjectId::of(object).to_string();
    if is_encrypted_secret(object) {
        return Err(ApplyError::Encrypted(subject()));
    }
    if is_encrypted_object(object) {
        return Err(ApplyError::EncryptedObject(subject()));
    }
    let Some(Ciphertext { field, is_file }) = ciphertext(object) else {
        return Ok(());
    };
    let why = match (is_file, field.starts_with("stringData.")) {
        (true, true) => "files are decrypted in `data` alone",
        (true, false) => "it needs decryption in the spec of the Kustomization",
        _ => {
            "the file that it is from has no metadata of SOPS, or a rule there that leaves it out, or the Kustomization no decryption"
        }
    };
    Err(ApplyError::Ciphertext {
        field: format!("{}: {field}", subject()),
        why,
    })
}
