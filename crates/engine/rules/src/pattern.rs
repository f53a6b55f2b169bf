//! A regular expression with one named group, for files without structure.

use std::ops::Range;

use bumpwright_re2::{Budget, Captures, Exhausted, Regexp};

/// A longer pattern is refused. In bytes.
const LONGEST: usize = 1_000;

/// The most memory of a pattern, in bytes.
const LARGEST: usize = 1 << 20;

/// The most fields of a file.
const MOST: usize = 10_000;

/// Steps of a search through a file, each of some nanoseconds.
const STEPS: u64 = 200_000_000;

/// What is skipped in no step of a search costs a little, too.
const BYTES_A_STEP: u64 = 16;

/// Why a search has no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stopped {
    /// It is too much for one search.
    TooMuch(Exhausted),
    /// The searches before it have left too little.
    NothingLeft,
}

#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    regexp: Regexp,
    /// The group with the value.
    group: usize,
}

/// Why a pattern is refused.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PatternError {
    #[error("the pattern is longer than {LONGEST} bytes")]
    Long,
    #[error("the pattern is no regular expression: {0}")]
    Syntax(#[from] bumpwright_re2::Error),
    #[error("the pattern takes too much memory; repeat less in it")]
    Large,
    #[error("the pattern needs one named group, the value: (?P<version>…)")]
    Groups,
}

impl Pattern {
    pub(crate) fn read(text: &str) -> Result<Self, PatternError> {
        if text.len() > LONGEST {
            return Err(PatternError::Long);
        }
        let regexp = Regexp::new(text)?;
        if regexp.memory() > LARGEST {
            return Err(PatternError::Large);
        }
        let named: Vec<usize> = (regexp.subexp_names().iter().enumerate())
            .filter(|(_, name)| !name.is_empty())
            .map(|(group, _)| group)
            .collect();
        match named.as_slice() {
            [group] => Ok(Self { group: *group, regexp }),
            _ => Err(PatternError::Groups),
        }
    }

    /// The values in a text, and the steps that it took. `left` steps may be taken at most.
    pub(crate) fn find(&self, text: &str, left: u64) -> (Result<Vec<Range<usize>>, Stopped>, u64) {
        let mut budget = Budget::new(STEPS.min(left), MOST * 64);
        let limit = i64::try_from(MOST).unwrap_or(i64::MAX);
        let matches = self.regexp.find_all_submatches(text.as_bytes(), limit, &mut budget);
        let steps = budget.steps_used().max(text.len() as u64 / BYTES_A_STEP);
        let matches = matches.map_err(|error| match error {
            Exhausted::Steps if left < STEPS => Stopped::NothingLeft,
            _ => Stopped::TooMuch(error),
        });
        let in_text = |matches: Vec<Captures>| {
            let values = matches.iter().filter_map(|captures| captures.get(self.group));
            values.filter(|value| text.get(value.clone()).is_some()).collect()
        };
        (matches.map(in_text), steps)
    }
}
