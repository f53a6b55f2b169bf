//! Who is next: objects wait in a line for each namespace, and the namespace that has the fewest at desks goes first.

use std::collections::{BTreeMap, VecDeque};

use tokio::time::Instant;

use bumpwright_api::ObjectName;

/// The lines of all namespaces in which somebody waits or is at work.
#[derive(Debug, Default)]
pub struct Lines {
    lines: BTreeMap<String, Line>,
    /// Counts what was given out.
    count: u64,
}

#[derive(Debug, Default)]
struct Line {
    /// With the time since when they have been waiting.
    ready: VecDeque<(ObjectName, Instant)>,
    at_desks: usize,
    /// All turns, those at desks and those that only wait for a slow peer.
    begun: usize,
    /// When its last one was given out.
    served: u64,
}

impl Lines {
    /// Puts an object at the end of its line.
    pub fn push(&mut self, name: ObjectName) {
        let line = self.lines.entry(name.namespace.clone()).or_default();
        line.ready.push_back((name, Instant::now()));
    }

    /// The next one, which goes to a desk; none when nobody waits but where `most` turns of the namespace have begun. Among
    /// namespaces with as few at desks the one goes first that has waited longest for its turn.
    pub fn take(&mut self, most: usize) -> Option<(ObjectName, Instant)> {
        let may = |line: &&mut Line| !line.ready.is_empty() && line.begun < most;
        let line = self.lines.values_mut().filter(may);
        let line = line.min_by_key(|line| (line.at_desks, line.served))?;
        let next = line.ready.pop_front()?;
        self.count += 1;
        line.served = self.count;
        line.at_desks += 1;
        line.begun += 1;
        Some(next)
    }

    /// Whether nobody waits.
    pub fn is_empty(&self) -> bool {
        self.lines.values().all(|line| line.ready.is_empty())
    }

    /// One of the namespace has left its desk, and waits elsewhere.
    pub fn stood_up(&mut self, namespace: &str) {
        self.with(namespace, |line| line.at_desks = line.at_desks.saturating_sub(1));
    }

    /// A turn of the namespace is over, be it at a desk or not.
    pub fn ended(&mut self, namespace: &str) {
        self.with(namespace, |line| line.begun = line.begun.saturating_sub(1));
    }

    fn with(&mut self, namespace: &str, change: impl FnOnce(&mut Line)) {
        let Some(line) = self.lines.get_mut(namespace) else {
            return;
        };
        change(line);
        if line.ready.is_empty() && line.begun == 0 {
            self.lines.remove(namespace);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(objects: &[(&str, usize)]) -> Lines {
        let mut lines = Lines::default();
        for (namespace, count) in objects {
            (0..*count).for_each(|one| lines.push(ObjectName::new(*namespace, one.to_string())));
        }
        lines
    }

    fn next(lines: &mut Lines, most: usize) -> Option<String> {
        lines.take(most).map(|(name, _)| name.to_string())
    }

    #[test]
    fn namespaces_take_turns_whoever_has_more() {
        let mut lines = lines(&[("greedy", 50), ("modest", 2), ("other", 1)]);
        let order: Vec<_> = (0..6).filter_map(|_| next(&mut lines, 99)).collect();
        assert_eq!(
            order,
            ["greedy/0", "modest/0", "other/0", "greedy/1", "modest/1", "greedy/2"]
        );
    }

    #[test]
    fn who_has_fewer_at_desks_goes_first_and_nobody_has_more_than_all() {
        let mut lines = lines(&[("stuck", 9)]);
        for _ in 0..3 {
            assert!(next(&mut lines, 3).is_some());
        }
        assert_eq!(next(&mut lines, 3), None);
        lines.push(ObjectName::new("late", "a"));
        assert_eq!(next(&mut lines, 3).as_deref(), Some("late/a"));
        // Who waits elsewhere still counts.
        lines.stood_up("stuck");
        assert_eq!(next(&mut lines, 3), None);
        assert!(!lines.is_empty());
        lines.ended("stuck");
        assert_eq!(next(&mut lines, 3).as_deref(), Some("stuck/3"));
    }

    #[test]
    fn lines_that_nobody_stands_in_are_forgotten() {
        let mut lines = lines(&[("a", 1)]);
        assert!(next(&mut lines, 1).is_some());
        lines.stood_up("a");
        lines.ended("a");
        assert!(lines.is_empty() && lines.lines.is_empty());
    }
}
