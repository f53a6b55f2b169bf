//! What makes one tag newer than another: a range of versions, the alphabet, or numbers (image-reflector-controller
//! v1.2.0, `internal/policy`).

use std::cmp::Ordering;

use thiserror::Error;

use bumpwright_gostd::{parse_float, unicode::to_upper};
use bumpwright_semver::Version;
use bumpwright_semver::VersionError;
use bumpwright_semver::{Constraint, ConstraintError};

/// A rule as it is written in an `ImagePolicy` (`spec.policy` of v1beta1, v1beta2 and v1). Of several, the first counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuleSpec {
    /// `semver.range`.
    pub semver: Option<String>,
    /// `alphabetical.order`; empty when it is left out.
    pub alphabetical: Option<String>,
    /// `numerical.order`; empty when it is left out.
    pub numerical: Option<String>,
}

/// Why a rule cannot be used, in the controller's words.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum InvalidRule {
    /// None of the three is given.
    #[error("given ImagePolicyChoice object is invalid")]
    Absent,
    /// The range of versions cannot be read.
    #[error(transparent)]
    Range(#[from] ConstraintError),
    /// The order, in capitals, is neither ascending nor descending.
    #[error("invalid order argument provided: '{0}', must be one of: ASC, DESC")]
    Order(String),
}

/// A rule that can be used.
#[derive(Clone, Debug)]
pub(super) enum Rule {
    Semver(Constraint),
    Alphabetical(Order),
    Numerical(Order),
}

/// Which end of an order is the newest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// The last.
    Ascending,
    /// The first.
    Descending,
}

/// What a value counts as under a rule.
#[derive(Clone, Debug)]
pub(super) enum Weight {
    Version(Box<Version>),
    /// The value itself.
    Text,
    Number(f64),
}

/// Why a value does not count under a rule.
#[derive(Clone, Debug)]
pub(super) enum Misfit {
    NotAVersion(VersionError),
    OutOfRange(Box<Version>),
    NotANumber,
}

impl Rule {
    pub(super) fn new(spec: &RuleSpec) -> Result<Self, InvalidRule> {
        match (&spec.semver, &spec.alphabetical, &spec.numerical) {
            (Some(range), ..) => Ok(Self::Semver(Constraint::parse(range)?)),
            (None, Some(order), _) => Ok(Self::Alphabetical(Order::read(order)?)),
            (None, None, Some(order)) => Ok(Self::Numerical(Order::read(order)?)),
            (None, None, None) => Err(InvalidRule::Absent),
        }
    }

    /// What the value counts as.
    pub(super) fn weigh(&self, value: &str) -> Result<Weight, Misfit> {
        match self {
            Self::Semver(constraint) => {
                let version = read_version(value).map_err(Misfit::NotAVersion)?;
                match constraint.check(&version) {
                    true => Ok(Weight::Version(version)),
                    false => Err(Misfit::OutOfRange(version)),
                }
            }
            _ => self.measure(value).ok_or(Misfit::NotANumber),
        }
    }

    /// What the value counts as when the range does not matter; `None` when it is no version or number.
    pub(super) fn measure(&self, value: &str) -> Option<Weight> {
        match self {
            Self::Semver(_) => read_version(value).ok().map(Weight::Version),
            Self::Alphabetical(_) => Some(Weight::Text),
            Self::Numerical(_) => read_number(value).map(Weight::Number),
        }
    }

    /// Whether a value, with its weight, is newer than another. `None`: one of them is no number (`NaN`).
    pub(super) fn compare(&self, this: (&str, &Weight), other: (&str, &Weight)) -> Option<Ordering> {
        let ascending = match (this.1, other.1) {
            (Weight::Version(this), Weight::Version(other)) => this.cmp(other),
            (Weight::Number(this), Weight::Number(other)) => this.partial_cmp(other)?,
            _ => this.0.cmp(other.0),
        };
        Some(match self {
            Self::Alphabetical(Order::Descending) | Self::Numerical(Order::Descending) => ascending.reverse(),
            _ => ascending,
        })
    }
}

fn read_version(value: &str) -> Result<Box<Version>, VersionError> {
    Version::parse_flux(value).map(Box::new)
}

/// A number as Go reads it. Build numbers and times, which most are, need no decimal arithmetic.
fn read_number(value: &str) -> Option<f64> {
    const ALWAYS_FITS: usize = 19;
    if value.len() <= ALWAYS_FITS && value.bytes().all(|byte| byte.is_ascii_digit()) {
        // The nearest float, as when the digits themselves are rounded.
        return value.parse::<u64>().ok().map(|whole| whole as f64);
    }
    parse_float(value, 64).ok()
}

impl Order {
    fn read(text: &str) -> Result<Self, InvalidRule> {
        let text: String = text.chars().map(to_upper).collect();
        match text.as_str() {
            "" | "ASC" => Ok(Self::Ascending),
            "DESC" => Ok(Self::Descending),
            _ => Err(InvalidRule::Order(text)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_rounded_as_all_others() {
        for text in [
            "",
            "0",
            "007",
            "9007199254740993",
            "9007199254740995",
            "9999999999999999999",
            "١",
        ] {
            assert_eq!(read_number(text), parse_float(text, 64).ok(), "{text}");
        }
    }
}
