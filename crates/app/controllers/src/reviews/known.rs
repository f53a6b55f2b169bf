//! What is known of the requests of a repository from round to round. After a restart the forge knows the rest.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::time::Instant;

/// The first pause after a failure of a request, which is doubled with each further one.
const LEAST: Duration = Duration::from_secs(15);

/// The longest pause.
const MOST: Duration = Duration::from_secs(3600);

/// The most messages that are remembered, so that each is written once.
const TEXTS: usize = 1000;

/// The two commits that a review is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pair {
    /// The last commit that both branches have in common.
    pub(super) base: String,
    pub(super) head: String,
}

#[derive(Debug)]
struct Failures {
    count: u32,
    until: Instant,
}

/// What is known.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// The pairs that are reviewed, by the numbers of requests.
    done: BTreeMap<u64, Pair>,
    failed: BTreeMap<u64, Failures>,
    /// The pairs that began at tips of the base: what was asked of a forge that does not list it.
    bases: BTreeMap<u64, (String, Pair)>,
    warned: BTreeSet<String>,
    told: BTreeSet<String>,
}

impl Known {
    /// Forgets the requests that are not open any more.
    pub(super) fn keep(&mut self, open: &BTreeSet<u64>) {
        self.done.retain(|number, _| open.contains(number));
        self.failed.retain(|number, _| open.contains(number));
        self.bases.retain(|number, _| open.contains(number));
    }

    /// What a head has in common with a tip of the base.
    pub(super) fn base(&self, number: u64, tip: &str, head: &str) -> Option<&str> {
        let (known, pair) = self.bases.get(&number)?;
        (known == tip && pair.head == head).then_some(pair.base.as_str())
    }

    pub(super) fn put_base(&mut self, number: u64, tip: &str, pair: Pair) {
        self.bases.insert(number, (tip.to_owned(), pair));
    }

    pub(super) fn is_done(&self, number: u64, pair: &Pair) -> bool {
        self.done.get(&number) == Some(pair)
    }

    pub(super) fn done(&mut self, number: u64, pair: Pair) {
        self.failed.remove(&number);
        self.done.insert(number, pair);
    }

    /// When a request that failed is tried again, if that is later than `now`.
    pub(super) fn waits(&self, number: u64, now: Instant) -> Option<Instant> {
        let until = self.failed.get(&number)?.until;
        (until > now).then_some(until)
    }

    /// Notes a failure. Returns when the request is tried again.
    pub(super) fn failed(&mut self, number: u64, now: Instant) -> Instant {
        let failures = self.failed.entry(number).or_insert(Failures { count: 0, until: now });
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
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_end_with_a_review() {
        let (mut known, now) = (Known::default(), Instant::now());
        let pauses = [1, 2, 3].map(|_| known.failed(7, now) - now);
        assert_eq!(pauses, [LEAST, LEAST * 2, LEAST * 4]);
        for _ in 0..40 {
            known.failed(7, now);
        }
        assert_eq!(known.waits(7, now), Some(now + MOST));
        let pair = Pair {
            base: "b".to_owned(),
            head: "h".to_owned(),
        };
        known.done(7, pair.clone());
        assert!(known.is_done(7, &pair) && known.waits(7, now).is_none());
        known.keep(&BTreeSet::new());
        assert!(!known.is_done(7, &pair));
    }
}
