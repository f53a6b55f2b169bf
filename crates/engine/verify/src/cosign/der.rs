//! The subset of DER (X.690) that keys, signatures, certificates and timestamps need: tags of one byte, definite
//! lengths in the shortest form.

/// An element of an encoding.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Element<'a> {
    pub(crate) tag: u8,
    pub(crate) content: &'a [u8],
    pub(crate) whole: &'a [u8],
}

/// The rest of an encoding.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Der<'a>(pub(crate) &'a [u8]);

pub(crate) const INTEGER: u8 = 2;
const BIT_STRING: u8 = 3;
pub(crate) const OCTET_STRING: u8 = 4;
const OBJECT_IDENTIFIER: u8 = 6;
pub(crate) const UTC_TIME: u8 = 0x17;
pub(crate) const GENERALIZED_TIME: u8 = 0x18;
pub(crate) const SEQUENCE: u8 = 0x30;
pub(crate) const SET: u8 = 0x31;

impl<'a> Der<'a> {
    /// The next element: its tag, its content, and all of its bytes.
    pub(crate) fn any(&mut self) -> Option<Element<'a>> {
        let whole = self.0;
        let (tag, rest) = self.0.split_first()?;
        let (first, rest) = rest.split_first()?;
        let (length, rest) = match first {
            0..=0x7f => (usize::from(*first), rest),
            0x81..=0x84 => {
                let (digits, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
                let length = digits.iter().fold(0, |length, digit| length << 8 | usize::from(*digit));
                // Only the shortest form is valid.
                let shortest = if digits.len() == 1 {
                    length > 0x7f
                } else {
                    digits.first() != Some(&0)
                };
                (shortest.then_some(length)?, rest)
            }
            _ => return None,
        };
        let (content, rest) = rest.split_at_checked(length)?;
        let whole = whole.get(..whole.len() - rest.len())?;
        self.0 = rest;
        Some(Element {
            tag: *tag,
            content,
            whole,
        })
    }

    /// The content of the next element, which must have this tag.
    pub(crate) fn element(&mut self, tag: u8) -> Option<&'a [u8]> {
        self.whole(tag).map(|element| element.content)
    }

    /// The next element, which must have this tag.
    pub(crate) fn whole(&mut self, tag: u8) -> Option<Element<'a>> {
        let mut ahead = *self;
        let element = ahead.any().filter(|element| element.tag == tag)?;
        *self = ahead;
        Some(element)
    }

    pub(crate) fn sequence(&mut self) -> Option<Self> {
        self.element(SEQUENCE).map(Der)
    }

    pub(crate) fn object(&mut self) -> Option<&'a [u8]> {
        self.element(OBJECT_IDENTIFIER)
    }

    /// A positive number, without the zero byte for the sign.
    pub(crate) fn number(&mut self) -> Option<&'a [u8]> {
        match self.element(INTEGER)? {
            [0, rest @ ..] if rest.first().is_some_and(|first| *first >= 0x80) => Some(rest),
            [0, ..] | [] => None,
            [first, ..] if *first >= 0x80 => None,
            number => Some(number),
        }
    }

    /// A bit string of whole bytes.
    pub(crate) fn bits(&mut self) -> Option<&'a [u8]> {
        self.element(BIT_STRING)?.strip_prefix(&[0])
    }

    pub(crate) const fn is_empty(self) -> bool {
        self.0.is_empty()
    }
}
