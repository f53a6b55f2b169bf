//! Public keys of SSH in the form of `authorized_keys`, parsed as golang.org/x/crypto/ssh v0.53.0 does.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use sha2::{Digest as _, Sha256};

use super::error::KeyError;
use super::wire::Wire;
use crate::armour::BASE64;
use crate::digest::Hash;
use crate::dsa::Dsa;
use crate::ecdsa::{self, Curve};
use crate::numbers::plain;
use crate::rsa;
use bumpwright_text::Cuts;

/// The parameters of a key by algorithm.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Numbers {
    Rsa {
        e: Vec<u8>,
        n: Vec<u8>,
    },
    Ecdsa {
        curve: Curve,
        point: Vec<u8>,
    },
    Ed25519 {
        key: Vec<u8>,
    },
    Dsa {
        p: Vec<u8>,
        q: Vec<u8>,
        g: Vec<u8>,
        y: Vec<u8>,
    },
    /// Certificates: parsed, but not supported.
    Unsupported,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PublicKey {
    algorithm: String,
    /// The key in wire format.
    blob: Vec<u8>,
    numbers: Numbers,
    /// The application of a security key (FIDO), which signs a wrapped message.
    application: Option<Vec<u8>>,
}

/// Greatest size of RSA keys in SSH, in bits.
const MAX_BITS: usize = 8192;
/// Key types that Go parses as certificates.
const UNSUPPORTED: [&str; 8] = [
    "ssh-rsa-cert-v01@openssh.com",
    "ssh-dss-cert-v01@openssh.com",
    "ecdsa-sha2-nistp256-cert-v01@openssh.com",
    "ecdsa-sha2-nistp384-cert-v01@openssh.com",
    "ecdsa-sha2-nistp521-cert-v01@openssh.com",
    "sk-ecdsa-sha2-nistp256-cert-v01@openssh.com",
    "ssh-ed25519-cert-v01@openssh.com",
    "sk-ssh-ed25519-cert-v01@openssh.com",
];
/// The flag for the touch of a security key.
const USER_PRESENT: u8 = 1;

impl PublicKey {
    /// Parses a key in wire format.
    pub(super) fn read(blob: &[u8]) -> Result<Self, KeyError> {
        let mut wire = Wire(blob);
        let algorithm = wire.text().ok_or(KeyError::Short)?;
        let (numbers, application) = numbers(algorithm, &mut wire)?;
        if wire.end().is_none() && numbers != Numbers::Unsupported {
            return Err(KeyError::Junk);
        }
        Ok(Self {
            algorithm: algorithm.to_owned(),
            blob: blob.to_vec(),
            numbers,
            application,
        })
    }

    pub(super) fn is_rsa(&self) -> bool {
        matches!(self.numbers, Numbers::Rsa { .. })
    }

    /// `SHA256:` and the hash, as ssh-keygen prints it.
    pub(super) fn fingerprint(&self) -> String {
        format!("SHA256:{}", STANDARD_NO_PAD.encode(Sha256::digest(&self.blob)))
    }

    /// Verifies a signature over a message.
    pub(super) fn verify(&self, message: &[u8], signature: &Signature<'_>) -> Result<(), KeyError> {
        let format = signature.format;
        let fits = if self.is_rsa() {
            matches!(format, "ssh-rsa" | "rsa-sha2-256" | "rsa-sha2-512")
        } else {
            format == self.algorithm
        };
        if !fits {
            return Err(KeyError::SignatureType {
                signature: format.to_owned(),
                key: self.algorithm.clone(),
            });
        }
        let message = match &self.application {
            Some(application) => signature.around(application, message)?,
            None => message.to_vec(),
        };
        match &self.numbers {
            Numbers::Rsa { e, n } => {
                let hash = rsa_hash(format);
                let digest = hash.digest(&message);
                let long = signature.blob.len() > n.len();
                let verified = !long && rsa::verify(n, e, hash, &digest, signature.blob);
                verified.then_some(()).ok_or(KeyError::RsaRefused)
            }
            Numbers::Ecdsa { curve, point } => {
                let digest = ecdsa_hash(*curve).digest(&message);
                let mut wire = Wire(signature.blob);
                let (r, s) = wire.number().zip(wire.number()).ok_or(KeyError::Short)?;
                wire.end().ok_or(KeyError::Short)?;
                ecdsa::verify(*curve, point, &digest, r, s)
                    .then_some(())
                    .ok_or(KeyError::Refused)
            }
            Numbers::Ed25519 { key } => ecdsa::ed25519(key, &message, signature.blob)
                .then_some(())
                .ok_or(KeyError::Refused),
            Numbers::Dsa { p, q, g, y } => {
                let digest = Hash::Sha1.digest(&message);
                let halves = signature.blob.split_at_checked(20).filter(|(_, s)| s.len() == 20);
                let (r, s) = halves.ok_or(KeyError::DsaSignature)?;
                let verified = Dsa { p, q, g, y }.verify(&digest, r, s);
                verified.then_some(()).ok_or(KeyError::Refused)
            }
            Numbers::Unsupported => Err(KeyError::Refused),
        }
    }
}

/// The hash for a curve, by its size (RFC 5656, 6.2.1).
const fn ecdsa_hash(curve: Curve) -> Hash {
    match curve {
        Curve::P256 | Curve::BrainpoolP256 | Curve::Secp256k1 => Hash::Sha256,
        Curve::P384 | Curve::BrainpoolP384 => Hash::Sha384,
        Curve::P521 | Curve::BrainpoolP512 => Hash::Sha512,
    }
}

fn rsa_hash(format: &str) -> Hash {
    match format {
        "rsa-sha2-256" => Hash::Sha256,
        "rsa-sha2-512" => Hash::Sha512,
        _ => Hash::Sha1,
    }
}

fn numbers(algorithm: &str, wire: &mut Wire<'_>) -> Result<(Numbers, Option<Vec<u8>>), KeyError> {
    match algorithm {
        "ssh-rsa" => Ok((rsa(wire)?, None)),
        "ssh-dss" => Ok((dsa(wire)?, None)),
        "ssh-ed25519" | "sk-ssh-ed25519@openssh.com" => {
            let key = wire.string().ok_or(KeyError::Short)?;
            if key.len() != 32 {
                return Err(KeyError::Ed25519Size(key.len()));
            }
            let key = Numbers::Ed25519 { key: key.to_vec() };
            Ok((key, application(algorithm, wire)?))
        }
        "ecdsa-sha2-nistp256"
        | "ecdsa-sha2-nistp384"
        | "ecdsa-sha2-nistp521"
        | "sk-ecdsa-sha2-nistp256@openssh.com" => {
            let key = ecdsa(algorithm, wire)?;
            Ok((key, application(algorithm, wire)?))
        }
        _ if UNSUPPORTED.contains(&algorithm) => Ok((Numbers::Unsupported, None)),
        _ => Err(KeyError::Algorithm(shown(algorithm).to_owned())),
    }
}

/// An algorithm name from a key, to be shown only if it is a plausible name.
fn shown(algorithm: &str) -> &str {
    let is_name = algorithm.len() <= 64 && algorithm.bytes().all(|byte| byte.is_ascii_graphic());
    if is_name { algorithm } else { "(no name)" }
}

fn application(algorithm: &str, wire: &mut Wire<'_>) -> Result<Option<Vec<u8>>, KeyError> {
    if !algorithm.starts_with("sk-") {
        return Ok(None);
    }
    let application = wire.string().ok_or(KeyError::Short)?;
    Ok(Some(application.to_vec()))
}

fn rsa(wire: &mut Wire<'_>) -> Result<Numbers, KeyError> {
    let (e, n) = wire.number().zip(wire.number()).ok_or(KeyError::Short)?;
    let (e, n) = (plain(e).to_vec(), plain(n).to_vec());
    if n.len() > MAX_BITS / 8 {
        return Err(KeyError::Modulus);
    }
    if e.len() > 3 {
        return Err(KeyError::LargeExponent);
    }
    let odd = e.last().is_some_and(|last| last & 1 == 1);
    if !odd || e == [1] {
        return Err(KeyError::Exponent);
    }
    Ok(Numbers::Rsa { e, n })
}

/// Parses a DSA key of the only size in SSH (FIPS 186-2): x/crypto rejects others, which would take long.
fn dsa(wire: &mut Wire<'_>) -> Result<Numbers, KeyError> {
    let mut number = || {
        wire.number()
            .map(|number| plain(number).to_vec())
            .ok_or(KeyError::Short)
    };
    let (p, q, g, y) = (number()?, number()?, number()?, number()?);
    let bits = |number: &[u8]| number.len() * 8 - number.first().map_or(0, |first| first.leading_zeros() as usize);
    if bits(&p) != 1024 {
        return Err(KeyError::DsaSize(bits(&p)));
    }
    if bits(&q) != 160 {
        return Err(KeyError::SubPrime(bits(&q)));
    }
    let is_below = |number: &[u8]| (number.len(), number) < (p.len(), p.as_slice());
    if !is_below(&g) {
        return Err(KeyError::LargeGenerator);
    }
    if g.is_empty() {
        return Err(KeyError::NoGenerator);
    }
    if y.is_empty() || !is_below(&y) {
        return Err(KeyError::PublicValue);
    }
    Ok(Numbers::Dsa { p, q, g, y })
}

fn ecdsa(algorithm: &str, wire: &mut Wire<'_>) -> Result<Numbers, KeyError> {
    let (name, point) = wire.text().zip(wire.string()).ok_or(KeyError::Short)?;
    let curve = match name {
        "nistp256" => Curve::P256,
        "nistp384" => Curve::P384,
        "nistp521" => Curve::P521,
        _ => return Err(KeyError::Curve),
    };
    if !algorithm.contains(name) {
        return Err(KeyError::OtherCurve {
            algorithm: algorithm.to_owned(),
            curve: name.to_owned(),
        });
    }
    if !ecdsa::is_point(curve, point) {
        return Err(KeyError::Point);
    }
    let point = point.to_vec();
    Ok(Numbers::Ecdsa { curve, point })
}

/// A signature with its algorithm.
#[derive(Clone, Copy, Debug)]
pub(super) struct Signature<'a> {
    pub(super) format: &'a str,
    pub(super) blob: &'a [u8],
    pub(super) rest: &'a [u8],
}

impl<'a> Signature<'a> {
    pub(super) fn read(bytes: &'a [u8]) -> Option<Self> {
        let mut wire = Wire(bytes);
        let (format, blob) = wire.text().zip(wire.string())?;
        Some(Self {
            format,
            blob,
            rest: wire.0,
        })
    }

    /// The bytes that a security key signs: hashes of application and message, with flags and a counter between them.
    fn around(&self, application: &[u8], message: &[u8]) -> Result<Vec<u8>, KeyError> {
        let mut wire = Wire(self.rest);
        let (flags, counter) = wire.u8().zip(wire.u32()).ok_or(KeyError::Short)?;
        wire.end().ok_or(KeyError::Short)?;
        if flags & USER_PRESENT == 0 {
            return Err(KeyError::NoTouch);
        }
        let mut around = Sha256::digest(application).to_vec();
        around.push(flags);
        around.extend_from_slice(&counter.to_be_bytes());
        around.extend_from_slice(&Sha256::digest(message));
        Ok(around)
    }
}

/// Parses the keys of a text in the form of `authorized_keys`, one a line. A line that is not a key is an error, so
/// that no key is dropped in silence. Options before keys (`no-pty`, `cert-authority`…) are ignored.
pub(super) fn authorized(text: &str) -> Result<Vec<PublicKey>, KeyError> {
    let lines = text.lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    let keys = lines.map(|line| line_key(line).map_err(|error| KeyError::Line(Box::new(error))));
    keys.collect()
}

fn line_key(line: &str) -> Result<PublicKey, KeyError> {
    let ignored = |error| KeyError::Ignored(Box::new(error));
    let Some((_, rest)) = line.split_once([' ', '\t']) else {
        return Err(KeyError::NoKey);
    };
    let first = match encoded_key(rest) {
        Ok(key) => return Ok(key),
        Err(error) => error,
    };
    let rest = after_options(line);
    match rest.split_once([' ', '\t']) {
        Some((_, rest)) => encoded_key(rest).map_err(ignored),
        None => Err(ignored(first)),
    }
}

/// A line without leading options; blanks inside quotes do not end them.
fn after_options(line: &str) -> &str {
    let (mut quoted, mut before) = (false, ' ');
    let mut signs = line.chars();
    while let Some(sign) = signs.next() {
        match sign {
            ' ' | '\t' if !quoted => return signs.as_str().trim_start(),
            '"' if before != '\\' => quoted = !quoted,
            _ => {}
        }
        before = sign;
    }
    ""
}

fn encoded_key(text: &str) -> Result<PublicKey, KeyError> {
    let digits = text.trim().before([' ', '\t']);
    let blob = BASE64.decode(digits).map_err(|error| match error {
        base64::DecodeError::InvalidByte(at, _) => KeyError::Base64(at),
        _ => KeyError::Base64(digits.len() / 4 * 4),
    })?;
    PublicKey::read(&blob)
}

#[cfg(test)]
#[allow(clippy::indexing_slicing)]
mod tests {
    use super::super::wire::push;
    use super::*;

    #[test]
    fn dsa_keys_have_the_size_of_ssh() {
        let (p, q) = (
            [&[0, 0x80][..], &[1; 127]].concat(),
            [&[0, 0x80][..], &[1; 19]].concat(),
        );
        for (p, q, g, y, error) in [
            (&p[..], &q[..], &[2][..], &[3][..], None),
            (&p[1..128], &q, &[2], &[3], Some("ssh: short read")),
            (&p[2..], &q, &[2], &[3], Some("ssh: unsupported DSA key size 1009")),
            (&p, &p, &[2], &[3], Some("ssh: unsupported DSA sub-prime size 1024")),
            (&p, &[], &[2], &[3], Some("ssh: unsupported DSA sub-prime size 0")),
            (&p, &q, &p, &[3], Some("ssh: DSA generator larger than modulus")),
            (&p, &q, &[0], &[3], Some("ssh: DSA generator must be positive")),
            (&p, &q, &[2], &[], Some("ssh: DSA public value Y out of range")),
            (&p, &q, &[2], &p, Some("ssh: DSA public value Y out of range")),
        ] {
            let mut blob = Vec::new();
            for part in [&b"ssh-dss"[..], p, q, g, y] {
                push(&mut blob, part);
            }
            let said = PublicKey::read(&blob).err().map(|error| error.to_string());
            assert_eq!(said.as_deref(), error);
        }
    }
}
