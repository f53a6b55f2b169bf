//! Builds of a namespace run concurrently within its memory limit; one that runs out of memory beside
//! others is repeated alone.

use std::collections::HashMap;

use bumpwright_http::Deadline;
use parking_lot::{Condvar, Mutex, MutexGuard};

/// The running builds, by namespace.
#[derive(Debug, Default)]
pub(crate) struct BuildSlots {
    building: Mutex<HashMap<String, Building>>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Building {
    together: usize,
    /// Number of builds that began beside another one.
    meetings: u64,
    is_alone: bool,
    /// Number of builds waiting to run alone, which holds back others.
    wanting: usize,
}

/// Guard of a running build.
#[derive(Debug)]
pub(crate) struct BuildSlot<'a> {
    turns: &'a BuildSlots,
    namespace: &'a str,
    is_alone: bool,
    /// The count of concurrent builds when it began.
    before: u64,
}

impl BuildSlot<'_> {
    /// Returns whether another build of the namespace ran at the same time.
    pub(crate) fn met_others(&self) -> bool {
        let namespaces = self.turns.building.lock();
        let building = namespaces.get(self.namespace);
        building.is_some_and(|building| building.meetings > self.before)
    }
}

impl BuildSlots {
    /// Waits until it may run beside other builds of the namespace. None when the deadline passes.
    pub(crate) fn together<'a>(&'a self, namespace: &'a str, deadline: Deadline) -> Option<BuildSlot<'a>> {
        let mut namespaces = self.wait(namespace, deadline, |building| {
            !building.is_alone && building.wanting == 0
        })?;
        let building = namespaces.entry(namespace.to_owned()).or_default();
        let before = building.meetings;
        building.meetings += u64::from(building.together > 0);
        building.together += 1;
        Some(BuildSlot {
            turns: self,
            namespace,
            is_alone: false,
            before,
        })
    }

    /// Waits until no other build of the namespace runs. None when the deadline passes.
    pub(crate) fn alone<'a>(&'a self, namespace: &'a str, deadline: Deadline) -> Option<BuildSlot<'a>> {
        self.building.lock().entry(namespace.to_owned()).or_default().wanting += 1;
        let got = self.wait(namespace, deadline, |building| {
            !building.is_alone && building.together == 0
        });
        let is_free = got.is_some();
        let mut namespaces = got.unwrap_or_else(|| self.building.lock());
        let building = namespaces.entry(namespace.to_owned()).or_default();
        building.wanting -= 1;
        building.is_alone |= is_free;
        let before = building.meetings;
        drop(namespaces);
        if !is_free {
            self.changed.notify_all();
        }
        is_free.then_some(BuildSlot {
            turns: self,
            namespace,
            is_alone: true,
            before,
        })
    }

    fn wait(
        &self,
        namespace: &str,
        deadline: Deadline,
        is_free: impl Fn(&Building) -> bool,
    ) -> Option<MutexGuard<'_, HashMap<String, Building>>> {
        let is_taken = |all: &mut HashMap<String, Building>| all.get(namespace).is_some_and(|one| !is_free(one));
        let mut namespaces = self.building.lock();
        let waited = self.changed.wait_while_for(&mut namespaces, is_taken, deadline.left());
        (!waited.timed_out()).then_some(namespaces)
    }
}

impl Drop for BuildSlot<'_> {
    fn drop(&mut self) {
        let mut namespaces = self.turns.building.lock();
        if let Some(building) = namespaces.get_mut(self.namespace) {
            if self.is_alone {
                building.is_alone = false
            } else {
                building.together -= 1
            }
            if building.together == 0 && !building.is_alone && building.wanting == 0 {
                namespaces.remove(self.namespace);
            }
        }
        drop(namespaces);
        self.turns.changed.notify_all();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn within(milliseconds: u64) -> Deadline {
        Deadline::after(Duration::from_millis(milliseconds))
    }

    #[test]
    fn one_that_wants_to_be_alone_waits_for_the_others_and_goes_before_later_ones() {
        let turns = BuildSlots::default();
        let first = turns.together("a", within(0)).unwrap();
        assert!(!first.met_others());
        let second = turns.together("a", within(0)).unwrap();
        // Both the one that began beside another, and that other one.
        assert!(first.met_others() && second.met_others());
        assert!(turns.alone("a", within(5)).is_none());
        // Other namespaces are independent, and waiting builds that gave up hold nobody back.
        drop(turns.alone("b", within(0)).unwrap());
        drop(turns.together("a", within(0)).unwrap());
        std::thread::scope(|scope| {
            let alone = scope.spawn(|| {
                let request = turns.alone("a", within(60_000));
                assert!(turns.together("a", within(5)).is_none());
                request.is_some()
            });
            while turns
                .building
                .lock()
                .get("a")
                .is_none_or(|building| building.wanting == 0)
            {
                std::thread::yield_now();
            }
            assert!(turns.together("a", within(5)).is_none());
            drop((first, second));
            assert!(alone.join().unwrap());
        });
        assert!(turns.building.lock().is_empty());
    }
}
