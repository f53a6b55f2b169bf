//! The reconciliation of a source, the same for all kinds (source-controller v1.9, `Reconcile` of each): check the
//! existing artifact, run the steps of the kind, record an event.
//!
//! The steps of a kind are in its folder and return values; [`Source::run`] lists them. Their results are put into the
//! status by `status.rs` here and in the folder, and by [`SourceRequest`].

use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::artifacts::{self, Checked, InitialState, News};
use super::context::SourcesContext;
use super::error::{ArtifactError, SourceError};
use super::server;
use super::status;
use super::triggers;
use crate::parts::Parts;
use crate::parts::registered::Registered;
use crate::parts::watching::{Caches, Watch};
use crate::settings::{Kinds, Settings};
use bumpwright_api::{Artifact, GoDuration, ObjectName, Reason};
use bumpwright_budget::Budget;
use bumpwright_kube::{Cache, Index, Kind, Object};
use bumpwright_runtime::triggers::own;
use bumpwright_runtime::{FinalizeError, NewEvent, Outcome, Queue, Reconcile, ReconcileRequest, Status, blocking};

/// The default interval.
const INTERVAL: Duration = Duration::from_secs(60);

/// A kind of source, by the type of its objects.
pub(crate) trait Source: DeserializeOwned + Send + Sync + 'static {
    const KIND: &'static Kind;
    /// The name of the link to the newest artifact, for `status.url`; none for kinds without that field.
    const LINK: Option<&'static str>;
    /// The input of the artifact as recorded in the status.
    type Observed: DeserializeOwned + Serialize + Default + Send + Sync;
    type Error: SourceError;

    /// Whether this process reconciles it.
    fn is_enabled(kinds: Kinds) -> bool {
        kinds.source
    }

    /// The kinds whose artifacts it is made of.
    const MADE_OF: &'static [&'static Kind] = &[];

    /// The object that it is made of, by kind and name.
    fn made_of(_object: &Object) -> Option<(String, ObjectName)> {
        None
    }

    /// Whether an object is for others to read only: it has no status and no artifact.
    fn is_static(_object: &Object) -> bool {
        false
    }

    fn interval(&self) -> Option<GoDuration>;

    /// All steps from the spec to a stored artifact.
    fn run(
        request: &SourceRequest<'_, Self>,
        status: &mut Status,
    ) -> impl Future<Output = Result<News, Self::Error>> + Send;
}

/// Reconciles the sources of a kind.
#[derive(Debug)]
pub(crate) struct Sources<S> {
    sources: Arc<SourcesContext>,
    kind: PhantomData<fn() -> S>,
}

impl<S: Source> Registered for Sources<S> {
    fn is_enabled(kinds: Kinds) -> bool {
        S::is_enabled(kinds)
    }

    fn watches(_settings: &Settings) -> Vec<Watch> {
        let made_of = S::MADE_OF.iter().copied().map(Watch::all);
        [Watch::ours(S::KIND)].into_iter().chain(made_of).collect()
    }

    fn triggers(caches: &Caches, queue: &Arc<Queue>) {
        let objects = caches.of(Watch::ours(S::KIND));
        own(&objects, queue);
        if !S::MADE_OF.is_empty() {
            let index = Index::of_specs(&objects, |object| S::made_of(object).into_iter().collect());
            for kind in S::MADE_OF {
                triggers::of_source(&caches.of(Watch::all(kind)), &index, queue);
            }
        }
    }

    fn reconciler(parts: &Parts) -> Option<Self> {
        Some(Self {
            sources: SourcesContext::of(parts)?,
            kind: PhantomData,
        })
    }
}

impl<S: Source> Reconcile for Sources<S> {
    const KIND: &'static Kind = S::KIND;
    const CONTROLLER: &'static str = server::CONTROLLER;

    fn is_static(&self, object: &Object) -> bool {
        S::is_static(object)
    }

    fn needs(&self) -> Vec<&Cache> {
        let charts = &self.sources.charts;
        let caches = [&*charts.repositories, &*self.sources.git_repositories, &*charts.buckets];
        let is_needed = |cache: &&Cache| S::MADE_OF.contains(&cache.kind());
        caches.into_iter().filter(is_needed).collect()
    }

    async fn reconcile(&self, request: &ReconcileRequest<'_>, status: &mut Status) -> Outcome {
        let object: S = match request.object.read(S::KIND) {
            Ok(object) => object,
            Err(error) => return Outcome::stalled(Reason::InvalidSpec, &error),
        };
        let initial = InitialState::of(status);
        status::begin(status);
        match artifacts::check(request, artifacts::current(status), &self.sources.storage).await {
            Checked::Intact(artifact) => status::set_artifact(status, &artifact),
            Checked::Lost => {
                status::lose_artifact(status);
                request.try_write_status(status).await;
            }
            Checked::Missing => {
                status::build_first_artifact(status);
                request.try_write_status(status).await;
            }
        }
        let source = SourceRequest {
            sources: &self.sources,
            request,
            object,
            observed: serde_json::from_value(Value::Object(status.fields.clone())).unwrap_or_default(),
        };
        source.set_url(status);
        match S::run(&source, status).await {
            Ok(news) => {
                artifacts::record_success(request, status, &initial, news);
                ready(source.object.interval())
            }
            Err(error) => status::failed(status, &error),
        }
    }

    fn conclude(&self, status: &mut Status, outcome: &Outcome) -> Option<NewEvent> {
        status::conclude(status, outcome)
    }

    fn suspend(&self, status: &mut Status) {
        status::suspend(status);
    }

    async fn finalize(&self, request: &ReconcileRequest<'_>) -> Result<(), FinalizeError> {
        Ok(artifacts::remove_all(request, S::KIND, &self.sources.storage).await?)
    }

    async fn finished(&self, name: &ObjectName) {
        self.sources.shared.first_rounds.over(Self::KIND.kind, name);
        self.sources.mirrors.measure(Self::KIND.kind, name).await;
    }

    async fn forgotten(&self, name: &ObjectName) {
        self.sources.shared.first_rounds.forget(Self::KIND.kind, name);
        self.sources.validators.forget(name);
        self.sources.mirrors.forget(Self::KIND.kind, name).await;
    }

    async fn moved(&self, object: &Object) {
        self.forgotten(&object.name).await;
        artifacts::remove_moved(S::KIND, object, &self.sources.storage).await;
    }
}

/// One reconciliation of one source.
pub(crate) struct SourceRequest<'a, S: Source> {
    pub(crate) sources: &'a Arc<SourcesContext>,
    pub(crate) request: &'a ReconcileRequest<'a>,
    pub(crate) object: S,
    /// The input of the artifact as recorded in the status at the beginning.
    pub(crate) observed: S::Observed,
}

/// A new artifact and its input.
pub(crate) struct NewArtifact<S: Source> {
    pub(crate) artifact: Artifact,
    pub(crate) observed: S::Observed,
}

impl<S: Source> SourceRequest<'_, S> {
    /// The name of the source.
    pub(crate) fn name(&self) -> &ObjectName {
        &self.request.object.name
    }

    /// An object name in the same namespace.
    pub(crate) fn beside(&self, name: &str) -> ObjectName {
        ObjectName::new(&self.name().namespace, name)
    }

    /// The memory and disk space of fetches of its namespace.
    pub(crate) fn fetches(&self) -> Budget {
        self.sources.shared.settings.fetches.of(&self.name().namespace)
    }

    /// Records a trace event.
    pub(crate) fn trace(&self, reason: Reason, message: String) {
        self.request.trace(reason, message);
    }

    /// Writes a status with the current step, and the reason why the artifact is outdated, if it is (`outdated`).
    pub(crate) async fn rebuild(&self, status: &mut Status, outdated: Option<Reason>, message: &str) {
        if let Some(reason) = outdated {
            status::set_outdated(status, reason, message);
        }
        status::set_building(status, &format!("building artifact: {message}"));
        self.request.try_write_status(status).await;
    }

    /// [`SourceRequest::rebuild`] for a new revision, which outdates the artifact if there is one.
    pub(crate) async fn rebuild_revision(&self, status: &mut Status, message: &str) {
        let outdated = artifacts::current(status).map(|_| Reason::NewRevision);
        self.rebuild(status, outdated, message).await;
    }

    /// Puts a new artifact and its input into the status. Without one, the existing artifact has this revision.
    pub(crate) fn finish(&self, status: &mut Status, new: Option<NewArtifact<S>>, revision: &str) {
        let Some(new) = new else {
            let message = format!("artifact up-to-date with remote revision: '{revision}'");
            return self.trace(Reason::ArtifactUpToDate, message);
        };
        for field in fields(&self.observed).keys() {
            status.fields.remove(field);
        }
        status.fields.extend(fields(&new.observed));
        status::set_artifact(status, &new.artifact);
        self.set_url(status);
    }

    /// `status.url` follows the artifact.
    fn set_url(&self, status: &mut Status) {
        let Some(link) = S::LINK else { return };
        let artifact = artifacts::current(status);
        let url = artifact.and_then(|artifact| self.sources.storage.link_url(&artifact, link).ok());
        match url {
            Some(url) => status.fields.insert("url".to_owned(), json!(url)),
            None => status.fields.remove("url"),
        };
    }
}

fn ready(interval: Option<GoDuration>) -> Outcome {
    Outcome::Ready {
        message: String::new(),
        news: None,
        trace: String::new(),
        after: Some(interval.map_or(INTERVAL, |interval| interval.as_std())),
    }
}

fn fields(observed: &impl Serialize) -> serde_json::Map<String, Value> {
    match json!(observed) {
        Value::Object(fields) => fields,
        _ => Default::default(),
    }
}

/// Runs a step that sends requests to servers and leaves nothing behind.
pub(crate) async fn run_on_network<T: Send + 'static, E: SourceError>(
    work: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> Result<T, E> {
    blocking::ask(work)
        .await
        .map_err(|error| ArtifactError::Failed(error.to_string()))?
}

/// Runs a step that waits for disks.
pub(crate) async fn run_on_disk<T: Send + 'static, E: SourceError>(
    work: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> Result<T, E> {
    blocking::run(work)
        .await
        .map_err(|error| ArtifactError::Failed(error.to_string()))?
}
