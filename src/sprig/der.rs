//! DER, read as Go's `cryptobyte` reads certificates, and written.

/// A tag with its class and form, as in the first byte of an element.
pub(super) type Tag = u8;

pub(super) const BOOLEAN: Tag = 1;
pub(super) const INTEGER: Tag = 2;
pub(super) const BIT_STRING: Tag = 3;
pub(super) const OCTET_STRING: Tag = 4;
pub(super) const NULL: Tag = 5;
pub(super) const OID: Tag = 6;
pub(super) const UTF8_STRING: Tag = 12;
pub(super) const NUMERIC_STRING: Tag = 18;
pub(super) const PRINTABLE_STRING: Tag = 19;
pub(super) const T61_STRING: Tag = 20;
pub(super) const IA5_STRING: Tag = 22;
pub(super) const UTC_TIME: Tag = 23;
pub(super) const GENERALIZED_TIME: Tag = 24;
pub(super) const BMP_STRING: Tag = 30;
pub(super) const SEQUENCE: Tag = 0x30;
pub(super) const SET: Tag = 0x31;

/// `[NUMBER]` around something simple.
pub(super) const fn context(number: u8) -> Tag {
    0x80 | number
}

/// `[NUMBER]` around something made of elements.
pub(super) const fn context_constructed(number: u8) -> Tag {
    0xa0 | number
}

/// What is left to read. Reading moves on also where the element turns out to be another than was asked for; whoever
/// gets `None` gives up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader<'a>(pub &'a [u8]);

/// An element.
#[derive(Clone, Copy, Debug)]
pub(super) struct Element<'a> {
    pub tag: Tag,
    /// What is in it.
    pub content: &'a [u8],
    /// With tag and length.
    pub whole: &'a [u8],
}

/// A bit string.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bits<'a> {
    pub bytes: &'a [u8],
    /// Bits of the last byte that do not count.
    pub padding: u8,
}

impl<'a> Reader<'a> {
    /// Whether nothing is left.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the next element has this tag.
    pub fn peek(&self, tag: Tag) -> bool {
        self.0.first() == Some(&tag)
    }

    /// The next element.
    pub fn any(&mut self) -> Option<Element<'a>> {
        let (&tag, rest) = self.0.split_first()?;
        if tag & 0x1f == 0x1f {
            return None;
        }
        let (&first, mut rest) = rest.split_first()?;
        let mut length = usize::from(first);
        if first & 0x80 != 0 {
            let count = usize::from(first & 0x7f);
            if !(1..=4).contains(&count) {
                return None;
            }
            let (bytes, after) = rest.split_at_checked(count)?;
            if bytes.first() == Some(&0) {
                return None;
            }
            length = bytes.iter().fold(0, |length, &byte| length << 8 | usize::from(byte));
            if length < 0x80 {
                return None;
            }
            rest = after;
        }
        let (content, after) = rest.split_at_checked(length)?;
        let whole = self.0.get(..self.0.len() - after.len())?;
        self.0 = after;
        Some(Element { tag, content, whole })
    }

    /// The next element, which must have this tag.
    pub fn element(&mut self, tag: Tag) -> Option<Element<'a>> {
        self.any().filter(|element| element.tag == tag)
    }

    /// What is in the next element, which must have this tag.
    pub fn inside(&mut self, tag: Tag) -> Option<Reader<'a>> {
        self.element(tag).map(|element| Reader(element.content))
    }

    /// What is in the next element if it has this tag, or an inner `None`.
    pub fn optional(&mut self, tag: Tag) -> Option<Option<Reader<'a>>> {
        if !self.peek(tag) {
            return Some(None);
        }
        self.inside(tag).map(Some)
    }

    /// The bytes of an integer, as short as they can be.
    pub fn integer(&mut self) -> Option<&'a [u8]> {
        self.integer_tagged(INTEGER)
    }

    /// The same with another tag.
    pub fn integer_tagged(&mut self, tag: Tag) -> Option<&'a [u8]> {
        let bytes = self.inside(tag)?.0;
        is_minimal(bytes).then_some(bytes)
    }

    /// An integer that fits.
    pub fn int64(&mut self, tag: Tag) -> Option<i64> {
        int64(self.integer_tagged(tag)?)
    }

    /// A truth value.
    pub fn boolean(&mut self) -> Option<bool> {
        match self.inside(BOOLEAN)?.0 {
            [0] => Some(false),
            [0xff] => Some(true),
            _ => None,
        }
    }

    /// The content of an object identifier, whose numbers all fit into 31 bits.
    pub fn oid(&mut self) -> Option<&'a [u8]> {
        let bytes = self.inside(OID)?.0;
        oid_numbers(bytes).ok()?;
        Some(bytes)
    }

    /// A bit string.
    pub fn bits(&mut self) -> Option<Bits<'a>> {
        bits(self.inside(BIT_STRING)?.0)
    }
}

impl Bits<'_> {
    /// The bit at an index, counted from the most significant one.
    pub fn at(&self, index: usize) -> bool {
        let length = (self.bytes.len() * 8).saturating_sub(self.padding.into());
        index < length
            && self
                .bytes
                .get(index / 8)
                .is_some_and(|byte| byte >> (7 - index % 8) & 1 == 1)
    }

    /// The bytes with the padding moved to the front.
    pub fn right_aligned(&self) -> Vec<u8> {
        if self.padding == 0 {
            return self.bytes.to_vec();
        }
        let mut carried = 0_u8;
        let shift = |&byte: &u8| {
            let out = carried << (8 - self.padding) | byte >> self.padding;
            carried = byte;
            out
        };
        self.bytes.iter().map(shift).collect()
    }
}

/// A bit string out of its content.
pub(super) fn bits(content: &[u8]) -> Option<Bits<'_>> {
    let (&padding, bytes) = content.split_first()?;
    if padding > 7 {
        return None;
    }
    match bytes.last() {
        None if padding > 0 => None,
        Some(last) if last & ((1 << padding) - 1) != 0 => None,
        _ => Some(Bits { bytes, padding }),
    }
}

/// Whether an integer is written in as few bytes as it takes.
pub(super) fn is_minimal(bytes: &[u8]) -> bool {
    match bytes {
        [] => false,
        [0, second, ..] => second & 0x80 != 0,
        [0xff, second, ..] => second & 0x80 == 0,
        _ => true,
    }
}

/// A signed integer of at most eight bytes.
pub(super) fn int64(bytes: &[u8]) -> Option<i64> {
    let negative = bytes.first()? & 0x80 != 0;
    (bytes.len() <= 8).then(|| {
        let start = if negative { -1 } else { 0 };
        bytes.iter().fold(start, |number, &byte| number << 8 | i64::from(byte))
    })
}

/// A number of seven bits a byte, and what is after it; Go's text if it is none that Go takes.
pub(super) fn base128(bytes: &[u8]) -> Result<(u32, &[u8]), &'static str> {
    const TOO_LARGE: &str = "asn1: structure error: base 128 integer too large";
    const LONGEST: usize = 5;
    let mut number = 0_u64;
    for (index, &byte) in bytes.iter().enumerate() {
        if index == LONGEST {
            return Err(TOO_LARGE);
        }
        if index == 0 && byte == 0x80 {
            return Err("asn1: syntax error: integer is not minimally encoded");
        }
        number = number << 7 | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return match i32::try_from(number) {
                Ok(_) => Ok((number as u32, bytes.get(index + 1..).unwrap_or_default())),
                Err(_) => Err(TOO_LARGE),
            };
        }
    }
    Err("asn1: syntax error: truncated base 128 integer")
}

/// The numbers of an object identifier, the first two of which share one.
pub(super) fn oid_numbers(content: &[u8]) -> Result<Vec<u32>, &'static str> {
    if content.is_empty() {
        return Err("asn1: syntax error: zero length OBJECT IDENTIFIER");
    }
    let mut numbers = Vec::new();
    let mut rest = content;
    while !rest.is_empty() {
        let (number, after) = base128(rest)?;
        if numbers.is_empty() {
            let root = (number / 40).min(2);
            numbers.extend([root, number - root * 40]);
        } else {
            numbers.push(number);
        }
        rest = after;
    }
    Ok(numbers)
}

/// An object identifier with dots.
pub(super) fn oid_text(content: &[u8]) -> String {
    let numbers = oid_numbers(content).unwrap_or_default();
    let texts: Vec<String> = numbers.iter().map(u32::to_string).collect();
    texts.join(".")
}

/// An element.
pub(super) fn element(tag: Tag, content: &[u8]) -> Vec<u8> {
    let length = content.len();
    let mut out = Vec::with_capacity(length + 10);
    out.push(tag);
    if length < 0x80 {
        out.push(length as u8);
    } else {
        let bytes = length.to_be_bytes();
        let skip = bytes.iter().take_while(|&&byte| byte == 0).count();
        out.push(0x80 | (bytes.len() - skip) as u8);
        out.extend(bytes.iter().skip(skip));
    }
    out.extend_from_slice(content);
    out
}

/// A sequence of elements.
pub(super) fn sequence<P: AsRef<[u8]>>(parts: &[P]) -> Vec<u8> {
    constructed(SEQUENCE, parts)
}

/// An element made of others.
pub(super) fn constructed<P: AsRef<[u8]>>(tag: Tag, parts: &[P]) -> Vec<u8> {
    let content = zeroize::Zeroizing::new(parts.iter().fold(Vec::new(), |mut content, part| {
        content.extend_from_slice(part.as_ref());
        content
    }));
    element(tag, &content)
}

/// A number that is not negative, from its bytes.
pub(super) fn unsigned(bytes: &[u8]) -> Vec<u8> {
    let zeros = bytes.iter().take_while(|&&byte| byte == 0).count();
    let bytes = bytes.get(zeros..).unwrap_or_default();
    let signed = bytes.first().is_none_or(|first| first & 0x80 != 0);
    let content = zeroize::Zeroizing::new([if signed { [0].as_slice() } else { &[] }, bytes].concat());
    element(INTEGER, &content)
}

/// A bit string of whole bytes.
pub(super) fn bit_string(bytes: &[u8]) -> Vec<u8> {
    element(BIT_STRING, &[&[0], bytes].concat())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

    use super::*;

    #[test]
    fn lengths_are_as_short_as_they_can_be() {
        for length in [0, 1, 127, 128, 255, 256, 65_535, 65_536] {
            let written = element(OCTET_STRING, &vec![9; length]);
            let mut reader = Reader(&written);
            assert_eq!(reader.inside(OCTET_STRING).unwrap().0.len(), length);
            assert!(reader.is_empty());
        }
        for bad in [
            &[4, 0x81, 1, 0][..],
            &[4, 0x82, 0, 128],
            &[4, 0x80],
            &[4, 0x85, 0, 0, 0, 0, 0],
            &[4, 2, 0],
            &[0x1f, 0],
            &[4],
        ] {
            assert!(Reader(bad).any().is_none(), "{bad:?}");
        }
    }

    #[test]
    fn numbers_and_identifiers() {
        assert_eq!(unsigned(&[0, 0, 0x80]), [2, 2, 0, 0x80]);
        assert_eq!(unsigned(&[]), [2, 1, 0]);
        assert_eq!(int64(&[0xff]), Some(-1));
        assert_eq!(int64(&[0x01, 0x00]), Some(256));
        assert_eq!(oid_text(&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d]), "1.2.840.113549");
        assert_eq!(oid_text(&[0x88, 0x37]), "2.999");
        for bad in [
            &[][..],
            &[0x80, 1],
            &[0x2a, 0x86],
            &[0x2a, 0x8f, 0xff, 0xff, 0xff, 0x7f],
        ] {
            assert!(oid_numbers(bad).is_err(), "{bad:?}");
        }
    }
}
