//! The record of a commit is written before the commit is pushed, so that a process that ends in between leaves no
//! commit that nobody follows.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::runtime::Handle;

use super::keeper::{Keeper, Unwritten};
use super::{look, releases};
use crate::images::automation::context::AutomationContext;
use bumpwright_api::ImageUpdateAutomation;
use bumpwright_kube::NotListed;
use bumpwright_policy::{LatestRef, PolicyName};
use bumpwright_rollout::{Follower, KustomizationState, Pushed, PutBack, Record};
use bumpwright_runtime::clock;
use bumpwright_update::{Announce, AnnounceError, Announced, Impact};

/// Records the commits of one run.
pub(super) struct Announcer {
    context: Arc<AutomationContext>,
    automation: Arc<ImageUpdateAutomation>,
    keeper: Arc<Keeper>,
    runtime: Handle,
    before: Record,
    /// Why it is not known which Kustomizations there are, if it is not.
    unlisted: Option<NotListed>,
    written: Mutex<Option<Record>>,
}

impl std::fmt::Debug for Announcer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Announcer({})", self.automation.metadata.object_name())
    }
}

/// Why a commit is not pushed.
#[derive(Debug, thiserror::Error)]
enum NotPushed {
    #[error("the commit is not pushed, since it cannot be followed: {0}")]
    Unlisted(NotListed),
    #[error("the commit is not pushed, since it cannot be recorded: {0}")]
    Unrecorded(#[from] Unwritten),
}

impl Announcer {
    pub(super) fn new(
        context: &Arc<AutomationContext>,
        automation: &Arc<ImageUpdateAutomation>,
        keeper: &Arc<Keeper>,
        before: Record,
        unlisted: Option<NotListed>,
    ) -> Self {
        Self {
            context: Arc::clone(context),
            automation: Arc::clone(automation),
            keeper: Arc::clone(keeper),
            runtime: Handle::current(),
            before,
            unlisted,
            written: Mutex::default(),
        }
    }

    /// The record that was written last.
    pub(super) fn announced(&self) -> Option<Record> {
        self.written.lock().take()
    }

    /// Waits until the HelmReleases are listed, if the commit changes some. They need rights that older installations
    /// do not have: without them they are not followed.
    fn list_releases(&self, impact: Option<&Impact>) -> Result<(), NotListed> {
        if impact.is_some_and(|impact| !impact.releases.is_empty()) {
            self.runtime.block_on(releases::list_releases(&self.context))
        } else {
            Ok(())
        }
    }

    fn write(&self, record: Record) -> Result<(), NotPushed> {
        self.runtime.block_on(self.keeper.write(Some(&record)))?;
        *self.written.lock() = Some(record);
        Ok(())
    }
}

impl Announce for Announcer {
    fn announce(&self, commit: &Announced<'_>) -> Result<(), AnnounceError> {
        if let Some(why) = &self.unlisted {
            return Err(NotPushed::Unlisted(why.clone()).into());
        }
        let releases = self.list_releases(commit.impact);
        let visible = look::visible(&self.context, &self.automation);
        let named: BTreeSet<&PolicyName> = commit.changes.iter().map(|change| &change.policy).collect();
        let images: BTreeMap<String, LatestRef> = named
            .into_iter()
            .filter_map(|name| Some((name.to_string(), commit.policies.image(name)?.clone())))
            .collect();
        let book = &self.context.policy_book;
        let appeared = images.keys().filter_map(|policy| book.appeared(policy)).min();
        let pushed = Pushed {
            commit: commit.commit.to_string(),
            base: commit.base.to_string(),
            branch: commit.branch.to_owned(),
            at: clock::now().unix_seconds(),
            images: images
                .iter()
                .map(|(policy, image)| (policy.clone(), image.to_string()))
                .collect(),
            appeared,
        };
        let own = look::of_source(&self.context, &self.automation);
        let followers = followers(commit, &own, &visible, &images);
        let is_failing = |state: &KustomizationState| state.ready == Some(false);
        let failing = visible.iter().filter(|(_, state)| is_failing(state));
        let mut record = self
            .before
            .with(pushed, followers, failing.map(|(name, _)| name.clone()).collect());
        record.unseen_releases = releases.err().map_or_else(String::new, |why| why.to_string());
        Ok(self.write(record)?)
    }
}

/// The Kustomizations of the source whose objects the commit changes. Without a verification, those with a changed
/// file below their path.
fn followers(
    commit: &Announced<'_>,
    own: &BTreeMap<String, String>,
    all: &BTreeMap<String, KustomizationState>,
    images: &BTreeMap<String, LatestRef>,
) -> BTreeMap<String, Follower> {
    let changed: Option<BTreeSet<String>> =
        commit
            .impact
            .filter(|impact| !impact.kustomizations.is_empty())
            .map(|impact| {
                let names = impact.kustomizations.iter();
                names.map(ToString::to_string).collect()
            });
    let is_below = |path: &str| {
        let files = commit.changes.iter();
        let path = path.trim_start_matches("./").trim_matches('/');
        files.map(|change| change.path.as_str()).any(|file| {
            path.is_empty() || path == "." || file.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'))
        })
    };
    let mut followers = BTreeMap::new();
    for (name, path) in own {
        let is_followed = changed
            .as_ref()
            .map_or_else(|| is_below(path), |changed| changed.contains(name));
        let Some(state) = all.get(name).filter(|_| is_followed) else {
            continue;
        };
        let good = if state.was_ready() {
            state.applied.clone()
        } else {
            String::new()
        };
        let impact = || commit.impact.into_iter();
        followers.insert(
            name.clone(),
            Follower {
                good,
                workloads: impact().flat_map(|impact| workloads(impact, name, images)).collect(),
                releases: impact()
                    .flat_map(|impact| releases::followed(impact, name, state))
                    .collect(),
                ..Follower::default()
            },
        );
    }
    followers
}

/// The workloads of a Kustomization that get images, and the policies of these.
fn workloads(
    impact: &Impact,
    kustomization: &str,
    images: &BTreeMap<String, LatestRef>,
) -> BTreeMap<String, BTreeSet<String>> {
    let mut workloads: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for workload in &impact.workloads {
        if workload.kustomization.to_string() != kustomization {
            continue;
        }
        let object = &workload.object;
        let name = format!("{}/{}/{}", object.kind, object.namespace, object.name);
        for container in &workload.images {
            let policies = images.iter().filter(|(_, image)| is_of(&container.new, image));
            let policies = policies.map(|(policy, _)| policy.clone());
            workloads.entry(name.clone()).or_default().extend(policies);
        }
    }
    workloads.retain(|_, policies| !policies.is_empty());
    releases::with_releases(impact, kustomization, &mut workloads);
    workloads
}

/// Whether a container has the image of a policy. Fields may have parts of it only.
fn is_of(container: &str, image: &LatestRef) -> bool {
    let (name, tag, digest) = LatestRef::split(container);
    let has_tag = tag.is_some_and(|tag| tag == image.tag);
    let has_digest = digest.is_some() && digest == image.digest.as_deref();
    name == image.name && (has_tag || has_digest)
}

/// Records the commit that puts images back.
pub(super) struct PutBackAnnouncer {
    pub(super) announcer: Announcer,
    /// The images that it takes away, by policy.
    pub(super) images: BTreeMap<String, String>,
    /// The Kustomization that it is made for.
    pub(super) kustomization: String,
}

impl std::fmt::Debug for PutBackAnnouncer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.announcer.fmt(f)
    }
}

impl Announce for PutBackAnnouncer {
    fn announce(&self, commit: &Announced<'_>) -> Result<(), AnnounceError> {
        let mut record = self.announcer.before.clone();
        let before = record.put_back.take().filter(|before| before.images == self.images);
        let put_back = PutBack {
            commit: commit.commit.to_string(),
            branch: commit.branch.to_owned(),
            images: self.images.clone(),
            kustomization: self.kustomization.clone(),
            ..before.clone().unwrap_or_default()
        };
        // It is proposed already.
        if before.as_ref() == Some(&put_back) {
            return Ok(());
        }
        record.put_back = Some(put_back);
        Ok(self.announcer.write(record)?)
    }
}
