//! Explains a policy's verdict on every tag.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use super::choose::{Candidate, Classification, ImagePolicy, NoTag};
use super::filter::budget;
use super::rule::{Mismatch, Rule};
use bumpwright_re2::Exhausted;
use bumpwright_semver::VersionError;

/// A policy's verdicts on all tags.
#[derive(Clone, Debug, PartialEq)]
pub struct Survey {
    /// The choice of [`ImagePolicy::latest`].
    pub latest: Result<String, NoTag>,
    /// Every tag in the order of the list.
    pub tags: Vec<Judgement>,
    /// The tags that take part, as indexes of `tags`, the newest first. When nothing is chosen because of a tag that
    /// is not a number, the first is the one that would have won.
    pub ranking: Vec<usize>,
}

/// A policy's verdict on a tag.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    pub tag: String,
    /// The compared value; `None` when the filter's pattern does not match.
    pub value: Option<String>,
    /// Whether it takes part, and why not.
    pub verdict: Verdict,
}

/// Why a tag was chosen or not.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    Newest,
    /// It takes part, but another is newer.
    Outranked {
        /// The newest tag.
        by: String,
        /// Its rank; the newest has 1.
        place: usize,
    },
    /// The filter's pattern does not match it.
    Unmatched,
    /// The filter extracts the same value from another tag, which counts in its place.
    SameValue {
        of: String,
    },
    /// The value is not a version of three segments.
    NotAVersion(VersionError),
    /// It is a prerelease, and the range, or a part of it, accepts releases only. With the reasons of
    /// [`Constraint::validate`](super::Constraint::validate).
    Prerelease(Vec<String>),
    /// It is a version outside of the range, with the reasons.
    OutOfRange(Vec<String>),
    /// The value is not a number; the policy chooses nothing while there is such a tag.
    NotANumber,
}

/// The explanation of one tag.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// Whether the tag is in the list; if it is not, the verdict is hypothetical.
    pub listed: bool,
    pub judgement: Judgement,
    pub latest: Result<String, NoTag>,
    /// The tag that wins, or would win if every tag were a number.
    pub winner: Option<String>,
}

impl Verdict {
    /// Whether the tag takes part in the choice.
    pub fn counts(&self) -> bool {
        matches!(self, Self::Newest | Self::Outranked { .. })
    }

    /// Its name in tables and machine-readable output.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Newest => "Newest",
            Self::Outranked { .. } => "Outranked",
            Self::Unmatched => "Unmatched",
            Self::SameValue { .. } => "SameValue",
            Self::NotAVersion(_) => "NotAVersion",
            Self::Prerelease(_) => "Prerelease",
            Self::OutOfRange(_) => "OutOfRange",
            Self::NotANumber => "NotANumber",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Newest => f.write_str("is the newest"),
            Self::Outranked { by, place } => write!(f, "is number {place}: {by} is newer"),
            Self::Unmatched => f.write_str("does not match the pattern"),
            Self::SameValue { of } => write!(f, "gives the same as {of}, which counts in its place"),
            Self::NotAVersion(error) => write!(f, "is not a version of three segments: {error}"),
            Self::Prerelease(reasons) => write!(f, "is a prerelease that the range leaves out: {}", reasons.join("; ")),
            Self::OutOfRange(reasons) => write!(f, "is outside of the range: {}", reasons.join("; ")),
            Self::NotANumber => f.write_str("is not a number, and so the policy chooses nothing"),
        }
    }
}

impl Survey {
    /// The tag that wins, or would win if every tag were a number.
    pub fn winner(&self) -> Option<&str> {
        self.ranked().next()
    }

    /// The tags that take part, the newest first.
    pub fn ranked(&self) -> impl Iterator<Item = &str> {
        self.ranking
            .iter()
            .filter_map(|place| Some(self.tags.get(*place)?.tag.as_str()))
    }

    /// Drops all but the last of tags with the same value.
    fn drop_same_values(&mut self, candidates: &mut Vec<(usize, Candidate<'_>)>) {
        let mut last: HashMap<String, &str> = HashMap::with_capacity(candidates.len());
        let mut distinct = Vec::with_capacity(candidates.len());
        for (place, candidate) in candidates.drain(..).rev() {
            let Some(of) = last.get(candidate.value.as_ref()) else {
                last.insert(candidate.value.clone().into_owned(), candidate.tag);
                distinct.push((place, candidate));
                continue;
            };
            let of = (*of).to_owned();
            self.judge(place, Verdict::SameValue { of });
        }
        distinct.reverse();
        *candidates = distinct;
    }

    /// Sorts the candidates. The first is the policy's choice, which without a filter may depend on the
    /// order of the list.
    fn rank(&mut self, policy: &ImagePolicy, mut candidates: Vec<(usize, Candidate<'_>)>) {
        let mut newest = 0;
        for (at, (_, candidate)) in candidates.iter().enumerate().skip(1) {
            if candidates
                .get(newest)
                .is_some_and(|(_, best)| policy.replaces(candidate, best))
            {
                newest = at;
            }
        }
        if candidates.is_empty() {
            return;
        }
        let (place, newest) = candidates.swap_remove(newest);
        candidates.sort_by(|(_, this), (_, other)| policy.rank(other, this));
        let by = newest.tag.to_owned();
        self.ranking.push(place);
        self.ranking.extend(candidates.iter().map(|(place, _)| *place));
        for (above, (place, _)) in candidates.iter().enumerate() {
            let verdict = Verdict::Outranked {
                by: by.clone(),
                place: above + 2,
            };
            self.judge(*place, verdict);
        }
    }

    fn judge(&mut self, place: usize, verdict: Verdict) {
        if let Some(judgement) = self.tags.get_mut(place) {
            judgement.verdict = verdict;
        }
    }

    fn choose(&mut self) {
        let mut judged = self.tags.iter();
        let spoiler = judged.find(|judgement| judgement.verdict == Verdict::NotANumber);
        self.latest = match (spoiler, self.winner()) {
            (Some(spoiler), _) => Err(NoTag::NotANumber {
                tag: spoiler.tag.clone(),
                value: spoiler.value.clone().unwrap_or_default(),
            }),
            (None, Some(winner)) => Ok(winner.to_owned()),
            (None, None) if self.tags.iter().all(|judgement| judgement.value.is_none()) => Err(NoTag::Empty),
            (None, None) => Err(NoTag::NoVersion),
        };
    }

    /// The number of tags that do not take part, by the name of the verdict.
    pub fn dropped(&self) -> BTreeMap<&'static str, usize> {
        let mut dropped = BTreeMap::new();
        for judgement in self.tags.iter().filter(|judgement| !judgement.verdict.counts()) {
            *dropped.entry(judgement.verdict.name()).or_default() += 1;
        }
        dropped
    }
}

impl ImagePolicy {
    /// The verdicts on all tags.
    ///
    /// # Errors
    /// [`Exhausted`] when the filter takes too long.
    pub fn survey(&self, tags: &[String]) -> Result<Survey, Exhausted> {
        let survey = self.survey_as_read(tags)?;
        match self.of_charts(tags).filter(|_| survey.latest == Err(NoTag::NoVersion)) {
            Some(charts) => charts.survey_as_read(tags),
            None => Ok(survey),
        }
    }

    fn survey_as_read(&self, tags: &[String]) -> Result<Survey, Exhausted> {
        let mut budget = budget(tags.len());
        let mut judgements = Vec::with_capacity(tags.len());
        let mut candidates: Vec<(usize, Candidate<'_>)> = Vec::new();
        for (place, tag) in tags.iter().enumerate() {
            let (value, verdict) = match self.classify(tag, &mut budget)? {
                Classification::Unmatched => (None, Verdict::Unmatched),
                Classification::Mismatch(value, mismatch) => (Some(value.into_owned()), self.verdict_of(mismatch)),
                Classification::Candidate(candidate) => {
                    let value = candidate.value.clone().into_owned();
                    candidates.push((place, candidate));
                    (Some(value), Verdict::Newest)
                }
            };
            judgements.push(Judgement {
                tag: tag.clone(),
                value,
                verdict,
            });
        }
        let mut survey = Survey {
            latest: Err(NoTag::Empty),
            ranking: Vec::new(),
            tags: judgements,
        };
        if self.filter.is_some() {
            survey.drop_same_values(&mut candidates);
        }
        survey.rank(self, candidates);
        survey.choose();
        Ok(survey)
    }

    /// Why a tag was chosen or not. A tag that is not in the list is inserted in the order of
    /// [`Exclusions::keep`](super::Exclusions::keep).
    ///
    /// # Errors
    /// [`Exhausted`] when the filter takes too long.
    pub fn explain(&self, tags: &[String], tag: &str) -> Result<Explanation, Exhausted> {
        let listed = tags.iter().any(|other| other == tag);
        let survey = self.survey(tags)?;
        let find = |survey: Survey| survey.tags.into_iter().rev().find(|judgement| judgement.tag == tag);
        let (latest, winner) = (survey.latest.clone(), survey.winner().map(str::to_owned));
        let judgement = if listed {
            find(survey)
        } else {
            // The place in a scan, which decides among equal tags.
            let (before, after) = tags.split_at(tags.partition_point(|other| other.as_str() > tag));
            find(self.survey(&[before, &[tag.to_owned()], after].concat())?)
        };
        Ok(Explanation {
            listed,
            // It is among the tags by now.
            judgement: judgement.unwrap_or(Judgement {
                tag: tag.to_owned(),
                value: None,
                verdict: Verdict::Unmatched,
            }),
            latest,
            winner,
        })
    }

    fn verdict_of(&self, mismatch: Mismatch) -> Verdict {
        match (mismatch, &self.rule) {
            (Mismatch::NotAVersion(error), _) => Verdict::NotAVersion(error),
            (Mismatch::OutOfRange(version), Rule::Semver(range)) => {
                let reasons = range.validate(&version).err().unwrap_or_default();
                if range.ignores_prerelease(&version) {
                    Verdict::Prerelease(reasons)
                } else {
                    Verdict::OutOfRange(reasons)
                }
            }
            (Mismatch::OutOfRange(_), _) => Verdict::OutOfRange(Vec::new()),
            (Mismatch::NotANumber, _) => Verdict::NotANumber,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::filter::FilterSpec;
    use super::super::rule::RuleSpec;
    use super::*;

    fn policy(rule: &str, filter: Option<(&str, &str)>) -> ImagePolicy {
        let mut spec = RuleSpec::default();
        match rule {
            "number" => spec.numerical = Some(String::new()),
            "text" => spec.alphabetical = Some(String::new()),
            range => spec.semver = Some(range.to_owned()),
        }
        let filter = filter.map(|(pattern, extract)| FilterSpec {
            pattern: pattern.to_owned(),
            extract: extract.to_owned(),
        });
        ImagePolicy::new(&spec, filter.as_ref()).unwrap()
    }

    fn list(tags: &[&str]) -> Vec<String> {
        tags.iter().map(|tag| (*tag).to_owned()).collect()
    }

    #[test]
    fn every_tag_has_its_reason() {
        let tags = list(&["v1.2.0", "v1.10.0", "v2.0.0", "v1.11.0-rc.1", "v1", "main", "v1.2.0+b"]);
        let filter = Some(("^v(.*)$", "$1"));
        let survey = policy("<2", filter).survey(&tags).unwrap();
        let said: Vec<String> = survey
            .tags
            .iter()
            .map(|one| format!("{} {}", one.tag, one.verdict))
            .collect();
        assert_eq!(
            said,
            [
                "v1.2.0 is number 3: v1.10.0 is newer",
                "v1.10.0 is the newest",
                "v2.0.0 is outside of the range: \"2.0.0\" is greater than or equal to \"2\"",
                "v1.11.0-rc.1 is a prerelease that the range leaves out: \"1.11.0-rc.1\" is a prerelease version and the \
                 constraint is only looking for release versions",
                "v1 is not a version of three segments: invalid semantic version",
                "main does not match the pattern",
                "v1.2.0+b is number 2: v1.10.0 is newer",
            ]
        );
        assert!(survey.ranked().eq(["v1.10.0", "v1.2.0+b", "v1.2.0"]));
        let dropped = [
            ("NotAVersion", 1),
            ("OutOfRange", 1),
            ("Prerelease", 1),
            ("Unmatched", 1),
        ];
        assert_eq!(survey.dropped(), dropped.into());
    }

    #[test]
    fn one_tag_that_is_no_number_spoils_the_choice() {
        let tags = list(&["3", "x", "10"]);
        let explained = policy("number", None).explain(&tags, "3").unwrap();
        assert_eq!(explained.winner.as_deref(), Some("10"));
        let (tag, value) = ("x".to_owned(), "x".to_owned());
        assert_eq!(explained.latest, Err(NoTag::NotANumber { tag, value }));
        let outranked = Verdict::Outranked {
            by: "10".to_owned(),
            place: 2,
        };
        assert_eq!(explained.judgement.verdict, outranked);
        let explained = policy("number", None).explain(&tags, "x").unwrap();
        assert_eq!(explained.judgement.verdict, Verdict::NotANumber);
    }

    #[test]
    fn a_tag_that_is_not_there_is_explained_too() {
        let tags = list(&["1-a", "1-b", "2-a"]);
        let policy = policy("number", Some(("^([0-9]+)-", "$1")));
        let explained = policy.explain(&tags, "3-a").unwrap();
        assert!(!explained.listed);
        assert_eq!(explained.judgement.verdict, Verdict::Newest);
        assert_eq!(explained.winner.as_deref(), Some("2-a"));
        let same = policy.explain(&tags, "1-a").unwrap().judgement;
        assert_eq!((same.value.as_deref(), same.verdict.name()), (Some("1"), "SameValue"));
        assert_eq!(policy.explain(&[], "z").unwrap().latest, Err(NoTag::Empty));
    }

    #[test]
    fn a_tag_that_is_not_there_takes_its_place_among_equals() {
        let policy = policy("*", None);
        for (tag, name) in [("1.0.0+c", "Newest"), ("1.0.0+a", "Outranked")] {
            let explained = policy.explain(&list(&["1.0.0+b", "0.9.0"]), tag).unwrap();
            assert_eq!(explained.judgement.verdict.name(), name, "{tag}");
        }
    }

    #[test]
    fn the_survey_chooses_as_the_policy_does() {
        let tags = [
            "1.0.0", "1", "01", "nan", "1.0.0+a", "2.0.0-rc", "b", "1.0.0", "inf", "7", "7.0",
        ];
        for rule in ["*", ">=1.0.0-0", "number", "text"] {
            for filter in [
                None,
                Some((".*", "")),
                Some(("^[0-9.]+", "$0")),
                Some(("[0-9na]+$", "$0")),
            ] {
                let policy = policy(rule, filter);
                for start in 0..tags.len() {
                    let tags = list(tags.get(start..).unwrap());
                    let latest = policy.latest(&tags).map(str::to_owned);
                    assert_eq!(
                        policy.survey(&tags).unwrap().latest,
                        latest,
                        "{rule} {filter:?} {tags:?}"
                    );
                }
            }
        }
    }
}
