//! The world's randomness as the key-making crates want it.

use crate::template::World;
use std::{convert::Infallible, fmt};

/// Random bytes fit for keys.
pub(super) struct Dice<'w>(pub &'w dyn World);

impl rand_core::TryRng for Dice<'_> {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        let mut bytes = [0; 4];
        self.0.random(&mut bytes);
        Ok(u32::from_le_bytes(bytes))
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let mut bytes = [0; 8];
        self.0.random(&mut bytes);
        Ok(u64::from_le_bytes(bytes))
    }

    fn try_fill_bytes(&mut self, buffer: &mut [u8]) -> Result<(), Infallible> {
        self.0.random(buffer);
        Ok(())
    }
}

impl rand_core::TryCryptoRng for Dice<'_> {}

impl fmt::Debug for Dice<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Dice")
    }
}

#[cfg(test)]
pub(super) mod tests {
    //! Dice for the tests that look for primes: those would look for ever if the dice always showed the same.

    use crate::template::World;
    use std::cell::Cell;

    /// Numbers that look random, by SplitMix64.
    #[derive(Debug, Default)]
    pub(in crate::sprig) struct LoadedDice(Cell<u64>);

    impl World for LoadedDice {
        fn now(&self) -> (i64, u32) {
            (1_700_000_000, 0)
        }

        fn random(&self, buffer: &mut [u8]) {
            for byte in buffer {
                self.0.set(self.0.get().wrapping_add(0x9e37_79b9_7f4a_7c15));
                let mixed = (self.0.get() ^ self.0.get() >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                *byte = ((mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb) >> 56) as u8;
            }
        }
    }
}
