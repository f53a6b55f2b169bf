//! Images: how far the choice of each policy is, from the registry to what runs.

use std::collections::{BTreeMap, BTreeSet};

use bumpwright_api::{ObjectName, parse_latest_image};
use bumpwright_policy::FailedVersions;
use serde::Serialize;

use super::standing::Standings;
use super::version::Version;
use crate::automations::Pushed;
use crate::facts::{AutomationFacts, FieldPlace, ImageRef, PolicyFacts, RepositoryFacts};
use crate::forge::Forge;
use crate::kustomizations::first_line;
use crate::readiness::{Readiness, seconds};
use crate::world::{AUTOMATION, Id, POLICY, REPOSITORY, World};

/// How far an image is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Stage {
    /// The policy has chosen nothing.
    Unknown,
    /// It is chosen, and no automation has written it.
    Behind,
    /// It is held: by a person, or because it failed.
    Held,
    /// It is pushed, and not everything that reconciles it is healthy with it.
    OnTheWay,
    Current,
    /// No automation has the policy.
    Unused,
}

impl Stage {
    /// The words for people.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Behind => "behind",
            Self::Held => "held",
            Self::OnTheWay => "on its way",
            Self::Current => "current",
            Self::Unused => "not used",
        }
    }
}

impl Image {
    /// The tag of the choice; empty without one.
    #[must_use]
    pub fn tag(&self) -> &str {
        tag(self.chosen.as_ref())
    }

    /// The tag of the choice before; empty without one.
    #[must_use]
    pub fn previous_tag(&self) -> &str {
        tag(self.previous.as_ref())
    }
}

fn tag(version: Option<&Version>) -> &str {
    version.map_or("", |version| &version.tag)
}

/// An image, which a policy chooses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Image {
    pub policy: Id,
    /// The state of the policy.
    pub readiness: Readiness,
    /// The ImageRepository whose tags it chooses from.
    pub repository: Id,
    /// The image that is scanned; empty when it is not known.
    pub image: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chosen: Option<Version>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous: Option<Version>,
    /// Some of the repository's tags, the highest in alphabetical order first.
    pub tags: Vec<String>,
    /// The number of its tags.
    pub tag_count: i64,
    /// When it was scanned, in seconds since 1970-01-01 UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scanned: Option<i64>,
    /// How far it is.
    pub stage: Stage,
    /// Why it is not further; of a current one, what is not known of it: empty where an object in the cluster shows it.
    pub why: String,
    /// Since when it is at this stage, in seconds since 1970-01-01 UTC, as far as it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<i64>,
    /// The automations that have the policy.
    pub automations: Vec<Id>,
    /// The commit that wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pushed: Option<Pushed>,
    /// Kustomizations that reconcile what was written: those that a rollout follows, else some of its source.
    pub kustomizations: Vec<Id>,
    /// The workloads that get it, `Kind/namespace/name`, as far as it is known.
    pub workloads: Vec<String>,
    /// The marked fields, where they are known.
    pub fields: Vec<FieldPlace>,
    /// Versions that failed, and why.
    pub failed: BTreeMap<String, String>,
}

/// An image as statuses have it, or as older versions do: in one text.
fn version(image: Option<&ImageRef>, text: &str) -> Option<Version> {
    match image {
        Some(image) => Some(image.into()),
        None => parse_latest_image(text).ok().map(Version::from),
    }
}

/// The automations that have a policy, each with the image of its last run.
pub(crate) type Users<'a> = Vec<(&'a ObjectName, &'a AutomationFacts, &'a ImageRef)>;

impl PolicyFacts {
    #[must_use]
    pub fn chosen(&self) -> Option<Version> {
        version(self.status.latest_ref.as_ref(), &self.status.latest_image)
    }

    pub(crate) fn previous(&self) -> Option<Version> {
        version(
            self.status.observed_previous_ref.as_ref(),
            &self.status.observed_previous_image,
        )
    }

    /// The versions that failed, with why.
    fn failed(&self) -> BTreeMap<String, String> {
        let failed = FailedVersions::of(&self.metadata.annotations.0);
        let failures = failed.iter().map(|(version, failed)| {
            let (at, message) = (&failed.kustomization, first_line(&failed.message));
            (version.to_owned(), format!("Kustomization {at}: {message}"))
        });
        failures.collect()
    }
}

impl World {
    /// The images of all policies.
    #[must_use]
    pub fn images(&self) -> Vec<Image> {
        let mut users = BTreeMap::<ObjectName, Users<'_>>::new();
        for (name, automation) in &self.automations {
            for (policy, image) in automation.observed() {
                users.entry(policy).or_default().push((name, automation, image));
            }
        }
        let standings = Standings::new(self);
        let image = |(name, policy)| self.image(name, policy, users.get(name).unwrap_or(&Vec::new()), &standings);
        self.policies.iter().map(image).collect()
    }

    fn image(&self, name: &ObjectName, policy: &PolicyFacts, users: &Users<'_>, standings: &Standings<'_>) -> Image {
        let repository = policy.spec.image_repository_ref.from(&policy.metadata.namespace);
        let unknown = RepositoryFacts::default();
        let facts = self.repositories.get(&repository).unwrap_or(&unknown);
        let scan = &facts.status.last_scan_result;
        let chosen = policy.chosen();
        let previous = policy.previous();
        let standing = standings.of(name, policy, chosen.as_ref(), users);
        let automations = users.iter().map(|(user, ..)| Id::new(AUTOMATION, (*user).clone()));
        Image {
            policy: Id::new(POLICY, name.clone()),
            readiness: policy.readiness(),
            image: facts.spec.image.clone(),
            repository: Id::new(REPOSITORY, repository),
            previous: previous.filter(|previous| !previous.tag.is_empty()),
            tags: scan.latest_tags.to_vec(),
            tag_count: scan.tag_count,
            scanned: seconds(&scan.scan_time),
            stage: standing.stage,
            why: standing.why,
            since: standing.since,
            automations: automations.collect(),
            pushed: self.pushed(name, chosen.as_ref(), users),
            kustomizations: standings.reconcilers(users),
            workloads: workloads(name, users).into_iter().collect(),
            fields: self.linked_fields(name),
            failed: policy.failed(),
            chosen,
        }
    }

    /// The commit that wrote the choice.
    fn pushed(&self, policy: &ObjectName, chosen: Option<&Version>, users: &Users<'_>) -> Option<Pushed> {
        let key = policy.to_string();
        users.iter().find_map(|(_, automation, observed)| {
            let source = self.source_of(automation).1;
            let forge = source.and_then(|source| Forge::of(&source.spec.url));
            let linked = |commit: &str, at| Pushed {
                commit: commit.to_owned(),
                at,
                link: forge.as_ref().map(|forge| forge.commit(commit)),
            };
            if let Some(record) = automation.rollout() {
                let mut commits = record.commits.iter().rev();
                let wrote = commits.find(|commit| commit.images.contains_key(&key));
                return wrote.map(|commit| linked(&commit.commit, Some(commit.at)));
            }
            let commit = &automation.status.last_push_commit;
            let is_written = chosen.is_some_and(|chosen| chosen.is(observed)) && !commit.is_empty();
            is_written.then(|| linked(commit, seconds(&automation.status.last_push_time)))
        })
    }
}

/// The workloads that rollouts give the image of a policy.
fn workloads(policy: &ObjectName, users: &Users<'_>) -> BTreeSet<String> {
    let key = policy.to_string();
    let records = users.iter().filter_map(|(_, automation, _)| automation.rollout());
    let followers = records.flat_map(|record| record.followers.into_values());
    let workloads = followers.flat_map(|follower| follower.workloads);
    let have = workloads.filter(|(_, policies)| policies.contains(&key));
    have.map(|(workload, _)| workload).collect()
}
