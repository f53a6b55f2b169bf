//! Chance that can be repeated: where two states are compared, equal inputs must give equal bytes.

use bumpwright_template::World;
use sha2::{Digest as _, Sha256};
use std::cell::RefCell;

/// 2000-01-01T00:00:00Z
const NOW: i64 = 946_684_800;

/// A clock that stands still, and random bytes that depend on a seed, the template and what was asked before in it.
///
/// The seed is to name the release: two releases of a chart must not get one password. Nothing of it is secret. All RSA
/// keys of a length are one, since their primes take a large part of a rendering.
#[derive(Debug)]
pub struct Seeded {
    seed: [u8; 32],
    state: RefCell<(Sha256, u64)>,
}

impl Seeded {
    /// Chance by a seed.
    #[must_use]
    pub fn new(seed: &[u8]) -> Self {
        let seed: [u8; 32] = Sha256::digest(seed).into();
        let state = (Sha256::new_with_prefix(seed), 0);
        Self {
            seed,
            state: RefCell::new(state),
        }
    }
}

impl World for Seeded {
    fn now(&self) -> (i64, u32) {
        (NOW, 0)
    }

    fn random(&self, buffer: &mut [u8]) {
        let (hash, counter) = &mut *self.state.borrow_mut();
        for chunk in buffer.chunks_mut(32) {
            *counter += 1;
            let block = hash.clone().chain_update(counter.to_le_bytes()).finalize();
            for (byte, random) in chunk.iter_mut().zip(block) {
                *byte = random;
            }
        }
    }

    fn is_repeated(&self) -> bool {
        true
    }

    fn begin(&self, template: &str) {
        let hash = Sha256::new_with_prefix(self.seed).chain_update(template.as_bytes());
        self.state.replace((hash, 0));
    }
}

#[cfg(test)]
mod tests {
    use super::Seeded;
    use bumpwright_template::World as _;

    #[test]
    fn each_template_has_its_own_sequence_whatever_ran_before() {
        let bytes = |world: &Seeded| {
            let mut bytes = [0; 40];
            world.random(&mut bytes);
            bytes
        };
        let (one, other) = (Seeded::new(b"a/web"), Seeded::new(b"a/web"));
        one.begin("a.yaml");
        bytes(&one);
        one.begin("b.yaml");
        other.begin("b.yaml");
        let first = bytes(&one);
        assert_eq!(first, bytes(&other));
        assert_ne!(first, bytes(&one));
        assert_ne!(first[..8], first[32..]);
        let third = Seeded::new(b"b/web");
        third.begin("b.yaml");
        assert_ne!(first, bytes(&third));
    }
}
