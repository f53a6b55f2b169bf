//! Validation of Kustomizations.

use super::error::Error;
use bumpwright_api::{Kustomization, KustomizationAnnotations};
use bumpwright_kube::{KUSTOMIZATION, Object};

/// Reads a Kustomization and our annotations on it.
pub(super) fn read(object: &Object) -> Result<(Kustomization, KustomizationAnnotations), Error> {
    let kustomization = object
        .read(&KUSTOMIZATION)
        .map_err(|error| Error::InvalidSpec(error.to_string()))?;
    let annotations = KustomizationAnnotations::read(&object.annotations)
        .map_err(|error| Error::InvalidAnnotation(error.to_string()))?;
    Ok((kustomization, annotations))
}
