//! What a check of a fleet finds, from the rules.

use std::fmt::Write;

use bumpwright_findings::Rule;

use super::markdown::{generated, paragraph};

/// `findings.md`.
pub fn page() -> String {
    let mut page = "# Findings in a fleet\n\n".to_owned();
    page.push_str(&generated("the rules of the findings crate"));
    page.push_str(&paragraph(
        "What `fleet check` looks for, and `fleet review` in a change. `bumpwright explain RULE` prints the same. The ids of rules are stable: they are in every output, \
         and code scanning recognises alerts by them. A finding has a place, as far as its file is known, the object, the Kustomizations \
         and clusters that build it, and often a hint; one that several of them have is reported once. An error goes wrong when the fleet is \
         applied, a warning may go wrong, a note is about what was not looked at. The severity in the table is the usual one: where a part \
         of the fleet is not known, or something else may make what is missing, a finding is a warning or a note; where the object is refused \
         for certain, an error. The exit code is 1 from errors on, or from what `--fail-on` says.",
    ));
    page.push_str(
        "\
| output | for |
|---|---|
| `text` | people and editors: `PATH:LINE:COLUMN: SEVERITY[RULE]: OBJECT: message`, what belongs to it below and indented |
| `json` | programs: one document, described by [findings.schema.json](findings.schema.json); a change of fields changes `version` |
| `sarif` | GitHub's code scanning and others that read SARIF 2.1.0, with all rules and fingerprints that do not depend on lines |
| `junit` | Jenkins and GitLab: a test suite for each Kustomization; warnings and notes are output of tests that passed |
| `github` | GitHub Actions: workflow commands that make annotations of the changed files |
| `html` | people who look at a job later: one file without scripts, for its artifacts |

",
    );
    page.push_str("| rule | severity | finding |\n|---|---|---|\n");
    for rule in Rule::ALL {
        let (id, severity) = (rule.id(), rule.severity().as_str());
        writeln!(page, "| [`{id}`](#{id}) | {severity} | {} |", rule.title()).unwrap();
    }
    for rule in Rule::ALL {
        let lines: Vec<String> = rule.explanation().lines().map(linked).collect();
        let (id, severity) = (rule.id(), rule.severity().as_str());
        let text = lines.join("\n");
        write!(page, "\n## {id}\n\n*{severity}*: {}\n\n{text}\n", rule.sentence()).unwrap();
    }
    page
}

/// `See: docs/PAGE` as a link from the page's folder.
fn linked(line: &str) -> String {
    match line.strip_prefix("See: docs/") {
        Some(page) => match page.strip_prefix("reference/") {
            Some(here) => format!("See: [docs/{page}]({here})"),
            None => format!("See: [docs/{page}](../{page})"),
        },
        None => line.to_owned(),
    }
}
