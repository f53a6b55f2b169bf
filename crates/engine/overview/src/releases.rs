//! HelmReleases, with what Flux's helm-controller says of them.

use bumpwright_api::{Condition, HealthExpressions, ObjectName};
use bumpwright_budget::Few;
use serde::{Deserialize, Serialize};

use super::facts::{Conditions, Entry, Facts, Inventory, InventoryEntry, Meta, OtherCluster, Reference, Spec, Status};
use super::kustomizations::is_zero;
use super::readiness::{Readiness, seconds};
use super::world::{HELM_CHART, Id, RELEASE, World};

/// The labels of helm-controller on the objects of a release.
const OWNER_NAME: &str = "helm.toolkit.fluxcd.io/name";
const OWNER_NAMESPACE: &str = "helm.toolkit.fluxcd.io/namespace";

/// The annotations of Helm itself.
const RELEASE_NAME: &str = "meta.helm.sh/release-name";
const RELEASE_NAMESPACE: &str = "meta.helm.sh/release-namespace";

/// The most releases above an object: a release may have HelmReleases among its objects.
const ABOVE: usize = 8;

/// The fields of a HelmRelease that views need.
pub type ReleaseFacts = Facts<ReleaseSpec, ReleaseStatus>;

/// The spec of a HelmRelease.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ReleaseSpec {
    /// The HelmChart that helm-controller makes.
    pub chart: ChartTemplate,
    /// A chart that somebody else has made: an OCIRepository, a HelmChart or an ExternalArtifact.
    pub chart_ref: Option<Reference>,
    /// What must be ready before.
    pub depends_on: Few<Reference, 100>,
    /// The name of Helm's release, where it is not made of the object's.
    pub release_name: String,
    /// The namespace of its objects, where it is not the object's.
    pub target_namespace: String,
    /// Whether it is suspended.
    pub suspend: bool,
    /// The cluster that it installs to; none for its own.
    pub kube_config: Option<OtherCluster>,
    /// Readiness of custom kinds.
    pub health_check_exprs: Few<HealthExpressions, 100>,
}

/// `spec.chart` of a HelmRelease.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ChartTemplate {
    /// The spec of the HelmChart.
    pub spec: ChartSpec,
}

/// `spec.chart.spec` of a HelmRelease.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ChartSpec {
    /// Name or path of the chart.
    pub chart: String,
    pub version: String,
    /// Where it is: a HelmRepository, GitRepository or Bucket.
    pub source_ref: Reference,
}

/// The status of a HelmRelease.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ReleaseStatus {
    /// The HelmChart that was made, `namespace/name`.
    pub helm_chart: String,
    /// Helm's revisions of it, the latest first.
    pub history: Few<SnapshotFacts, 20>,
    /// Its objects; newer helm-controllers alone tell them.
    pub inventory: Inventory,
    /// The version of the chart that was tried last.
    pub last_attempted_revision: String,
    /// `install` or `upgrade`.
    pub last_attempted_release_action: String,
    /// The failures since the last success or change.
    pub failures: i64,
    pub conditions: Conditions,
    pub observed_generation: i64,
}

/// An entry of `status.history`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SnapshotFacts {
    /// The name of Helm's release.
    pub name: String,
    pub namespace: String,
    /// Its revision, from 1.
    pub version: i64,
    /// Its state in Helm's words: `deployed`, `superseded`, `failed`, …
    pub status: String,
    pub chart_name: String,
    pub chart_version: String,
    /// The version of the application in it.
    pub app_version: String,
    pub first_deployed: String,
    pub last_deployed: String,
}

impl Spec for ReleaseSpec {
    fn is_suspended(&self) -> bool {
        self.suspend
    }
}

impl Status for ReleaseStatus {
    fn conditions(&self) -> &[Condition] {
        &self.conditions
    }

    fn observed_generation(&self) -> i64 {
        self.observed_generation
    }
}

/// A HelmRelease as views show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Release {
    pub id: Id,
    pub readiness: Readiness,
    /// The name of the chart, or its path in the source.
    pub chart: String,
    /// The version of the chart that Helm has; empty before the first time.
    pub version: String,
    /// The range of versions that is asked for; empty where the source chooses.
    pub range: String,
    /// Where the chart comes from: that of `spec.chartRef`, or of `spec.chart.spec.sourceRef`.
    pub source: Id,
    /// The HelmChart that helm-controller has made for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub helm_chart: Option<Id>,
    /// The revision that its chart has at the source; empty when it is not known.
    pub available: String,
    /// Whether it installs its objects to another cluster.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub elsewhere: bool,
    /// The Kustomization that applied it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<Id>,
    /// What must be ready before.
    pub depends_on: Vec<Id>,
    /// Number of those that are left out.
    #[serde(skip_serializing_if = "is_zero")]
    pub depends_on_left_out: usize,
    /// Helm's name of it.
    pub release_name: String,
    /// The namespace of its objects.
    pub namespace: String,
    /// The version of the chart that was tried last.
    pub attempted: String,
    /// What was tried: `install` or `upgrade`; empty before the first time.
    pub attempted_action: String,
    /// The failures since the last success or change.
    pub failures: i64,
    /// Number of its objects; zero where its controller does not tell them.
    pub objects: usize,
    /// Helm's revisions of it, the latest first.
    pub history: Vec<Deployed>,
}

/// One of Helm's revisions of a release.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Deployed {
    /// Its number, from 1.
    pub revision: i64,
    /// Its state in Helm's words: `deployed`, `superseded`, `failed`, …
    pub status: String,
    /// `name@version` of its chart.
    pub chart: String,
    /// The version of the application in it.
    pub app_version: String,
    /// When it was deployed first, in seconds since 1970-01-01 UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<i64>,
    /// When it was deployed last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<i64>,
}

impl Deployed {
    /// Whether it ended well.
    #[must_use]
    pub fn succeeded(&self) -> bool {
        matches!(self.status.as_str(), "deployed" | "superseded")
    }

    /// The reason that helm-controller gives the Ready condition after it.
    pub(crate) fn reason(&self) -> &'static str {
        match (self.revision, self.succeeded()) {
            (..=1, true) => "InstallSucceeded",
            (..=1, false) => "InstallFailed",
            (_, true) => "UpgradeSucceeded",
            (_, false) => "UpgradeFailed",
        }
    }
}

impl From<&SnapshotFacts> for Deployed {
    fn from(facts: &SnapshotFacts) -> Self {
        Self {
            revision: facts.version,
            status: facts.status.clone(),
            chart: format!("{}@{}", facts.chart_name, facts.chart_version),
            app_version: facts.app_version.clone(),
            first: seconds(&facts.first_deployed),
            last: seconds(&facts.last_deployed),
        }
    }
}

impl ReleaseFacts {
    /// The Kustomization that applied it.
    #[must_use]
    pub fn owner(&self) -> Option<Id> {
        self.metadata.kustomization()
    }

    /// Whether it installs its objects to another cluster (`spec.kubeConfig`).
    #[must_use]
    pub fn is_elsewhere(&self) -> bool {
        self.spec.kube_config.is_some()
    }

    /// Where its chart comes from.
    #[must_use]
    pub fn source(&self) -> Id {
        let reference = self.spec.chart_ref.as_ref();
        let reference = reference.unwrap_or(&self.spec.chart.spec.source_ref);
        Id::new(&reference.kind, reference.from(&self.metadata.namespace))
    }

    /// The HelmChart that helm-controller makes for it, in the namespace of the source.
    #[must_use]
    pub fn helm_chart(&self) -> Option<Id> {
        if self.spec.chart_ref.is_some() {
            return None;
        }
        let Meta { namespace, name, .. } = &self.metadata;
        let chart = match self.status.helm_chart.split_once('/') {
            Some((namespace, name)) => ObjectName::new(namespace, name),
            None => ObjectName::new(&self.source().name.namespace, format!("{namespace}-{name}")),
        };
        Some(Id::new(HELM_CHART, chart))
    }

    /// What its chart is read from: the HelmChart where one is made, else the source.
    pub(crate) fn chart_source(&self) -> Id {
        self.helm_chart().unwrap_or_else(|| self.source())
    }

    /// What must be ready before.
    pub(crate) fn dependencies(&self) -> impl Iterator<Item = Id> {
        let own = &self.metadata.namespace;
        let references = self.spec.depends_on.iter();
        references.map(move |one| Id::new(RELEASE, one.from(own)))
    }

    /// The namespace of its objects.
    fn namespace(&self) -> &str {
        match self.spec.target_namespace.as_str() {
            "" => &self.metadata.namespace,
            namespace => namespace,
        }
    }

    /// Helm's name of it: as Helm has it, or as it will be.
    fn release_name(&self) -> String {
        let (spec, name) = (&self.spec, &self.metadata.name);
        match (self.status.history.first(), spec.target_namespace.as_str()) {
            (Some(latest), _) => latest.name.clone(),
            (None, _) if !spec.release_name.is_empty() => spec.release_name.clone(),
            (None, "") => name.clone(),
            (None, namespace) => format!("{namespace}-{name}"),
        }
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = Entry> {
        let entries = self.status.inventory.entries.iter();
        entries.filter_map(InventoryEntry::entry)
    }
}

impl World {
    #[must_use]
    pub fn helm_releases(&self) -> Vec<Release> {
        self.releases.values().map(|facts| self.helm_release(facts)).collect()
    }

    /// A HelmRelease of this world.
    #[must_use]
    pub fn helm_release(&self, facts: &ReleaseFacts) -> Release {
        let (status, latest) = (&facts.status, facts.status.history.first());
        let (chart, version) = match latest {
            Some(latest) => (&latest.chart_name, &*latest.chart_version),
            None => (&facts.spec.chart.spec.chart, ""),
        };
        Release {
            id: Id::new(RELEASE, facts.metadata.id()),
            readiness: facts.readiness(),
            chart: chart.clone(),
            version: version.to_owned(),
            range: facts.spec.chart.spec.version.clone(),
            source: facts.source(),
            helm_chart: facts.helm_chart(),
            available: self.revision_of(&facts.chart_source()).to_owned(),
            elsewhere: facts.is_elsewhere(),
            owner: facts.owner(),
            depends_on: facts.dependencies().collect(),
            depends_on_left_out: facts.spec.depends_on.left_out,
            release_name: facts.release_name(),
            namespace: facts.namespace().to_owned(),
            attempted: status.last_attempted_revision.clone(),
            attempted_action: status.last_attempted_release_action.clone(),
            failures: status.failures,
            objects: status.inventory.entries.count(),
            history: status.history.iter().map(Deployed::from).collect(),
        }
    }

    /// The HelmReleases that an object comes from, the nearest first, itself where it is one: by their inventories;
    /// else, where its metadata is given, by the labels of helm-controller or the annotations of Helm.
    #[must_use]
    pub fn releases_above(&self, object: &Entry, metadata: Option<&Meta>) -> Vec<Id> {
        let own = is_release(object).then(|| object_id(object));
        let own = own.filter(|id| self.releases.contains_key(&id.name));
        let mut next = own.or_else(|| self.installer(object, metadata));
        let mut above = Vec::new();
        while let Some(id) = next.take().filter(|id| !above.contains(id) && above.len() < ABOVE) {
            let facts = self.releases.get(&id.name);
            next = facts.and_then(|facts| self.installer(&entry_of(&id), Some(&facts.metadata)));
            above.push(id);
        }
        above
    }

    /// The HelmRelease that has an object.
    fn installer(&self, object: &Entry, metadata: Option<&Meta>) -> Option<Id> {
        let id = |name: &ObjectName| Id::new(RELEASE, name.clone());
        let is_other = |name: &ObjectName| !(is_release(object) && object_id(object).name == *name);
        let here = || {
            let releases = self.releases.iter();
            releases.filter(|(name, facts)| !facts.is_elsewhere() && is_other(name))
        };
        if let Some((name, _)) = here().find(|(_, facts)| facts.entries().any(|one| is_same(&one, object))) {
            return Some(id(name));
        }
        let metadata = metadata?;
        let label = |key: &str| metadata.labels.0.get(key).map(String::as_str);
        if let (Some(namespace), Some(name)) = (label(OWNER_NAMESPACE), label(OWNER_NAME)) {
            let meant = ObjectName::new(namespace, name);
            return here().find(|(name, _)| **name == meant).map(|(name, _)| id(name));
        }
        let annotation = |key: &str| metadata.annotations.0.get(key);
        let (namespace, name) = (annotation(RELEASE_NAMESPACE)?, annotation(RELEASE_NAME)?);
        let mut meant = here().filter(|(_, facts)| facts.namespace() == namespace && facts.release_name() == *name);
        meant.next().map(|(name, _)| id(name))
    }
}

/// Whether an object is a HelmRelease.
pub(crate) fn is_release(object: &Entry) -> bool {
    object.kind == RELEASE && object.group == "helm.toolkit.fluxcd.io"
}

/// A HelmRelease as inventories have it.
#[must_use]
pub fn entry_of(id: &Id) -> Entry {
    Entry {
        group: "helm.toolkit.fluxcd.io".to_owned(),
        version: "v2".to_owned(),
        kind: RELEASE.to_owned(),
        namespace: id.name.namespace.clone(),
        name: id.name.name.clone(),
    }
}

fn object_id(object: &Entry) -> Id {
    Id::new(&object.kind, ObjectName::new(&object.namespace, &object.name))
}

/// The same object, at whichever version. An empty group of the other is any.
pub(crate) fn is_same(one: &Entry, other: &Entry) -> bool {
    (one.kind == other.kind && one.namespace == other.namespace && one.name == other.name)
        && (other.group.is_empty() || one.group == other.group)
}
