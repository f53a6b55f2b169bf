//! A regular expression with one named group, for files without structure.

use std::ops::Range;

use bumpwright_re2::{Budget, Regexp};

/// A longer pattern is refused. In bytes.
const LONGEST: usize = 1_000;

/// The most memory of a pattern, in bytes.
const LARGEST: usize = 1 << 20;

/// The most fields of a file.
const MOST: usize = 10_000;

/// Steps of a search through a file, each of some nanoseconds.
const STEPS: u64 = 200_000_000;

/// A pattern.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    regexp: Regexp,
    /// The group with the value.
    group: usize,
}

impl Pattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// Why it is refused.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        if text.len() > LONGEST {
            return Err(format!("the pattern is longer than {LONGEST} bytes"));
        }
        let regexp = Regexp::new(text).map_err(|error| format!("the pattern is no regular expression: {error}"))?;
        if regexp.memory() > LARGEST {
            return Err("the pattern takes too much memory; repeat less in it".to_owned());
        }
        let named: Vec<usize> = (regexp.subexp_names().iter().enumerate())
            .filter(|(_, name)| !name.is_empty())
            .map(|(group, _)| group)
            .collect();
        match named.as_slice() {
            [group] => Ok(Self { group: *group, regexp }),
            _ => Err("the pattern needs one named group, the value: (?P<version>…)".to_owned()),
        }
    }

    /// The values in a text.
    ///
    /// # Errors
    /// Why there is no answer.
    pub(crate) fn find(&self, text: &str) -> Result<Vec<Range<usize>>, String> {
        let mut budget = Budget::new(STEPS, MOST * 64);
        let limit = i64::try_from(MOST).unwrap_or(i64::MAX);
        let found = self.regexp.find_all_submatches(text.as_bytes(), limit, &mut budget);
        let found = found.map_err(|error| error.to_string())?;
        let values = found.iter().filter_map(|captures| captures.get(self.group));
        Ok(values.filter(|value| text.get(value.clone()).is_some()).collect())
    }
}
