//! SSH signatures in OpenSSH's format (PROTOCOL.sshsig), namespace `git`, SHA-512, like git's with ssh-keygen.

use std::fmt;

use rsa::pkcs1::DecodeRsaPrivateKey;
use russh::keys::pkcs8::decode_pkcs8;
use russh::keys::ssh_key::private::{KeypairData, RsaKeypair};
use russh::keys::ssh_key::{Algorithm, HashAlg, Kdf, LineEnding, PrivateKey};

use super::pem::Pem;
use super::{Signer, SigningError};
use bumpwright_secret::Secret;

/// Git's namespace, so that a signature over a commit is not valid for another purpose.
const NAMESPACE: &str = "git";
/// Greatest number of rounds of bcrypt: some ten seconds. ssh-keygen's default is 16.
const MAX_ROUNDS: u32 = 1024;
/// Sizes of RSA keys: OpenSSH refuses smaller ones (N-011), larger ones take minutes.
const RSA_BITS: std::ops::RangeInclusive<u32> = 2048..=16384;

/// An unlocked SSH key.
pub(super) struct Ssh {
    key: PrivateKey,
    name: String,
}

impl Ssh {
    /// Reads and unlocks a key.
    pub(super) fn open(text: &Secret, passphrase: Option<&Secret>) -> Result<Self, SigningError> {
        let passphrase = passphrase.filter(|passphrase| !passphrase.is_empty());
        let key = decode(text, passphrase)?;
        check(&key)?;
        Ok(Self {
            name: format!("SSH key {}", key.fingerprint(HashAlg::Sha256)),
            key,
        })
    }
}

impl Signer for Ssh {
    fn sign(&self, payload: &[u8], _seconds: i64) -> Result<String, SigningError> {
        let armoured = self
            .key
            .sign(NAMESPACE, HashAlg::Sha512, payload)
            .and_then(|signature| signature.to_pem(LineEnding::LF));
        armoured.map_err(|_| SigningError::Failed {
            name: self.name(),
            why: "its private half does not match its public one".to_owned(),
        })
    }

    fn name(&self) -> String {
        self.name.clone()
    }
}

impl fmt::Debug for Ssh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

pub(super) fn decode(text: &Secret, passphrase: Option<&Secret>) -> Result<PrivateKey, SigningError> {
    let pem = Pem::first(text)?;
    let label = pem.label.clone();
    let locked = pem.is_encrypted();
    let unreadable = || {
        // With a wrong passphrase the padding is valid once in 256 times.
        if locked {
            SigningError::WrongSshPassphrase
        } else {
            SigningError::DamagedSsh
        }
    };
    match label.as_str() {
        "OPENSSH PRIVATE KEY" => {
            let key = PrivateKey::from_bytes(&pem.content(None)?).map_err(|_| SigningError::DamagedSsh)?;
            unlocked(key, passphrase)
        }
        "RSA PRIVATE KEY" => {
            let key = rsa::RsaPrivateKey::from_pkcs1_der(&pem.content(passphrase)?).map_err(|_| unreadable())?;
            let pair = RsaKeypair::try_from(key).map_err(|_| unreadable())?;
            PrivateKey::new(KeypairData::Rsa(pair), "").map_err(|_| unreadable())
        }
        "EC PRIVATE KEY" | "PRIVATE KEY" => decode_pkcs8(&pem.content(passphrase)?, None).map_err(|_| unreadable()),
        "DSA PRIVATE KEY" => Err(SigningError::SshAlgorithm {
            algorithm: "ssh-dss".to_owned(),
        }),
        _ => Err(SigningError::UnsupportedPem { label }),
    }
}

/// Decrypts a key in OpenSSH's format.
fn unlocked(key: PrivateKey, passphrase: Option<&Secret>) -> Result<PrivateKey, SigningError> {
    if !key.is_encrypted() {
        return Ok(key);
    }
    let passphrase = passphrase.ok_or(SigningError::PassphraseMissing)?;
    if let Kdf::Bcrypt { rounds, .. } = key.kdf()
        && *rounds > MAX_ROUNDS
    {
        return Err(SigningError::Rounds { rounds: *rounds });
    }
    key.decrypt(passphrase.expose())
        .map_err(|_| SigningError::WrongSshPassphrase)
}

/// Refuses the keys that Flux refuses.
fn check(key: &PrivateKey) -> Result<(), SigningError> {
    match key.algorithm() {
        Algorithm::Ed25519 | Algorithm::Ecdsa { .. } => Ok(()),
        Algorithm::Rsa { .. } => {
            let bits = key.public_key().key_data().rsa().map_or(0, |rsa| rsa.key_size());
            if RSA_BITS.contains(&bits) {
                Ok(())
            } else {
                Err(SigningError::RsaSize { bits })
            }
        }
        other => Err(SigningError::SshAlgorithm {
            algorithm: other.as_str().to_owned(),
        }),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use russh::keys::ssh_key::SshSig;

    use super::*;

    /// ssh-keygen -t ed25519, and the same key under the passphrase `hunter2`, with 16 and with 5000 rounds.
    const ED25519: &str = include_str!("../../../../fixtures/signing/ed25519");
    const LOCKED: &str = include_str!("../../../../fixtures/signing/ed25519_locked");
    const SLOW: &str = include_str!("../../../../fixtures/signing/ed25519_slow");
    /// openssl ecparam -genkey -name prime256v1, and the same under `hunter2` with -aes256.
    const P256: &str = include_str!("../../../../fixtures/signing/p256.pem");
    const P256_LOCKED: &str = include_str!("../../../../fixtures/signing/p256_locked.pem");
    /// ssh-keygen -m PEM -t rsa -b 2048 -N hunter2; -m PEM -b 1024; -m PKCS8 -t ed25519 under a passphrase.
    const RSA_LOCKED: &str = include_str!("../../../../fixtures/signing/rsa_locked.pem");
    const RSA_SHORT: &str = include_str!("../../../../fixtures/signing/rsa_1024.pem");
    const PKCS8_LOCKED: &str = include_str!("../../../../fixtures/signing/pkcs8_locked.pem");

    fn open(text: &str, passphrase: Option<&str>) -> Result<Ssh, SigningError> {
        Ssh::open(&Secret::from(text), passphrase.map(Secret::from).as_ref())
    }

    #[test]
    fn signatures_hold_for_what_was_signed_and_come_out_the_same() {
        for (text, passphrase) in [
            (ED25519, None),
            (ED25519, Some("not looked at")),
            (LOCKED, Some("hunter2")),
            (P256, None),
            (P256_LOCKED, Some("hunter2")),
            (RSA_LOCKED, Some("hunter2")),
        ] {
            let signer = open(text, passphrase).unwrap();
            let signature = signer.sign(b"commit", 0).unwrap();
            let parsed = SshSig::from_pem(&signature).unwrap();
            let public = signer.key.public_key();
            assert!(public.verify("git", b"commit", &parsed).is_ok(), "{signer:?}");
            assert!(public.verify("git", b"commit!", &parsed).is_err(), "{signer:?}");
            assert!(public.verify("file", b"commit", &parsed).is_err(), "{signer:?}");
            assert_eq!(signer.sign(b"commit", 1).unwrap(), signature);
        }
    }

    #[test]
    fn texts_that_give_no_signer() {
        let indented = ED25519.lines().map(|line| format!("  {line}\r\n")).collect::<String>();
        assert!(open(&indented, None).is_ok());
        let cut: String = ED25519.chars().take(200).collect();
        let spoilt = ED25519.replace("AAAA", "AAAB");
        let other = |label: &str| SigningError::UnsupportedPem {
            label: label.to_owned(),
        };
        for (text, passphrase, error) in [
            ("", None, SigningError::NoPem),
            ("garbage", None, SigningError::NoPem),
            (cut.as_str(), None, SigningError::NoPem),
            (spoilt.as_str(), None, SigningError::DamagedSsh),
            (LOCKED, None, SigningError::PassphraseMissing),
            (LOCKED, Some(""), SigningError::PassphraseMissing),
            (LOCKED, Some("hunter3"), SigningError::WrongSshPassphrase),
            (P256_LOCKED, None, SigningError::PassphraseMissing),
            (P256_LOCKED, Some("hunter3"), SigningError::WrongSshPassphrase),
            (RSA_LOCKED, Some("hunter3"), SigningError::WrongSshPassphrase),
            (SLOW, Some("hunter2"), SigningError::Rounds { rounds: 5000 }),
            (RSA_SHORT, None, SigningError::RsaSize { bits: 1024 }),
            (PKCS8_LOCKED, Some("hunter2"), other("ENCRYPTED PRIVATE KEY")),
            (
                "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----",
                None,
                other("CERTIFICATE"),
            ),
        ] {
            assert_eq!(open(text, passphrase).unwrap_err(), error, "{text}");
        }
    }
}
