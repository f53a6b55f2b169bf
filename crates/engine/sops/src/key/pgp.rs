//! OpenPGP: the keys of `.asc` entries, and decryption of data keys with them. Upstream runs gpg with a folder of its
//! own; here the keys stay in memory, and errors are in gpg's words.

use super::service::KeyError;
use bumpwright_text::Parts;
use sequoia_openpgp as openpgp;

use openpgp::KeyHandle;
use openpgp::cert::{Cert, CertParser};
use openpgp::crypto::SessionKey;
use openpgp::packet::key::SecretKeyMaterial;
use openpgp::packet::{PKESK, SKESK};
use openpgp::parse::Parse as _;
use openpgp::parse::stream::{DecryptionHelper, DecryptorBuilder, MessageStructure, VerificationHelper};
use openpgp::policy::StandardPolicy;
use openpgp::types::{PublicKeyAlgorithm, SymmetricAlgorithm};
use std::io::Read as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::UNIX_EPOCH;
use zeroize::Zeroizing;

/// A larger message is a decompression bomb: no data key is that long.
const MAX_PLAIN: u64 = 64 * 1024;
const BEGIN: &str = "-----BEGIN PGP ";

/// Certificates with their secret keys. They can be used but not printed.
#[derive(Default)]
pub struct PgpKeys(Vec<Cert>);

/// An entry without an OpenPGP key, in gpg's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "failed to import armored key data into GnuPG keyring (exit status 2): gpg: no valid OpenPGP data found.\ngpg: Total \
     number processed: 0"
)]
pub struct PgpImportError;

impl PgpKeys {
    /// Adds the keys of an `.asc` entry: armored blocks, one after the other, or plain packets. Certificates without
    /// secret keys are accepted but useless.
    ///
    /// # Errors
    /// For text without any key.
    pub fn import(&mut self, bytes: &[u8]) -> Result<(), PgpImportError> {
        let before = self.0.len();
        match std::str::from_utf8(bytes) {
            Ok(text) => {
                let starts: Vec<usize> = text.match_indices(BEGIN).map(|(at, _)| at).collect();
                let ends = starts.iter().copied().skip(1).chain([text.len()]);
                for (start, end) in starts.iter().zip(ends) {
                    self.add(text.part(*start..end).as_bytes());
                }
            }
            Err(_) => self.add(bytes),
        }
        if self.0.len() > before {
            Ok(())
        } else {
            Err(PgpImportError)
        }
    }

    fn add(&mut self, bytes: &[u8]) {
        if let Ok(certs) = CertParser::from_bytes(bytes) {
            self.0.extend(certs.flatten());
        }
    }

    /// Decrypts an armored message.
    pub(crate) fn decrypt(&self, message: &str) -> Result<Zeroizing<Vec<u8>>, KeyError> {
        let failed = |why: &str| {
            KeyError::new(format!(
                "could not decrypt data key with PGP key: GnuPG binary error: failed to decrypt sops data key with pgp: {why}"
            ))
        };
        let mut attempt = Decryption {
            keys: &self.0,
            recipients: Vec::new(),
            locked: false,
            opened: false,
        };
        // Sequoia 2.4 panics at some messages whose packets end too early.
        let opened = catch_unwind(AssertUnwindSafe(|| attempt.open(message)));
        match opened {
            Ok(Some(plain)) if plain.is_empty() => Err(failed("zero bytes returned")),
            Ok(Some(plain)) => Ok(plain),
            Ok(None) | Err(_) => Err(failed(&attempt.problem())),
        }
    }
}

/// A message being decrypted, and details for its error.
struct Decryption<'k> {
    keys: &'k [Cert],
    /// The algorithm and the key for each encrypted session key.
    recipients: Vec<(PublicKeyAlgorithm, Option<KeyHandle>)>,
    locked: bool,
    opened: bool,
}

impl Decryption<'_> {
    fn open(&mut self, message: &str) -> Option<Zeroizing<Vec<u8>>> {
        // gpg decrypts with keys of any age, and so does a policy from before all of them.
        let policy = StandardPolicy::at(UNIX_EPOCH);
        let mut plain = Zeroizing::new(Vec::with_capacity(256));
        let reader = DecryptorBuilder::from_bytes(message.as_bytes()).ok()?;
        // The time is for signatures, of which there are none.
        let reader = reader.with_policy(&policy, UNIX_EPOCH, &mut *self).ok()?;
        reader.take(MAX_PLAIN).read_to_end(&mut plain).ok()?;
        Some(plain)
    }

    fn problem(&self) -> String {
        if self.recipients.is_empty() {
            return "gpg: no valid OpenPGP data found.\ngpg: decrypt_message failed: Unknown system error".to_owned();
        }
        let mut lines: Vec<String> = self
            .recipients
            .iter()
            .map(|(algorithm, key)| {
                let id = key.as_ref().map_or_else(|| "0000000000000000".to_owned(), key_id);
                format!("gpg: encrypted with {} key, ID {id}", algorithm_name(*algorithm))
            })
            .collect();
        lines.push(
            match (self.opened, self.locked) {
                (true, _) => "gpg: decryption failed: Bad session key",
                (false, true) => {
                    "gpg: decryption failed: the secret key has a passphrase, which cannot be entered here"
                }
                (false, false) => "gpg: decryption failed: No secret key",
            }
            .to_owned(),
        );
        lines.join("\n")
    }

    /// Tries the secret keys for a session key.
    fn try_keys(
        &mut self,
        encrypted: &PKESK,
        cipher: Option<SymmetricAlgorithm>,
        decrypt: &mut dyn FnMut(Option<SymmetricAlgorithm>, &SessionKey) -> bool,
    ) -> bool {
        let recipient = encrypted.recipient();
        for cert in self.keys {
            for key in cert.keys().secret() {
                let key = key.key();
                let is_for = recipient
                    .as_ref()
                    .is_none_or(|handle| handle.aliases(KeyHandle::from(key.fingerprint())));
                if !is_for {
                    continue;
                }
                if matches!(key.secret(), SecretKeyMaterial::Encrypted(_)) {
                    self.locked = true;
                    continue;
                }
                let Ok(mut pair) = key.clone().into_keypair() else {
                    continue;
                };
                let session = encrypted.decrypt(&mut pair, cipher);
                if let Some((cipher, session)) = session {
                    self.opened = true;
                    if decrypt(cipher, &session) {
                        return true;
                    }
                }
            }
        }
        false
    }
}

impl DecryptionHelper for &mut Decryption<'_> {
    fn decrypt(
        &mut self,
        encrypted: &[PKESK],
        _: &[SKESK],
        cipher: Option<SymmetricAlgorithm>,
        decrypt: &mut dyn FnMut(Option<SymmetricAlgorithm>, &SessionKey) -> bool,
    ) -> openpgp::Result<Option<Cert>> {
        self.recipients = encrypted.iter().map(|one| (one.pk_algo(), one.recipient())).collect();
        for one in encrypted {
            if self.try_keys(one, cipher, decrypt) {
                break;
            }
        }
        Ok(None)
    }
}

impl VerificationHelper for &mut Decryption<'_> {
    fn get_certs(&mut self, _: &[KeyHandle]) -> openpgp::Result<Vec<Cert>> {
        Ok(Vec::new())
    }

    /// A data key has the integrity of the message itself; signatures are ignored.
    fn check(&mut self, _: MessageStructure) -> openpgp::Result<()> {
        Ok(())
    }
}

fn key_id(handle: &KeyHandle) -> String {
    openpgp::KeyID::from(handle.clone()).to_hex()
}

const fn algorithm_name(algorithm: PublicKeyAlgorithm) -> &'static str {
    #[allow(deprecated)] // old keys are still around
    match algorithm {
        PublicKeyAlgorithm::RSAEncryptSign | PublicKeyAlgorithm::RSAEncrypt | PublicKeyAlgorithm::RSASign => "RSA",
        PublicKeyAlgorithm::ElGamalEncrypt | PublicKeyAlgorithm::ElGamalEncryptSign => "ELG",
        PublicKeyAlgorithm::ECDH => "ECDH",
        _ => "unknown",
    }
}
