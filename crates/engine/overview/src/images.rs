//! Images: how far the choice of each policy is, from the registry to what runs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bumpwright_api::{ObjectName, parse_latest_image};
use bumpwright_gostd::Time;
use bumpwright_policy::{FAILED_VERSIONS, FailedVersions, Guards, LatestRef};
use serde::Serialize;

use super::automations::Pushed;
use super::facts::{FieldPlace, ImageRef, PolicyFacts};
use super::kustomizations::first_line;
use super::readiness::{Readiness, seconds};
use super::sources::hash;
use super::world::{AUTOMATION, Id, POLICY, REPOSITORY, World};
use super::writer::{Feeds, Writer};

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

impl Version {
    fn is(&self, image: &ImageRef) -> bool {
        (self.name == image.name && self.tag == image.tag) && self.digest == image.digest
    }
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
    /// The Kustomizations that reconcile what was written: those of its source, which many images share.
    pub kustomizations: Arc<[Id]>,
    /// The workloads that get it, `Kind/namespace/name`, as far as it is known.
    pub workloads: Vec<String>,
    /// The marked fields, where they are known.
    pub fields: Vec<FieldPlace>,
    /// Versions that failed, and why.
    pub failed: BTreeMap<String, String>,
}

/// An automation that has a policy, and the image that it had in its last run.
type User<'u> = (&'u Writer<'u>, &'u ImageRef);

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
        let (writers, feeds) = (self.writers(), self.feeds());
        let mut users = BTreeMap::<ObjectName, Vec<User<'_>>>::new();
        for writer in &writers {
            for (policy, image) in writer.facts.observed() {
                users.entry(policy).or_default().push((writer, image));
            }
        }
        let of = |name: &ObjectName| users.get(name).map(Vec::as_slice).unwrap_or_default();
        let all = self.policies.iter();
        all.map(|(name, policy)| self.image(name, policy, of(name), &feeds))
            .collect()
    }

    fn image(&self, name: &ObjectName, policy: &PolicyFacts, users: &[User<'_>], feeds: &Feeds) -> Image {
        let repository = policy.spec.image_repository_ref.from(&policy.metadata.namespace);
        let facts = self.repositories.get(&repository);
        let scan = facts.map(|facts| &facts.status.last_scan_result);
        let chosen = policy.chosen();
        let previous = policy.status.observed_previous_ref.as_ref().map(Version::from);
        let standing = self.standing(name, policy, chosen.as_ref(), users, feeds);
        let followed = users.iter().filter_map(|(user, _)| user.record.as_ref());
        let workloads: BTreeSet<String> = followed.flat_map(|record| workloads(record, name)).collect();
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
                .map(|(user, _)| Id::new(AUTOMATION, user.name.clone()))
                .collect(),
            pushed: pushed(name, chosen.as_ref(), users),
            kustomizations: reconcilers(users, feeds),
            workloads: workloads.into_iter().collect(),
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
        users: &[User<'_>],
        feeds: &Feeds,
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
        let each = users
            .iter()
            .map(|(user, image)| written(name, (user, image), chosen, readiness.since, feeds));
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
}

/// How far an automation is with the choice.
fn written(
    policy: &ObjectName,
    (writer, observed): User<'_>,
    chosen: &Version,
    chosen_since: Option<i64>,
    feeds: &Feeds,
) -> Standing {
    let Writer { name, readiness, .. } = writer;
    let is_observed = chosen.is(observed);
    let behind = |why: String| Standing::new(Stage::Behind, why, chosen_since);
    if readiness.suspended && !is_observed {
        return behind(format!("ImageUpdateAutomation {name} is suspended"));
    }
    if readiness.state.is_broken() {
        let message = first_line(&readiness.message);
        return behind(format!(
            "ImageUpdateAutomation {name} fails: {}: {message}",
            readiness.reason
        ));
    }
    if !is_observed {
        return behind(format!("ImageUpdateAutomation {name} has not run with it yet"));
    }
    let mut told = readiness.message.lines().skip(1);
    let ours = format!("{policy}");
    if let Some(skip) = told.find(|line| line.contains(&ours)) {
        return behind(skip.to_owned());
    }
    let at = seconds(&writer.facts.status.last_push_time);
    match rolled_out(policy, writer, chosen, feeds) {
        None => Standing::new(Stage::Current, "", at),
        Some(why) => Standing::new(Stage::OnTheWay, why, at),
    }
}

/// Why what an automation pushed does not run everywhere; none when it does.
fn rolled_out(policy: &ObjectName, writer: &Writer<'_>, chosen: &Version, feeds: &Feeds) -> Option<String> {
    if let Some(record) = writer.record.as_ref().filter(|record| record.is_open()) {
        let text = match chosen.digest.as_str() {
            "" => format!("{}:{}", chosen.name, chosen.tag),
            digest => format!("{}:{}@{digest}", chosen.name, chosen.tag),
        };
        let key = policy.to_string();
        if record.images().get(key.as_str()) == Some(&text.as_str()) {
            return record.summary().map(|summary| first_line(&summary.message).to_owned());
        }
    }
    let (source, status) = (writer.source_facts?, &writer.facts.status);
    let artifact = &source.status.artifact;
    let (pushed, fetched) = (seconds(&status.last_push_time), seconds(&artifact.last_update_time));
    let commit = status.last_push_commit.as_str();
    let short = commit.get(..7).unwrap_or(commit);
    if pushed > fetched && hash(&artifact.revision) != commit {
        let push = &writer.facts.spec.git.push.branch;
        let branch = &source.spec.reference.branch;
        return Some(match !push.is_empty() && push != branch {
            true => format!("commit '{short}' is on branch '{push}', which nothing reconciles until it is merged"),
            false => format!("{} has not fetched commit '{short}' yet", writer.source),
        });
    }
    feeds.get(&writer.source)?.waits.clone()
}

/// The commit that wrote the choice.
fn pushed(policy: &ObjectName, chosen: Option<&Version>, users: &[User<'_>]) -> Option<Pushed> {
    let chosen = chosen?;
    let key = policy.to_string();
    users.iter().find_map(|(writer, observed)| {
        let linked = |commit: &str, at| Pushed {
            commit: commit.to_owned(),
            at,
            link: writer.forge.as_ref().map(|forge| forge.commit(commit)),
        };
        if let Some(record) = &writer.record {
            let mut commits = record.commits.iter().rev();
            let wrote = commits.find(|commit| commit.images.contains_key(&key));
            return wrote.map(|commit| linked(&commit.commit, Some(commit.at)));
        }
        let status = &writer.facts.status;
        let commit = &status.last_push_commit;
        let is_written = chosen.is(observed) && !commit.is_empty();
        is_written.then(|| linked(commit, seconds(&status.last_push_time)))
    })
}

/// The Kustomizations that reconcile the sources of automations.
fn reconcilers(users: &[User<'_>], feeds: &Feeds) -> Arc<[Id]> {
    let sources: BTreeSet<&Id> = users.iter().map(|(writer, _)| &writer.source).collect();
    let fed: Vec<&Arc<[Id]>> = sources
        .into_iter()
        .filter_map(|source| Some(&feeds.get(source)?.kustomizations))
        .collect();
    match fed.as_slice() {
        [one] => Arc::clone(one),
        several => several
            .iter()
            .flat_map(|one| one.iter().cloned())
            .collect::<BTreeSet<Id>>()
            .into_iter()
            .collect(),
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
