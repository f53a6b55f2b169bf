//! Versions of Kubernetes' own kinds that the bundled minor versions no longer know: *Deprecated API
//! Migration Guide* of Kubernetes.

/// A version of kinds that a minor version ceased to serve.
struct Removal {
    api_version: &'static str,
    kinds: &'static [&'static str],
    since: &'static str,
    /// The apiVersion to write now; none where the kind is gone.
    now: Option<&'static str>,
}

const fn removal(
    since: &'static str,
    api_version: &'static str,
    kinds: &'static [&'static str],
    now: Option<&'static str>,
) -> Removal {
    Removal {
        api_version,
        kinds,
        since,
        now,
    }
}

const APPS: Option<&str> = Some("apps/v1");
const NETWORKING: Option<&str> = Some("networking.k8s.io/v1");
const FLOW: &[&str] = &["FlowSchema", "PriorityLevelConfiguration"];
const FLOW_NOW: Option<&str> = Some("flowcontrol.apiserver.k8s.io/v1");

#[rustfmt::skip]
const REMOVED: &[Removal] = &[
    removal("1.16", "extensions/v1beta1", &["DaemonSet", "Deployment", "ReplicaSet"], APPS),
    removal("1.16", "extensions/v1beta1", &["NetworkPolicy"], NETWORKING),
    removal("1.16", "extensions/v1beta1", &["PodSecurityPolicy"], None),
    removal("1.16", "apps/v1beta1", &["Deployment", "StatefulSet"], APPS),
    removal("1.16", "apps/v1beta2", &["DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"], APPS),
    removal("1.22", "extensions/v1beta1", &["Ingress"], NETWORKING),
    removal("1.22", "networking.k8s.io/v1beta1", &["Ingress", "IngressClass"], NETWORKING),
    removal("1.22", "admissionregistration.k8s.io/v1beta1", &["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"],
        Some("admissionregistration.k8s.io/v1")),
    removal("1.22", "apiextensions.k8s.io/v1beta1", &["CustomResourceDefinition"], Some("apiextensions.k8s.io/v1")),
    removal("1.22", "apiregistration.k8s.io/v1beta1", &["APIService"], Some("apiregistration.k8s.io/v1")),
    removal("1.22", "authentication.k8s.io/v1beta1", &["TokenReview"], Some("authentication.k8s.io/v1")),
    removal("1.22", "authorization.k8s.io/v1beta1",
        &["LocalSubjectAccessReview", "SelfSubjectAccessReview", "SelfSubjectRulesReview", "SubjectAccessReview"],
        Some("authorization.k8s.io/v1")),
    removal("1.22", "certificates.k8s.io/v1beta1", &["CertificateSigningRequest"], Some("certificates.k8s.io/v1")),
    removal("1.22", "coordination.k8s.io/v1beta1", &["Lease"], Some("coordination.k8s.io/v1")),
    removal("1.22", "rbac.authorization.k8s.io/v1beta1", &["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"],
        Some("rbac.authorization.k8s.io/v1")),
    removal("1.22", "scheduling.k8s.io/v1beta1", &["PriorityClass"], Some("scheduling.k8s.io/v1")),
    removal("1.22", "storage.k8s.io/v1beta1", &["CSIDriver", "CSINode", "StorageClass", "VolumeAttachment"], Some("storage.k8s.io/v1")),
    removal("1.25", "batch/v1beta1", &["CronJob"], Some("batch/v1")),
    removal("1.25", "discovery.k8s.io/v1beta1", &["EndpointSlice"], Some("discovery.k8s.io/v1")),
    removal("1.25", "events.k8s.io/v1beta1", &["Event"], Some("events.k8s.io/v1")),
    removal("1.25", "autoscaling/v2beta1", &["HorizontalPodAutoscaler"], Some("autoscaling/v2")),
    removal("1.25", "policy/v1beta1", &["PodDisruptionBudget"], Some("policy/v1")),
    removal("1.25", "policy/v1beta1", &["PodSecurityPolicy"], None),
    removal("1.25", "node.k8s.io/v1beta1", &["RuntimeClass"], Some("node.k8s.io/v1")),
    removal("1.26", "autoscaling/v2beta2", &["HorizontalPodAutoscaler"], Some("autoscaling/v2")),
    removal("1.26", "flowcontrol.apiserver.k8s.io/v1beta1", FLOW, FLOW_NOW),
    removal("1.27", "storage.k8s.io/v1beta1", &["CSIStorageCapacity"], Some("storage.k8s.io/v1")),
    removal("1.29", "flowcontrol.apiserver.k8s.io/v1beta2", FLOW, FLOW_NOW),
    removal("1.32", "flowcontrol.apiserver.k8s.io/v1beta3", FLOW, FLOW_NOW),
];

/// The minor version since which a kind is not served in this version, and the apiVersion to write now.
pub(crate) fn removed(api_version: &str, kind: &str) -> Option<(&'static str, Option<&'static str>)> {
    let is_it = |one: &&Removal| one.api_version == api_version && one.kinds.contains(&kind);
    REMOVED.iter().find(is_it).map(|one| (one.since, one.now))
}
