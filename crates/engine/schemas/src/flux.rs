//! The kinds of Flux that others define: HelmRelease, those of notifications and of flux-operator. They come
//! with Flux, not with the fleet.

use std::sync::{Arc, LazyLock};

use serde_json::Value;

use super::crd::Crd;

/// Made by `generate_flux.py`.
const FLUX: &str = include_str!("../flux.json");

/// The definitions, read once for the process.
pub(crate) static DEFINITIONS: LazyLock<Vec<Arc<Crd>>> = LazyLock::new(|| {
    // A test reads them all.
    let all: Vec<Value> = serde_json::from_str(FLUX).unwrap_or_else(|_| Vec::new());
    all.iter()
        .filter_map(|definition| Crd::read(definition).ok())
        .map(Arc::new)
        .collect()
});

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::Schemas;
    use serde_json::json;

    #[test]
    fn all_definitions_are_read() {
        let written: Vec<Value> = serde_json::from_str(FLUX).unwrap();
        assert_eq!(DEFINITIONS.len(), written.len());
        assert!(DEFINITIONS.iter().any(|one| one.kind == "HelmRelease"));
        assert!(FLUX.len() < 40_000, "it is a part of the binary");
    }

    #[test]
    fn a_misspelt_field_is_found_and_an_earlier_version_is_not_judged() {
        let mut schemas = Schemas::bundled(None).unwrap();
        schemas.add_flux(|group, kind| (group, kind) == ("helm.toolkit.fluxcd.io", "HelmRelease"));
        let release = |version: &str| {
            json!({
                "apiVersion": format!("helm.toolkit.fluxcd.io/{version}"), "kind": "HelmRelease",
                "metadata": {"name": "web", "namespace": "apps"},
                "spec": {"interval": "1h", "values": {"any": {"thing": 1}}, "chart": {"spec":
                    {"chart": "web", "versoin": "1.x", "sourceRef": {"kind": "HelmRepository", "name": "all"}}}},
                "status": {"observedGeneration": -1},
            })
        };
        let found = schemas.check(&release("v2"));
        let found: Vec<&str> = found.iter().map(|one| one.text.as_str()).collect();
        assert_eq!(
            found,
            [r#"unknown field "spec.chart.spec.versoin": did you mean "version"?"#]
        );
        assert!(schemas.check(&release("v2beta2")).is_empty());
        assert_eq!(schemas.is_namespaced("notification.toolkit.fluxcd.io", "Alert"), None);
    }
}
