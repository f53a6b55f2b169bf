//! RSA, DSA and ECDSA over curves that have no crate of their own here, in big numbers. Only public values are computed with here, so nothing needs
//! to take the same time always. What numbers may be is bounded before there is any work with them.

use num_bigint::BigUint;

/// Larger RSA keys are not worked with: gpg makes none, and this many bits take milliseconds.
pub(crate) const MOST_RSA_BITS: u64 = 16384;
/// Go refuses smaller ones (`crypto/rsa`, since 1.24).
pub(crate) const LEAST_RSA_BITS: u64 = 1024;
/// Exponents are at most this long; Go takes those below 2³¹.
const MOST_EXPONENT: u64 = (1 << 31) - 1;
/// DSA's largest prime (FIPS 186-4 ends at 3072).
const MOST_DSA_BITS: u64 = 4096;

/// An RSA signature in the padding of PKCS#1 v1.5. `prefix` is the start of the `DigestInfo` of the hash. Signatures that
/// are shorter than the modulus have lost zeros at their start, as OpenPGP and SSH let them.
pub(crate) fn rsa(modulus: &[u8], exponent: &[u8], prefix: &[u8], digest: &[u8], signature: &[u8]) -> bool {
    let modulus = BigUint::from_bytes_be(modulus);
    let exponent = BigUint::from_bytes_be(exponent);
    let signature = BigUint::from_bytes_be(signature);
    if !rsa_is_sound(&modulus, &exponent) || signature >= modulus {
        return false;
    }
    let length = usize::try_from(modulus.bits().div_ceil(8)).unwrap_or(0);
    let Some(padding) = length
        .checked_sub(prefix.len() + digest.len() + 3)
        .filter(|padding| *padding >= 8)
    else {
        return false;
    };
    let mut expected = vec![0, 1];
    expected.resize(2 + padding, 0xff);
    expected.push(0);
    expected.extend_from_slice(prefix);
    expected.extend_from_slice(digest);
    signature.modpow(&exponent, &modulus) == BigUint::from_bytes_be(&expected)
}

fn rsa_is_sound(modulus: &BigUint, exponent: &BigUint) -> bool {
    let odd = |number: &BigUint| number.bit(0);
    (LEAST_RSA_BITS..=MOST_RSA_BITS).contains(&modulus.bits())
        && odd(modulus)
        && odd(exponent)
        && *exponent > BigUint::from(1u8)
        && *exponent <= BigUint::from(MOST_EXPONENT)
}

/// The numbers of a DSA key.
pub(crate) struct Dsa<'a> {
    pub(crate) p: &'a [u8],
    pub(crate) q: &'a [u8],
    pub(crate) g: &'a [u8],
    pub(crate) y: &'a [u8],
}

impl Dsa<'_> {
    /// A signature over a digest (FIPS 186-4, 4.7).
    pub(crate) fn verify(&self, digest: &[u8], r: &[u8], s: &[u8]) -> bool {
        let [p, q, g, y] = [self.p, self.q, self.g, self.y].map(BigUint::from_bytes_be);
        let [r, s] = [r, s].map(BigUint::from_bytes_be);
        let sound = p.bits() <= MOST_DSA_BITS && p.bit(0) && q.bits() <= 512 && q.bits() % 8 == 0 && q < p;
        if !sound || !in_range(&g, &p) || !in_range(&y, &p) || !in_range(&r, &q) || !in_range(&s, &q) {
            return false;
        }
        let Some(w) = s.modinv(&q) else { return false };
        let z = leftmost(digest, &q);
        let u1 = z * &w % &q;
        let u2 = &r * &w % &q;
        let v = g.modpow(&u1, &p) * y.modpow(&u2, &p) % &p % &q;
        v == r
    }
}

fn in_range(number: &BigUint, order: &BigUint) -> bool {
    number.bits() > 0 && number < order
}

/// As many bits from the start of a digest as an order has.
fn leftmost(digest: &[u8], order: &BigUint) -> BigUint {
    let number = BigUint::from_bytes_be(digest);
    let bits = u64::try_from(digest.len()).unwrap_or(u64::MAX).saturating_mul(8);
    number >> bits.saturating_sub(order.bits())
}

/// A curve y² = x³ + ax + b over a prime field, with a base point of prime order (RFC 5639, 3).
pub(crate) struct Curve {
    p: BigUint,
    a: BigUint,
    b: BigUint,
    base: (BigUint, BigUint),
    order: BigUint,
}

/// A point in Jacobian coordinates; z = 0 is infinity.
#[derive(Clone)]
struct Point {
    x: BigUint,
    y: BigUint,
    z: BigUint,
}

/// Curves that OpenPGP knows and that are computed with here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PrimeCurve {
    BrainpoolP256,
    BrainpoolP384,
    BrainpoolP512,
    Secp256k1,
}

impl Curve {
    fn of(name: PrimeCurve) -> Option<Self> {
        let [p, a, b, x, y, order] = match name {
            PrimeCurve::BrainpoolP256 => BRAINPOOL_P256,
            PrimeCurve::BrainpoolP384 => BRAINPOOL_P384,
            PrimeCurve::BrainpoolP512 => BRAINPOOL_P512,
            PrimeCurve::Secp256k1 => SECP256K1,
        };
        let number = |hex: &str| BigUint::parse_bytes(hex.as_bytes(), 16);
        Some(Self {
            p: number(p)?,
            a: number(a)?,
            b: number(b)?,
            base: (number(x)?, number(y)?),
            order: number(order)?,
        })
    }

    /// `from - what` in the field.
    fn minus(&self, from: &BigUint, what: &BigUint) -> BigUint {
        (from + &self.p - what) % &self.p
    }

    fn holds(&self, x: &BigUint, y: &BigUint) -> bool {
        let right = (x * x + &self.a) * x + &self.b;
        *x < self.p && *y < self.p && y * y % &self.p == right % &self.p
    }

    fn double(&self, of: &Point) -> Point {
        let p = &self.p;
        let yy = &of.y * &of.y % p;
        let s = &of.x * &yy * 4u8 % p;
        let zz = &of.z * &of.z % p;
        let m = (&of.x * &of.x * 3u8 + &self.a * (&zz * &zz % p)) % p;
        let x = self.minus(&(&m * &m % p), &(&s * 2u8 % p));
        let y = self.minus(&(&m * self.minus(&s, &x) % p), &(&yy * &yy * 8u8 % p));
        let z = &of.y * &of.z * 2u8 % p;
        Point { x, y, z }
    }

    fn add(&self, left: &Point, right: &Point) -> Point {
        if left.z.bits() == 0 {
            return right.clone();
        }
        if right.z.bits() == 0 {
            return left.clone();
        }
        let p = &self.p;
        let zz1 = &left.z * &left.z % p;
        let zz2 = &right.z * &right.z % p;
        let u1 = &left.x * &zz2 % p;
        let u2 = &right.x * &zz1 % p;
        let s1 = &left.y * &zz2 * &right.z % p;
        let s2 = &right.y * &zz1 * &left.z % p;
        let h = self.minus(&u2, &u1);
        let r = self.minus(&s2, &s1);
        if h.bits() == 0 {
            // The same point, or one and its opposite.
            return if r.bits() == 0 { self.double(left) } else { infinity() };
        }
        let hh = &h * &h % p;
        let hhh = &hh * &h % p;
        let v = &u1 * &hh % p;
        let x = self.minus(&self.minus(&(&r * &r % p), &hhh), &(&v * 2u8 % p));
        let y = self.minus(&(&r * self.minus(&v, &x) % p), &(&s1 * &hhh % p));
        let z = &left.z * &right.z * &h % p;
        Point { x, y, z }
    }

    /// `u1`·base + `u2`·`key`, both from their highest bit on.
    fn sum(&self, u1: &BigUint, u2: &BigUint, key: &Point) -> Point {
        let base = affine(self.base.0.clone(), self.base.1.clone());
        let both = self.add(&base, key);
        let mut sum = infinity();
        for bit in (0..u1.bits().max(u2.bits())).rev() {
            sum = self.double(&sum);
            match (u1.bit(bit), u2.bit(bit)) {
                (true, true) => sum = self.add(&sum, &both),
                (true, false) => sum = self.add(&sum, &base),
                (false, true) => sum = self.add(&sum, key),
                (false, false) => {}
            }
        }
        sum
    }
}

fn infinity() -> Point {
    affine_with(BigUint::from(1u8), BigUint::from(1u8), BigUint::ZERO)
}

fn affine(x: BigUint, y: BigUint) -> Point {
    affine_with(x, y, BigUint::from(1u8))
}

const fn affine_with(x: BigUint, y: BigUint, z: BigUint) -> Point {
    Point { x, y, z }
}

/// An ECDSA signature over a digest, by a key that is an uncompressed point.
pub(crate) fn ecdsa(curve: PrimeCurve, point: &[u8], digest: &[u8], r: &[u8], s: &[u8]) -> bool {
    let Some(curve) = Curve::of(curve) else { return false };
    let Some((x, y)) = coordinates(&curve, point) else {
        return false;
    };
    let [r, s] = [r, s].map(BigUint::from_bytes_be);
    if !in_range(&r, &curve.order) || !in_range(&s, &curve.order) {
        return false;
    }
    let Some(w) = s.modinv(&curve.order) else { return false };
    let u1 = leftmost(digest, &curve.order) * &w % &curve.order;
    let u2 = &r * &w % &curve.order;
    let sum = curve.sum(&u1, &u2, &affine(x, y));
    let Some(inverse) = sum.z.modinv(&curve.p) else {
        return false;
    };
    sum.x * &inverse * &inverse % &curve.p % &curve.order == r
}

/// Whether these bytes are an uncompressed point of the curve.
pub(crate) fn is_point(curve: PrimeCurve, point: &[u8]) -> bool {
    Curve::of(curve).is_some_and(|curve| coordinates(&curve, point).is_some())
}

fn coordinates(curve: &Curve, point: &[u8]) -> Option<(BigUint, BigUint)> {
    let length = usize::try_from(curve.p.bits().div_ceil(8)).ok()?;
    let numbers = point.strip_prefix(&[4])?;
    let (x, y) = numbers.split_at_checked(length).filter(|(_, y)| y.len() == length)?;
    let (x, y) = (BigUint::from_bytes_be(x), BigUint::from_bytes_be(y));
    curve.holds(&x, &y).then_some((x, y))
}

/// p, A, B, x, y, q of brainpoolP256r1.
const BRAINPOOL_P256: [&str; 6] = [
    "A9FB57DBA1EEA9BC3E660A909D838D726E3BF623D52620282013481D1F6E5377",
    "7D5A0975FC2C3057EEF67530417AFFE7FB8055C126DC5C6CE94A4B44F330B5D9",
    "26DC5C6CE94A4B44F330B5D9BBD77CBF958416295CF7E1CE6BCCDC18FF8C07B6",
    "8BD2AEB9CB7E57CB2C4B482FFC81B7AFB9DE27E1E3BD23C23A4453BD9ACE3262",
    "547EF835C3DAC4FD97F8461A14611DC9C27745132DED8E545C1D54C72F046997",
    "A9FB57DBA1EEA9BC3E660A909D838D718C397AA3B561A6F7901E0E82974856A7",
];
/// The same of brainpoolP384r1.
const BRAINPOOL_P384: [&str; 6] = [
    "8CB91E82A3386D280F5D6F7E50E641DF152F7109ED5456B412B1DA197FB71123ACD3A729901D1A71874700133107EC53",
    "7BC382C63D8C150C3C72080ACE05AFA0C2BEA28E4FB22787139165EFBA91F90F8AA5814A503AD4EB04A8C7DD22CE2826",
    "04A8C7DD22CE28268B39B55416F0447C2FB77DE107DCD2A62E880EA53EEB62D57CB4390295DBC9943AB78696FA504C11",
    "1D1C64F068CF45FFA2A63A81B7C13F6B8847A3E77EF14FE3DB7FCAFE0CBD10E8E826E03436D646AAEF87B2E247D4AF1E",
    "8ABE1D7520F9C2A45CB1EB8E95CFD55262B70B29FEEC5864E19C054FF99129280E4646217791811142820341263C5315",
    "8CB91E82A3386D280F5D6F7E50E641DF152F7109ED5456B31F166E6CAC0425A7CF3AB6AF6B7FC3103B883202E9046565",
];
/// The same of brainpoolP512r1.
const BRAINPOOL_P512: [&str; 6] = [
    "AADD9DB8DBE9C48B3FD4E6AE33C9FC07CB308DB3B3C9D20ED6639CCA703308717D4D9B009BC66842AECDA12AE6A380E62881FF2F2D82C68528AA6056583A48F3",
    "7830A3318B603B89E2327145AC234CC594CBDD8D3DF91610A83441CAEA9863BC2DED5D5AA8253AA10A2EF1C98B9AC8B57F1117A72BF2C7B9E7C1AC4D77FC94CA",
    "3DF91610A83441CAEA9863BC2DED5D5AA8253AA10A2EF1C98B9AC8B57F1117A72BF2C7B9E7C1AC4D77FC94CADC083E67984050B75EBAE5DD2809BD638016F723",
    "81AEE4BDD82ED9645A21322E9C4C6A9385ED9F70B5D916C1B43B62EEF4D0098EFF3B1F78E2D0D48D50D1687B93B97D5F7C6D5047406A5E688B352209BCB9F822",
    "7DDE385D566332ECC0EABFA9CF7822FDF209F70024A57B1AA000C55B881F8111B2DCDE494A5F485E5BCA4BD88A2763AED1CA2B2FA8F0540678CD1E0F3AD80892",
    "AADD9DB8DBE9C48B3FD4E6AE33C9FC07CB308DB3B3C9D20ED6639CCA70330870553E5C414CA92619418661197FAC10471DB1D381085DDADDB58796829CA90069",
];
/// The same of secp256k1 (SEC 2, 2.4.1).
const SECP256K1: [&str; 6] = [
    "FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEFFFFFC2F",
    "0",
    "7",
    "79BE667EF9DCBBAC55A06295CE870B07029BFCDB2DCE28D959F2815B16F81798",
    "483ADA7726A3C4655DA4FBFC0E1108A8FD17B448A68554199C47D08FFB10D4B8",
    "FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141",
];

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;

    const CURVES: [PrimeCurve; 4] = [
        PrimeCurve::BrainpoolP256,
        PrimeCurve::BrainpoolP384,
        PrimeCurve::BrainpoolP512,
        PrimeCurve::Secp256k1,
    ];

    /// `factor` times the base point, as a key and as its coordinates.
    fn times(curve: &Curve, factor: &BigUint) -> (Vec<u8>, BigUint) {
        let point = curve.sum(factor, &BigUint::ZERO, &infinity());
        let inverse = point.z.modinv(&curve.p).unwrap();
        let x = &point.x * &inverse * &inverse % &curve.p;
        let y = &point.y * &inverse * &inverse % &curve.p * &inverse % &curve.p;
        let length = usize::try_from(curve.p.bits().div_ceil(8)).unwrap();
        let mut key = vec![4];
        for number in [&x, &y] {
            let bytes = number.to_bytes_be();
            key.resize(key.len() + length - bytes.len(), 0);
            key.extend_from_slice(&bytes);
        }
        (key, x)
    }

    /// Keys of which sums meet the base point, its opposite and infinity on the way, and one like any other.
    #[test]
    fn signatures_of_keys_at_the_edges_of_a_curve() {
        for name in CURVES {
            let curve = Curve::of(name).unwrap();
            let one = BigUint::from(1u8);
            let keys = [
                one.clone(),
                one.clone() + 1u8,
                &curve.order - 1u8,
                BigUint::from(u64::MAX),
            ];
            let made = [(0xa5, 7u8), (0, 1), (0xff, 255), (1, 9)];
            for (private, (digest, nonce)) in keys.iter().zip(made) {
                let (key, _) = times(&curve, private);
                assert!(is_point(name, &key), "{name:?}");
                let (_, x) = times(&curve, &BigUint::from(nonce));
                let r = x % &curve.order;
                let inverse = BigUint::from(nonce).modinv(&curve.order).unwrap();
                let s = (leftmost(&[digest; 64], &curve.order) + &r * private) * inverse % &curve.order;
                let (r, s) = (r.to_bytes_be(), s.to_bytes_be());
                assert!(ecdsa(name, &key, &[digest; 64], &r, &s), "{name:?} {private}");
                assert!(!ecdsa(name, &key, &[digest; 64], &s, &r), "{name:?} {private}");
                assert!(!ecdsa(name, &key, &[0x5a; 64], &r, &s), "{name:?} {private}");
            }
        }
    }

    #[test]
    fn numbers_out_of_range_are_no_signatures_and_no_keys() {
        for name in CURVES {
            let curve = Curve::of(name).unwrap();
            let (key, _) = times(&curve, &BigUint::from(5u8));
            let order = curve.order.to_bytes_be();
            for (r, s) in [(&[][..], &[1][..]), (&[1], &[0]), (&order, &[1]), (&[1], &order)] {
                assert!(!ecdsa(name, &key, &[1; 32], r, s), "{name:?}");
            }
            let mut off = key.clone();
            *off.last_mut().unwrap() ^= 1;
            for wrong in [
                &[][..],
                &key[1..],
                &key[..key.len() - 1],
                &[&key[..], &[0]].concat(),
                &off,
            ] {
                assert!(!is_point(name, wrong), "{name:?}");
            }
        }
    }

    #[test]
    fn rsa_keys_that_are_none_are_not_computed_with() {
        let odd = |bits: usize| [&[0x80][..], &vec![0; bits / 8 - 2], &[1]].concat();
        let sound = |modulus: &[u8], exponent: &[u8]| {
            rsa_is_sound(&BigUint::from_bytes_be(modulus), &BigUint::from_bytes_be(exponent))
        };
        assert!(
            sound(&odd(1024), &[3]) && sound(&odd(16384), &[1, 0, 1]) && sound(&odd(2048), &[0x7f, 0xff, 0xff, 0xff])
        );
        for (modulus, exponent) in [
            (odd(1016), &[3][..]),
            (odd(16392), &[3]),
            (vec![0xfe; 256], &[3]),
            (odd(2048), &[]),
            (odd(2048), &[1]),
            (odd(2048), &[4]),
            (odd(2048), &[0x80, 0, 0, 1]),
            (Vec::new(), &[3]),
        ] {
            assert!(!sound(&modulus, exponent), "{} {exponent:?}", modulus.len());
            assert!(!rsa(&modulus, exponent, &[], &[0; 32], &[1]));
        }
        // A signature as large as the modulus, and a digest that there is no room for.
        assert!(!rsa(&odd(1024), &[3], &[], &[0; 32], &odd(1024)));
        assert!(!rsa(&odd(1024), &[3], &[], &[0; 120], &[1]));
    }

    #[test]
    fn dsa_keys_that_are_none_are_not_computed_with() {
        let p = [&[0x80][..], &[0; 126], &[1]].concat();
        let q = [&[0x80][..], &[0; 18], &[1]].concat();
        let long = vec![0xff; 1024];
        for (p, q, g, y) in [
            (&[][..], &[][..], &[][..], &[][..]),
            (&p, &q, &[], &[2]),
            (&p, &q, &[2], &[]),
            (&p, &q, &p, &[2]),
            (&p, &q, &[2], &p),
            (&long, &q, &[2], &[2]),
            (&q, &p, &[2], &[2]),
        ] {
            assert!(!Dsa { p, q, g, y }.verify(&[1; 32], &[1], &[1]));
        }
    }
}
