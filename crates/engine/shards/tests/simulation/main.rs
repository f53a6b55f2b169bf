//! The rules of `bumpwright_shards`, run by simulated processes before a simulated API server through thousands of
//! random schedules: requests and answers come late or never, processes are paused, killed, started again and asked to
//! end, watches lag, keys of objects change, and the Lease with the deal is deleted. No two processes may work at an
//! object at once; and when the faults are over, each object has an owner.
//!
//! `SEED=7 cargo test --test simulation` runs one schedule, `SCHEDULES=100000` as many.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

mod process;
mod server;
mod world;

use world::{Faults, World};

/// Seeds of one run; `SCHEDULES=100000` for many.
const SCHEDULES: u64 = 500;

fn schedules(faults: Faults, first: u64) {
    let given = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok());
    let count = std::env::var("SCHEDULES")
        .ok()
        .and_then(|count| count.parse().ok())
        .unwrap_or(SCHEDULES);
    let seeds = given.map_or(first..first + count, |seed| seed..seed + 1);
    let mut runs = 0;
    for seed in seeds {
        let mut world = World::new(seed, faults);
        world.run();
        world.heal();
        runs += world.runs;
    }
    assert!(runs > 100, "{runs} runs prove nothing");
}

#[test]
fn nothing_is_worked_at_twice_when_everything_fails() {
    schedules(Faults::ALL, 0);
}

/// Without faults a handover is quick, so there are many more of them.
#[test]
fn nothing_is_worked_at_twice_when_members_come_and_go() {
    schedules(Faults::NONE, 1_000_000);
}

/// The checks of the simulation see what they are for: without the wait for acknowledgements two processes meet.
#[test]
fn rules_that_are_broken_are_found() {
    for faults in [Faults::DEAF, Faults::NO_FENCE, Faults::HASTY, Faults::EAGER] {
        let found = (0..SCHEDULES).any(|seed| {
            let mut world = World::new(seed, faults);
            world.quiet = true;
            world.run();
            world.met.is_some()
        });
        assert!(found, "{faults:?}");
    }
}
