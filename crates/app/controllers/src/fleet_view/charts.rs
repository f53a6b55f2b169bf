//! What a view has from elsewhere: the charts of HelmRepositories and OCIRepositories, the artifacts of other sources,
//! and nothing else.
//!
//! What a commit says is a tenant's. So a chart comes from the address that the object in the API server has, and with
//! its logins, as its own controller fetches it; a commit chooses the chart and its version. Files of another source
//! are those of its artifact, if the commit leaves the source as it is. Logins are used of objects in the tenant's
//! namespace only, and so are artifacts that took one.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::{Map, Value};
use tokio::runtime::Handle;

use super::files::ArtifactFiles;
use crate::artifact_trees::{ArtifactTrees, Requester};
use crate::dereference;
use crate::parts::Parts;
use crate::parts::context::Context;
use crate::sources::artifacts;
use crate::sources::helm_chart::pull::{self, RemoteError, Wanted};
use crate::sources::registries::Registries;
use bumpwright_api::{HelmRepository, ObjectName, Objects, OciRepository};
use bumpwright_budget::Reservation;
use bumpwright_chart::PullError;
use bumpwright_connect::ConnectionSpec;
use bumpwright_fleet::{ChartError, Outside, Repository, RepositoryChart, SourceError, SourceObject};
use bumpwright_helm::{Chart, Index};
use bumpwright_http::Job;
use bumpwright_kube::{
    BUCKET, EXTERNAL_ARTIFACT, GIT_REPOSITORY, HELM_CHART, HELM_REPOSITORY, Kind, OCI_REPOSITORY, Object,
};
use bumpwright_kustomize::tree::{Sealed, World};
use bumpwright_scan::Scanner;
use bumpwright_text::between;

/// The longest time that one chart takes.
const LONGEST: Duration = Duration::from_secs(30);

/// The most charts of one view.
const CHARTS: usize = 100;

/// The fields that say where an object's charts are, and who asks for them.
const CONNECTION: [&str; 9] = [
    "url",
    "type",
    "insecure",
    "passCredentials",
    "provider",
    "secretRef",
    "certSecretRef",
    "proxySecretRef",
    "serviceAccountName",
];

/// The kinds that charts come from.
const KINDS: [&Kind; 6] = [
    &BUCKET,
    &EXTERNAL_ARTIFACT,
    &GIT_REPOSITORY,
    &HELM_CHART,
    &HELM_REPOSITORY,
    &OCI_REPOSITORY,
];

/// The fields of a source that do not change its files.
const TIMES: [&str; 3] = ["interval", "timeout", "suspend"];

/// Those that say who asks.
const LOGIN: [&str; 6] = [
    "provider",
    "secretRef",
    "certSecretRef",
    "proxySecretRef",
    "serviceAccountName",
    "sts",
];

/// A chart, and the memory that it holds.
type Pulled = Result<(Arc<Chart>, Reservation), ChartError>;

/// An index, and the memory that it holds.
type HeldIndex = Result<(Arc<Index>, Reservation), PullError>;

/// What the views of a process have from elsewhere.
#[derive(Clone, Debug)]
pub(crate) struct Providers {
    pub(crate) shared: Arc<Context>,
    /// For registries with charts.
    pub(crate) scanner: Arc<Scanner>,
    /// The files of artifacts.
    pub(crate) trees: Arc<ArtifactTrees>,
}

impl Providers {
    pub(crate) fn of(parts: &Parts) -> Self {
        Self {
            shared: Arc::clone(&parts.shared),
            scanner: Arc::clone(&parts.scanner),
            trees: Arc::clone(&parts.trees),
        }
    }
}

/// What comes from elsewhere. A chart is fetched once, and so is the index that charts are chosen from.
pub(crate) struct Elsewhere {
    of: Providers,
    /// The namespace that sees it, and pays.
    namespace: String,
    /// Whose namespace that is, for users.
    who: &'static str,
    runtime: Handle,
    pulled: Mutex<HashMap<String, Arc<OnceLock<Pulled>>>>,
    /// By their HelmRepository.
    indexes: Mutex<HashMap<ObjectName, Arc<OnceLock<HeldIndex>>>>,
    /// Objects that the files do not have.
    objects: Mutex<HashMap<(&'static str, ObjectName), Option<Value>>>,
}

impl Elsewhere {
    pub(crate) fn new(of: Providers, namespace: &str, who: &'static str) -> Self {
        Self {
            of,
            namespace: namespace.to_owned(),
            who,
            runtime: Handle::current(),
            pulled: Mutex::default(),
            indexes: Mutex::default(),
            objects: Mutex::default(),
        }
    }

    fn once(&self, key: String, pull: impl FnOnce() -> Pulled) -> Result<Arc<Chart>, ChartError> {
        let slot = {
            let mut pulled = self.pulled.lock();
            if pulled.len() >= CHARTS && !pulled.contains_key(&key) {
                return Err(unavailable(format!(
                    "more than {CHARTS} charts of other sources in one verification"
                )));
            }
            Arc::clone(pulled.entry(key).or_default())
        };
        let pulled = slot.get_or_init(pull).as_ref();
        pulled.map(|(chart, _)| Arc::clone(chart)).map_err(Clone::clone)
    }

    /// Whether the namespace may name an object of another one.
    fn may_name(&self, name: &ObjectName) -> bool {
        let settings = &self.of.shared.settings;
        name.namespace == self.namespace || !(settings.no_cross_namespace_refs || settings.scope.namespace.is_some())
    }

    /// The object of a source as the API server has it.
    fn live(&self, kind: &'static Kind, source: &SourceObject) -> Result<Object, ChartError> {
        let shown = source.shown();
        if source.name.namespace.is_empty() {
            return Err(unavailable(format!(
                "charts that a chart of the repository needs are not fetched here: {}",
                between("", source.url(), "")
            )));
        }
        if !self.may_name(&source.name) {
            return Err(unavailable(format!(
                "{shown} is in another namespace than {}",
                self.who
            )));
        }
        let object = self.runtime.block_on(self.of.shared.cluster.get(kind, &source.name));
        let object = object.map_err(|error| {
            if error.is_not_found() {
                unavailable(format!("{shown} is not in the cluster"))
            } else {
                unavailable(format!("{shown} cannot be read: {error}"))
            }
        })?;
        let spec = object.field("spec");
        let names_login = LOGIN.iter().any(|field| set(&spec, field).is_some());
        if source.name.namespace != self.namespace && names_login {
            return Err(unavailable(format!(
                "{shown} is in another namespace than {}: its login is not used",
                self.who
            )));
        }
        Ok(object)
    }

    /// The same, unless the files have another address or login for it.
    fn connected(&self, kind: &'static Kind, source: &SourceObject) -> Result<Object, ChartError> {
        let object = self.live(kind, source)?;
        let spec = object.field("spec");
        let given = source.object.as_ref().and_then(|object| object.get("spec"));
        let differs = |field: &&str| given.is_some_and(|given| set(given, field) != set(&spec, field));
        match CONNECTION.iter().find(|field| differs(field)) {
            Some(field) => Err(changed(source, field)),
            None => Ok(object),
        }
    }

    /// The artifact of a source, unless the files would have another one.
    fn artifact(&self, source: &SourceObject) -> Result<Arc<dyn Repository>, ChartError> {
        let shown = source.shown();
        let kind = KINDS.into_iter().find(|kind| kind.kind == source.kind);
        let kind = kind.ok_or_else(|| unavailable(format!("{shown} is another source")))?;
        let object = self.live(kind, source)?;
        let spec = object.field("spec");
        let given = source.object.as_ref().and_then(|object| object.get("spec"));
        if let Some(field) = given.and_then(|given| differing(given, &spec)) {
            return Err(changed(source, &field));
        }
        let artifact = object.status().get("artifact").and_then(artifacts::read);
        let artifact = artifact.ok_or_else(|| unavailable(format!("{shown} has no artifact")))?;
        let requester = Requester {
            namespace: self.namespace.clone(),
            timeout: LONGEST,
        };
        let files = self.of.trees.get(&artifact, &requester);
        let files = files.map_err(|error| unavailable(format!("{shown}: {error}")))?;
        Ok(Arc::new(ArtifactFiles(files)))
    }

    fn secrets(&self, object: &impl ConnectionSpec) -> Result<Objects, ChartError> {
        let secrets = self.runtime.block_on(dereference::of(&self.of.shared, object));
        secrets.map_err(|error| unavailable(error.to_string()))
    }

    /// Runs a fetch on the account of the namespace, for half of the time that is left at most: a slow server does not
    /// take that of the builds.
    fn fetched<E>(
        &self,
        until: Option<Instant>,
        fetch: impl FnOnce(&mut Reservation) -> Result<Chart, E>,
        failed: impl FnOnce(E) -> ChartError,
    ) -> Pulled {
        let account = self.of.shared.settings.fetches.of(&self.namespace).memory;
        let left = until.map(|until| until.saturating_duration_since(Instant::now()) / 2);
        let limit = left.unwrap_or(LONGEST).min(LONGEST);
        let mut held = account.nothing();
        let chart = Job::on(account).run(|| Job::within(limit, || fetch(&mut held)));
        Ok((Arc::new(chart.map_err(failed)?), held))
    }

    fn registries(&self) -> Registries<'_> {
        Registries {
            shared: &self.of.shared,
            scanner: &self.of.scanner,
        }
    }

    /// The index of a HelmRepository, on the account of the namespace as long as the view has it.
    fn index(&self, name: &ObjectName, remote: &bumpwright_chart::Repository) -> Result<Arc<Index>, PullError> {
        let slot = {
            let mut indexes = self.indexes.lock();
            Arc::clone(indexes.entry(name.clone()).or_default())
        };
        let fetched = slot.get_or_init(|| self.held_index(remote)).as_ref();
        fetched.map(|(index, _)| Arc::clone(index)).map_err(Clone::clone)
    }

    fn held_index(&self, remote: &bumpwright_chart::Repository) -> HeldIndex {
        let index = remote.index_within(self.of.shared.settings.chart_sizes.index)?;
        let held = Job::account().reserve(index.weight());
        let held = held.map_err(|error| PullError::Unreachable(error.to_string()))?;
        Ok((Arc::new(index), held))
    }

    fn of_repository(&self, chart: &RepositoryChart, until: Option<Instant>) -> Pulled {
        let object = self.connected(&HELM_REPOSITORY, &chart.repository)?;
        let repository: HelmRepository = read(&object, &HELM_REPOSITORY)?;
        let secrets = self.secrets(&repository)?;
        let wanted = Wanted {
            name: &chart.name,
            version: &chart.version,
            url: &repository.spec.url,
            sizes: self.of.shared.settings.chart_sizes,
        };
        let fetch = |held: &mut Reservation| {
            if repository.is_oci() {
                pull::of_registry(self.registries(), (&repository, &secrets), wanted, held)
            } else {
                pull::of_index((&repository, &secrets), wanted, held, |remote| {
                    Ok(self.index(&chart.repository.name, remote)?)
                })
            }
        };
        self.fetched(until, fetch, |error| match &error {
            RemoteError::Version { .. } => ChartError::Broken(error.to_string()),
            error => unavailable(error.to_string()),
        })
    }

    fn of_image(&self, source: &SourceObject, until: Option<Instant>) -> Pulled {
        let object = self.connected(&OCI_REPOSITORY, source)?;
        let mut repository: OciRepository = read(&object, &OCI_REPOSITORY)?;
        if let Some(given) = &source.object {
            let given: OciRepository = serde_json::from_value(given.clone())
                .map_err(|error| ChartError::Broken(format!("{}: {error}", source.shown())))?;
            repository.spec.reference = given.spec.reference;
            repository.spec.layer_selector = given.spec.layer_selector;
        }
        let secrets = self.secrets(&repository)?;
        let fetch = |held: &mut Reservation| pull::of_image(self.registries(), (&repository, &secrets), held);
        self.fetched(until, fetch, |error| {
            unavailable(format!("{}: {error}", source.shown()))
        })
    }
}

fn changed(source: &SourceObject, field: &str) -> ChartError {
    unavailable(format!("{} has another spec.{field} in the cluster", source.shown()))
}

/// A field of a source in which two specs differ, so that their files may.
fn differing(one: &Value, other: &Value) -> Option<String> {
    let (one, other) = (one.as_object()?, other.as_object()?);
    let fields = one
        .keys()
        .chain(other.keys())
        .filter(|field| !TIMES.contains(&field.as_str()));
    let is_default = |value: &Value| value.is_null() || *value == Value::Bool(false) || value == "generic";
    let of = |spec: &Map<String, Value>, field: &str| spec.get(field).filter(|value| !is_default(value)).cloned();
    fields
        .into_iter()
        .find(|field| of(one, field) != of(other, field))
        .cloned()
}

fn unavailable(why: String) -> ChartError {
    ChartError::Unavailable(why)
}

fn read<T: serde::de::DeserializeOwned>(object: &Object, kind: &'static Kind) -> Result<T, ChartError> {
    object.read(kind).map_err(|error| unavailable(error.to_string()))
}

/// A field of a spec that is not what it is without being set.
fn set<'s>(spec: &'s Value, field: &str) -> Option<&'s Value> {
    let is_default = |value: &&Value| match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => matches!(
            (field, text.as_str()),
            (_, "") | ("type", "default") | ("provider", "generic")
        ),
        _ => false,
    };
    spec.get(field).filter(|value| !is_default(value))
}

impl Outside for Elsewhere {
    /// Remote bases are not fetched: what needs them fails with the commit and without it.
    fn world(&self) -> Box<dyn World + '_> {
        Box::new(Sealed)
    }

    fn source(&self, source: &SourceObject, _: &[Value]) -> Result<Arc<dyn Repository>, Arc<SourceError>> {
        let artifact = self.artifact(source);
        artifact.map_err(|error| Arc::new(SourceError::Fetch(error.into())))
    }

    fn object(&self, kind: &str, name: &ObjectName) -> Option<Value> {
        let kind = KINDS.into_iter().find(|known| known.kind == kind)?;
        if !self.may_name(name) {
            return None;
        }
        let key = (kind.kind, name.clone());
        if let Some(known) = self.objects.lock().get(&key) {
            return known.clone();
        }
        if self.objects.lock().len() >= CHARTS {
            return None;
        }
        let object = self.runtime.block_on(self.of.shared.cluster.get(kind, name));
        let object = object.ok().map(|object| object.value(kind));
        self.objects.lock().insert(key, object.clone());
        object
    }

    fn has_artifacts(&self) -> bool {
        true
    }

    fn chart(&self, chart: &RepositoryChart, _: &[Value], until: Option<Instant>) -> Result<Arc<Chart>, ChartError> {
        self.once(format!("{chart:?}"), || self.of_repository(chart, until))
    }

    fn image(
        &self,
        source: &SourceObject,
        _: &[Value],
        until: Option<Instant>,
    ) -> Option<Result<Arc<Chart>, ChartError>> {
        Some(self.once(format!("{source:?}"), || self.of_image(source, until)))
    }
}
