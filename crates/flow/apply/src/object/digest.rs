//! Keyed digests: equal values have equal ones, and without the key nobody can try values until the digest fits.

use std::sync::Arc;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// Bytes of a digest. Finding two values with the same one needs the key.
pub(crate) const DIGEST: usize = 16;

pub(crate) type Digest = [u8; DIGEST];

/// The key of digests. The default one, of zeros, is for digests that never leave the process.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Key(Arc<[u8; 32]>);

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key")
    }
}

impl Key {
    pub(crate) fn of(bytes: [u8; 32]) -> Self {
        Self(Arc::new(bytes))
    }

    /// The digest of these parts; digests for different uses are different.
    pub(crate) fn digest(&self, what: &str, parts: &[&[u8]]) -> Digest {
        let whole = self.whole(what, parts);
        whole.first_chunk().copied().unwrap_or_default()
    }

    /// As [`Key::digest`], in full length.
    pub(crate) fn whole(&self, what: &str, parts: &[&[u8]]) -> [u8; 32] {
        let mut mac = <Hmac<Sha256>>::new(&Self::block(&self.0).into());
        for part in [what.as_bytes()].iter().chain(parts) {
            // With its length, so that the boundaries of parts count.
            mac.update(&(part.len() as u64).to_be_bytes());
            mac.update(part);
        }
        mac.finalize().into_bytes().into()
    }

    /// The key in the length of a block, as HMAC pads it.
    fn block(key: &[u8; 32]) -> [u8; 64] {
        let mut block = [0; 64];
        for (to, from) in block.iter_mut().zip(key) {
            *to = *from;
        }
        block
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_differs_has_another_digest() {
        let (key, other) = (Key::of([1; 32]), Key::of([2; 32]));
        let digests = [
            key.digest("object", &[b"ab", b"c"]),
            key.digest("object", &[b"a", b"bc"]),
            key.digest("object", &[b"abc"]),
            key.digest("version", &[b"ab", b"c"]),
            other.digest("object", &[b"ab", b"c"]),
        ];
        for (at, digest) in digests.iter().enumerate() {
            assert_eq!(digests.iter().filter(|one| *one == digest).count(), 1, "{at}");
        }
        assert_eq!(
            key.digest("object", &[b"ab", b"c"]),
            Key::of([1; 32]).digest("object", &[b"ab", b"c"])
        );
    }
}
