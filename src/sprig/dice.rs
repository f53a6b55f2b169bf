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
