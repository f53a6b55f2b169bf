//! Private keys: making them, and reading and writing them in PEM as Go's `crypto/x509` does.

use super::{
    asn1::{self, Field, Layout, Shape},
    der, dsa_key,
    ec_key::{Curve, EcKey},
    oids, pem,
    public_keys::PublicKey,
    rsa_key::{PKCS1, RsaKey},
};
use crate::template::{Args, Failure, Host, Value};
use ed25519_dalek::Signer;
use zeroize::Zeroizing;

/// A private key.
pub(super) enum PrivateKey {
    Rsa(RsaKey),
    Ec(EcKey),
    Ed25519(ed25519_dalek::SigningKey),
    /// Can be read, but neither sign nor be certified.
    X25519,
    /// The same.
    Dsa,
}

/// Go's `pkcs8`.
static PKCS8: Layout = Layout {
    name: "pkcs8",
    fields: &[
        Field::new(Shape::Int),
        Field::new(Shape::Struct(&ALGORITHM)),
        Field::new(Shape::Octets),
    ],
};

static ALGORITHM: Layout = Layout {
    name: "AlgorithmIdentifier",
    fields: &[Field::new(Shape::Oid), Field::optional(Shape::Any)],
};

/// Go's `ecPrivateKey`.
static EC: Layout = Layout {
    name: "ecPrivateKey",
    fields: &[
        Field::new(Shape::Int),
        Field::new(Shape::Octets),
        Field::explicit(Shape::Oid, 0),
        Field::explicit(Shape::Bits, 1),
    ],
};

/// Sprig's `DSAKeyFormat`.
static DSA: Layout = Layout {
    name: "DSAKeyFormat",
    fields: &[
        Field::new(Shape::Int),
        Field::new(Shape::BigInt),
        Field::new(Shape::BigInt),
        Field::new(Shape::BigInt),
        Field::new(Shape::BigInt),
        Field::new(Shape::BigInt),
    ],
};

const KIND: &[u8] = b" PRIVATE KEY";
const ED25519_SEED: usize = 32;
const X25519_KEY: usize = 32;
/// What making or using a key takes, where it takes no time to speak of.
const KEY_STEPS: u64 = 1_000;
/// Bytes of PEM that are read in one step.
const BYTES_A_STEP: usize = 16;

/// How much more room the parts of a key take than its text, at the worst: many small numbers.
const NODES: usize = 20;

/// `genPrivateKey TYPE`
pub(super) fn generate(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let kind = args.text(0)?;
    let text = match &**kind {
        b"" | b"rsa" => PrivateKey::Rsa(RsaKey::generate(host, 4096)?).to_pem()?,
        b"dsa" => pem::encode("DSA PRIVATE KEY", &dsa_key::generate(host)?),
        b"ecdsa" => {
            host.step(KEY_STEPS)?;
            PrivateKey::Ec(EcKey::generate(host.world())?).to_pem()?
        }
        b"ed25519" => {
            host.step(KEY_STEPS)?;
            let mut seed = Zeroizing::new([0; ED25519_SEED]);
            host.world().random(seed.as_mut());
            PrivateKey::Ed25519(ed25519_dalek::SigningKey::from_bytes(&seed)).to_pem()?
        }
        other => return Ok(Value::text([b"Unknown type ", other].concat())),
    };
    Ok(text.as_str().into())
}

impl PrivateKey {
    /// Sprig's `parsePrivateKeyPEM`.
    pub fn from_pem(host: &mut Host<'_>, text: &[u8]) -> Result<Self, Failure> {
        host.step((text.len() / BYTES_A_STEP) as u64 + KEY_STEPS)?;
        host.produce(text.len().saturating_mul(NODES))?;
        let Some(block) = pem::decode(text) else {
            return Err(Failure::new("no PEM data in input"));
        };
        let kind = String::from_utf8_lossy(block.kind);
        if block.kind == b"PRIVATE KEY" {
            return from_pkcs8(host, &block.bytes).map_err(within("decoding PEM as PKCS#8: "));
        }
        let Some(form) = block.kind.strip_suffix(KIND) else {
            return Err(Failure::new(format!("no private key data in PEM block of type {kind}")));
        };
        match form {
            b"RSA" => from_pkcs1(host, &block.bytes)
                .map(Self::Rsa)
                .map_err(within("parsing RSA private key from PEM: ")),
            b"EC" => from_sec1(None, &block.bytes)
                .map(Self::Ec)
                .map_err(within("parsing EC private key from PEM: ")),
            b"DSA" => match asn1::unmarshal(&DSA, &block.bytes) {
                Ok(_) => Ok(Self::Dsa),
                Err(error) => Err(Failure::new(format!("parsing DSA private key from PEM: {error}"))),
            },
            _ => Err(Failure::new(format!("invalid private key type {kind}"))),
        }
    }

    /// Sprig's `pemBlockForKey`, for the keys that can be certified.
    pub fn to_pem(&self) -> Result<Zeroizing<String>, Failure> {
        match self {
            Self::Rsa(key) => Ok(pem::encode("RSA PRIVATE KEY", &key.to_pkcs1())),
            Self::Ec(key) => {
                let parts = Zeroizing::new(vec![
                    der::unsigned(&[1]),
                    der::element(der::OCTET_STRING, &key.private()),
                    der::element(der::context_constructed(0), &der::element(der::OID, key.curve().oid())),
                    der::element(der::context_constructed(1), &der::bit_string(&key.public())),
                ]);
                Ok(pem::encode("EC PRIVATE KEY", &Zeroizing::new(der::sequence(&parts))))
            }
            Self::Ed25519(key) => {
                let seed = Zeroizing::new(der::element(der::OCTET_STRING, key.as_bytes()));
                let parts = Zeroizing::new(vec![
                    der::unsigned(&[0]),
                    der::sequence(&[der::element(der::OID, oids::ED25519)]),
                    der::element(der::OCTET_STRING, &seed),
                ]);
                Ok(pem::encode("PRIVATE KEY", &Zeroizing::new(der::sequence(&parts))))
            }
            Self::X25519 | Self::Dsa => Err(Failure::new("internal: a key that is not written")),
        }
    }

    /// The public key.
    pub fn public(&self) -> PublicKey {
        match self {
            Self::Rsa(key) => PublicKey::Rsa(key.public()),
            Self::Ec(key) => PublicKey::Ec(key.curve(), key.public()),
            Self::Ed25519(key) => PublicKey::Ed25519(key.verifying_key().to_bytes().to_vec()),
            Self::X25519 => PublicKey::X25519,
            Self::Dsa => PublicKey::Dsa,
        }
    }

    /// The identifier of the algorithm that it signs with; `None`: it is none of Go's `crypto.Signer`.
    pub fn signature_algorithm(&self) -> Option<Vec<u8>> {
        let oid = |oid: &[u8]| der::element(der::OID, oid);
        Some(match self {
            Self::Rsa(_) => der::sequence(&[oid(oids::SHA256_WITH_RSA), der::element(der::NULL, &[])]),
            Self::Ec(key) => der::sequence(&[oid(key.curve().signature_oid())]),
            Self::Ed25519(_) => der::sequence(&[oid(oids::ED25519)]),
            Self::X25519 | Self::Dsa => return None,
        })
    }

    /// Signs a certificate.
    pub fn sign(&self, host: &mut Host<'_>, message: &[u8]) -> Result<Vec<u8>, Failure> {
        host.step(KEY_STEPS)?;
        match self {
            Self::Rsa(key) => key.sign(host, message),
            Self::Ec(key) => key.sign(message),
            Self::Ed25519(key) => Ok(key.sign(message).to_bytes().to_vec()),
            Self::X25519 | Self::Dsa => Err(Failure::new("internal: a key that does not sign")),
        }
    }
}

/// Puts words before Go's error text; limits stay as they are.
pub(super) fn within(what: &str) -> impl Fn(Failure) -> Failure + '_ {
    move |failure| match failure {
        Failure::Error(text) => Failure::Error(format!("{what}{text}")),
        limit @ Failure::Limit(_) => limit,
    }
}

fn wrong_format(right: &str) -> Failure {
    Failure::new(format!(
        "x509: failed to parse private key (use {right} instead for this key format)"
    ))
}

/// Whether the text has the form of such a key.
fn is(layout: &'static Layout, text: &[u8]) -> bool {
    asn1::unmarshal(layout, text).is_ok()
}

/// Go's `x509.ParsePKCS1PrivateKey`.
fn from_pkcs1(host: &mut Host<'_>, text: &[u8]) -> Result<RsaKey, Failure> {
    match asn1::unmarshal(&PKCS1, text) {
        Ok((_, [_, ..])) => Err(Failure::new("asn1: syntax error: trailing data")),
        Ok((node, [])) => RsaKey::from_pkcs1(host, &node),
        Err(_) if is(&EC, text) => Err(wrong_format("ParseECPrivateKey")),
        Err(_) if is(&PKCS8, text) => Err(wrong_format("ParsePKCS8PrivateKey")),
        Err(error) => Err(Failure::Error(error)),
    }
}

/// Go's `x509.ParsePKCS8PrivateKey`.
fn from_pkcs8(host: &mut Host<'_>, text: &[u8]) -> Result<PrivateKey, Failure> {
    let node = match asn1::unmarshal(&PKCS8, text) {
        Ok((node, _)) => node,
        Err(_) if is(&EC, text) => return Err(wrong_format("ParseECPrivateKey")),
        Err(_) if is(&PKCS1, text) => return Err(wrong_format("ParsePKCS1PrivateKey")),
        Err(error) => return Err(Failure::Error(error)),
    };
    let algorithm = node.nodes().get(1);
    let oid = algorithm.and_then(|node| node.bytes(0)).unwrap_or_default();
    let parameters = algorithm.and_then(|node| node.bytes(1)).unwrap_or_default();
    let key = node.bytes(2).unwrap_or_default();
    match oid {
        oids::RSA => from_pkcs1(host, key)
            .map(PrivateKey::Rsa)
            .map_err(within("x509: failed to parse RSA private key embedded in PKCS#8: ")),
        oids::EC => from_sec1(asn1::oid(parameters).ok(), key)
            .map(PrivateKey::Ec)
            .map_err(within("x509: failed to parse EC private key embedded in PKCS#8: ")),
        oids::ED25519 => {
            let key = curve_key("Ed25519", parameters, key)?;
            match <[u8; ED25519_SEED]>::try_from(key).map(Zeroizing::new) {
                Ok(seed) => Ok(PrivateKey::Ed25519(ed25519_dalek::SigningKey::from_bytes(&seed))),
                Err(_) => Err(Failure::new(format!(
                    "x509: invalid Ed25519 private key length: {}",
                    key.len()
                ))),
            }
        }
        oids::X25519 => match curve_key("X25519", parameters, key)?.len() {
            X25519_KEY => Ok(PrivateKey::X25519),
            _ => Err(Failure::new("crypto/ecdh: invalid private key size")),
        },
        other => Err(Failure::new(format!(
            "x509: PKCS#8 wrapping contained private key with unknown algorithm: {}",
            der::oid_text(other)
        ))),
    }
}

/// The bytes of a key of one of the curves of RFC 8410.
fn curve_key<'a>(name: &str, parameters: &[u8], key: &'a [u8]) -> Result<&'a [u8], Failure> {
    if !parameters.is_empty() {
        return Err(Failure::new(format!("x509: invalid {name} private key parameters")));
    }
    asn1::octets(key).map_err(|error| Failure::new(format!("x509: invalid {name} private key: {error}")))
}

/// Go's `x509.parseECPrivateKey`: the curve may have been named outside.
fn from_sec1(named: Option<&[u8]>, text: &[u8]) -> Result<EcKey, Failure> {
    let node = match asn1::unmarshal(&EC, text) {
        Ok((node, _)) => node,
        Err(_) if is(&PKCS8, text) => return Err(wrong_format("ParsePKCS8PrivateKey")),
        Err(_) if is(&PKCS1, text) => return Err(wrong_format("ParsePKCS1PrivateKey")),
        Err(error) => return Err(Failure::new(format!("x509: failed to parse EC private key: {error}"))),
    };
    let version = node.int(0);
    if version != 1 {
        return Err(Failure::new(format!("x509: unknown EC private key version {version}")));
    }
    let Some(curve) = Curve::of_oid(named.or(node.bytes(2)).unwrap_or_default()) else {
        return Err(Failure::new("x509: unknown elliptic curve"));
    };
    EcKey::from_bytes(curve, node.bytes(1).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

    use super::*;
    use crate::{
        sprig::trial::{StillWorld, call},
        template::Limits,
    };

    fn new_key(kind: &str) -> String {
        match call("genPrivateKey", &[kind.into()]).unwrap() {
            Value::String(text) => text.lossy().into_owned(),
            other => panic!("{other:?}"),
        }
    }

    fn read(text: &str) -> Result<PrivateKey, Failure> {
        PrivateKey::from_pem(&mut Host::new(Limits::default(), &StillWorld), text.as_bytes())
    }

    #[test]
    fn new_keys_can_be_read_again() {
        for (kind, block) in [("ecdsa", "EC PRIVATE KEY"), ("ed25519", "PRIVATE KEY")] {
            let text = new_key(kind);
            assert!(text.starts_with(&format!("-----BEGIN {block}-----\n")), "{text}");
            assert_eq!(*read(&text).unwrap().to_pem().unwrap(), text);
        }
        assert_eq!(new_key("x"), "Unknown type x");
    }

    #[test]
    fn keys_in_the_wrong_block_are_told_apart() {
        let ec = new_key("ecdsa");
        let ed25519 = new_key("ed25519");
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
            (
                ec.replace("EC PRIVATE", "PRIVATE"),
                "decoding PEM as PKCS#8: x509: failed to parse private key (use ParseECPrivateKey instead for this key \
                 format)",
            ),
            (
                ed25519.replace("PRIVATE", "RSA PRIVATE"),
                "parsing RSA private key from PEM: x509: failed to parse private key (use ParsePKCS8PrivateKey instead \
                 for this key format)",
            ),
            (
                ed25519.replace("PRIVATE", "EC PRIVATE"),
                "parsing EC private key from PEM: x509: failed to parse private key (use ParsePKCS8PrivateKey instead \
                 for this key format)",
            ),
        ] {
            assert_eq!(read(&text).map(|_| ()).unwrap_err(), Failure::new(error), "{text}");
        }
    }
}
