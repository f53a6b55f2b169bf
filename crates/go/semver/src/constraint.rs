//! Ranges of versions as Masterminds/semver v3.5.0 parses them: `^1.2 || >=2.0.0-rc.1, <3 || 1 - 1.5`.
//!
//! A range is groups joined by `||`; a version must satisfy all comparators of one group. Prereleases satisfy
//! only a group in which some comparator has one.

use std::fmt;

use thiserror::Error;

use super::comparator::{Comparator, Operator};
use super::hyphen::expand_hyphens;
use super::spelling::{Spelling, skip_space};
use super::version::Version;
use bumpwright_gostd::quote;

/// The longest accepted range, in bytes (Masterminds `MaxConstraintLen`).
pub const MAX_CONSTRAINT_LEN: usize = 512;

/// The most groups that a range may have (Masterminds `MaxConstraintGroups`).
pub const MAX_CONSTRAINT_GROUPS: usize = 32;

/// Why a text is not a range. The words are those of Masterminds/semver, which users know from Flux's conditions.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ConstraintError {
    /// The text is longer than [`MAX_CONSTRAINT_LEN`].
    #[error("constraint string is too long (max {MAX_CONSTRAINT_LEN} bytes)")]
    TooLong,
    /// There are more than [`MAX_CONSTRAINT_GROUPS`] groups.
    #[error("too many constraint groups (max {MAX_CONSTRAINT_GROUPS})")]
    TooManyGroups,
    /// This group does not have the form of comparators.
    #[error("improper constraint: {}", quote(.0))]
    Improper(String),
    /// A comparator has the right form but an invalid version: a leading zero in a prerelease, a number beyond 64
    /// bits, more than 256 bytes, `xx`.
    #[error("constraint parser error")]
    Operand,
}

/// A range of versions.
#[derive(Clone, Debug)]
pub struct Constraint {
    groups: Vec<Group>,
}

/// Comparators that must all hold.
#[derive(Clone, Debug)]
struct Group {
    comparators: Vec<Comparator>,
    /// Whether prereleases are considered.
    prereleases: bool,
}

impl Constraint {
    /// Parses a range (Masterminds `NewConstraint`).
    ///
    /// # Errors
    /// [`ConstraintError`] for the first invalid group, or when the text exceeds a limit.
    pub fn parse(text: &str) -> Result<Self, ConstraintError> {
        if text.len() > MAX_CONSTRAINT_LEN {
            return Err(ConstraintError::TooLong);
        }
        let text = expand_hyphens(text);
        if text.split("||").count() > MAX_CONSTRAINT_GROUPS {
            return Err(ConstraintError::TooManyGroups);
        }
        let groups = text.split("||").map(Group::parse).collect::<Result<_, _>>()?;
        Ok(Self { groups })
    }

    /// Whether the version is in the range (Masterminds `Check`).
    pub fn check(&self, version: &Version) -> bool {
        self.groups.iter().any(|group| group.admits(version))
    }

    /// Whether it is a prerelease and some group considers only releases.
    pub fn ignores_prerelease(&self, version: &Version) -> bool {
        self.groups.iter().any(|group| group.ignores(version))
    }

    /// As [`Constraint::check`], with a reason for every comparator that does not hold (Masterminds `Validate`).
    ///
    /// # Errors
    /// The reasons, in the order of the range; that prereleases are not considered is reported once.
    pub fn validate(&self, version: &Version) -> Result<(), Vec<String>> {
        let mut reasons = Vec::new();
        let mut is_reported = false;
        for group in &self.groups {
            if group.admits(version) {
                return Ok(());
            }
            if group.ignores(version) {
                let reason = "is a prerelease version and the constraint is only looking for release versions";
                if !std::mem::replace(&mut is_reported, true) {
                    reasons.push(format!("\"{version}\" {reason}"));
                }
                continue;
            }
            reasons.extend(
                group
                    .comparators
                    .iter()
                    .filter_map(|wanted| Some(wanted.test(version).err()?.explain(version, wanted))),
            );
        }
        Err(reasons)
    }
}

/// The range with hyphens expanded and one space between comparators.
impl fmt::Display for Constraint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, group) in self.groups.iter().enumerate() {
            if at > 0 {
                f.write_str(" || ")?;
            }
            for (at, comparator) in group.comparators.iter().enumerate() {
                if at > 0 {
                    f.write_str(" ")?;
                }
                write!(f, "{comparator}")?;
            }
        }
        Ok(())
    }
}

impl Group {
    fn parse(text: &str) -> Result<Self, ConstraintError> {
        // The form of the whole group is checked before any version in it.
        let spelled = split_group(text).ok_or_else(|| ConstraintError::Improper(text.to_owned()))?;
        let comparators = spelled
            .iter()
            .map(|(operator, parts)| Comparator::new(*operator, parts).map_err(|_| ConstraintError::Operand))
            .collect::<Result<Vec<_>, _>>()?;
        let prereleases = comparators.iter().any(Comparator::has_prerelease);
        Ok(Self {
            comparators,
            prereleases,
        })
    }

    fn ignores(&self, version: &Version) -> bool {
        !self.prereleases && !version.prerelease().is_empty()
    }

    fn admits(&self, version: &Version) -> bool {
        !self.ignores(version) && self.comparators.iter().all(|wanted| wanted.test(version).is_ok())
    }
}

/// The comparators of a group as written, separated by space or one comma; `None` when the form is wrong.
fn split_group(text: &str) -> Option<Vec<(Operator, Spelling<'_>)>> {
    let mut comparators = Vec::new();
    let mut rest = skip_space(text);
    loop {
        let (operator, after) = Operator::take(rest);
        let (parts, after) = Spelling::take_operand(skip_space(after))?;
        comparators.push((operator, parts));
        let next = skip_space(after);
        if next.is_empty() {
            return Some(comparators);
        }
        rest = match next.strip_prefix(',') {
            Some(next) => skip_space(next),
            None if next.len() < after.len() => next,
            None => return None,
        };
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Of these versions, those that the range admits.
    fn admitted<'v>(range: &str, versions: &[&'v str]) -> Vec<&'v str> {
        let range = Constraint::parse(range).unwrap();
        let admits = |version: &&&str| range.check(&Version::parse(version).unwrap());
        versions.iter().filter(admits).copied().collect()
    }

    #[test]
    fn operators_and_wildcards() {
        let versions = [
            "0.0.0",
            "0.0.3",
            "0.2.3",
            "1.2.3",
            "1.2.4",
            "1.3.0",
            "2.0.0-rc.1",
            "2.0.0",
        ];
        for (range, expected) in [
            ("1.2.3", "1.2.3"),
            ("=1.2", "1.2.3 1.2.4"),
            ("!=1.x", "0.0.0 0.0.3 0.2.3 2.0.0"),
            ("!=1.2.x", "0.0.0 0.0.3 0.2.3 1.3.0 2.0.0"),
            (">1", "2.0.0"),
            (">1.2", "1.3.0 2.0.0"),
            ("=>1.3", "1.3.0 2.0.0"),
            ("=<1.2", "0.0.0 0.0.3 0.2.3 1.2.3 1.2.4"),
            ("<1.2.4 , >=0.2", "0.2.3 1.2.3"),
            ("<=*", "0.0.0 0.0.3"),
            ("~>1.2.4", "1.2.4"),
            ("~1", "1.2.3 1.2.4 1.3.0"),
            ("~0.0.0", "0.0.0 0.0.3 0.2.3 1.2.3 1.2.4 1.3.0 2.0.0"),
            ("^1.2.4", "1.2.4 1.3.0"),
            ("^0.0.3", "0.0.3"),
            ("^0.0", "0.0.0 0.0.3"),
            ("^0", "0.0.0 0.0.3 0.2.3"),
            ("^*", "0.0.0"),
            (">1.3.0-0 <2", "1.3.0 2.0.0-rc.1"),
            ("0.2 - 1.2.3 || 2.x.9", "0.2.3 1.2.3 2.0.0"),
        ] {
            assert_eq!(admitted(range, &versions).join(" "), expected, "{range}");
        }
    }

    #[test]
    fn is_shown_expanded() {
        for (range, expected) in [
            (" ^ v1.2\t<2 ,  !=1.5.x||=>3 ", "^v1.2 <2 !=1.5.x || =>3"),
            ("1 - 2 || 3.1 - 4", ">=1 <=2 || >=3.1 <=4"),
            ("1.2.3-2.0.0", "1.2.3-2.0.0"),
        ] {
            assert_eq!(Constraint::parse(range).unwrap().to_string(), expected);
        }
    }

    #[test]
    fn names_the_group_that_it_cannot_read() {
        for (range, expected) in [
            ("", "improper constraint: \"\""),
            ("^1 || bad\t", "improper constraint: \" bad\\t\""),
            ("1.2.3,", "improper constraint: \"1.2.3,\""),
            ("1>2", "improper constraint: \"1>2\""),
            // A hyphen range is looked for before the groups are, and inside longer numbers.
            ("1.2.3.4 - 5", "improper constraint: \"1.>= 2.3.4, <= 5 \""),
            ("1 - 2 - 3", "improper constraint: \">= 1, <= 2 - 3\""),
            ("1.2.3-01", "constraint parser error"),
            ("18446744073709551616", "constraint parser error"),
            ("1.xx", "constraint parser error"),
            ("1|2", "constraint parser error"),
        ] {
            assert_eq!(Constraint::parse(range).unwrap_err().to_string(), expected, "{range}");
        }
    }

    #[test]
    fn limits_are_in_bytes_and_groups() {
        let groups = |count: usize| vec!["1"; count].join("||");
        assert!(Constraint::parse(&groups(32)).is_ok());
        let error = Constraint::parse(&groups(33)).unwrap_err();
        assert_eq!(error.to_string(), "too many constraint groups (max 32)");
        let spaces = |count: usize| format!("1{}", " ".repeat(count));
        assert!(Constraint::parse(&spaces(511)).is_ok());
        let error = Constraint::parse(&spaces(512)).unwrap_err();
        assert_eq!(error.to_string(), "constraint string is too long (max 512 bytes)");
    }

    #[test]
    fn gives_a_reason_for_every_comparator() {
        let reasons = |range: &str, version: &str| {
            let range = Constraint::parse(range).unwrap();
            range.validate(&Version::parse(version).unwrap())
        };
        assert_eq!(reasons("^1 || 2", "v2"), Ok(()));
        assert_eq!(
            reasons(">=2 <3, !=1.0 || ^0.3", "v1").unwrap_err(),
            [
                "\"1.0.0\" is less than \"2\"",
                "\"1.0.0\" is equal to \"1.0\"",
                "\"1.0.0\" does not have same major version as \"0.3\"",
            ]
        );
        assert_eq!(
            reasons("1 2 || 3 || 4.0.0-0", "1.0.0-a").unwrap_err(),
            [
                "\"1.0.0-a\" is a prerelease version and the constraint is only looking for release versions",
                "\"1.0.0-a\" is not equal to \"4.0.0-0\"",
            ]
        );
    }

    proptest! {
        #[test]
        fn any_text_is_answered(text in "[ ,|<>=!~^v0-9.xX*+a\u{e9}\t-]{0,40}|\\PC{0,600}") {
            if let Ok(range) = Constraint::parse(&text) {
                // Its own spelling means the same.
                let again = Constraint::parse(&range.to_string()).unwrap();
                for version in ["0.0.0", "1.2.3", "1.0.0-0", "10.0.1"] {
                    let version = Version::parse(version).unwrap();
                    prop_assert_eq!(range.check(&version), again.check(&version));
                    prop_assert_eq!(range.check(&version), range.validate(&version).is_ok());
                }
            }
        }
    }
}
