//! The manifests of an installation: the files of `deploy/`, modified by the flags of `install`.
//! `tests/install/deploy.rs` checks that kustomize creates the same objects from that folder.
//!
//! The files are kept as text, so that printed manifests have their comments; every change replaces whole known lines.

use bumpwright_api::{CustomResource, ObjectName, custom_resources};
use bumpwright_kube::{
    CLUSTER_ROLE, CLUSTER_ROLE_BINDING, CUSTOM_RESOURCE_DEFINITION, DEPLOYMENT, Kind, NAMESPACE, NETWORK_POLICY, ROLE,
    ROLE_BINDING, SERVICE, SERVICE_ACCOUNT,
};

use super::components::Components;

/// The namespace in the files of `deploy/`.
const WRITTEN_NAMESPACE: &str = "flux-system";

/// The image in the files.
const WRITTEN_IMAGE: &str = concat!("image: ghcr.io/bumpwright/bumpwright:v", env!("CARGO_PKG_VERSION"));

/// The last argument in the files.
const LAST_ARGUMENT: &str = "        - --controllers=image-reflector,image-automation\n";

/// The last port in the files.
const LAST_PORT: &str = "        - name: healthz\n          containerPort: 9440\n          protocol: TCP\n";

/// Definitions of ours, whatever else is installed.
const OWN_GROUP: &str = ".image.toolkit.fluxcd.io";

/// The definition that automations need in addition; Flux's own where Flux runs.
const SOURCE: &str = "gitrepositories.source.toolkit.fluxcd.io";

/// The options of an installation; texts are validated before.
#[derive(Clone, Copy, Debug)]
pub(in crate::cli) struct Installation<'a> {
    pub namespace: &'a str,
    pub image: &'a str,
    pub beside_flux: bool,
    pub components: Components,
    pub watch_all_namespaces: bool,
    pub network_policy: bool,
    /// Whether objects may use the identities of ServiceAccounts.
    pub workload_identity: bool,
    /// Whether the workloads may be read that versions are promoted from.
    pub promotion: bool,
    /// Whether pages for browsers are served.
    pub ui: bool,
    /// Whether people may act in them.
    pub ui_actions: bool,
    /// Whether pull requests are reviewed.
    pub reviews: bool,
    pub log_level: &'a str,
}

/// An object to apply.
#[derive(Clone, Debug)]
pub(in crate::cli) struct Manifest {
    pub kind: &'static Kind,
    pub name: ObjectName,
    /// YAML, without `---`.
    pub text: String,
    /// Whether an existing object of another field manager is left as it is.
    pub shared: bool,
}

/// A file of `deploy/` as a manifest.
macro_rules! file {
    ($kind:expr, $name:expr, $path:literal) => {
        manifest($kind, $name, include_str!(concat!("../../../deploy/", $path)))
    };
}

/// All objects of one process in apply order, the process at the end.
pub(in crate::cli) fn manifests(wanted: &Installation<'_>) -> Vec<Manifest> {
    let manifests = written(wanted).into_iter();
    manifests.map(|one| moved(one, wanted.namespace)).collect()
}

/// The same, in the namespace of the files.
pub(super) fn written(wanted: &Installation<'_>) -> Vec<Manifest> {
    let mut manifests: Vec<Manifest> = custom_resources()
        .iter()
        .filter(|one| is_needed(&one.name(), wanted))
        .map(definition)
        .collect();
    if !wanted.beside_flux {
        manifests.push(Manifest {
            shared: true,
            ..file!(&NAMESPACE, WRITTEN_NAMESPACE, "namespace.yaml")
        });
    }
    manifests.push(file!(&SERVICE_ACCOUNT, "bumpwright", "base/service-account.yaml"));
    manifests.extend(roles(wanted));
    if wanted.workload_identity {
        manifests.extend(token_roles(wanted.watch_all_namespaces));
    }
    if wanted.promotion {
        manifests.extend(promotion_roles(wanted.watch_all_namespaces));
    }
    let Components { kinds, webhooks } = wanted.components;
    if kinds.source {
        manifests.extend(source_roles(wanted.watch_all_namespaces));
        manifests.push(file!(
            &SERVICE,
            "bumpwright-artifacts",
            "source-controller/service.yaml"
        ));
    }
    if kinds.helm {
        manifests.extend(helm_roles());
    }
    if kinds.kustomize {
        manifests.extend(kustomize_roles(wanted.watch_all_namespaces));
    }
    if webhooks {
        manifests.extend(webhook_roles(wanted.watch_all_namespaces));
        manifests.push(file!(&SERVICE, "bumpwright-webhooks", "webhooks/service.yaml"));
    }
    if wanted.ui {
        manifests.extend(ui_roles(wanted.watch_all_namespaces));
        manifests.push(file!(&SERVICE, "bumpwright-ui", "ui/service.yaml"));
    }
    if wanted.ui && wanted.ui_actions {
        manifests.extend(ui_action_roles());
    }
    if wanted.reviews {
        manifests.extend(review_roles(wanted.watch_all_namespaces));
    }
    if wanted.network_policy {
        manifests.extend(network_policies(wanted));
    }
    manifests.push(deployment(wanted));
    manifests
}

/// Whether an installation has this definition.
fn is_needed(name: &str, wanted: &Installation<'_>) -> bool {
    let Components { kinds, .. } = wanted.components;
    match name {
        name if name.ends_with(OWN_GROUP) => wanted.components.has_images(),
        SOURCE => !wanted.beside_flux,
        "buckets.source.toolkit.fluxcd.io" | "ocirepositories.source.toolkit.fluxcd.io" => kinds.source,
        "helmrepositories.source.toolkit.fluxcd.io" | "helmcharts.source.toolkit.fluxcd.io" => kinds.helm,
        _ => kinds.kustomize,
    }
}

/// A definition with the labels that `flux` looks for.
fn definition(resource: &CustomResource) -> Manifest {
    let name = resource.name();
    let own = name.ends_with(OWN_GROUP);
    let mut labels = "  labels:\n    app.kubernetes.io/part-of: flux\n".to_owned();
    if name == SOURCE {
        labels.push_str(concat!(
            "    app.kubernetes.io/version: bumpwright-v",
            env!("CARGO_PKG_VERSION"),
            "\n"
        ));
    }
    // If Flux's own manifests drop these definitions, its kustomize-controller would delete them,
    // with all their objects.
    let annotations = if own {
        "  annotations:\n    kustomize.toolkit.fluxcd.io/prune: disabled\n"
    } else {
        "  annotations:\n"
    };
    let text = resource.to_yaml().replacen("  annotations:\n", annotations, 1);
    Manifest {
        kind: &CUSTOM_RESOURCE_DEFINITION,
        name: ObjectName::new("", name),
        text: text.replacen("\nspec:\n", &format!("\n{labels}spec:\n"), 1),
        shared: !own,
    }
}

fn roles(wanted: &Installation<'_>) -> Vec<Manifest> {
    let everywhere = wanted.watch_all_namespaces;
    let mut roles = Vec::new();
    if wanted.components.has_images() {
        roles.extend(image_roles(everywhere));
    }
    roles.extend(if everywhere {
        [
            file!(&CLUSTER_ROLE, "bumpwright", "base/cluster-role.yaml"),
            file!(
                &CLUSTER_ROLE_BINDING,
                "bumpwright-flux-system",
                "base/cluster-role-binding.yaml"
            ),
        ]
    } else {
        [
            file!(&ROLE, "bumpwright", "one-namespace/role.yaml"),
            file!(&ROLE_BINDING, "bumpwright", "one-namespace/role-binding.yaml"),
        ]
    });
    roles.extend([
        file!(&ROLE, "bumpwright-leases", "base/lease-role.yaml"),
        file!(&ROLE_BINDING, "bumpwright-leases", "base/lease-role-binding.yaml"),
        file!(&CLUSTER_ROLE, "bumpwright-view", "base/view-role.yaml"),
        file!(&CLUSTER_ROLE, "bumpwright-edit", "base/edit-role.yaml"),
    ]);
    roles
}

fn image_roles(everywhere: bool) -> [Manifest; 2] {
    const NAME: &str = "bumpwright-images";
    if everywhere {
        [
            file!(&CLUSTER_ROLE, NAME, "base/images-role.yaml"),
            file!(
                &CLUSTER_ROLE_BINDING,
                "bumpwright-images-flux-system",
                "base/images-role-binding.yaml"
            ),
        ]
    } else {
        [
            file!(&ROLE, NAME, "one-namespace/images-role.yaml"),
            file!(&ROLE_BINDING, NAME, "one-namespace/images-role-binding.yaml"),
        ]
    }
}

/// The right to issue tokens of ServiceAccounts, which few installations need.
fn token_roles(everywhere: bool) -> [Manifest; 2] {
    const NAME: &str = "bumpwright-workload-identity";
    if everywhere {
        [
            file!(&CLUSTER_ROLE, NAME, "workload-identity/cluster-role.yaml"),
            file!(
                &CLUSTER_ROLE_BINDING,
                "bumpwright-workload-identity-flux-system",
                "workload-identity/cluster-role-binding.yaml"
            ),
        ]
    } else {
        [
            file!(&ROLE, NAME, "one-namespace/workload-identity/role.yaml"),
            file!(&ROLE_BINDING, NAME, "one-namespace/workload-identity/role-binding.yaml"),
        ]
    }
}

/// The rights to look at the workloads that versions are promoted from.
fn promotion_roles(everywhere: bool) -> [Manifest; 2] {
    const NAME: &str = "bumpwright-promotion";
    if everywhere {
        [
            file!(&CLUSTER_ROLE, NAME, "promotion/cluster-role.yaml"),
            file!(
                &CLUSTER_ROLE_BINDING,
                "bumpwright-promotion-flux-system",
                "promotion/cluster-role-binding.yaml"
            ),
        ]
    } else {
        [
            file!(&ROLE, NAME, "one-namespace/promotion/role.yaml"),
            file!(&ROLE_BINDING, NAME, "one-namespace/promotion/role-binding.yaml"),
        ]
    }
}

fn source_roles(everywhere: bool) -> [Manifest; 4] {
    const NAME: &str = "bumpwright-sources";
    let [role, binding] = if everywhere {
        [
            file!(&CLUSTER_ROLE, NAME, "source-controller/cluster-role.yaml"),
            file!(
                &CLUSTER_ROLE_BINDING,
                "bumpwright-sources-flux-system",
                "source-controller/cluster-role-binding.yaml"
            ),
        ]
    } else {
        [
            file!(&ROLE, NAME, "one-namespace/source-controller/role.yaml"),
            file!(&ROLE_BINDING, NAME, "one-namespace/source-controller/role-binding.yaml"),
        ]
    };
    [
        role,
        binding,
        file!(
            &CLUSTER_ROLE,
            "bumpwright-sources-view",
            "source-controller/view-role.yaml"
        ),
        file!(
            &CLUSTER_ROLE,
            "bumpwright-sources-edit",
            "source-controller/edit-role.yaml"
        ),
    ]
}

fn helm_roles() -> [Manifest; 2] {
    [
        file!(&CLUSTER_ROLE, "bumpwright-helm-view", "helm/view-role.yaml"),
        file!(&CLUSTER_ROLE, "bumpwright-helm-edit", "helm/edit-role.yaml"),
    ]
}

fn kustomize_roles(everywhere: bool) -> [Manifest; 3] {
    let binding = if everywhere {
        file!(
            &CLUSTER_ROLE_BINDING,
            "bumpwright-kustomizations-flux-system",
            "kustomize-controller/cluster-role-binding.yaml"
        )
    } else {
        file!(
            &ROLE_BINDING,
            "bumpwright-kustomizations",
            "one-namespace/kustomize-controller/role-binding.yaml"
        )
    };
    [
        binding,
        file!(
            &CLUSTER_ROLE,
            "bumpwright-kustomizations-view",
            "kustomize-controller/view-role.yaml"
        ),
        file!(
            &CLUSTER_ROLE,
            "bumpwright-kustomizations-edit",
            "kustomize-controller/edit-role.yaml"
        ),
    ]
}

fn webhook_roles(everywhere: bool) -> [Manifest; 2] {
    const NAME: &str = "bumpwright-webhooks";
    if everywhere {
        [
            file!(&CLUSTER_ROLE, NAME, "webhooks/cluster-role.yaml"),
            file!(
                &CLUSTER_ROLE_BINDING,
                "bumpwright-webhooks-flux-system",
                "webhooks/cluster-role-binding.yaml"
            ),
        ]
    } else {
        [
            file!(&ROLE, NAME, "one-namespace/webhooks/role.yaml"),
            file!(&ROLE_BINDING, NAME, "one-namespace/webhooks/role-binding.yaml"),
        ]
    }
}

/// The rights to read what pages are made of, and to ask who people are and what they may see.
fn ui_roles(everywhere: bool) -> [Manifest; 3] {
    const NAME: &str = "bumpwright-ui";
    let [role, binding] = if everywhere {
        [
            file!(&CLUSTER_ROLE, NAME, "ui/cluster-role.yaml"),
            file!(
                &CLUSTER_ROLE_BINDING,
                "bumpwright-ui-flux-system",
                "ui/cluster-role-binding.yaml"
            ),
        ]
    } else {
        [
            file!(&ROLE, NAME, "one-namespace/ui/role.yaml"),
            file!(&ROLE_BINDING, NAME, "one-namespace/ui/role-binding.yaml"),
        ]
    };
    let reviews = file!(
        &CLUSTER_ROLE_BINDING,
        "bumpwright-ui-reviews-flux-system",
        "ui/reviews-role-binding.yaml"
    );
    [role, binding, reviews]
}

/// The rights to read what reviews of pull requests are made of.
fn review_roles(everywhere: bool) -> [Manifest; 2] {
    const NAME: &str = "bumpwright-reviews";
    if everywhere {
        [
            file!(&CLUSTER_ROLE, NAME, "reviews/cluster-role.yaml"),
            file!(
                &CLUSTER_ROLE_BINDING,
                "bumpwright-reviews-flux-system",
                "reviews/cluster-role-binding.yaml"
            ),
        ]
    } else {
        [
            file!(&ROLE, NAME, "one-namespace/reviews/role.yaml"),
            file!(&ROLE_BINDING, NAME, "one-namespace/reviews/role-binding.yaml"),
        ]
    }
}

/// The right to act as the person who asks.
fn ui_action_roles() -> [Manifest; 2] {
    [
        file!(&CLUSTER_ROLE, "bumpwright-ui-actions", "ui-actions/cluster-role.yaml"),
        file!(
            &CLUSTER_ROLE_BINDING,
            "bumpwright-ui-actions-flux-system",
            "ui-actions/cluster-role-binding.yaml"
        ),
    ]
}

fn network_policies(wanted: &Installation<'_>) -> Vec<Manifest> {
    let components = wanted.components;
    let mut policies = vec![file!(&NETWORK_POLICY, "bumpwright", "base/network-policy.yaml")];
    if components.kinds.source {
        policies.push(file!(
            &NETWORK_POLICY,
            "bumpwright-artifacts",
            "source-controller/network-policy.yaml"
        ));
    }
    if components.webhooks {
        policies.push(file!(
            &NETWORK_POLICY,
            "bumpwright-webhooks",
            "webhooks/network-policy.yaml"
        ));
    }
    if wanted.ui {
        policies.push(file!(&NETWORK_POLICY, "bumpwright-ui", "ui/network-policy.yaml"));
    }
    policies
}

fn deployment(wanted: &Installation<'_>) -> Manifest {
    let mut manifest = file!(&DEPLOYMENT, "bumpwright", "base/deployment.yaml");
    let mut ports = LAST_PORT.to_owned();
    let mut expose = |name: &str, port: u16| {
        ports.push_str(&format!(
            "        - name: {name}\n          containerPort: {port}\n          protocol: TCP\n"
        ));
    };
    if wanted.components.kinds.source {
        expose("artifacts", 9090);
    }
    if wanted.components.webhooks {
        expose("webhooks", 9292);
    }
    if wanted.ui {
        expose("ui", 9393);
    }
    let arguments: String = arguments(wanted)
        .iter()
        .map(|argument| format!("        - {argument}\n"))
        .collect();
    manifest.text = manifest
        .text
        .replace(WRITTEN_IMAGE, &format!("image: {}", wanted.image))
        .replace(
            "--watch-all-namespaces=true",
            &format!("--watch-all-namespaces={}", wanted.watch_all_namespaces),
        )
        .replace("--log-level=info", &format!("--log-level={}", wanted.log_level))
        .replace(LAST_ARGUMENT, &arguments)
        .replace(LAST_PORT, &ports);
    manifest
}

/// The arguments from the kinds on, in the order in which the components of `deploy/` add them.
fn arguments(wanted: &Installation<'_>) -> Vec<String> {
    let mut arguments: Vec<String> = Vec::new();
    let Components { kinds, webhooks } = wanted.components;
    if wanted.components.has_images() {
        arguments.push(format!("--controllers={}", wanted.components.images().join(",")));
    }
    let mut add = |is_wanted: bool, argument: &str| arguments.extend(is_wanted.then(|| argument.to_owned()));
    add(
        wanted.beside_flux,
        "--events-addr=http://notification-controller.$(RUNTIME_NAMESPACE).svc.cluster.local./",
    );
    add(!wanted.watch_all_namespaces, "--no-cross-namespace-refs=true");
    add(kinds.source, "--controllers=source");
    add(
        kinds.source,
        "--storage-adv-addr=bumpwright-artifacts.$(RUNTIME_NAMESPACE).svc.cluster.local.",
    );
    add(kinds.helm, "--controllers=helm");
    add(kinds.kustomize, "--controllers=kustomize");
    add(webhooks, "--webhook-addr=:9292");
    add(wanted.ui, "--ui-addr=:9393");
    add(wanted.ui && wanted.ui_actions, "--ui-actions");
    add(wanted.reviews, "--reviews");
    arguments
}

/// Bindings as they were named before each installation had its own: an upgrade removes them.
pub(in crate::cli) fn former_bindings() -> impl Iterator<Item = Manifest> {
    let names = ["bumpwright-sources", "bumpwright-kustomizations", "bumpwright-webhooks"];
    names.into_iter().map(|name| manifest(&CLUSTER_ROLE_BINDING, name, ""))
}

pub(super) fn manifest(kind: &'static Kind, name: &str, text: &str) -> Manifest {
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
pub(super) fn moved(one: Manifest, namespace: &str) -> Manifest {
    let rename = |name: &str| match name.strip_suffix(WRITTEN_NAMESPACE) {
        Some(stem) => format!("{stem}{namespace}"),
        None => name.to_owned(),
    };
    Manifest {
        name: ObjectName::new(rename(&one.name.namespace), rename(&one.name.name)),
        text: one
            .text
            // The names of cluster-wide bindings end with it. They are the first: a namespace may end with it, too.
            .replace("-flux-system\n", &format!("-{namespace}\n"))
            .replace("namespace: flux-system\n", &format!("namespace: {namespace}\n"))
            .replace("  name: flux-system\n", &format!("  name: {namespace}\n")),
        ..one
    }
}
