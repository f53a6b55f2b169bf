//! What a policy makes of every tag, and why.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use super::choose::{Candidate, Fate, ImagePolicy, NoTag};
use super::filter::budget;
use super::rule::{Misfit, Rule};
use bumpwright_re2::Exhausted;
use bumpwright_semver::VersionError;

/// What a policy makes of all tags.
#[derive(Clone, Debug, PartialEq)]
pub struct Survey {
    /// The choice, as [`ImagePolicy::latest`] makes it.
    pub latest: Result<String, NoTag>,
    /// Every tag in the order of the list.
    pub tags: Vec<Judgement>,
    /// The tags that count, as places in `tags`, the newest first. When one tag that is no number spoils the choice,
    /// the first is the one that would have won.
    pub ranking: Vec<usize>,
}

/// What a policy makes of a tag.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// The tag.
    pub tag: String,
    /// What is compared; `None` when the filter's pattern does not match.
    pub value: Option<String>,
    /// Whether it was kept, and why not.
    pub verdict: Verdict,
}

/// Why a tag was kept or dropped.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// Nothing is newer.
    Newest,
    /// It counts, but another is newer.
    Outranked {
        /// The newest tag.
        by: String,
        /// Its place; the newest has 1.
        place: usize,
    },
    /// The filter's pattern does not match it.
    Unmatched,
    /// The filter extracts the same from another tag, which counts in its place.
    SameValue {
        /// That tag.
        of: String,
    },
    /// What is compared is not a version of three segments.
    NotAVersion(VersionError),
    /// It is a prerelease, and the range, or a part of it, looks at releases only. With the reasons of
    /// [`Constraint::validate`](super::Constraint::validate).
    Prerelease(Vec<String>),
    /// It is a version outside of the range, with the reasons.
    OutOfRange(Vec<String>),
    /// What is compared is not a number; the policy chooses nothing while there is such a tag.
    NotANumber,
}

/// What became of one tag, and of the choice.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// Whether the tag is in the list; if it is not, this is what it would be.
    pub listed: bool,
    /// What the policy makes of it.
    pub judgement: Judgement,
    /// The choice.
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

    /// The tags that count, the newest first.
    pub fn ranked(&self) -> impl Iterator<Item = &str> {
        self.ranking
            .iter()
            .filter_map(|place| Some(self.tags.get(*place)?.tag.as_str()))
    }

    /// Of tags with the same value the last one counts.
    fn drop_same_values(&mut self, candidates: &mut Vec<(usize, Candidate<'_>)>) {
        let mut last: HashMap<String, &str> = HashMap::with_capacity(candidates.len());
        let mut kept = Vec::with_capacity(candidates.len());
        for (place, candidate) in candidates.drain(..).rev() {
            let Some(of) = last.get(candidate.value.as_ref()) else {
                last.insert(candidate.value.clone().into_owned(), candidate.tag);
                kept.push((place, candidate));
                continue;
            };
            let of = (*of).to_owned();
            self.judge(place, Verdict::SameValue { of });
        }
        kept.reverse();
        *candidates = kept;
    }

    /// Puts the candidates in order. The first is the policy's choice, which without a filter can hang on the order of
    /// the list.
    fn rank(&mut self, policy: &ImagePolicy, mut candidates: Vec<(usize, Candidate<'_>)>) {
        let mut champion = 0;
        for (at, (_, candidate)) in candidates.iter().enumerate().skip(1) {
            if candidates
                .get(champion)
                .is_some_and(|(_, best)| policy.replaces(candidate, best))
            {
                champion = at;
            }
        }
        if candidates.is_empty() {
            return;
        }
        let (place, newest) = candidates.swap_remove(champion);
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
            (Some(spoiler), _) => Err(NoTag::NotANumber(spoiler.value.clone().unwrap_or_default())),
            (None, Some(winner)) => Ok(winner.to_owned()),
            (None, None) if self.tags.iter().all(|judgement| judgement.value.is_none()) => Err(NoTag::Empty),
            (None, None) => Err(NoTag::NoVersion),
        };
    }

    /// How many tags do not count, by the names of their verdicts, in the order of these names.
    pub fn dropped(&self) -> BTreeMap<&'static str, usize> {
        let mut dropped = BTreeMap::new();
        for judgement in self.tags.iter().filter(|judgement| !judgement.verdict.counts()) {
            *dropped.entry(judgement.verdict.name()).or_default() += 1;
        }
        dropped
    }
}

impl ImagePolicy {
    /// What becomes of every tag.
    ///
    /// # Errors
    /// [`Exhausted`] when the filter takes too long.
    pub fn survey(&self, tags: &[String]) -> Result<Survey, Exhausted> {
        let mut budget = budget(tags.len());
        let mut judgements = Vec::with_capacity(tags.len());
        let mut candidates: Vec<(usize, Candidate<'_>)> = Vec::new();
        for (place, tag) in tags.iter().enumerate() {
            let (value, verdict) = match self.meet(tag, &mut budget)? {
                Fate::Unmatched => (None, Verdict::Unmatched),
                Fate::Misfit(value, misfit) => (Some(value.into_owned()), self.reproach(misfit)),
                Fate::Candidate(candidate) => {
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

    /// Why a tag was chosen or not; also of one that is not in the list, which is then taken for one in the order of
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
            // Where a scan would put it: among tags that are equal the place decides.
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

    fn reproach(&self, misfit: Misfit) -> Verdict {
        match (misfit, &self.rule) {
            (Misfit::NotAVersion(error), _) => Verdict::NotAVersion(error),
            (Misfit::OutOfRange(version), Rule::Semver(range)) => {
                let reasons = range.validate(&version).err().unwrap_or_default();
                match range.ignores_prerelease(&version) {
                    true => Verdict::Prerelease(reasons),
                    false => Verdict::OutOfRange(reasons),
                }
            }
            (Misfit::OutOfRange(_), _) => Verdict::OutOfRange(Vec::new()),
            (Misfit::NotANumber, _) => Verdict::NotANumber,
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
        assert_eq!(explained.latest, Err(NoTag::NotANumber("x".to_owned())));
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
