//! Unique names: `reconcileID`s, and events whose object has no usable name.

use std::fmt::Write;

/// A random UUID (RFC 9562, version 4), as `0f8fad5b-d9cb-469f-a165-70867728950e`.
#[must_use]
pub(crate) fn random_id() -> String {
    let mut bytes = [0_u8; 16];
    // Only a name: without random bytes from the system it is all zeros.
    let _ = getrandom::fill(&mut bytes);
    let version = |mut number: u128| {
        number = number & !(0xf << 76) | (0x4 << 76);
        number & !(0x3 << 62) | (0x2 << 62)
    };
    let digits = format!("{:032x}", version(u128::from_be_bytes(bytes)));
    let mut id = String::with_capacity(36);
    for (at, digit) in digits.chars().enumerate() {
        let _ = match at {
            8 | 12 | 16 | 20 => write!(id, "-{digit}"),
            _ => write!(id, "{digit}"),
        };
    }
    id
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn has_the_form_of_a_uuid() {
        let (one, other) = (random_id(), random_id());
        assert_ne!(one, other);
        let lengths: Vec<usize> = one.split('-').map(str::len).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12]);
        assert_eq!(one.chars().nth(14), Some('4'));
        assert!(one.chars().nth(19).is_some_and(|digit| "89ab".contains(digit)), "{one}");
    }
}
