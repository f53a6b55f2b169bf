//! Go's layouts: dates written like the reference time `Mon Jan 2 15:04:05 MST 2006`.

/// The meaning of a piece of a layout. `Zero…` are two digits wide, `Under…` are padded with spaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Element {
    LongYear,
    Year,
    LongMonth,
    Month,
    NumMonth,
    ZeroMonth,
    LongWeekday,
    Weekday,
    Day,
    UnderDay,
    ZeroDay,
    UnderYearDay,
    ZeroYearDay,
    Hour,
    Hour12,
    ZeroHour12,
    Minute,
    ZeroMinute,
    Second,
    ZeroSecond,
    /// `PM`, or in lower case.
    HalfDay {
        small: bool,
    },
    /// The abbreviation: `MST`.
    ZoneName,
    Offset(Offset),
    Fraction(Fraction),
}

/// A numeric zone: `-0700`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Offset {
    /// Whether `Z` stands for UTC.
    pub z: bool,
    pub colons: bool,
    pub minutes: bool,
    pub seconds: bool,
}

/// Fractional seconds: `.000`, or `.999`, which omits trailing zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fraction {
    pub separator: u8,
    pub digits: usize,
    pub trimmed: bool,
}

/// The first element of a layout.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece<'l> {
    /// The text before it.
    pub before: &'l [u8],
    pub spelling: &'l [u8],
    /// Its meaning; `None` at the end of the layout.
    pub element: Option<Element>,
    /// The text after it.
    pub after: &'l [u8],
}

/// Finds the first element of a layout.
pub(crate) fn next_piece(layout: &[u8]) -> Piece<'_> {
    for at in 0..layout.len() {
        let (before, rest) = layout.split_at(at);
        if let Some((length, element)) = element_at(rest) {
            let (spelling, after) = rest.split_at_checked(length).unwrap_or((rest, &[]));
            return Piece {
                before,
                spelling,
                element: Some(element),
                after,
            };
        }
    }
    Piece {
        before: layout,
        spelling: &[],
        element: None,
        after: &[],
    }
}

/// The element that a layout begins with, and its length.
fn element_at(layout: &[u8]) -> Option<(usize, Element)> {
    use Element as E;
    Some(match layout {
        [b'J', b'a', b'n', b'u', b'a', b'r', b'y', ..] => (7, E::LongMonth),
        [b'J', b'a', b'n', rest @ ..] if !starts_small(rest) => (3, E::Month),
        [b'M', b'o', b'n', b'd', b'a', b'y', ..] => (6, E::LongWeekday),
        [b'M', b'o', b'n', rest @ ..] if !starts_small(rest) => (3, E::Weekday),
        [b'M', b'S', b'T', ..] => (3, E::ZoneName),
        [b'0', b'1', ..] => (2, E::ZeroMonth),
        [b'0', b'2', ..] => (2, E::ZeroDay),
        [b'0', b'3', ..] => (2, E::ZeroHour12),
        [b'0', b'4', ..] => (2, E::ZeroMinute),
        [b'0', b'5', ..] => (2, E::ZeroSecond),
        [b'0', b'6', ..] => (2, E::Year),
        [b'0', b'0', b'2', ..] => (3, E::ZeroYearDay),
        [b'1', b'5', ..] => (2, E::Hour),
        [b'1', ..] => (1, E::NumMonth),
        [b'2', b'0', b'0', b'6', ..] => (4, E::LongYear),
        [b'2', ..] => (1, E::Day),
        // An underscore before a year is literal.
        [b'_', b'2', b'0', b'0', b'6', ..] => return None,
        [b'_', b'2', ..] => (2, E::UnderDay),
        [b'_', b'_', b'2', ..] => (3, E::UnderYearDay),
        [b'3', ..] => (1, E::Hour12),
        [b'4', ..] => (1, E::Minute),
        [b'5', ..] => (1, E::Second),
        [b'P', b'M', ..] => (2, E::HalfDay { small: false }),
        [b'p', b'm', ..] => (2, E::HalfDay { small: true }),
        [sign @ (b'-' | b'Z'), rest @ ..] => {
            let (length, offset) = offset_at(*sign == b'Z', rest)?;
            (length + 1, E::Offset(offset))
        }
        [separator @ (b'.' | b','), rest @ ..] => {
            let (length, fraction) = fraction_at(*separator, rest)?;
            (length + 1, E::Fraction(fraction))
        }
        _ => return None,
    })
}

fn starts_small(text: &[u8]) -> bool {
    text.first().is_some_and(u8::is_ascii_lowercase)
}

/// The digits of an offset after its sign.
fn offset_at(z: bool, digits: &[u8]) -> Option<(usize, Offset)> {
    let forms: [(&[u8], bool, bool, bool); 5] = [
        (b"070000", false, true, true),
        (b"07:00:00", true, true, true),
        (b"0700", false, true, false),
        (b"07:00", true, true, false),
        (b"07", false, false, false),
    ];
    let (spelling, colons, minutes, seconds) = forms.into_iter().find(|(spelling, ..)| digits.starts_with(spelling))?;
    let offset = Offset {
        z,
        colons,
        minutes,
        seconds,
    };
    Some((spelling.len(), offset))
}

/// A fraction after its separator: only zeros or only nines, and no other digit after them.
fn fraction_at(separator: u8, digits: &[u8]) -> Option<(usize, Fraction)> {
    let first = *digits.first().filter(|digit| matches!(digit, b'0' | b'9'))?;
    let length = digits.iter().position(|digit| *digit != first).unwrap_or(digits.len());
    if digits.get(length).is_some_and(u8::is_ascii_digit) {
        return None;
    }
    let fraction = Fraction {
        separator,
        // Go stores the count in twelve bits.
        digits: length & 0xfff,
        trimmed: first == b'9',
    };
    Some((length, fraction))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_layouts() {
        let mut rest: &[u8] = b"Janet Jan2006_2006__2_2-07:00:00Z07-070 .0001,999 00202";
        let mut pieces = Vec::new();
        while !rest.is_empty() {
            let piece = next_piece(rest);
            pieces.push(String::from_utf8_lossy(piece.before).into_owned());
            pieces.push(String::from_utf8_lossy(piece.spelling).into_owned());
            rest = piece.after;
        }
        let expected = [
            "Janet ",
            "Jan",
            "",
            "2006",
            "_",
            "2006",
            "",
            "__2",
            "",
            "_2",
            "",
            "-07:00:00",
            "",
            "Z07",
            "",
            "-07",
            "0 .00",
            "01",
            "",
            ",999",
            " ",
            "002",
            "",
            "02",
        ];
        assert_eq!(pieces, expected);
    }
}
