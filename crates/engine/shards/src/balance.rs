//! The next deal: as even as the objects allow, and with as few moves as that takes.

use std::collections::BTreeMap;

use super::deal::Deal;
use super::key::{BUCKETS, hash, mix};

/// How far from the mean a member may be, in percent, when a deal is made.
const TOLERANCE: u64 = 5;

/// How far from the mean a member may get, in percent, before buckets are moved for that alone.
const UNEVEN: u64 = 20;

/// Objects count this much, so that buckets without any are spread too.
const OBJECT: u64 = BUCKETS as u64;

/// The next deal among members. `weights` has the number of objects of each bucket. A bucket stays where it is, unless
/// its owner is gone or has too much; of those that move each goes to a member that has room, and of these to the one
/// that prefers it the most: a member that comes back gets about the buckets that it had. None without members.
#[must_use]
pub fn next<'a>(
    epoch: u64,
    members: impl IntoIterator<Item = &'a str>,
    old: Option<&Deal>,
    weights: &[u64; BUCKETS],
) -> Option<Deal> {
    let mut table = Table::new(members, weights)?;
    let mut orphans: Vec<(u64, usize)> = Vec::new();
    for (bucket, weight) in table.weights.clone().into_iter().enumerate() {
        match old
            .and_then(|old| old.owner(bucket))
            .and_then(|owner| table.place(owner))
        {
            Some(owner) => table.give(bucket, owner),
            None => orphans.push((weight, bucket)),
        }
    }
    orphans.sort_unstable_by(|one, other| other.cmp(one));
    for (weight, bucket) in orphans {
        let owner = table.roomy(bucket, weight);
        table.give(bucket, owner);
    }
    table.even_out();
    Deal::new(epoch, &table.owners()?, old)
}

/// The number of objects of each member of a deal, by name.
#[must_use]
pub fn loads<'a>(deal: &'a Deal, weights: &[u64; BUCKETS]) -> BTreeMap<&'a str, u64> {
    let mut loads: BTreeMap<&str, u64> = deal.members().iter().map(|name| (name.as_str(), 0)).collect();
    for (bucket, weight) in weights.iter().enumerate() {
        if let Some(load) = deal.owner(bucket).and_then(|owner| loads.get_mut(owner)) {
            *load += weight;
        }
    }
    loads
}

/// Whether a member of the deal has so much more or less than the mean that buckets should move for that,
/// and moving them helps.
#[must_use]
pub fn is_uneven(deal: &Deal, weights: &[u64; BUCKETS]) -> bool {
    let count = deal.members().len() as u64;
    let total: u64 = weights.iter().sum();
    // Few objects are never even.
    if total < count * 10 {
        return false;
    }
    // In units of `count * 100` to an object, without fractions.
    let off = |deal: &Deal| {
        let loads = loads(deal, weights);
        let distances = loads.values().map(|load| (load * count).abs_diff(total) * 100);
        distances.fold(0, u64::max)
    };
    let now = off(deal);
    if now <= total * UNEVEN {
        return false;
    }
    let members = deal.members().iter().map(String::as_str);
    let better = next(deal.epoch() + 1, members, Some(deal), weights);
    better.is_some_and(|better| off(&better) + total * TOLERANCE < now)
}

/// Members, and what they have so far.
struct Table<'a> {
    members: Vec<&'a str>,
    hashes: Vec<u64>,
    weights: Vec<u64>,
    owners: Vec<Option<usize>>,
    loads: Vec<u64>,
    total: u64,
}

impl<'a> Table<'a> {
    fn new(members: impl IntoIterator<Item = &'a str>, weights: &[u64; BUCKETS]) -> Option<Self> {
        let mut members: Vec<&str> = members.into_iter().collect();
        members.sort_unstable();
        members.dedup();
        // More would have no bucket.
        members.truncate(BUCKETS);
        let weights: Vec<u64> = weights.iter().map(|weight| weight * OBJECT + 1).collect();
        (!members.is_empty()).then(|| Self {
            owners: vec![None; BUCKETS],
            loads: vec![0; members.len()],
            total: weights.iter().sum(),
            hashes: members.iter().map(|name| hash(name)).collect(),
            members,
            weights,
        })
    }

    fn place(&self, name: &str) -> Option<usize> {
        self.members.binary_search(&name).ok()
    }

    fn weight(&self, bucket: usize) -> u64 {
        self.weights.get(bucket).copied().unwrap_or_default()
    }

    fn load(&self, member: usize) -> u64 {
        self.loads.get(member).copied().unwrap_or_default()
    }

    fn give(&mut self, bucket: usize, member: usize) {
        let weight = self.weight(bucket);
        let before = self.owners.get_mut(bucket).and_then(|owner| owner.replace(member));
        if let Some(load) = before.and_then(|before| self.loads.get_mut(before)) {
            *load -= weight;
        }
        if let Some(load) = self.loads.get_mut(member) {
            *load += weight;
        }
    }

    /// How much a member prefers a bucket (rendezvous hashing).
    fn liking(&self, member: usize, bucket: usize) -> u64 {
        let name = self.hashes.get(member).copied().unwrap_or_default();
        mix(name ^ (bucket as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// The member that an unowned bucket goes to.
    fn roomy(&self, bucket: usize, weight: u64) -> usize {
        let count = self.members.len();
        let mean = self.total.div_ceil(count as u64);
        let with_room = (0..count).filter(|member| self.load(*member) + weight <= mean);
        let liked = with_room.max_by_key(|member| self.liking(*member, bucket));
        let least = || (0..count).min_by_key(|member| (self.load(*member), *member));
        liked.or_else(least).unwrap_or_default()
    }

    /// Moves buckets to the member with the least, until all are about the mean. Each move makes the sum of squares of
    /// the loads smaller, so that ends.
    fn even_out(&mut self) {
        while let Some((bucket, to)) = self.next_move() {
            self.give(bucket, to);
        }
    }

    fn next_move(&self) -> Option<(usize, usize)> {
        let mean = self.total / self.members.len() as u64;
        let slack = mean * TOLERANCE / 100;
        let mut by_load: Vec<(u64, usize)> = self.loads.iter().copied().zip(0..).collect();
        by_load.sort_unstable();
        let (low, to) = *by_load.first()?;
        // The one with the most may have a single large bucket, which helps nobody elsewhere.
        by_load.into_iter().rev().find_map(|(high, from)| {
            let is_off = high > mean + slack || low + slack < mean;
            let bucket = is_off.then(|| self.best_move(from, to, high - low))?;
            bucket.map(|bucket| (bucket, to))
        })
    }

    /// The bucket of `from` that moves to `to`: the largest of at most half of the difference; else the smallest that
    /// is less than all of it. By preference among equals.
    fn best_move(&self, from: usize, to: usize, difference: u64) -> Option<usize> {
        let owned = self
            .owners
            .iter()
            .enumerate()
            .filter(|(_, owner)| **owner == Some(from));
        let owned = owned.map(|(bucket, _)| (self.weight(bucket), self.liking(to, bucket), bucket));
        let fitting = owned.filter(|(weight, ..)| *weight < difference);
        let (half, more): (Vec<_>, Vec<_>) = fitting.partition(|(weight, ..)| weight * 2 <= difference);
        let best = half.into_iter().max().or_else(|| more.into_iter().min());
        best.map(|(.., bucket)| bucket)
    }

    fn owners(&self) -> Option<Vec<&'a str>> {
        let owners = self.owners.iter().map(|owner| self.members.get((*owner)?).copied());
        owners.collect()
    }
}
