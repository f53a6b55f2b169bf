//! What is installed in a cluster: Deployments and StatefulSets of bumpwright and of Flux, and the
//! kinds that they serve.

pub(crate) mod leases;
pub(crate) mod stopping;
pub(crate) mod volumes;

use serde_json::Value;

use bumpwright_json::Texts;
use bumpwright_kube::{
    BUCKET, Cluster, ClusterError, DEPLOYMENT, EXTERNAL_ARTIFACT, GIT_REPOSITORY, HELM_CHART, HELM_REPOSITORY,
    IMAGE_POLICY, IMAGE_REPOSITORY, IMAGE_UPDATE_AUTOMATION, KUSTOMIZATION, Kind, OCI_REPOSITORY, Resource,
    STATEFUL_SET,
};

use super::cluster;
use super::install::components::Components;

/// The label of all that belongs to Flux, or replaces a part of it.
const PART_OF_FLUX: &str = "app.kubernetes.io/part-of=flux";

/// The controllers of Flux whose kinds bumpwright serves as well, with these kinds and the definitions that they need.
pub(super) const CONTROLLERS: [(&str, &[&Kind]); 4] = [
    ("image-reflector-controller", &[&IMAGE_REPOSITORY, &IMAGE_POLICY]),
    ("image-automation-controller", &[&IMAGE_UPDATE_AUTOMATION]),
    ("source-controller", &[&GIT_REPOSITORY, &OCI_REPOSITORY, &BUCKET]),
    ("kustomize-controller", &[&KUSTOMIZATION]),
];

/// The kinds of source-controller that the component helm serves.
pub(super) const HELM: [&Kind; 2] = [&HELM_REPOSITORY, &HELM_CHART];

/// The controller of Flux that serves a kind, if bumpwright can as well.
pub(super) fn controller_of(kind: &Kind) -> Option<&'static str> {
    let own = CONTROLLERS.iter().find(|(_, kinds)| kinds.contains(&kind));
    own.map(|(name, _)| *name)
        .or_else(|| HELM.contains(&kind).then_some("source-controller"))
}

/// All kinds that have definitions.
pub(super) const DEFINED: [&Kind; 10] = [
    &IMAGE_REPOSITORY,
    &IMAGE_POLICY,
    &IMAGE_UPDATE_AUTOMATION,
    &GIT_REPOSITORY,
    &OCI_REPOSITORY,
    &BUCKET,
    &HELM_REPOSITORY,
    &HELM_CHART,
    &EXTERNAL_ARTIFACT,
    &KUSTOMIZATION,
];

/// What bumpwright runs as: one process, or several that share the objects.
pub(super) const WORKLOADS: [&Kind; 2] = [&DEPLOYMENT, &STATEFUL_SET];

/// Whether bumpwright runs as an object of this kind.
pub(super) fn is_workload(kind: &Kind) -> bool {
    WORKLOADS.contains(&kind)
}

/// That of bumpwright: `deployment.apps/bumpwright`.
pub(super) fn workload(kind: &Kind) -> String {
    format!("{}/bumpwright", cluster::kind(kind))
}

/// A Deployment or StatefulSet of a controller.
#[derive(Clone, Debug)]
pub(super) struct Controller {
    pub kind: &'static Kind,
    pub namespace: String,
    pub name: String,
    pub replicas: u64,
    pub image: String,
    pub arguments: Vec<String>,
}

/// All Deployments and StatefulSets of bumpwright and Flux, of all namespaces.
pub(super) async fn controllers(cluster: &Cluster) -> Result<Vec<Controller>, ClusterError> {
    let mut controllers = Vec::new();
    for kind in WORKLOADS {
        let workloads = cluster.list(&Resource::of(kind, true), "", PART_OF_FLUX).await?;
        controllers.extend(workloads.iter().map(|one| Controller::of(kind, one)));
    }
    Ok(controllers)
}

impl Controller {
    pub(super) fn of(kind: &'static Kind, workload: &Value) -> Self {
        const CONTAINER: &str = "/spec/template/spec/containers/0";
        let arguments = workload.pointer(&format!("{CONTAINER}/args")).and_then(Value::as_array);
        let arguments = arguments.into_iter().flatten().filter_map(Value::as_str);
        Self {
            kind,
            namespace: at(workload, "/metadata/namespace").to_owned(),
            name: at(workload, "/metadata/name").to_owned(),
            replicas: workload.pointer("/spec/replicas").and_then(Value::as_u64).unwrap_or(1),
            image: at(workload, &format!("{CONTAINER}/image")).to_owned(),
            arguments: arguments.map(str::to_owned).collect(),
        }
    }

    /// Whether it is bumpwright's.
    pub(super) fn is_ours(&self) -> bool {
        self.name == "bumpwright"
    }

    /// Whether it is one of several processes, each with a volume, that share the objects.
    pub(super) fn is_shared(&self) -> bool {
        *self.kind == STATEFUL_SET
    }

    /// What the arguments of a Deployment or StatefulSet of bumpwright name.
    pub(super) fn components(&self) -> Components {
        let mut names: Vec<String> = self
            .values("--controllers")
            .flat_map(|list| list.split(','))
            .map(str::to_owned)
            .collect();
        if names.is_empty() {
            names.push("all".to_owned());
        }
        if self
            .values("--webhook-addr")
            .next()
            .is_some_and(|address| !address.is_empty())
        {
            names.push("webhooks".to_owned());
        }
        // The process itself would refuse a name that is not known.
        Components::named(&names).unwrap_or(Components::ALL)
    }

    /// The namespace whose objects it serves; empty for all.
    pub(super) fn scope(&self) -> &str {
        match self.values("--watch-all-namespaces").last() {
            Some("false") => &self.namespace,
            _ => "",
        }
    }

    /// Whether it runs, and serves the kinds of this controller.
    pub(super) fn serves_kinds_of(&self, controller: &str) -> bool {
        self.replicas > 0 && self.is_for_kinds_of(controller)
    }

    /// Whether it serves the kinds of this controller when it runs.
    pub(super) fn is_for_kinds_of(&self, controller: &str) -> bool {
        self.name == controller || (self.is_ours() && self.components().controllers().contains(&controller))
    }

    /// What its arguments say of a feature gate; the last one counts.
    pub(super) fn gate(&self, name: &str) -> Option<bool> {
        let gates = self.values("--feature-gates").flat_map(|list| list.split(','));
        let said = gates.filter_map(|gate| gate.trim().strip_prefix(name)?.strip_prefix('='));
        said.last()
            .map(|value| matches!(value, "true" | "True" | "TRUE" | "1" | "t" | "T"))
    }

    /// The values of a flag, in the order of the arguments.
    fn values(&self, flag: &str) -> impl Iterator<Item = &str> {
        self.arguments
            .iter()
            .filter_map(move |argument| argument.strip_prefix(flag)?.strip_prefix('='))
    }
}

/// The name of the definition of a kind.
pub(super) fn definition(kind: &Kind) -> String {
    format!("{}.{}", kind.plural, kind.group)
}

/// A text in JSON; empty if absent.
pub(super) fn at<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.text_at(pointer)
}

/// The elements of a list in JSON.
pub(super) fn items<'a>(value: &'a Value, pointer: &str) -> impl Iterator<Item = &'a Value> {
    value.pointer(pointer).and_then(Value::as_array).into_iter().flatten()
}
