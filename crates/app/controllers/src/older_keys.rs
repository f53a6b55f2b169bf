//! Certificates under keys of older Flux versions are accepted with a log message (fluxcd/pkg `runtime/secrets`,
//! `getSecretData`; N-048).

use serde_json::json;

use bumpwright_api::{LocalRef, ObjectName, Objects};
use bumpwright_connect::older_keys;
use bumpwright_runtime::ReconcileRequest;

/// Logs the older keys in the Secrets that a spec refers to for certificates.
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
