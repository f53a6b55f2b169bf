//! The order of keys in go-yaml v2: letters after everything else, runs of digits as numbers.

use bumpwright_gostd::unicode::{is_digit, is_letter};
use bumpwright_text::Parts;
use std::cmp::Ordering;

/// Compares two keys. This is not a total order (`a1b`, `a9`, `a10` form a cycle), so a sort must not rely on
/// one: [`sort_by_key`] does not.
#[must_use]
pub fn natural_order(left: &str, right: &str) -> Ordering {
    if left == right {
        Ordering::Equal
    } else if is_less(left, right) {
        Ordering::Less
    } else {
        Ordering::Greater
    }
}

fn is_less(left: &str, right: &str) -> bool {
    let common = left.bytes().zip(right.bytes()).take_while(|(l, r)| l == r).count();
    // Back to the start of a character.
    let common = (0..=common)
        .rev()
        .find(|at| left.is_char_boundary(*at) && right.is_char_boundary(*at))
        .unwrap_or(0);
    let (before, left_rest) = left.split_at_checked(common).unwrap_or(("", left));
    let right_rest = right.part(common..);
    let (Some(l), Some(r)) = (left_rest.chars().next(), right_rest.chars().next()) else {
        return left_rest.is_empty() && !right_rest.is_empty();
    };
    match (is_letter(l), is_letter(r)) {
        (true, true) => return l < r,
        (true, false) => return false,
        (false, true) => return true,
        (false, false) => {}
    }
    // A zero after digits that are not all zero is part of their number.
    let mut start = 0;
    if l == '0' || r == '0' {
        let digits = before.chars().rev().take_while(|ch| is_digit(*ch));
        start = i64::from(digits.into_iter().any(|ch| ch != '0'));
    }
    let (left_number, left_length) = run(left_rest, start);
    let (right_number, right_length) = run(right_rest, start);
    match left_number.cmp(&right_number).then(left_length.cmp(&right_length)) {
        Ordering::Equal => l < r,
        order => order == Ordering::Less,
    }
}

/// The number at the start of a text, and how many digits it has. It wraps, as Go's does.
fn run(text: &str, start: i64) -> (i64, usize) {
    let mut number = start;
    let mut length = 0;
    for ch in text.chars().take_while(|ch| is_digit(*ch)) {
        number = number
            .wrapping_mul(10)
            .wrapping_add(i64::from(u32::from(ch)) - i64::from(b'0'));
        length += 1;
    }
    (number, length)
}

/// Sorts by keys in natural order: a stable merge sort, which works with any order.
pub(crate) fn sort_by_key<T: Copy>(items: &mut [T], key: impl Fn(&T) -> &str + Copy) {
    let sorted = items
        .windows(2)
        .all(|pair| matches!(pair, [left, right] if !is_less(key(right), key(left))));
    if !sorted {
        let merged = merge_sort(items, key);
        items.copy_from_slice(&merged);
    }
}

fn merge_sort<T: Copy>(items: &[T], key: impl Fn(&T) -> &str + Copy) -> Vec<T> {
    let (left, right) = match items.len() {
        0 | 1 => return items.to_vec(),
        count => items.split_at(count / 2),
    };
    let (left, right) = (merge_sort(left, key), merge_sort(right, key));
    let mut merged = Vec::with_capacity(items.len());
    let (mut left, mut right) = (left.into_iter().peekable(), right.into_iter().peekable());
    while let (Some(l), Some(r)) = (left.peek(), right.peek()) {
        let next = if is_less(key(r), key(l)) {
            right.next()
        } else {
            left.next()
        };
        merged.extend(next);
    }
    merged.extend(left);
    merged.extend(right);
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_the_order_of_yaml_v2() {
        // The order observed in kustomize.
        let keys = ["_x", "9", "10", "A1", "a2", "a10", "b-c", "b.c"];
        let mut mixed = ["b.c", "a10", "10", "A1", "_x", "a2", "9", "b-c"];
        sort_by_key(&mut mixed, |key| key);
        assert_eq!(mixed, keys);
    }

    #[test]
    fn a_circle_of_keys_is_no_panic() {
        let mut keys: Vec<&str> = ["a1b", "a9", "a10"].into_iter().cycle().take(300).collect();
        sort_by_key(&mut keys, |key| key);
        assert_eq!(keys.len(), 300);
    }
}
