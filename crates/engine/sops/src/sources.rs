//! Files that generators and patches read: encrypted ones are decrypted before a build (K-152 … K-154).

use super::file::{DecryptError, Integrity, decrypt};
use super::key::service::KeyService;
use super::store::format::Format;
use zeroize::Zeroizing;

/// Maximum size of an encrypted file in bytes.
pub const MAX_FILE_SIZE: usize = 5 << 20;

/// Why a file cannot be decrypted, in kustomize-controller's words.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum SourceError {
    /// Larger than [`MAX_FILE_SIZE`].
    #[error("cannot decrypt file with size ({0} bytes) exceeding limit ({MAX_FILE_SIZE})")]
    Large(usize),
    /// It is encrypted and cannot be decrypted.
    #[error(transparent)]
    Decrypt(#[from] DecryptError),
}

/// Decrypts a file in the format of its name, if it looks encrypted in it.
///
/// # Errors
/// For encrypted files that cannot be decrypted, and for all above [`MAX_FILE_SIZE`].
pub fn decrypt_file(
    bytes: &[u8],
    format: Format,
    service: &dyn KeyService,
) -> Result<Option<Zeroizing<Vec<u8>>>, SourceError> {
    if bytes.len() > MAX_FILE_SIZE {
        return Err(SourceError::Large(bytes.len()));
    }
    if format.is_marked(bytes) {
        Ok(Some(decrypt(bytes, format, format, service, Integrity::Checked)?))
    } else {
        Ok(None)
    }
}
