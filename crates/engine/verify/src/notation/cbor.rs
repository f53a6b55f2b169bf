//! CBOR (RFC 8949) as far as envelopes need it: definite lengths, whole numbers, no maps with a key twice.

/// Greatest depth, greatest number of items of an array or map, and of values in all: each of a byte takes
/// forty times as much.
const MAX_DEPTH: usize = 8;
const MAX_ITEMS: u64 = 256;
const MAX_VALUES: usize = 4096;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value<'a> {
    Number(i64),
    Bytes(&'a [u8]),
    Text(&'a str),
    Array(Vec<Self>),
    Map(Vec<(Self, Self)>),
    Tag(u64, Box<Self>),
    /// A truth value, nothing, or a fraction.
    Other,
}

impl<'a> Value<'a> {
    /// Reads a value that is all of the bytes.
    pub(super) fn read(bytes: &'a [u8]) -> Option<Self> {
        let (mut rest, mut left) = (bytes, MAX_VALUES);
        let value = read(&mut rest, 0, &mut left)?;
        rest.is_empty().then_some(value)
    }

    /// The value of a key.
    pub(super) fn get(&self, key: &Self) -> Option<&Self> {
        match self {
            Self::Map(pairs) => pairs.iter().find(|(known, _)| known == key).map(|(_, value)| value),
            _ => None,
        }
    }

    pub(super) fn bytes(&self) -> Option<&'a [u8]> {
        match self {
            Self::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    pub(super) fn text(&self) -> Option<&'a str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// Reads a value; `left` is how many more there may be.
fn read<'a>(rest: &mut &'a [u8], depth: usize, left: &mut usize) -> Option<Value<'a>> {
    *left = left.checked_sub(1)?;
    let (first, after) = rest.split_first()?;
    *rest = after;
    let (kind, short) = (first >> 5, first & 0x1f);
    let number = match short {
        0..=23 => u64::from(short),
        24..=27 => {
            let (digits, after) = rest.split_at_checked(1 << (short - 24))?;
            *rest = after;
            digits.iter().fold(0, |number, digit| number << 8 | u64::from(*digit))
        }
        _ => return None,
    };
    let mut bytes = |length: u64| {
        let (bytes, after) = rest.split_at_checked(usize::try_from(length).ok()?)?;
        *rest = after;
        Some(bytes)
    };
    if depth > MAX_DEPTH || matches!(kind, 4 | 5) && number > MAX_ITEMS {
        return None;
    }
    Some(match kind {
        0 => Value::Number(i64::try_from(number).ok()?),
        1 => Value::Number(-1 - i64::try_from(number).ok()?),
        2 => Value::Bytes(bytes(number)?),
        3 => Value::Text(std::str::from_utf8(bytes(number)?).ok()?),
        4 => Value::Array(
            (0..number)
                .map(|_| read(rest, depth + 1, left))
                .collect::<Option<_>>()?,
        ),
        5 => {
            let mut pairs: Vec<(Value<'a>, Value<'a>)> = Vec::new();
            for _ in 0..number {
                let (key, value) = (read(rest, depth + 1, left)?, read(rest, depth + 1, left)?);
                if pairs.iter().any(|(known, _)| *known == key) {
                    return None;
                }
                pairs.push((key, value));
            }
            Value::Map(pairs)
        }
        6 => Value::Tag(number, Box::new(read(rest, depth + 1, left)?)),
        _ => Value::Other,
    })
}

/// Bytes, with their length before them.
pub(super) fn encoded(bytes: &[u8]) -> Vec<u8> {
    let length = bytes.len() as u64;
    let mut out = match length {
        0..=23 => vec![0x40 | length as u8],
        24..=0xff => vec![0x58, length as u8],
        0x100..=0xffff => [&[0x59][..], &(length as u16).to_be_bytes()].concat(),
        _ => [&[0x5a][..], &(length as u32).to_be_bytes()].concat(),
    };
    out.extend_from_slice(bytes);
    out
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn all_values_together_have_a_bound() {
        let row = [&[0x98, 100][..], &[0; 100]].concat();
        let table = |rows: u8| [&[0x98, rows][..], &row.repeat(rows.into())].concat();
        assert!(Value::read(&table(40)).is_some());
        assert_eq!(Value::read(&table(41)), None);
    }

    #[test]
    fn values_are_read_whole_or_not_at_all() {
        let read = |bytes: &'static [u8]| Value::read(bytes);
        assert_eq!(read(&[0x18, 0x21]), Some(Value::Number(33)));
        assert_eq!(read(&[0x38, 0x24]), Some(Value::Number(-37)));
        assert_eq!(
            read(&[0x82, 0x61, b'a', 0x41, 1]),
            Some(Value::Array(vec![Value::Text("a"), Value::Bytes(&[1])]))
        );
        let map = read(&[0xa1, 1, 0xc1, 0x1a, 0, 0, 0, 5]).unwrap();
        assert_eq!(
            map.get(&Value::Number(1)),
            Some(&Value::Tag(1, Box::new(Value::Number(5))))
        );
        for wrong in [
            &[][..],
            &[0x01, 0x01],
            &[0x42, 1],
            &[0x5f, 0x41, 1, 0xff],
            &[0xa2, 1, 1, 1, 2],
            &[0x61, 0xff],
            &[0x9b, 255, 255, 255, 255, 255, 255, 255, 255],
            &[0x1b, 255, 255, 255, 255, 255, 255, 255, 255],
            &[0x81; 20],
        ] {
            assert_eq!(read(wrong), None, "{wrong:?}");
        }
        for length in [0, 23, 24, 255, 256, 65_536] {
            let bytes = vec![7; length];
            assert_eq!(Value::read(&encoded(&bytes)), Some(Value::Bytes(&bytes)), "{length}");
        }
    }
}
