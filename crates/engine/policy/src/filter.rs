//! Filters of tags: `spec.filterTags` of a policy, with the extraction of the compared value, and
//! `spec.exclusionList` of an `ImageRepository`.

use std::borrow::Cow;

use thiserror::Error;

use bumpwright_re2::{Budget, Error as PatternError, Exhausted, Extraction, Regexp};

/// `spec.filterTags`; absent fields are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FilterSpec {
    /// The pattern that a tag must match anywhere.
    pub pattern: String,
    /// The template of the compared value, with `$1` and `${name}`; the tag when empty.
    pub extract: String,
}

/// An invalid regular expression, with the controller's message.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("invalid regular expression pattern '{pattern}': {error}")]
pub struct InvalidPattern {
    pub pattern: String,
    pub error: PatternError,
}

/// An extraction that takes the same from every tag, or nothing for a part of it: Go's regular expressions
/// replace a group that is not there by the empty text. A policy would then choose by chance, so it is not
/// used (docs/decisions.md, *extracted groups*).
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{what}; {ways}")]
pub struct UnknownGroup {
    what: String,
    ways: String,
}

impl UnknownGroup {
    /// What is wrong with an extraction, if anything is.
    fn of(spec: &FilterSpec, pattern: &Regexp) -> Option<Self> {
        let named = pattern.groups_of(spec.extract.as_bytes());
        let unknown = named.iter().find(|(_, is_known)| !is_known);
        let unknown = unknown.map(|(name, _)| name.as_str());
        let what = match unknown {
            Some(name) => format!(
                "extract '{}': the pattern '{}' has no group {name}",
                spec.extract, spec.pattern
            ),
            None if named.is_empty() => format!(
                "extract '{}' names no group of the pattern '{}', so that all tags would give the same",
                spec.extract, spec.pattern
            ),
            None => return None,
        };
        let ways = ways(pattern.subexp_names(), unknown.unwrap_or(&spec.extract));
        Some(Self { what, ways })
    }
}

/// What an extraction may name in the place of this one. A name is as long as possible in Go: `$tsx` is not the group
/// `ts` with an `x` behind it.
fn ways(groups: &[String], name: &str) -> String {
    let of_number = |number: usize, group: &String| match group.as_str() {
        "" => format!("${number}"),
        group => format!("${group}"),
    };
    let names: Vec<String> = (groups.iter().enumerate().skip(1))
        .map(|(number, group)| of_number(number, group))
        .collect();
    let is_start = |group: &&String| !group.is_empty() && name.starts_with(group.as_str());
    let named = groups.iter().filter(is_start).max_by_key(|group| group.len());
    let digits = name.chars().take_while(char::is_ascii_digit).count();
    // A group at the beginning, by its name or its number, with more behind it.
    let ends = [named.map_or(0, |group| group.len()), digits];
    let mut parts = ends.into_iter().filter_map(|end| name.split_at_checked(end));
    if let Some((group, rest)) = parts.find(|(group, rest)| !group.is_empty() && !rest.is_empty()) {
        return format!(
            "a name is as long as it can be: write ${{{group}}}{rest} for the group {group} and {rest:?} behind it"
        );
    }
    match names.as_slice() {
        [] => "the pattern has no groups: put the part that counts in (?P<name>…), and give $name".to_owned(),
        names => format!("the pattern has {}", names.join(", ")),
    }
}

#[derive(Clone, Debug)]
pub(super) struct Filter {
    pattern: Regexp,
    /// The extraction; `None` if the tag itself is compared.
    extract: Option<Extraction>,
    /// What is wrong with that.
    pub(super) fault: Option<UnknownGroup>,
}

impl Filter {
    pub(super) fn new(spec: &FilterSpec) -> Result<Self, InvalidPattern> {
        let pattern = Regexp::new(&spec.pattern).map_err(|error| InvalidPattern {
            pattern: spec.pattern.clone(),
            error,
        })?;
        let extract = (!spec.extract.is_empty()).then(|| pattern.extraction(spec.extract.as_bytes()));
        let fault = extract.as_ref().and_then(|_| UnknownGroup::of(spec, &pattern));
        Ok(Self {
            pattern: pattern.for_many_texts(),
            extract,
            fault,
        })
    }

    /// The compared value of a tag; `None` when the pattern does not match.
    pub(super) fn apply<'t>(&self, tag: &'t str, budget: &mut Budget) -> Result<Option<Cow<'t, str>>, Exhausted> {
        let Some(extract) = &self.extract else {
            let matched = self.pattern.is_match(tag.as_bytes(), budget)?;
            return Ok(matched.then_some(Cow::Borrowed(tag)));
        };
        let value = self.pattern.extract(extract, tag.as_bytes(), budget)?;
        // Groups begin and end between characters, so that this is lossless.
        Ok(value.map(|value| match value {
            Cow::Borrowed(part) => String::from_utf8_lossy(part),
            Cow::Owned(whole) => Cow::Owned(String::from_utf8_lossy(&whole).into_owned()),
        }))
    }
}

/// The budget of searches over a number of tags: more than real patterns need, less than would stall a run.
pub(super) fn budget(tags: usize) -> Budget {
    const STEPS: u64 = 200_000_000;
    const STEPS_PER_TAG: u64 = 20_000;
    const BYTES: usize = 256 << 20;
    Budget::new(STEPS.saturating_add(STEPS_PER_TAG.saturating_mul(tags as u64)), BYTES)
}

/// An invalid pattern of an exclusion list, with the controller's message.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("failed to compile regex {pattern}: {error}")]
pub struct InvalidExclusion {
    pub pattern: String,
    pub error: PatternError,
}

/// The tags that a scan excludes.
#[derive(Clone, Debug)]
pub struct Exclusions {
    patterns: Vec<Regexp>,
}

impl Exclusions {
    /// The default pattern: cosign's signatures.
    pub const DEFAULT: &'static str = r"^.*\.sig$";

    /// Compiles a list of patterns.
    ///
    /// # Errors
    /// [`InvalidExclusion`] for the first invalid one.
    pub fn new<'p>(patterns: impl IntoIterator<Item = &'p str>) -> Result<Self, InvalidExclusion> {
        let compile = |pattern: &str| {
            Regexp::new(pattern).map_err(|error| InvalidExclusion {
                pattern: pattern.to_owned(),
                error,
            })
        };
        Ok(Self {
            patterns: patterns.into_iter().map(compile).collect::<Result<_, _>>()?,
        })
    }

    /// The tags that no pattern matches, in the controller's order: descending by the alphabet. Policies get them in
    /// this order, which decides among equal tags.
    ///
    /// # Errors
    /// [`Exhausted`] when the patterns take too long.
    pub fn keep(&self, mut tags: Vec<String>) -> Result<Vec<String>, Exhausted> {
        let mut budget = budget(tags.len());
        let mut failure = None;
        // One after the other: what makes one quick takes megabytes.
        for pattern in self.patterns.iter().cloned() {
            let pattern = pattern.for_many_texts();
            tags.retain(|tag| match pattern.is_match(tag.as_bytes(), &mut budget) {
                Ok(matched) => !matched,
                Err(exhausted) => {
                    failure = Some(exhausted);
                    false
                }
            });
        }
        tags.sort_unstable_by(|this, other| other.cmp(this));
        match failure {
            Some(exhausted) => Err(exhausted),
            None => Ok(tags),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_tag_is_compared_by_what_is_extracted() {
        for (pattern, extract, tag, expected) in [
            ("", "", "v1", Some("v1")),
            ("^v", "", "main-v1", None),
            ("v", "$0", "main-v1", Some("v")),
            ("^main-(?P<n>[0-9]+)", "${n}.0.0", "main-7-x", Some("7.0.0")),
            ("^main-([0-9]+)", "$1x", "main-7", Some("")),
            ("(é)|.", "<$1>", "é", Some("<é>")),
        ] {
            let filter = Filter::new(&FilterSpec {
                pattern: pattern.to_owned(),
                extract: extract.to_owned(),
            });
            let value = filter.unwrap().apply(tag, &mut budget(1)).unwrap();
            assert_eq!(value.as_deref(), expected, "{pattern} {extract} {tag}");
        }
    }

    #[test]
    fn an_extraction_names_groups_of_the_pattern() {
        let named = "^(?P<ts>[a-f0-9]+)-(?P<n>[0-9]+)$";
        for (pattern, extract, expected) in [
            (named, "$ts", None),
            (named, "$1", None),
            (named, "$0", None),
            (named, "${ts}x$n", None),
            (named, "$$ts-$n", None),
            ("^(v)", "", None),
            (
                named,
                "$tsx",
                Some(
                    "has no group tsx; a name is as long as it can be: write ${ts}x for the group ts and \"x\" behind it",
                ),
            ),
            (
                named,
                "$n_x",
                Some(
                    "has no group n_x; a name is as long as it can be: write ${n}_x for the group n and \"_x\" behind it",
                ),
            ),
            (named, "$1x", Some("write ${1}x for the group 1 and \"x\" behind it")),
            (named, "$n.$3", Some("has no group 3; the pattern has $ts, $n")),
            (
                named,
                "ts",
                Some("extract 'ts' names no group of the pattern '^(?P<ts>[a-f0-9]+)-(?P<n>[0-9]+)$'"),
            ),
            (
                named,
                "${ts",
                Some("so that all tags would give the same; the pattern has $ts, $n"),
            ),
            ("^v(.*)-(?P<n>.*)", "$m", Some("has no group m; the pattern has $1, $n")),
            (
                "^v",
                "$v",
                Some("has no group v; the pattern has no groups: put the part that counts in (?P<name>…)"),
            ),
        ] {
            let (pattern, extract) = (pattern.to_owned(), extract.to_owned());
            let filter = Filter::new(&FilterSpec {
                pattern,
                extract: extract.clone(),
            })
            .unwrap();
            let fault = filter.fault.map(|fault| fault.to_string());
            match (&fault, expected) {
                (Some(fault), Some(expected)) => assert!(fault.contains(expected), "{extract}: {fault}"),
                _ => assert_eq!(fault.as_deref(), expected, "{extract}"),
            }
        }
    }

    #[test]
    fn a_scan_leaves_tags_out_and_puts_the_last_first() {
        let tags = ["a", "sha256-1.sig", "c", "b", "sha256-1.sig.x"].map(str::to_owned);
        let kept = Exclusions::new([Exclusions::DEFAULT, "^b"]).unwrap();
        assert_eq!(kept.keep(tags.to_vec()).unwrap(), ["sha256-1.sig.x", "c", "a"]);
        let error = Exclusions::new(["a", "(", "["]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "failed to compile regex (: error parsing regexp: missing closing ): `(`"
        );
    }
}
