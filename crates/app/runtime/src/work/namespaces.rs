//! Fairness between namespaces: each has a queue of its own, and the one with the fewest busy workers goes first.

use std::collections::{BTreeMap, VecDeque};

use tokio::time::Instant;

use bumpwright_api::ObjectName;

/// The queues of all namespaces that have objects waiting or reconciliations running.
#[derive(Debug, Default)]
pub struct NamespaceQueues {
    namespaces: BTreeMap<String, NamespaceQueue>,
    /// Counts taken objects.
    count: u64,
}

#[derive(Debug, Default)]
struct NamespaceQueue {
    /// With the start of their wait.
    ready: VecDeque<(ObjectName, Instant)>,
    working: usize,
    /// All running reconciliations, with and without a worker.
    begun: usize,
    /// The count at its last taken object.
    served: u64,
}

impl NamespaceQueues {
    /// Appends an object to its namespace's queue.
    pub fn push(&mut self, name: ObjectName) {
        let line = self.namespaces.entry(name.namespace.clone()).or_default();
        line.ready.push_back((name, Instant::now()));
    }

    /// Restarts the waits of all objects.
    pub(crate) fn wait_from_now(&mut self) {
        let now = Instant::now();
        let waits = self.namespaces.values_mut().flat_map(|line| &mut line.ready);
        waits.for_each(|(_, since)| *since = now);
    }

    /// Takes the next object for a worker; none when all waiting ones are of namespaces with `most` reconciliations.
    /// Among namespaces with equally few busy workers the one served longest ago goes first.
    pub fn take(&mut self, most: usize) -> Option<(ObjectName, Instant)> {
        let may = |line: &&mut NamespaceQueue| !line.ready.is_empty() && line.begun < most;
        let line = self.namespaces.values_mut().filter(may);
        let line = line.min_by_key(|line| (line.working, line.served))?;
        let next = line.ready.pop_front()?;
        self.count += 1;
        line.served = self.count;
        line.working += 1;
        line.begun += 1;
        Some(next)
    }

    /// Whether no object waits.
    pub fn is_empty(&self) -> bool {
        self.namespaces.values().all(|line| line.ready.is_empty())
    }

    /// A reconciliation of the namespace is parked, or over.
    pub fn parked(&mut self, namespace: &str) {
        self.with(namespace, |line| line.working = line.working.saturating_sub(1));
    }

    /// A reconciliation of the namespace is over, parked or not.
    pub fn ended(&mut self, namespace: &str) {
        self.with(namespace, |line| line.begun = line.begun.saturating_sub(1));
    }

    fn with(&mut self, namespace: &str, change: impl FnOnce(&mut NamespaceQueue)) {
        let Some(line) = self.namespaces.get_mut(namespace) else {
            return;
        };
        change(line);
        if line.ready.is_empty() && line.begun == 0 {
            self.namespaces.remove(namespace);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn namespaces(objects: &[(&str, usize)]) -> NamespaceQueues {
        let mut namespaces = NamespaceQueues::default();
        for (namespace, count) in objects {
            (0..*count).for_each(|one| namespaces.push(ObjectName::new(*namespace, one.to_string())));
        }
        namespaces
    }

    fn next(namespaces: &mut NamespaceQueues, most: usize) -> Option<String> {
        namespaces.take(most).map(|(name, _)| name.to_string())
    }

    #[test]
    fn namespaces_are_served_in_turn_whichever_has_more() {
        let mut namespaces = namespaces(&[("greedy", 50), ("modest", 2), ("other", 1)]);
        let order: Vec<_> = (0..6).filter_map(|_| next(&mut namespaces, 99)).collect();
        assert_eq!(
            order,
            ["greedy/0", "modest/0", "other/0", "greedy/1", "modest/1", "greedy/2"]
        );
    }

    #[test]
    fn fewer_busy_workers_go_first_and_no_namespace_exceeds_the_limit() {
        let mut namespaces = namespaces(&[("stuck", 9)]);
        for _ in 0..3 {
            assert!(next(&mut namespaces, 3).is_some());
        }
        assert_eq!(next(&mut namespaces, 3), None);
        namespaces.push(ObjectName::new("late", "a"));
        assert_eq!(next(&mut namespaces, 3).as_deref(), Some("late/a"));
        // Parked ones still count.
        namespaces.parked("stuck");
        assert_eq!(next(&mut namespaces, 3), None);
        assert!(!namespaces.is_empty());
        namespaces.ended("stuck");
        assert_eq!(next(&mut namespaces, 3).as_deref(), Some("stuck/3"));
    }

    #[test]
    fn empty_queues_are_forgotten() {
        let mut namespaces = namespaces(&[("a", 1)]);
        assert!(next(&mut namespaces, 1).is_some());
        namespaces.parked("a");
        namespaces.ended("a");
        assert!(namespaces.is_empty() && namespaces.namespaces.is_empty());
    }
}
