//! Sizes as arguments: bytes, or with a unit of Kubernetes quantities.

use bumpwright_text::Parts;
use std::str::FromStr;

/// A number of bytes: `1000`, `500Mi`, `2G`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteSize(u64);

/// A text is not a size in bytes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a valid size; give a number of bytes above 0, with or without one of the units k, M, G, Ki, Mi, Gi"
)]
pub struct InvalidSize(String);

impl ByteSize {
    /// The number of bytes.
    #[must_use]
    pub const fn bytes(self) -> u64 {
        self.0
    }
}

impl FromStr for ByteSize {
    type Err = InvalidSize;

    fn from_str(text: &str) -> Result<Self, InvalidSize> {
        let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
        let unit: u64 = match text.tail(digits.len()) {
            "" => 1,
            "k" => 1_000,
            "M" => 1_000_000,
            "G" => 1_000_000_000,
            "Ki" => 1 << 10,
            "Mi" => 1 << 20,
            "Gi" => 1 << 30,
            _ => return Err(InvalidSize(text.to_owned())),
        };
        let bytes = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(unit));
        let bytes = bytes.filter(|bytes| *bytes > 0);
        bytes.map(Self).ok_or_else(|| InvalidSize(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        for (text, bytes) in [
            ("1", Some(1)),
            ("1000", Some(1000)),
            ("2k", Some(2000)),
            ("500Mi", Some(500 << 20)),
            ("1Gi", Some(1 << 30)),
            ("3G", Some(3_000_000_000)),
            ("0", None),
            ("", None),
            ("Mi", None),
            ("1.5Gi", None),
            ("-1", None),
            ("1 Mi", None),
            ("1mi", None),
            ("18446744073709551615Gi", None),
        ] {
            assert_eq!(text.parse::<ByteSize>().ok().map(ByteSize::bytes), bytes, "{text:?}");
        }
    }
}
