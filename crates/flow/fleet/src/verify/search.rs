//! The search of the few changes that cause a failure.

use std::time::Instant;

pub(crate) struct Search {
    /// Trials that are left.
    left: usize,
    end: Instant,
}

impl Search {
    pub(crate) fn new(trials: usize, end: Instant) -> Self {
        Self { left: trials, end }
    }

    /// A minimal part of `all`, which fails, that fails as well: no change of it can be left out. When the bound is
    /// reached, it has more than that. The algorithm is QuickXplain (Junker 2004).
    pub(crate) fn cause(&mut self, all: &[usize], fails: &mut dyn FnMut(&[usize]) -> bool) -> Vec<usize> {
        self.part(&[], false, all, fails)
    }

    /// What of `rest` is needed beside `given`.
    fn part(
        &mut self,
        given: &[usize],
        is_new: bool,
        rest: &[usize],
        fails: &mut dyn FnMut(&[usize]) -> bool,
    ) -> Vec<usize> {
        if is_new && self.may_try() && fails(given) {
            return Vec::new();
        }
        if rest.len() <= 1 || !self.has_more() {
            return rest.to_vec();
        }
        let (first, second) = rest.split_at(rest.len() / 2);
        let of_second = self.part(&[given, first].concat(), true, second, fails);
        let of_first = self.part(&[given, &of_second].concat(), !of_second.is_empty(), first, fails);
        [of_first, of_second].concat()
    }

    fn has_more(&self) -> bool {
        self.left > 0 && Instant::now() < self.end
    }

    fn may_try(&mut self) -> bool {
        let may = self.has_more();
        self.left = self.left.saturating_sub(1);
        may
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn found(all: usize, causes: &[usize], trials: usize) -> (Vec<usize>, usize) {
        let all: Vec<usize> = (0..all).collect();
        let mut tried = 0;
        let mut search = Search::new(trials, Instant::now() + Duration::from_secs(60));
        let found = search.cause(&all, &mut |part| {
            tried += 1;
            causes.iter().all(|cause| part.contains(cause))
        });
        (found, tried)
    }

    #[test]
    fn the_fields_that_fail_together_are_found() {
        for causes in [&[0][..], &[17], &[99], &[3, 4], &[0, 99], &[10, 50, 90]] {
            let (part, tried) = found(100, causes, 1000);
            assert_eq!(part, causes);
            assert!(tried < 30, "{causes:?}: {tried}");
        }
        assert_eq!(found(1, &[0], 16), (vec![0], 0));
    }

    #[test]
    fn a_bound_leaves_more_fields_than_needed() {
        let (part, tried) = found(100, &[17], 3);
        assert!(part.contains(&17) && part.len() < 100 && tried == 3, "{part:?} {tried}");
    }
}
