//! What is known of the changes of a repository from round to round. After a restart the forge knows the rest.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::time::Instant;

use bumpwright_api::ObjectName;
use bumpwright_pages::Subject;

/// The first pause after a failure of a change, which is doubled with each further one.
const LEAST: Duration = Duration::from_secs(15);

/// The longest pause.
const MOST: Duration = Duration::from_secs(3600);

/// The most messages that are remembered, so that each is written once.
const TEXTS: usize = 1000;

/// The two commits that a review is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Pair {
    /// The last commit that both branches have in common.
    pub(super) base: String,
    pub(super) head: String,
}

/// A commit that an automation pushed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Pushed {
    Found {
        /// The first one; none of a first commit.
        parent: Option<String>,
        /// The first line of its message.
        title: String,
    },
    /// The repository does not have it any more, and what the server says.
    Gone(String),
}

/// A pair of commits, reviewed with these Kustomizations; with all where there are none.
#[derive(Debug, PartialEq, Eq)]
struct Done {
    pair: Pair,
    only: Vec<ObjectName>,
}

#[derive(Debug)]
struct Failures {
    count: u32,
    until: Instant,
}

#[derive(Debug, Default)]
pub(super) struct Known {
    /// The pairs that are reviewed.
    done: BTreeMap<Subject, Done>,
    failed: BTreeMap<Subject, Failures>,
    /// The pairs that began at tips of the base: what was asked of a forge that does not list it.
    bases: BTreeMap<u64, (String, Pair)>,
    pushed: BTreeMap<Subject, Pushed>,
    warned: BTreeSet<String>,
    told: BTreeSet<String>,
}

impl Known {
    /// Forgets the requests that are not open any more.
    pub(super) fn keep(&mut self, open: &BTreeSet<u64>) {
        self.retain(|subject| match subject {
            Subject::Request(number) => open.contains(number),
            Subject::NotApplied(_) | Subject::Push(_) => true,
        });
    }

    /// Forgets the changes of the cluster that are not listed any more.
    pub(super) fn keep_own(&mut self, listed: &BTreeSet<Subject>) {
        self.retain(|subject| matches!(subject, Subject::Request(_)) || listed.contains(subject));
    }

    fn retain(&mut self, is_kept: impl Fn(&Subject) -> bool) {
        self.done.retain(|subject, _| is_kept(subject));
        self.failed.retain(|subject, _| is_kept(subject));
        self.pushed.retain(|subject, _| is_kept(subject));
        self.bases.retain(|number, _| is_kept(&Subject::Request(*number)));
    }

    /// What a pushed commit is.
    pub(super) fn pushed(&self, push: &Subject) -> Option<&Pushed> {
        self.pushed.get(push)
    }

    pub(super) fn put_pushed(&mut self, push: Subject, pushed: Pushed) {
        self.pushed.insert(push, pushed);
    }

    /// What a head has in common with a tip of the base.
    pub(super) fn base(&self, number: u64, tip: &str, head: &str) -> Option<&str> {
        let (known, pair) = self.bases.get(&number)?;
        (known == tip && pair.head == head).then_some(pair.base.as_str())
    }

    pub(super) fn put_base(&mut self, number: u64, tip: &str, pair: Pair) {
        self.bases.insert(number, (tip.to_owned(), pair));
    }

    /// Whether a pair was reviewed, with these Kustomizations alone; with all where there are none.
    pub(super) fn is_done(&self, subject: &Subject, pair: &Pair, only: &[ObjectName]) -> bool {
        let done = self.done.get(subject);
        done.is_some_and(|done| done.pair == *pair && done.only == only)
    }

    pub(super) fn done(&mut self, subject: Subject, pair: Pair, only: Vec<ObjectName>) {
        self.failed.remove(&subject);
        self.done.insert(subject, Done { pair, only });
    }

    /// When a change that failed is tried again, if that is later than `now`.
    pub(super) fn waits(&self, subject: &Subject, now: Instant) -> Option<Instant> {
        let until = self.failed.get(subject)?.until;
        (until > now).then_some(until)
    }

    /// Notes a failure. Returns when the change is tried again.
    pub(super) fn failed(&mut self, subject: &Subject, now: Instant) -> Instant {
        let failures = self
            .failed
            .entry(subject.clone())
            .or_insert(Failures { count: 0, until: now });
        let factor = 2_u32.checked_pow(failures.count).unwrap_or(u32::MAX);
        failures.count = failures.count.saturating_add(1);
        failures.until = now + LEAST.checked_mul(factor).unwrap_or(MOST).min(MOST);
        failures.until
    }

    /// Whether a warning is news.
    pub(super) fn warns(&mut self, message: &str) -> bool {
        is_news(&mut self.warned, message)
    }

    /// Whether a message is news.
    pub(super) fn tells(&mut self, message: &str) -> bool {
        is_news(&mut self.told, message)
    }

    /// Warnings are news again.
    pub(super) fn is_well(&mut self) {
        self.warned.clear();
    }
}

fn is_news(all: &mut BTreeSet<String>, text: &str) -> bool {
    if all.len() >= TEXTS {
        all.clear();
    }
    all.insert(text.to_owned())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_end_with_a_review() {
        let (mut known, now, seven) = (Known::default(), Instant::now(), Subject::Request(7));
        let pauses = [1, 2, 3].map(|_| known.failed(&seven, now) - now);
        assert_eq!(pauses, [LEAST, LEAST * 2, LEAST * 4]);
        for _ in 0..40 {
            known.failed(&seven, now);
        }
        assert_eq!(known.waits(&seven, now), Some(now + MOST));
        let pair = Pair {
            base: "b".to_owned(),
            head: "h".to_owned(),
        };
        known.done(seven.clone(), pair.clone(), Vec::new());
        assert!(known.is_done(&seven, &pair, &[]) && known.waits(&seven, now).is_none());
        known.keep(&BTreeSet::new());
        assert!(!known.is_done(&seven, &pair, &[]));
    }

    #[test]
    fn another_set_of_kustomizations_is_another_review() {
        let (mut known, pair) = (Known::default(), Pair::default());
        let subject = Subject::parse("not-applied-0123456789ab").unwrap();
        let [web, db] = ["web", "db"].map(|name| ObjectName::new("apps", name));
        known.done(subject.clone(), pair.clone(), vec![db.clone(), web.clone()]);
        assert!(known.is_done(&subject, &pair, &[db.clone(), web]));
        assert!(!known.is_done(&subject, &pair, &[db]));
        // Requests have nothing to do with it.
        known.keep(&BTreeSet::new());
        assert_eq!(known.done.len(), 1);
        known.keep_own(&BTreeSet::new());
        assert_eq!(known.done.len(), 0);
    }
}
