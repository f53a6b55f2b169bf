//! The world's random numbers for the crates that generate keys.

use bumpwright_template::World;
use chacha20::{ChaCha20Rng, rand_core::SeedableRng};
use zeroize::Zeroizing;

/// A random number generator fit for keys, seeded once by the world. The search for primes ends whatever the seed, even
/// when the world's random bytes are constant.
pub(crate) fn key_rng(world: &dyn World) -> ChaCha20Rng {
    let mut seed = Zeroizing::new([0; 32]);
    world.random(seed.as_mut());
    ChaCha20Rng::from_seed(*seed)
}
