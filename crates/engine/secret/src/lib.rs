//! A string for passwords, tokens and private keys, which is never printed and is wiped on drop.

#![warn(clippy::disallowed_methods, clippy::disallowed_types)]

use std::fmt;

use zeroize::Zeroizing;

/// How much of a stack is wiped, in bytes; decrypting and building take some 25 KB of it.
const STACK: usize = 64 << 10;

/// Overwrites what earlier calls have left on the stack below the caller: copies that were moved, and the blocks
/// of ciphers and hashers.
#[inline(never)]
pub fn wipe_stack() {
    let mut below = [0_u8; STACK];
    std::hint::black_box(&mut below);
}

/// A secret text. Its memory is overwritten on drop, `Debug` prints `***`, and `Display` is not implemented.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// Takes ownership of a text.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(Zeroizing::new(text.into()))
    }

    /// The text, for the code that sends or parses it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether the text is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

impl From<&str> for Secret {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_hides_the_text() {
        let shown = format!("{:?} {:?}", Secret::new("hunter2"), Some(Secret::from("x")));
        assert_eq!(shown, "*** Some(***)");
    }
}
