//! What is removed, and what stays, and why.

use std::collections::BTreeSet;

use serde_json::Value;

use super::owner::{self, Owner};
use crate::cli::error::{Attempt as _, CliError};
use crate::cli::install::components::Components;
use crate::cli::install::manifests::{Installation, Manifest, former_bindings, manifests};
use crate::cli::install::{shards, shown};
use crate::cli::installed::{self, CONTROLLERS, Controller, DEFINED, HELM, at, is_workload, items};
use bumpwright_api::ObjectName;
use bumpwright_kube::{
    CLUSTER_ROLE, CLUSTER_ROLE_BINDING, CUSTOM_RESOURCE_DEFINITION, Cluster, ClusterError, Kind, NAMESPACE, Resource,
};

/// The finalizer of all controllers of Flux, and of these.
pub(super) const FINALIZER: &str = "finalizers.fluxcd.io";

#[derive(Debug, Default)]
pub(super) struct Plan {
    /// The Deployment or StatefulSet, if it exists; both after a run of `install` that failed.
    pub controllers: Vec<Controller>,
    /// Objects to delete, in this order, besides definitions and the namespace.
    pub objects: Vec<Manifest>,
    /// Definitions to delete, with the names of their objects.
    pub definitions: Vec<Definition>,
    /// The namespace, if it is to be deleted when it is empty.
    pub namespace: Option<Manifest>,
    /// Kinds whose objects lose their finalizer, each in one namespace or (empty) in all.
    pub unfinished: Vec<(&'static Kind, String)>,
    /// What stays: a line each.
    pub left: Vec<String>,
    /// Who else may serve objects: controllers of Flux, and installations in other namespaces.
    others: Vec<Controller>,
}

/// A definition, and how many objects it has.
#[derive(Debug)]
pub(super) struct Definition {
    pub kind: &'static Kind,
    pub manifest: Manifest,
    pub objects: usize,
}

impl Plan {
    /// Looks at all objects that an installation in this namespace can have.
    pub(super) async fn make(cluster: &Cluster, namespace: &str, crds: bool) -> Result<Self, CliError> {
        let others = installed::controllers(cluster).await.at(
            "cannot list the Deployments and StatefulSets of all namespaces, to find installations that need what would be removed",
        )?;
        let (ours, others): (Vec<_>, Vec<_>) = others
            .into_iter()
            .partition(|one| one.is_ours() && one.namespace == namespace);
        let mut plan = Self {
            controllers: ours,
            ..Self::default()
        };
        let elsewhere = others.iter().find(|one| one.is_ours());
        for manifest in candidates(namespace) {
            let Some(object) = found(cluster, &manifest).await? else {
                continue;
            };
            plan.consider(manifest, &object, namespace, elsewhere)?;
        }
        plan.finalizers(&others);
        if crds {
            plan.definitions(cluster, &others).await?;
        }
        plan.others = others;
        Ok(plan)
    }

    /// Adds the kinds of an installation that an earlier run has removed while a process outside of the cluster
    /// served its objects: those whose definitions it made, and that no controller serves, not even one that is
    /// scaled to zero for a while.
    pub(super) async fn add_abandoned(&mut self, cluster: &Cluster) -> Result<(), CliError> {
        if !self.controllers.is_empty() {
            return Ok(());
        }
        let manifests = everything("flux-system", true).into_iter();
        for manifest in manifests.filter(|one| *one.kind == CUSTOM_RESOURCE_DEFINITION) {
            let mut kinds = DEFINED.into_iter();
            let Some(kind) = kinds.find(|kind| installed::definition(kind) == manifest.name.name) else {
                continue;
            };
            let Some(controller) = installed::controller_of(kind) else {
                continue;
            };
            let is_served = self.others.iter().any(|one| one.is_for_kinds_of(controller));
            if is_served || self.unfinished.iter().any(|(other, _)| *other == kind) {
                continue;
            }
            let object = found(cluster, &manifest).await?;
            if object.is_some_and(|object| owner::of_shared(&object, "spec") == Owner::Install) {
                self.unfinished.push((kind, String::new()));
            }
        }
        Ok(())
    }

    /// Adds an object to the plan, or the reason why it stays.
    fn consider(
        &mut self,
        manifest: Manifest,
        object: &Value,
        namespace: &str,
        elsewhere: Option<&Controller>,
    ) -> Result<(), CliError> {
        if *manifest.kind == NAMESPACE && object.pointer("/metadata/deletionTimestamp").is_some() {
            return Ok(());
        }
        let owner = if *manifest.kind == NAMESPACE {
            owner::of_shared(object, "metadata")
        } else {
            owner::of(object)
        };
        if let Owner::Other(who) = owner {
            if is_workload(manifest.kind) {
                return Err(owner::foreign(&shown(&manifest), &who).hint("nothing is removed"));
            }
            self.keep(&manifest, &format!("it was made by {who}"));
            return Ok(());
        }
        let is_binding = *manifest.kind == CLUSTER_ROLE_BINDING;
        if let (true, Some(other)) = (is_binding, other_subject(object, namespace)) {
            self.keep(&manifest, &format!("it is for {other}"));
        } else if let (true, Some(other)) = (*manifest.kind == CLUSTER_ROLE, elsewhere) {
            let why = format!("the installation in the namespace {} uses it", other.namespace);
            self.keep(&manifest, &why);
        } else if *manifest.kind == NAMESPACE {
            self.namespace = Some(manifest);
        } else {
            self.objects.push(manifest);
        }
        Ok(())
    }

    fn keep(&mut self, manifest: &Manifest, why: &str) {
        self.left.push(format!("{} left as it is: {why}", shown(manifest)));
    }

    /// Without a controller that removes the finalizer, deleted objects would stay.
    fn finalizers(&mut self, others: &[Controller]) {
        for controller in &self.controllers {
            let served = controller.components().controllers();
            for (name, kinds) in CONTROLLERS {
                if !served.contains(&name) || others.iter().any(|other| other.serves_kinds_of(name)) {
                    continue;
                }
                let scope = controller.scope().to_owned();
                self.unfinished.extend(kinds.iter().map(|kind| (*kind, scope.clone())));
                if name == "source-controller" && controller.components().kinds.helm {
                    self.unfinished.extend(HELM.map(|kind| (kind, scope.clone())));
                }
            }
        }
    }

    /// The definitions that no other client manages and no other controller needs.
    async fn definitions(&mut self, cluster: &Cluster, others: &[Controller]) -> Result<(), CliError> {
        let manifests = everything("flux-system", true);
        for manifest in manifests
            .into_iter()
            .filter(|one| *one.kind == CUSTOM_RESOURCE_DEFINITION)
        {
            let Some(object) = found(cluster, &manifest).await? else {
                continue;
            };
            let Some(kind) = DEFINED
                .into_iter()
                .find(|kind| installed::definition(kind) == manifest.name.name)
            else {
                continue;
            };
            if let Owner::Other(who) = owner::of_shared(&object, "spec") {
                self.keep(&manifest, &format!("it is managed by {who}"));
                continue;
            }
            let user = others.iter().find(|other| serves(other, kind));
            if let Some(user) = user {
                let why = format!("{} in the namespace {} serves its objects", user.name, user.namespace);
                self.keep(&manifest, &why);
                continue;
            }
            let objects = objects(cluster, kind, "").await;
            let objects = objects.map_err(|error| not_read(&manifest, error))?;
            let unfinished = (kind, String::new());
            self.unfinished.retain(|(other, _)| *other != kind);
            self.unfinished.push(unfinished);
            self.definitions.push(Definition {
                kind,
                manifest,
                objects: objects.len(),
            });
        }
        Ok(())
    }
}

/// A subject of a binding besides the ServiceAccount of the installation in this namespace.
fn other_subject(binding: &Value, namespace: &str) -> Option<String> {
    let is_ours = |subject: &&Value| {
        at(subject, "/kind") == "ServiceAccount"
            && at(subject, "/name") == "bumpwright"
            && at(subject, "/namespace") == namespace
    };
    let other = items(binding, "/subjects").find(|subject| !is_ours(subject))?;
    let (kind, name) = (at(other, "/kind"), at(other, "/name"));
    Some(match at(other, "/namespace") {
        "" => format!("the {kind} {name}"),
        namespace => format!("the {kind} {namespace}/{name}"),
    })
}

fn serves(controller: &Controller, kind: &Kind) -> bool {
    installed::controller_of(kind).is_some_and(|name| controller.serves_kinds_of(name))
}

/// All objects that any installation in a namespace has, but for definitions: the last to be applied is
/// the first to go.
pub(super) fn candidates(namespace: &str) -> Vec<Manifest> {
    let mut distinct = BTreeSet::new();
    let mut manifests: Vec<Manifest> = [everything(namespace, true), everything(namespace, false)]
        .into_iter()
        .flatten()
        .chain(former_bindings())
        .chain(shards::own_objects(namespace))
        .filter(|one| *one.kind != CUSTOM_RESOURCE_DEFINITION && distinct.insert((one.kind.kind, one.name.clone())))
        .collect();
    manifests.reverse();
    // Nothing runs without its Deployment or StatefulSet, so they are the first.
    manifests.sort_by_key(|one| !is_workload(one.kind));
    manifests
}

fn everything(namespace: &str, watch_all_namespaces: bool) -> Vec<Manifest> {
    manifests(&Installation {
        namespace,
        image: "",
        beside_flux: false,
        components: Components::EVERY,
        watch_all_namespaces,
        network_policy: true,
        workload_identity: true,
        promotion: true,
        ui: true,
        ui_actions: true,
        reviews: true,
        log_level: "info",
    })
}

/// The object of a manifest; None when it, or its kind, is not there.
async fn found(cluster: &Cluster, manifest: &Manifest) -> Result<Option<Value>, CliError> {
    match cluster.fetch(&resource(manifest), &manifest.name).await {
        Ok(object) => Ok(Some(object.clone())),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(not_read(manifest, error)),
    }
}

fn not_read(manifest: &Manifest, error: ClusterError) -> CliError {
    CliError::from(error)
        .at(format_args!("cannot read {}", shown(manifest)))
        .hint("nothing is removed")
}

/// The paths of a manifest's kind.
pub(super) fn resource(manifest: &Manifest) -> Resource {
    Resource::of(manifest.kind, !manifest.name.namespace.is_empty())
}

/// The objects of a kind, by their metadata; none when the kind is not defined.
pub(super) async fn objects(
    cluster: &Cluster,
    kind: &Kind,
    namespace: &str,
) -> Result<Vec<(ObjectName, Vec<String>)>, ClusterError> {
    let listed = cluster.list_metadata(&Resource::of(kind, true), namespace, "").await;
    let listed = match listed {
        Err(error) if error.is_not_found() => return Ok(Vec::new()),
        listed => listed?,
    };
    let object_of = |object: &Value| {
        let finalizers = items(object, "/metadata/finalizers").filter_map(Value::as_str);
        let name = ObjectName::new(at(object, "/metadata/namespace"), at(object, "/metadata/name"));
        (name, finalizers.map(str::to_owned).collect())
    };
    Ok(listed.iter().map(object_of).collect())
}
