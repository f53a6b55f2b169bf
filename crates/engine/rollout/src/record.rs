//! What is remembered of a rollout between two looks, restarts and leaders: an annotation of the automation.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::releases::FollowedRelease;

/// The most bytes of a record: all annotations of an object may have 256 KiB.
const LARGEST: usize = 96 << 10;

/// The most commits of one rollout.
const COMMITS: usize = 16;

/// The most images that are remembered as reverted.
const REVERTED: usize = 200;

/// The rollout of one or more commits of an automation. Times are seconds since 1970-01-01 UTC.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Record {
    /// The commits that are rolled out together, oldest first: a commit joins an open rollout.
    pub commits: Vec<Pushed>,
    /// When the source was first seen to have the images.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fetched: Option<i64>,
    /// Whether the reconciled branch had the images at some time; it may take a merge.
    pub arrived: bool,
    /// The Kustomizations whose objects change, by `namespace/name`.
    pub followers: BTreeMap<String, Follower>,
    /// The Kustomizations that were not ready when the first commit was pushed.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub failing_before: BTreeSet<String>,
    /// Why its HelmReleases are not followed; empty if they are, or if there are none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub unseen_releases: String,
    /// The commit that puts images back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub put_back: Option<PutBack>,
    /// The images that were reverted, of earlier rollouts too, oldest first: `namespace/policy=image`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reverted: Vec<String>,
    /// The images of other namespaces' policies that are held by this automation alone, of earlier
    /// rollouts too, by `namespace/policy`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub held: BTreeMap<String, HeldImage>,
    /// When the rollout was over: all healthy, given up, or overtaken by other commits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closed: Option<i64>,
}

/// A commit that was pushed, in the record of a rollout.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Pushed {
    pub commit: String,
    /// The id of its parent.
    pub base: String,
    /// The branch that it was pushed to.
    pub branch: String,
    /// When it was pushed.
    pub at: i64,
    /// The images that it set, by policy (`namespace/name`): `name:tag@digest`.
    pub images: BTreeMap<String, String>,
    /// When the policies chose them first, as far as it is known: the earliest of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub appeared: Option<i64>,
}

/// A Kustomization whose objects change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Follower {
    /// The commit at which it was ready before; empty when it was not.
    pub good: String,
    /// The policies whose images the workloads get: `Kind/namespace/name` of the workload.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub workloads: BTreeMap<String, BTreeSet<String>>,
    /// Its HelmReleases that are to install something else, by `namespace/name`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub releases: BTreeMap<String, FollowedRelease>,
    /// When it was first seen to have applied the images.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub applied: Option<i64>,
    /// When it was first seen to be ready with them, and its releases as well.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub healthy: Option<i64>,
    /// Its failure with the images, if it fails.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failing: Option<Failing>,
}

/// The failure of a Kustomization.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Failing {
    /// When it was first seen.
    pub since: i64,
    /// The commit that it failed at.
    pub commit: String,
    /// The reason and message of its Ready condition.
    pub reason: String,
    pub message: String,
    /// What became of it; none as long as it is too early.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handled: Option<Handled>,
    /// The HelmRelease that fails, `namespace/name`; empty when the Kustomization itself does.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub release: String,
    /// The workloads among those of the follower that the message names, whole as it was: it is cut here.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub objects: BTreeSet<String>,
    /// Why no more was done, or not yet; empty otherwise.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub because: String,
    /// When it is acted upon again after that went wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry: Option<Retry>,
}

/// When something is tried again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Retry {
    /// How often it went wrong.
    pub tries: u32,
    /// The next attempt is not made before this time, in seconds since 1970.
    pub at: i64,
}

/// What became of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Handled {
    Reported,
    /// The images are held.
    Held,
    /// The images are held, and to put the fields back is proposed.
    Proposed,
    /// The images are held, and a commit puts the fields back.
    PutBack,
}

/// The commit that puts images back. It is recorded before it is pushed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PutBack {
    pub commit: String,
    /// The branch that it is pushed to.
    pub branch: String,
    /// The images that it takes away, by policy.
    pub images: BTreeMap<String, String>,
    /// Whether it is known to be on the reconciled branch.
    pub pushed: bool,
    /// The Kustomization that it is made for, `namespace/name`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kustomization: String,
    /// The commit that was proposed last; `commit` may be one that was not pushed.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub proposed: String,
    /// Where it is proposed: a pull request, a change, a branch. Empty when it is not, or not yet.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub request: String,
    /// Whether somebody has closed that without a merge.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub declined: bool,
}

impl PutBack {
    /// Whether it takes these images away.
    #[must_use]
    pub fn covers(&self, images: &BTreeMap<String, String>) -> bool {
        images
            .iter()
            .all(|(policy, image)| self.images.get(policy) == Some(image))
    }
}

/// An image that failed, of a policy that belongs to others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HeldImage {
    /// `name:tag@digest`
    pub image: String,
    /// The Kustomization that failed with it, `namespace/name`.
    pub kustomization: String,
    /// The message of its Ready condition.
    pub message: String,
}

/// A record that does not fit into an annotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLarge {
    /// Its size in bytes.
    pub bytes: usize,
}

impl std::fmt::Display for TooLarge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { bytes } = self;
        write!(f, "the record of the rollout has {bytes} bytes, {LARGEST} at most fit")
    }
}

impl Record {
    /// Reads a record; `None` for an invalid text, which only others write.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let record: Self = (text.len() <= LARGEST).then(|| serde_json::from_str(text).ok())??;
        let is_bounded =
            record.commits.len() <= COMMITS && record.reverted.len() <= REVERTED && record.held.len() <= REVERTED;
        is_bounded.then_some(record)
    }

    pub fn text(&self) -> Result<String, TooLarge> {
        let text = bumpwright_json::written(self);
        if text.len() <= LARGEST {
            Ok(text)
        } else {
            Err(TooLarge { bytes: text.len() })
        }
    }

    /// Whether there is something to follow.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.closed.is_none() && !self.commits.is_empty()
    }

    /// The images that are rolled out, by policy: those of later commits count.
    #[must_use]
    pub fn images(&self) -> BTreeMap<&str, &str> {
        let images = self.commits.iter().flat_map(|pushed| &pushed.images);
        images
            .map(|(policy, image)| (policy.as_str(), image.as_str()))
            .collect()
    }

    #[must_use]
    pub fn latest(&self) -> Option<&Pushed> {
        self.commits.last()
    }

    /// The record with a commit that is about to be pushed. It joins the rollout if that is still open; else
    /// a new one begins.
    #[must_use]
    pub fn with(&self, pushed: Pushed, followers: BTreeMap<String, Follower>, failing: BTreeSet<String>) -> Self {
        let is_same = |known: &Pushed| known.commit == pushed.commit;
        if self.commits.iter().any(is_same) {
            return self.clone();
        }
        // A commit that was to put images back, and was not pushed, is of no use any more.
        let is_put_back = self.put_back.as_ref().is_some_and(|put_back| put_back.pushed);
        let mut next = if self.is_open() && !is_put_back {
            Self {
                put_back: None,
                ..self.clone()
            }
        } else {
            Self {
                reverted: self.reverted.clone(),
                held: self.held.clone(),
                ..Self::default()
            }
        };
        if next.commits.is_empty() {
            next.failing_before = failing;
        }
        // One that never arrived, since the push failed or a later one replaced it, is of no use.
        next.commits.retain(|known| known.base != pushed.base);
        next.commits.push(pushed);
        let surplus = next.commits.len().saturating_sub(COMMITS);
        next.commits.drain(..surplus);
        (next.fetched, next.arrived) = (None, false);
        // What is healthy is followed again if the new commit changes it, from there.
        next.followers.retain(|_, follower| follower.healthy.is_none());
        for follower in next.followers.values_mut() {
            (follower.applied, follower.failing) = (None, None);
        }
        for (name, follower) in followers {
            next.join(name, follower);
        }
        next
    }

    /// Adds a follower. One that is known keeps the commit at which it was ready before the images that it
    /// has not got yet.
    fn join(&mut self, name: String, follower: Follower) {
        match self.followers.get_mut(&name) {
            Some(known) => {
                if known.good.is_empty() {
                    known.good = follower.good;
                }
                for (workload, policies) in follower.workloads {
                    known.workloads.entry(workload).or_default().extend(policies);
                }
                for (name, release) in follower.releases {
                    known.join_release(name, release);
                }
            }
            None => {
                self.followers.insert(name, follower);
            }
        }
    }

    /// The releases that are followed.
    pub fn releases(&self) -> impl Iterator<Item = &str> {
        let releases = self.followers.values().flat_map(|follower| follower.releases.keys());
        releases.map(String::as_str)
    }

    /// Holds the image of a policy that belongs to others. A newer one takes its place.
    pub fn hold(&mut self, policy: &str, held: HeldImage) {
        if self.held.len() < REVERTED || self.held.contains_key(policy) {
            self.held.insert(policy.to_owned(), held);
        }
    }

    /// Whether this image of a policy was reverted before.
    #[must_use]
    pub fn was_reverted(&self, policy: &str, image: &str) -> bool {
        let key = format!("{policy}={image}");
        self.reverted.contains(&key)
    }

    /// Remembers images as reverted.
    pub fn remember_reverted<'a>(&mut self, images: impl IntoIterator<Item = (&'a str, &'a str)>) {
        for (policy, image) in images {
            if !self.was_reverted(policy, image) {
                self.reverted.push(format!("{policy}={image}"));
            }
        }
        let surplus = self.reverted.len().saturating_sub(REVERTED);
        self.reverted.drain(..surplus);
    }
}

impl Follower {
    /// Adds a release. One that has not got the change before this one was as ready as it is known to have been.
    fn join_release(&mut self, name: String, release: FollowedRelease) {
        let was_ready = self.releases.get(&name).is_some_and(|known| known.was_ready);
        let was_ready = was_ready || release.was_ready;
        self.releases.insert(name, FollowedRelease { was_ready, ..release });
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;

    fn pushed(commit: &str, base: &str, image: &str) -> Pushed {
        Pushed {
            commit: commit.to_owned(),
            base: base.to_owned(),
            branch: "main".to_owned(),
            at: 100,
            images: [("fs/app".to_owned(), image.to_owned())].into(),
            appeared: None,
        }
    }

    fn follower(good: &str) -> BTreeMap<String, Follower> {
        let follower = Follower {
            good: good.to_owned(),
            ..Follower::default()
        };
        [("fs/apps".to_owned(), follower)].into()
    }

    #[test]
    fn a_commit_joins_an_open_rollout() {
        let first = Record::default().with(pushed("c1", "b", "app:1"), follower("b"), BTreeSet::new());
        let both = first.with(pushed("c2", "c1", "app:2"), follower("c1"), BTreeSet::new());
        assert_eq!(both.commits.len(), 2);
        assert_eq!(both.images(), [("fs/app", "app:2")].into());
        // It was not ready with the first commit yet.
        assert_eq!(both.followers["fs/apps"].good, "b");
        let mut healthy = first.clone();
        healthy.followers.get_mut("fs/apps").unwrap().healthy = Some(150);
        let after = healthy.with(pushed("c2", "c1", "app:2"), follower("c1"), BTreeSet::new());
        assert_eq!(after.followers["fs/apps"].good, "c1");
        // The same commit once more, after a restart.
        assert_eq!(
            both.with(pushed("c2", "c1", "app:2"), follower("c1"), BTreeSet::new()),
            both
        );
    }

    #[test]
    fn a_commit_that_lost_its_race_is_replaced() {
        let lost = Record::default().with(pushed("c1", "b", "app:1"), follower("b"), BTreeSet::new());
        let won = lost.with(pushed("c2", "b", "app:1"), follower("b"), BTreeSet::new());
        assert_eq!(won.commits.len(), 1);
        assert_eq!(won.latest().unwrap().commit, "c2");
    }

    #[test]
    fn a_new_rollout_knows_what_was_put_back() {
        let mut over = Record::default().with(pushed("c1", "b", "app:1"), follower("b"), BTreeSet::new());
        over.remember_reverted([("fs/app", "app:1")]);
        over.closed = Some(200);
        let next = over.with(pushed("c3", "c2", "app:1"), follower("c2"), BTreeSet::new());
        assert_eq!(next.commits.len(), 1);
        assert_eq!(next.followers["fs/apps"].good, "c2");
        assert!(next.was_reverted("fs/app", "app:1") && !next.was_reverted("fs/app", "app:2"));
        assert_eq!(Record::parse(&next.text().unwrap()), Some(next));
    }

    #[test]
    fn a_record_that_is_too_large_is_refused() {
        let record = Record {
            failing_before: (0..9_000).map(|n| format!("namespace/kustomization-{n}")).collect(),
            ..Record::default()
        };
        assert!(record.text().is_err());
    }
}
