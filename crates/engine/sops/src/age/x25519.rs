//! age's own keys: X25519.

use chacha20poly1305::{ChaCha20Poly1305, KeyInit};
use hkdf::Hkdf;
use sha2::Sha256;
use x25519_dalek::{PublicKey, SharedSecret, StaticSecret};
use zeroize::Zeroizing;

use super::error::UnwrapError;
use super::header::Stanza;
use super::stream::{TAG, open_once};
use super::strict_base64;
use super::unwrap::Unwrap;

const LABEL: &[u8] = b"age-encryption.org/v1/X25519";
/// Bytes of a file key.
pub(super) const FILE_KEY: usize = 16;

/// A secret key with its public half.
pub(super) struct X25519Key {
    secret: StaticSecret,
    public: PublicKey,
}

impl X25519Key {
    pub(super) fn new(secret: &[u8]) -> Option<Self> {
        let bytes = Zeroizing::new(<[u8; 32]>::try_from(secret).ok()?);
        let secret = StaticSecret::from(*bytes);
        let public = PublicKey::from(&secret);
        Some(Self { secret, public })
    }

    pub(super) fn unwrap(&self, stanza: &Stanza) -> Unwrap {
        if stanza.kind != "X25519" {
            return Unwrap::NotMine;
        }
        let [share] = stanza.arguments.as_slice() else {
            return Unwrap::Failed(UnwrapError::Arguments("X25519"));
        };
        let share = match strict_base64(share.as_bytes(), false) {
            Ok(share) => share,
            Err(problem) => {
                let kind = "X25519";
                return Unwrap::Failed(UnwrapError::Share { kind, problem });
            }
        };
        let Ok(share) = <[u8; 32]>::try_from(share) else {
            return Unwrap::Failed(UnwrapError::Arguments("X25519"));
        };
        let Some(shared) = agreed(&self.secret, share) else {
            return Unwrap::Failed(UnwrapError::LowOrder);
        };
        if stanza.body.len() != FILE_KEY + TAG {
            return Unwrap::Failed(UnwrapError::FileKeySize);
        }
        match open_wrapped(shared.as_bytes(), &share, self.public.as_bytes(), LABEL, &stanza.body) {
            Some(key) => Unwrap::Done(key),
            None => Unwrap::NotMine,
        }
    }
}

/// The shared secret, unless the other's share is a low-order point.
pub(super) fn agreed(secret: &StaticSecret, share: [u8; 32]) -> Option<SharedSecret> {
    let shared = secret.diffie_hellman(&PublicKey::from(share));
    shared.was_contributory().then_some(shared)
}

/// Decrypts a file key with a key derived from a shared secret and both shares.
pub(super) fn open_wrapped(
    shared: &[u8],
    theirs: &[u8; 32],
    ours: &[u8; 32],
    label: &[u8],
    body: &[u8],
) -> Option<Zeroizing<Vec<u8>>> {
    let salt = [theirs.as_slice(), ours].concat();
    let mut key = Zeroizing::new([0; 32]);
    Hkdf::<Sha256>::new(Some(&salt), shared).expand(label, &mut *key).ok()?;
    open_once(&ChaCha20Poly1305::new((&*key).into()), &[0; 12], body)
}
