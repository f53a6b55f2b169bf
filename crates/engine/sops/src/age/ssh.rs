//! SSH keys as age identities. kustomize-controller does not accept them in `.agekey` entries; SOPS itself
//! reads them from files.

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use hkdf::Hkdf;
use rsa::traits::PublicKeyParts;
use rsa::{BoxedUint, Oaep, RsaPrivateKey};
use sha2::{Digest, Sha256, Sha512};
use ssh_key::PrivateKey;
use ssh_key::private::{KeypairData, RsaKeypair};
use x25519_dalek::{PublicKey, StaticSecret};
use zeroize::Zeroizing;

use super::error::UnwrapError;
use super::header::Stanza;
use super::strict_base64;
use super::unwrap::Unwrap;
use super::x25519::{agreed, open_wrapped};
use bumpwright_text::Parts;

const ED25519_LABEL: &[u8] = b"age-encryption.org/v1/ssh-ed25519";
const RSA_LABEL: &str = "age-encryption.org/v1/ssh-rsa";

/// Why a private SSH key cannot be an identity.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SshKeyError {
    /// Not in the format of OpenSSH.
    #[error("malformed SSH identity: it is not an OpenSSH private key")]
    Malformed,
    /// A passphrase cannot be entered here.
    #[error("malformed SSH identity: the key has a passphrase; remove it with ssh-keygen -p")]
    Locked,
    /// ECDSA and hardware keys.
    #[error("unsupported SSH identity type: only ed25519 and RSA keys can be identities of age")]
    Kind,
}

/// A private key, and its identification in files.
pub(super) struct SshKey {
    /// The first bytes of the public key's digest, in base64.
    tag: String,
    secret: SshSecret,
}

enum SshSecret {
    Ed25519 {
        secret: StaticSecret,
        public: PublicKey,
        tweak: StaticSecret,
    },
    Rsa(Box<RsaPrivateKey>),
}

impl SshKey {
    /// Parses a private key as `ssh-keygen` writes it.
    pub(super) fn read(text: &str) -> Result<Self, SshKeyError> {
        let key = PrivateKey::from_openssh(text).map_err(|_| SshKeyError::Malformed)?;
        let wire = key.public_key().to_bytes().map_err(|_| SshKeyError::Malformed)?;
        let digest = Sha256::digest(&wire);
        let tag = STANDARD_NO_PAD.encode(digest.part(..4));
        let secret = match key.key_data() {
            KeypairData::Ed25519(pair) => ed25519(&Zeroizing::new(pair.private.to_bytes()), &wire),
            KeypairData::Rsa(pair) => rsa(pair).ok_or(SshKeyError::Malformed)?,
            KeypairData::Encrypted(_) => return Err(SshKeyError::Locked),
            _ => return Err(SshKeyError::Kind),
        };
        Ok(Self { tag, secret })
    }

    pub(super) fn unwrap(&self, stanza: &Stanza) -> Unwrap {
        match &self.secret {
            SshSecret::Ed25519 { secret, public, tweak } => self.unwrap_ed25519(stanza, secret, public, tweak),
            SshSecret::Rsa(key) => self.unwrap_rsa(stanza, key),
        }
    }

    fn unwrap_ed25519(
        &self,
        stanza: &Stanza,
        secret: &StaticSecret,
        public: &PublicKey,
        tweak: &StaticSecret,
    ) -> Unwrap {
        if stanza.kind != "ssh-ed25519" {
            return Unwrap::NotMine;
        }
        let invalid = || Unwrap::Failed(UnwrapError::Arguments("ssh-ed25519"));
        let [tag, share] = stanza.arguments.as_slice() else {
            return invalid();
        };
        let share = match strict_base64(share.as_bytes(), false) {
            Ok(share) => share,
            Err(problem) => {
                let kind = "ssh-ed25519";
                return Unwrap::Failed(UnwrapError::Share { kind, problem });
            }
        };
        let Ok(share) = <[u8; 32]>::try_from(share) else {
            return invalid();
        };
        if *tag != self.tag {
            return Unwrap::NotMine;
        }
        let shared = agreed(secret, share).and_then(|shared| agreed(tweak, shared.to_bytes()));
        let Some(shared) = shared else {
            return Unwrap::Failed(UnwrapError::LowOrder);
        };
        match open_wrapped(
            shared.as_bytes(),
            &share,
            public.as_bytes(),
            ED25519_LABEL,
            &stanza.body,
        ) {
            Some(key) => Unwrap::Done(key),
            None => Unwrap::Failed(UnwrapError::Ed25519),
        }
    }

    fn unwrap_rsa(&self, stanza: &Stanza, key: &RsaPrivateKey) -> Unwrap {
        if stanza.kind != "ssh-rsa" {
            return Unwrap::NotMine;
        }
        let [tag] = stanza.arguments.as_slice() else {
            return Unwrap::Failed(UnwrapError::Arguments("ssh-rsa"));
        };
        if *tag != self.tag {
            return Unwrap::NotMine;
        }
        match key.decrypt(Oaep::<Sha256>::new_with_label(RSA_LABEL.as_bytes()), &stanza.body) {
            Ok(key) => Unwrap::Done(Zeroizing::new(key)),
            Err(_) => Unwrap::Failed(UnwrapError::Rsa),
        }
    }
}

/// The key on Montgomery's curve for a seed, and the tweak that binds shares to the public key.
fn ed25519(seed: &[u8; 32], wire: &[u8]) -> SshSecret {
    let digest = Zeroizing::new(<[u8; 64]>::from(Sha512::digest(seed)));
    let mut bytes = Zeroizing::new([0; 32]);
    bytes.copy_from_slice(digest.part(..32));
    let secret = StaticSecret::from(*bytes);
    let mut tweak = [0; 32];
    // HKDF always has room for 32 bytes.
    let _ = Hkdf::<Sha256>::new(Some(wire), b"").expand(ED25519_LABEL, &mut tweak);
    SshSecret::Ed25519 {
        public: PublicKey::from(&secret),
        secret,
        tweak: StaticSecret::from(tweak),
    }
}

fn rsa(pair: &RsaKeypair) -> Option<SshSecret> {
    let number = |bytes: Option<&[u8]>| Some(BoxedUint::from_be_slice_vartime(bytes?));
    let key = RsaPrivateKey::from_components(
        number(pair.public().n().as_positive_bytes())?,
        number(pair.public().e().as_positive_bytes())?,
        number(pair.private().d().as_positive_bytes())?,
        vec![
            number(pair.private().p().as_positive_bytes())?,
            number(pair.private().q().as_positive_bytes())?,
        ],
    );
    key.ok()
        .filter(|key| key.size() >= 128)
        .map(|key| SshSecret::Rsa(Box::new(key)))
}
