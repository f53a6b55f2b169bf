//! Triggers of Kustomizations (kustomize-controller, `kustomization_indexers.go`; K-005, K-186 … K-189).

use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

use crate::sources::artifacts;
use bumpwright_api::{
    Artifact, ConditionStatus, Conditions, Decryption, Dependency, KubeConfigRef, KustomizationSource, ObjectName,
    PostBuild, RECONCILING,
};
use bumpwright_kube::{Cache, Change, Index, KUSTOMIZATION, Object};
use bumpwright_runtime::{Queue, triggers};

/// Kustomizations by the kind and name of each object that their specs refer to.
pub(crate) type Referring = Index<(String, ObjectName)>;

/// An index of the Kustomizations.
pub(crate) fn referring(kustomizations: &Arc<Cache>) -> Arc<Referring> {
    Index::of_specs(kustomizations, referred)
}

/// All objects that a Kustomization's spec refers to.
fn referred(one: &Object) -> Vec<(String, ObjectName)> {
    let own = &one.name.namespace;
    let references = References::of(one);
    let name = |namespace: Option<&str>, name: &str| ObjectName::referred_from(own, namespace, name);
    let source = &references.source_ref;
    let source = (source.kind.clone(), name(source.namespace.as_deref(), &source.name));
    let dependencies = references.depends_on.iter().map(|dependency| {
        let dependency = name(dependency.namespace.as_deref(), &dependency.name);
        (KUSTOMIZATION.kind.to_owned(), dependency)
    });
    let configs = ["ConfigMap", "Secret"].into_iter().flat_map(|kind| {
        let configs = references.configs(kind).into_iter();
        configs.map(move |config| (kind.to_owned(), ObjectName::new(own, config)))
    });
    dependencies.chain([source]).chain(configs).collect()
}

/// Kustomizations: new ones, changed specs, reconcile requests. Dependents of a changed one are triggered too.
pub(crate) fn own(kustomizations: &Cache, referring: &Arc<Referring>, queue: &Arc<Queue>) {
    let (all, queue) = (Arc::clone(referring), Arc::clone(queue));
    kustomizations.listen(move |change| match change {
        Change::Added(object) => {
            queue.add(object.name.clone());
            wake(&all, &object.name, &queue);
        }
        Change::Updated(old, new) => {
            if triggers::concerns(old, new) {
                triggers::cancel(new, &queue);
                queue.add_because(new.name.clone(), || format!("Kustomization/{}", new.name));
            }
            if is_ready(new) && state(old) != state(new) {
                wake(&all, &new.name, &queue);
            } else {
                wake_by_expression(&all, &new.name, &queue);
            }
        }
        Change::Deleted(object) => {
            queue.cancel(&object.name);
            queue.forget(&object.name);
        }
    });
}

/// Dependents are reconciled at once and not after their pause.
fn wake(all: &Referring, name: &ObjectName, queue: &Queue) {
    queue.wake(|| dependents(all, name, |_| true));
}

/// A `readyExpr` may read anything, also of an object that is not ready.
fn wake_by_expression(all: &Referring, name: &ObjectName, queue: &Queue) {
    let by_expression = |dependency: &Dependency| dependency.ready_expr.as_deref().is_some_and(|text| !text.is_empty());
    let waiting = || dependents(all, name, by_expression);
    if !waiting().is_empty() {
        queue.wake(waiting);
    }
}

/// Who depends on a Kustomization in a way that is meant, and whether it waits by its last known state.
fn dependents(all: &Referring, name: &ObjectName, is_meant: impl Fn(&Dependency) -> bool) -> Vec<(ObjectName, bool)> {
    let dependents = all.get(&(KUSTOMIZATION.kind.to_owned(), name.clone()));
    let depends = |one: &Object| {
        let mut dependencies = References::of(one).depends_on.into_iter();
        dependencies.any(|dependency| {
            means(one, dependency.namespace.as_deref(), &dependency.name, name) && is_meant(&dependency)
        })
    };
    let dependents = dependents.iter().filter(|one| depends(one));
    dependents.map(|one| (one.name.clone(), !is_ready(one))).collect()
}

/// Sources: new revisions of their artifacts, and for those that could not fetch one, another place of it.
pub(crate) fn of_source(sources: &Arc<Cache>, referring: &Arc<Referring>, queue: &Arc<Queue>) {
    let (referring, queue) = (Arc::clone(referring), Arc::clone(queue));
    let kind = sources.kind().kind;
    sources.listen(move |change| {
        let (Change::Added(source) | Change::Updated(_, source)) = change else {
            return;
        };
        let Some(artifact) = artifact(source) else { return };
        let before = match change {
            Change::Updated(old, _) => self::artifact(old),
            _ => None,
        };
        if before.as_ref() == Some(&artifact) {
            return;
        }
        let has_moved = before.is_some_and(|before| before.revision == artifact.revision);
        let revision = artifact.revision;
        let users = || {
            let users = referring.get(&(kind.to_owned(), source.name.clone())).into_iter();
            users.filter(|one| uses(one, kind, &source.name)).collect::<Vec<_>>()
        };
        if has_moved {
            // What was built of it is the same, so that nobody needs it but those who could not fetch it.
            return queue.wake(|| users().iter().map(|one| (one.name.clone(), !is_ready(one))).collect());
        }
        for user in users().iter().filter(|one| !is_settled(one, &revision)) {
            queue.add_for_revision(user.name.clone(), &revision, || format!("{kind}/{}", source.name));
        }
    });
}

/// Watched ConfigMaps and Secrets.
pub(crate) fn of_config(configs: &Arc<Cache>, referring: &Arc<Referring>, queue: &Arc<Queue>) {
    let (referring, queue) = (Arc::clone(referring), Arc::clone(queue));
    let kind = configs.kind().kind;
    configs.listen(move |change| {
        let (Change::Added(config) | Change::Updated(_, config) | Change::Deleted(config)) = change;
        let users = referring.get(&(kind.to_owned(), config.name.clone()));
        for user in users.iter().filter(|one| reads(one, kind, &config.name)) {
            queue.add_because(user.name.clone(), || format!("{kind}/{}", config.name));
        }
    });
}

fn artifact(source: &Object) -> Option<Artifact> {
    artifacts::read(source.status().get("artifact")?)
}

/// The references of a Kustomization's spec.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct References {
    source_ref: KustomizationSource,
    depends_on: Vec<Dependency>,
    post_build: Option<PostBuild>,
    kube_config: Option<KubeConfigRef>,
    decryption: Option<Decryption>,
}

impl References {
    fn of(one: &Object) -> Self {
        one.spec().unwrap_or_default()
    }

    /// The names of ConfigMaps or Secrets.
    fn configs(&self, kind: &str) -> Vec<String> {
        let clusters = self.kube_config.as_ref();
        let named = match kind {
            "ConfigMap" => vec![clusters.and_then(|one| Some(&one.config_map_ref.as_ref()?.name))],
            _ => vec![
                clusters.and_then(|one| Some(&one.secret_ref.as_ref()?.name)),
                self.decryption
                    .as_ref()
                    .and_then(|one| Some(&one.secret_ref.as_ref()?.name)),
            ],
        };
        let substitutes = self
            .post_build
            .iter()
            .flat_map(|post_build| &post_build.substitute_from);
        let substitutes = substitutes.filter(|from| from.kind == kind).map(|from| &from.name);
        named.into_iter().flatten().chain(substitutes).cloned().collect()
    }
}

/// Returns whether a reference of an object means another one.
fn means(one: &Object, namespace: Option<&str>, name: &str, other: &ObjectName) -> bool {
    ObjectName::referred_from(&one.name.namespace, namespace, name) == *other
}

/// Returns whether a Kustomization is built from a source.
fn uses(one: &Object, kind: &str, source: &ObjectName) -> bool {
    let reference = References::of(one).source_ref;
    reference.kind == kind && means(one, reference.namespace.as_deref(), &reference.name, source)
}

/// Returns whether a Kustomization has attempted a revision.
fn is_settled(one: &Object, revision: &str) -> bool {
    let status = one.status();
    let conditions = Conditions::of(&status, one.generation, "");
    let goes_on = conditions.ready() || conditions.is(RECONCILING, ConditionStatus::True);
    goes_on && text(Some(&status), "lastAttemptedRevision") == Some(revision)
}

/// Returns whether a Kustomization reads a ConfigMap or Secret.
fn reads(one: &Object, kind: &str, config: &ObjectName) -> bool {
    if one.name.namespace != config.namespace {
        return false;
    }
    References::of(one).configs(kind).contains(&config.name)
}

fn is_ready(one: &Object) -> bool {
    Conditions::of(&one.status(), one.generation, "").ready()
}

/// The state that dependents wait for.
fn state(one: &Object) -> (bool, Option<i64>, Option<Value>) {
    let status = one.status();
    (
        is_ready(one),
        status.get("observedGeneration").and_then(Value::as_i64),
        status.get("lastAppliedRevision").cloned(),
    )
}

fn text<'a>(value: Option<&'a Value>, field: &str) -> Option<&'a str> {
    value?.get(field)?.as_str().filter(|text| !text.is_empty())
}
