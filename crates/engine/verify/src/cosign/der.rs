//! The subset of DER (X.690) that public keys and ECDSA signatures need.

/// The rest of an encoding.
#[derive(Clone, Copy, Debug)]
pub(super) struct Der<'a>(pub(super) &'a [u8]);

const INTEGER: u8 = 2;
const BIT_STRING: u8 = 3;
const OBJECT_IDENTIFIER: u8 = 6;
const SEQUENCE: u8 = 0x30;

impl<'a> Der<'a> {
    /// The content of the next element, which must have this tag.
    fn element(&mut self, tag: u8) -> Option<&'a [u8]> {
        let (found, rest) = self.0.split_first()?;
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
        if *found != tag {
            return None;
        }
        self.0 = rest;
        Some(content)
    }

    pub(super) fn sequence(&mut self) -> Option<Self> {
        self.element(SEQUENCE).map(Der)
    }

    pub(super) fn object(&mut self) -> Option<&'a [u8]> {
        self.element(OBJECT_IDENTIFIER)
    }

    /// A positive number, without the zero byte for the sign.
    pub(super) fn number(&mut self) -> Option<&'a [u8]> {
        match self.element(INTEGER)? {
            [0, rest @ ..] if rest.first().is_some_and(|first| *first >= 0x80) => Some(rest),
            [0, ..] | [] => None,
            [first, ..] if *first >= 0x80 => None,
            number => Some(number),
        }
    }

    /// A bit string of whole bytes.
    pub(super) fn bits(&mut self) -> Option<&'a [u8]> {
        self.element(BIT_STRING)?.strip_prefix(&[0])
    }

    pub(super) const fn is_empty(self) -> bool {
        self.0.is_empty()
    }
}
