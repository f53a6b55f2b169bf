//! Decimal numbers of any size, in which Sprig adds, subtracts, multiplies and divides floats (`shopspring/decimal`
//! v1.4.0).

use bumpwright_gostd as gostd;
use bumpwright_template::{Failure, Host};
use num_bigint::{BigInt, Sign};

/// `value` × 10^`exponent`
#[derive(Clone, Debug)]
pub(crate) struct Decimal {
    value: BigInt,
    exponent: i64,
}

/// The number of decimal places of quotients.
const DIVISION_PRECISION: i64 = 16;

impl Decimal {
    /// The shortest decimal number that parses to this float.
    ///
    /// # Errors
    /// It is not finite.
    pub(crate) fn of(number: f64) -> Result<Self, Failure> {
        if !number.is_finite() {
            let printed = match number {
                f64::INFINITY => "+Inf",
                f64::NEG_INFINITY => "-Inf",
                _ => "NaN",
            };
            return Err(Failure::new(format!("Cannot create a Decimal from {printed}")));
        }
        let printed = gostd::format_float(number, b'e', None, 64);
        let (mantissa, exponent) = printed.split_once('e').unwrap_or((&printed, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        // At most 17 digits.
        let value: i64 = format!("{whole}{fraction}").parse().unwrap_or(0);
        let exponent: i64 = exponent.parse().unwrap_or(0);
        Ok(Self {
            value: value.into(),
            exponent: exponent - fraction.len() as i64,
        })
    }

    pub(crate) fn to_float(&self, host: &mut Host<'_>) -> Result<f64, Failure> {
        host.produce(self.digits())?;
        // The inverse of the above: a number's text is parsed to the nearest float, however long it is.
        Ok(format!("{}e{}", self.value, self.exponent).parse().unwrap_or(0.0))
    }

    pub(crate) fn plus(self, host: &mut Host<'_>, other: Self) -> Result<Self, Failure> {
        let exponent = self.exponent.min(other.exponent);
        let value = self.scaled_to(host, exponent)? + other.scaled_to(host, exponent)?;
        Ok(Self { value, exponent })
    }

    pub(crate) fn minus(self, host: &mut Host<'_>, other: Self) -> Result<Self, Failure> {
        let negative = Self {
            value: -other.value,
            ..other
        };
        self.plus(host, negative)
    }

    pub(crate) fn times(self, host: &mut Host<'_>, other: Self) -> Result<Self, Failure> {
        host.produce(self.digits().saturating_add(other.digits()))?;
        Ok(Self {
            value: self.value * other.value,
            exponent: self.exponent + other.exponent,
        })
    }

    /// The quotient, with its last digit rounded half away from zero.
    pub(crate) fn divided_by(self, host: &mut Host<'_>, other: Self) -> Result<Self, Failure> {
        if other.value.sign() == Sign::NoSign {
            return Err(Failure::new("decimal division by 0"));
        }
        let is_negative = self.value.sign() != other.value.sign();
        // Both sides as integers in units of the quotient's last digit.
        let shift = self.exponent - other.exponent + DIVISION_PRECISION;
        let mut dividend = self.value;
        let mut divisor = other.value;
        if shift < 0 {
            divisor *= power_of_ten(host, -shift)?;
        } else {
            dividend *= power_of_ten(host, shift)?;
        }
        let mut value = &dividend / &divisor;
        let rest = dividend - &value * &divisor;
        if rest.magnitude() * 2_u32 >= *divisor.magnitude() {
            value += if is_negative { -1 } else { 1 };
        }
        Ok(Self {
            value,
            exponent: -DIVISION_PRECISION,
        })
    }

    /// The value with this exponent, which is not greater than its own.
    fn scaled_to(self, host: &mut Host<'_>, exponent: i64) -> Result<BigInt, Failure> {
        if self.exponent == exponent {
            return Ok(self.value);
        }
        host.produce(self.digits())?;
        Ok(self.value * power_of_ten(host, self.exponent - exponent)?)
    }

    /// The approximate number of bytes that its digits take.
    fn digits(&self) -> usize {
        usize::try_from(self.value.bits() / 3).unwrap_or(usize::MAX)
    }
}

fn power_of_ten(host: &mut Host<'_>, exponent: i64) -> Result<BigInt, Failure> {
    // No memory holds more than 32 bits.
    let exponent = u32::try_from(exponent).unwrap_or(u32::MAX);
    host.produce(exponent as usize)?;
    Ok(BigInt::from(10).pow(exponent))
}
