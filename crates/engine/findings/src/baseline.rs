//! A baseline: the findings of one day, which are accepted until they are gone.
//!
//! A finding is recognised by its rule, object, file and message, not by its line. If its file is renamed, it is
//! the same one still.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Acceptance, Finding, terminal};

/// The version of the file.
const VERSION: u32 = 1;

/// Findings that are accepted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Baseline {
    known: Vec<Known>,
}

/// A file that is not a baseline.
#[derive(Debug, thiserror::Error)]
pub enum BaselineError {
    /// It does not parse.
    #[error("not a baseline: {0}; write one with --write-baseline")]
    Json(#[from] serde_json::Error),
    /// It is of another version of the program.
    #[error("version {0} of baselines is not known here; write it again with --write-baseline")]
    Version(u32),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    version: u32,
    findings: Vec<Known>,
}

/// What a finding is recognised by.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Known {
    rule: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    object: Option<String>,
    about: String,
}

impl Known {
    fn of(finding: &Finding) -> Self {
        Self {
            rule: finding.rule.id().to_owned(),
            path: finding.place.as_ref().map(|place| place.path.clone()),
            object: finding.object.clone(),
            about: match &finding.identity {
                Some(identity) => identity.clone(),
                None => without_numbers(&finding.message),
            },
        }
    }

    /// The same at any place and object.
    fn alone(&self) -> Self {
        Self {
            path: None,
            object: None,
            ..self.clone()
        }
    }

    /// The same in a file of any name. What is about no object is known by its file only.
    fn anywhere(&self) -> Option<Self> {
        let object = self.object.clone()?;
        Some(Self {
            path: None,
            object: Some(object),
            ..self.clone()
        })
    }
}

/// A message with `#` for its counts and for the numbers of lines.
fn without_numbers(message: &str) -> String {
    let mut out = String::with_capacity(message.len());
    let mut rest = message;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, from) = rest.split_at(start);
        let end = from.find(|c: char| !c.is_ascii_digit()).unwrap_or(from.len());
        let (number, after) = from.split_at(end);
        out.push_str(before);
        let begins = out.is_empty() || out.ends_with([' ', ':', '(']);
        let ends = after.is_empty() || after.starts_with([' ', ':', ')', ',']);
        out.push_str(if begins && ends { "#" } else { number });
        rest = after;
    }
    out.push_str(rest);
    out
}

impl Baseline {
    /// The baseline of these findings.
    #[must_use]
    pub fn of<'f>(findings: impl IntoIterator<Item = &'f Finding>) -> Self {
        let mut entries: Vec<Known> = findings.into_iter().map(Known::of).collect();
        entries.sort();
        Self { known: entries }
    }

    /// Reads a file.
    ///
    /// # Errors
    /// It is not a baseline, or one of another version.
    pub fn read(text: &[u8]) -> Result<Self, BaselineError> {
        let document: Document = serde_json::from_slice(text)?;
        match document.version {
            VERSION => Ok(Self {
                known: document.findings,
            }),
            other => Err(BaselineError::Version(other)),
        }
    }

    /// The file, with a final line feed.
    #[must_use]
    pub fn json(&self) -> String {
        let document = Document {
            version: VERSION,
            findings: self.known.clone(),
        };
        let text = bumpwright_json::indented(&document);
        terminal::json(&format!("{text}\n")).into_owned()
    }

    /// Accepts what it has of these findings, each as often as it has it; `name` is that of the file. Returns the
    /// number of those that are not there any more.
    pub fn accept(&self, findings: &mut [Finding], name: &str) -> usize {
        let mut left: BTreeMap<Known, usize> = BTreeMap::new();
        for known in &self.known {
            *left.entry(known.clone()).or_default() += 1;
        }
        accept(findings, name, &mut left, |known| Some(known.clone()));
        // What is left may be in a file that was renamed.
        let mut moved: BTreeMap<Known, usize> = BTreeMap::new();
        let mut alone: BTreeMap<Known, usize> = BTreeMap::new();
        for (known, count) in left {
            let (all, key) = match known.anywhere() {
                Some(key) => (&mut moved, key),
                None => (&mut alone, known),
            };
            *all.entry(key).or_default() += count;
        }
        accept(findings, name, &mut moved, Known::anywhere);
        // What it is about may have been found at another object first.
        for (known, count) in moved {
            *alone.entry(known.alone()).or_default() += count;
        }
        let has_identity = |finding: &Finding| finding.identity.is_some();
        accept_where(findings, name, &mut alone, |known| Some(known.alone()), has_identity);
        alone.values().sum()
    }
}

/// Accepts the findings that are left in a list, by a key of what they are known by.
fn accept(
    findings: &mut [Finding],
    name: &str,
    left: &mut BTreeMap<Known, usize>,
    key: impl Fn(&Known) -> Option<Known>,
) {
    accept_where(findings, name, left, key, |_| true);
}

/// The same for some findings.
fn accept_where(
    findings: &mut [Finding],
    name: &str,
    left: &mut BTreeMap<Known, usize>,
    key: impl Fn(&Known) -> Option<Known>,
    is_meant: impl Fn(&Finding) -> bool,
) {
    let open = |finding: &&mut Finding| finding.acceptance.is_none() && is_meant(finding);
    for finding in findings.iter_mut().filter(open) {
        let Some(count) = key(&Known::of(finding)).and_then(|known| left.get_mut(&known)) else {
            continue;
        };
        if *count > 0 {
            *count -= 1;
            finding.acceptance = Some(Acceptance {
                by: name.to_owned(),
                reason: None,
                is_in_source: false,
            });
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::Rule;

    fn finding(path: &str, line: usize, object: &str) -> Finding {
        Finding::new(Rule::OwnedTwice, format!("built by x (apps/a.yaml:{line}:1)"))
            .at(path, line, 1)
            .object(object)
    }

    fn accepted(baseline: &Baseline, findings: Vec<Finding>) -> (Vec<bool>, usize) {
        let mut findings = findings;
        let gone = baseline.accept(&mut findings, "b.json");
        (
            findings.iter().map(|finding| finding.acceptance.is_some()).collect(),
            gone,
        )
    }

    #[test]
    fn findings_are_known_when_lines_move_and_files_are_renamed() {
        let baseline = Baseline::of(&[finding("a.yaml", 3, "A x")]);
        let baseline = Baseline::read(baseline.json().as_bytes()).unwrap();
        assert_eq!(accepted(&baseline, vec![finding("a.yaml", 3, "A x")]), (vec![true], 0));
        assert_eq!(accepted(&baseline, vec![finding("a.yaml", 90, "A x")]), (vec![true], 0));
        assert_eq!(accepted(&baseline, vec![finding("b.yaml", 3, "A x")]), (vec![true], 0));
        assert_eq!(accepted(&baseline, vec![finding("a.yaml", 3, "A y")]), (vec![false], 1));
        assert_eq!(accepted(&baseline, Vec::new()), (vec![], 1));
    }

    #[test]
    fn a_second_one_is_new() {
        let baseline = Baseline::of(&[finding("a.yaml", 3, "A x")]);
        let two = vec![finding("b.yaml", 3, "A x"), finding("a.yaml", 3, "A x")];
        assert_eq!(accepted(&baseline, two), (vec![false, true], 0));
        let other = Finding::new(Rule::Schema, "m").at("a.yaml", 3, 1).object("A x");
        assert_eq!(accepted(&baseline, vec![other]), (vec![false], 1));
    }

    #[test]
    fn what_a_finding_is_about_may_be_found_at_another_object() {
        let about = |path: &str, object: &str| finding(path, 1, object).identity("kinds of a.example.com");
        let baseline = Baseline::of(&[about("a.yaml", "A x")]);
        assert_eq!(accepted(&baseline, vec![about("b.yaml", "A y")]), (vec![true], 0));
        assert_eq!(accepted(&baseline, vec![finding("b.yaml", 1, "A y")]), (vec![false], 1));
        assert_eq!(
            accepted(&baseline, vec![about("b.yaml", "A y"), about("a.yaml", "A x")]),
            (vec![false, true], 0)
        );
    }

    #[test]
    fn counts_are_no_part_of_what_a_finding_is_about() {
        for (message, wanted) in [
            (
                "Secret a/b, which 4 fields refer to",
                "Secret a/b, which # fields refer to",
            ),
            ("see a.yaml:3:12", "see a.yaml:#:#"),
            ("version 1.2.3 of v1 (5)", "version 1.2.3 of v1 (#)"),
            ("12", "#"),
        ] {
            assert_eq!(without_numbers(message), wanted);
        }
    }

    #[test]
    fn what_is_no_baseline_is_refused() {
        for text in [
            "",
            "[]",
            "{\"version\": 2, \"findings\": []}",
            "{\"version\": 1, \"findings\": [{}]}",
        ] {
            assert!(Baseline::read(text.as_bytes()).is_err(), "{text}");
        }
    }
}
