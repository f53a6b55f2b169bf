//! Images: how far the choice of each policy is, from the registry to what runs.

use std::collections::BTreeMap;

use bumpwright_api::{ObjectName, parse_latest_image};
use bumpwright_gostd::Time;
use bumpwright_policy::{FAILED_VERSIONS, FailedVersions, Guards, LatestRef};
use serde::Serialize;

use super::automations::Pushed;
use super::facts::{AutomationFacts, FieldPlace, ImageRef, PolicyFacts};
use super::forge::Forge;
use super::kustomizations::first_line;
use super::readiness::{Readiness, seconds};
use super::sources::hash;
use super::world::{AUTOMATION, Id, POLICY, REPOSITORY, World};

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
    /// It runs.
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

/// A version of an image.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Version {
    /// The image without its tag.
    pub name: String,
    /// Tag.
    pub tag: String,
    /// Digest; empty where it is not reflected.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub digest: String,
}

impl From<&ImageRef> for Version {
    fn from(image: &ImageRef) -> Self {
        Self {
            name: image.name.clone(),
            tag: image.tag.clone(),
            digest: image.digest.clone(),
        }
    }
}

impl From<LatestRef> for Version {
    fn from(image: LatestRef) -> Self {
        Self {
            name: image.name,
            tag: image.tag,
            digest: image.digest.unwrap_or_default(),
        }
    }
}

/// An image, which a policy chooses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Image {
    /// The policy.
    pub policy: Id,
    /// How the policy stands.
    pub readiness: Readiness,
    /// The ImageRepository whose tags it chooses from.
    pub repository: Id,
    /// The image that is scanned; empty when it is not known.
    pub image: String,
    /// The choice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chosen: Option<Version>,
    /// The choice before.
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
    /// Why it is no further; empty when it runs.
    pub why: String,
    /// Since when it is at this stage, in seconds since 1970-01-01 UTC, as far as it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<i64>,
    /// The automations that have the policy.
    pub automations: Vec<Id>,
    /// The commit that wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pushed: Option<Pushed>,
    /// The Kustomizations that reconcile what was written.
    pub kustomizations: Vec<Id>,
    /// The workloads that get it, `Kind/namespace/name`, as far as it is known.
    pub workloads: Vec<String>,
    /// The marked fields, where they are known.
    pub fields: Vec<FieldPlace>,
    /// Versions that failed, and why.
    pub failed: BTreeMap<String, String>,
}

/// How far an image is, and why it is no further.
struct Standing {
    stage: Stage,
    why: String,
    since: Option<i64>,
}

impl Standing {
    fn new(stage: Stage, why: impl Into<String>, since: Option<i64>) -> Self {
        Self {
            stage,
            why: why.into(),
            since,
        }
    }
}

impl PolicyFacts {
    /// The choice.
    #[must_use]
    pub fn chosen(&self) -> Option<Version> {
        match &self.status.latest_ref {
            Some(latest) => Some(latest.into()),
            None => parse_latest_image(&self.status.latest_image).ok().map(Version::from),
        }
    }
}

impl World {
    /// The images of all policies.
    #[must_use]
    pub fn images(&self) -> Vec<Image> {
        let mut users = BTreeMap::<ObjectName, Vec<(&ObjectName, &ImageRef)>>::new();
        for (name, automation) in &self.automations {
            for (policy, image) in automation.observed() {
                users.entry(policy).or_default().push((name, image));
            }
        }
        let of = |name: &ObjectName| users.get(name).map(Vec::as_slice).unwrap_or_default();
        let all = self.policies.iter();
        all.map(|(name, policy)| self.image(name, policy, of(name))).collect()
    }

    fn image(&self, name: &ObjectName, policy: &PolicyFacts, users: &[(&ObjectName, &ImageRef)]) -> Image {
        let repository = policy.spec.image_repository_ref.from(&policy.metadata.namespace);
        let facts = self.repositories.get(&repository);
        let scan = facts.map(|facts| &facts.status.last_scan_result);
        let chosen = policy.chosen();
        let previous = policy.status.observed_previous_ref.as_ref().map(Version::from);
        let standing = self.standing(name, policy, chosen.as_ref(), users);
        let followed = users
            .iter()
            .filter_map(|(user, _)| self.automations.get(user)?.rollout());
        let workloads = followed.flat_map(|record| workloads(&record, name));
        let failed = policy
            .metadata
            .annotations
            .get(FAILED_VERSIONS)
            .map(|text| FailedVersions::parse(text));
        let told = |failed: FailedVersions| {
            let all = failed.iter().map(|(version, failed)| {
                let (at, message) = (&failed.kustomization, first_line(&failed.message));
                (version.to_owned(), format!("Kustomization {at}: {message}"))
            });
            all.collect()
        };
        Image {
            policy: Id::new(POLICY, name.clone()),
            readiness: policy.readiness(),
            image: facts.map(|facts| facts.spec.image.clone()).unwrap_or_default(),
            repository: Id::new(REPOSITORY, repository),
            previous: previous.filter(|previous| !previous.tag.is_empty()),
            tags: scan.map(|scan| scan.latest_tags.clone()).unwrap_or_default(),
            tag_count: scan.map(|scan| scan.tag_count).unwrap_or_default(),
            scanned: scan.and_then(|scan| seconds(&scan.scan_time)),
            stage: standing.stage,
            why: standing.why,
            since: standing.since,
            automations: users
                .iter()
                .map(|(user, _)| Id::new(AUTOMATION, (*user).clone()))
                .collect(),
            pushed: self.pushed(name, chosen.as_ref(), users),
            kustomizations: self.reconcilers(users),
            workloads: workloads
                .collect::<std::collections::BTreeSet<_>>()
                .into_iter()
                .collect(),
            fields: self.linked_fields(name),
            failed: failed.map(told).unwrap_or_default(),
            chosen,
        }
    }

    /// How far the choice is.
    fn standing(
        &self,
        name: &ObjectName,
        policy: &PolicyFacts,
        chosen: Option<&Version>,
        users: &[(&ObjectName, &ImageRef)],
    ) -> Standing {
        let readiness = policy.readiness();
        let Some(chosen) = chosen else {
            let why = first_line(&readiness.message);
            return Standing::new(Stage::Unknown, why, readiness.since);
        };
        if let Some(why) = self.held(policy, chosen) {
            return Standing::new(Stage::Held, why, readiness.since);
        }
        if users.is_empty() {
            let why = "no automation has run with this policy";
            return Standing::new(Stage::Unused, why, readiness.since);
        }
        // The least advanced of its users counts.
        let each = users.iter().filter_map(|(user, image)| {
            let automation = self.automations.get(*user)?;
            Some(self.written(
                name,
                (user, automation),
                &Version::from(*image),
                chosen,
                readiness.since,
            ))
        });
        each.min_by_key(|standing| standing.stage)
            .unwrap_or_else(|| Standing::new(Stage::Unknown, "", None))
    }

    /// Why a person or a failure holds the choice back.
    fn held(&self, policy: &PolicyFacts, chosen: &Version) -> Option<String> {
        let annotations = policy.metadata.annotations.iter();
        let guards = Guards::read(annotations.map(|(key, value)| (key.as_str(), value.as_str()))).ok()?;
        let image = LatestRef {
            name: chosen.name.clone(),
            tag: chosen.tag.clone(),
            digest: Some(chosen.digest.clone()).filter(|digest| !digest.is_empty()),
        };
        let now = Time::unix(self.now, 0);
        let refused = guards.check_hold(&now).and_then(|()| guards.check_failed(&image));
        refused.err().map(|refusal| refusal.to_string())
    }

    /// How far an automation is with the choice.
    fn written(
        &self,
        policy: &ObjectName,
        (name, automation): (&ObjectName, &AutomationFacts),
        observed: &Version,
        chosen: &Version,
        chosen_since: Option<i64>,
    ) -> Standing {
        let readiness = automation.readiness();
        let behind = |why: String| Standing::new(Stage::Behind, why, chosen_since);
        if readiness.suspended && observed != chosen {
            return behind(format!("ImageUpdateAutomation {name} is suspended"));
        }
        if readiness.state.is_broken() {
            let message = first_line(&readiness.message);
            return behind(format!(
                "ImageUpdateAutomation {name} fails: {}: {message}",
                readiness.reason
            ));
        }
        if observed != chosen {
            return behind(format!("ImageUpdateAutomation {name} has not run with it yet"));
        }
        let told = readiness.message.lines().skip(1);
        let ours = format!("{policy}");
        if let Some(skip) = told.into_iter().find(|line| line.contains(&ours)) {
            return behind(skip.to_owned());
        }
        let at = seconds(&automation.status.last_push_time);
        match self.rolled_out(policy, automation, chosen) {
            None => Standing::new(Stage::Current, "", at),
            Some(why) => Standing::new(Stage::OnTheWay, why, at),
        }
    }

    /// Why what an automation pushed does not run everywhere; none when it does.
    fn rolled_out(&self, policy: &ObjectName, automation: &AutomationFacts, chosen: &Version) -> Option<String> {
        if let Some(record) = automation.rollout().filter(|record| record.is_open()) {
            let text = match chosen.digest.as_str() {
                "" => format!("{}:{}", chosen.name, chosen.tag),
                digest => format!("{}:{}@{digest}", chosen.name, chosen.tag),
            };
            let key = policy.to_string();
            if record.images().get(key.as_str()) == Some(&text.as_str()) {
                return record.summary().map(|summary| first_line(&summary.message).to_owned());
            }
        }
        let (id, source) = self.source_of(automation);
        let artifact = &source?.status.artifact;
        let (pushed, fetched) = (
            seconds(&automation.status.last_push_time),
            seconds(&artifact.last_update_time),
        );
        let commit = automation.status.last_push_commit.as_str();
        let short = commit.get(..7).unwrap_or(commit);
        if pushed > fetched && hash(&artifact.revision) != commit {
            let push = &automation.spec.git.push.branch;
            let branch = &source?.spec.reference.branch;
            return Some(match !push.is_empty() && push != branch {
                true => format!("commit '{short}' is on branch '{push}', which nothing reconciles until it is merged"),
                false => format!("{id} has not fetched commit '{short}' yet"),
            });
        }
        let fed = self.kustomizations.iter().filter(|(_, one)| one.source() == id);
        fed.into_iter()
            .find_map(|(name, one)| self.waits(name, one, &artifact.revision))
    }

    /// The commit that wrote the choice.
    fn pushed(
        &self,
        policy: &ObjectName,
        chosen: Option<&Version>,
        users: &[(&ObjectName, &ImageRef)],
    ) -> Option<Pushed> {
        let chosen = chosen?;
        let key = policy.to_string();
        users.iter().find_map(|(user, observed)| {
            let automation = self.automations.get(*user)?;
            let forge = self
                .source_of(automation)
                .1
                .and_then(|source| Forge::of(&source.spec.url));
            let linked = |commit: &str, at| Pushed {
                commit: commit.to_owned(),
                at,
                link: forge.as_ref().map(|forge| forge.commit(commit)),
            };
            if let Some(record) = automation.rollout() {
                let wrote = record
                    .commits
                    .iter()
                    .rev()
                    .find(|commit| commit.images.contains_key(&key));
                return wrote.map(|commit| linked(&commit.commit, Some(commit.at)));
            }
            let commit = &automation.status.last_push_commit;
            let is_written = Version::from(*observed) == *chosen && !commit.is_empty();
            is_written.then(|| linked(commit, seconds(&automation.status.last_push_time)))
        })
    }

    /// The Kustomizations that reconcile the sources of automations.
    fn reconcilers(&self, users: &[(&ObjectName, &ImageRef)]) -> Vec<Id> {
        let automations = users.iter().filter_map(|(user, _)| self.automations.get(*user));
        let sources: Vec<Id> = automations.map(|automation| self.source_of(automation).0).collect();
        let fed = self
            .kustomizations
            .iter()
            .filter(|(_, one)| sources.contains(&one.source()));
        fed.map(|(name, _)| Id::new(super::world::KUSTOMIZATION, name.clone()))
            .collect()
    }
}

/// The workloads that a rollout gives the image of a policy.
fn workloads(record: &bumpwright_rollout::Record, policy: &ObjectName) -> Vec<String> {
    let key = policy.to_string();
    let all = record.followers.values().flat_map(|follower| &follower.workloads);
    all.filter(|(_, policies)| policies.iter().any(|one| *one == key))
        .map(|(workload, _)| workload.clone())
        .collect()
}
