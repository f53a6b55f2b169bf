//! age files opened: armour, header, payload, and the identities that they are opened with.
//!
//! A reader only, for data keys of 32 bytes: the format is small, and the errors are to be age's own.

mod armor;
mod bech32;
mod header;
mod hybrid;
mod identity;
mod ssh;
mod stream;
mod x25519;

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::general_purpose::{GeneralPurpose, NO_PAD, PAD};

pub use identity::{Identities, IdentityError};
pub use ssh::SshKeyError;

/// Base64 without anything that could be spelled otherwise.
fn strict_base64(text: &[u8], padded: bool) -> Result<Vec<u8>, String> {
    let config = if padded { PAD } else { NO_PAD };
    GeneralPurpose::new(&STANDARD, config).decode(text).map_err(|error| {
        let at = match error {
            base64::DecodeError::InvalidByte(at, _) | base64::DecodeError::InvalidLastSymbol { offset: at, .. } => at,
            // Go tells where the last four characters begin.
            _ => text.len() / 4 * 4,
        };
        format!("illegal base64 data at input byte {at}")
    })
}
