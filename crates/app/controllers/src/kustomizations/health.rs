//! Waiting until the objects of a Kustomization are ready (`spec.wait`, `spec.healthChecks`; K-045 … K-059).

use std::time::Duration;

use futures::{StreamExt as _, stream};
use serde_json::Value;
use tokio::time::Instant;

use crate::parts::context::Context;
use bumpwright_api::{HealthExpressions, Kustomization, KustomizationSpec, ObjectId, ObjectName};
use bumpwright_apply::{Action, ChangeSet};
use bumpwright_cel::{CompileError, Health, HealthChecks};
use bumpwright_health::{HealthError, Observed, Progress, Status, Wait, assess, pod_owner};
use bumpwright_json::{TextFields as _, Texts};
use bumpwright_kube::{Answered, Cluster, ClusterError, GroupVersionKind, POD};
use bumpwright_overlay::Object;
use bumpwright_runtime::{ReconcileRequest, clock};

/// Pauses between checks grow from the first to the last, which is Flux's fixed one.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LAST_PAUSE: Duration = Duration::from_secs(5);

/// Number of objects checked concurrently.
const LOOKS: usize = 8;

/// Why the wait failed.
pub(crate) enum Unhealthy {
    /// They failed, or took too long.
    Failed(String),
    /// A change during the wait (`CancelHealthCheckOnNewRevision`).
    Overtaken(String),
    /// The process ends, or the Kustomization is deleted.
    Ending,
}

/// Why an object cannot be waited for, in Flux's words.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReferenceError {
    #[error("unexpected GroupVersion string: {0}")]
    GroupVersion(String),
    /// It can never exist.
    #[error("resource {} {} is namespace scoped, but namespace is not set", group_kind(.0), .0.name.name)]
    NoNamespace(ObjectId),
}

/// As Go prints a GroupKind.
fn group_kind(id: &ObjectId) -> String {
    let ObjectId { group, kind, .. } = id;
    if group.is_empty() {
        kind.clone()
    } else {
        format!("{kind}.{group}")
    }
}

/// Why the status of an object is unknown.
#[derive(Debug, thiserror::Error)]
enum Unassessed {
    /// Its pods cannot be determined.
    #[error("no selector found")]
    NoSelector,
    #[error(transparent)]
    Pods(#[from] ClusterError),
    #[error(transparent)]
    Invalid(#[from] HealthError),
}

/// The custom health checks of a Kustomization.
pub(crate) fn checks(spec: &KustomizationSpec) -> Result<HealthChecks, CompileError> {
    HealthExpressions::compile(&spec.health_check_exprs)
}

/// An object to wait for, at its known version.
#[derive(Clone, Debug)]
pub(crate) struct Checked {
    id: ObjectId,
    version: String,
}

impl Checked {
    fn kind(&self) -> GroupVersionKind {
        GroupVersionKind {
            group: self.id.group.clone(),
            version: self.version.clone(),
            kind: self.id.kind.clone(),
        }
    }
}

/// The objects that a Kustomization waits for, without itself.
///
/// # Errors
/// In Flux's words, for a reference that cannot be read.
pub(crate) fn objects(kustomization: &Kustomization, changes: &ChangeSet) -> Result<Vec<Checked>, ReferenceError> {
    let own = kustomization.metadata.object_name();
    let applied = changes.changes.iter().filter(|change| change.action != Action::Skipped);
    let checks: Vec<Checked> = if kustomization.spec.wait {
        applied
            .map(|change| Checked {
                id: change.id.clone(),
                version: change.version.clone(),
            })
            .collect()
    } else {
        let named = kustomization.spec.health_checks.iter().map(named);
        named.collect::<Result<_, _>>()?
    };
    let is_own = |id: &ObjectId| id.kind == "Kustomization" && id.name == own;
    Ok(checks.into_iter().filter(|checked| !is_own(&checked.id)).collect())
}

/// The object of a reference, which in v1beta1 needed no `apiVersion`
/// (kustomize-controller, `ReferenceToObjMetadataSet`; apimachinery, `ParseGroupVersion`).
fn named(reference: &bumpwright_api::ObjectReference) -> Result<Checked, ReferenceError> {
    let api_version = match reference.api_version.as_str() {
        "" => "apps/v1",
        given => given,
    };
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    if version.contains('/') {
        return Err(ReferenceError::GroupVersion(api_version.to_owned()));
    }
    Ok(Checked {
        id: ObjectId {
            group: group.to_owned(),
            kind: reference.kind.clone(),
            name: ObjectName::new(&reference.namespace, &reference.name),
        },
        version: version.to_owned(),
    })
}

/// The Jobs that are deleted some time after they end: a missing one has ended.
pub(crate) fn jobs_with_ttl(built: &[Object]) -> Vec<ObjectId> {
    let objects = built.iter().map(|object| &object.value);
    let jobs = objects.filter(|object| {
        object["kind"] == "Job"
            && object
                .pointer("/spec/ttlSecondsAfterFinished")
                .is_some_and(Value::is_number)
    });
    jobs.map(ObjectId::of).filter(|id| id.group == "batch").collect()
}

/// The objects to wait for.
pub(crate) struct Waiting<'a> {
    pub(crate) cluster: &'a Cluster,
    /// Those among the Jobs that are deleted some time after they end.
    pub(crate) jobs_with_ttl: &'a [ObjectId],
    pub(crate) objects: Vec<Checked>,
    pub(crate) checks: HealthChecks,
}

/// Waits until all are ready, within the timeout of the Kustomization.
pub(crate) async fn wait(
    context: &Context,
    request: &ReconcileRequest<'_>,
    kustomization: &Kustomization,
    waiting: Waiting<'_>,
) -> Result<(), Unhealthy> {
    let Waiting {
        cluster,
        jobs_with_ttl,
        objects,
        checks,
    } = waiting;
    let gates = context.settings.gates;
    let possible = have_namespaces(cluster, &objects).await;
    possible.map_err(|error| Unhealthy::Failed(error.to_string()))?;
    let ids = objects.iter().map(|checked| checked.id.clone());
    let mut wait = Wait::new(ids, !gates.no_fail_fast, jobs_with_ttl.iter().cloned());
    let end = Instant::now() + kustomization.spec.timeout();
    let mut pause = FIRST_PAUSE;
    loop {
        match look(cluster, &objects, &checks, &mut wait, end).await {
            Progress::Done => return Ok(()),
            Progress::Failed(unready) => return Err(Unhealthy::Failed(unready.to_string())),
            Progress::Waiting => {}
        }
        if Instant::now() >= end {
            return wait
                .time_out()
                .map_err(|unready| Unhealthy::Failed(unready.to_string()));
        }
        tokio::select! {
            () = tokio::time::sleep(pause.min(end - Instant::now())) => {}
            trigger = request.requested_again(), if gates.cancel_health_checks => return Err(Unhealthy::Overtaken(trigger)),
            () = request.cancelled() => return Err(Unhealthy::Ending),
            () = request.shutting_down() => return Err(Unhealthy::Ending),
        }
        pause = (pause * 2).min(LAST_PAUSE);
    }
}

/// Refuses objects that can never exist. An unknown kind may be defined meanwhile (fluxcd/cli-utils,
/// `validateIdentifiers`).
async fn have_namespaces(cluster: &Cluster, objects: &[Checked]) -> Result<(), ReferenceError> {
    for checked in objects.iter().filter(|checked| checked.id.name.namespace.is_empty()) {
        let resource = cluster.resource_at_any_version(&checked.kind()).await;
        if matches!(resource, Ok(Some(resource)) if resource.namespaced) {
            return Err(ReferenceError::NoNamespace(checked.id.clone()));
        }
    }
    Ok(())
}

/// Checks each object that was not ready before.
async fn look(
    cluster: &Cluster,
    objects: &[Checked],
    checks: &HealthChecks,
    wait: &mut Wait,
    end: Instant,
) -> Progress {
    let is_open = |checked: &&Checked| {
        let last = wait.last(&checked.id);
        last.is_none_or(|last| last.status != Status::Current)
    };
    let open = objects.iter().filter(is_open);
    let looks: Vec<_> = open
        .map(|checked| async move { (&checked.id, state(cluster, checked, checks).await) })
        .collect();
    let mut looks = stream::iter(looks).buffer_unordered(LOOKS);
    loop {
        let look = tokio::time::timeout_at(end, looks.next()).await;
        let Ok(Some((id, observed))) = look else {
            return wait.progress();
        };
        match wait.observe(id, observed) {
            Progress::Waiting => {}
            decided => return decided,
        }
    }
}

async fn state(cluster: &Cluster, checked: &Checked, checks: &HealthChecks) -> Observed {
    let id = &checked.id;
    let kind = checked.kind();
    let resource = match cluster.resource_at_any_version(&kind).await {
        Ok(Some(resource)) => resource,
        Ok(None) => {
            return Observed::unknown(format!("no matches for kind {:?} in group {:?}", id.kind, id.group));
        }
        Err(error) => return Observed::unknown(error.to_string()),
    };
    let object = match cluster.fetch(&resource, &id.name).await {
        Ok(object) => object,
        Err(error) if error.is_not_found() => return Observed::status(Status::NotFound),
        Err(error) => return Observed::unknown(error.to_string()),
    };
    let now = clock::now();
    if let Some(expressions) = checks.find(&kind.api_version(), &id.kind) {
        return match expressions.status(&object) {
            Ok(Health::Current) => Observed::status(Status::Current),
            Ok(Health::Failed) => Observed::status(Status::Failed),
            Ok(Health::InProgress) => Observed::status(Status::InProgress),
            Err(error) => Observed::unknown(error.to_string()),
        };
    }
    match assessed(cluster, &object, &now).await {
        Ok(status) => Observed::status(status),
        Err(error) => Observed::unknown(error.to_string()),
    }
}

async fn assessed(cluster: &Cluster, object: &Value, now: &bumpwright_gostd::Time) -> Result<Status, Unassessed> {
    let health = match pod_owner(object) {
        Some(owner) => {
            let selector = owner.selector.ok_or(Unassessed::NoSelector)?;
            assess(object, &pods(cluster, owner.namespace, selector).await?, now)
        }
        None => assess(object, &[], now),
    };
    Ok(health?.status)
}

/// The pods that a selector chooses, by name.
async fn pods(cluster: &Cluster, namespace: &str, selector: &Value) -> Result<Answered<Vec<Value>>, ClusterError> {
    let resource = cluster.resource(&POD.gvk()).await?;
    let mut pods = cluster.list(&resource, namespace, &selector_text(selector)).await?;
    let name = |pod: &Value| pod.text_at("/metadata/name").to_owned();
    pods.sort_by_key(name);
    Ok(pods)
}

/// A `metav1.LabelSelector` as the query of a list.
pub(crate) fn selector_text(selector: &Value) -> String {
    let mut parts = Vec::new();
    let labels = selector.get("matchLabels").and_then(Value::as_object);
    if let Some(labels) = labels {
        parts.extend(labels.keys().map(|key| format!("{key}={}", labels.text_of(key))));
    }
    let expressions = selector.get("matchExpressions").and_then(Value::as_array);
    for expression in expressions.into_iter().flatten() {
        let key = expression.text_of("key");
        let values = expression["values"].as_array().into_iter().flatten();
        let values: Vec<&str> = values.filter_map(Value::as_str).collect();
        let values = values.join(",");
        parts.push(match expression.text_of("operator") {
            "In" => format!("{key} in ({values})"),
            "NotIn" => format!("{key} notin ({values})"),
            "DoesNotExist" => format!("!{key}"),
            _ => key.to_owned(),
        });
    }
    parts.join(",")
}
