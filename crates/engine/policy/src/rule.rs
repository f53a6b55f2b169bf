//! The rules that order tags: versions in a range, the alphabet, or numbers (image-reflector-controller v1.2.0,
//! `internal/policy`).

use std::cmp::Ordering;

use thiserror::Error;

use super::version::version_of_tag;

use bumpwright_gostd::{parse_float, unicode::to_upper};
use bumpwright_semver::Version;
use bumpwright_semver::VersionError;
use bumpwright_semver::{Constraint, ConstraintError};

/// The rule of an `ImagePolicy` (`spec.policy` of v1beta1, v1beta2 and v1). Of several, the first counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuleSpec {
    /// `semver.range`.
    pub semver: Option<String>,
    /// `alphabetical.order`; empty when absent.
    pub alphabetical: Option<String>,
    /// `numerical.order`; empty when absent.
    pub numerical: Option<String>,
}

/// An invalid rule, with the controller's message.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum InvalidRule {
    /// None of the three is given.
    #[error("given ImagePolicyChoice object is invalid")]
    Absent,
    /// The range of versions is not valid.
    #[error(transparent)]
    Range(#[from] ConstraintError),
    /// The order, in capitals, is neither ascending nor descending.
    #[error("invalid order argument provided: '{0}', must be one of: ASC, DESC")]
    Order(String),
}

#[derive(Clone, Debug)]
pub(super) enum Rule {
    Semver(Constraint),
    Alphabetical(Order),
    Numerical(Order),
}

/// The end of an order that is the newest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// The last tag is the newest.
    Ascending,
    /// The first tag is the newest.
    Descending,
}

/// The sort key of a value under a rule.
#[derive(Clone, Debug)]
pub(super) enum RankKey {
    Version(Box<Version>),
    Text,
    Number(f64),
}

/// Why a value has no rank under a rule.
#[derive(Clone, Debug)]
pub(super) enum Mismatch {
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

    /// The key of a value. `of_charts`: a tag may be the version of a chart.
    pub(super) fn rank_key(&self, value: &str, of_charts: bool) -> Result<RankKey, Mismatch> {
        match self {
            Self::Semver(constraint) => {
                // What has a variant behind it, such as `21.0.2_13-jre-alpine`, is an image's: the order of
                // such tags says nothing.
                let is_variant = |version: &String| version.rsplit('+').next().is_some_and(|last| last.contains('-'));
                let chart = of_charts.then(|| version_of_tag(value)).flatten();
                let chart = chart.filter(|version| !is_variant(version));
                let version = read_version(value).or_else(|error| match chart {
                    Some(version) => read_version(&version),
                    None => Err(error),
                });
                let version = version.map_err(Mismatch::NotAVersion)?;
                if constraint.check(&version) {
                    Ok(RankKey::Version(version))
                } else {
                    Err(Mismatch::OutOfRange(version))
                }
            }
            _ => self.unbounded_key(value).ok_or(Mismatch::NotANumber),
        }
    }

    /// The key of a value regardless of the range; `None` when it is not a version, that of a chart's tag, or a number.
    pub(super) fn unbounded_key(&self, value: &str) -> Option<RankKey> {
        match self {
            Self::Semver(_) => {
                let version = read_version(value).ok();
                let version = version.or_else(|| read_version(&version_of_tag(value)?).ok());
                version.map(RankKey::Version)
            }
            Self::Alphabetical(_) => Some(RankKey::Text),
            Self::Numerical(_) => read_number(value).map(RankKey::Number),
        }
    }

    /// The order of two values with their keys. `None` if one of them is `NaN`.
    pub(super) fn compare(&self, this: (&str, &RankKey), other: (&str, &RankKey)) -> Option<Ordering> {
        let ascending = match (this.1, other.1) {
            (RankKey::Version(this), RankKey::Version(other)) => this.cmp(other),
            (RankKey::Number(this), RankKey::Number(other)) => this.partial_cmp(other)?,
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

/// Parses a number as Go does. Build numbers and times, the usual case, need no decimal arithmetic.
fn read_number(value: &str) -> Option<f64> {
    const ALWAYS_FITS: usize = 19;
    if value.len() <= ALWAYS_FITS && value.bytes().all(|byte| byte.is_ascii_digit()) {
        // The nearest float, as in rounding the digits.
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
