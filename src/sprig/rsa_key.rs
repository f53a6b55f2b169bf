//! RSA keys: what makes one sound in the eyes of Go's `crypto/rsa`, their PKCS #1 form, and signing.

use super::{
    asn1::{Field, Layout, Node, Shape},
    der,
    dice::Dice,
};
use crate::template::{Failure, Host};
use crypto_bigint::{
    BoxedUint, ConcatenatingMul, NonZero, Odd, Resize,
    modular::{BoxedMontyForm, BoxedMontyParams},
};
use rsa::traits::{PrivateKeyParts, PublicKeyParts};
use sha2::{Digest, Sha256};
use zeroize::{Zeroize, Zeroizing};

/// A private key.
pub(super) struct RsaKey {
    modulus: BoxedUint,
    exponent: u64,
    private: BoxedUint,
    primes: Vec<BoxedUint>,
    remainders: Remainders,
    /// Exponent and coefficient of each prime after the second.
    further: Vec<(BoxedUint, BoxedUint)>,
}

/// What follows from the first two primes: `d mod p-1`, `d mod q-1`, `1/q mod p`.
struct Remainders {
    p_exponent: BoxedUint,
    q_exponent: BoxedUint,
    coefficient: BoxedUint,
}

/// Go's `pkcs1PrivateKey`.
pub(super) static PKCS1: Layout = Layout {
    name: "pkcs1PrivateKey",
    fields: &[
        Field::new(Shape::Int),
        Field::new(Shape::BigInt),
        Field::new(Shape::Int),
        Field::new(Shape::BigInt),
        Field::new(Shape::BigInt),
        Field::new(Shape::BigInt),
        Field::optional(Shape::BigInt),
        Field::optional(Shape::BigInt),
        Field::optional(Shape::BigInt),
        Field::optional(Shape::List(&FURTHER_PRIME)),
    ],
};

static FURTHER_PRIME: Layout = Layout {
    name: "pkcs1AdditionalRSAPrime",
    fields: &[
        Field::new(Shape::BigInt),
        Field::new(Shape::BigInt),
        Field::new(Shape::BigInt),
    ],
};

/// The DER that says before a hash that it is one by SHA-256 (RFC 8017, section 9.2).
const SHA256_PREFIX: [u8; 19] = [
    0x30, 0x31, 0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01, 0x05, 0x00, 0x04, 0x20,
];

/// Keys below this are not used for signing.
const LEAST_BITS: u32 = 1024;

impl RsaKey {
    /// A new key of so many bits.
    pub fn generate(host: &mut Host<'_>, bits: usize) -> Result<Self, Failure> {
        // Some seconds for 4096 bits; it grows with the fourth power.
        let steps = (bits as u64).pow(4) / (4096_u64.pow(4) / 1_000_000);
        host.step(steps)?;
        let key = rsa::RsaPrivateKey::new(&mut Dice(host.world()), bits);
        let key = key.map_err(|error| Failure::new(error.to_string()))?;
        let exponent = key.e().to_be_bytes();
        let exponent = exponent.iter().fold(0, |number, &byte| number << 8 | u64::from(byte));
        let [p, q] = key.primes() else {
            return Err(Failure::new("internal: a new key has other than two primes"));
        };
        let remainders = Remainders::of(key.d(), p, q)?;
        Ok(Self {
            modulus: key.n().as_ref().clone(),
            exponent,
            private: key.d().clone(),
            primes: vec![p.clone(), q.clone()],
            remainders,
            further: Vec::new(),
        })
    }

    /// Go's `x509.ParsePKCS1PrivateKey`, when the text is such a key in form.
    pub fn from_pkcs1(host: &mut Host<'_>, node: &Node<'_>) -> Result<Self, Failure> {
        if node.int(0) > 1 {
            return Err(Failure::new("x509: unsupported private key version"));
        }
        let part = |index| node.bytes(index);
        let needed = [1, 3, 4, 5].into_iter().map(part);
        let given = [6, 7, 8].into_iter().map(part).filter(Option::is_some);
        if !needed.chain(given).all(|bytes| bytes.is_some_and(is_positive)) {
            return Err(Failure::new("x509: private key contains zero or negative value"));
        }
        let further: Vec<&[u8]> = node
            .nodes()
            .get(9)
            .map(|list| list.nodes().iter().filter_map(|prime| prime.bytes(0)).collect())
            .unwrap_or_default();
        if !further.iter().all(|bytes| is_positive(bytes)) {
            return Err(Failure::new("x509: private key contains zero or negative prime"));
        }
        charge(
            host,
            [1, 3, 4, 5].into_iter().filter_map(part).chain(further.iter().copied()),
        )?;
        let at = |index| number(part(index).unwrap_or_default());
        let given = match (part(6), part(7), part(8)) {
            (Some(_), Some(_), Some(_)) => Some(Remainders {
                p_exponent: at(6),
                q_exponent: at(7),
                coefficient: at(8),
            }),
            _ => None,
        };
        let (modulus, exponent, private) = (at(1), node.int(2), at(3));
        if further.is_empty() {
            return Self::of_two_primes(modulus, exponent, private, [at(4), at(5)], given);
        }
        // The product of the primes is divided by each of them.
        let lengths: usize = further.iter().map(|prime| prime.len()).sum();
        let limbs = (lengths + part(1).unwrap_or_default().len()) as u64 / 8;
        host.step(limbs.saturating_mul(further.len() as u64) / 100)?;
        let primes = [at(4), at(5)].into_iter().chain(further.into_iter().map(number));
        Self::of_many_primes(modulus, exponent, private, primes.collect())
    }

    fn of_two_primes(
        modulus: BoxedUint,
        exponent: i64,
        private: BoxedUint,
        [p, q]: [BoxedUint; 2],
        given: Option<Remainders>,
    ) -> Result<Self, Failure> {
        for number in [&modulus, &p, &q] {
            at_least_two(number)?;
        }
        fits(&private, &modulus)?;
        let remainders = match given {
            Some(given) => {
                fits(&given.coefficient, &p)?;
                given
            }
            None => Remainders::of(&private, &p, &q)?,
        };
        let key = Self {
            exponent: check_public(&modulus, exponent)?,
            modulus,
            private,
            primes: vec![p, q],
            remainders,
            further: Vec::new(),
        };
        key.check_pair()?;
        Ok(key)
    }

    /// Keys of more than two primes: Go looks at them less closely.
    fn of_many_primes(
        modulus: BoxedUint,
        exponent: i64,
        private: BoxedUint,
        primes: Vec<BoxedUint>,
    ) -> Result<Self, Failure> {
        const NOT_PRIME: &str = "crypto/rsa: prime factors are not relatively prime";
        at_least_two(&modulus)?;
        fits(&private, &modulus)?;
        let exponent = check_public(&modulus, exponent)?;
        if primes.iter().any(|prime| prime.bits() < 2) {
            return Err(Failure::new("crypto/rsa: prime factor is <= 1"));
        }
        let reduced = |prime: &BoxedUint| remainder(&private, &less_one(prime));
        let inverse = |of: &BoxedUint, prime: &BoxedUint| {
            let divisor = nonzero(prime)?;
            let inverse = remainder(of, prime)?.invert_mod(&divisor).into_option();
            inverse.ok_or_else(|| Failure::new(NOT_PRIME))
        };
        let (p, q, rest) = match primes.as_slice() {
            [p, q, rest @ ..] => (p, q, rest),
            _ => return Err(Failure::new("crypto/rsa: missing primes")),
        };
        let remainders = Remainders {
            p_exponent: reduced(p)?,
            q_exponent: reduced(q)?,
            coefficient: inverse(q, p)?,
        };
        let mut product = p.concatenating_mul(q);
        let mut further = Vec::with_capacity(rest.len());
        for prime in rest {
            further.push((reduced(prime)?, inverse(&product, prime)?));
            product = product.concatenating_mul(prime);
        }
        Ok(Self {
            modulus,
            exponent,
            private,
            primes,
            remainders,
            further,
        })
    }

    /// Go's `checkPrivateKey`, after the public part.
    fn check_pair(&self) -> Result<(), Failure> {
        let wrong = |what: &str| Err(Failure::new(format!("crypto/rsa: {what}")));
        let [p, q] = self.primes.as_slice() else {
            return wrong("missing primes");
        };
        let Remainders {
            p_exponent,
            q_exponent,
            coefficient,
        } = &self.remainders;
        if *p >= self.modulus || *q >= self.modulus {
            return wrong("invalid prime");
        }
        if remainder(&p.concatenating_mul(q), &self.modulus)?.bits() != 0 {
            return wrong("p * q != n");
        }
        for (prime, exponent) in [(p, p_exponent), (q, q_exponent)] {
            let order = less_one(prime);
            if order.bits() < 2 {
                return wrong("invalid prime");
            }
            let product = exponent.concatenating_mul(BoxedUint::from(self.exponent));
            if *exponent >= order || remainder(&product, &order)? != BoxedUint::one() {
                return wrong("invalid CRT exponent");
            }
        }
        if remainder(&q.concatenating_mul(coefficient), p)? != BoxedUint::one() {
            return wrong("invalid CRT coefficient");
        }
        if remainder(&self.private, &less_one(p))? != *p_exponent {
            return wrong("d does not match dP");
        }
        if remainder(&self.private, &less_one(q))? != *q_exponent {
            return wrong("d does not match dQ");
        }
        let difference = match p.cmp_vartime(q) {
            std::cmp::Ordering::Less => q.wrapping_sub(p),
            std::cmp::Ordering::Equal => return wrong("p == q"),
            std::cmp::Ordering::Greater => p.wrapping_sub(q),
        };
        let half = i64::from(self.modulus.bits() / 2);
        if i64::from(difference.bits()) <= half - 100 {
            return wrong("|p - q| too small");
        }
        if i64::from(self.private.bits()) <= half {
            return wrong("d too small");
        }
        Ok(())
    }

    /// The key in PKCS #1.
    pub fn to_pkcs1(&self) -> Zeroizing<Vec<u8>> {
        let (first, further) = self.primes.split_at_checked(2).unwrap_or((&self.primes, &[]));
        let private = std::iter::once(&self.private).chain(first).chain([
            &self.remainders.p_exponent,
            &self.remainders.q_exponent,
            &self.remainders.coefficient,
        ]);
        let mut parts = Zeroizing::new(vec![
            der::unsigned(&[u8::from(!further.is_empty())]),
            encoded(&self.modulus),
            der::unsigned(&self.exponent.to_be_bytes()),
        ]);
        parts.extend(private.map(encoded));
        if !further.is_empty() {
            let primes: Vec<Vec<u8>> = further
                .iter()
                .zip(&self.further)
                .map(|(prime, (exponent, coefficient))| {
                    der::sequence(&[encoded(prime), encoded(exponent), encoded(coefficient)])
                })
                .collect();
            parts.push(der::sequence(&primes));
        }
        Zeroizing::new(der::sequence(&parts))
    }

    /// The public key in PKCS #1.
    pub fn public(&self) -> Vec<u8> {
        der::sequence(&[encoded(&self.modulus), der::unsigned(&self.exponent.to_be_bytes())])
    }

    /// Signs by PKCS #1 v1.5 with SHA-256.
    pub fn sign(&self, host: &mut Host<'_>, message: &[u8]) -> Result<Vec<u8>, Failure> {
        let bits = self.modulus.bits();
        if bits < LEAST_BITS {
            return Err(Failure::new(format!(
                "crypto/rsa: {bits}-bit keys are insecure (see https://go.dev/pkg/crypto/rsa#hdr-Minimum_key_size)"
            )));
        }
        charge(host, [self.modulus.to_be_bytes().as_ref()].into_iter())?;
        let size = bits.div_ceil(8) as usize;
        let hash = Sha256::digest(message);
        let mut padded = vec![0xff; size.saturating_sub(SHA256_PREFIX.len() + hash.len() + 1)];
        for (byte, start) in padded.iter_mut().zip([0, 1]) {
            *byte = start;
        }
        padded.push(0);
        padded.extend_from_slice(&SHA256_PREFIX);
        padded.extend_from_slice(&hash);
        let padded = number(&padded).resize(self.modulus.bits_precision());
        let parameters = BoxedMontyParams::new(odd(&self.modulus)?);
        let signature = BoxedMontyForm::new(padded.clone(), &parameters).pow(&self.private);
        // A key that is not sound, or a computer that is not, must not give a signature away.
        if signature.pow(&BoxedUint::from(self.exponent)).retrieve() != padded {
            return Err(Failure::new("crypto/rsa: decryption error"));
        }
        let bytes = signature.retrieve().to_be_bytes();
        let start = bytes.len().saturating_sub(size);
        Ok(bytes.get(start..).unwrap_or_default().to_vec())
    }
}

impl Remainders {
    /// Computes them as Go does, by Fermat's theorem: of what is not prime they come out wrong, and it notices later.
    fn of(private: &BoxedUint, p: &BoxedUint, q: &BoxedUint) -> Result<Self, Failure> {
        let (p_order, q_order) = (less_one(p), less_one(q));
        at_least_two(&p_order)?;
        let p_exponent = remainder(private, &p_order)?;
        at_least_two(&q_order)?;
        let q_exponent = remainder(private, &q_order)?;
        let parameters = match odd(p) {
            Ok(p) => BoxedMontyParams::new(p),
            Err(_) => return Err(Failure::new("crypto/rsa: p is even")),
        };
        let base = BoxedMontyForm::new(remainder(q, p)?, &parameters);
        Ok(Self {
            p_exponent,
            q_exponent,
            coefficient: base.pow(&less_one(&p_order)).retrieve(),
        })
    }
}

impl Drop for RsaKey {
    fn drop(&mut self) {
        self.private.zeroize();
        self.primes.iter_mut().for_each(Zeroize::zeroize);
        for (exponent, coefficient) in &mut self.further {
            exponent.zeroize();
            coefficient.zeroize();
        }
    }
}

impl Drop for Remainders {
    fn drop(&mut self) {
        self.p_exponent.zeroize();
        self.q_exponent.zeroize();
        self.coefficient.zeroize();
    }
}

/// Exponentiation takes the cube of the length: long numbers in a key must not stall the rendering.
fn charge<'a>(host: &mut Host<'_>, numbers: impl Iterator<Item = &'a [u8]>) -> Result<(), Failure> {
    let longest = numbers.map(<[u8]>::len).max().unwrap_or_default() as u64;
    let limbs = longest / 8 + 1;
    host.step((limbs * 64).saturating_mul(limbs.saturating_mul(limbs)) / 10_000)
}

/// Go's `checkPublicKey`.
fn check_public(modulus: &BoxedUint, exponent: i64) -> Result<u64, Failure> {
    let wrong = |what: &str| Err(Failure::new(format!("crypto/rsa: {what}")));
    if odd(modulus).is_err() {
        return wrong("public modulus is even");
    }
    match u64::try_from(exponent) {
        Err(_) | Ok(0 | 1) => wrong("public exponent too small or negative"),
        Ok(even) if even % 2 == 0 => wrong("public exponent is even"),
        Ok(large) if large > i32::MAX as u64 => wrong("public exponent too large"),
        Ok(exponent) => Ok(exponent),
    }
}

fn at_least_two(modulus: &BoxedUint) -> Result<(), Failure> {
    match modulus.bits() {
        0 | 1 => Err(Failure::new("modulus must be > 1")),
        _ => Ok(()),
    }
}

/// Go tells numbers that have too many words from those that are only too large.
fn fits(number: &BoxedUint, modulus: &BoxedUint) -> Result<(), Failure> {
    if number.bits().div_ceil(64) > modulus.bits().div_ceil(64) {
        return Err(Failure::new("input overflows the modulus size"));
    }
    if number >= modulus {
        return Err(Failure::new("input overflows the modulus"));
    }
    Ok(())
}

fn is_positive(bytes: &[u8]) -> bool {
    bytes.first().is_some_and(|first| first & 0x80 == 0) && bytes.iter().any(|&byte| byte != 0)
}

fn number(bytes: &[u8]) -> BoxedUint {
    BoxedUint::from_be_slice_vartime(bytes)
}

fn encoded(number: &BoxedUint) -> Vec<u8> {
    der::unsigned(&Zeroizing::new(number.to_be_bytes()))
}

fn less_one(number: &BoxedUint) -> BoxedUint {
    number.wrapping_sub(BoxedUint::one())
}

fn nonzero(number: &BoxedUint) -> Result<NonZero<BoxedUint>, Failure> {
    let number = NonZero::new(number.clone()).into_option();
    number.ok_or_else(|| Failure::new("modulus must be > 1"))
}

fn odd(number: &BoxedUint) -> Result<Odd<BoxedUint>, Failure> {
    let number = Odd::new(number.clone()).into_option();
    number.ok_or_else(|| Failure::new("crypto/rsa: public modulus is even"))
}

fn remainder(of: &BoxedUint, modulus: &BoxedUint) -> Result<BoxedUint, Failure> {
    Ok(of.rem_vartime(&nonzero(modulus)?))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

    use super::*;
    use crate::{
        sprig::{asn1, dice::tests::LoadedDice},
        template::Limits,
    };

    fn read(host: &mut Host<'_>, parts: &[Vec<u8>]) -> Result<RsaKey, Failure> {
        let text = der::sequence(parts);
        RsaKey::from_pkcs1(host, &asn1::unmarshal(&PKCS1, &text).unwrap().0)
    }

    #[test]
    fn unsound_keys_are_refused_with_gos_words() {
        let world = LoadedDice::default();
        let mut host = Host::new(Limits::default(), &world);
        let key = RsaKey::generate(&mut host, 1024).unwrap();
        let text = key.to_pkcs1();
        let mut reader = der::Reader(&text).inside(der::SEQUENCE).unwrap();
        let mut parts = Vec::new();
        while !reader.is_empty() {
            parts.push(reader.any().unwrap().whole.to_vec());
        }
        assert_eq!(*read(&mut host, &parts).unwrap().to_pkcs1(), *text);
        // What follows from the rest may be left out.
        assert_eq!(*read(&mut host, &parts[..6]).unwrap().to_pkcs1(), *text);

        let small = |number: u8| der::unsigned(&[number]);
        for (index, part, error) in [
            (0, small(2), "x509: unsupported private key version"),
            (1, small(0), "x509: private key contains zero or negative value"),
            (1, small(1), "modulus must be > 1"),
            (2, small(4), "crypto/rsa: public exponent is even"),
            (2, small(3), "crypto/rsa: invalid CRT exponent"),
            (3, parts[1].clone(), "input overflows the modulus"),
            (3, small(5), "crypto/rsa: d does not match dP"),
            (4, parts[5].clone(), "crypto/rsa: p * q != n"),
            (8, small(1), "crypto/rsa: invalid CRT coefficient"),
        ] {
            let mut parts = parts.clone();
            parts[index] = part;
            let failure = read(&mut host, &parts).map(|_| ()).unwrap_err();
            assert_eq!(failure, Failure::new(error), "{index}");
        }
    }

    #[test]
    fn long_numbers_run_into_the_limit() {
        let world = LoadedDice::default();
        let long = der::unsigned(&vec![0xff; 1 << 20]);
        let parts = [&der::unsigned(&[0]), &long, &der::unsigned(&[3]), &long, &long, &long].map(Clone::clone);
        let failure = read(&mut Host::new(Limits::default(), &world), &parts).map(|_| ());
        assert!(matches!(failure, Err(Failure::Limit(_))));

        let primes = vec![der::sequence(&[der::unsigned(&[7]), der::unsigned(&[7]), der::unsigned(&[7])]); 300_000];
        let mut parts = vec![der::unsigned(&[1])];
        parts.extend((1..9).map(|_| der::unsigned(&[7])));
        parts.push(der::sequence(&primes));
        let failure = read(&mut Host::new(Limits::default(), &world), &parts).map(|_| ());
        assert!(matches!(failure, Err(Failure::Limit(_))));
    }
}
