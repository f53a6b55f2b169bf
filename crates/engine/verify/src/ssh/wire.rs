//! The wire format of SSH (RFC 4251, 5): strings and numbers with their lengths.

/// The rest of a message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wire<'a>(pub(super) &'a [u8]);

pub(super) fn push(to: &mut Vec<u8>, string: &[u8]) {
    let length = u32::try_from(string.len()).unwrap_or(u32::MAX);
    to.extend_from_slice(&length.to_be_bytes());
    to.extend_from_slice(string);
}

impl<'a> Wire<'a> {
    pub(super) fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    pub(super) fn u8(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        Some(u32::from_be_bytes(self.take(4)?.try_into().ok()?))
    }

    pub(super) fn string(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.u32()?).ok()?;
        self.take(length)
    }

    pub(super) fn text(&mut self) -> Option<&'a str> {
        std::str::from_utf8(self.string()?).ok()
    }

    /// A non-negative number.
    pub(super) fn number(&mut self) -> Option<&'a [u8]> {
        self.string()
            .filter(|bytes| bytes.first().is_none_or(|first| *first < 0x80))
    }

    /// `None` unless everything was read.
    pub(super) const fn end(self) -> Option<()> {
        if self.0.is_empty() { Some(()) } else { None }
    }
}
