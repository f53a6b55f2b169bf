//! What changed in the last day: commits, applies, failures, holds, and what events say.

use std::collections::BTreeSet;

use bumpwright_api::ObjectName;
use serde::Serialize;

use super::facts::EventFacts;
use super::forge::Forge;
use super::kustomizations::{Applied, first_line};
use super::readiness::seconds;
use super::releases::Deployed;
use super::sources::commit;
use super::world::{AUTOMATION, Id, KUSTOMIZATION, POLICY, RELEASE, World};
use bumpwright_policy::FailedVersions;
use bumpwright_rollout::short;

/// How far back, in seconds.
const DAY: i64 = 86_400;

/// The most changes that are reported.
const CHANGES: usize = 500;

/// The most runs that are reported of one automation.
const RUNS: usize = 100;

/// What kind of change the timeline shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ChangeKind {
    /// A commit was pushed.
    Pushed,
    /// A commit put images back.
    PutBack,
    /// A revision was applied.
    Applied,
    Failed,
    /// A version of an image is held since it failed.
    Held,
    /// Something else that an event says.
    Told,
}

impl ChangeKind {
    /// The words for people.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Pushed => "pushed",
            Self::PutBack => "put back",
            Self::Applied => "applied",
            Self::Failed => "failed",
            Self::Held => "held",
            Self::Told => "event",
        }
    }
}

/// An entry of the timeline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Change {
    /// When, in seconds since 1970-01-01 UTC.
    pub at: i64,
    pub kind: ChangeKind,
    pub id: Id,
    /// The reason, where an event or condition has one.
    pub reason: String,
    pub message: String,
    /// The commit; empty without one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub commit: String,
    /// The page of the commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
}

impl World {
    /// What changed in the last day, the latest first. Events tell more than statuses, but are kept for an hour only.
    #[must_use]
    pub fn changes(&self) -> Vec<Change> {
        let mut changes = self.all_changes();
        changes.retain(|change| self.now - change.at <= DAY);
        changes.truncate(CHANGES);
        changes
    }

    /// What an automation did, the latest first: in the last day, and the older commits that its
    /// status and record have.
    #[must_use]
    pub fn runs(&self, automation: &ObjectName) -> Vec<Change> {
        let mut runs = self.all_changes();
        runs.retain(|change| change.id.kind == AUTOMATION && change.id.name == *automation);
        runs.truncate(RUNS);
        runs
    }

    /// All that is known, the latest first.
    fn all_changes(&self) -> Vec<Change> {
        let mut changes: Vec<Change> = self.events.iter().filter_map(|event| self.told(event)).collect();
        let reported: BTreeSet<(Id, String)> = changes.iter().map(|one| (one.id.clone(), one.reason.clone())).collect();
        let texts: Vec<&str> = self.events.iter().map(|event| event.message.as_str()).collect();
        let is_told = |commit: &str| texts.iter().any(|text| text.contains(short(commit)));
        let pushes = self.pushes().filter(|push| !is_told(&push.commit));
        let applies = self
            .applies()
            .chain(self.deploys())
            .filter(|one| one.kind == ChangeKind::Applied || !reported.contains(&(one.id.clone(), one.reason.clone())));
        let mut more: Vec<Change> = pushes.chain(applies).chain(self.holds()).collect();
        changes.append(&mut more);
        changes.sort_by(|a, b| b.at.cmp(&a.at).then_with(|| (a.kind, &a.id).cmp(&(b.kind, &b.id))));
        changes
    }

    /// An event about an object of the model.
    fn told(&self, event: &EventFacts) -> Option<Change> {
        let message = event.said();
        let own = event.involved_object.from(&event.metadata.namespace);
        let id = Id::new(&event.involved_object.kind, own);
        self.readiness(&id)?;
        // A look that found nothing new.
        if event.kind == "Normal" && (message.starts_with("no change") || event.reason == "ArtifactUpToDate") {
            return None;
        }
        // The history of the object has that with its revision.
        let in_history = match id.kind.as_str() {
            KUSTOMIZATION => event.reason == "ReconciliationSucceeded",
            RELEASE => matches!(event.reason.as_str(), "InstallSucceeded" | "UpgradeSucceeded"),
            _ => false,
        };
        if in_history && event.kind == "Normal" {
            return None;
        }
        let at = event.at()?;
        let is_push = id.kind == AUTOMATION && message.starts_with("pushed commit");
        let (commit, link) = is_push
            .then(|| self.commit_told(&id.name, message))
            .flatten()
            .unwrap_or_default();
        Some(Change {
            at,
            kind: match event.kind.as_str() {
                "Warning" => ChangeKind::Failed,
                _ if is_push => ChangeKind::Pushed,
                _ => ChangeKind::Told,
            },
            id,
            reason: event.reason.clone(),
            message: message.to_owned(),
            commit,
            link,
        })
    }

    /// The commit that an event of an automation tells of, whole if the automation still has it, and its page.
    fn commit_told(&self, name: &ObjectName, message: &str) -> Option<(String, Option<String>)> {
        let told = message.strip_prefix("pushed commit '")?.split('\'').next()?;
        let is_id = (7..=64).contains(&told.len()) && told.bytes().all(|byte| byte.is_ascii_hexdigit());
        let automation = self.automations.get(name).filter(|_| is_id)?;
        let record = automation.record();
        let put_back = record.put_back.as_ref().map(|put_back| &put_back.commit);
        let mut known = record.commits.iter().map(|one| &one.commit).chain(put_back);
        let whole = known.find(|commit| commit.starts_with(told));
        let last = &automation.status.last_push_commit;
        let whole = whole.or_else(|| Some(last).filter(|last| last.starts_with(told)));
        let commit = whole.cloned().unwrap_or_else(|| told.to_owned());
        let url = self.source_of(automation).1.map(|source| &source.spec.url);
        let link = url.and_then(|url| Forge::of(url)).map(|forge| forge.commit(&commit));
        Some((commit, link))
    }

    /// The commits that statuses and records of automations have.
    fn pushes(&self) -> impl Iterator<Item = Change> {
        self.automations.iter().flat_map(|(name, automation)| {
            let forge = self
                .source_of(automation)
                .1
                .and_then(|source| Forge::of(&source.spec.url));
            let change = |kind, commit: &str, at, message: String| Change {
                at,
                kind,
                id: Id::new(AUTOMATION, name.clone()),
                reason: String::new(),
                message,
                commit: commit.to_owned(),
                link: forge.as_ref().map(|forge| forge.commit(commit)),
            };
            let mut found = Vec::new();
            let record = automation.record();
            for one in &record.commits {
                let images: Vec<&str> = one.images.values().map(String::as_str).collect();
                let text = format!(
                    "pushed commit '{}' to branch '{}': {}",
                    short(&one.commit),
                    one.branch,
                    images.join(", ")
                );
                found.push(change(ChangeKind::Pushed, &one.commit, one.at, text));
            }
            if let Some(put_back) = record.put_back.as_ref().filter(|put_back| put_back.pushed) {
                let images: Vec<&str> = put_back.images.values().map(String::as_str).collect();
                let text = format!("commit '{}' takes back {}", short(&put_back.commit), images.join(", "));
                let at = seconds(&automation.status.last_push_time).unwrap_or_default();
                found.push(change(ChangeKind::PutBack, &put_back.commit, at, text));
            }
            let status = &automation.status;
            let last = &status.last_push_commit;
            let is_new = !last.is_empty() && found.iter().all(|one| one.commit != *last);
            if let Some(at) = seconds(&status.last_push_time).filter(|_| is_new) {
                let text = format!("pushed commit '{}'", short(last));
                found.push(change(ChangeKind::Pushed, last, at, text));
            }
            found
        })
    }

    /// What the histories of Kustomizations have.
    fn applies(&self) -> impl Iterator<Item = Change> {
        self.kustomizations.iter().flat_map(|(name, one)| {
            let url = self.sources.get(&one.source()).map(|source| source.spec.url.clone());
            let forge = url.and_then(|url| Forge::of(&url));
            let id = Id::new(KUSTOMIZATION, name.clone());
            one.status.history.iter().map(Applied::from).filter_map(move |entry| {
                let commit = commit(&entry.revision).unwrap_or_default();
                let kind = if entry.succeeded() {
                    ChangeKind::Applied
                } else {
                    ChangeKind::Failed
                };
                Some(Change {
                    at: entry.first?,
                    kind,
                    id: id.clone(),
                    reason: entry.outcome.clone(),
                    message: format!("revision {} in {}", entry.revision, entry.took),
                    link: forge
                        .as_ref()
                        .filter(|_| !commit.is_empty())
                        .map(|forge| forge.commit(&commit)),
                    commit,
                })
            })
        })
    }

    /// What the histories of HelmReleases have.
    fn deploys(&self) -> impl Iterator<Item = Change> {
        self.releases.iter().flat_map(|(name, one)| {
            let deploys = one.status.history.iter().map(Deployed::from);
            deploys.filter_map(|one| {
                Some(Change {
                    at: one.last?,
                    kind: if one.succeeded() {
                        ChangeKind::Applied
                    } else {
                        ChangeKind::Failed
                    },
                    id: Id::new(RELEASE, name.clone()),
                    reason: one.reason().to_owned(),
                    message: format!("chart {}, revision {}: {}", one.chart, one.revision, one.status),
                    commit: String::new(),
                    link: None,
                })
            })
        })
    }

    /// The versions that are held since they failed.
    fn holds(&self) -> impl Iterator<Item = Change> {
        self.policies.iter().flat_map(|(name, policy)| {
            let failed = FailedVersions::of(&policy.metadata.annotations.0);
            let holds = failed.iter().map(|(version, one)| Change {
                at: one.at,
                kind: ChangeKind::Held,
                id: Id::new(POLICY, name.clone()),
                reason: "Failed".to_owned(),
                message: format!(
                    "{version} failed in Kustomization {}: {}",
                    one.kustomization,
                    first_line(&one.message)
                ),
                commit: one.commit.clone(),
                link: None,
            });
            holds.collect::<Vec<_>>()
        })
    }
}
