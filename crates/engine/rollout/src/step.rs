//! One step of a rollout: what a look at the cluster changes.

use std::collections::BTreeMap;

use super::blame::named;
use super::record::{Failing, Follower, Handled, PutBack, Record, Retry};
use super::releases::Progress;
use super::seen::{Holds, KustomizationState, Revisions, Seen};
use bumpwright_text::Parts;

/// The settings of an automation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How long a failure lasts before it is acted upon, in seconds.
    pub failure_after: i64,
}

/// The stages of a rollout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The source has the images.
    Fetched,
    /// A Kustomization has applied them.
    Applied,
    /// It is ready with them.
    Healthy,
}

impl Stage {
    pub const ALL: [Self; 3] = [Self::Fetched, Self::Applied, Self::Healthy];

    /// The word for it in metrics.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Fetched => "fetched",
            Self::Applied => "applied",
            Self::Healthy => "healthy",
        }
    }
}

/// A stage that was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StageReached {
    pub stage: Stage,
    /// The seconds since the push.
    pub after: i64,
    /// The seconds since the images appeared, if that is known.
    pub lead: Option<i64>,
}

/// A failure that has lasted long enough.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The Kustomization, `namespace/name`.
    pub kustomization: String,
    /// The commit at which it was ready before; empty when it was not.
    pub good: String,
    /// The commit that it fails at.
    pub commit: String,
    /// Why it may not be blamed on the images, whatever Git says; none if it may.
    pub not_ours: Option<String>,
}

/// What a step brings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// The stages that were reached.
    pub reached: Vec<StageReached>,
    /// The failures to act upon.
    pub failures: Vec<Failure>,
    /// When to look again even if nothing changes.
    pub again: Option<i64>,
    /// Whether all Kustomizations became healthy by this step.
    pub succeeded: bool,
    /// Whether other commits took the images away before all were healthy.
    pub overtaken: bool,
}

/// Reasons of a Ready condition that tell of a failed build, apply or health check, in
/// the words of kustomize-controller.
pub(crate) const FAILURES: [&str; 6] = [
    "BuildFailed",
    "ReconciliationFailed",
    "PruneFailed",
    "HealthCheckFailed",
    "PostBuildFailed",
    "DriftDetectionFailed",
];

impl Record {
    /// Continues with what was seen.
    pub fn step(&mut self, seen: &Seen, revisions: &dyn Revisions, limits: Limits) -> Step {
        let mut step = Step::default();
        if !self.is_open() {
            return step;
        }
        self.followers.retain(|name, _| seen.kustomizations.contains_key(name));
        if self.is_overtaken(seen, revisions) {
            self.closed = Some(seen.now);
            self.settle();
            step.overtaken = self.put_back.is_none();
            return step;
        }
        self.see_source(seen, revisions, &mut step);
        let (since, appeared) = (self.since(), self.appeared());
        let cluster = self.cluster_failure(seen);
        for (name, follower) in &mut self.followers {
            let Some(state) = seen.kustomizations.get(name) else {
                continue;
            };
            let holds = |commit: &str| !commit.is_empty() && revisions.holds(commit) == Holds::Yes;
            follower.see(state, seen.now, &holds, &mut |stage| {
                step.reached.push(StageReached {
                    stage,
                    after: seen.now.saturating_sub(since),
                    lead: appeared
                        .filter(|_| stage == Stage::Healthy)
                        .map(|appeared| seen.now.saturating_sub(appeared)),
                });
            });
            follower.judge(name, limits, cluster.as_deref(), seen.now, &mut step);
            step.again = step.again.into_iter().chain(follower.again(state)).min();
        }
        if self.arrived && self.followers.values().all(|follower| follower.healthy.is_some()) {
            self.closed = Some(seen.now);
            step.succeeded = self.put_back.is_none();
        }
        step
    }

    /// The images are gone. If a commit of ours took them away, and the process ended before that was noted, or it was
    /// proposed only, it is noted now.
    fn settle(&mut self) {
        let is_open = |put_back: &&mut PutBack| !put_back.pushed && !put_back.declined;
        let Some(put_back) = self.put_back.as_mut().filter(is_open) else {
            return;
        };
        put_back.pushed = true;
        let images = put_back.images.clone();
        for failing in self
            .followers
            .values_mut()
            .filter_map(|follower| follower.failing.as_mut())
        {
            if failing.is_pending() {
                failing.handled = Some(Handled::PutBack);
                failing.because.clear();
                failing.retry = None;
            }
        }
        self.remember_reverted(images.iter().map(|(policy, image)| (policy.as_str(), image.as_str())));
    }

    /// When the rollout began.
    fn since(&self) -> i64 {
        self.latest().map_or(0, |pushed| pushed.at)
    }

    fn appeared(&self) -> Option<i64> {
        self.commits.iter().filter_map(|pushed| pushed.appeared).min()
    }

    /// Whether the branch had the images and has none of them any more. A branch that is not known, or that a merge has
    /// not reached, says nothing.
    fn is_overtaken(&mut self, seen: &Seen, revisions: &dyn Revisions) -> bool {
        if seen.tip.is_empty() {
            return false;
        }
        match revisions.holds(&seen.tip) {
            Holds::Yes => {
                self.arrived = true;
                false
            }
            Holds::No => self.arrived,
            Holds::Unknown => false,
        }
    }

    fn see_source(&mut self, seen: &Seen, revisions: &dyn Revisions, step: &mut Step) {
        if self.fetched.is_none() && !seen.source.is_empty() && revisions.holds(&seen.source) == Holds::Yes {
            self.fetched = Some(seen.now);
            step.reached.push(StageReached {
                stage: Stage::Fetched,
                after: seen.now.saturating_sub(self.since()),
                lead: None,
            });
        }
    }

    /// Whether the cluster rather than the images is to blame: more than half of all Kustomizations turned unhealthy,
    /// and not only those whose objects change.
    fn cluster_failure(&self, seen: &Seen) -> Option<String> {
        let turned: Vec<&String> = seen
            .kustomizations
            .iter()
            .filter(|(name, state)| state.ready == Some(false) && !self.failing_before.contains(*name))
            .map(|(name, _)| name)
            .collect();
        let (all, others) = (
            seen.kustomizations.len(),
            turned.iter().any(|name| !self.followers.contains_key(*name)),
        );
        if others && turned.len() * 2 > all {
            return Some(to_blame(turned.len(), all, "Kustomizations"));
        }
        self.failing_releases(seen)
    }

    /// The same of HelmReleases: Kustomizations need not wait for theirs.
    fn failing_releases(&self, seen: &Seen) -> Option<String> {
        let begun = self.commits.first().map_or(i64::MAX, |pushed| pushed.at);
        let (mut all, mut turned, mut others) = (0_usize, 0_usize, false);
        for (name, state) in &seen.kustomizations {
            let follower = self.followers.get(name);
            for (release, state) in &state.releases {
                all += 1;
                if state.unready_since.is_some_and(|since| since >= begun) {
                    turned += 1;
                    others |= !follower.is_some_and(|follower| follower.releases.contains_key(release));
                }
            }
        }
        (others && turned * 2 > all).then(|| to_blame(turned, all, "HelmReleases"))
    }
}

fn to_blame(turned: usize, all: usize, what: &str) -> String {
    format!("{turned} of {all} {what} turned unhealthy, so the cluster is to blame rather than the images")
}

impl Follower {
    /// Sees a state of its Kustomization.
    fn see(
        &mut self,
        state: &KustomizationState,
        now: i64,
        holds: &dyn Fn(&str) -> bool,
        reached: &mut dyn FnMut(Stage),
    ) {
        if self.applied.is_none() && holds(&state.applied) {
            self.applied = Some(now);
            reached(Stage::Applied);
        }
        let releases = self.see_releases(state, now);
        let has_attempted = state.is_current && holds(&state.attempted);
        let is_applied = has_attempted && state.applied == state.attempted;
        match (state.ready, releases) {
            (Some(true), Progress::Healthy) if is_applied => {
                // What was reverted stays reported, though other images of the commits are healthy.
                let is_put_back =
                    |failing: &mut Failing| matches!(failing.handled, Some(Handled::PutBack | Handled::Proposed));
                self.failing = self.failing.take_if(is_put_back);
                if self.healthy.is_none() {
                    self.healthy = Some(now);
                    reached(Stage::Healthy);
                }
            }
            // What is proposed stays as it was proposed.
            _ if self.failing.as_ref().is_some_and(Failing::is_proposed) || self.healthy.is_some() => {}
            (Some(false), _) if has_attempted && FAILURES.contains(&state.reason.as_str()) => {
                let failing = Failing {
                    commit: state.attempted.clone(),
                    reason: state.reason.clone(),
                    objects: named(self, &state.message),
                    message: cut(&state.message),
                    ..Failing::default()
                };
                self.fails(failing, now);
            }
            (_, Progress::Fails) => self.see_failing_release(state, now),
            // In the middle of another try.
            _ => {}
        }
    }

    /// Sees the states of its releases, once it has applied the images. Those that are not there any more
    /// are not waited for.
    fn see_releases(&mut self, state: &KustomizationState, now: i64) -> Progress {
        let Some(applied) = self.applied else {
            return Progress::Waits;
        };
        let mut overall = Progress::Healthy;
        for (name, release) in &mut self.releases {
            let Some(seen) = state.releases.get(name) else { continue };
            let progress = release.progress(seen, applied, now);
            release.healthy = match progress {
                Progress::Healthy => release.healthy.or(Some(now)),
                Progress::Waits | Progress::Fails => None,
            };
            overall = match (overall, progress) {
                (Progress::Fails, _) | (_, Progress::Fails) => Progress::Fails,
                (Progress::Waits, _) | (_, Progress::Waits) => Progress::Waits,
                (Progress::Healthy, Progress::Healthy) => Progress::Healthy,
            };
        }
        overall
    }

    /// Notes the failure of the first release that fails.
    fn see_failing_release(&mut self, state: &KustomizationState, now: i64) {
        let Some(applied) = self.applied else { return };
        let mut failing = self.releases.iter().filter_map(|(name, release)| {
            let status = state.releases.get(name)?;
            (release.progress(status, applied, now) == Progress::Fails).then_some((name, status))
        });
        let Some((name, seen)) = failing.next() else { return };
        let mut objects = named(self, &seen.message);
        if objects.is_empty() {
            objects.insert(format!("HelmRelease/{name}"));
        }
        let failing = Failing {
            commit: state.applied.clone(),
            reason: seen.reason.clone(),
            message: cut(&format!("HelmRelease {name}: {}", seen.message)),
            release: name.clone(),
            objects,
            ..Failing::default()
        };
        self.fails(failing, now);
    }

    /// Notes a failure: since when it lasts, and what became of it, stays as it is known.
    fn fails(&mut self, failing: Failing, now: i64) {
        let before = self.failing.take().unwrap_or(Failing {
            since: now,
            ..Failing::default()
        });
        self.failing = Some(Failing {
            // After a clock that was set back.
            since: before.since.min(now),
            handled: before.handled,
            because: before.because,
            retry: before.retry,
            ..failing
        });
    }

    /// When its releases are checked again, though nothing changes.
    fn again(&self, state: &KustomizationState) -> Option<i64> {
        let applied = self.applied.filter(|_| self.healthy.is_none())?;
        let waiting = self.releases.iter().filter(|(_, release)| release.healthy.is_none());
        let times = waiting.filter_map(|(name, release)| release.again(state.releases.get(name)?, applied));
        times.min()
    }

    /// Why its failure may not be blamed on the images; none if it may.
    fn not_ours(&self, failing: &Failing, cluster: Option<&str>) -> Option<String> {
        let release = self.releases.get(&failing.release);
        match () {
            () if self.good.is_empty() => Some("it was not ready before".to_owned()),
            () if release.is_some_and(|release| !release.was_ready) => {
                Some(format!("HelmRelease {} was not ready before", failing.release))
            }
            () => cluster.map(str::to_owned),
        }
    }

    /// Decides whether its failure has lasted long enough.
    fn judge(&self, name: &str, limits: Limits, cluster: Option<&str>, now: i64, step: &mut Step) {
        let Some(failing) = self.failing.as_ref().filter(|failing| failing.is_pending()) else {
            return;
        };
        let is_proposed = failing.is_proposed();
        if is_proposed && self.healthy.is_some() {
            return;
        }
        let due = failing.since.saturating_add(limits.failure_after);
        let due = failing
            .retry
            .filter(|retry| retry.waits(now))
            .map_or(due, |retry| due.max(retry.at));
        if now < due {
            // A proposal is checked again when there is another reason to read it.
            let again = step.again.into_iter().chain((!is_proposed).then_some(due));
            step.again = again.min();
            return;
        }
        step.failures.push(Failure {
            kustomization: name.to_owned(),
            good: self.good.clone(),
            commit: failing.commit.clone(),
            not_ours: self.not_ours(failing, cluster),
        });
    }
}

/// The longest pause before a failure is acted upon again, in seconds.
const LONGEST_PAUSE: i64 = 3600;

impl Retry {
    /// Another try after a pause in seconds.
    #[must_use]
    pub fn after(now: i64, pause: i64, tries: u32) -> Self {
        let at = now.saturating_add(pause.clamp(1, LONGEST_PAUSE));
        Self { tries, at }
    }

    /// Whether it is too early. A time that is too far away is that of a clock which was set back.
    fn waits(&self, now: i64) -> bool {
        (1..=LONGEST_PAUSE).contains(&self.at.saturating_sub(now))
    }
}

/// The most bytes of a message that are remembered.
const MESSAGE: usize = 400;

fn cut(message: &str) -> String {
    if message.len() <= MESSAGE {
        message.to_owned()
    } else {
        format!("{}…", message.part(..message.floor_char_boundary(MESSAGE)))
    }
}

impl Failing {
    /// Whether something is still to be done about it.
    fn is_pending(&self) -> bool {
        self.handled.is_none() || self.is_proposed()
    }

    /// Whether to put its images back is proposed.
    #[must_use]
    pub fn is_proposed(&self) -> bool {
        self.handled == Some(Handled::Proposed)
    }
}

/// The pause before a proposal is checked again, in seconds.
const PROPOSED: i64 = 60;

impl Record {
    /// Notes that to put images back is proposed.
    pub fn proposed(&mut self, kustomization: &str, now: i64) {
        self.handled(kustomization, Handled::Proposed, "");
        let follower = self.followers.get_mut(kustomization);
        if let Some(failing) = follower.and_then(|one| one.failing.as_mut()) {
            failing.retry = Some(Retry::after(now, PROPOSED, 0));
        }
    }

    /// Notes what became of a failure.
    pub fn handled(&mut self, kustomization: &str, handled: Handled, because: &str) {
        let failing = self
            .followers
            .get_mut(kustomization)
            .and_then(|one| one.failing.as_mut());
        if let Some(failing) = failing {
            failing.handled = Some(handled);
            because.clone_into(&mut failing.because);
            failing.retry = None;
        }
    }

    /// Notes why nothing was done about a failure yet, and when that is tried again.
    pub fn delayed(&mut self, kustomization: &str, because: &str, retry: Retry) {
        let follower = self.followers.get_mut(kustomization);
        if let Some(failing) = follower.and_then(|one| one.failing.as_mut()) {
            failing.because = cut(because);
            failing.retry = Some(retry);
        }
    }

    /// How often acting upon a failure went wrong.
    #[must_use]
    pub fn tries(&self, kustomization: &str) -> u32 {
        let failing = self.followers.get(kustomization).and_then(|one| one.failing.as_ref());
        failing.and_then(|failing| failing.retry).map_or(0, |retry| retry.tries)
    }

    /// Has failures acted upon now that wait for another try.
    pub fn retry_now(&mut self, now: i64) {
        let followers = self.followers.values_mut();
        let waiting = followers.filter_map(|one| one.failing.as_mut()?.retry.as_mut());
        waiting.for_each(|retry| retry.at = retry.at.min(now));
    }

    /// When the first failure is acted upon again.
    #[must_use]
    pub fn next_try(&self) -> Option<i64> {
        let failings = self.followers.values().filter_map(|one| one.failing.as_ref());
        let waiting = failings.filter(|failing| failing.handled.is_none());
        waiting.filter_map(|failing| Some(failing.retry?.at)).min()
    }

    /// The followers that fail, and how.
    pub fn failing(&self) -> BTreeMap<&str, &Failing> {
        let followers = self.followers.iter();
        followers
            .filter_map(|(name, follower)| Some((name.as_str(), follower.failing.as_ref()?)))
            .collect()
    }
}

#[cfg(test)]
#[path = "step_tests.rs"]
mod tests;
