//! Natural order of names with numbers: `b9` before `b10`.

use std::cmp::Ordering;

/// Compares runs of digits by value and everything else by bytes; ties (`1`, `01`) by bytes.
#[must_use]
pub fn compare_naturally(left: &str, right: &str) -> Ordering {
    let (mut this, mut other) = (left.as_bytes(), right.as_bytes());
    loop {
        let (number, other_number) = (take_digits(&mut this), take_digits(&mut other));
        let order = number.len().cmp(&other_number.len()).then(number.cmp(other_number));
        if order.is_ne() {
            return order;
        }
        match (this.split_first(), other.split_first()) {
            (Some((first, rest)), Some((second, others))) if first == second => {
                this = rest;
                other = others;
            }
            (None, None) => return left.cmp(right),
            (first, second) => return first.map(|(byte, _)| byte).cmp(&second.map(|(byte, _)| byte)),
        }
    }
}

/// Takes the digits from the front; returns them without leading zeros.
fn take_digits<'t>(text: &mut &'t [u8]) -> &'t [u8] {
    let end = text.iter().position(|byte| !byte.is_ascii_digit());
    let (mut digits, rest) = text.split_at(end.unwrap_or(text.len()));
    *text = rest;
    while let Some(shorter) = digits.strip_prefix(b"0") {
        digits = shorter;
    }
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_count_by_value() {
        let values = [
            "",
            "0",
            "00",
            "1",
            "01",
            "9",
            "10",
            "+b",
            "1.0.0+b",
            "1.0.0+b9",
            "1.0.0+b10",
            "b",
            "b99999999999999999999999",
            "é",
        ];
        for (at, low) in values.iter().enumerate() {
            for (other, high) in values.iter().enumerate() {
                assert_eq!(
                    compare_naturally(low, high) == Ordering::Equal,
                    at == other,
                    "{low} {high}"
                );
                assert_eq!(
                    compare_naturally(low, high),
                    compare_naturally(high, low).reverse(),
                    "{low} {high}"
                );
            }
        }
        for (low, high) in [
            ("b9", "b10"),
            ("a", "b"),
            ("01", "1"),
            ("1.0.0+b", "1.0.0+b1"),
            ("1-2", "1-10"),
            ("a10", "b9"),
        ] {
            assert_eq!(compare_naturally(low, high), Ordering::Less, "{low} {high}");
        }
    }
}
