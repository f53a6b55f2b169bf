//! Rollouts, step by step.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use super::*;
use crate::record::{Pushed, PutBack};
use crate::releases::{FollowedRelease, ReleaseState};
use crate::told::Phase;
use std::collections::BTreeSet;

const LIMITS: Limits = Limits { failure_after: 600 };

/// `c` was pushed on `b` at 1000; the Kustomization `fs/apps` follows it.
fn record() -> Record {
    let pushed = Pushed {
        commit: "c".to_owned(),
        base: "b".to_owned(),
        branch: "main".to_owned(),
        at: 1000,
        images: [("fs/app".to_owned(), "app:1".to_owned())].into(),
        appeared: Some(900),
    };
    let follower = Follower {
        good: "b".to_owned(),
        ..Follower::default()
    };
    Record::default().with(pushed, [("fs/apps".to_owned(), follower)].into(), BTreeSet::new())
}

/// `c` and everything after it up to `e` have the images; `x` is not known.
fn git(commit: &str) -> Holds {
    match commit {
        "c" | "d" | "e" => Holds::Yes,
        "x" => Holds::Unknown,
        _ => Holds::No,
    }
}

fn state(ready: Option<bool>, attempted: &str, applied: &str) -> KustomizationState {
    KustomizationState {
        ready,
        reason: if ready == Some(false) { "HealthCheckFailed" } else { "" }.to_owned(),
        message: "Deployment/a/b".to_owned(),
        attempted: attempted.to_owned(),
        applied: applied.to_owned(),
        is_current: true,
        suspended: false,
        succeeded: ready == Some(true),
        releases: BTreeMap::new(),
    }
}

fn seen(now: i64, tip: &str, source: &str, all: &[(&str, KustomizationState)]) -> Seen {
    Seen {
        now,
        tip: tip.to_owned(),
        source: source.to_owned(),
        kustomizations: all
            .iter()
            .map(|(name, state)| ((*name).to_owned(), state.clone()))
            .collect(),
    }
}

#[test]
fn a_rollout_goes_from_stage_to_stage() {
    let mut record = record();
    let apps = |state| [("fs/apps", state)];
    let stages = |step: &Step| {
        step.reached
            .iter()
            .map(|one| (one.stage, one.after))
            .collect::<Vec<_>>()
    };
    let before = record.step(&seen(1001, "c", "b", &apps(state(Some(true), "b", "b"))), &git, LIMITS);
    assert!(before.reached.is_empty() && record.arrived);
    let fetched = record.step(&seen(1002, "c", "c", &apps(state(Some(true), "b", "b"))), &git, LIMITS);
    assert_eq!(stages(&fetched), [(Stage::Fetched, 2)]);
    let applied = record.step(&seen(1005, "c", "c", &apps(state(None, "c", "c"))), &git, LIMITS);
    assert_eq!(stages(&applied), [(Stage::Applied, 5)]);
    assert_eq!(record.summary().unwrap().phase, Phase::Progressing);
    let healthy = record.step(&seen(1060, "c", "c", &apps(state(Some(true), "c", "c"))), &git, LIMITS);
    assert_eq!(stages(&healthy), [(Stage::Healthy, 60)]);
    assert_eq!(healthy.reached[0].lead, Some(160));
    assert!(healthy.succeeded && !record.is_open());
    let told = record.summary().unwrap();
    assert_eq!(told.phase, Phase::Succeeded);
    assert!(told.message.contains("fs/apps: healthy after 60 s"), "{}", told.message);
    let over = record.step(&seen(2000, "c", "c", &apps(state(Some(false), "c", "c"))), &git, LIMITS);
    assert_eq!(over, Step::default());
}

/// Not by the id of the commit: the values count.
#[test]
fn a_later_commit_with_the_images_counts() {
    let mut record = record();
    let step = record.step(
        &seen(1010, "d", "d", &[("fs/apps", state(Some(true), "d", "d"))]),
        &git,
        LIMITS,
    );
    assert!(step.succeeded);
}

#[test]
fn a_merge_is_waited_for() {
    let mut record = record();
    let apps = [("fs/apps", state(Some(true), "b", "b"))];
    let step = record.step(&seen(1010, "b", "b", &apps), &git, LIMITS);
    assert!(!step.overtaken && record.is_open());
    record.step(
        &seen(9000, "e", "e", &[("fs/apps", state(Some(true), "e", "e"))]),
        &git,
        LIMITS,
    );
    assert!(!record.is_open());
}

#[test]
fn other_commits_overtake_a_rollout() {
    let mut record = record();
    let apps = [("fs/apps", state(Some(true), "b", "b"))];
    record.step(&seen(1010, "c", "b", &apps), &git, LIMITS);
    let step = record.step(&seen(1020, "f", "b", &apps), &git, LIMITS);
    assert!(step.overtaken && !record.is_open());
    assert_eq!(record.summary().unwrap().phase, Phase::Overtaken);
}

#[test]
fn a_failure_has_to_last() {
    let mut record = record();
    let failing = [("fs/apps", state(Some(false), "c", "b"))];
    let first = record.step(&seen(1100, "c", "c", &failing), &git, LIMITS);
    assert_eq!((first.failures.len(), first.again), (0, Some(1700)));
    // Another try in between does not begin it again.
    record.step(
        &seen(1300, "c", "c", &[("fs/apps", state(None, "c", "b"))]),
        &git,
        LIMITS,
    );
    let due = record.step(&seen(1700, "c", "c", &failing), &git, LIMITS);
    assert_eq!(due.failures.len(), 1);
    assert_eq!(
        (due.failures[0].good.as_str(), due.failures[0].commit.as_str()),
        ("b", "c")
    );
    assert_eq!(due.failures[0].not_ours, None);
    record.handled("fs/apps", Handled::PutBack, "");
    assert_eq!(record.summary().unwrap().phase, Phase::Failed);
    let after = record.step(&seen(1800, "c", "c", &failing), &git, LIMITS);
    assert!(after.failures.is_empty());
    assert_eq!(record.summary().unwrap().phase, Phase::Failed);
}

#[test]
fn a_failure_that_passes_is_none() {
    let mut record = record();
    record.step(
        &seen(1100, "c", "c", &[("fs/apps", state(Some(false), "c", "b"))]),
        &git,
        LIMITS,
    );
    let healthy = record.step(
        &seen(1650, "c", "c", &[("fs/apps", state(Some(true), "c", "c"))]),
        &git,
        LIMITS,
    );
    assert!(healthy.succeeded);
}

#[test]
fn failures_of_other_kinds_or_revisions_do_not_count() {
    let mut waiting = state(Some(false), "c", "b");
    waiting.reason = "DependencyNotReady".to_owned();
    for state in [waiting, state(Some(false), "b", "b"), state(Some(false), "x", "b")] {
        let mut record = record();
        record.step(&seen(1100, "c", "c", &[("fs/apps", state.clone())]), &git, LIMITS);
        let step = record.step(&seen(9000, "c", "c", &[("fs/apps", state)]), &git, LIMITS);
        assert!(step.failures.is_empty());
    }
}

#[test]
fn what_failed_before_is_not_blamed_on_the_images() {
    let mut record = record();
    record.followers.get_mut("fs/apps").unwrap().good.clear();
    let failing = [("fs/apps", state(Some(false), "c", "b"))];
    record.step(&seen(1100, "c", "c", &failing), &git, LIMITS);
    let due = record.step(&seen(1700, "c", "c", &failing), &git, LIMITS);
    assert_eq!(due.failures[0].not_ours.as_deref(), Some("it was not ready before"));
}

/// An artifact that cannot be fetched for a moment says nothing about what is applied.
#[test]
fn what_is_applied_was_ready_unless_its_objects_failed() {
    for (ready, reason, succeeded, applied, expected) in [
        (Some(true), "ReconciliationSucceeded", true, "b", true),
        (Some(false), "ArtifactFailed", true, "b", true),
        (Some(false), "DependencyNotReady", true, "b", true),
        (Some(false), "ArtifactFailed", false, "b", false),
        (Some(false), "ArtifactFailed", true, "", false),
        (Some(false), "HealthCheckFailed", true, "b", false),
        (Some(false), "BuildFailed", true, "b", false),
        (None, "Progressing", true, "b", true),
        (None, "Progressing", false, "b", false),
    ] {
        let state = KustomizationState {
            ready,
            reason: reason.to_owned(),
            succeeded,
            applied: applied.to_owned(),
            ..KustomizationState::default()
        };
        assert_eq!(state.was_ready(), expected, "{state:?}");
    }
}

#[test]
fn a_cluster_that_falls_over_is_not_blamed_on_the_images() {
    let failing = || state(Some(false), "c", "b");
    let of = |others: &[(&'static str, bool)], before: &[&str]| {
        let mut record = record();
        record.failing_before = before.iter().map(|name| (*name).to_owned()).collect();
        let mut all = vec![("fs/apps", failing())];
        all.extend(
            others
                .iter()
                .map(|(name, ready)| (*name, state(Some(*ready), "b", "b"))),
        );
        record.step(&seen(1100, "c", "c", &all), &git, LIMITS);
        record.step(&seen(1700, "c", "c", &all), &git, LIMITS).failures[0]
            .not_ours
            .clone()
    };
    // Alone, or one of two: no bound is passed.
    assert_eq!(of(&[], &[]), None);
    assert_eq!(of(&[("fs/b", true)], &[]), None);
    assert_eq!(of(&[("fs/b", false), ("fs/c", true), ("fs/d", true)], &[]), None);
    let told = of(&[("fs/b", false), ("fs/c", false), ("fs/d", true)], &[]).unwrap();
    assert!(told.starts_with("3 of 4 Kustomizations turned unhealthy"), "{told}");
    assert_eq!(
        of(&[("fs/b", false), ("fs/c", false), ("fs/d", true)], &["fs/b", "fs/c"]),
        None
    );
}

#[test]
fn a_clock_that_is_set_back_delays_nothing_for_ever() {
    let mut record = record();
    let failing = [("fs/apps", state(Some(false), "c", "b"))];
    record.step(&seen(9_000_000, "c", "c", &failing), &git, LIMITS);
    let back = record.step(&seen(1100, "c", "c", &failing), &git, LIMITS);
    assert_eq!(back.again, Some(1700));
}

/// The process ended after the push, and before it was noted.
#[test]
fn a_put_back_that_was_not_noted_is_noted_later() {
    let mut record = record();
    let failing = [("fs/apps", state(Some(false), "c", "b"))];
    record.step(&seen(1100, "c", "c", &failing), &git, LIMITS);
    record.step(&seen(1700, "c", "c", &failing), &git, LIMITS);
    record.put_back = Some(PutBack {
        commit: "r".to_owned(),
        branch: "main".to_owned(),
        images: [("fs/app".to_owned(), "app:1".to_owned())].into(),
        ..PutBack::default()
    });
    // It is not pushed: it is done again.
    let mut lost = record.clone();
    assert_eq!(
        lost.step(&seen(1710, "c", "c", &failing), &git, LIMITS).failures.len(),
        1
    );
    assert!(!lost.was_reverted("fs/app", "app:1"));
    // It is.
    let step = record.step(&seen(1710, "r", "r", &failing), &git, LIMITS);
    assert!(!record.is_open() && !step.overtaken && step.failures.is_empty());
    assert!(record.was_reverted("fs/app", "app:1"));
    let told = record.summary().unwrap();
    assert_eq!(told.phase, Phase::Failed);
    assert!(told.message.contains("put back by commit 'r'"), "{}", told.message);
}

/// With `bisect`, other images of the commits stay.
#[test]
fn what_was_put_back_stays_told_when_the_rest_is_healthy() {
    let mut record = record();
    record.step(
        &seen(1100, "c", "c", &[("fs/apps", state(Some(false), "c", "b"))]),
        &git,
        LIMITS,
    );
    record.handled("fs/apps", Handled::PutBack, "");
    record.put_back = Some(PutBack {
        pushed: true,
        ..PutBack::default()
    });
    let step = record.step(
        &seen(1800, "d", "d", &[("fs/apps", state(Some(true), "d", "d"))]),
        &git,
        LIMITS,
    );
    assert!(!record.is_open() && !step.succeeded);
    assert_eq!(record.summary().unwrap().phase, Phase::Failed);
}

/// As others may write it.
#[test]
fn no_record_breaks_a_step() {
    let numbers = [i64::MIN, -1, 0, i64::MAX];
    for number in numbers {
        for now in numbers {
            let mut record = record();
            record.commits[0].at = number;
            record.commits[0].appeared = Some(number);
            let follower = record.followers.get_mut("fs/apps").unwrap();
            follower.failing = Some(Failing {
                since: number,
                ..Failing::default()
            });
            let limits = Limits {
                failure_after: i64::MAX,
            };
            for ready in [None, Some(false), Some(true)] {
                let mut record = record.clone();
                record.step(
                    &seen(now, "c", "c", &[("fs/apps", state(ready, "c", "c"))]),
                    &git,
                    limits,
                );
                let _ = record.summary();
            }
        }
    }
    for text in [
        "",
        "[",
        "{}",
        "{\"commits\": 1}",
        "{\"commits\":[{\"at\": 1e400}]}",
        "{\"closed\":99999999999999999999}",
    ] {
        assert!(
            Record::parse(text).is_none_or(|record| record == Record::default()),
            "{text}"
        );
    }
    let many = vec![Pushed::default(); 17];
    let text = serde_json::to_string(&Record {
        commits: many,
        ..Record::default()
    })
    .unwrap();
    assert_eq!(Record::parse(&text), None);
}

/// What goes wrong is tried again later, and by a request at once.
#[test]
fn a_failure_that_could_not_be_acted_upon_waits_for_its_next_try() {
    let mut record = record();
    let failing = [("fs/apps", state(Some(false), "c", "b"))];
    record.step(&seen(1000, "c", "c", &failing), &git, LIMITS);
    let due = |record: &mut Record, now: i64| {
        let step = record.step(&seen(now, "c", "c", &failing), &git, LIMITS);
        (step.failures.len(), step.again)
    };
    assert_eq!(due(&mut record, 1600), (1, None));
    for tries in 1..=3_u32 {
        let retry = Retry::after(1600, 10 << tries, tries);
        record.delayed("fs/apps", "no", retry);
        assert_eq!((record.tries("fs/apps"), record.next_try()), (tries, Some(retry.at)));
    }
    let told = record.summary().unwrap().message;
    let wanted = "; nothing is done about it yet: no; tried 3 times, again at 1970-01-01T00:28:00Z";
    assert!(told.contains(wanted), "{told}");
    assert_eq!(due(&mut record, 1679), (0, Some(1680)));
    assert_eq!(due(&mut record, 1680), (1, None));
    // A clock that was set back by more than the longest pause.
    record.delayed("fs/apps", "no", Retry::after(9000, 99_999, 4));
    assert_eq!(record.next_try(), Some(9000 + 3600));
    assert_eq!(due(&mut record, 1700), (1, None));
    record.delayed("fs/apps", "no", Retry::after(1700, 900, 5));
    assert_eq!(due(&mut record, 1701), (0, Some(2600)));
    record.retry_now(1701);
    assert_eq!((due(&mut record, 1701), record.tries("fs/apps")), ((1, None), 5));
    record.handled("fs/apps", Handled::PutBack, "");
    assert_eq!((record.next_try(), record.tries("fs/apps")), (None, 0));
}

/// What is proposed is looked at again, and stays as it was told, until it is merged or closed.
#[test]
fn a_proposal_is_open_until_it_is_merged() {
    let mut record = record();
    let failing = |message: &str| {
        let state = state(Some(false), "c", "b");
        let message = message.to_owned();
        [("fs/apps", KustomizationState { message, ..state })]
    };
    record.step(&seen(1100, "c", "c", &failing("first")), &git, LIMITS);
    record.step(&seen(1700, "c", "c", &failing("first")), &git, LIMITS);
    record.put_back = Some(PutBack {
        images: [("fs/app".to_owned(), "app:1".to_owned())].into(),
        request: "pull request #2".to_owned(),
        ..PutBack::default()
    });
    record.proposed("fs/apps", 1700);
    let told = |record: &Record| record.summary().map(|it| (it.phase, it.message)).unwrap();
    let (phase, message) = told(&record);
    assert!(
        phase == Phase::Failed && message.contains("; to be put back by pull request #2\n"),
        "{message}"
    );
    assert!(message.ends_with("; its images are held, and to put them back is proposed"));
    // Nobody looks at it for its own sake.
    let step = record.step(&seen(1730, "c", "c", &failing("second")), &git, LIMITS);
    assert_eq!((step.failures.len(), step.again, record.next_try()), (0, None, None));
    let step = record.step(&seen(1760, "c", "c", &failing("second")), &git, LIMITS);
    assert_eq!(step.failures.len(), 1);
    assert_eq!(told(&record), (phase, message));
    for (declined, words) in [(false, "; put back by pull request #2"), (true, "is closed")] {
        let mut record = record.clone();
        record.put_back.as_mut().unwrap().declined = declined;
        if declined {
            record.handled("fs/apps", Handled::Held, "pull request #2 is closed");
        }
        let step = record.step(&seen(1800, "b", "b", &failing("second")), &git, LIMITS);
        assert!(!record.is_open() && step.failures.is_empty());
        assert_eq!(record.was_reverted("fs/app", "app:1"), !declined);
        let (phase, message) = told(&record);
        assert!(phase == Phase::Failed && message.contains(words), "{message}");
    }
}

/// `fs/apps` applies the HelmRelease `fs/web`, whose spec the commit changes.
fn with_release() -> Record {
    let mut record = record();
    let release = FollowedRelease {
        spec: true,
        generation: 1,
        was_ready: true,
        ..FollowedRelease::default()
    };
    let apps = record.followers.get_mut("fs/apps").unwrap();
    apps.releases = [("fs/web".to_owned(), release)].into();
    apps.workloads = [("Deployment/fs/web".to_owned(), ["fs/app".to_owned()].into())].into();
    record
}

/// A Kustomization that has applied the commit, whether or not it waits for its release.
fn applied(ready: Option<bool>, release: (Option<bool>, &str, &str)) -> KustomizationState {
    let release = ReleaseState {
        ready: release.0,
        reason: release.1.to_owned(),
        message: release.2.to_owned(),
        generation: 2,
        is_deployed: release.0 == Some(true),
        is_final: true,
        ..ReleaseState::default()
    };
    KustomizationState {
        releases: [("fs/web".to_owned(), release)].into(),
        ..state(ready, "c", "c")
    }
}

#[test]
fn a_kustomization_is_as_healthy_as_its_releases() {
    let mut record = with_release();
    let mut look = |now, apps| record.step(&seen(now, "c", "c", &[("fs/apps", apps)]), &git, LIMITS);
    let waits = look(1010, applied(Some(true), (None, "Progressing", "")));
    assert!(!waits.succeeded);
    let healthy = look(1060, applied(Some(true), (Some(true), "UpgradeSucceeded", "")));
    assert!(healthy.succeeded);
    let told = record.summary().unwrap().message;
    assert!(
        told.contains("is healthy in 1 Kustomization with 1 HelmRelease"),
        "{told}"
    );
}

#[test]
fn a_release_that_fails_is_a_failure_of_its_kustomization() {
    for (ready, message, blamed) in [
        (Some(true), "Helm upgrade failed: timed out", "HelmRelease/fs/web"),
        (
            None,
            "resource Deployment/fs/web not ready. status: InProgress",
            "Deployment/fs/web",
        ),
    ] {
        let mut record = with_release();
        let apps = [("fs/apps", applied(ready, (Some(false), "UpgradeFailed", message)))];
        let first = record.step(&seen(1010, "c", "c", &apps), &git, LIMITS);
        assert_eq!((first.failures.len(), first.again), (0, Some(1610)));
        let later = record.step(&seen(1700, "c", "c", &apps), &git, LIMITS);
        assert_eq!(later.failures[0].not_ours, None);
        assert_eq!(later.failures[0].commit, "c");
        let failing = record.failing()["fs/apps"].clone();
        assert_eq!(failing.objects, [blamed.to_owned()].into());
        assert!(
            failing.message.starts_with("HelmRelease fs/web: "),
            "{}",
            failing.message
        );
        // It recovers by itself.
        let apps = [("fs/apps", applied(Some(true), (Some(true), "UpgradeSucceeded", "")))];
        assert!(record.step(&seen(1800, "c", "c", &apps), &git, LIMITS).succeeded);
    }
}

#[test]
fn nothing_is_blamed_on_the_images_where_releases_failed_before_or_all_at_once() {
    let failing = (Some(false), "UpgradeFailed", "no");
    let mut record = with_release();
    record
        .followers
        .get_mut("fs/apps")
        .unwrap()
        .releases
        .get_mut("fs/web")
        .unwrap()
        .was_ready = false;
    let apps = [("fs/apps", applied(Some(true), failing))];
    record.step(&seen(1010, "c", "c", &apps), &git, LIMITS);
    let step = record.step(&seen(1700, "c", "c", &apps), &git, LIMITS);
    assert_eq!(
        step.failures[0].not_ours.as_deref(),
        Some("HelmRelease fs/web was not ready before")
    );
    let mut record = with_release();
    let mut apps = applied(Some(true), failing);
    let other = ReleaseState {
        unready_since: Some(1005),
        ..apps.releases["fs/web"].clone()
    };
    apps.releases.insert("fs/other".to_owned(), other.clone());
    apps.releases.insert("fs/web".to_owned(), other);
    let apps = [("fs/apps", apps)];
    record.step(&seen(1010, "c", "c", &apps), &git, LIMITS);
    let step = record.step(&seen(1700, "c", "c", &apps), &git, LIMITS);
    let why = step.failures[0].not_ours.clone().unwrap();
    assert!(why.contains("2 of 2 HelmReleases turned unhealthy"), "{why}");
}
