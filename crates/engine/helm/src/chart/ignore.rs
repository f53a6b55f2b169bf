//! `.helmignore`: which files of a folder are not part of its chart.

use bumpwright_gostd::glob::path_match;
use thiserror::Error;

/// Why a line is not a rule, in Helm's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum IgnoreError {
    #[error("double-star (**) syntax is not supported")]
    DoubleStar,
    /// It is not a pattern.
    #[error("syntax error in pattern")]
    Syntax,
}

/// The rules of a `.helmignore` file, and Helm's own one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IgnoreRules(Vec<Rule>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    pattern: String,
    negated: bool,
    folders_only: bool,
    /// Whether it is compared with the whole path; else with the last component.
    whole: bool,
}

impl IgnoreRules {
    /// The rules of a file; those of a chart that has none for an empty text.
    pub fn parse(text: &[u8]) -> Result<Self, IgnoreError> {
        let text = bumpwright_gostd::lossy(text);
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        let mut rules = Vec::new();
        for line in text.lines().chain(["templates/.?*"]) {
            rules.extend(rule(line)?);
        }
        Ok(Self(rules))
    }

    /// Whether a file or folder is left out; a folder with all that is in it.
    #[must_use]
    pub fn ignores(&self, path: &str, is_folder: bool) -> bool {
        for rule in &self.0 {
            let compared = if rule.whole {
                path
            } else {
                path.rsplit('/').next().unwrap_or(path)
            };
            let matches = || path_match(&rule.pattern, compared) == Some(true);
            if rule.negated {
                if rule.folders_only && !is_folder || !matches() {
                    return true;
                }
            } else if (is_folder || !rule.folders_only) && matches() {
                return true;
            }
        }
        false
    }
}

fn rule(line: &str) -> Result<Option<Rule>, IgnoreError> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return Ok(None);
    }
    if line.contains("**") {
        return Err(IgnoreError::DoubleStar);
    }
    if path_match(line, "abc").is_none() {
        return Err(IgnoreError::Syntax);
    }
    let (negated, line) = match line.strip_prefix('!') {
        Some(rest) => (true, rest),
        None => (false, line),
    };
    let (folders_only, line) = match line.strip_suffix('/') {
        Some(rest) => (true, rest),
        None => (false, line),
    };
    Ok(Some(Rule {
        whole: line.contains('/'),
        pattern: line.strip_prefix('/').unwrap_or(line).to_owned(),
        negated,
        folders_only,
    }))
}

#[cfg(test)]
mod tests {
    use super::IgnoreRules;

    #[test]
    fn rules_are_those_of_helm() {
        let rules = IgnoreRules::parse(b"# note\n*.txt\n/top.md\ndocs/\na/*.yaml\n").unwrap();
        for (path, is_folder, expected) in [
            ("b/x.txt", false, true),
            ("top.md", false, true),
            ("b/top.md", false, false),
            ("docs", true, true),
            ("docs", false, false),
            ("a/b.yaml", false, true),
            ("templates/.hidden", false, true),
            ("templates/a.yaml", false, false),
        ] {
            assert_eq!(rules.ignores(path, is_folder), expected, "{path}");
        }
        assert!(IgnoreRules::parse(b"a/**/b").is_err());
        assert!(IgnoreRules::parse(b"!a.txt").unwrap().ignores("Chart.yaml", false));
    }
}
