//! The table of shared lists, without a server, by a clock that the tests set.

use futures::FutureExt as _;
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

fn key(namespace: &str) -> Key {
    Key {
        account: None,
        gvk: GroupVersionKind {
            group: String::new(),
            version: "v1".to_owned(),
            kind: "ConfigMap".to_owned(),
        },
        namespace: namespace.to_owned(),
        all: "owner".to_owned(),
    }
}

fn stamp(name: &str) -> Stamp {
    Stamp {
        namespace: "apps".to_owned(),
        name: name.to_owned(),
        uid: "u".to_owned(),
        resource_version: "1".to_owned(),
    }
}

/// A table, and how many lists of all objects were begun and sent.
struct World {
    lists: Arc<Lists>,
    now: Cell<Instant>,
    begun: Cell<usize>,
    sent: Arc<AtomicUsize>,
}

impl World {
    fn new() -> Self {
        Self {
            lists: Arc::default(),
            now: Cell::new(Instant::now()),
            begun: Cell::new(0),
            sent: Arc::default(),
        }
    }

    /// The clock moves, so that two moments differ.
    fn tick(&self) -> Instant {
        self.pass(Duration::from_millis(10));
        self.now.get()
    }

    fn pass(&self, time: Duration) {
        self.now.set(self.now.get() + time);
    }

    /// What a caller gets that asks since a moment; a list that it begins takes a while, and ends like this.
    fn ask(&self, key: &Key, own: &str, since: Instant, outcome: Outcome) -> Way {
        let query = StampQuery {
            namespace: &key.namespace,
            own,
            all: &key.all,
            since,
        };
        let now = self.now.get();
        self.lists.way(key, &query, now, |number| {
            self.begun.set(self.begun() + 1);
            let (lists, key, sent) = (Arc::clone(&self.lists), key.clone(), Arc::clone(&self.sent));
            let list = async move {
                sent.fetch_add(1, Ordering::SeqCst);
                tokio::time::sleep(Duration::from_millis(20)).await;
                lists.ended(&key, number, &outcome, now);
                outcome
            };
            list.boxed().shared()
        })
    }

    fn begun(&self) -> usize {
        self.begun.get()
    }

    fn sent(&self) -> usize {
        self.sent.load(Ordering::SeqCst)
    }

    fn bytes(&self) -> u64 {
        self.lists.table.lock().bytes
    }

    /// Two callers of a burst: the first lists its own, the second all.
    fn burst(&self, key: &Key, outcome: Outcome) -> (Instant, Flight) {
        let since = self.tick();
        self.tick();
        assert!(matches!(self.ask(key, "a", since, some(1)), Way::Own));
        (since, flight(self.ask(key, "b", since, outcome)))
    }
}

/// A list of so many objects.
fn some(count: usize) -> Outcome {
    let names = (0..count).map(|number| stamp(&format!("n{number:05}")));
    Ok(names.collect())
}

fn flight(way: Way) -> Flight {
    match way {
        Way::Shared(flight) => flight,
        Way::Own => panic!("a list of its own"),
        Way::Kept(_) => panic!("one that is there"),
    }
}

fn failed() -> Outcome {
    let error = ClusterError::Unreachable("the API server did not answer".to_owned());
    Err(Fault::Failed(Arc::new(error)))
}

#[tokio::test]
async fn those_who_ask_one_after_the_other_list_their_own() {
    let (world, key) = (World::new(), key("apps"));
    for own in ["a", "b", "a", "c"] {
        let since = world.tick();
        world.tick();
        assert!(matches!(world.ask(&key, own, since, some(1)), Way::Own), "{own}");
    }
    // The same caller twice is not a burst.
    let since = world.tick();
    for _ in 0..2 {
        assert!(matches!(world.ask(&key, "a", since, some(1)), Way::Own));
    }
    assert_eq!(world.begun(), 0);
}

#[tokio::test]
async fn a_burst_shares_one_list_while_it_is_under_way_and_after_it() {
    let (world, key) = (World::new(), key("apps"));
    let (since, second) = world.burst(&key, some(2));
    let third = flight(world.ask(&key, "c", since, some(9)));
    assert_eq!((world.begun(), world.sent()), (1, 0));
    let (second, third) = tokio::join!(second, third);
    assert!(Arc::ptr_eq(&second.unwrap(), &third.unwrap()));
    assert_eq!(world.sent(), 1);
    assert!(matches!(world.ask(&key, "d", since, some(9)), Way::Kept(stamps) if stamps.len() == 2));
    // Now it is known that it pays: the first of the next burst does it at once.
    let since = world.tick();
    let first = flight(world.ask(&key, "a", since, some(3)));
    assert_eq!(first.await.unwrap().len(), 3);
    assert_eq!((world.begun(), world.sent()), (2, 2));
}

#[tokio::test]
async fn a_list_that_began_before_somebody_asked_is_not_good_enough() {
    let (world, key) = (World::new(), key("apps"));
    let (since, flying) = world.burst(&key, some(1));
    drop(flight(world.ask(&key, "c", since, some(9))));
    let late = world.tick();
    // It is still under way.
    let fresh = flight(world.ask(&key, "d", late, some(2)));
    assert_eq!(world.begun(), 2);
    let (flying, fresh) = tokio::join!(flying, fresh);
    assert_eq!((flying.unwrap().len(), fresh.unwrap().len()), (1, 2));
    // The end of the older one has not replaced the newer one.
    assert!(matches!(world.ask(&key, "e", late, some(9)), Way::Kept(stamps) if stamps.len() == 2));
    assert!(matches!(world.ask(&key, "f", since, some(9)), Way::Kept(stamps) if stamps.len() == 2));
    let later = world.tick();
    drop(flight(world.ask(&key, "e", later, some(9))));
}

#[tokio::test]
async fn a_list_that_nobody_else_took_was_not_worth_it() {
    let (world, key) = (World::new(), key("apps"));
    let (_, second) = world.burst(&key, some(1));
    second.await.unwrap();
    let since = world.tick();
    assert!(matches!(world.ask(&key, "a", since, some(1)), Way::Own));
}

#[tokio::test]
async fn keys_have_lists_of_their_own() {
    let world = World::new();
    let (since, second) = world.burst(&key("apps"), some(1));
    second.await.unwrap();
    let mut others = [key("shop"), key("apps"), key("apps"), key("apps")];
    others[1].account = Some(ObjectName::new("apps", "deployer"));
    others[2].gvk.kind = "Secret".to_owned();
    others[3].all = "other".to_owned();
    for other in others {
        assert!(matches!(world.ask(&other, "c", since, some(9)), Way::Own), "{other:?}");
    }
    assert!(matches!(world.ask(&key("apps"), "c", since, some(9)), Way::Kept(_)));
}

#[tokio::test]
async fn a_failure_is_shared_and_the_next_attempt_too() {
    let (world, key) = (World::new(), key("apps"));
    let (since, second) = world.burst(&key, failed());
    let third = flight(world.ask(&key, "c", since, some(9)));
    let (second, third) = tokio::join!(second, third);
    assert!(matches!(
        (second, third),
        (Err(Fault::Failed(_)), Err(Fault::Failed(_)))
    ));
    let second = flight(world.ask(&key, "b", since, some(1)));
    let third = flight(world.ask(&key, "c", since, some(9)));
    assert_eq!(world.begun(), 2);
    let (second, third) = tokio::join!(second, third);
    assert_eq!((second.unwrap().len(), third.unwrap().len()), (1, 1));
    assert_eq!(world.sent(), 2);
}

#[tokio::test]
async fn what_is_too_much_is_not_tried_again_for_a_while() {
    let (world, key) = (World::new(), key("apps"));
    let (since, second) = world.burst(&key, Err(Fault::Unshared));
    assert!(matches!(second.await, Err(Fault::Unshared)));
    for own in ["c", "d"] {
        assert!(matches!(world.ask(&key, own, since, some(9)), Way::Own));
    }
    world.pass(AVOIDED);
    drop(world.burst(&key, some(1)));
    assert_eq!(world.begun(), 2);
}

#[tokio::test]
async fn a_list_that_its_callers_have_left_is_begun_again_and_one_that_stays_suffices() {
    let (world, key) = (World::new(), key("apps"));
    let (since, second) = world.burst(&key, some(1));
    drop(second);
    let third = flight(world.ask(&key, "c", since, some(2)));
    assert_eq!(world.begun(), 2);
    // The one who began it is cancelled in the middle.
    let fourth = flight(world.ask(&key, "d", since, some(9)));
    let left = tokio::time::timeout(Duration::from_millis(2), third);
    let (left, stayed) = tokio::join!(left, fourth);
    assert!(left.is_err());
    assert_eq!(stayed.unwrap().len(), 2);
    assert_eq!(world.sent(), 1);
}

#[tokio::test]
async fn a_list_is_not_kept_for_long_also_if_nobody_asks() {
    let (mut world, key) = (World::new(), key("apps"));
    world.lists = Arc::new(Lists {
        kept: Duration::from_millis(200),
        ..Lists::default()
    });
    let (since, second) = world.burst(&key, some(5));
    second.await.unwrap();
    assert!(world.bytes() > 0);
    assert!(matches!(world.ask(&key, "c", since, some(9)), Way::Kept(_)));
    while world.bytes() > 0 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // It is begun again, for the same moment.
    drop(flight(world.ask(&key, "d", since, some(9))));
}

/// The time of one list is over, and another one is there by then.
#[tokio::test]
async fn the_end_of_a_list_is_not_that_of_the_next() {
    let (world, key) = (World::new(), key("apps"));
    let (since, second) = world.burst(&key, some(1));
    drop(flight(world.ask(&key, "c", since, some(9))));
    second.await.unwrap();
    let first = world.lists.table.lock().count - 1;
    let since = world.tick();
    flight(world.ask(&key, "a", since, some(2))).await.unwrap();
    world.lists.table.lock().expire(&key, first);
    assert!(matches!(world.ask(&key, "b", since, some(9)), Way::Kept(stamps) if stamps.len() == 2));
}

#[tokio::test]
async fn all_lists_together_are_bounded_and_the_longest_unused_goes_first() {
    let world = World::new();
    let list = some(MOST);
    let fit = ALL_BYTES / weight(list.as_ref().unwrap());
    assert!(fit > 1, "{fit}");
    let keys: Vec<Key> = (0..fit + 1).map(|number| key(&format!("n{number}"))).collect();
    let mut began = Vec::new();
    for (number, key) in keys.iter().enumerate() {
        let (since, second) = world.burst(key, list.clone());
        flight(world.ask(key, "c", since, some(9))).await.unwrap();
        second.await.unwrap();
        began.push(since);
        if number > 0 {
            // The first one stays in use.
            assert!(
                matches!(world.ask(&keys[0], "d", began[0], some(9)), Way::Kept(_)),
                "{number}"
            );
        }
        assert!(world.bytes() <= ALL_BYTES);
    }
    drop(flight(world.ask(&keys[1], "d", began[1], some(9))));
    assert!(matches!(
        world.ask(&keys[fit as usize], "d", began[fit as usize], some(9)),
        Way::Kept(_)
    ));
}

#[tokio::test]
async fn places_are_bounded() {
    let world = World::new();
    let (since, second) = world.burst(&key("first"), some(3));
    second.await.unwrap();
    let ask = |key: &Key| {
        world.tick();
        world.ask(key, "a", since, some(1));
    };
    let most = PLACES_BYTES / PLACE_BYTES;
    (0..most).for_each(|number| ask(&key(&number.to_string())));
    {
        let table = world.lists.table.lock();
        let bytes: u64 = table.places.keys().map(Key::place_weight).sum();
        assert_eq!((table.places_bytes, table.bytes), (bytes, 0));
        assert!(bytes <= PLACES_BYTES && bytes > PLACES_BYTES / 10 * 9, "{bytes}");
        assert!(!table.places.contains_key(&key("first")));
    }
    // Names of kinds count.
    let mut large = key("large");
    large.gvk.kind = "K".repeat(PLACES_BYTES as usize / 2);
    ask(&large);
    large.namespace = "other".to_owned();
    ask(&large);
    assert_eq!(world.lists.table.lock().places.len(), 1);
    assert!(world.lists.weight() > PLACES_BYTES / 2);
}

#[test]
fn stamps_are_found_by_namespace_and_name() {
    let mut stamps = vec![stamp("b"), stamp("a"), stamp("c")];
    stamps[2].namespace = String::new();
    sort(&mut stamps);
    let stamps = Stamps(Source::Shared(stamps.into()));
    let name = |namespace: &str, name: &str| stamps.get(namespace, name).map(|stamp| stamp.name.as_str());
    assert_eq!(
        (name("apps", "a"), name("apps", "b"), name("", "c")),
        (Some("a"), Some("b"), Some("c"))
    );
    assert_eq!((name("apps", "c"), name("", "a")), (None, None));
}
