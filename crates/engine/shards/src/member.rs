//! A member of a group: what it learns from snapshots, and what it does about it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use super::ack::Ack;
use super::balance::{is_uneven, next};
use super::deal::Deal;
use super::key::BUCKETS;
use super::view::{SETTLED, Verdict, View};

/// How many epochs are left out when the Lease with the deal was deleted: a member may have adopted later ones than it
/// has acknowledged, and no number may stand for two deals.
const LOST: u64 = 1000;

/// All Leases of a group, as one consistent list has them.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// The one with the deal.
    pub deal: Option<SeenDeal>,
    /// Those of members, by name.
    pub members: BTreeMap<String, SeenMember>,
}

impl Snapshot {
    /// The deal, if there is a valid one.
    fn current(&self) -> Option<&Deal> {
        self.deal.as_ref()?.deal.as_ref()
    }
}

/// The Lease with the deal.
#[derive(Clone, Debug)]
pub struct SeenDeal {
    pub version: String,
    /// The deal; `None` if the content of the Lease is invalid.
    pub deal: Option<Deal>,
}

/// The Lease of a member.
#[derive(Clone, Debug)]
pub struct SeenMember {
    pub version: String,
    /// The identity of the process.
    pub identity: String,
    /// How long it is good for without being renewed.
    pub duration: Duration,
    /// What the member says.
    pub ack: Ack,
}

/// The rules of a group.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// How long the member's Lease is good for.
    pub duration: Duration,
    /// How much longer others wait: clocks differ in their rates.
    pub margin: Duration,
    /// The number of members that the first deal waits for, for a lease's time.
    pub expected: usize,
}

/// A write that a member should make. Both have a version as their precondition, and may fail: the next snapshot shows
/// what came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Deletes the Lease of a member that has not renewed it in time.
    Evict {
        name: String,
        /// The version that was seen for too long.
        version: String,
    },
    /// Writes a new deal.
    Deal {
        /// The version that it replaces; none if there must be none.
        version: Option<String>,
        deal: Deal,
    },
}

/// The member's Lease is lost or over: the process ends at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deposed;

/// How a process becomes a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Joining {
    /// It creates its Lease.
    Create,
    /// A process of the same name has not renewed its Lease of this version, and is evicted.
    Evict(String),
    /// A process of the same name may be alive.
    Wait,
    /// It is a member, with its Lease at this version.
    Joined(String),
}

/// A member. All times are of one clock, its own.
#[derive(Debug)]
pub struct Member {
    name: String,
    identity: String,
    rules: Rules,
    began: Duration,
    /// Until when it may act; none before its first renewal.
    fence: Option<Duration>,
    deal: Option<Arc<Deal>>,
    /// For each bucket since when it is taken, as the deal counts; 0 for none.
    taken: Vec<u64>,
    /// The versions of the other members' Leases, and when they were seen first.
    seen: BTreeMap<String, (String, Duration)>,
    others: BTreeMap<String, Ack>,
    round: u64,
    /// The other members' versions at the beginning of the round.
    at_round: BTreeMap<String, String>,
    leaving: bool,
    uneven: Option<Duration>,
}

impl Member {
    /// A process that is not a member yet. `identity` is this process' alone.
    #[must_use]
    pub fn new(name: &str, identity: &str, rules: Rules, now: Duration) -> Self {
        Self {
            name: name.to_owned(),
            identity: identity.to_owned(),
            rules,
            began: now,
            fence: None,
            deal: None,
            taken: vec![0; BUCKETS],
            seen: BTreeMap::new(),
            others: BTreeMap::new(),
            round: 0,
            at_round: BTreeMap::new(),
            leaving: false,
            uneven: None,
        }
    }

    /// What to do to become a member.
    pub fn join(&mut self, snapshot: &Snapshot, now: Duration) -> Joining {
        // Adopted first: nothing is in work, so whatever is acknowledged is true.
        self.adopt(snapshot);
        let Some(own) = snapshot.members.get(&self.name) else {
            return Joining::Create;
        };
        if own.identity == self.identity {
            return Joining::Joined(own.version.clone());
        }
        if self.is_over(&self.name.clone(), own, now) {
            Joining::Evict(own.version.clone())
        } else {
            Joining::Wait
        }
    }

    /// A renewal that was begun at this time has succeeded.
    ///
    /// # Errors
    /// [`Deposed`] when it was answered too late: others may have taken over already.
    pub fn renewed(&mut self, began: Duration, now: Duration) -> Result<Duration, Deposed> {
        if self.fence.is_some_and(|fence| now >= fence) {
            return Err(Deposed);
        }
        let fence = began + self.rules.duration;
        self.fence = Some(fence);
        if now >= fence { Err(Deposed) } else { Ok(fence) }
    }

    /// Until when the member may act.
    #[must_use]
    pub fn fence(&self) -> Option<Duration> {
        self.fence
    }

    /// Takes nothing any more: the process is about to end.
    pub fn leave(&mut self) {
        self.leaving = true;
    }

    /// Learns from a snapshot that was asked for after the member's Lease was there. `weights` has the number of
    /// objects of each bucket.
    ///
    /// # Errors
    /// [`Deposed`] when the Lease is gone, or another process has it.
    pub fn observe(
        &mut self,
        snapshot: &Snapshot,
        now: Duration,
        weights: impl FnOnce() -> [u64; BUCKETS],
    ) -> Result<Vec<Action>, Deposed> {
        let own = snapshot.members.get(&self.name);
        let is_over = self.fence.is_some_and(|fence| now >= fence);
        if is_over || own.is_none_or(|own| own.identity != self.identity) {
            return Err(Deposed);
        }
        self.adopt(snapshot);
        self.others = snapshot
            .members
            .iter()
            .filter(|(name, _)| **name != self.name)
            .map(|(name, member)| (name.clone(), member.ack.clone()))
            .collect();
        self.count_rounds(snapshot);
        self.take_buckets(snapshot);
        let mut actions = Vec::new();
        let mut live = BTreeSet::new();
        self.seen.retain(|name, _| snapshot.members.contains_key(name));
        for (name, member) in &snapshot.members {
            if *name != self.name && self.is_over(name, member, now) {
                let (name, version) = (name.clone(), member.version.clone());
                actions.push(Action::Evict { name, version });
            }
            let leaves = if *name == self.name {
                self.leaving
            } else {
                member.ack.leaving
            };
            if !leaves {
                live.insert(name.as_str());
            }
        }
        if actions.is_empty() {
            actions.extend(self.redeal(snapshot, &live, now, weights));
        }
        Ok(actions)
    }

    /// What the member may work at, as of the last snapshot.
    #[must_use]
    pub fn view(&self) -> View {
        let epoch = self.epoch();
        let verdict = |(since, taken): (Option<u64>, &u64)| match since {
            Some(since) if since == *taken => Verdict::Ours,
            Some(_) => Verdict::Later,
            None => Verdict::Others,
        };
        let buckets = match self.deal.as_ref().filter(|_| !self.leaving) {
            Some(deal) => deal.of(&self.name).zip(&self.taken).map(verdict).collect(),
            None => vec![Verdict::Others; BUCKETS],
        };
        View {
            epoch,
            buckets,
            busy: self.others.values().flat_map(|ack| ack.busy.iter().copied()).collect(),
            round: self.round,
        }
    }

    /// What the member says with its next renewal. `busy` was gathered after the last view was put in force.
    #[must_use]
    pub fn ack(&self, busy: BTreeSet<u64>) -> Ack {
        Ack {
            epoch: self.epoch(),
            leaving: self.leaving,
            busy,
        }
    }

    fn epoch(&self) -> u64 {
        self.deal.as_ref().map_or(0, |deal| deal.epoch())
    }

    /// The deal that the member is bound by.
    #[must_use]
    pub fn deal(&self) -> Option<&Arc<Deal>> {
        self.deal.as_ref()
    }

    /// Is bound by a later deal from now on.
    fn adopt(&mut self, snapshot: &Snapshot) {
        if let Some(deal) = snapshot.current().filter(|deal| deal.epoch() > self.epoch()) {
            self.deal = Some(Arc::new(deal.clone()));
        }
    }

    /// Takes the dealt buckets that all others have let go of. Only by a deal that is there: after one that was
    /// deleted, nobody knows how far the others got.
    fn take_buckets(&mut self, snapshot: &Snapshot) {
        let Some(deal) = self.deal.as_deref().filter(|deal| snapshot.current() == Some(*deal)) else {
            return;
        };
        let acknowledged = self.others.values().map(|ack| ack.epoch).min().unwrap_or(u64::MAX);
        for (taken, since) in self.taken.iter_mut().zip(deal.of(&self.name)) {
            match since {
                Some(since) if *taken == since => {}
                Some(since) if acknowledged >= since => *taken = since,
                _ => *taken = 0,
            }
        }
    }

    /// A round is over when each other member has renewed its Lease in it, or is gone.
    fn count_rounds(&mut self, snapshot: &Snapshot) {
        let others: Vec<(&String, &SeenMember)> = snapshot
            .members
            .iter()
            .filter(|(name, _)| **name != self.name)
            .collect();
        let at_round = &self.at_round;
        let has_renewed = |(name, member): &(&String, &SeenMember)| {
            let before = at_round.get(*name);
            before.is_some_and(|before| *before != member.version)
        };
        if others.iter().all(has_renewed) {
            // Without others there is nobody who could work at anything.
            self.round += if others.is_empty() { SETTLED } else { 1 };
            self.at_round.clear();
        }
        for (name, member) in others {
            let version = || member.version.clone();
            self.at_round.entry(name.clone()).or_insert_with(version);
        }
    }

    /// Whether this version has been there for longer than the member may be silent.
    fn is_over(&mut self, name: &str, member: &SeenMember, now: Duration) -> bool {
        let lease = self.seen.get(name).filter(|(version, _)| *version == member.version);
        let Some((_, since)) = lease else {
            self.seen.insert(name.to_owned(), (member.version.clone(), now));
            return false;
        };
        now.saturating_sub(*since) >= member.duration.max(self.rules.duration) + self.rules.margin
    }

    /// The next deal, if one is due.
    fn redeal(
        &mut self,
        snapshot: &Snapshot,
        live: &BTreeSet<&str>,
        now: Duration,
        weights: impl FnOnce() -> [u64; BUCKETS],
    ) -> Option<Action> {
        // A deal that somebody has put back, or made up, binds nobody.
        let current = snapshot.current().filter(|deal| self.deal.as_deref() == Some(*deal));
        let weights = weights();
        let is_due = match current {
            None if self.deal.is_none() && live.len() < self.rules.expected => {
                now.saturating_sub(self.began) >= self.rules.duration
            }
            None => true,
            Some(deal) => {
                let dealt: BTreeSet<&str> = deal.members().iter().map(String::as_str).collect();
                let has_changed = dealt != live.iter().copied().take(BUCKETS).collect();
                has_changed || self.stays_uneven(deal, &weights, now)
            }
        };
        let acknowledged = snapshot.members.values().map(|member| member.ack.epoch);
        let seen = snapshot.current().map_or(0, Deal::epoch);
        let last = acknowledged.fold(self.epoch().max(seen), u64::max);
        let make = |epoch| next(epoch, live.iter().copied(), self.deal.as_deref(), &weights);
        let deal = match current {
            _ if !is_due => None,
            None if last > 0 => make(last + LOST).map(Deal::anew),
            _ => make(last + 1),
        }?;
        self.uneven = None;
        Some(Action::Deal {
            version: snapshot.deal.as_ref().map(|seen| seen.version.clone()),
            deal,
        })
    }

    /// Whether the deal has been uneven for a lease's time: objects come and go, and each move costs something.
    fn stays_uneven(&mut self, deal: &Deal, weights: &[u64; BUCKETS], now: Duration) -> bool {
        if !is_uneven(deal, weights) {
            self.uneven = None;
            return false;
        }
        let since = *self.uneven.get_or_insert(now);
        now.saturating_sub(since) >= self.rules.duration
    }
}
