//! Triggers of Kustomizations (kustomize-controller, `kustomization_indexers.go`; K-005, K-186 … K-189).

use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

use crate::controllers::sources::artifacts;
use bumpwright_api::{
    ConditionStatus, Conditions, Decryption, Dependency, KubeConfigRef, KustomizationSource, ObjectName, PostBuild,
    RECONCILING,
};
use bumpwright_kube::{Cache, Change, Object};
use bumpwright_runtime::{Queue, triggers};

/// Kustomizations: new ones, changed specs, reconcile requests. Dependents of a changed one are triggered too.
pub(crate) fn own(kustomizations: &Arc<Cache>, queue: &Arc<Queue>) {
    let (all, queue) = (Arc::clone(kustomizations), Arc::clone(queue));
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
            }
        }
        Change::Deleted(object) => {
            queue.cancel(&object.name);
            queue.forget(&object.name);
        }
    });
}

/// Dependents are reconciled at once and not after their pause.
fn wake(all: &Cache, name: &ObjectName, queue: &Queue) {
    let waiting = all.list(|other| waits_for(other, name));
    waiting.iter().for_each(|other| queue.add(other.name.clone()));
}

/// Sources: new revisions of their artifacts.
pub(crate) fn of_source(sources: &Arc<Cache>, kustomizations: &Arc<Cache>, queue: &Arc<Queue>) {
    let (kustomizations, queue) = (Arc::clone(kustomizations), Arc::clone(queue));
    let kind = sources.kind().kind;
    sources.listen(move |change| {
        let (Change::Added(source) | Change::Updated(_, source)) = change else {
            return;
        };
        let Some(revision) = revision(source) else { return };
        if let Change::Updated(old, _) = change
            && self::revision(old).as_ref() == Some(&revision)
        {
            return;
        }
        let users = kustomizations.list(|one| uses(one, kind, &source.name) && !is_settled(one, &revision));
        for user in users {
            queue.add_for_revision(user.name.clone(), &revision, || format!("{kind}/{}", source.name));
        }
    });
}

/// Watched ConfigMaps and Secrets.
pub(crate) fn of_config(configs: &Arc<Cache>, kustomizations: &Arc<Cache>, queue: &Arc<Queue>) {
    let (kustomizations, queue) = (Arc::clone(kustomizations), Arc::clone(queue));
    let kind = configs.kind().kind;
    configs.listen(move |change| {
        let (Change::Added(config) | Change::Updated(_, config) | Change::Deleted(config)) = change;
        for user in kustomizations.list(|one| reads(one, kind, &config.name)) {
            queue.add_because(user.name.clone(), || format!("{kind}/{}", config.name));
        }
    });
}

fn revision(source: &Object) -> Option<String> {
    let artifact = artifacts::read(source.status().get("artifact")?)?;
    Some(artifact.revision)
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
    let references = References::of(one);
    let substitutes = references.post_build.map(|post_build| post_build.substitute_from);
    let mut substitutes = substitutes.into_iter().flatten();
    let clusters = references.kube_config.as_ref();
    let named = match kind {
        "ConfigMap" => vec![clusters.and_then(|one| Some(&one.config_map_ref.as_ref()?.name))],
        _ => vec![
            clusters.and_then(|one| Some(&one.secret_ref.as_ref()?.name)),
            references
                .decryption
                .as_ref()
                .and_then(|one| Some(&one.secret_ref.as_ref()?.name)),
        ],
    };
    named.into_iter().flatten().any(|name| *name == config.name)
        || substitutes.any(|from| from.kind == kind && from.name == config.name)
}

/// Returns whether a Kustomization may be waiting for another one.
fn waits_for(one: &Object, other: &ObjectName) -> bool {
    let mut dependencies = References::of(one).depends_on.into_iter();
    let names_it = dependencies.any(|dependency| means(one, dependency.namespace.as_deref(), &dependency.name, other));
    names_it && !is_ready(one)
}

fn is_ready(one: &Object) -> bool {
    Conditions::of(&one.status(), one.generation, "").ready()
}

/// The state that dependents wait for.
fn state(one: &Object) -> (bool, i64, Option<Value>) {
    let status = one.status();
    let observed = status.get("observedGeneration").and_then(Value::as_i64);
    (
        is_ready(one),
        observed.unwrap_or_default(),
        status.get("lastAppliedRevision").cloned(),
    )
}

fn text<'a>(value: Option<&'a Value>, field: &str) -> Option<&'a str> {
    value?.get(field)?.as_str().filter(|text| !text.is_empty())
}
