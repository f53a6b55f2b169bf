//! Chooses the latest of an image's tags by a policy (image-reflector-controller v1.2.0, `applyPolicy`).

use std::borrow::Cow;
use std::cmp::Ordering;

use thiserror::Error;

use super::filter::{Filter, FilterSpec, InvalidPattern, UnknownGroup, budget};
use super::natural::compare_naturally;
use super::rule::{InvalidRule, Mismatch, RankKey, Rule, RuleSpec};
use super::version::tag_of_version;
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
    pub(super) reading: Reading,
}

/// What the tags of a list are taken for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Reading {
    /// Tags of images, as the controller takes them.
    #[default]
    Tags,
    /// The same, or tags of charts where none of them is a version otherwise.
    TagsOrCharts,
    /// Tags of charts, with `_` for the `+` of their versions.
    Charts,
    /// Versions, with their build metadata.
    Versions,
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
    /// What the filter extracts says nothing; the controller has no such check.
    #[error("failed to filter tags: {0}")]
    Extract(#[from] UnknownGroup),
}

/// Why a policy chooses no tag, with the controller's message.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NoTag {
    /// The list of tags is empty, or the filter matches none of them.
    #[error("version list argument cannot be empty")]
    Empty,
    /// No tag is a version in the range.
    #[error("unable to determine latest version from provided list")]
    NoVersion,
    /// A tag, or its extracted value, is not a number; one is enough.
    #[error("failed to parse invalid numeric value '{value}'")]
    NotANumber {
        tag: String,
        /// What its filter extracts, or the tag itself.
        value: String,
    },
    /// The filter takes too long; the controller has no such limit.
    #[error("failed to filter tags: {0}")]
    Exhausted(#[from] Exhausted),
}

impl NoTag {
    /// The error, and the tag that it is about where Flux's words alone do not say it.
    #[must_use]
    pub fn in_full(&self) -> String {
        match self {
            Self::NotANumber { tag, value } if tag != value => {
                format!("{self} that the filter extracts from the tag '{tag}'")
            }
            _ => self.to_string(),
        }
    }
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
            reading: Reading::default(),
        })
    }

    /// The same policy, for lists that may be of a chart: where no tag is a version in the range, `1.0.1_up2.0.1` is
    /// the version `1.0.1+up2.0.1`, as Helm has it. The controller chooses nothing then.
    #[must_use]
    pub fn or_charts(self) -> Self {
        let reading = Reading::TagsOrCharts;
        Self { reading, ..self }
    }

    /// The same policy, for versions that are not tags of a registry: of versions that differ in their build metadata
    /// alone the last one in natural order counts, `v1.31.2+k3s10` before `v1.31.2+k3s9`.
    #[must_use]
    pub fn of_versions(self) -> Self {
        let reading = Reading::Versions;
        Self { reading, ..self }
    }

    /// The same policy for tags of charts, if this list may be one.
    pub(super) fn of_charts(&self, tags: &[String]) -> Option<Self> {
        let may_be = self.reading == Reading::TagsOrCharts && matches!(self.rule, Rule::Semver(_));
        (may_be && tags.iter().any(|tag| tag.contains('_'))).then(|| Self {
            reading: Reading::Charts,
            ..self.clone()
        })
    }

    /// The same policy, if what its filter extracts depends on the tag.
    ///
    /// # Errors
    /// [`InvalidPolicy::Extract`] when it names a group that the pattern has not, or none.
    pub fn checked(self) -> Result<Self, InvalidPolicy> {
        match self.filter.as_ref().and_then(|filter| filter.fault.clone()) {
            Some(fault) => Err(fault.into()),
            None => Ok(self),
        }
    }

    /// The newest of the tags.
    ///
    /// # Errors
    /// [`NoTag`] when the policy takes none of the tags.
    pub fn latest<'t>(&self, tags: &'t [String]) -> Result<&'t str, NoTag> {
        match self.latest_as_read(tags) {
            Err(NoTag::NoVersion) => match self.of_charts(tags) {
                Some(charts) => charts.latest_as_read(tags),
                None => Err(NoTag::NoVersion),
            },
            other => other,
        }
    }

    fn latest_as_read<'t>(&self, tags: &'t [String]) -> Result<&'t str, NoTag> {
        let mut budget = budget(tags.len());
        let mut newest: Option<Candidate<'t>> = None;
        let mut empty = true;
        for tag in tags {
            match self.classify(tag, &mut budget)? {
                Classification::Unmatched => continue,
                Classification::Mismatch(value, Mismatch::NotANumber) => {
                    let (tag, value) = (tag.clone(), value.into_owned());
                    return Err(NoTag::NotANumber { tag, value });
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

    /// Whether a tag takes part in the choice.
    pub fn takes(&self, tag: &str) -> bool {
        self.latest(&[tag.to_owned()]).is_ok()
    }

    /// The order of two tags, regardless of the range. `None` if one of them does not match the filter, or is not
    /// a version or number.
    pub fn compare(&self, this: &str, other: &str) -> Option<Ordering> {
        let mut budget = budget(2);
        let mut keyed = |tag: &str| {
            // A field may have the version of a chart whose tag the filter is for.
            let value = self.value(tag, &mut budget).ok().flatten().map(Cow::into_owned);
            let of_tag = || {
                self.value(&tag_of_version(tag)?, &mut budget)
                    .ok()
                    .flatten()
                    .map(Cow::into_owned)
            };
            let value = value.or_else(of_tag)?;
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
        Ok(match self.rule.rank_key(&value, self.reading == Reading::Charts) {
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
        if self.filter.is_some() || matches!(self.reading, Reading::Charts | Reading::Versions) {
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
                numerical("asc"),
                Some(("^main-[0-9a-f]+-?([0-9]*)$", "$1")),
                &["main-7f2"],
                "! failed to parse invalid numeric value ''",
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
    fn tags_of_charts_are_versions_where_no_others_are() {
        let chooses = |range: &str, filter: Option<(&str, &str)>, tags: &[&str]| {
            let filter = filter.map(|(pattern, extract)| FilterSpec {
                pattern: pattern.to_owned(),
                extract: extract.to_owned(),
            });
            let policy = ImagePolicy::new(&semver(range), filter.as_ref()).unwrap().or_charts();
            let tags: Vec<String> = tags.iter().map(|tag| (*tag).to_owned()).collect();
            let survey = policy.survey(&tags).unwrap();
            let chosen = policy.latest(&tags);
            assert_eq!(survey.latest, chosen.clone().map(str::to_owned), "{range} {tags:?}");
            chosen.map_err(|error| error.to_string()).map(str::to_owned)
        };
        let none = || Err("unable to determine latest version from provided list".to_owned());
        let charts = [
            "105.0.0_up2.10.0",
            "106.0.0-rc.1_up2.11.0",
            "105.0.1_up2.10.9",
            "105.0.1_up2.10.10",
            "latest",
        ];
        assert_eq!(chooses("*", None, &charts), Ok("105.0.1_up2.10.10".to_owned()));
        assert_eq!(chooses(">=0-0", None, &charts), Ok("106.0.0-rc.1_up2.11.0".to_owned()));
        assert_eq!(chooses("<105", None, &charts), none());
        assert_eq!(
            chooses("*", Some(("^[^v]*$", "")), &charts),
            Ok("105.0.1_up2.10.10".to_owned())
        );
        // An image's tags are as they were.
        let java = ["21.0.2_13-jre", "21.0.1_12-jre", "21.0.1"];
        assert_eq!(chooses("*", None, &java), Ok("21.0.1".to_owned()));
        assert_eq!(chooses("*", None, &java[..2]), none());
        assert_eq!(chooses("*", None, &["a_b", "latest"]), none());
        let flux = ImagePolicy::new(&semver("*"), None).unwrap();
        assert_eq!(flux.latest(&["1.0.0_a".to_owned()]), Err(NoTag::NoVersion));
    }

    #[test]
    fn versions_that_differ_in_their_metadata_are_in_natural_order() {
        let tags = ["v1.31.2+k3s9", "v1.31.2+k3s10", "v1.31.1+k3s11", "v1.31.2"].map(str::to_owned);
        let policy = ImagePolicy::new(&semver("*"), None).unwrap();
        assert_eq!(policy.latest(&tags), Ok("v1.31.2+k3s9"), "the first, as in Flux");
        assert_eq!(policy.of_versions().latest(&tags), Ok("v1.31.2+k3s10"));
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
            ("1.9.0+up1", "1.9.1_up1", Some(Ordering::Less)),
        ] {
            assert_eq!(policy.compare(this, other), expected, "{this} {other}");
        }
    }
}
