//! The world's randomness as the key-making crates want it.

use bumpwright_template::World;
use chacha20::{ChaCha20Rng, rand_core::SeedableRng};
use zeroize::Zeroizing;

/// A stream of random numbers fit for keys, out of one seed of the world's. The search for primes comes to its end
/// whatever the seed, even when the world's key_rng always show the same.
pub(super) fn key_rng(world: &dyn World) -> ChaCha20Rng {
    let mut seed = Zeroizing::new([0; 32]);
    world.random(seed.as_mut());
    ChaCha20Rng::from_seed(*seed)
}
