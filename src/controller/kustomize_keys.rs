//! The keys that a Kustomization decrypts with: those of its Secret, else those of the controller (kustomize-controller,
//! `ImportKeys`; K-130 … K-148).

use super::context::Context;
use crate::api::{Kustomization, ObjectName, Secret};
use crate::cluster::SECRET;
use crate::pipeline::Decryption;
use crate::sops::{SecretKeys, read_age_secret, read_secret};

/// The decryption of a Kustomization; None when it wants none.
///
/// # Errors
/// In Flux's words.
pub(super) async fn decryption(context: &Context, kustomization: &Kustomization) -> Result<Option<Decryption>, String> {
    let Some(wanted) = &kustomization.spec.decryption else {
        return Ok(None);
    };
    let namespace = kustomization.metadata.namespace_or_default();
    let keys = match (&wanted.secret_ref, &context.settings.kustomize.age_secret) {
        (Some(reference), _) => {
            let name = ObjectName::new(namespace, &reference.name);
            let secret = read(context, &name, "decryption").await?;
            let entries = entries(&secret)?;
            read_secret(entries, &name.to_string()).map_err(|error| error.to_string())?
        }
        (None, Some(name)) => {
            let secret = read(context, name, "SOPS age decryption").await?;
            let entries = entries(&secret)?;
            let local = read_age_secret(entries, &name.to_string()).map_err(|error| error.to_string())?;
            SecretKeys {
                local,
                ..SecretKeys::default()
            }
        }
        (None, None) => SecretKeys::default(),
    };
    Ok(Some(Decryption::new(keys.local)))
}

async fn read(context: &Context, name: &ObjectName, what: &str) -> Result<Secret, String> {
    let read = context.cluster.read::<Secret>(&SECRET, name).await;
    read.map_err(|error| match error.is_not_found() {
        true => error.to_string(),
        false => format!("cannot get sops {what} Secret '{name}': {error}"),
    })
}

fn entries(secret: &Secret) -> Result<Vec<(&str, &[u8])>, String> {
    secret.entries().map_err(|error| error.to_string())
}
