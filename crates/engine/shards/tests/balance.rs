//! Laws of the deal: complete, even, with few moves, and settled after one step.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::collections::BTreeSet;

use bumpwright_shards::{BUCKETS, Deal, is_uneven, loads, next};
use proptest::prelude::*;

/// In the order of the deal.
fn named(numbers: &BTreeSet<u8>) -> Vec<String> {
    numbers.iter().map(|number| format!("bumpwright-{number:02}")).collect()
}

fn deal(epoch: u64, members: &[String], old: Option<&Deal>, weights: &[u64; BUCKETS]) -> Deal {
    next(epoch, members.iter().map(String::as_str), old, weights).unwrap()
}

fn moved(old: &Deal, new: &Deal) -> Vec<usize> {
    (0..BUCKETS)
        .filter(|bucket| old.owner(*bucket) != new.owner(*bucket))
        .collect()
}

/// What many small objects make, with a few heavy buckets if wanted.
fn weights(heavy: u64) -> impl Strategy<Value = [u64; BUCKETS]> {
    let one = prop_oneof![50 => 0..6_u64, 1 => 0..=heavy];
    proptest::collection::vec(one, BUCKETS).prop_map(|weights| weights.try_into().unwrap())
}

fn members() -> impl Strategy<Value = BTreeSet<u8>> {
    proptest::collection::btree_set(0..40_u8, 1..9)
}

proptest! {
    #[test]
    fn each_bucket_has_an_owner_and_loads_are_even(members in members(), weights in weights(400)) {
        let members = named(&members);
        let deal = deal(1, &members, None, &weights);
        prop_assert_eq!(deal.members(), &members[..]);
        prop_assert!((0..BUCKETS).all(|bucket| deal.owner(bucket).is_some() && deal.since(bucket) == Some(1)));
        let total: u64 = weights.iter().sum();
        let mean = total / members.len() as u64;
        let largest = weights.iter().max().unwrap();
        for (name, load) in loads(&deal, &weights) {
            prop_assert!(load <= (mean * 106 / 100 + 1).max(mean + largest), "{name}: {load}, mean {mean}, largest {largest}");
        }
    }

    #[test]
    fn small_objects_are_dealt_within_a_tenth(members in members(), weights in weights(5)) {
        let members = named(&members);
        let deal = deal(1, &members, None, &weights);
        let mean = weights.iter().sum::<u64>() as f64 / members.len() as f64;
        for (name, load) in loads(&deal, &weights) {
            prop_assert!((load as f64 - mean).abs() <= mean * 0.1 + 1.0, "{name}: {load}, mean {mean}");
        }
        prop_assert!(!is_uneven(&deal, &weights));
    }

    #[test]
    fn the_same_members_move_nothing(members in members(), weights in weights(400)) {
        let members = named(&members);
        let first = deal(1, &members, None, &weights);
        let second = deal(2, &members, Some(&first), &weights);
        prop_assert_eq!(moved(&first, &second), Vec::<usize>::new());
        prop_assert!((0..BUCKETS).all(|bucket| second.since(bucket) == Some(1)));
        prop_assert!(!is_uneven(&first, &weights));
    }

    #[test]
    fn a_member_that_joins_gets_buckets_and_nobody_else_does(members in members(), weights in weights(5)) {
        prop_assume!(members.len() > 1);
        let all = named(&members);
        let joins = all.last().unwrap().clone();
        let first = deal(1, &all[..all.len() - 1], None, &weights);
        let second = deal(2, &all, Some(&first), &weights);
        let moved = moved(&first, &second);
        let to_it = moved.iter().filter(|bucket| second.owner(**bucket) == Some(&joins)).count();
        prop_assert!(to_it > 0);
        // Others even out what is left over, at most.
        prop_assert!(moved.len() - to_it <= 2 * all.len(), "{} of {}", moved.len() - to_it, moved.len());
        let weight: u64 = moved.iter().map(|bucket| weights[*bucket]).sum();
        let mean = weights.iter().sum::<u64>() / all.len() as u64;
        prop_assert!(weight <= mean * 115 / 100 + 10, "{weight} moved, mean {mean}");
        prop_assert!(moved.iter().all(|bucket| second.since(*bucket) == Some(2)));
    }

    #[test]
    fn what_a_lost_member_had_is_spread_and_comes_back(members in members(), weights in weights(5)) {
        prop_assume!(members.len() > 1);
        let all = named(&members);
        let lost = all[all.len() / 2].clone();
        let left: Vec<String> = all.iter().filter(|name| **name != lost).cloned().collect();
        let first = deal(1, &all, None, &weights);
        let second = deal(2, &left, Some(&first), &weights);
        let gone: BTreeSet<usize> = (0..BUCKETS).filter(|bucket| first.owner(*bucket) == Some(&lost)).collect();
        let others = moved(&first, &second).into_iter().filter(|bucket| !gone.contains(bucket)).count();
        prop_assert!(others <= 2 * all.len(), "{others}");
        prop_assert!(second.members() == &left[..]);
    }
}

#[test]
fn many_members_have_a_bucket_each() {
    let members: Vec<String> = (0..BUCKETS + 9).map(|number| format!("m-{number:03}")).collect();
    let deal = deal(1, &members, None, &[0; BUCKETS]);
    assert_eq!(deal.members(), &members[..BUCKETS]);
}

#[test]
fn uneven_is_what_moving_helps() {
    let members = ["a".to_owned(), "b".to_owned()];
    let even = deal(1, &members, None, &[1; BUCKETS]);
    let mut weights = [0; BUCKETS];
    for bucket in (0..BUCKETS).filter(|bucket| even.owner(*bucket) == Some("a")) {
        weights[bucket] = 3;
    }
    assert!(is_uneven(&even, &weights));
    let better = deal(2, &members, Some(&even), &weights);
    assert!(!is_uneven(&better, &weights));
    // A single object that is large cannot be parted.
    let mut weights = [0; BUCKETS];
    weights[7] = 1000;
    assert!(!is_uneven(&even, &weights));
    // Few objects are never even.
    let mut weights = [0; BUCKETS];
    weights[7] = 2;
    assert!(!is_uneven(&even, &weights));
}
