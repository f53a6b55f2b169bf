//! Making DSA keys. Nobody should use them; Sprig has them.

use super::{der, dice::Dice};
use crate::template::{Failure, Host};
use crypto_bigint::{
    BoxedUint, ConcatenatingMul, NonZero, Odd, Resize,
    modular::{BoxedMontyForm, BoxedMontyParams},
};
use crypto_primes::{Flavor, is_prime, random_prime};
use zeroize::Zeroizing;

/// Go's `dsa.L2048N256`: bits of the prime, and of the order of the group.
const BITS: u32 = 2048;
const ORDER_BITS: u32 = 256;
/// What looking for the primes takes, in steps of the rendering: a second or two.
const STEPS: u64 = 1_000_000;
/// Primes up to here are tried before the long test.
const SMALL: u64 = 1 << 13;
/// Candidates after which there should have been a prime for sure, and no end for want of luck.
const CANDIDATES: u64 = 1 << 17;

/// A new key, as Sprig encodes it.
pub(super) fn generate(host: &mut Host<'_>) -> Result<Zeroizing<Vec<u8>>, Failure> {
    host.step(STEPS)?;
    let unlucky = || Failure::new("failed to generate dsa params: no random numbers");
    let order: BoxedUint = random_prime(&mut Dice(host.world()), Flavor::Any, ORDER_BITS);
    let prime = find_prime(host, &order).ok_or_else(unlucky)?;
    let modulus = Odd::new(prime.clone()).into_option().ok_or_else(unlucky)?;
    let parameters = BoxedMontyParams::new(modulus);
    let order = NonZero::new(order).into_option().ok_or_else(unlucky)?;

    let cofactor = prime.wrapping_sub(BoxedUint::one()).div_rem_vartime(&order).0;
    let power = |base: &BoxedUint, exponent: &BoxedUint| {
        BoxedMontyForm::new(base.clone().resize(prime.bits_precision()), &parameters)
            .pow(exponent)
            .retrieve()
    };
    let generator = (2_u64..)
        .map(|base| power(&BoxedUint::from(base), &cofactor))
        .find(|generator| generator.bits() > 1)
        .ok_or_else(unlucky)?;

    // Half as many random bits again leave no trace of the remainder.
    let mut random = Zeroizing::new([0; 48]);
    host.world().random(random.as_mut());
    let private = Zeroizing::new(BoxedUint::from_be_slice_vartime(random.as_ref()).rem(&order));
    if private.bits() == 0 {
        return Err(unlucky());
    }
    let public = power(&generator, &private);
    let mut parts = Zeroizing::new(vec![der::unsigned(&[0])]);
    for number in [&prime, order.as_ref(), &generator, &public, &*private] {
        parts.push(der::unsigned(&Zeroizing::new(number.to_be_bytes())));
    }
    Ok(Zeroizing::new(der::sequence(&parts)))
}

/// A prime that is 1 more than a multiple of the order.
fn find_prime(host: &Host<'_>, order: &BoxedUint) -> Option<BoxedUint> {
    let step = order.concatenating_mul(BoxedUint::from(2_u64)).resize(BITS);
    let divisor = NonZero::new(step.clone()).into_option()?;
    let mut bytes = [0; BITS as usize / 8];
    host.world().random(&mut bytes);
    if let Some(first) = bytes.first_mut() {
        // The topmost bit, and no carry out of it on the way.
        *first = *first & 0x3f | 0x80;
    }
    let start = BoxedUint::from_be_slice_vartime(&bytes);
    let start = start
        .wrapping_sub(start.rem_vartime(&divisor))
        .wrapping_add(BoxedUint::one());
    let sieve = Sieve::new(&start, &step);
    (0..CANDIDATES)
        .filter(|&index| sieve.passes(index))
        .map(|index| start.wrapping_add(step.concatenating_mul(BoxedUint::from(index)).resize(BITS)))
        .find(|candidate| candidate.bits() == BITS && is_prime(Flavor::Any, candidate))
}

/// What the candidates leave when they are divided by small primes.
struct Sieve {
    /// Prime, remainder of the first candidate, remainder of the step.
    remainders: Vec<(u64, u64, u64)>,
}

impl Sieve {
    fn new(start: &BoxedUint, step: &BoxedUint) -> Self {
        let is_small_prime = |&number: &u64| (2..).take_while(|by| by * by <= number).all(|by| number % by != 0);
        let remainder = |of: &BoxedUint, by: u64| {
            let limbs = of.to_be_bytes();
            limbs.iter().fold(0, |left, &byte| (left << 8 | u64::from(byte)) % by)
        };
        Self {
            remainders: (3..SMALL)
                .filter(is_small_prime)
                .map(|prime| (prime, remainder(start, prime), remainder(step, prime)))
                .collect(),
        }
    }

    /// Whether no small prime divides the candidate of that index.
    fn passes(&self, index: u64) -> bool {
        self.remainders
            .iter()
            .all(|(prime, start, step)| (start + index % prime * step) % prime != 0)
    }
}
