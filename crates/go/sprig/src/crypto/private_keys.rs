//! Private keys: generates them, and reads and writes them in PEM.

use super::{pem, random::key_rng};
use bumpwright_template::{Args, Failure, Host, Value};
use chacha20::{ChaCha20Rng, rand_core::SeedableRng};
use dsa::KeySize;
use ed25519_dalek::pkcs8::{EncodePrivateKey, KeypairBytes, PrivateKeyInfoRef};
use p256::elliptic_curve::Generate;
use rsa::{
    RsaPrivateKey,
    pkcs1::{self, EncodeRsaPrivateKey},
    traits::{PrivateKeyParts, PublicKeyParts},
};
use sha2::Sha256;
use std::fmt::Display;
use std::sync::OnceLock;
use x509_cert::{
    Certificate,
    builder::{self, Builder},
    der::{self, Decode, Encode, asn1::Uint},
    spki::{self, SubjectPublicKeyInfoOwned},
};
use zeroize::Zeroizing;

/// A private key that can sign.
pub(crate) enum PrivateKey {
    Rsa(RsaPrivateKey),
    P256(p256::SecretKey),
    P384(p384::SecretKey),
    P521(p521::SecretKey),
    Ed25519(ed25519_dalek::SigningKey),
}

/// Bytes of the modulus: shorter ones are insecure, longer ones only take time.
const RSA_SIZES: std::ops::RangeInclusive<usize> = 128..=1024;
/// The cost of the search for primes, in steps of the rendering: some seconds for this many bits, and it grows with
/// the fourth power.
const PRIME_STEPS: u64 = 1_000_000;
const PRIME_BITS: u64 = 4096;
/// The cost of other operations with keys, which are fast.
const KEY_STEPS: u64 = 1_000;

/// `genPrivateKey TYPE`
pub(crate) fn generate(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let kind = args.text(0)?;
    let key = match &**kind {
        b"" | b"rsa" => PrivateKey::new_rsa(host, 4096)?,
        b"dsa" => return Ok(new_dsa(host, KeySize::DSA_2048_256)?.as_str().into()),
        b"ecdsa" => {
            host.step(KEY_STEPS)?;
            PrivateKey::P256(p256::SecretKey::generate_from_rng(&mut key_rng(host.world())))
        }
        b"ed25519" => {
            host.step(KEY_STEPS)?;
            let mut seed = Zeroizing::new([0; ed25519_dalek::SECRET_KEY_LENGTH]);
            host.world().random(seed.as_mut());
            PrivateKey::Ed25519(ed25519_dalek::SigningKey::from_bytes(&seed))
        }
        other => return Ok(Value::text([b"Unknown type ", other].concat())),
    };
    Ok(key.to_pem()?.as_str().into())
}

/// A new DSA key, as Sprig writes it. DSA is obsolete, and nothing here uses the key.
fn new_dsa(host: &mut Host<'_>, size: KeySize) -> Result<Zeroizing<String>, Failure> {
    // The search visits all numbers and is that much slower than the one for RSA.
    host.step(PRIME_STEPS * 5)?;
    let mut rng = key_rng(host.world());
    let Ok(parameters) = dsa::Components::try_generate_from_rng_with_key_size(&mut rng, size);
    let Ok(key) = dsa::SigningKey::try_generate_from_rng_with_components(&mut rng, parameters);
    let (public, private) = (key.verifying_key(), Zeroizing::new(key.x().to_be_bytes()));
    let parameters = public.components();
    let numbers = [
        &[0],
        &*parameters.p().to_be_bytes(),
        &*parameters.q().to_be_bytes(),
        &*parameters.g().to_be_bytes(),
        &*public.y().to_be_bytes(),
        &*private,
    ];
    let numbers: Result<Vec<Uint>, _> = numbers.into_iter().map(Uint::new).collect();
    let bytes = Zeroizing::new(numbers.and_then(|numbers| numbers.to_der()).map_err(crate_error)?);
    pem::encode("DSA PRIVATE KEY", &bytes)
}

/// The RSA key of this many bits in worlds that repeat themselves: made once, and the same in each process.
fn repeated_rsa(bits: u32) -> Option<&'static RsaPrivateKey> {
    static SHORT: OnceLock<Option<RsaPrivateKey>> = OnceLock::new();
    static LONG: OnceLock<Option<RsaPrivateKey>> = OnceLock::new();
    let key = match bits {
        2048 => &SHORT,
        4096 => &LONG,
        _ => return None,
    };
    let new = || RsaPrivateKey::new(&mut ChaCha20Rng::from_seed([0; 32]), bits as usize).ok();
    key.get_or_init(new).as_ref()
}

impl PrivateKey {
    /// A new RSA key of `bits` bits.
    pub(crate) fn new_rsa(host: &mut Host<'_>, bits: u32) -> Result<Self, Failure> {
        host.step(u64::from(bits).pow(4) / (PRIME_BITS.pow(4) / PRIME_STEPS))?;
        let mut rng = key_rng(host.world());
        if host.world().is_repeated()
            && let Some(key) = repeated_rsa(bits)
        {
            return Ok(Self::Rsa(key.clone()));
        }
        let key = RsaPrivateKey::new(&mut rng, bits as usize);
        key.map(Self::Rsa).map_err(crate_error)
    }

    /// Sprig's `parsePrivateKeyPEM`, without DSA keys: those could not sign anyway.
    pub fn from_pem(host: &mut Host<'_>, text: &[u8]) -> Result<Self, Failure> {
        host.step(KEY_STEPS)?;
        let Some(block) = pem::decode(host, text)? else {
            return Err(Failure::new("no PEM data in input"));
        };
        match &*block.kind {
            "PRIVATE KEY" => from_pkcs8(host, &block.bytes).map_err(within("decoding PEM as PKCS#8: ")),
            "RSA PRIVATE KEY" => from_pkcs1(host, &block.bytes).map_err(within("parsing RSA private key from PEM: ")),
            "EC PRIVATE KEY" => from_sec1(&block.bytes).map_err(within("parsing EC private key from PEM: ")),
            kind => Err(Failure::new(if kind.ends_with(" PRIVATE KEY") {
                format!("invalid private key type {kind}")
            } else {
                format!("no private key data in PEM block of type {kind}")
            })),
        }
    }

    /// Sprig's `pemBlockForKey`.
    pub fn to_pem(&self) -> Result<Zeroizing<String>, Failure> {
        let sec1 = |bytes: der::Result<Zeroizing<Vec<u8>>>| pem::encode("EC PRIVATE KEY", &bytes.map_err(crate_error)?);
        match self {
            Self::Rsa(key) => pem::encode("RSA PRIVATE KEY", key.to_pkcs1_der().map_err(crate_error)?.as_bytes()),
            Self::P256(key) => sec1(key.to_sec1_der()),
            Self::P384(key) => sec1(key.to_sec1_der()),
            Self::P521(key) => sec1(key.to_sec1_der()),
            Self::Ed25519(key) => {
                // Go writes the first version of PKCS #8, which has no field for the public key.
                let key = KeypairBytes {
                    secret_key: key.to_bytes(),
                    public_key: None,
                };
                pem::encode("PRIVATE KEY", key.to_pkcs8_der().map_err(crate_error)?.as_bytes())
            }
        }
    }

    /// The public key as certificates have it.
    pub fn public(&self) -> Result<SubjectPublicKeyInfoOwned, Failure> {
        let public: spki::Result<SubjectPublicKeyInfoOwned> = match self {
            Self::Rsa(key) => SubjectPublicKeyInfoOwned::from_key(key.as_public_key()),
            Self::P256(key) => SubjectPublicKeyInfoOwned::from_key(&key.public_key()),
            Self::P384(key) => SubjectPublicKeyInfoOwned::from_key(&key.public_key()),
            Self::P521(key) => SubjectPublicKeyInfoOwned::from_key(&key.public_key()),
            Self::Ed25519(key) => SubjectPublicKeyInfoOwned::from_key(&key.verifying_key()),
        };
        public.map_err(crate_error)
    }

    /// Signs a certificate, with the hash that Go uses for such a key.
    pub fn sign(
        &self,
        host: &mut Host<'_>,
        certificate: impl Builder<Output = Certificate>,
    ) -> Result<Certificate, Failure> {
        host.step(KEY_STEPS)?;
        let signed: builder::Result<Certificate> = match self {
            Self::Rsa(key) => {
                charge(host, key.size())?;
                let key = rsa::pkcs1v15::SigningKey::<Sha256>::new(key.clone());
                certificate.build_with_rng::<_, rsa::pkcs1v15::Signature, _>(&key, &mut key_rng(host.world()))
            }
            Self::P256(key) => certificate.build::<_, p256::ecdsa::DerSignature>(&p256::ecdsa::SigningKey::from(key)),
            Self::P384(key) => certificate.build::<_, p384::ecdsa::DerSignature>(&p384::ecdsa::SigningKey::from(key)),
            Self::P521(key) => certificate.build::<_, p521::ecdsa::DerSignature>(&p521::ecdsa::SigningKey::from(key)),
            Self::Ed25519(key) => certificate.build::<_, ed25519_dalek::Signature>(key),
        };
        signed.map_err(crate_error)
    }
}

/// The error of a crate.
pub(crate) fn crate_error(error: impl Display) -> Failure {
    Failure::new(error.to_string())
}

/// Prefixes an error's text; limits stay as they are.
pub(crate) fn within(what: &str) -> impl Fn(Failure) -> Failure + '_ {
    move |failure| match failure {
        Failure::Error(text) => Failure::Error(format!("{what}{text}")),
        limit => limit,
    }
}

/// Exponentiation takes the cube of the length, in bytes.
fn charge(host: &mut Host<'_>, size: usize) -> Result<(), Failure> {
    host.step((size as u64).pow(3) >> 13)
}

fn from_pkcs1(host: &mut Host<'_>, bytes: &[u8]) -> Result<PrivateKey, Failure> {
    let key = pkcs1::RsaPrivateKey::from_der(bytes).map_err(crate_error)?;
    let size = key.modulus.as_bytes().len();
    if !RSA_SIZES.contains(&size) {
        let (least, most) = (RSA_SIZES.start() * 8, RSA_SIZES.end() * 8);
        return Err(Failure::new(format!("RSA keys have {least} to {most} bits")));
    }
    charge(host, size)?;
    let key = RsaPrivateKey::try_from(key).map_err(crate_error)?;
    match key.primes() {
        // The crate panics when it writes a key whose primes differ in their number of machine words.
        [p, q] if p.bits_precision() == q.bits_precision() => Ok(PrivateKey::Rsa(key)),
        _ => Err(Failure::new("the primes of an RSA key have the same length")),
    }
}

fn from_sec1(bytes: &[u8]) -> Result<PrivateKey, Failure> {
    let p256 = |bytes| p256::SecretKey::from_sec1_der(bytes).map(PrivateKey::P256);
    let p384 = |bytes| p384::SecretKey::from_sec1_der(bytes).map(PrivateKey::P384);
    let p521 = |bytes| p521::SecretKey::from_sec1_der(bytes).map(PrivateKey::P521);
    let key = p256(bytes).or_else(|_| p384(bytes)).or_else(|_| p521(bytes));
    key.map_err(crate_error)
}

fn from_pkcs8(host: &mut Host<'_>, bytes: &[u8]) -> Result<PrivateKey, Failure> {
    let key = PrivateKeyInfoRef::from_der(bytes).map_err(crate_error)?;
    match key.algorithm.oid {
        pkcs1::ALGORITHM_OID => from_pkcs1(host, key.private_key.as_bytes()),
        p256::elliptic_curve::ALGORITHM_OID => {
            let p256 = p256::SecretKey::try_from(key.clone()).map(PrivateKey::P256);
            let p384 = || p384::SecretKey::try_from(key.clone()).map(PrivateKey::P384);
            let p521 = || p521::SecretKey::try_from(key.clone()).map(PrivateKey::P521);
            p256.or_else(|_| p384()).or_else(|_| p521()).map_err(crate_error)
        }
        ed25519_dalek::pkcs8::ALGORITHM_OID => ed25519_dalek::SigningKey::try_from(key)
            .map(PrivateKey::Ed25519)
            .map_err(crate_error),
        other => Err(Failure::new(format!(
            "x509: PKCS#8 wrapping contained private key with unknown algorithm: {other}"
        ))),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

    use super::*;
    use crate::testing::{FixedWorld, call};
    use bumpwright_template::{Limits, World};
    use x509_cert::der::asn1::UintRef;

    fn new_key(kind: &str) -> String {
        match call("genPrivateKey", &[kind.into()]).unwrap() {
            Value::String(text) => text.lossy().into_owned(),
            other => panic!("{other:?}"),
        }
    }

    fn read(text: &str) -> Result<PrivateKey, Failure> {
        PrivateKey::from_pem(&mut Host::new(Limits::default(), &FixedWorld), text.as_bytes())
    }

    /// A world whose random bytes are the same each time, as all know.
    struct Repeated;

    impl World for Repeated {
        fn now(&self) -> (i64, u32) {
            FixedWorld.now()
        }

        fn random(&self, buffer: &mut [u8]) {
            FixedWorld.random(buffer);
        }

        fn is_repeated(&self) -> bool {
            true
        }
    }

    #[test]
    fn a_world_that_repeats_itself_has_one_key_of_a_length() {
        let key = |world: &dyn World| {
            let key = PrivateKey::new_rsa(&mut Host::new(Limits::default(), world), 2048).unwrap();
            key.to_pem().unwrap()
        };
        let repeated = key(&Repeated);
        assert_eq!(repeated, key(&Repeated));
        assert_ne!(repeated, key(&FixedWorld));
        assert!(matches!(read(&repeated).unwrap(), PrivateKey::Rsa(_)));
    }

    #[test]
    fn new_keys_can_be_read_again() {
        for (kind, block) in [
            ("", "RSA PRIVATE KEY"),
            ("ecdsa", "EC PRIVATE KEY"),
            ("ed25519", "PRIVATE KEY"),
        ] {
            let text = new_key(kind);
            assert!(text.starts_with(&format!("-----BEGIN {block}-----\n")), "{text}");
            assert_eq!(*read(&text).unwrap().to_pem().unwrap(), text);
        }
        assert_eq!(new_key("x"), "Unknown type x");
    }

    #[test]
    fn dsa_keys_are_of_six_numbers() {
        // Small, so that the test is fast.
        #[allow(deprecated)]
        let size = KeySize::DSA_1024_160;
        let mut host = Host::new(Limits::default(), &FixedWorld);
        let text = new_dsa(&mut host, size).unwrap();
        let block = pem::decode(&mut host, text.as_bytes()).unwrap().unwrap();
        let numbers = Vec::<UintRef<'_>>::from_der(&block.bytes).unwrap();
        let sizes: Vec<usize> = numbers.iter().map(|number| number.as_bytes().len()).collect();
        assert_eq!(
            (&*block.kind, &sizes[..3], sizes.len()),
            ("DSA PRIVATE KEY", &[1, 128, 20][..], 6)
        );
    }

    #[test]
    fn what_is_no_key_is_said_in_sprigs_words() {
        let (ec, ed25519) = (new_key("ecdsa"), new_key("ed25519"));
        for (text, error) in [
            (String::new(), "no PEM data in input"),
            (
                ec.replace("EC PRIVATE", "PUBLIC"),
                "no private key data in PEM block of type PUBLIC KEY",
            ),
            (
                ec.replace("EC PRIVATE", "X PRIVATE"),
                "invalid private key type X PRIVATE KEY",
            ),
            (ec.replace("EC PRIVATE", "PRIVATE"), "decoding PEM as PKCS#8: "),
            (
                ed25519.replace("PRIVATE", "RSA PRIVATE"),
                "parsing RSA private key from PEM: ",
            ),
            (
                ed25519.replace("PRIVATE", "EC PRIVATE"),
                "parsing EC private key from PEM: ",
            ),
        ] {
            match read(&text).map(|_| ()) {
                Err(Failure::Error(crate_error))
                    if crate_error == error || error.ends_with(": ") && crate_error.starts_with(error) => {}
                other => panic!("{text}: {other:?}"),
            }
        }
    }

    /// Numbers that do not belong together, as authors of templates may choose them.
    #[test]
    fn unsound_rsa_keys_are_refused() {
        let text = new_key("rsa");
        let mut host = Host::new(Limits::default(), &FixedWorld);
        let block = pem::decode(&mut host, text.as_bytes()).unwrap().unwrap();
        let good = Vec::<UintRef<'_>>::from_der(&block.bytes).unwrap();
        let huge = vec![0xff; 1025];
        for index in 0..good.len() {
            for part in [
                &[0][..],
                &[1],
                &[2],
                &[3],
                &huge,
                good[1].as_bytes(),
                good[4].as_bytes(),
            ] {
                let mut numbers = good.clone();
                numbers[index] = UintRef::new(part).unwrap();
                let key = read(&pem::encode("RSA PRIVATE KEY", &numbers.to_der().unwrap()).unwrap());
                // Numbers derived from the others are not checked.
                assert!(key.is_err() || numbers == good || index > 5, "{index} {part:?}");
                if let Ok(key) = key {
                    assert_eq!(*key.to_pem().unwrap(), text, "{index} {part:?}");
                }
            }
        }
    }

    #[test]
    fn rsa_keys_of_unequal_primes_are_refused() {
        let mersenne = |bits: usize| {
            let mut bytes = vec![0xff; bits.div_ceil(8)];
            bytes[0] >>= bytes.len() * 8 - bits;
            rsa::BoxedUint::from_be_slice_vartime(&bytes)
        };
        let (p, q) = (mersenne(521), mersenne(607));
        let key = RsaPrivateKey::from_p_q(p.clone(), q.clone(), 65_537_u64.into()).unwrap();
        let numbers = [key.n().as_ref(), key.e(), key.d(), &p, &q, &p, &q, &p].map(|number| number.to_be_bytes());
        let numbers = [&[0][..]].into_iter().chain(numbers.iter().map(|bytes| &**bytes));
        let numbers: Vec<Uint> = numbers.map(|bytes| Uint::new(bytes).unwrap()).collect();
        let text = pem::encode("RSA PRIVATE KEY", &numbers.to_der().unwrap()).unwrap();
        let error = "parsing RSA private key from PEM: the primes of an RSA key have the same length";
        assert_eq!(read(&text).map(|_| ()).unwrap_err(), Failure::new(error));
    }
}
