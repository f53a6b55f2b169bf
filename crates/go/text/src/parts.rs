//! Parts by their places in bytes.

use std::slice::SliceIndex;

/// Room at the beginning of a buffer.
pub trait Room<T> {
    /// The first elements: at most so many, and no more than there are.
    fn head_mut(&mut self, most: usize) -> &mut [T];
}

impl<T> Room<T> for [T] {
    #[inline]
    fn head_mut(&mut self, most: usize) -> &mut [T] {
        let (head, _) = self.split_at_mut(most.min(self.len()));
        head
    }
}

/// Parts of a text or a list by places that were found in it.
pub trait Parts {
    /// The part at a place that was found in this text. If it does not fit, that is a bug of the caller: programs
    /// with debug assertions stop, others continue with an empty part.
    #[track_caller]
    fn part<I: SliceIndex<Self, Output = Self>>(&self, place: I) -> &Self;

    /// The part from a place on; empty if the text ends before it.
    #[track_caller]
    fn tail(&self, from: usize) -> &Self;
}

impl Parts for str {
    #[inline]
    fn part<I: SliceIndex<Self, Output = Self>>(&self, place: I) -> &Self {
        let part = self.get(place);
        debug_assert!(
            part.is_some(),
            "the place is not a part of a text of {} bytes",
            self.len()
        );
        part.unwrap_or("")
    }

    #[inline]
    fn tail(&self, from: usize) -> &Self {
        self.part(from.min(self.len())..)
    }
}

impl<T> Parts for [T] {
    #[inline]
    fn part<I: SliceIndex<Self, Output = Self>>(&self, place: I) -> &Self {
        let part = self.get(place);
        debug_assert!(part.is_some(), "the place is not a part of a list of {}", self.len());
        part.unwrap_or(&[])
    }

    #[inline]
    fn tail(&self, from: usize) -> &Self {
        self.part(from.min(self.len())..)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_at_its_place() {
        assert_eq!("déjà".part(3..), "jà");
        assert_eq!("déjà".part(..3), "dé");
        assert_eq!([1, 2, 3].part(1..=1), [2]);
        assert_eq!([1, 2, 3].part(3..), [0; 0]);
    }

    #[test]
    #[should_panic(expected = "not a part of a text of 2 bytes")]
    fn a_place_within_a_character_is_a_bug() {
        "é".part(1..);
    }

    #[test]
    #[should_panic(expected = "not a part of a list of 2")]
    fn a_place_beyond_the_end_is_a_bug() {
        [1, 2].part(1..3);
    }

    #[test]
    fn a_head_is_never_longer_than_the_buffer() {
        for (most, head) in [(0, 0), (1, 1), (2, 2), (usize::MAX, 2)] {
            assert_eq!([1, 2].head_mut(most).len(), head);
        }
    }

    #[test]
    fn a_tail_may_begin_beyond_the_end() {
        for (from, tail) in [(0, "ab"), (1, "b"), (2, ""), (3, "")] {
            assert_eq!("ab".tail(from), tail);
            assert_eq!(b"ab".tail(from), tail.as_bytes());
        }
    }
}
