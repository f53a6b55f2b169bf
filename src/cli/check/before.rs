//! Whether an installation can be made: rights, and other controllers of the kinds.

use super::findings::Findings;
use super::{charts, definitions, leases, releases, rights};
use crate::cli::install::components::Components;
use crate::cli::install::manifests::{Installation, Manifest};
use crate::cli::install::rights::Rights;
use crate::cli::install::shards::{ShardsError, manifests};
use crate::cli::installed::{self, Controller, at};
use bumpwright_api::ObjectName;
use bumpwright_kube::{CUSTOM_RESOURCE_DEFINITION, Cluster, Resource};

pub(super) async fn check(
    cluster: &Cluster,
    namespace: &str,
    (components, planned): (Components, &[Manifest]),
    findings: &mut Findings,
) {
    installing_rights(cluster, namespace, planned, findings).await;
    flux_version(cluster, findings).await;
    definitions::before(cluster, components, findings).await;
    match installed::controllers(cluster).await {
        Ok(controllers) => {
            rivals(&controllers, namespace, components, findings);
            if components.kinds.kustomize {
                variables(&controllers, findings);
                releases::check(cluster, Some(&controllers), findings).await;
            }
        }
        Err(error) => findings.unknown(
            "controllers",
            format!("cannot list the Deployments and StatefulSets of all namespaces, to find other controllers of these kinds: {error}"),
        ),
    }
    leases::before(cluster, namespace, components, findings).await;
    if components.kinds.source {
        charts::check(cluster, components, findings).await;
    }
}

/// What is to be installed, of so many processes.
///
/// # Errors
/// So many processes make no sense.
pub(super) fn planned(
    namespace: &str,
    components: Components,
    members: Option<u32>,
) -> Result<Vec<Manifest>, ShardsError> {
    let wanted = Installation {
        namespace,
        image: "",
        beside_flux: false,
        components,
        watch_all_namespaces: true,
        network_policy: true,
        workload_identity: false,
        promotion: false,
        ui: false,
        ui_actions: false,
        reviews: false,
        log_level: "info",
    };
    manifests(&wanted, members)
}

/// The rights that `install` needs itself.
async fn installing_rights(cluster: &Cluster, namespace: &str, planned: &[Manifest], findings: &mut Findings) {
    let needed = Rights::to_install(planned, namespace);
    match rights::denied(cluster, None, &needed.questions()).await {
        Ok(denied) if denied.is_empty() => findings.ok("rights", "you may install into this cluster"),
        Ok(denied) => findings.fail("rights", format!("you may not {}", denied.join(", "))),
        Err(error) => return findings.unknown("rights", format!("cannot ask what you may do: {error}")),
    }
    const RBAC: &str = "rbac.authorization.k8s.io";
    let granting = [
        rights::question("escalate", RBAC, "clusterroles", ""),
        rights::question("bind", RBAC, "clusterroles", ""),
        rights::question("escalate", RBAC, "roles", namespace),
        rights::question("bind", RBAC, "roles", namespace),
    ];
    match rights::denied(cluster, None, &granting).await {
        Ok(denied) if denied.is_empty() => {}
        Ok(_) => findings.warn(
            "rights",
            "you may grant only rights that you have yourself, in all namespaces; the API server refuses the others",
        ),
        Err(error) => findings.unknown("rights", format!("cannot ask what you may grant: {error}")),
    }
}

/// The distribution, where `flux version` finds it.
async fn flux_version(cluster: &Cluster, findings: &mut Findings) {
    let name = ObjectName::new("", "gitrepositories.source.toolkit.fluxcd.io");
    match cluster
        .fetch(&Resource::of(&CUSTOM_RESOURCE_DEFINITION, false), &name)
        .await
    {
        Ok(definition) => match at(&definition, "/metadata/labels/app.kubernetes.io~1version") {
            ours if ours.starts_with("bumpwright-") => {
                findings.ok("flux", format!("the definitions are of {ours}"));
            }
            "" => findings.ok(
                "flux",
                "Flux's definitions are there, without the label of their version",
            ),
            version => findings.ok("flux", format!("Flux {version}: install with --beside-flux")),
        },
        Err(error) if error.is_not_found() => findings.ok("flux", "no Flux"),
        Err(error) => findings.unknown("flux", format!("cannot find out whether Flux is there: {error}")),
    }
}

/// A kustomize-controller that leaves undefined variables empty: the same Kustomizations may fail here (C17).
fn variables(controllers: &[Controller], findings: &mut Findings) {
    const GATE: &str = "StrictPostBuildSubstitutions";
    let lenient = controllers
        .iter()
        .filter(|one| one.name == "kustomize-controller" && !one.gate(GATE).unwrap_or_else(|| is_strict(&one.image)));
    for one in lenient {
        findings.warn(
            "variables",
            format!(
                "{} ({}) in the namespace {} leaves variables of spec.postBuild without value and default empty, bumpwright fails; \
                 find them by bumpwright fleet check, or start with --feature-gates={GATE}=false",
                one.name, one.image, one.namespace
            ),
        );
    }
}

/// Whether kustomize-controller of this image refuses undefined variables by default: since 1.9.0, and where
/// no version is known.
fn is_strict(image: &str) -> bool {
    let version = image.rsplit_once(":v").map_or("", |(_, version)| version);
    let mut parts = version.split(['.', '-', '@']).map(str::parse::<u64>);
    match (parts.next(), parts.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor) >= (1, 9),
        _ => true,
    }
}

/// Controllers that serve the same kinds. Their leases exclude each other within a namespace only.
fn rivals(controllers: &[Controller], namespace: &str, components: Components, findings: &mut Findings) {
    let mut is_alone = true;
    let wanted = components.controllers();
    for other in controllers {
        if other.is_ours() && other.namespace == namespace {
            findings.ok(
                "controllers",
                format!("{} is installed already: install changes it", other.image),
            );
            continue;
        }
        let served: Vec<&str> = wanted
            .iter()
            .copied()
            .filter(|name| other.serves_kinds_of(name))
            .collect();
        if served.is_empty() {
            continue;
        }
        is_alone = false;
        let who = format!(
            "{} ({}) runs in the namespace {}",
            other.name, other.image, other.namespace
        );
        if other.namespace == namespace {
            findings.warn(
                "controllers",
                format!(
                    "{who}: install needs --beside-flux, and bumpwright waits for its lease until it is scaled down \
                     (docs/guides/moving-from-flux.md)"
                ),
            )
        } else {
            findings.fail(
                "controllers",
                format!(
                    "{who}, where its leases are: both would act on the same objects; install with -n {}, or scale it down first",
                    other.namespace
                ),
            )
        }
    }
    if is_alone {
        findings.ok(
            "controllers",
            format!("no other controller serves the kinds of {}", wanted.join(", ")),
        );
    }
}
