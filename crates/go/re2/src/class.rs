//! Sets of runes.

use super::{rune::MAX, unicode};

/// A set of runes as ranges, both ends included, sorted and not adjacent.
///
/// It can contain surrogates, as in Go's classes: no text has them, so they match nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Class(Vec<(u32, u32)>);

impl Class {
    /// The set of these ranges, which may be unsorted and overlap.
    pub(super) fn new(mut ranges: Vec<(u32, u32)>) -> Self {
        ranges.sort_unstable();
        let mut clean: Vec<(u32, u32)> = Vec::with_capacity(ranges.len());
        for (low, high) in ranges {
            match clean.last_mut() {
                Some(last) if low <= last.1.saturating_add(1) => last.1 = last.1.max(high),
                _ => clean.push((low, high)),
            }
        }
        Self(clean)
    }

    /// The ranges in order.
    pub(super) fn ranges(&self) -> &[(u32, u32)] {
        &self.0
    }

    /// Whether the rune is in it.
    pub(super) fn contains(&self, rune: u32) -> bool {
        let above = self.0.partition_point(|range| range.1 < rune);
        self.0.get(above).is_some_and(|range| range.0 <= rune)
    }

    /// Its only rune, if it has just one.
    pub(super) fn only(&self) -> Option<u32> {
        match *self.0 {
            [(low, high)] if low == high => Some(low),
            _ => None,
        }
    }

    /// All runes that are not in it.
    pub(super) fn negated(&self) -> Self {
        let mut ranges = Vec::with_capacity(self.0.len() + 1);
        let mut next = 0;
        for &(low, high) in &self.0 {
            if next < low {
                ranges.push((next, low - 1));
            }
            next = high + 1;
        }
        if next <= MAX {
            ranges.push((next, MAX));
        }
        Self(ranges)
    }

    /// The set extended by runes that differ only in case.
    pub(super) fn folded(&self) -> Self {
        unicode::folded(self)
    }

    /// The intersection of both.
    pub(super) fn and(&self, other: &Self) -> Self {
        let mut ranges = Vec::new();
        let (mut ours, mut theirs) = (self.0.iter().peekable(), other.0.iter().peekable());
        while let (Some(&&a), Some(&&b)) = (ours.peek(), theirs.peek()) {
            let (low, high) = (a.0.max(b.0), a.1.min(b.1));
            if low <= high {
                ranges.push((low, high));
            }
            if a.1 < b.1 {
                ours.next();
            } else {
                theirs.next();
            }
        }
        Self(ranges)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_sorted_and_joined() {
        let class = Class::new(vec![(5, 9), (1, 2), (3, 3), (7, 12)]);
        assert_eq!(class.ranges(), [(1, 3), (5, 12)]);
        assert_eq!(class.negated().ranges(), [(0, 0), (4, 4), (13, MAX)]);
        assert_eq!(class.negated().negated(), class);
        assert_eq!(
            class.and(&Class::new(vec![(3, 5), (12, 20)])).ranges(),
            [(3, 3), (5, 5), (12, 12)]
        );
        for (rune, inside) in [(0, false), (1, true), (4, false), (12, true), (13, false)] {
            assert_eq!(class.contains(rune), inside, "{rune}");
        }
    }
}
