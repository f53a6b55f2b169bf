//! What the versions that objects in the cluster have say of a policy's choice.

use std::collections::{BTreeMap, BTreeSet};

use bumpwright_api::ObjectName;

use super::found::Run;
use super::version::{Version, full};
use crate::facts::PolicyFacts;
use crate::world::{Id, World};

/// The choices of the policies that automations write into one source, by the full name of the image.
#[derive(Default)]
pub(crate) struct Choices(BTreeMap<String, Vec<(ObjectName, Version)>>);

impl Choices {
    /// Those of all sources.
    pub(crate) fn by_source(world: &World) -> BTreeMap<Id, Self> {
        let mut policies = BTreeMap::<Id, BTreeSet<ObjectName>>::new();
        for automation in world.automations.values() {
            let names = automation.observed().map(|(name, _)| name);
            policies.entry(world.source_of(automation).0).or_default().extend(names);
        }
        let of_source = |(source, names)| (source, Self::of(world, names));
        policies.into_iter().map(of_source).collect()
    }

    fn of(world: &World, policies: BTreeSet<ObjectName>) -> Self {
        let mut choices = Self::default();
        for name in policies {
            if let Some(chosen) = world.policies.get(&name).and_then(PolicyFacts::chosen) {
                choices.0.entry(full(&chosen.name)).or_default().push((name, chosen));
            }
        }
        choices
    }

    /// Whether an object's image is what a policy has chosen: by its name, or from a mirror, by a name that no other
    /// policy has.
    fn is_choice(&self, chosen: &Version, image: &Version) -> bool {
        let name = full(&image.name);
        let is_named = full(&chosen.name) == name || !self.0.contains_key(&name);
        is_named && chosen.is_met_by(image)
    }

    /// Whether an object's image is another version of what a policy has chosen, and is the choice of no other policy:
    /// several policies may follow one image, such as one for tests and one for production.
    fn is_other(&self, (policy, chosen): (&ObjectName, &Version), image: &Version) -> bool {
        let name = full(&image.name);
        let same = self.0.get(&name).into_iter().flatten();
        let mut others = same.filter(|(name, _)| name != policy);
        full(&chosen.name) == name && !chosen.is_met_by(image) && !others.any(|(_, other)| other.is_met_by(image))
    }

    /// The version among the images of an object that is another one than a policy has chosen; none if the choice is
    /// among them, too.
    pub(crate) fn other_among(&self, images: &[String], (policy, chosen): (&ObjectName, &Version)) -> Option<Version> {
        let versions: Vec<Version> = images.iter().filter_map(|image| Version::of_image(image)).collect();
        let is_choice = |one: &Version| full(&one.name) == full(&chosen.name) && chosen.is_met_by(one);
        if versions.iter().any(is_choice) {
            return None;
        }
        versions.into_iter().find(|one| self.is_other((policy, chosen), one))
    }
}

/// What the objects that were read say of the choice of a policy.
#[derive(Default)]
pub(crate) struct Evidence<'a> {
    /// Whether an object has the choice.
    pub(crate) has_choice: bool,
    /// An object with another version of the image.
    pub(crate) other: Option<&'a Run>,
}

impl<'a> Evidence<'a> {
    /// By the objects that have the image of a policy.
    pub(crate) fn of(
        runs: impl Iterator<Item = &'a Run>,
        (policy, chosen): (&ObjectName, &Version),
        choices: &Choices,
    ) -> Self {
        let mut evidence = Self::default();
        for run in runs {
            // Which tag a digest had is not known.
            if run.image.tag.is_empty() && chosen.digest.is_empty() {
                continue;
            }
            if choices.is_choice(chosen, &run.image) {
                evidence.has_choice = true;
            } else if choices.is_other((policy, chosen), &run.image) {
                evidence.other = evidence.other.or(Some(run));
            }
        }
        evidence
    }

    /// Whether objects have the choice, and none has another version.
    pub(crate) fn is_of_choice_alone(&self) -> bool {
        self.has_choice && self.other.is_none()
    }
}
