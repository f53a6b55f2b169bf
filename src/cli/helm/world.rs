//! The clock and the random numbers of templates.

use crate::cli::images::now;
use bumpwright_template::World;

/// Those of this machine.
pub(in crate::cli) struct Machine;

impl World for Machine {
    fn now(&self) -> (i64, u32) {
        let now = now();
        (now.unix_seconds(), now.nanoseconds)
    }

    fn random(&self, buffer: &mut [u8]) {
        if getrandom::fill(buffer).is_err() {
            // Keys without randomness would be worse than an abort.
            std::process::abort();
        }
    }
}
