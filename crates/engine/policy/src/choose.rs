//! Chooses the latest of an image's tags by a policy (image-reflector-controller v1.2.0, `applyPolicy`).

use std::borrow::Cow;
use std::cmp::Ordering;

use thiserror::Error;

use super::filter::{Filter, FilterSpec, InvalidPattern, budget};
use super::natural::compare_naturally;
use super::rule::{InvalidRule, Mismatch, RankKey, Rule, RuleSpec};
use bumpwright_re2::{Budget, Exhausted};

/// A valid policy: a rule, and optionally a filter.
///
/// Tags are compared in the given order; the controller has them in descending alphabetical order (see
/// [`Exclusions::keep`](super::Exclusions::keep)). Of tags of equal rank (`1.0.0+a` and `1.0.0+b`, `1` and `01`) a
/// semver policy chooses the first, a numerical one the last. Of tags with equal extracted values the last counts. Of
/// different extracted values of equal rank the controller chooses any; this crate the last in natural order:
/// `1.0.0+b10` before `1.0.0+b9`.
#[derive(Clone, Debug)]
pub struct ImagePolicy {
    pub(super) rule: Rule,
    pub(super) filter: Option<Filter>,
}

/// An invalid policy (`Stalled`, `InvalidPolicy`), with the controller's message.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum InvalidPolicy {
    /// The rule is not valid.
    #[error("invalid policy: {0}")]
    Rule(#[from] InvalidRule),
    /// The filter is not valid.
    #[error("failed to filter tags: {0}")]
    Filter(#[from] InvalidPattern),
}

/// Why a policy chooses no tag, with the controller's message.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NoTag {
    /// There are no tags, or the filter matches none.
    #[error("version list argument cannot be empty")]
    Empty,
    /// No tag is a version in the range.
    #[error("unable to determine latest version from provided list")]
    NoVersion,
    /// A tag, or its extracted value, is not a number; one is enough.
    #[error("failed to parse invalid numeric value '{0}'")]
    NotANumber(String),
    /// The filter takes too long; the controller has no such limit.
    #[error("failed to filter tags: {0}")]
    Exhausted(#[from] Exhausted),
}

/// A tag that takes part in the choice.
#[derive(Clone, Debug)]
pub(super) struct Candidate<'t> {
    pub(super) tag: &'t str,
    pub(super) value: Cow<'t, str>,
    pub(super) key: RankKey,
}

/// The result of checking a tag by itself.
pub(super) enum Classification<'t> {
    Unmatched,
    Mismatch(Cow<'t, str>, Mismatch),
    Candidate(Candidate<'t>),
}

impl ImagePolicy {
    /// Reads a rule and a filter.
    ///
    /// # Errors
    /// [`InvalidPolicy`] for the rule, and if that is valid, for the filter.
    pub fn new(rule: &RuleSpec, filter: Option<&FilterSpec>) -> Result<Self, InvalidPolicy> {
        Ok(Self {
            rule: Rule::new(rule)?,
            filter: filter.map(Filter::new).transpose()?,
        })
    }

    /// The newest of the tags.
    ///
    /// # Errors
    /// [`NoTag`] when there is none.
    pub fn latest<'t>(&self, tags: &'t [String]) -> Result<&'t str, NoTag> {
        let mut budget = budget(tags.len());
        let mut newest: Option<Candidate<'t>> = None;
        let mut empty = true;
        for tag in tags {
            match self.classify(tag, &mut budget)? {
                Classification::Unmatched => continue,
                Classification::Mismatch(value, Mismatch::NotANumber) => {
                    return Err(NoTag::NotANumber(value.into_owned()));
                }
                Classification::Mismatch(..) => {}
                Classification::Candidate(candidate) => {
                    if newest.as_ref().is_none_or(|newest| self.replaces(&candidate, newest)) {
                        newest = Some(candidate);
                    }
                }
            }
            empty = false;
        }
        match newest {
            Some(newest) => Ok(newest.tag),
            None if empty => Err(NoTag::Empty),
            None => Err(NoTag::NoVersion),
        }
    }

    /// The order of two tags, regardless of the range. `None` if one of them does not match the filter, or is not a version
    /// or number.
    pub fn compare(&self, this: &str, other: &str) -> Option<Ordering> {
        let mut budget = budget(2);
        let mut keyed = |tag| {
            let value = self.value(tag, &mut budget).ok().flatten()?;
            let key = self.rule.unbounded_key(&value)?;
            Some((value, key))
        };
        let (this, other) = (keyed(this)?, keyed(other)?);
        self.rule.compare((&this.0, &this.1), (&other.0, &other.1))
    }

    /// Checks a tag by itself.
    pub(super) fn classify<'t>(&self, tag: &'t str, budget: &mut Budget) -> Result<Classification<'t>, Exhausted> {
        let Some(value) = self.value(tag, budget)? else {
            return Ok(Classification::Unmatched);
        };
        Ok(match self.rule.rank_key(&value) {
            Ok(key) => Classification::Candidate(Candidate { tag, value, key }),
            Err(mismatch) => Classification::Mismatch(value, mismatch),
        })
    }

    fn value<'t>(&self, tag: &'t str, budget: &mut Budget) -> Result<Option<Cow<'t, str>>, Exhausted> {
        match &self.filter {
            Some(filter) => filter.apply(tag, budget),
            None => Ok(Some(Cow::Borrowed(tag))),
        }
    }

    /// Whether a tag is newer than the newest one before it in the list.
    pub(super) fn replaces(&self, candidate: &Candidate<'_>, newest: &Candidate<'_>) -> bool {
        if self.filter.is_some() {
            return self.rank(candidate, newest).is_ge();
        }
        let order = self
            .rule
            .compare((&candidate.value, &candidate.key), (&newest.value, &newest.key));
        match self.rule {
            // NaN wins against earlier values, and loses against later ones.
            Rule::Numerical(_) => order != Some(Ordering::Less),
            _ => order == Some(Ordering::Greater),
        }
    }

    /// The order of two tags regardless of their places: by rank key, `NaN` last, then by value.
    pub(super) fn rank(&self, this: &Candidate<'_>, other: &Candidate<'_>) -> Ordering {
        let is_number = |key: &RankKey| !matches!(key, RankKey::Number(number) if number.is_nan());
        let order = self
            .rule
            .compare((&this.value, &this.key), (&other.value, &other.key))
            .unwrap_or_else(|| is_number(&this.key).cmp(&is_number(&other.key)));
        order.then_with(|| compare_naturally(&this.value, &other.value))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn semver(range: &str) -> RuleSpec {
        RuleSpec {
            semver: Some(range.to_owned()),
            ..RuleSpec::default()
        }
    }

    fn numerical(order: &str) -> RuleSpec {
        RuleSpec {
            numerical: Some(order.to_owned()),
            ..RuleSpec::default()
        }
    }

    fn alphabetical(order: &str) -> RuleSpec {
        RuleSpec {
            alphabetical: Some(order.to_owned()),
            ..RuleSpec::default()
        }
    }

    fn latest(rule: &RuleSpec, filter: Option<(&str, &str)>, tags: &[&str]) -> String {
        let filter = filter.map(|(pattern, extract)| FilterSpec {
            pattern: pattern.to_owned(),
            extract: extract.to_owned(),
        });
        let tags: Vec<String> = tags.iter().map(|tag| (*tag).to_owned()).collect();
        match ImagePolicy::new(rule, filter.as_ref()) {
            Ok(policy) => match policy.latest(&tags) {
                Ok(tag) => tag.to_owned(),
                Err(error) => format!("! {error}"),
            },
            Err(error) => format!("!! {error}"),
        }
    }

    #[test]
    fn the_newest_tag_wins() {
        let builds = ["main-7f2-10", "main-9aa-9", "dev-1-99", "main-x", "main-0-11"];
        let by_build = Some(("^main-[0-9a-f]+-([0-9]+)$", "$1"));
        for (rule, filter, tags, expected) in [
            (
                semver("1.x"),
                None,
                &["1.9.0", "1.10.0", "v2.0.0", "1.99"][..],
                "1.10.0",
            ),
            (alphabetical(""), None, &["a", "c", "b"], "c"),
            (alphabetical("Desc"), None, &["b", "B", "a"], "B"),
            (numerical("asc"), None, &["9", "1e1", "-11"], "1e1"),
            (numerical("desc"), by_build, &builds, "main-9aa-9"),
            (numerical("asc"), by_build, &builds, "main-0-11"),
            (
                numerical("asc"),
                None,
                &builds,
                "! failed to parse invalid numeric value 'main-7f2-10'",
            ),
            (
                semver("*"),
                Some(("nothing", "")),
                &["1.0.0"],
                "! version list argument cannot be empty",
            ),
            (
                semver(">1"),
                None,
                &["1.0.0"],
                "! unable to determine latest version from provided list",
            ),
        ] {
            assert_eq!(latest(&rule, filter, tags), expected, "{rule:?} {filter:?}");
        }
    }

    #[test]
    fn equals_are_decided_by_the_list_or_by_a_rule() {
        let unfiltered: [(RuleSpec, &[&str], &str); 4] = [
            (semver("*"), &["1.0.0+b", "1.0.0+a", "v1.0.0"], "1.0.0+b"),
            (numerical(""), &["1", "01", "1.0"], "1.0"),
            (numerical(""), &["5", "nan", "3"], "3"),
            (numerical("desc"), &["5", "nan"], "nan"),
        ];
        for (rule, tags, expected) in unfiltered {
            assert_eq!(latest(&rule, None, tags), expected, "{rule:?} {tags:?}");
        }
        let all = Some((".*", "$0"));
        for tags in [["1.0.0+b9", "1.0.0+b10", "1.0.0"], ["1.0.0+b10", "1.0.0", "1.0.0+b9"]] {
            assert_eq!(latest(&semver("*"), all, &tags), "1.0.0+b10");
        }
        assert_eq!(latest(&numerical(""), all, &["5", "nan", "3"]), "5");
        let version = Some(("^v?([0-9.]+)(-[0-9]+)?$", "$1"));
        assert_eq!(
            latest(&semver("*"), version, &["1.0.0-9", "v1.0.0", "1.0.0-1"]),
            "1.0.0-1"
        );
    }

    #[test]
    fn a_wrong_policy_says_what_is_wrong_with_it() {
        let wrong = Some(("(", ""));
        for (rule, filter, expected) in [
            (RuleSpec::default(), wrong, "given ImagePolicyChoice object is invalid"),
            (semver("x.y"), wrong, "improper constraint: \"x.y\""),
            (
                numerical("ſasc"),
                None,
                "invalid order argument provided: 'SASC', must be one of: ASC, DESC",
            ),
        ] {
            assert_eq!(latest(&rule, filter, &[]), format!("!! invalid policy: {expected}"));
        }
        let regexp = "invalid regular expression pattern '(': error parsing regexp: missing closing ): `(`";
        assert_eq!(
            latest(&semver("*"), wrong, &[]),
            format!("!! failed to filter tags: {regexp}")
        );
    }

    #[test]
    fn tags_are_compared_whatever_the_range() {
        let policy = ImagePolicy::new(&semver("<2"), None).unwrap();
        for (this, other, expected) in [
            ("1.9.0", "2.0.0", Some(Ordering::Less)),
            ("1.9.0", "v1.9.0", Some(Ordering::Equal)),
            ("1.9.0", "latest", None),
        ] {
            assert_eq!(policy.compare(this, other), expected, "{this} {other}");
        }
    }
}
