//! What is installed in a cluster: Deployments of bumpwright and of Flux, and the kinds that they serve.

use serde_json::Value;

use bumpwright_kube::{
    BUCKET, Cluster, ClusterError, DEPLOYMENT, EXTERNAL_ARTIFACT, GIT_REPOSITORY, IMAGE_POLICY, IMAGE_REPOSITORY,
    IMAGE_UPDATE_AUTOMATION, KUSTOMIZATION, Kind, OCI_REPOSITORY, Resource,
};

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

/// All kinds that have definitions.
pub(super) const DEFINED: [&Kind; 8] = [
    &IMAGE_REPOSITORY,
    &IMAGE_POLICY,
    &IMAGE_UPDATE_AUTOMATION,
    &GIT_REPOSITORY,
    &OCI_REPOSITORY,
    &BUCKET,
    &EXTERNAL_ARTIFACT,
    &KUSTOMIZATION,
];

/// A Deployment of a controller.
#[derive(Clone, Debug)]
pub(super) struct Controller {
    pub namespace: String,
    pub name: String,
    pub replicas: u64,
    pub image: String,
    pub arguments: Vec<String>,
}

/// All Deployments of bumpwright and Flux, of all namespaces.
///
/// # Errors
/// Whatever the server says.
pub(super) async fn controllers(cluster: &Cluster) -> Result<Vec<Controller>, ClusterError> {
    let all = cluster.list(&Resource::of(&DEPLOYMENT, true), "", PART_OF_FLUX).await?;
    Ok(all.iter().map(Controller::of).collect())
}

impl Controller {
    pub(super) fn of(deployment: &Value) -> Self {
        const CONTAINER: &str = "/spec/template/spec/containers/0";
        let arguments = deployment
            .pointer(&format!("{CONTAINER}/args"))
            .and_then(Value::as_array);
        let arguments = arguments.into_iter().flatten().filter_map(Value::as_str);
        Self {
            namespace: at(deployment, "/metadata/namespace").to_owned(),
            name: at(deployment, "/metadata/name").to_owned(),
            replicas: deployment
                .pointer("/spec/replicas")
                .and_then(Value::as_u64)
                .unwrap_or(1),
            image: at(deployment, &format!("{CONTAINER}/image")).to_owned(),
            arguments: arguments.map(str::to_owned).collect(),
        }
    }

    /// Whether it is bumpwright's.
    pub(super) fn is_ours(&self) -> bool {
        self.name == "bumpwright"
    }

    /// What the arguments of a Deployment of bumpwright name.
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
        let is_one =
            self.name == controller || (self.is_ours() && self.components().controllers().contains(&controller));
        self.replicas > 0 && is_one
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

/// A text in JSON; empty when there is none.
pub(super) fn at<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// The elements of a list in JSON.
pub(super) fn items<'a>(value: &'a Value, pointer: &str) -> impl Iterator<Item = &'a Value> {
    value.pointer(pointer).and_then(Value::as_array).into_iter().flatten()
}
