//! Numbers of keys and signatures: big-endian bytes, with or without leading zeros.

use bumpwright_text::Parts;

/// A number without leading zeros.
pub(crate) fn plain(number: &[u8]) -> &[u8] {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    number.part(zeros..)
}

/// A number as `length` bytes; `None` when it has more.
pub(crate) fn widened(number: &[u8], length: usize) -> Option<Vec<u8>> {
    let number = plain(number);
    let mut bytes = vec![0; length.checked_sub(number.len())?];
    bytes.extend_from_slice(number);
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_at_the_start_come_and_go() {
        assert_eq!((plain(&[0, 0, 1, 0]), plain(&[0])), (&[1, 0][..], &[][..]));
        assert_eq!(widened(&[0, 0, 1, 0], 3), Some(vec![0, 1, 0]));
        assert_eq!(widened(&[], 2), Some(vec![0, 0]));
        assert_eq!(widened(&[1, 0, 0], 2), None);
    }
}
