//! From an object in the cluster back to the commit, automation, policy and tag that it comes from.

use bumpwright_api::ObjectName;
use serde::Serialize;

use super::automations::Automation;
use super::facts::{Entry, InventoryEntry, KustomizationFacts};
use super::image::evidence::Choices;
use super::image::images::{Image, Stage};
use super::image::version::bare;
use super::kustomizations::Kustomization;
use super::releases::{is_release, is_same};
use super::sources::Source;
use super::world::{AUTOMATION, Id, KUSTOMIZATION, RELEASE, World};

/// Where an object comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Trace {
    pub object: Entry,
    /// The Kustomization that applied it.
    pub kustomization: Kustomization,
    /// The Kustomizations that applied that one, the nearest first.
    pub owners: Vec<Id>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    /// The automations that change the source.
    pub automations: Vec<Automation>,
    /// The images that they write, as far as the object may have them.
    pub images: Vec<TracedImage>,
}

/// An image that an object may have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TracedImage {
    pub policy: Id,
    /// `name:tag`, with the digest where it is reflected.
    pub image: String,
    /// How far it is.
    pub stage: Stage,
    /// Why it is not further.
    pub why: String,
    /// Whether the object is known to have it.
    pub is_known: bool,
}

impl World {
    /// Where an object comes from: one for each Kustomization that has it in its inventory. For what Helm installed
    /// that is asked of the last of [`World::releases_above`], whose labels count where no inventory has it. `images`
    /// are those that the object has, `name:tag`, where somebody has read it; else what is known of rollouts counts.
    #[must_use]
    pub fn trace(&self, object: &Entry, images: Option<&[String]>) -> Vec<Trace> {
        let mut traces = Vec::new();
        let mut appliers: Vec<_> = self.appliers(object).collect();
        if appliers.is_empty() {
            appliers.extend(self.labelled(object));
        }
        let (by_source, none) = (Choices::by_source(self), Choices::default());
        for (name, facts, entry) in appliers {
            let kustomization = self.kustomization(name, facts);
            let sources = self.sources().into_iter();
            let automations: Vec<Automation> = self
                .automations()
                .into_iter()
                .filter(|one| one.source == kustomization.source)
                .collect();
            let choices = by_source.get(&kustomization.source).unwrap_or(&none);
            traces.push(Trace {
                images: self.traced(&entry, (automations.as_slice(), choices), images),
                object: entry,
                owners: self.owners(name),
                source: sources.into_iter().find(|source| source.id == kustomization.source),
                automations,
                kustomization,
            });
        }
        traces
    }

    /// The object as inventories have it, with its version, and the Kustomization or HelmRelease that has it: one that
    /// applies to this cluster, if any does. None when nobody has applied it.
    #[must_use]
    pub fn applied(&self, object: &Entry) -> Option<(Entry, Id)> {
        let is_same = |one: &Entry| is_same(one, object) && one.group == object.group;
        self.nearest(is_same).map(|(entry, id, _)| (entry, id))
    }

    /// An object of an inventory, whose it is, and whether it is in another cluster: one of this cluster where there is
    /// one, and that of a Kustomization where both have it.
    #[must_use]
    pub fn nearest(&self, is_meant: impl Fn(&Entry) -> bool) -> Option<(Entry, Id, bool)> {
        let meant = self.inventories().filter(|(_, _, entry)| is_meant(entry));
        let nearest = meant.min_by_key(|(_, elsewhere, _)| *elsewhere);
        nearest.map(|(by, elsewhere, entry)| (entry, by, elsewhere))
    }

    /// All objects of inventories: whose each is, and whether it is in another cluster.
    pub fn inventories(&self) -> impl Iterator<Item = (Id, bool, Entry)> + '_ {
        let kustomizations = self.kustomizations.iter().map(|(name, one)| {
            let id = Id::new(KUSTOMIZATION, name.clone());
            (id, &one.status.inventory, one.is_elsewhere())
        });
        let releases = self.releases.iter().map(|(name, one)| {
            let id = Id::new(RELEASE, name.clone());
            (id, &one.status.inventory, one.is_elsewhere())
        });
        kustomizations.chain(releases).flat_map(|(id, inventory, elsewhere)| {
            let entries = inventory.entries.iter().filter_map(InventoryEntry::entry);
            entries.map(move |entry| (id.clone(), elsewhere, entry))
        })
    }

    /// The Kustomizations that have an object in their inventories, each with its entry. An empty group is any.
    fn appliers(&self, object: &Entry) -> impl Iterator<Item = (&ObjectName, &KustomizationFacts, Entry)> {
        let same = |one: &Entry| is_same(one, object);
        self.kustomizations.iter().filter_map(move |(name, facts)| {
            let mut entries = facts.status.inventory.entries.iter().filter_map(InventoryEntry::entry);
            Some((name, facts, entries.find(same)?))
        })
    }

    /// The Kustomization that a HelmRelease names in its labels.
    fn labelled(&self, object: &Entry) -> Option<(&ObjectName, &KustomizationFacts, Entry)> {
        let release = ObjectName::new(&object.namespace, &object.name);
        let release = self.releases.get(&release).filter(|_| is_release(object));
        let owner = release?.owner()?;
        let (name, facts) = self.kustomizations.get_key_value(&owner.name)?;
        Some((name, facts, object.clone()))
    }

    /// The Kustomizations above one, the nearest first.
    fn owners(&self, name: &ObjectName) -> Vec<Id> {
        let mut owners = Vec::<Id>::new();
        let mut next = self.kustomizations.get(name).and_then(KustomizationFacts::owner);
        while let Some(owner) = next.take().filter(|owner| !owners.contains(owner)) {
            next = self.kustomizations.get(&owner.name).and_then(KustomizationFacts::owner);
            owners.push(owner);
        }
        owners
    }

    fn traced(
        &self,
        object: &Entry,
        (automations, choices): (&[Automation], &Choices),
        images: Option<&[String]>,
    ) -> Vec<TracedImage> {
        let own = format!("{}/{}/{}", object.kind, object.namespace, object.name);
        let uses = |image: &Image| {
            let by =
                |automation: &Id| automation.kind == AUTOMATION && automations.iter().any(|one| one.id == *automation);
            image.automations.iter().any(by)
        };
        let traced = |image: Image| {
            let chosen = image.chosen.as_ref()?;
            let has = |text: &String| bare(text) == chosen.name;
            let is_known = image.workloads.contains(&own) || images.is_some_and(|images| images.iter().any(has));
            // Nothing is known of its images: it may have any.
            let may = images.is_none() && image.workloads.is_empty();
            // What was read of the object is known even where nothing was read of others.
            let other = images.filter(|_| image.stage == Stage::Current);
            let other = other.and_then(|images| choices.other_among(images, (&image.policy.name, chosen)));
            let (stage, why) = match other {
                Some(version) => (Stage::Behind, format!("the object has {}", version.spelled())),
                None => (image.stage, image.why.clone()),
            };
            (is_known || may).then(|| TracedImage {
                image: chosen.to_string(),
                policy: image.policy.clone(),
                stage,
                why,
                is_known,
            })
        };
        self.images().into_iter().filter(uses).filter_map(traced).collect()
    }
}
