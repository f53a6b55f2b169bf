//! Shamir's secret sharing over GF(256), as HashiCorp's library has it: a part is the values, then its x.
//!
//! Its arithmetic is ours, two functions over bytes without branches on them: parts have the field and the
//! form of that library.

use zeroize::Zeroizing;

/// Why parts cannot be combined, in the library's words.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CombineError {
    #[error("less than two parts cannot be used to reconstruct the secret")]
    TooFew,
    #[error("parts must be at least two bytes")]
    Short,
    #[error("all parts must be the same length")]
    Lengths,
    #[error("duplicate part detected")]
    Duplicate,
}

/// Combines the parts of a secret. Parts have no checksum: wrong ones yield a wrong secret.
pub(crate) fn combine(parts: &[Zeroizing<Vec<u8>>]) -> Result<Zeroizing<Vec<u8>>, CombineError> {
    let [first, _, ..] = parts else {
        return Err(CombineError::TooFew);
    };
    if first.len() < 2 {
        return Err(CombineError::Short);
    }
    if parts.iter().any(|part| part.len() != first.len()) {
        return Err(CombineError::Lengths);
    }
    let places: Vec<u8> = parts.iter().filter_map(|part| part.last().copied()).collect();
    for (at, place) in places.iter().enumerate() {
        if places.iter().take(at).any(|other| other == place) {
            return Err(CombineError::Duplicate);
        }
    }
    let mut secret = Zeroizing::new(vec![0; first.len() - 1]);
    for (part, &place) in parts.iter().zip(&places) {
        let weight = weight_at_zero(&places, place);
        for (sum, value) in secret.iter_mut().zip(part.iter()) {
            *sum ^= multiply(*value, weight);
        }
    }
    Ok(secret)
}

/// Lagrange's polynomial of one position at 0.
fn weight_at_zero(places: &[u8], place: u8) -> u8 {
    let others = places.iter().filter(|other| **other != place);
    others.fold(1, |product, other| {
        multiply(product, multiply(*other, inverse(place ^ other)))
    })
}

/// In AES' field, without branches on the values.
const fn multiply(left: u8, right: u8) -> u8 {
    let mut product = 0_u8;
    let mut bit = 8;
    while bit > 0 {
        bit -= 1;
        let reduced = (product << 1) ^ ((product >> 7).wrapping_neg() & 0x1b);
        product = reduced ^ ((right >> bit & 1).wrapping_neg() & left);
    }
    product
}

/// To the power of 254.
fn inverse(number: u8) -> u8 {
    let mut power = 1;
    for _ in 0..254 {
        power = multiply(power, number);
    }
    power
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn part(bytes: &[u8]) -> Zeroizing<Vec<u8>> {
        Zeroizing::new(bytes.to_vec())
    }

    #[test]
    fn parts_of_a_line_give_its_value_at_zero() {
        // y = 0x42 + 0x0b x, in the field of AES.
        let at = |x: u8| part(&[0x42 ^ multiply(0x0b, x), x]);
        for (left, right) in [(1, 2), (2, 3), (255, 7)] {
            assert_eq!(*combine(&[at(left), at(right)]).unwrap(), [0x42]);
        }
        assert_eq!(multiply(0x57, 0x83), 0xc1);
        assert!((1..=255).all(|number| multiply(number, inverse(number)) == 1));
    }

    #[test]
    fn parts_that_do_not_fit_are_refused() {
        assert_eq!(combine(&[part(b"ab")]).unwrap_err(), CombineError::TooFew);
        assert_eq!(combine(&[part(b"a"), part(b"b")]).unwrap_err(), CombineError::Short);
        assert_eq!(
            combine(&[part(b"ab"), part(b"abc")]).unwrap_err(),
            CombineError::Lengths
        );
        assert_eq!(
            combine(&[part(b"ax"), part(b"bx")]).unwrap_err(),
            CombineError::Duplicate
        );
    }
}
