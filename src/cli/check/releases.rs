//! Whether somebody installs the HelmReleases that a Kustomization may have: bumpwright does not.

use super::findings::Findings;
use crate::cli::installed::{self, Controller};
use bumpwright_api::ObjectName;
use bumpwright_kube::{CUSTOM_RESOURCE_DEFINITION, Cluster, HELM_RELEASE, Resource};

const CHECK: &str = "releases";

/// Says so where the kind is not defined, or where none of these controllers serves it.
pub(super) async fn check(cluster: &Cluster, controllers: Option<&[Controller]>, findings: &mut Findings) {
    let name = installed::definition(&HELM_RELEASE);
    let definitions = Resource::of(&CUSTOM_RESOURCE_DEFINITION, false);
    match cluster.fetch(&definitions, &ObjectName::new("", &name)).await {
        Ok(_) => {
            let is_served = |one: &Controller| one.name == "helm-controller" && one.replicas > 0;
            if controllers.is_some_and(|all| !all.iter().any(is_served)) {
                findings.warn(
                    CHECK,
                    "HelmReleases are defined, but no helm-controller of Flux runs, and bumpwright does not install them \
                     (docs/start/cluster.md)",
                );
            }
        }
        Err(error) if error.is_not_found() => findings.ok(
            CHECK,
            "no HelmReleases: a Kustomization that has one fails until Flux's helm-controller is installed (docs/start/cluster.md)",
        ),
        Err(error) => findings.unknown(CHECK, format!("cannot read the definition {name}: {error}")),
    }
}
