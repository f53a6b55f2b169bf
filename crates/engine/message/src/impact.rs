//! What a commit changes in the clusters of a fleet when it is applied: `.Impact` of a template, and a
//! section of every report.

use super::data::ObjectIdentifier;
use serde::{Deserialize, Serialize};

/// The effect of a commit on the clusters that apply it. Empty without a fleet.
///
/// All lists are in the order in which they are shown: by cluster, Kustomization, kind, namespace and name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Impact {
    /// The Flux Kustomizations whose objects change.
    pub kustomizations: Vec<KustomizationName>,
    /// Workloads with other images, or whose pods restart.
    pub workloads: Vec<ChangedWorkload>,
    /// The other objects that change.
    pub objects: Vec<ChangedObject>,
    /// Changed fields that alter nothing in these clusters.
    pub dead_markers: Vec<DeadMarker>,
    /// How many Kustomizations and releases could not be built, so that it is not known what changes there.
    #[serde(skip_serializing_if = "is_none")]
    pub unknown: usize,
    /// Whatever else has to be said, such as a Kustomization that did not build before either.
    pub notes: Vec<String>,
    /// The HelmReleases that change, for those who follow a commit. What they install is among workloads and objects.
    #[serde(skip)]
    pub releases: Vec<ChangedRelease>,
}

/// A HelmRelease that is to install something else.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ChangedRelease {
    /// The Kustomization that applies it.
    pub kustomization: KustomizationName,
    /// `namespace/name`
    pub name: String,
    /// Whether its own spec changes; else what its values or its chart come from.
    pub spec: bool,
}

/// A Flux Kustomization of a fleet.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct KustomizationName {
    /// The cluster's entry, such as `clusters/production`; empty when there is only one cluster.
    pub cluster: String,
    /// Its namespace; empty for an entry that no Kustomization reconciles.
    pub namespace: String,
    /// Its name, or the path of such an entry.
    pub name: String,
}

/// A workload that changes: Deployment, StatefulSet, DaemonSet, CronJob and the like.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ChangedWorkload {
    pub object: ObjectIdentifier,
    /// The Kustomization that applies it, or its HelmRelease.
    pub kustomization: KustomizationName,
    /// The HelmRelease that it is installed by, as `namespace/name`; empty if the Kustomization applies it itself.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub release: String,
    pub action: ObjectAction,
    /// How many of its fields change, those of its images included; 0 unless it is configured.
    pub fields: usize,
    /// The images that change.
    pub images: Vec<ContainerImage>,
    /// Whether running pods are replaced: their template changes, whatever the strategy does about it later.
    pub restarts: bool,
}

/// A container whose image changes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ContainerImage {
    /// The name of the container or init container.
    pub container: String,
    /// The image before; empty for a new container.
    pub old: String,
    /// The image after; empty for a container that is removed.
    pub new: String,
}

/// Another object that changes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ChangedObject {
    pub object: ObjectIdentifier,
    /// The Kustomization that applies it, or its HelmRelease.
    pub kustomization: KustomizationName,
    /// The HelmRelease that it is installed by, as `namespace/name`; empty if the Kustomization applies it itself.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub release: String,
    pub action: ObjectAction,
    /// How many of its fields change; 0 unless it is configured.
    pub fields: usize,
}

// Serde passes a reference.
#[allow(clippy::trivially_copy_pass_by_ref)]
const fn is_none(count: &usize) -> bool {
    *count == 0
}

/// What applying does to an object, in the words of `kubectl apply`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ObjectAction {
    /// It is new. A ConfigMap whose generated name has another hash is not: it is reported as one that changes.
    Created,
    /// Some of its fields change.
    #[default]
    Configured,
    /// It is not built any more; its Kustomization decides whether it is pruned.
    Deleted,
}

impl ObjectAction {
    /// The word for it in every output.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Configured => "configured",
            Self::Deleted => "deleted",
        }
    }
}

/// A changed field whose new value reaches no cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct DeadMarker {
    /// The file, from the root of the repository.
    pub path: String,
    /// The line of the field, from 1.
    pub line: usize,
    /// Its column, from 1.
    pub column: usize,
    /// The marker: `namespace:policy[:part]`.
    pub setter: String,
}

/// `namespace/name`, after the cluster where there are several.
impl std::fmt::Display for KustomizationName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if !self.cluster.is_empty() {
            write!(f, "{}: ", self.cluster)?;
        }
        let slash = if self.namespace.is_empty() { "" } else { "/" };
        write!(f, "{}{slash}{}", self.namespace, self.name)
    }
}

impl Impact {
    /// The workloads whose pods restart.
    pub fn restarting(&self) -> impl Iterator<Item = &ChangedWorkload> {
        self.workloads.iter().filter(|workload| workload.restarts)
    }

    /// The impact in one sentence: `1 Kustomization changes: 2 workloads, 1 other object; 1 workload restarts`.
    #[must_use]
    pub fn headline(&self) -> String {
        let count = |n: usize, noun: &str| format!("{n} {noun}{}", if n == 1 { "" } else { "s" });
        let third = |n: usize, verb: &str| format!("{verb}{}", if n == 1 { "s" } else { "" });
        let (kustomizations, workloads, objects) =
            (self.kustomizations.len(), self.workloads.len(), self.objects.len());
        let dead = self.dead_markers.len();
        let unknown = match self.unknown {
            1 => "1 Kustomization or release".to_owned(),
            n => format!("{n} Kustomizations or releases"),
        };
        let mut text = match (kustomizations, self.unknown) {
            (0, 0) => "nothing changes in these clusters".to_owned(),
            (0, _) => format!("unknown: {unknown} could not be built"),
            (n, _) => format!("{} {}", count(n, "Kustomization"), third(n, "change")),
        };
        let parts = [(workloads, "workload"), (objects, "other object")];
        let parts: Vec<String> = (parts.into_iter().filter(|(n, _)| *n > 0))
            .map(|(n, noun)| count(n, noun))
            .collect();
        if !parts.is_empty() {
            text += &format!(": {}", parts.join(", "));
        }
        match self.restarting().count() {
            0 => {}
            n => text += &format!("; {} {}", count(n, "workload"), third(n, "restart")),
        }
        if kustomizations > 0 && self.unknown > 0 {
            text += &format!("; unknown for {unknown} that could not be built");
        }
        if dead > 0 {
            text += &format!("; {}", count(dead, "dead marker"));
        }
        text
    }
}

/// `created`, or how many fields change.
fn summary(action: ObjectAction, fields: usize) -> String {
    match fields {
        0 => action.word().to_owned(),
        1 => format!("{}, 1 field", action.word()),
        n => format!("{}, {n} fields", action.word()),
    }
}

impl ChangedWorkload {
    /// What happens to it, and where no image does and no pod restarts, in how many fields.
    #[must_use]
    pub fn summary(&self) -> String {
        let is_told = self.restarts || !self.images.is_empty();
        summary(self.action, if is_told { 0 } else { self.fields })
    }

    /// The Kustomization, and the HelmRelease if there is one.
    #[must_use]
    pub fn owner(&self) -> String {
        owner(&self.kustomization, &self.release)
    }
}

/// `namespace/name`, or `namespace/name: HelmRelease namespace/name`.
fn owner(kustomization: &KustomizationName, release: &str) -> String {
    match release {
        "" => kustomization.to_string(),
        release => format!("{kustomization}: HelmRelease {release}"),
    }
}

impl ChangedObject {
    /// The Kustomization, and the HelmRelease if there is one.
    #[must_use]
    pub fn owner(&self) -> String {
        owner(&self.kustomization, &self.release)
    }

    /// `created`, or how many fields change.
    #[must_use]
    pub fn summary(&self) -> String {
        summary(self.action, self.fields)
    }
}
