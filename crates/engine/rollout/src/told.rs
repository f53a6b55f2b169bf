//! A rollout in words, for its condition and events.

use super::record::{Failing, Follower, Handled, Record};
use bumpwright_gostd::Time;
use bumpwright_text::between;

/// The state of a rollout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    Progressing,
    /// All Kustomizations are healthy with the images.
    Succeeded,
    /// One of them fails, and something was done about it, or it was at least reported.
    Failed,
    /// Other commits took the images away.
    Overtaken,
}

/// A rollout in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    pub phase: Phase,
    pub message: String,
}

/// The most Kustomizations that are named.
const NAMED: usize = 10;

/// The most bytes of a message: a condition may have 32 KiB.
const LONGEST: usize = 16 << 10;

impl Record {
    /// The rollout in words; none before the first one.
    #[must_use]
    pub fn summary(&self) -> Option<Summary> {
        let latest = self.latest()?;
        let failed: Vec<String> = self
            .followers
            .iter()
            .filter_map(|(name, follower)| failed(name, follower))
            .collect();
        let commit = short(&latest.commit);
        let place = format!("commit '{commit}' on branch '{}'", latest.branch);
        let healthy = self.followers.values().filter(|one| one.healthy.is_some()).count();
        let all = self.followers.len();
        let (phase, head) = if !failed.is_empty() {
            let put_back = self.put_back.as_ref().map(|put_back| {
                let (id, branch) = (short(&put_back.commit), &put_back.branch);
                match (put_back.pushed, put_back.request.as_str()) {
                    (true, "") => format!("; put back by commit '{id}' on branch '{branch}'"),
                    (true, request) => format!("; put back by {request}"),
                    (false, request) if !request.is_empty() && !put_back.declined => {
                        format!("; to be put back by {request}")
                    }
                    _ => String::new(),
                }
            });
            (Phase::Failed, format!("{place} failed{}", between("", put_back, "")))
        } else if self.closed.is_some() && (all == 0 || healthy == all) {
            (
                Phase::Succeeded,
                match all {
                    0 => format!("{place} changes no Kustomization that is followed"),
                    _ => format!("{place} is healthy in {}{}", counted(all), self.counted_releases()),
                },
            )
        } else if self.closed.is_some() {
            (Phase::Overtaken, format!("{place} was overtaken by other commits"))
        } else {
            let waits = match (self.arrived, self.fetched) {
                (false, _) => " is not on the reconciled branch yet",
                (true, None) => " is not fetched yet",
                (true, Some(_)) => "",
            };
            (
                Phase::Progressing,
                format!("{place}{waits}: healthy in {healthy} of {}", counted(all)),
            )
        };
        let mut lines = vec![head];
        lines.extend(failed.iter().take(NAMED).cloned());
        if phase != Phase::Failed {
            let stages = self.followers.iter().take(NAMED);
            lines.extend(stages.map(|(name, follower)| format!("{name}: {}", stage(follower, latest.at))));
        }
        let more = all.saturating_sub(NAMED);
        if more > 0 {
            lines.push(format!("and {more} more"));
        }
        if !self.unseen_releases.is_empty() {
            lines.push(format!("its HelmReleases are not followed: {}", self.unseen_releases));
        }
        let mut message = lines.join("\n");
        message.truncate(message.floor_char_boundary(LONGEST));
        Some(Summary { phase, message })
    }
}

impl Record {
    fn counted_releases(&self) -> String {
        match self.releases().count() {
            0 => String::new(),
            1 => " with 1 HelmRelease".to_owned(),
            count => format!(" with {count} HelmReleases"),
        }
    }
}

/// What became of a failure.
fn failed(name: &str, follower: &Follower) -> Option<String> {
    let failing = follower.failing.as_ref()?;
    let handled = match failing.handled? {
        Handled::Reported => "reported",
        Handled::Held => "its images are held",
        Handled::Proposed => "its images are held, and to put them back is proposed",
        Handled::PutBack => "its images are held and put back",
    };
    let because = match failing.because.as_str() {
        "" => String::new(),
        because if failing.is_proposed() => format!("; the proposal cannot be looked at: {because}"),
        because => format!(" only: {because}"),
    };
    Some(format!(
        "Kustomization {name} at '{}': {}: {}; {handled}{because}",
        short(&failing.commit),
        failing.reason,
        failing.message.trim_end()
    ))
}

/// How far a Kustomization is. The seconds do not go on while nothing happens, so that the message stays as it is.
fn stage(follower: &Follower, since: i64) -> String {
    let after = |time: i64| time.saturating_sub(since).max(0);
    match (follower.healthy, follower.applied, &follower.failing) {
        (Some(healthy), ..) => format!("healthy after {} s", after(healthy)),
        (None, _, Some(failing)) => {
            let because = match failing.because.as_str() {
                "" => String::new(),
                because => format!("; nothing is done about it yet: {because}{}", again(failing)),
            };
            let message = failing.message.trim_end();
            format!("fails after {} s: {message}{because}", after(failing.since))
        }
        (None, Some(applied), None) => format!("applied after {} s{}", after(applied), waiting(follower)),
        (None, None, None) => "not applied yet".to_owned(),
    }
}

/// The releases that are not healthy yet.
fn waiting(follower: &Follower) -> String {
    let releases = follower
        .releases
        .iter()
        .filter(|(_, release)| release.healthy.is_none());
    let names: Vec<&str> = releases.map(|(name, _)| name.as_str()).collect();
    match names.as_slice() {
        [] => String::new(),
        [name] => format!("; waits for HelmRelease {name}"),
        names => {
            let shown = names.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
            let more = names.len().saturating_sub(NAMED);
            let more = if more > 0 {
                format!(" and {more} more")
            } else {
                String::new()
            };
            format!("; waits for HelmReleases {shown}{more}")
        }
    }
}

/// When a failure is acted upon again.
fn again(failing: &Failing) -> String {
    let Some(retry) = failing.retry else {
        return String::new();
    };
    let at = Time::unix(retry.at, 0).written(b"2006-01-02T15:04:05Z07:00");
    match retry.tries {
        0 => String::new(),
        1 => format!("; tried once, again at {at}"),
        tries => format!("; tried {tries} times, again at {at}"),
    }
}

fn counted(kustomizations: usize) -> String {
    match kustomizations {
        1 => "1 Kustomization".to_owned(),
        count => format!("{count} Kustomizations"),
    }
}

/// The first seven letters of a commit's id, as Git and Flux tell it.
#[must_use]
pub fn short(commit: &str) -> &str {
    commit.get(..7).unwrap_or(commit)
}
