//! What a member may work at.

use std::collections::BTreeSet;

use super::key::BUCKETS;

/// How many rounds after it was learned a key has settled. The list that ends the first round may have been under way
/// when that was, and the next one may show renewals from before; in each of two further rounds every other member
/// has renewed once more.
pub(crate) const SETTLED: u64 = 4;

/// Whether a member may work at an object now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is its owner.
    Ours,
    /// It will be, once the others have let go of it.
    Later,
    /// Another member is, or will be.
    Others,
}

/// What a member may work at, after one snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// The epoch that the member is bound by.
    pub epoch: u64,
    pub(crate) buckets: Vec<Verdict>,
    /// The objects that other members are at.
    pub(crate) busy: BTreeSet<u64>,
    pub(crate) round: u64,
}

impl View {
    /// Before the first snapshot: nothing.
    #[must_use]
    pub fn nothing() -> Self {
        Self {
            epoch: 0,
            buckets: vec![Verdict::Others; BUCKETS],
            busy: BTreeSet::new(),
            round: 0,
        }
    }

    /// Whether the member may work at an object of a bucket, by the object's [`id`](crate::id).
    #[must_use]
    pub fn verdict(&self, bucket: usize, id: u64) -> Verdict {
        match self.buckets.get(bucket) {
            Some(Verdict::Ours) if self.busy.contains(&id) => Verdict::Later,
            Some(verdict) => *verdict,
            None => Verdict::Others,
        }
    }

    /// Whether the bucket is dealt to the member, taken or not.
    #[must_use]
    pub fn is_dealt(&self, bucket: usize) -> bool {
        self.buckets
            .get(bucket)
            .is_some_and(|verdict| *verdict != Verdict::Others)
    }

    /// The current round: what is learned now has its number.
    #[must_use]
    pub fn round(&self) -> u64 {
        self.round
    }

    /// Whether a key has settled that was learned in this round: each other member has renewed twice since.
    #[must_use]
    pub fn settled(&self, learned: u64) -> bool {
        self.round >= learned.saturating_add(SETTLED)
    }
}
