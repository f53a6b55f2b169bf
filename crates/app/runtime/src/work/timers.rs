//! When objects come again: each at its time, or earlier with others of its namespace, if it may.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use tokio::time::Instant;

use bumpwright_api::ObjectName;

/// The times of objects, one for each.
#[derive(Debug, Default)]
pub(super) struct Timers {
    /// The number distinguishes those of one moment.
    times: BTreeMap<(Instant, u64), ObjectName>,
    due: HashMap<ObjectName, Due>,
    /// From when on objects may come before their time, by namespace.
    early: HashMap<String, BTreeSet<(Instant, ObjectName)>>,
    count: u64,
}

#[derive(Clone, Copy, Debug)]
struct Due {
    time: (Instant, u64),
    early: Option<Instant>,
}

impl Timers {
    /// Sets the time of an object, in place of the one it had. From `early` on it comes together with another one of
    /// its namespace that has such a moment too, and whose time has come.
    pub(super) fn set(&mut self, name: ObjectName, at: Instant, early: Option<Instant>) {
        self.remove(&name);
        self.count += 1;
        let time = (at, self.count);
        self.times.insert(time, name.clone());
        if let Some(early) = early {
            let of_namespace = self.early.entry(name.namespace.clone()).or_default();
            of_namespace.insert((early, name.clone()));
        }
        self.due.insert(name, Due { time, early });
    }

    /// Removes the time of an object; whether it might have come early.
    pub(super) fn remove(&mut self, name: &ObjectName) -> bool {
        let Some(Due { time, early }) = self.due.remove(name) else {
            return false;
        };
        self.times.remove(&time);
        if let Some(early) = early
            && let Some(of_namespace) = self.early.get_mut(&name.namespace)
        {
            of_namespace.remove(&(early, name.clone()));
            if of_namespace.is_empty() {
                self.early.remove(&name.namespace);
            }
        }
        early.is_some()
    }

    /// The time of an object.
    pub(super) fn of(&self, name: &ObjectName) -> Option<Instant> {
        self.due.get(name).map(|due| due.time.0)
    }

    pub(super) fn first(&self) -> Option<Instant> {
        self.times.keys().next().map(|(at, _)| *at)
    }

    /// Takes the objects whose time has come, each with that time, and those that come early with
    /// them, with this moment.
    pub(super) fn take(&mut self, now: Instant) -> Vec<(ObjectName, Instant)> {
        let mut taken = Vec::new();
        while let Some(((at, _), name)) = self.times.first_key_value()
            && *at <= now
        {
            let (at, name) = (*at, name.clone());
            let may_share = self.remove(&name);
            taken.push((name.clone(), at));
            while may_share
                && let Some((from, other)) = self.early.get(&name.namespace).and_then(BTreeSet::first).cloned()
                && from <= now
            {
                self.remove(&other);
                taken.push((other, now));
            }
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const INTERVAL: Duration = Duration::from_secs(600);

    fn name(namespace: &str, name: &str) -> ObjectName {
        ObjectName::new(namespace, name)
    }

    /// Objects of a namespace, each at its own moment of an interval, come in sixteen to twenty-two groups an interval,
    /// however many they are.
    #[test]
    fn objects_of_a_namespace_come_together_when_they_may() {
        for many in [100, 300, 900] {
            let (mut timers, start) = (Timers::default(), Instant::now());
            let mut last: HashMap<ObjectName, Instant> = HashMap::new();
            for n in 0..many {
                let at = start + INTERVAL * (n + many) / many;
                timers.set(name("apps", &n.to_string()), at, Some(at - INTERVAL / 20));
            }
            let mut groups = 0;
            while let Some(now) = timers.first().filter(|now| *now < start + INTERVAL * 4) {
                groups += 1;
                for (one, _) in timers.take(now) {
                    if let Some(before) = last.insert(one.clone(), now) {
                        let pause = now - before;
                        assert!(pause <= INTERVAL && pause >= INTERVAL * 19 / 20, "{pause:?}");
                    }
                    timers.set(one, now + INTERVAL, Some(now + INTERVAL * 19 / 20));
                }
            }
            assert!(
                (45..=66).contains(&groups),
                "{groups} groups of {many} in three intervals"
            );
            assert_eq!(last.len(), many as usize);
        }
    }

    #[test]
    fn others_keep_their_time() {
        let (mut timers, start) = (Timers::default(), Instant::now());
        let (first, second, retried, elsewhere) = (
            name("apps", "a"),
            name("apps", "b"),
            name("apps", "c"),
            name("other", "a"),
        );
        timers.set(first.clone(), start, Some(start));
        timers.set(second.clone(), start + INTERVAL, Some(start));
        timers.set(retried.clone(), start + INTERVAL, None);
        timers.set(elsewhere.clone(), start + INTERVAL, Some(start));
        let now = start + Duration::from_secs(1);
        assert_eq!(timers.take(now), [(first, start), (second.clone(), now)]);
        assert_eq!(
            (timers.of(&second), timers.of(&retried)),
            (None, Some(start + INTERVAL))
        );
        // One that is tried again takes nobody along.
        timers.set(second.clone(), start + INTERVAL * 2, Some(start));
        assert_eq!(
            timers.take(start + INTERVAL),
            [(retried, start + INTERVAL), (elsewhere, start + INTERVAL)]
        );
        assert!(timers.remove(&second) && !timers.remove(&second));
        assert!(timers.early.is_empty() && timers.times.is_empty());
    }
}
