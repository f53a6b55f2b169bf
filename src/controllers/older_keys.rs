//! Certificates that a Secret has under keys of older versions of Flux: they count, and the log says so in each reconciliation (fluxcd/pkg
//! `runtime/secrets`, `getSecretData`; N-048).

use serde_json::json;

use bumpwright_api::{LocalRef, ObjectName, Objects};
use bumpwright_connect::older_keys;
use bumpwright_runtime::ReconcileRequest;

/// Says which older keys are used of the Secrets that a spec names for certificates.
pub(crate) fn tell<'a>(
    request: &ReconcileRequest<'_>,
    objects: &Objects,
    references: impl IntoIterator<Item = &'a LocalRef>,
) {
    let namespace = &request.object.name.namespace;
    for reference in references {
        let secret = objects.secret(&ObjectName::new(namespace, &reference.name));
        for (key, preferred) in secret.into_iter().flat_map(older_keys) {
            let log = request
                .log
                .with("secret", json!({"name": reference.name, "namespace": namespace}));
            log.with("key", key)
                .with("preferred", preferred)
                .warn("using legacy key in secret data");
        }
    }
}
