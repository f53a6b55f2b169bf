//! The Secrets and ConfigMaps with keys and certificates that a policy trusts: of its own namespace.

use super::error::Error;
use crate::images::context::ImagesContext;
use bumpwright_api::{ConfigMap, ImagePolicy, Object, ObjectName, Objects};
use bumpwright_kube::CONFIG_MAP;
use bumpwright_policy::Signers;

/// Adds them. Missing ones are left out: whatever needs them reports it.
pub(super) async fn add(
    context: &ImagesContext,
    policy: &ImagePolicy,
    signers: &Signers,
    objects: &mut Objects,
) -> Result<(), Error> {
    let named = |name: &str| ObjectName::new(policy.metadata.namespace_or_default(), name);
    let failed = |error: &dyn std::fmt::Display| Error::Failed(format!("signatures cannot be verified: {error}"));
    let configs = &context.shared.configs;
    for name in signers.secrets() {
        match configs.secret(&named(name)).await {
            Ok(secret) => objects.put(Object::Secret(secret)),
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(failed(&error)),
        }
    }
    if let Some(name) = signers.config_map() {
        match configs.config_map(&named(name)).await {
            Ok(object) => {
                let config: ConfigMap = object.read(&CONFIG_MAP).map_err(|error| failed(&error))?;
                objects.put(Object::ConfigMap(config));
            }
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(failed(&error)),
        }
    }
    Ok(())
}
