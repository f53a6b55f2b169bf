//! A reconciliation of a source, the same for all kinds (source-controller v1.9, `Reconcile` of each): look at the artifact that is there, go
//! the steps of the kind, tell what is new.
//!
//! A kind's file has the steps ([`Source::run`]); each of them gives what the next one needs.

use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::artifacts::{self, Before};
use super::error::{ArtifactError, SourceError};
use super::status::{self, OUTDATED, STORAGE_FAILED};
use crate::controllers::context::Context;
use bumpwright_api::{Artifact, GoDuration, Is, ObjectName};
use bumpwright_kube::Kind;
use bumpwright_runtime::{EventType, NewEvent, Outcome, Reconcile, ReconcileRequest, Status, blocking};
use bumpwright_storage::Storage;

/// Where a spec says nothing.
const INTERVAL: Duration = Duration::from_secs(60);

/// A kind of sources, by the type of its objects.
pub(crate) trait Source: DeserializeOwned + Send + Sync + 'static {
    /// The kind.
    const KIND: &'static Kind;
    /// The name of the link to the newest artifact, which `status.url` names; none for kinds without that field.
    const LINK: Option<&'static str>;
    /// What the status says of how the artifact was made, besides the conditions.
    type Observed: DeserializeOwned + Serialize + Default + Send + Sync;

    /// Why a step fails.
    type Error: SourceError;

    /// `spec.interval`
    fn interval(&self) -> Option<GoDuration>;

    /// All steps from the spec to an artifact that is in storage. Gives what an event says of it.
    fn run(
        request: &mut SourceRequest<'_, Self>,
        status: &mut Status,
    ) -> impl Future<Output = Result<String, Self::Error>> + Send;
}

/// Reconciles the sources of a kind.
#[derive(Debug)]
pub(crate) struct Sources<S> {
    context: Arc<Context>,
    storage: Storage,
    kind: PhantomData<fn() -> S>,
}

impl<S> Sources<S> {
    pub(crate) fn new(context: &Arc<Context>, storage: &Storage) -> Self {
        Self {
            context: Arc::clone(context),
            storage: storage.clone(),
            kind: PhantomData,
        }
    }
}

impl<S: Source> Reconcile for Sources<S> {
    const KIND: &'static Kind = S::KIND;
    const CONTROLLER: &'static str = "source-controller";

    async fn reconcile(&self, request: &ReconcileRequest<'_>, status: &mut Status) -> Outcome {
        let object: S = match request.object.read(S::KIND) {
            Ok(object) => object,
            Err(error) => return Outcome::stalled("InvalidSpec", &error),
        };
        let before = Before::of(status);
        status.conditions.remove(STORAGE_FAILED);
        artifacts::check(request, status, &self.storage).await;
        let mut source = SourceRequest {
            context: &self.context,
            storage: &self.storage,
            request,
            object,
            observed: serde_json::from_value(Value::Object(status.fields.clone())).unwrap_or_default(),
        };
        source.link(status);
        match S::run(&mut source, status).await {
            Ok(message) => {
                artifacts::news_event(request, status, &before, message);
                let interval = source.object.interval();
                Outcome::Ready {
                    message: String::new(),
                    news: None,
                    trace: String::new(),
                    after: Some(interval.map_or(INTERVAL, |interval| interval.as_std())),
                }
            }
            Err(error) => error.conclude(status),
        }
    }

    fn conclude(&self, status: &mut Status, outcome: &Outcome) -> Option<NewEvent> {
        status::conclude(status, outcome)
    }

    fn suspend(&self, status: &mut Status) {
        status::suspend(status);
    }

    async fn finalize(&self, request: &ReconcileRequest<'_>) -> Result<(), String> {
        artifacts::remove_all(request, S::KIND, &self.storage).await
    }
    async fn finished(&self, name: &ObjectName) {
        self.context.measure_mirrors(Self::KIND.kind, name).await;
    }

    async fn forgotten(&self, name: &ObjectName) {
        self.context.forget_mirrors(Self::KIND.kind, name).await;
    }
}

/// One reconciliation of one source.
pub(crate) struct SourceRequest<'a, S: Source> {
    pub(crate) context: &'a Arc<Context>,
    pub(crate) storage: &'a Storage,
    pub(crate) request: &'a ReconcileRequest<'a>,
    /// What is reconciled.
    pub(crate) object: S,
    /// How the artifact was made, as the status said when the reconciliation began.
    pub(crate) observed: S::Observed,
}

impl<S: Source> SourceRequest<'_, S> {
    /// The name of an object of the same namespace.
    pub(crate) fn beside(&self, name: &str) -> ObjectName {
        ObjectName::new(&self.request.object.name.namespace, name)
    }

    /// Tells of what is not worth more than a trace.
    pub(crate) fn trace(&self, reason: &str, message: String) {
        self.request.event(EventType::Trace, reason, message, BTreeMap::new());
    }

    /// Tells that nothing had to be made.
    pub(crate) fn up_to_date(&self, revision: &str) {
        let message = format!("artifact up-to-date with remote revision: '{revision}'");
        self.trace("ArtifactUpToDate", message);
    }

    /// Says what is built, and with a reason that the artifact is not the newest any more; lets the cluster see it.
    pub(crate) async fn rebuild(&self, status: &mut Status, outdated: Option<&str>, message: &str) {
        if let Some(reason) = outdated {
            status.conditions.set(OUTDATED, Is::True, reason, message);
        }
        status::rebuilding(status, &format!("building artifact: {message}"));
        self.request.try_write_status(status).await;
    }

    /// Takes a new artifact into the status, with what it was made from.
    pub(crate) fn store(&mut self, status: &mut Status, artifact: &Artifact, observed: S::Observed) {
        for field in fields(&self.observed).keys() {
            status.fields.remove(field);
        }
        status.fields.extend(fields(&observed));
        artifacts::set(status, artifact);
        self.observed = observed;
        self.link(status);
        status.conditions.remove(STORAGE_FAILED);
    }

    /// `status.url` follows the artifact.
    fn link(&self, status: &mut Status) {
        let Some(link) = S::LINK else { return };
        let artifact = artifacts::current(status);
        let url = artifact.and_then(|artifact| self.storage.link_url(&artifact, link).ok());
        match url {
            Some(url) => status.fields.insert("url".to_owned(), json!(url)),
            None => status.fields.remove("url"),
        };
    }
}

fn fields(observed: &impl Serialize) -> serde_json::Map<String, Value> {
    match json!(observed) {
        Value::Object(fields) => fields,
        _ => Default::default(),
    }
}

/// Does a step that asks servers and leaves nothing behind.
pub(crate) async fn asking<T: Send + 'static, E: SourceError>(
    work: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> Result<T, E> {
    blocking::ask(work).await.map_err(ArtifactError::Failed)?
}

/// Does a step that waits for disks.
pub(crate) async fn blocking<T: Send + 'static, E: SourceError>(
    work: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> Result<T, E> {
    blocking::run(work).await.map_err(ArtifactError::Failed)?
}
