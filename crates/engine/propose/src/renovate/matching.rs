//! Patterns of names and paths, as Renovate has them: exact ones, globs, `/regular expressions/`, and `!` for
//! what is left out.

use bumpwright_re2::{Budget, Regexp, quote_meta};
use thiserror::Error;

/// Steps of a search in a name or path.
const STEPS: u64 = 1_000_000;
/// Bytes of memory of one.
const MEMORY: usize = 1 << 20;

/// A pattern is not a regular expression.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{pattern:?}: {problem}")]
pub(super) struct PatternError {
    pattern: String,
    #[source]
    problem: bumpwright_re2::Error,
}

#[derive(Clone, Debug)]
pub(super) struct Pattern {
    is_negated: bool,
    regexp: Regexp,
}

impl Pattern {
    pub(super) fn new(text: &str) -> Result<Self, PatternError> {
        let (is_negated, text) = text.strip_prefix('!').map_or((false, text), |rest| (true, rest));
        let pattern = match text.strip_prefix('/').and_then(|rest| rest.rsplit_once('/')) {
            Some((inside, "i")) => format!("(?i){inside}"),
            Some((inside, "")) => inside.to_owned(),
            _ => of_glob(text),
        };
        Self::of(&pattern, is_negated)
    }

    /// A regular expression without slashes (`matchPackagePatterns` of older versions).
    pub(super) fn of_regexp(text: &str) -> Result<Self, PatternError> {
        Self::of(text, false)
    }

    /// What begins with a text.
    pub(super) fn of_prefix(text: &str) -> Result<Self, PatternError> {
        Self::of(&format!("^{}", quoted(text)), false)
    }

    fn of(pattern: &str, is_negated: bool) -> Result<Self, PatternError> {
        let regexp = Regexp::new(pattern).map_err(|problem| PatternError {
            pattern: pattern.to_owned(),
            problem,
        })?;
        Ok(Self { is_negated, regexp })
    }

    fn fits(&self, text: &str) -> bool {
        let mut budget = Budget::new(STEPS, MEMORY);
        self.regexp.is_match(text.as_bytes(), &mut budget).unwrap_or(false)
    }
}

/// Whether a pattern that is not negated fits, or all are negated; and no negated one fits.
pub(super) fn is_any(patterns: &[Pattern], text: &str) -> bool {
    let (negated, plain): (Vec<_>, Vec<_>) = patterns.iter().partition(|pattern| pattern.is_negated);
    let is_in = plain.is_empty() || plain.iter().any(|pattern| pattern.fits(text));
    is_in && !negated.iter().any(|pattern| pattern.fits(text))
}

/// A glob as minimatch reads it: `*` within a folder, `**` across, `?`, `{a,b}`.
fn of_glob(glob: &str) -> String {
    let mut out = String::from("^");
    let mut depth = 0_usize;
    let mut rest = glob;
    while let Some(c) = rest.chars().next() {
        let (text, taken) = match c {
            '*' if rest.starts_with("**/") => ("(?:.*/)?".to_owned(), 3),
            '*' if rest.starts_with("**") => (".*".to_owned(), 2),
            '*' => ("[^/]*".to_owned(), 1),
            '?' => ("[^/]".to_owned(), 1),
            '{' => {
                depth += 1;
                ("(?:".to_owned(), 1)
            }
            '}' if depth > 0 => {
                depth -= 1;
                (")".to_owned(), 1)
            }
            ',' if depth > 0 => ("|".to_owned(), 1),
            plain => (quoted(plain.encode_utf8(&mut [0; 4])), plain.len_utf8()),
        };
        out.push_str(&text);
        rest = rest.split_at(taken).1;
    }
    out.push_str(&")".repeat(depth));
    out.push('$');
    out
}

fn quoted(text: &str) -> String {
    String::from_utf8_lossy(&quote_meta(text.as_bytes())).into_owned()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn fits(patterns: &[&str], text: &str) -> bool {
        let patterns: Vec<Pattern> = patterns.iter().map(|text| Pattern::new(text).unwrap()).collect();
        is_any(&patterns, text)
    }

    #[test]
    fn names_and_paths_fit_as_in_renovate() {
        for (patterns, text, wanted) in [
            (&["ghcr.io/acme/**"][..], "ghcr.io/acme/web/api", true),
            (&["ghcr.io/acme/*"], "ghcr.io/acme/web/api", false),
            (&["/^ghcr\\.io\\/ACME/i"], "ghcr.io/acme/web", true),
            (&["nginx"], "nginx-extra", false),
            (&["*", "!redis"], "redis", false),
            (&["!redis"], "nginx", true),
            (&["clusters/**"], "clusters/a/b.yaml", true),
            (&["**/{prod,stage}/*.yaml"], "stage/x.yaml", true),
            (&["**/{prod,stage}/*.yaml"], "a/dev/x.yaml", false),
        ] {
            assert_eq!(fits(patterns, text), wanted, "{patterns:?} {text}");
        }
    }
}
