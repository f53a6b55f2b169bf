//! The kinds that are read and written, with their versions.

use kube::api::ApiResource;

/// A kind at a version.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupVersionKind {
    /// API group; empty for the core group.
    pub group: String,
    pub version: String,
    /// The name of the kind.
    pub kind: String,
}

/// A kind of objects.
#[derive(Debug, PartialEq, Eq)]
pub struct Kind {
    /// API group; empty for the core group.
    pub group: &'static str,
    pub version: &'static str,
    /// The name of the kind.
    pub kind: &'static str,
    /// The name in paths.
    pub plural: &'static str,
}

const IMAGE: &str = "image.toolkit.fluxcd.io";
const SOURCE: &str = "source.toolkit.fluxcd.io";
const RBAC: &str = "rbac.authorization.k8s.io";
const CORE: &str = "";

pub const IMAGE_REPOSITORY: Kind = v1(IMAGE, "ImageRepository", "imagerepositories");
pub const IMAGE_POLICY: Kind = v1(IMAGE, "ImagePolicy", "imagepolicies");
pub const IMAGE_UPDATE_AUTOMATION: Kind = v1(IMAGE, "ImageUpdateAutomation", "imageupdateautomations");
pub const GIT_REPOSITORY: Kind = v1(SOURCE, "GitRepository", "gitrepositories");
pub const OCI_REPOSITORY: Kind = v1(SOURCE, "OCIRepository", "ocirepositories");
pub const BUCKET: Kind = v1(SOURCE, "Bucket", "buckets");
pub const EXTERNAL_ARTIFACT: Kind = v1(SOURCE, "ExternalArtifact", "externalartifacts");
pub const HELM_REPOSITORY: Kind = v1(SOURCE, "HelmRepository", "helmrepositories");
pub const HELM_CHART: Kind = v1(SOURCE, "HelmChart", "helmcharts");
pub const HELM_RELEASE: Kind = v1("helm.toolkit.fluxcd.io", "HelmRelease", "helmreleases").at("v2");
pub const KUSTOMIZATION: Kind = v1("kustomize.toolkit.fluxcd.io", "Kustomization", "kustomizations");

/// Older versions of Flux's kinds, the only ones that its installations of before serve.
static OLDER: [Kind; 19] = [
    IMAGE_REPOSITORY.at("v1beta2"),
    IMAGE_REPOSITORY.at("v1beta1"),
    IMAGE_POLICY.at("v1beta2"),
    IMAGE_POLICY.at("v1beta1"),
    IMAGE_UPDATE_AUTOMATION.at("v1beta2"),
    IMAGE_UPDATE_AUTOMATION.at("v1beta1"),
    GIT_REPOSITORY.at("v1beta2"),
    GIT_REPOSITORY.at("v1beta1"),
    OCI_REPOSITORY.at("v1beta2"),
    BUCKET.at("v1beta2"),
    BUCKET.at("v1beta1"),
    HELM_REPOSITORY.at("v1beta2"),
    HELM_REPOSITORY.at("v1beta1"),
    HELM_CHART.at("v1beta2"),
    HELM_CHART.at("v1beta1"),
    HELM_RELEASE.at("v2beta2"),
    HELM_RELEASE.at("v2beta1"),
    KUSTOMIZATION.at("v1beta2"),
    KUSTOMIZATION.at("v1beta1"),
];

pub const SECRET: Kind = v1(CORE, "Secret", "secrets");
pub const CONFIG_MAP: Kind = v1(CORE, "ConfigMap", "configmaps");
pub const SERVICE_ACCOUNT: Kind = v1(CORE, "ServiceAccount", "serviceaccounts");
pub const NAMESPACE: Kind = v1(CORE, "Namespace", "namespaces");
pub const EVENT: Kind = v1(CORE, "Event", "events");
pub const CUSTOM_RESOURCE_DEFINITION: Kind = v1(
    "apiextensions.k8s.io",
    "CustomResourceDefinition",
    "customresourcedefinitions",
);
pub const CLUSTER_ROLE: Kind = v1(RBAC, "ClusterRole", "clusterroles");
pub const CLUSTER_ROLE_BINDING: Kind = v1(RBAC, "ClusterRoleBinding", "clusterrolebindings");
pub const ROLE: Kind = v1(RBAC, "Role", "roles");
pub const ROLE_BINDING: Kind = v1(RBAC, "RoleBinding", "rolebindings");
pub const DEPLOYMENT: Kind = v1("apps", "Deployment", "deployments");
pub const STATEFUL_SET: Kind = v1("apps", "StatefulSet", "statefulsets");
pub const DAEMON_SET: Kind = v1("apps", "DaemonSet", "daemonsets");
pub const REPLICA_SET: Kind = v1("apps", "ReplicaSet", "replicasets");
pub const POD: Kind = v1(CORE, "Pod", "pods");
pub const PERSISTENT_VOLUME_CLAIM: Kind = v1(CORE, "PersistentVolumeClaim", "persistentvolumeclaims");
pub const SERVICE: Kind = v1(CORE, "Service", "services");
pub const NETWORK_POLICY: Kind = v1("networking.k8s.io", "NetworkPolicy", "networkpolicies");
pub const LEASE: Kind = v1("coordination.k8s.io", "Lease", "leases");

const fn v1(group: &'static str, kind: &'static str, plural: &'static str) -> Kind {
    Kind {
        group,
        version: "v1",
        kind,
        plural,
    }
}

impl Kind {
    const fn at(&self, version: &'static str) -> Self {
        Self {
            group: self.group,
            version,
            kind: self.kind,
            plural: self.plural,
        }
    }

    /// The same kind at another version; none where it is not known there.
    #[must_use]
    pub fn at_version(&'static self, version: &str) -> Option<&'static Self> {
        if self.version == version {
            return Some(self);
        }
        OLDER.iter().find(|kind| kind.is(self) && kind.version == version)
    }

    /// Whether it is the same kind, at whichever version.
    #[must_use]
    pub fn is(&self, other: &Self) -> bool {
        (self.group, self.kind) == (other.group, other.kind)
    }

    /// `group/version`, or `v1`.
    #[must_use]
    pub fn api_version(&self) -> String {
        match self.group {
            "" => self.version.to_owned(),
            group => format!("{group}/{}", self.version),
        }
    }

    /// The kind at its version, for discovery.
    #[must_use]
    pub fn gvk(&self) -> GroupVersionKind {
        GroupVersionKind {
            group: self.group.to_owned(),
            version: self.version.to_owned(),
            kind: self.kind.to_owned(),
        }
    }

    pub(super) fn resource(&self) -> ApiResource {
        ApiResource {
            group: self.group.to_owned(),
            version: self.version.to_owned(),
            api_version: self.api_version(),
            kind: self.kind.to_owned(),
            plural: self.plural.to_owned(),
        }
    }
}
