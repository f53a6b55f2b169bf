//! age's post-quantum keys: ML-KEM-768 beside X25519 (X-Wing), and HPKE around the file key (age 1.3,
//! `mlkem768x25519`; draft-ietf-hpke-pq; RFC 9180, *Base mode*).

use chacha20poly1305::{ChaCha20Poly1305, KeyInit};
use hkdf::Hkdf;
use ml_kem::Decapsulate;
use ml_kem::ml_kem_768::{Ciphertext, DecapsulationKey};
use sha2::Sha256;
use sha3::{Digest, Sha3_256};
use shake::{ExtendableOutput, Shake256, Update, XofReader};
use x25519_dalek::{PublicKey, StaticSecret};
use zeroize::{Zeroize, Zeroizing};

use super::error::{LOW_ORDER, UnwrapError};
use super::header::Stanza;
use super::stream::{TAG, open_once};
use super::strict_base64;
use super::unwrap::Unwrap;
use super::x25519::{FILE_KEY, agreed};

const INFO: &[u8] = b"age-encryption.org/mlkem768x25519";
/// The domain separator of X-Wing's hash.
const X_WING: &[u8] = br"\.//^\";
/// The size of ML-KEM-768's part of an encapsulated key; a share of X25519 follows it.
const CIPHERTEXT: usize = 1088;
const VERSION: &[u8] = b"HPKE-v1";
/// MLKEM768-X25519, HKDF-SHA256, ChaCha20Poly1305.
const SUITE: &[u8] = b"HPKE\x64\x7a\x00\x01\x00\x03";

/// A secret key: both its halves.
pub(super) struct HybridKey {
    lattice: DecapsulationKey,
    curve: StaticSecret,
    public: PublicKey,
}

impl HybridKey {
    pub(super) fn new(secret: &[u8]) -> Option<Self> {
        let secret: &[u8; 32] = secret.try_into().ok()?;
        let mut hash = Shake256::default();
        hash.update(secret);
        let mut halves = hash.finalize_xof();
        let mut seed = ml_kem::Seed::default();
        let mut bytes = Zeroizing::new([0; 32]);
        halves.read(seed.as_mut_slice());
        halves.read(&mut *bytes);
        let lattice = DecapsulationKey::from_seed(seed);
        seed.as_mut_slice().zeroize();
        let curve = StaticSecret::from(*bytes);
        let public = PublicKey::from(&curve);
        Some(Self { lattice, curve, public })
    }

    pub(super) fn unwrap(&self, stanza: &Stanza) -> Unwrap {
        if stanza.kind != "mlkem768x25519" {
            return Unwrap::NotMine;
        }
        let [encapsulated] = stanza.arguments.as_slice() else {
            return Unwrap::Failed(UnwrapError::Arguments("mlkem768x25519"));
        };
        let encapsulated = match strict_base64(encapsulated.as_bytes(), false) {
            Ok(encapsulated) => encapsulated,
            Err(problem) => {
                let kind = "mlkem768x25519";
                return Unwrap::Failed(UnwrapError::Share { kind, problem });
            }
        };
        if stanza.body.len() != FILE_KEY + TAG {
            return Unwrap::Failed(UnwrapError::Length);
        }
        let shared = match self.shared(&encapsulated) {
            Ok(shared) => shared,
            Err(error) => return Unwrap::Failed(UnwrapError::Encapsulated(error)),
        };
        // A key for another file fails only here.
        match opened(&*shared, &stanza.body) {
            Some(key) => Unwrap::Done(key),
            None => Unwrap::NotMine,
        }
    }

    /// The shared secret of an encapsulated key.
    fn shared(&self, encapsulated: &[u8]) -> Result<Zeroizing<[u8; 32]>, &'static str> {
        const SIZE: &str = "invalid encapsulated key size";
        let (ciphertext, share) = encapsulated.split_at_checked(CIPHERTEXT).ok_or(SIZE)?;
        let ciphertext = Ciphertext::try_from(ciphertext).map_err(|_| SIZE)?;
        let share: [u8; 32] = share.try_into().map_err(|_| SIZE)?;
        let of_curve = agreed(&self.curve, share).ok_or(LOW_ORDER)?;
        let mut of_lattice = self.lattice.decapsulate(&ciphertext);
        let hash = Sha3_256::new()
            .chain_update(of_lattice)
            .chain_update(of_curve.as_bytes())
            .chain_update(share)
            .chain_update(self.public.as_bytes())
            .chain_update(X_WING);
        of_lattice.as_mut_slice().zeroize();
        Ok(Zeroizing::new(hash.finalize().into()))
    }
}

/// Opens the only message sealed with a shared secret.
fn opened(shared: &[u8], body: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    // The base mode: no other secret, and no authentication of the sender.
    let (nobody, _) = extracted(b"", b"psk_id_hash", b"");
    let (info, _) = extracted(b"", b"info_hash", INFO);
    let context = [&[0], nobody.as_slice(), &info].concat();
    let (_, secret) = extracted(shared, b"secret", b"");
    let mut key = Zeroizing::new([0; 32]);
    let mut nonce = [0; 12];
    expanded(&secret, b"key", &context, &mut *key)?;
    expanded(&secret, b"base_nonce", &context, &mut nonce)?;
    open_once(&ChaCha20Poly1305::new((&*key).into()), &nonce, body)
}

/// RFC 9180, *LabeledExtract*.
fn extracted(salt: &[u8], label: &[u8], input: &[u8]) -> ([u8; 32], Hkdf<Sha256>) {
    let (hash, hkdf) = Hkdf::<Sha256>::extract(Some(salt), &[VERSION, SUITE, label, input].concat());
    (hash.into(), hkdf)
}

/// RFC 9180, *LabeledExpand*.
fn expanded(secret: &Hkdf<Sha256>, label: &[u8], info: &[u8], out: &mut [u8]) -> Option<()> {
    let length = u16::try_from(out.len()).ok()?.to_be_bytes();
    secret
        .expand(&[&length, VERSION, SUITE, label, info].concat(), out)
        .ok()
}
