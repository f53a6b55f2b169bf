//! Deltas: an object as pieces of another one and new bytes (gitformat-pack, *Deltified representation*).

/// Why a delta cannot be applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum DeltaError {
    /// Made for another base.
    #[error("it is for a base of another size")]
    Base,
    /// Ends inside an instruction, or makes fewer or more bytes than announced.
    #[error("it does not make the size that it announces")]
    Length,
    /// Copies from outside of the base.
    #[error("it copies from behind the end of its base")]
    Range,
    /// Has an undefined instruction.
    #[error("it has an instruction that does not exist")]
    Instruction,
}

/// A delta with its parsed header.
#[derive(Debug)]
pub(crate) struct Delta<'a> {
    instructions: &'a [u8],
    /// The size of the result, as announced.
    pub(crate) size: u64,
}

impl<'a> Delta<'a> {
    /// Parses the header of a delta on a base of `base` bytes.
    pub(crate) fn read(mut data: &'a [u8], base: usize) -> Result<Self, DeltaError> {
        let said = size(&mut data)?;
        let size = size(&mut data)?;
        if u64::try_from(base) != Ok(said) {
            return Err(DeltaError::Base);
        }
        Ok(Self {
            instructions: data,
            size,
        })
    }

    /// Applies it to `base` and appends the result to `out`, which is empty.
    pub(crate) fn apply(&self, base: &[u8], out: &mut Vec<u8>) -> Result<(), DeltaError> {
        let mut rest = self.instructions;
        while let Some((&instruction, after)) = rest.split_first() {
            rest = after;
            let piece = if instruction & 0x80 != 0 {
                let (start, length) = copied(instruction, &mut rest)?;
                let end = start.checked_add(length).ok_or(DeltaError::Range)?;
                base.get(start..end).ok_or(DeltaError::Range)?
            } else if instruction == 0 {
                return Err(DeltaError::Instruction);
            } else {
                let (new, after) = rest
                    .split_at_checked(usize::from(instruction))
                    .ok_or(DeltaError::Length)?;
                rest = after;
                new
            };
            let room = self.size.saturating_sub(length_of(out));
            if length_of(piece) > room {
                return Err(DeltaError::Length);
            }
            out.extend_from_slice(piece);
        }
        if length_of(out) == self.size {
            Ok(())
        } else {
            Err(DeltaError::Length)
        }
    }
}

fn length_of(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}

/// Reads a number in groups of seven bits, the least significant first.
pub(crate) fn size(data: &mut &[u8]) -> Result<u64, DeltaError> {
    let mut value = 0_u64;
    for shift in (0..63).step_by(7) {
        let byte = next(data)?;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(DeltaError::Length)
}

/// Reads offset and length of a copy: of four and three bytes those are present whose bits are set.
pub(crate) fn copied(instruction: u8, data: &mut &[u8]) -> Result<(usize, usize), DeltaError> {
    let mut number = |bits: std::ops::Range<u8>| {
        let mut value = 0_usize;
        for (place, bit) in bits.enumerate() {
            if instruction & (1 << bit) != 0 {
                value |= usize::from(next(data)?) << (8 * place);
            }
        }
        Ok(value)
    };
    let start = number(0..4)?;
    let length = number(4..7)?;
    Ok((start, if length == 0 { 0x1_0000 } else { length }))
}

fn next(data: &mut &[u8]) -> Result<u8, DeltaError> {
    let (&first, rest) = data.split_first().ok_or(DeltaError::Length)?;
    *data = rest;
    Ok(first)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn applied(delta: &[u8], base: &[u8]) -> Result<Vec<u8>, DeltaError> {
        let mut out = Vec::new();
        Delta::read(delta, base.len())?.apply(base, &mut out)?;
        Ok(out)
    }

    #[test]
    fn copies_and_new_bytes() {
        // Copy 5 from 6, insert "!!", copy 2 from 0.
        let delta = [11, 9, 0b1001_0001, 6, 5, 2, b'!', b'!', 0b1001_0000, 2];
        assert_eq!(applied(&delta, b"hello world").unwrap(), b"world!!he");
        let base = vec![7; 0x1_0000];
        // A length that is left out is 64 KiB.
        assert_eq!(applied(&[0x80, 0x80, 4, 0x80, 0x80, 4, 0x80], &base).unwrap(), base);
    }

    #[test]
    fn what_does_not_fit_is_told_apart() {
        for (delta, error) in [
            (&[4, 1, 1, b'x'][..], DeltaError::Base),
            (&[5, 2, 1, b'x'], DeltaError::Length),
            (&[5, 1, 2, b'x', b'x'], DeltaError::Length),
            (&[5, 9, 2, b'x'], DeltaError::Length),
            (&[5, 1, 0x91, 5, 1], DeltaError::Range),
            (&[5, 1, 0x9f, 255, 255, 255, 255, 1], DeltaError::Range),
            (&[5, 1, 0], DeltaError::Instruction),
            (&[5], DeltaError::Length),
            (&[0xff; 12], DeltaError::Length),
        ] {
            assert_eq!(applied(delta, b"hello").unwrap_err(), error, "{delta:?}");
        }
    }

    proptest! {
        #[test]
        fn anything_comes_back(delta in prop::collection::vec(any::<u8>(), 0..60), base in prop::collection::vec(any::<u8>(), 0..40)) {
            let mut head = vec![u8::try_from(base.len()).unwrap(), 50];
            head.extend(&delta);
            for delta in [&delta, &head] {
                if let Ok(out) = applied(delta, &base) {
                    prop_assert!(out.len() < 1 << 30);
                }
            }
        }
    }
}
