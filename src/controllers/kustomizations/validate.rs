//! Validation of Kustomizations.

use super::error::Error;
use super::health;
use crate::controllers::settings::Gates;
use crate::controllers::tokens::{self, GateClosed};
use bumpwright_api::{Kustomization, KustomizationAnnotations};
use bumpwright_cel::HealthChecks;
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

/// Compiles the health checks, and checks the spec against the feature gates.
pub(super) fn check(kustomization: &Kustomization, gates: Gates) -> Result<HealthChecks, Error> {
    let checks = health::checks(&kustomization.spec).map_err(Error::InvalidCelExpression)?;
    let decryption = kustomization.spec.decryption.as_ref();
    let account = decryption.and_then(|decryption| decryption.service_account_name.as_deref());
    let field = "spec.decryption.serviceAccountName";
    tokens::check_gate(gates, account.unwrap_or_default(), field).map_err(GateClosed::for_decryption)?;
    Ok(checks)
}
