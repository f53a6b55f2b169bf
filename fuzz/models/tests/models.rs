//! Threads in orders that chance picks, some thousands of them.

use std::collections::BTreeMap;
use std::time::Duration;

use bumpwright_models::single_flight::{Joined, SingleFlight};
use bumpwright_models::still::{ControllerMetrics, ObjectName};
use bumpwright_models::work::queue::{Backoff, Queue, Share};
use shuttle::sync::atomic::{AtomicUsize, Ordering};
use shuttle::sync::{Arc, Condvar, Mutex};
use shuttle::{future, thread};

const ORDERS: usize = 20_000;

/// One leads at a time; all others have its result, or lead after one who gave up. Nobody waits forever.
#[test]
fn one_of_many_leads() {
    let model = || {
        let flights = Arc::new(SingleFlight::<u8, usize>::new(Duration::MAX));
        let (leading, led) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let callers: Vec<_> = (0..4_usize)
            .map(|n| {
                let (flights, leading, led) = (Arc::clone(&flights), Arc::clone(&leading), Arc::clone(&led));
                thread::spawn(move || match flights.join(&7, || Duration::from_secs(3600)) {
                    Joined::Leader(leader) => {
                        assert_eq!(leading.fetch_add(1, Ordering::SeqCst), 0, "two lead");
                        thread::yield_now();
                        leading.fetch_sub(1, Ordering::SeqCst);
                        match n {
                            0 => drop(leader),
                            _ => {
                                led.fetch_add(1, Ordering::SeqCst);
                                leader.finish(n);
                            }
                        }
                    }
                    Joined::Result(result) => assert!((1..4).contains(&result)),
                    Joined::Late => panic!("nobody is late"),
                })
            })
            .collect();
        callers.into_iter().for_each(|caller| caller.join().unwrap());
        assert!(led.load(Ordering::SeqCst) >= 1);
    };
    shuttle::check_random(model, ORDERS);
    shuttle::check_pct(model, ORDERS, 3);
}

#[derive(Default)]
struct Seen {
    /// How often each was queued, and what of it a reconciliation that began later has seen.
    queued: BTreeMap<ObjectName, usize>,
    seen: BTreeMap<ObjectName, usize>,
    working: Vec<ObjectName>,
}

fn name(n: usize) -> ObjectName {
    ObjectName {
        namespace: format!("n{}", n % 2),
        name: format!("o{n}"),
    }
}

/// An object is never reconciled twice at a time, each change is followed by a reconciliation that begins after it, and workers end.
#[test]
fn each_change_is_followed_by_a_reconciliation() {
    let model = || {
        let backoff = Backoff {
            least: Duration::from_secs(1),
            most: Duration::from_secs(9),
        };
        let queue = Arc::new(Queue::new(
            backoff,
            Share {
                most: 99,
                ..Share::default()
            },
            ControllerMetrics,
        ));
        let shared = Arc::new((Mutex::new(Seen::default()), Condvar::new()));
        let workers: Vec<_> = (0..2)
            .map(|_| {
                let (queue, shared) = (Arc::clone(&queue), Arc::clone(&shared));
                thread::spawn(move || {
                    while let Some((name, _)) = future::block_on(queue.next()) {
                        let (seen, _) = &*shared;
                        let mut state = seen.lock().unwrap();
                        assert!(!state.working.contains(&name), "{name:?} twice");
                        state.working.push(name.clone());
                        let queued = state.queued.get(&name).copied().unwrap_or_default();
                        drop(state);
                        queue.set_revision(&name, "r1");
                        thread::yield_now();
                        let mut state = seen.lock().unwrap();
                        state.working.retain(|other| *other != name);
                        drop(state);
                        queue.succeeded(&name);
                        queue.done(&name);
                        queue.parked(&name.namespace);
                        queue.ended(&name.namespace);
                        // Another worker may be done with a later one by now.
                        let mut state = seen.lock().unwrap();
                        let latest = state.seen.entry(name).or_default();
                        *latest = queued.max(*latest);
                        drop(state);
                        shared.1.notify_all();
                    }
                })
            })
            .collect();
        let producers: Vec<_> = (0..2_usize)
            .map(|n| {
                let (queue, shared) = (Arc::clone(&queue), Arc::clone(&shared));
                thread::spawn(move || {
                    for object in [0, n] {
                        *shared.0.lock().unwrap().queued.entry(name(object)).or_default() += 1;
                        match n {
                            0 => queue.add(name(object)),
                            _ => queue.add_because(name(object), || "a change".to_owned()),
                        }
                    }
                })
            })
            .collect();
        producers.into_iter().for_each(|producer| producer.join().unwrap());
        let mut state = shared.0.lock().unwrap();
        while state.queued != state.seen {
            state = shared.1.wait(state).unwrap();
        }
        drop(state);
        queue.close();
        workers.into_iter().for_each(|worker| worker.join().unwrap());
    };
    shuttle::check_random(model, ORDERS);
    shuttle::check_pct(model, ORDERS, 3);
}

/// Who waits for another object is reconciled after it has changed, whenever that comes: before it is taken, while it looks, before it says
/// that it waits, or later. By its last known state it is ready, so that only what it says tells that it waits.
#[test]
fn whoever_waits_is_woken() {
    let model = || {
        let backoff = Backoff {
            least: Duration::from_secs(1),
            most: Duration::from_secs(9),
        };
        let queue = Arc::new(Queue::new(
            backoff,
            Share {
                most: 99,
                ..Share::default()
            },
            ControllerMetrics,
        ));
        // What the server has of the other one, what is known of who waits, and what it has found at last.
        let (is_there, known) = (Arc::new(Mutex::new(false)), Arc::new(Mutex::new(true)));
        let found = Arc::new((Mutex::new(false), Condvar::new()));
        queue.add(name(0));
        let waiter = {
            let (queue, is_there, known, found) = (
                Arc::clone(&queue),
                Arc::clone(&is_there),
                Arc::clone(&known),
                Arc::clone(&found),
            );
            thread::spawn(move || {
                while let Some((name, _)) = future::block_on(queue.next()) {
                    let seen = *is_there.lock().unwrap();
                    *known.lock().unwrap() = seen;
                    queue.succeeded(&name);
                    queue.done(&name);
                    *found.0.lock().unwrap() |= seen;
                    found.1.notify_all();
                }
            })
        };
        let other = {
            let (queue, is_there, known) = (Arc::clone(&queue), Arc::clone(&is_there), Arc::clone(&known));
            thread::spawn(move || {
                *is_there.lock().unwrap() = true;
                queue.wake(|| vec![(name(0), !*known.lock().unwrap())]);
            })
        };
        other.join().unwrap();
        let mut state = found.0.lock().unwrap();
        while !*state {
            state = found.1.wait(state).unwrap();
        }
        drop(state);
        queue.close();
        waiter.join().unwrap();
    };
    shuttle::check_random(model, ORDERS);
    shuttle::check_pct(model, ORDERS, 3);
}

/// A revision that a running reconciliation builds from does not bring the object back; another one does.
#[test]
fn a_revision_comes_back_unless_it_is_built() {
    let model = || {
        let backoff = Backoff {
            least: Duration::from_secs(1),
            most: Duration::from_secs(9),
        };
        let queue = Arc::new(Queue::new(
            backoff,
            Share {
                most: 99,
                ..Share::default()
            },
            ControllerMetrics,
        ));
        queue.add(name(0));
        let (taken, _) = future::block_on(queue.next()).unwrap();
        let source = {
            let queue = Arc::clone(&queue);
            thread::spawn(move || {
                for revision in ["r1", "r2"] {
                    queue.add_for_revision(name(0), revision, || revision.to_owned());
                }
            })
        };
        queue.set_revision(&taken, "r1");
        source.join().unwrap();
        queue.done(&taken);
        let again = future::block_on(queue.next());
        assert_eq!(again.map(|(name, _)| name), Some(name(0)), "r2 is lost");
    };
    shuttle::check_random(model, ORDERS);
}
