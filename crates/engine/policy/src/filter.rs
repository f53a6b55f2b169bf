//! Filters of tags: `spec.filterTags` of a policy, with the extraction of the compared value, and `spec.exclusionList` of
//! an `ImageRepository`.

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
    /// The pattern.
    pub pattern: String,
    /// The error.
    pub error: PatternError,
}

/// A compiled filter.
#[derive(Clone, Debug)]
pub(super) struct Filter {
    pattern: Regexp,
    /// The extraction; `None` if the tag itself is compared.
    extract: Option<Extraction>,
}

impl Filter {
    pub(super) fn new(spec: &FilterSpec) -> Result<Self, InvalidPattern> {
        let pattern = Regexp::new(&spec.pattern).map_err(|error| InvalidPattern {
            pattern: spec.pattern.clone(),
            error,
        })?;
        let extract = (!spec.extract.is_empty()).then(|| pattern.extraction(spec.extract.as_bytes()));
        Ok(Self {
            pattern: pattern.for_many_texts(),
            extract,
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
    /// The pattern.
    pub pattern: String,
    /// The error.
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
        let compile = |pattern: &str| match Regexp::new(pattern) {
            Ok(regexp) => Ok(regexp.for_many_texts()),
            Err(error) => Err(InvalidExclusion {
                pattern: pattern.to_owned(),
                error,
            }),
        };
        Ok(Self {
            patterns: patterns.into_iter().map(compile).collect::<Result<_, _>>()?,
        })
    }

    /// The tags that no pattern matches, in the controller's order: descending by the alphabet. Policies get them in this
    /// order, which decides among equal tags.
    ///
    /// # Errors
    /// [`Exhausted`] when the patterns take too long.
    pub fn keep(&self, mut tags: Vec<String>) -> Result<Vec<String>, Exhausted> {
        let mut budget = budget(tags.len());
        let mut failure = None;
        tags.retain(|tag| {
            let mut patterns = self.patterns.iter();
            let excluded = patterns.any(|pattern| match pattern.is_match(tag.as_bytes(), &mut budget) {
                Ok(matched) => matched,
                Err(exhausted) => {
                    failure = Some(exhausted);
                    true
                }
            });
            !excluded
        });
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
