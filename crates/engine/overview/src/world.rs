//! All objects of the model, by name.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use bumpwright_api::ObjectName;
use bumpwright_text::Cuts;
use serde::Serialize;

use super::facts::{
    AutomationFacts, EventFacts, FieldPlace, KustomizationFacts, PolicyFacts, RepositoryFacts, SourceFacts,
};
use super::image::found::Uses;
use super::readiness::Readiness;
use super::releases::ReleaseFacts;

/// A controller, or a process in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Controller {
    /// The name as of Flux: `kustomize-controller`.
    pub name: String,
    pub lease: Id,
    /// The kinds that it reconciles.
    pub kinds: Vec<String>,
    /// Whether somebody holds the lease.
    pub leadership: Leadership,
}

/// Whether somebody holds a lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leadership {
    Held(String),
    /// This one has not renewed it in time.
    Expired {
        holder: String,
        /// When it renewed the lease last, in seconds since 1970-01-01 UTC.
        renewed: i64,
    },
    /// Its last holder released it.
    Free {
        /// When it was renewed last, in seconds since 1970-01-01 UTC; none where the lease does not say.
        renewed: Option<i64>,
    },
}

/// An object of one of the kinds of the model. Written as `Kind/namespace/name`, as in Flux's messages.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id {
    pub kind: String,
    pub name: ObjectName,
}

impl Id {
    /// The object of a kind and name.
    #[must_use]
    pub fn new(kind: &str, name: ObjectName) -> Self {
        Self {
            kind: kind.to_owned(),
            name,
        }
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.kind, self.name)
    }
}

impl Serialize for Id {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

/// The kinds of image reflection and automation, of Kustomizations and of HelmReleases.
pub(crate) const POLICY: &str = "ImagePolicy";
pub(crate) const REPOSITORY: &str = "ImageRepository";
pub(crate) const AUTOMATION: &str = "ImageUpdateAutomation";
pub(crate) const KUSTOMIZATION: &str = "Kustomization";
pub(crate) const RELEASE: &str = "HelmRelease";
pub(crate) const HELM_CHART: &str = "HelmChart";
pub(crate) const GIT_REPOSITORY: &str = "GitRepository";
pub(crate) const EXTERNAL_ARTIFACT: &str = "ExternalArtifact";

/// All objects of the model.
#[derive(Clone, Debug, Default)]
pub struct World {
    /// Now, in seconds since 1970-01-01 UTC.
    pub now: i64,
    pub policies: BTreeMap<ObjectName, PolicyFacts>,
    pub repositories: BTreeMap<ObjectName, RepositoryFacts>,
    pub automations: BTreeMap<ObjectName, AutomationFacts>,
    pub kustomizations: BTreeMap<ObjectName, KustomizationFacts>,
    pub releases: BTreeMap<ObjectName, ReleaseFacts>,
    /// GitRepositories, OCIRepositories, Buckets, ExternalArtifacts, HelmRepositories and HelmCharts.
    pub sources: BTreeMap<Id, SourceFacts>,
    pub events: Vec<EventFacts>,
    /// The marked fields of each policy, where they are known.
    pub fields: BTreeMap<ObjectName, Vec<FieldPlace>>,
    /// The controllers, as far as their leases were read.
    pub controllers: Vec<Controller>,
    /// What the objects of Kustomizations have of the images of policies, as far as any of them were read: the answers
    /// to [`World::doubts`].
    pub uses: BTreeMap<ObjectName, Uses>,
}

impl World {
    /// Keeps the objects of the namespaces for which `may_see` is true. Call it before anything is reported: a report
    /// on an object is made from all the others that are present.
    #[must_use]
    pub fn only(self, may_see: impl Fn(&str) -> bool) -> Self {
        self.visible(|_, namespace| may_see(namespace))
    }

    /// As [`World::only`], by kind and namespace. Events are of the kind `Event`; marked fields
    /// belong to their repository.
    #[must_use]
    pub fn visible(mut self, may_see: impl Fn(&str, &str) -> bool) -> Self {
        self.policies.retain(|name, _| may_see(POLICY, &name.namespace));
        self.repositories.retain(|name, _| may_see(REPOSITORY, &name.namespace));
        self.automations.retain(|name, _| may_see(AUTOMATION, &name.namespace));
        self.kustomizations
            .retain(|name, _| may_see(KUSTOMIZATION, &name.namespace));
        self.releases.retain(|name, _| may_see(RELEASE, &name.namespace));
        self.sources.retain(|id, _| may_see(&id.kind, &id.name.namespace));
        self.events.retain(|event| may_see("Event", &event.metadata.namespace));
        self.uses.retain(|name, _| may_see(KUSTOMIZATION, &name.namespace));
        self.fields.retain(|name, places| {
            let namespace = |place: &FieldPlace| place.repository.before('/').to_owned();
            places.retain(|place| may_see(GIT_REPOSITORY, &namespace(place)));
            may_see(POLICY, &name.namespace)
        });
        self
    }

    /// The namespaces of its objects.
    #[must_use]
    pub fn namespaces(&self) -> BTreeSet<&str> {
        let names = self.policies.keys().chain(self.repositories.keys());
        let names = names.chain(self.automations.keys()).chain(self.kustomizations.keys());
        let names = names.chain(self.releases.keys());
        let names = names.chain(self.sources.keys().map(|id| &id.name));
        names.map(|name| name.namespace.as_str()).collect()
    }

    /// The state of an object; none if it does not exist.
    #[must_use]
    pub fn readiness(&self, id: &Id) -> Option<Readiness> {
        match id.kind.as_str() {
            POLICY => self.policies.get(&id.name).map(PolicyFacts::readiness),
            REPOSITORY => self.repositories.get(&id.name).map(RepositoryFacts::readiness),
            AUTOMATION => self.automations.get(&id.name).map(AutomationFacts::readiness),
            KUSTOMIZATION => self.kustomizations.get(&id.name).map(KustomizationFacts::readiness),
            RELEASE => self.releases.get(&id.name).map(ReleaseFacts::readiness),
            _ => self.sources.get(id).map(SourceFacts::readiness),
        }
    }

    /// All objects, by kind and name, with how they stand.
    pub fn all(&self) -> impl Iterator<Item = (Id, Readiness)> {
        let sources = self.sources.iter().map(|(id, one)| (id.clone(), one.readiness()));
        let repositories = self
            .repositories
            .iter()
            .map(|(name, one)| (Id::new(REPOSITORY, name.clone()), one.readiness()));
        let policies = self
            .policies
            .iter()
            .map(|(name, one)| (Id::new(POLICY, name.clone()), one.readiness()));
        let automations = self
            .automations
            .iter()
            .map(|(name, one)| (Id::new(AUTOMATION, name.clone()), one.readiness()));
        let kustomizations = self
            .kustomizations
            .iter()
            .map(|(name, one)| (Id::new(KUSTOMIZATION, name.clone()), one.readiness()));
        let releases = self
            .releases
            .iter()
            .map(|(name, one)| (Id::new(RELEASE, name.clone()), one.readiness()));
        sources
            .chain(repositories)
            .chain(policies)
            .chain(automations)
            .chain(kustomizations)
            .chain(releases)
    }

    /// The source of an automation.
    pub(crate) fn source_of(&self, automation: &AutomationFacts) -> (Id, Option<&SourceFacts>) {
        let name = automation.spec.source_ref.from(&automation.metadata.namespace);
        let id = Id::new(GIT_REPOSITORY, name);
        let source = self.sources.get(&id);
        (id, source)
    }
}

impl KustomizationFacts {
    #[must_use]
    pub fn source(&self) -> Id {
        Id::new(
            &self.spec.source_ref.kind,
            self.spec.source_ref.from(&self.metadata.namespace),
        )
    }
}
