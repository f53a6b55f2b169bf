//! Triggers of the image kinds (predicates and mappings of Flux's controllers; C35).

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;

use super::annotations::ALLOWS;
use super::annotations::RECORD;
use super::readers::Readers;
use bumpwright_api::{AutomationAnnotations, Conditions, GoDuration, LabelSelector, ObjectName, READY};
use bumpwright_kube::{Cache, Change, Index, Object};
use bumpwright_policy::{FAILED_VERSIONS, PROMOTION_ANNOTATIONS};
use bumpwright_rollout::ReleaseState;
use bumpwright_runtime::Queue;

/// When the choice of a policy is written.
const WINDOW: &str = "bumpwright.dev/window";

/// Policies are reconciled when the tags of their repository change.
pub(crate) fn policies_of_repository(repositories: &Cache, policies: &Arc<Cache>, queue: &Arc<Queue>) {
    let queue = Arc::clone(queue);
    let policies = Index::of_specs(policies, |policy| repository_of(policy).into_iter().collect());
    let revision = |object: &Object| object.status().pointer("/lastScanResult/revision").cloned();
    repositories.listen(move |change| {
        let Change::Updated(old, new) = change else { return };
        if revision(new).is_some() && revision(old) != revision(new) {
            let policies = policies.get(&new.name);
            policies.iter().for_each(|policy| queue.add(policy.name.clone()));
        }
    });
}

/// All automations of a namespace run when a policy there chooses another image, or has another window: only Git has
/// the markers. Those with `spec.policySelector` run for the policies that it selects, those with `settle` or
/// `spec.policyChangeDelay` wait for further changes. Of other namespaces, those run whose markers name a policy that
/// allows them, or did.
pub(crate) fn automations_of_policy(
    policies: &Cache,
    automations: &Arc<Cache>,
    readers: &Arc<Readers>,
    queue: &Arc<Queue>,
) {
    let (automations, readers, queue) = (Arc::clone(automations), Arc::clone(readers), Arc::clone(queue));
    let image = |object: &Object| {
        object
            .status()
            .get("latestRef")
            .cloned()
            .filter(|image| !image.is_null())
    };
    let window = |object: &Object| object.annotations.get(WINDOW).cloned();
    let shared = move |object: &Object| Some((object.annotations.get(ALLOWS).cloned()?, image(object), window(object)));
    policies.listen(move |change| {
        let (policy, before, now) = match change {
            Change::Added(new) => (new, None, shared(new)),
            Change::Updated(old, new) => (new, shared(old), shared(new)),
            Change::Deleted(old) => (old, shared(old), None),
        };
        if before != now {
            let names = readers
                .of(&policy.name)
                .into_iter()
                .filter_map(|name| automations.get(&name));
            names.for_each(|automation| settle(&automation, &Runs::of(&automation), &queue));
        }
        let Change::Updated(old, new) = change else { return };
        let is_freed = held(old) != held(new) || window(old) != window(new);
        if image(new).is_some() && (image(old) != image(new) || is_freed) {
            for automation in automations.list_in(&new.name.namespace) {
                let runs = Runs::of(&automation);
                if runs.for_policy(new) {
                    settle(&automation, &runs, &queue);
                }
            }
        }
    });
}

/// What decides which versions of a policy are held since they failed.
fn held(policy: &Object) -> [Option<&String>; 2] {
    [FAILED_VERSIONS, "bumpwright.dev/release"].map(|key| policy.annotations.get(key))
}

/// Policies look again when the Kustomization that they promote from gets further, or fails.
pub(crate) fn policies_of_kustomization(kustomizations: &Cache, policies: &Arc<Cache>, queue: &Arc<Queue>) {
    let queue = Arc::clone(queue);
    let [from, kubeconfig] = PROMOTION_ANNOTATIONS;
    let policies = Index::of(policies, move |policy| {
        let annotations = &policy.annotations;
        let from = annotations.get(from).filter(|_| !annotations.contains_key(kubeconfig));
        from.cloned().into_iter().collect()
    });
    kustomizations.listen(move |change| {
        let Change::Updated(old, new) = change else { return };
        let names = policies.get(&format!("Kustomization/{}", new.name));
        if !names.is_empty() && state(old) != state(new) {
            names.iter().for_each(|policy| queue.add(policy.name.clone()));
        }
    });
}

/// How far a Kustomization is: Ready, and its revisions.
fn state(object: &Object) -> impl PartialEq + use<> {
    let status = object.status();
    let ready = Conditions::of(&status, object.generation, "")
        .get(READY)
        .map(|ready| ready.status.clone());
    let revisions = ["lastAppliedRevision", "lastAttemptedRevision"].map(|field| status.get(field).cloned());
    (ready, revisions)
}

/// Automations with an open rollout look again when one of its Kustomizations gets further, or fails.
pub(crate) fn automations_of_kustomization(kustomizations: &Cache, automations: &Arc<Cache>, queue: &Arc<Queue>) {
    automations_of(kustomizations, state, automations, queue);
}

/// Automations with an open rollout look again when one of its HelmReleases gets further, or fails.
pub(crate) fn automations_of_release(releases: &Cache, automations: &Arc<Cache>, queue: &Arc<Queue>) {
    automations_of(releases, release_state, automations, queue);
}

/// Automations whose open rollout names an object look again when it is in another state.
fn automations_of<S: PartialEq>(
    cache: &Cache,
    state: impl Fn(&Object) -> S + Send + Sync + 'static,
    automations: &Arc<Cache>,
    queue: &Arc<Queue>,
) {
    let queue = Arc::clone(queue);
    let open = Index::of(automations, |one| rollout(one).map(|_| ()).into_iter().collect());
    cache.listen(move |change| {
        let Change::Updated(old, new) = change else { return };
        let key = format!("\"{}\":", new.name);
        let mut names = open.get(&());
        names.retain(|one| rollout(one).is_some_and(|record| record.contains(&key)));
        if !names.is_empty() && state(old) != state(new) {
            names.iter().for_each(|one| queue.add_after(one.name.clone(), TOGETHER));
        }
    });
}

/// What a rollout knows of a HelmRelease.
fn release_state(object: &Object) -> ReleaseState {
    ReleaseState::of(&object.field("spec"), &object.status(), object.generation)
}

/// Automations with an open rollout look again when their source has another revision.
pub(crate) fn rollouts_of_source(sources: &Cache, automations: &Arc<Cache>, queue: &Arc<Queue>) {
    let queue = Arc::clone(queue);
    let automations = Index::of_specs(automations, |one| source_of(one).into_iter().collect());
    let revision = |object: &Object| object.status().pointer("/artifact/revision").cloned();
    sources.listen(move |change| {
        let Change::Updated(old, new) = change else { return };
        let mut names = automations.get(&new.name);
        names.retain(|one| rollout(one).is_some());
        if !names.is_empty() && revision(old) != revision(new) {
            names.iter().for_each(|one| queue.add_after(one.name.clone(), TOGETHER));
        }
    });
}

/// Changes of several objects within this time are handled together.
const TOGETHER: Duration = Duration::from_millis(500);

/// The record of an open rollout. It is not parsed, since each change of a Kustomization asks all automations.
fn rollout(automation: &Object) -> Option<&String> {
    let record = automation.annotations.get(RECORD)?;
    (!record.contains("\"closed\":")).then_some(record)
}

/// When an automation runs: what its spec says of policies that change.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Runs {
    policy_selector: Option<LabelSelector>,
    policy_change_delay: Option<GoDuration>,
}

impl Runs {
    fn of(automation: &Object) -> Self {
        automation.spec().unwrap_or_default()
    }

    /// Whether a change of the policy can be one of the automation. An invalid selector is
    /// reported by the reconciliation.
    fn for_policy(&self, policy: &Object) -> bool {
        let selector = self.policy_selector.as_ref();
        selector.is_none_or(|selector| selector.matches(&policy.labels).unwrap_or(true))
    }
}

fn settle(automation: &Object, runs: &Runs, queue: &Queue) {
    let name = automation.name.clone();
    // Invalid annotations are reported by the reconciliation.
    let annotations = AutomationAnnotations::read(&automation.annotations).unwrap_or_default();
    let delay = runs.policy_change_delay.map(GoDuration::as_std);
    match annotations.pause(delay, queue.unsettled(&name)) {
        Some(pause) => queue.add_after(name, pause),
        None => queue.add(name),
    }
}

/// Automations run when their GitRepository appears, or its spec changes.
pub(crate) fn automations_of_source(sources: &Cache, automations: &Arc<Cache>, queue: &Arc<Queue>) {
    let (automations, queue) = (Arc::clone(automations), Arc::clone(queue));
    sources.listen(move |change| {
        let (new, is_due) = match change {
            Change::Added(new) => (new, true),
            Change::Updated(old, new) => (new, old.generation != new.generation),
            Change::Deleted(_) => return,
        };
        if is_due {
            let names = automations.list(|automation| source_of(automation).is_some_and(|name| name == new.name));
            names.iter().for_each(|automation| queue.add(automation.name.clone()));
        }
    });
}

/// The repository whose tags a policy chooses from.
pub(crate) fn repository_of(policy: &Object) -> Option<ObjectName> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Spec {
        image_repository_ref: Reference,
    }
    let spec: Spec = policy.spec()?;
    Some(spec.image_repository_ref.within(policy))
}

/// The repository that an automation writes to.
pub(crate) fn source_of(automation: &Object) -> Option<ObjectName> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Spec {
        source_ref: Reference,
    }
    let spec: Spec = automation.spec()?;
    Some(spec.source_ref.within(automation))
}

/// A field of a spec that names another object.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Reference {
    namespace: String,
    name: String,
}

impl Reference {
    /// The referenced object, by default in the namespace of the object itself.
    fn within(self, object: &Object) -> ObjectName {
        ObjectName::referred_from(&object.name.namespace, Some(&self.namespace), &self.name)
    }
}
