//! What a Kustomization proves: the version that all of its workloads run, and since when they have
//! been healthy with it.
//!
//! All times are of the objects' own statuses, so that the answer does not depend on who looks, or how often.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

use super::releases::ReleaseState;
use bumpwright_api::{ConditionStatus, Conditions, ObjectId, ObjectName, READY};
use bumpwright_gostd::{Duration, RFC_3339, Time};
use bumpwright_health::{Status, compute};
use bumpwright_json::Texts;
use bumpwright_policy::{LatestRef, Reference, Validation};
use bumpwright_text::{Excerpt, between};

/// The most workloads of a Kustomization that are read.
const MOST_WORKLOADS: usize = 100;

/// The most bytes of namespace and name together (RFC 1123).
const LONGEST_NAMES: usize = 63 + 253;

/// The most pods of a workload that are read.
pub const MOST_PODS: usize = 500;

/// The objects of a Kustomization that is ready, as far as they count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inventory {
    /// Its Deployments, StatefulSets and DaemonSets, and those of its HelmReleases.
    pub workloads: Vec<ObjectId>,
    /// Its HelmReleases, whose workloads are in their own inventories.
    pub helm_releases: Vec<ObjectName>,
    /// The workloads of releases that are not as they should be, with a sentence about the release.
    unready: BTreeMap<ObjectId, String>,
    /// Sentences about the releases that are not looked into.
    unseen: Vec<String>,
}

/// A workload with its pods.
#[derive(Clone, Copy, Debug)]
pub struct Workload<'a> {
    pub id: &'a ObjectId,
    pub object: &'a Value,
    /// The pods that its selector chooses.
    pub pods: &'a [Value],
}

/// Tag and digest of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// The tag; empty for an image that is named by its digest alone.
    pub tag: String,
    /// The digest, if it is named.
    pub digest: Option<String>,
}

/// The version that a Kustomization has proven, and since when.
#[derive(Clone, Debug)]
pub struct Proof {
    /// The version that all workloads run.
    pub version: Version,
    /// Since when, in good health.
    pub since: Time,
}

/// Why nothing is proven: a sentence about the Kustomization.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unproven {
    /// It is not reconciled.
    #[error("it is not ready: {0}")]
    NotReady(String),
    /// It is between two revisions.
    #[error("it has tried revision {attempted}, but applied {applied}")]
    NotApplied {
        /// The revision of the last attempt.
        attempted: String,
        /// The revision of the last success.
        applied: String,
    },
    /// There are too many objects to look at.
    #[error("it has {0} workloads, of which {MOST_WORKLOADS} at most are looked at; name a smaller Kustomization")]
    TooManyWorkloads(usize),
    /// Nothing runs the image.
    #[error("none of its Deployments, StatefulSets and DaemonSets runs {repository}{}", also(.unseen))]
    NoWorkload {
        /// The repository of the image.
        repository: String,
        /// Sentences about the HelmReleases that are not looked into.
        unseen: Vec<String>,
    },
    /// The HelmRelease of a workload is not as it should be.
    #[error("{0}")]
    Release(String),
    /// Workloads, or containers of one, run different versions.
    #[error("{first} runs {version}, but {second} runs {other}")]
    Different {
        /// A workload.
        first: String,
        version: Box<Version>,
        /// Another one.
        second: String,
        other: Box<Version>,
    },
    /// An image without a tag.
    #[error("{workload} names its image by digest alone")]
    NoTag { workload: String },
    /// A workload is not as it should be.
    #[error("{workload} is {status}: {message}{}", more(.pod.as_ref()))]
    NotCurrent {
        workload: String,
        status: &'static str,
        message: String,
        /// The first pod that is not as it should be.
        pod: Option<String>,
    },
    /// A workload cannot be judged.
    #[error("{workload}: {why}")]
    Unclear { workload: String, why: String },
    /// A pod is not as it should be.
    #[error(transparent)]
    Pod(#[from] PodError),
}

/// Why it is not known since when the pods of a workload have been ready.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PodError {
    #[error("it has more than {MOST_PODS} pods, which are not looked at")]
    TooMany,
    #[error("Pod/{namespace}/{name} of {workload} {why}")]
    Pod {
        namespace: String,
        name: String,
        workload: String,
        why: NotReady,
    },
}

/// Why a pod does not count.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotReady {
    #[error("does not run {0}")]
    Other(String),
    #[error("still runs {0}")]
    Old(Box<Version>),
    /// With what its containers wait for, or the message of its condition.
    #[error("is not ready{0}")]
    Waiting(String),
    #[error("does not tell since when it is ready")]
    UnknownTime,
    #[error("does not tell since when container {0} runs")]
    UnknownStart(String),
}

/// The first of some sentences, and how many more there are.
fn also(sentences: &[String]) -> String {
    match sentences {
        [] => String::new(),
        [one] => format!("; {one}"),
        [one, more @ ..] => format!("; {one} (and {} more HelmReleases)", more.len()),
    }
}

fn more(text: Option<&String>) -> String {
    between("; ", text, "").to_string()
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.tag)?;
        match &self.digest {
            Some(digest) => write!(f, "@{digest}"),
            None => Ok(()),
        }
    }
}

impl Proof {
    /// How much of a time in good health is left.
    #[must_use]
    pub fn left(&self, soak: Duration, now: &Time) -> Option<Duration> {
        let left = Duration(soak.0.saturating_sub(now.since(&self.since).0));
        (left > Duration(0)).then_some(left)
    }
}

impl Inventory {
    /// Reads status and generation of a Kustomization.
    ///
    /// # Errors
    /// [`Unproven`] unless it is ready at the revision that it tried last.
    pub fn of(status: &Value, generation: i64) -> Result<Self, Unproven> {
        let conditions = Conditions::of(status, generation, "");
        if !conditions.is(READY, ConditionStatus::True) {
            return Err(Unproven::NotReady(match conditions.get(READY) {
                Some(ready) => first_line(&ready.message),
                None => "it has not been reconciled".to_owned(),
            }));
        }
        if status.get("observedGeneration").and_then(Value::as_i64) != Some(generation) {
            return Err(Unproven::NotReady("its spec has not been reconciled".to_owned()));
        }
        let (applied, attempted) = (
            status.text_of("lastAppliedRevision"),
            status.text_of("lastAttemptedRevision"),
        );
        if applied != attempted || applied.is_empty() {
            return Err(Unproven::NotApplied {
                attempted: first_line(attempted),
                applied: first_line(applied),
            });
        }
        Self::of_inventory(status).bounded()
    }

    fn bounded(self) -> Result<Self, Unproven> {
        match self.workloads.len() {
            few if few <= MOST_WORKLOADS => Ok(self),
            many => Err(Unproven::TooManyWorkloads(many)),
        }
    }

    /// Adds the workloads of one of its releases, by the inventory that helm-controller keeps.
    ///
    /// # Errors
    /// [`Unproven::TooManyWorkloads`]
    pub fn with_release(mut self, name: &ObjectName, release: &Value) -> Result<Self, Unproven> {
        let part = |name: &str| release.get(name).unwrap_or(&Value::Null);
        let (spec, status) = (part("spec"), part("status"));
        if spec.get("kubeConfig").is_some() {
            return Ok(self.without_release(name, "it installs to another cluster"));
        }
        if status.pointer("/inventory/entries").is_none() {
            let why = "its status does not tell its objects, as that of helm-controller 1.5 and newer ones does";
            return Ok(self.without_release(name, why));
        }
        let generation = release.pointer("/metadata/generation").and_then(Value::as_i64);
        let state = ReleaseState::of(spec, status, generation.unwrap_or_default());
        let is_well = state.ready == Some(true) && state.is_deployed;
        for workload in Self::of_inventory(status).workloads {
            if self.workloads.len() > MOST_WORKLOADS {
                break;
            }
            if self.workloads.contains(&workload) {
                continue;
            }
            if !is_well {
                let why = match state.message.as_str() {
                    "" => "its spec has not been reconciled".to_owned(),
                    message => first_line(message),
                };
                let why = format!("HelmRelease {name}, which installs {workload}, is not ready: {why}");
                self.unready.insert(workload.clone(), why);
            }
            self.workloads.push(workload);
        }
        self.bounded()
    }

    /// Notes that one of its releases is not looked into.
    #[must_use]
    pub fn without_release(mut self, name: &ObjectName, why: &str) -> Self {
        self.unseen
            .push(format!("HelmRelease {name} is not looked into: {}", first_line(why)));
        self
    }

    /// Entries are `namespace_name_group_Kind`; the names of these kinds have no underscores. The cluster may be a
    /// tenant's own, with names that no API server takes.
    fn of_inventory(status: &Value) -> Self {
        let entries = status.pointer("/inventory/entries").and_then(Value::as_array);
        let mut inventory = Self::default();
        for entry in entries.into_iter().flatten() {
            let parts: Vec<&str> = entry.text_of("id").split('_').collect();
            match parts.as_slice() {
                [
                    namespace,
                    name,
                    "apps",
                    kind @ ("Deployment" | "StatefulSet" | "DaemonSet"),
                ] if namespace.len() + name.len() <= LONGEST_NAMES => {
                    inventory.workloads.push(ObjectId {
                        name: ObjectName::new(*namespace, *name),
                        group: "apps".to_owned(),
                        kind: (*kind).to_owned(),
                    });
                }
                [namespace, name, "helm.toolkit.fluxcd.io", "HelmRelease"]
                    if namespace.len() + name.len() <= LONGEST_NAMES =>
                {
                    inventory.helm_releases.push(ObjectName::new(*namespace, *name));
                }
                _ => {}
            }
        }
        inventory
    }

    /// What these of its workloads prove, which run an image of `repository` (registry and path in full).
    pub fn prove(&self, repository: &str, workloads: &[Workload<'_>], now: &Time) -> Result<Proof, Unproven> {
        let mut common: Option<(String, Version)> = None;
        for workload in workloads {
            for version in versions(workload.template(), repository) {
                match &common {
                    None => common = Some((workload.id.to_string(), version)),
                    Some((_, known)) if *known == version => {}
                    Some((first, known)) => {
                        return Err(Unproven::Different {
                            first: first.clone(),
                            version: Box::new(known.clone()),
                            second: workload.id.to_string(),
                            other: Box::new(version),
                        });
                    }
                }
            }
        }
        let Some((first, version)) = common else {
            return Err(Unproven::NoWorkload {
                repository: repository.to_owned(),
                unseen: self.unseen.clone(),
            });
        };
        if version.tag.is_empty() {
            return Err(Unproven::NoTag { workload: first });
        }
        let mut since: Option<Time> = None;
        for workload in workloads {
            if let Some(why) = self.unready.get(workload.id) {
                return Err(Unproven::Release(why.clone()));
            }
            let healthy = workload.healthy_since(repository, &version, now)?;
            since = Some(later(since, healthy));
        }
        // The clock of who wrote a status may be ahead.
        let since = since.filter(|since| since.order(now).is_lt());
        Ok(Proof {
            version,
            since: since.unwrap_or_else(|| now.clone()),
        })
    }
}

/// Whether a workload has a container with an image of `repository`.
#[must_use]
pub fn runs(workload: &Value, repository: &str) -> bool {
    let template = workload.pointer("/spec/template").unwrap_or(&Value::Null);
    !versions(template, repository).is_empty()
}

impl Workload<'_> {
    fn template(&self) -> &Value {
        self.object.pointer("/spec/template").unwrap_or(&Value::Null)
    }

    /// Since when it has been healthy with this version.
    fn healthy_since(&self, repository: &str, version: &Version, now: &Time) -> Result<Time, Unproven> {
        let unclear = |why: String| Unproven::Unclear {
            workload: self.id.to_string(),
            why,
        };
        let health = compute(self.object, now).map_err(|error| unclear(error.to_string()))?;
        let pods = self.pods_since(repository, version);
        if health.status != Status::Current {
            return Err(Unproven::NotCurrent {
                workload: self.id.to_string(),
                status: health.status.as_str(),
                message: first_line(&health.message),
                pod: pods.err().map(|error| error.to_string()),
            });
        }
        let since = pods?.ok_or_else(|| unclear("it has no running pods".to_owned()))?;
        Ok(self
            .conditions_since()
            .into_iter()
            .fold(since, |since, time| later(Some(since), time)))
    }

    /// When the last rollout of a Deployment was complete, and when it became available.
    fn conditions_since(&self) -> Vec<Time> {
        let conditions = self.object.pointer("/status/conditions").and_then(Value::as_array);
        let times = conditions.into_iter().flatten().filter_map(|condition| {
            match (condition.text_of("type"), condition.text_of("reason")) {
                ("Progressing", "NewReplicaSetAvailable") => time(condition.get("lastUpdateTime")),
                ("Available", _) => time(condition.get("lastTransitionTime")),
                _ => None,
            }
        });
        times.collect()
    }

    /// Since when all pods are ready and none of their containers has been restarted; none without pods. Those that are
    /// on their way out do not count: others take their place.
    fn pods_since(&self, repository: &str, version: &Version) -> Result<Option<Time>, PodError> {
        if self.pods.len() > MOST_PODS {
            return Err(PodError::TooMany);
        }
        let mut since = None;
        for pod in self.pods.iter().filter(|pod| !is_ending(pod)) {
            let named = |why| {
                let part = |field| first_line(pod.text_at(field));
                PodError::Pod {
                    namespace: part("/metadata/namespace"),
                    name: part("/metadata/name"),
                    workload: self.id.to_string(),
                    why,
                }
            };
            let ready = pod_since(pod, repository, version).map_err(named)?;
            since = Some(later(since, ready));
        }
        Ok(since)
    }
}

fn is_ending(pod: &Value) -> bool {
    let phase = pod.pointer("/status/phase").and_then(Value::as_str);
    pod.pointer("/metadata/deletionTimestamp").is_some() || matches!(phase, Some("Succeeded" | "Failed"))
}

fn pod_since(pod: &Value, repository: &str, version: &Version) -> Result<Time, NotReady> {
    let runs = versions(pod, repository);
    if runs.is_empty() {
        return Err(NotReady::Other(repository.to_owned()));
    }
    if let Some(other) = runs.iter().find(|one| *one != version) {
        return Err(NotReady::Old(Box::new((*other).clone())));
    }
    let conditions = pod.pointer("/status/conditions").and_then(Value::as_array);
    let ready = conditions
        .into_iter()
        .flatten()
        .find(|condition| condition.text_of("type") == "Ready");
    let ready = match ready {
        Some(ready) if ready.text_of("status") == "True" => ready,
        ready => return Err(NotReady::Waiting(not_ready(pod, ready))),
    };
    let mut since = time(ready.get("lastTransitionTime")).ok_or(NotReady::UnknownTime)?;
    for started in containers_since(pod)? {
        since = later(Some(since), started);
    }
    Ok(since)
}

/// When the containers of a pod were started last. Of its initial ones those count that go on running.
fn containers_since(pod: &Value) -> Result<Vec<Time>, NotReady> {
    let list = |pointer: &str| pod.pointer(pointer).and_then(Value::as_array).into_iter().flatten();
    let started = |status: &Value| time(status.pointer("/state/running/startedAt"));
    let mut times: Vec<Time> = list("/status/initContainerStatuses").filter_map(started).collect();
    for container in list("/spec/containers") {
        let name = container.text_of("name");
        let status = list("/status/containerStatuses").find(|status| status.text_of("name") == name);
        let started = status.and_then(started);
        let unknown = || NotReady::UnknownStart(first_line(name));
        times.push(started.ok_or_else(unknown)?);
    }
    Ok(times)
}

/// Why a pod is not ready: what its containers wait for, or the message of the condition.
fn not_ready(pod: &Value, ready: Option<&Value>) -> String {
    let waits = |status: &Value| {
        let reason = status.pointer("/state/waiting/reason")?.as_str()?;
        let name = first_line(status.text_of("name"));
        Some(format!(": container {name} waits: {}", first_line(reason)))
    };
    let statuses = |field: &str| pod.pointer(field).and_then(Value::as_array).into_iter().flatten();
    let mut all = statuses("/status/initContainerStatuses").chain(statuses("/status/containerStatuses"));
    let message = ready
        .map(|ready| ready.text_of("message"))
        .filter(|message| !message.is_empty());
    let message = message.map(|message| format!(": {}", first_line(message)));
    all.find_map(waits).or(message).unwrap_or_default()
}

/// The versions of the images of `repository` that the containers of a pod, or of a template, name.
fn versions(pod: &Value, repository: &str) -> Vec<Version> {
    let containers = |field: &str| pod.pointer(field).and_then(Value::as_array).into_iter().flatten();
    let containers = containers("/spec/containers").chain(containers("/spec/initContainers"));
    containers
        .filter_map(|container| version(container.text_of("image"), repository))
        .collect()
}

/// Tag and digest of an image, if it is of this repository.
fn version(image: &str, repository: &str) -> Option<Version> {
    let reference = Reference::parse(image, Validation::Weak).ok()?;
    if reference.context() != repository {
        return None;
    }
    let (_, tag, digest) = LatestRef::split(image);
    let implied = if digest.is_none() { "latest" } else { "" };
    Some(Version {
        tag: tag.unwrap_or(implied).to_owned(),
        digest: digest.map(str::to_owned),
    })
}

fn later(one: Option<Time>, other: Time) -> Time {
    match one {
        Some(one) if one.order(&other).is_gt() => one,
        _ => other,
    }
}

fn time(value: Option<&Value>) -> Option<Time> {
    Time::parse(RFC_3339, value?.as_str()?.as_bytes()).ok()
}

/// The first line of a message; statuses are limited in length.
fn first_line(message: &str) -> String {
    message.first_line().chars().take(300).collect()
}
