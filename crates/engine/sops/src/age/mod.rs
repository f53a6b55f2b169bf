//! Decrypts age files: armor, header, payload, and identities.
//!
//! Only for data keys of 32 bytes: the format is small, and the errors must be age's own.

mod armor;
mod bech32;
mod error;
mod header;
mod hybrid;
mod identity;
mod ssh;
mod stream;
mod unwrap;
mod x25519;

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::general_purpose::{GeneralPurpose, NO_PAD, PAD};

use bumpwright_gostd::CorruptInput;
pub use identity::{Identities, IdentityError};
pub use ssh::SshKeyError;

/// Base64 with a unique spelling.
fn strict_base64(text: &[u8], padded: bool) -> Result<Vec<u8>, CorruptInput> {
    let config = if padded { PAD } else { NO_PAD };
    GeneralPurpose::new(&STANDARD, config).decode(text).map_err(|error| {
        CorruptInput(match error {
            base64::DecodeError::InvalidByte(at, _) | base64::DecodeError::InvalidLastSymbol { offset: at, .. } => at,
            // Go reports the start of the last four characters.
            _ => text.len() / 4 * 4,
        })
    })
}
