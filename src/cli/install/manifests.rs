//! The manifests of an installation: the files of `deploy/`, modified by the flags of `install`. `tests/install/deploy.rs`
//! checks that kustomize creates the same objects from that folder.
//!
//! The files are kept as text, so that printed manifests have their comments; every change replaces whole known lines.

use bumpwright_api::{ObjectName, custom_resources};
use bumpwright_kube::{
    CLUSTER_ROLE, CLUSTER_ROLE_BINDING, CUSTOM_RESOURCE_DEFINITION, DEPLOYMENT, Kind, NAMESPACE, NETWORK_POLICY, ROLE,
    ROLE_BINDING, SERVICE_ACCOUNT,
};

/// The namespace in the files of `deploy/`.
const WRITTEN_NAMESPACE: &str = "flux-system";

/// The image in the files.
const WRITTEN_IMAGE: &str = concat!("image: ghcr.io/bumpwright/bumpwright:v", env!("CARGO_PKG_VERSION"));

/// The last argument in the files.
const LAST_ARGUMENT: &str = "        - --controllers=image-reflector,image-automation\n";

/// Definitions of ours, whatever else is installed.
const OWN_GROUP: &str = ".image.toolkit.fluxcd.io";

/// The definition that automations need in addition; Flux's own where Flux runs.
const SOURCE: &str = "gitrepositories.source.toolkit.fluxcd.io";

/// The options of an installation; texts are validated before.
pub(super) struct Installation<'a> {
    pub namespace: &'a str,
    pub image: &'a str,
    pub beside_flux: bool,
    /// The values of `--controllers`.
    pub controllers: &'a str,
    pub watch_all_namespaces: bool,
    pub network_policy: bool,
    /// Whether objects may use the identities of ServiceAccounts.
    pub workload_identity: bool,
    pub log_level: &'a str,
}

/// An object to apply.
#[derive(Clone, Debug)]
pub(super) struct Manifest {
    pub kind: &'static Kind,
    pub name: ObjectName,
    /// YAML, without `---`.
    pub text: String,
    /// Whether an existing object may belong to somebody else and is left alone.
    pub shared: bool,
}

/// All objects in apply order.
pub(super) fn manifests(wanted: &Installation<'_>) -> Vec<Manifest> {
    let mut all: Vec<Manifest> = custom_resources()
        .iter()
        .filter_map(|one| definition(one, wanted.beside_flux))
        .collect();
    if !wanted.beside_flux {
        all.push(Manifest {
            shared: true,
            ..manifest(
                &NAMESPACE,
                WRITTEN_NAMESPACE,
                include_str!("../../../deploy/namespace.yaml"),
            )
        });
    }
    all.push(manifest(
        &SERVICE_ACCOUNT,
        "bumpwright",
        include_str!("../../../deploy/base/service-account.yaml"),
    ));
    all.extend(roles(wanted.watch_all_namespaces));
    if wanted.workload_identity {
        all.extend(token_roles(wanted.watch_all_namespaces));
    }
    if wanted.network_policy {
        let text = include_str!("../../../deploy/base/network-policy.yaml");
        all.push(manifest(&NETWORK_POLICY, "bumpwright", text));
    }
    all.push(deployment(wanted));
    all.into_iter().map(|one| moved(one, wanted.namespace)).collect()
}

/// A definition with the labels that `flux` looks for; None when the installation omits it.
fn definition(resource: &bumpwright_api::CustomResource, beside_flux: bool) -> Option<Manifest> {
    let name = resource.name();
    let own = name.ends_with(OWN_GROUP);
    if !own && (beside_flux || name != SOURCE) {
        return None;
    }
    let mut labels = "  labels:\n    app.kubernetes.io/part-of: flux\n".to_owned();
    if !own {
        labels.push_str(concat!(
            "    app.kubernetes.io/version: bumpwright-v",
            env!("CARGO_PKG_VERSION"),
            "\n"
        ));
    }
    // If Flux's own manifests drop these definitions, its kustomize-controller would delete them, with all their objects.
    let annotations = match own {
        true => "  annotations:\n    kustomize.toolkit.fluxcd.io/prune: disabled\n",
        false => "  annotations:\n",
    };
    let text = resource.to_yaml().replacen("  annotations:\n", annotations, 1);
    Some(Manifest {
        kind: &CUSTOM_RESOURCE_DEFINITION,
        name: ObjectName::new("", name),
        text: text.replacen("\nspec:\n", &format!("\n{labels}spec:\n"), 1),
        shared: !own,
    })
}

fn roles(everywhere: bool) -> Vec<Manifest> {
    let mut roles = if everywhere {
        vec![
            manifest(
                &CLUSTER_ROLE,
                "bumpwright",
                include_str!("../../../deploy/base/cluster-role.yaml"),
            ),
            manifest(
                &CLUSTER_ROLE_BINDING,
                "bumpwright-flux-system",
                include_str!("../../../deploy/base/cluster-role-binding.yaml"),
            ),
        ]
    } else {
        vec![
            manifest(
                &ROLE,
                "bumpwright",
                include_str!("../../../deploy/one-namespace/role.yaml"),
            ),
            manifest(
                &ROLE_BINDING,
                "bumpwright",
                include_str!("../../../deploy/one-namespace/role-binding.yaml"),
            ),
        ]
    };
    roles.extend([
        manifest(
            &ROLE,
            "bumpwright-leases",
            include_str!("../../../deploy/base/lease-role.yaml"),
        ),
        manifest(
            &ROLE_BINDING,
            "bumpwright-leases",
            include_str!("../../../deploy/base/lease-role-binding.yaml"),
        ),
        manifest(
            &CLUSTER_ROLE,
            "bumpwright-view",
            include_str!("../../../deploy/base/view-role.yaml"),
        ),
        manifest(
            &CLUSTER_ROLE,
            "bumpwright-edit",
            include_str!("../../../deploy/base/edit-role.yaml"),
        ),
    ]);
    roles
}

/// The right to issue tokens of ServiceAccounts, which few installations need.
fn token_roles(everywhere: bool) -> [Manifest; 2] {
    if everywhere {
        [
            manifest(
                &CLUSTER_ROLE,
                "bumpwright-workload-identity",
                include_str!("../../../deploy/workload-identity/cluster-role.yaml"),
            ),
            manifest(
                &CLUSTER_ROLE_BINDING,
                "bumpwright-workload-identity-flux-system",
                include_str!("../../../deploy/workload-identity/cluster-role-binding.yaml"),
            ),
        ]
    } else {
        [
            manifest(
                &ROLE,
                "bumpwright-workload-identity",
                include_str!("../../../deploy/one-namespace/workload-identity/role.yaml"),
            ),
            manifest(
                &ROLE_BINDING,
                "bumpwright-workload-identity",
                include_str!("../../../deploy/one-namespace/workload-identity/role-binding.yaml"),
            ),
        ]
    }
}

fn deployment(wanted: &Installation<'_>) -> Manifest {
    let text = include_str!("../../../deploy/base/deployment.yaml");
    let mut one = manifest(&DEPLOYMENT, "bumpwright", text);
    let mut arguments = String::new();
    let mut add = |argument: &str| {
        arguments.push_str("        - ");
        arguments.push_str(argument);
        arguments.push('\n');
    };
    add(&format!("--controllers={}", wanted.controllers));
    if wanted.beside_flux {
        add("--events-addr=http://notification-controller.$(RUNTIME_NAMESPACE).svc.cluster.local./");
    }
    if !wanted.watch_all_namespaces {
        add("--no-cross-namespace-refs=true");
    }
    if wanted.workload_identity {
        add("--feature-gates=ObjectLevelWorkloadIdentity=true");
    }
    one.text = one
        .text
        .replace(WRITTEN_IMAGE, &format!("image: {}", wanted.image))
        .replace(
            "--watch-all-namespaces=true",
            &format!("--watch-all-namespaces={}", wanted.watch_all_namespaces),
        )
        .replace("--log-level=info", &format!("--log-level={}", wanted.log_level))
        .replace(LAST_ARGUMENT, &arguments);
    one
}

fn manifest(kind: &'static Kind, name: &str, text: &str) -> Manifest {
    let everywhere = [&NAMESPACE, &CLUSTER_ROLE, &CLUSTER_ROLE_BINDING].contains(&kind);
    let namespace = if everywhere { "" } else { WRITTEN_NAMESPACE };
    Manifest {
        kind,
        name: ObjectName::new(namespace, name),
        text: text.to_owned(),
        shared: false,
    }
}

/// Moves an object to another namespace. Cluster-scoped objects that belong to it get its name as a suffix.
fn moved(one: Manifest, namespace: &str) -> Manifest {
    let rename = |name: &str| match name.strip_suffix(WRITTEN_NAMESPACE) {
        Some(stem) => format!("{stem}{namespace}"),
        None => name.to_owned(),
    };
    Manifest {
        name: ObjectName::new(rename(&one.name.namespace), rename(&one.name.name)),
        text: one
            .text
            .replace("namespace: flux-system\n", &format!("namespace: {namespace}\n"))
            .replace("  name: flux-system\n", &format!("  name: {namespace}\n"))
            // The names of cluster-wide bindings end with it.
            .replace("-flux-system\n", &format!("-{namespace}\n")),
        ..one
    }
}
