//! The kinds that are read and written, at the version that is asked for.

use kube::api::ApiResource;

/// A kind of objects.
#[derive(Debug, PartialEq, Eq)]
pub struct Kind {
    /// API group; empty for the core group.
    pub group: &'static str,
    /// Version.
    pub version: &'static str,
    /// The name of the kind.
    pub kind: &'static str,
    /// The name in paths.
    pub plural: &'static str,
}

/// `ImageRepository`
pub const IMAGE_REPOSITORY: Kind = image("ImageRepository", "imagerepositories");
/// `ImagePolicy`
pub const IMAGE_POLICY: Kind = image("ImagePolicy", "imagepolicies");
/// `ImageUpdateAutomation`
pub const IMAGE_UPDATE_AUTOMATION: Kind = image("ImageUpdateAutomation", "imageupdateautomations");
/// `GitRepository`
pub const GIT_REPOSITORY: Kind = Kind {
    group: "source.toolkit.fluxcd.io",
    version: "v1",
    kind: "GitRepository",
    plural: "gitrepositories",
};
/// `Secret`
pub const SECRET: Kind = core("Secret", "secrets");
/// `ServiceAccount`
pub const SERVICE_ACCOUNT: Kind = core("ServiceAccount", "serviceaccounts");
/// `Namespace`
pub const NAMESPACE: Kind = core("Namespace", "namespaces");
/// `Event`
pub const EVENT: Kind = core("Event", "events");

/// `CustomResourceDefinition`
pub const CUSTOM_RESOURCE_DEFINITION: Kind = Kind {
    group: "apiextensions.k8s.io",
    version: "v1",
    kind: "CustomResourceDefinition",
    plural: "customresourcedefinitions",
};
/// `ClusterRole`
pub const CLUSTER_ROLE: Kind = rbac("ClusterRole", "clusterroles");
/// `ClusterRoleBinding`
pub const CLUSTER_ROLE_BINDING: Kind = rbac("ClusterRoleBinding", "clusterrolebindings");
/// `Role`
pub const ROLE: Kind = rbac("Role", "roles");
/// `RoleBinding`
pub const ROLE_BINDING: Kind = rbac("RoleBinding", "rolebindings");
/// `Deployment`
pub const DEPLOYMENT: Kind = Kind {
    group: "apps",
    version: "v1",
    kind: "Deployment",
    plural: "deployments",
};
/// `NetworkPolicy`
pub const NETWORK_POLICY: Kind = Kind {
    group: "networking.k8s.io",
    version: "v1",
    kind: "NetworkPolicy",
    plural: "networkpolicies",
};

/// `Lease`
pub const LEASE: Kind = Kind {
    group: "coordination.k8s.io",
    version: "v1",
    kind: "Lease",
    plural: "leases",
};

const fn image(kind: &'static str, plural: &'static str) -> Kind {
    Kind {
        group: "image.toolkit.fluxcd.io",
        version: "v1",
        kind,
        plural,
    }
}

const fn rbac(kind: &'static str, plural: &'static str) -> Kind {
    Kind {
        group: "rbac.authorization.k8s.io",
        version: "v1",
        kind,
        plural,
    }
}

const fn core(kind: &'static str, plural: &'static str) -> Kind {
    Kind {
        group: "",
        version: "v1",
        kind,
        plural,
    }
}

impl Kind {
    /// `group/version`, or `v1`.
    #[must_use]
    pub fn api_version(&self) -> String {
        match self.group {
            "" => self.version.to_owned(),
            group => format!("{group}/{}", self.version),
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
