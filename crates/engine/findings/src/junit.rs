//! JUnit XML, as Jenkins and GitLab read it: a test suite for each Kustomization, and in it a test for each finding, or
//! one that passed. Errors are failures; warnings and notes are the output of tests that passed.

use std::collections::{BTreeMap, BTreeSet};

use crate::terminal::printable;
use crate::{Finding, Origin, Report, Severity, words};
use bumpwright_text::{Excerpt, between};

pub(crate) fn render(report: &Report) -> String {
    let suites: Vec<Suite> = suites(report)
        .into_iter()
        .map(|(origin, found)| Suite::new(origin, &found))
        .collect();
    let (tests, failures) = suites.iter().fold((0, 0), |(tests, failures), suite| {
        (tests + suite.tests, failures + suite.failures)
    });
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <testsuites name=\"bumpwright\" tests=\"{tests}\" failures=\"{failures}\" errors=\"0\">\n"
    );
    out.extend(suites.into_iter().map(|suite| suite.xml));
    out.push_str("</testsuites>\n");
    out
}

/// The findings by Kustomization: those of several are in each of their suites.
fn suites(report: &Report) -> BTreeMap<Origin, Vec<&Finding>> {
    let looked_at = report.checked().iter().map(|origin| (suite(origin), Vec::new()));
    let mut suites: BTreeMap<Origin, Vec<&Finding>> = looked_at.collect();
    for finding in report.findings() {
        let nowhere = [Origin::default()];
        let origins = if finding.origins.is_empty() {
            &nowhere[..]
        } else {
            finding.origins.as_slice()
        };
        for origin in origins {
            suites.entry(suite(origin)).or_default().push(finding);
        }
    }
    suites
}

/// The Kustomization or cluster of an origin: releases have no suite of their own.
fn suite(origin: &Origin) -> Origin {
    Origin {
        cluster: origin.cluster.clone(),
        kustomization: origin.kustomization.clone(),
        ..Origin::default()
    }
}

struct Suite {
    tests: usize,
    failures: usize,
    xml: String,
}

impl Suite {
    fn new(origin: Origin, findings: &[&Finding]) -> Self {
        let name = match (origin.cluster, origin.kustomization) {
            (Some(cluster), Some(name)) => format!("{cluster}: {name}"),
            (Some(name), None) | (None, Some(name)) => name,
            (None, None) => "fleet".to_owned(),
        };
        let name = escaped(&name);
        let mut used = BTreeSet::new();
        let mut cases = findings
            .iter()
            .map(|finding| case(&name, finding, &mut used))
            .collect::<String>();
        if findings.is_empty() {
            cases = format!("    <testcase classname=\"{name}\" name=\"no findings\"/>\n");
        }
        let failures = findings
            .iter()
            .filter(|finding| finding.severity == Severity::Error && finding.acceptance.is_none())
            .count();
        let tests = findings.len().max(1);
        let head = format!("  <testsuite name=\"{name}\" tests=\"{tests}\" failures=\"{failures}\" errors=\"0\">\n");
        Self {
            tests,
            failures,
            xml: format!("{head}{cases}  </testsuite>\n"),
        }
    }
}

/// A test. Its name has no line numbers: servers compare the tests of a run with those of the last one by name.
fn case(suite: &str, finding: &Finding, used: &mut BTreeSet<String>) -> String {
    let of = match (&finding.object, &finding.place) {
        (Some(object), _) => object.as_str(),
        (None, Some(place)) => place.path.as_str(),
        (None, None) => finding.rule.title(),
    };
    let wanted = format!("{}: {of}", finding.rule);
    let mut name = wanted.clone();
    let mut n = 1;
    while !used.insert(name.clone()) {
        n += 1;
        name = format!("{wanted} ({n})");
    }
    let body = escaped_lines(&body(finding));
    let result = match (&finding.acceptance, finding.severity) {
        (Some(acceptance), _) => format!("<skipped message=\"{}\"/>", escaped(&words::acceptance(acceptance))),
        (None, Severity::Error) => {
            let headline = words::headline(finding);
            let message = escaped(headline.first_line());
            format!(
                "<failure type=\"{}\" message=\"{message}\">{body}</failure>",
                finding.rule
            )
        }
        (None, Severity::Warning | Severity::Note) => format!("<system-out>{body}</system-out>"),
    };
    let name = escaped(&name);
    format!("    <testcase classname=\"{suite}\" name=\"{name}\">{result}</testcase>\n")
}

/// The place, the message, and what to do.
fn body(finding: &Finding) -> String {
    let place = between("", finding.place.as_ref().map(words::place), ": ");
    let (rule, word) = (finding.rule, finding.severity.as_str());
    let help = between("\nhelp: ", finding.help.as_ref(), "");
    format!("{place}{word}[{rule}]: {}{help}", words::headline(finding))
}

/// The value of an attribute, on one line.
fn escaped(text: &str) -> String {
    escaped_lines(text).replace('\n', "&#10;").replace('\t', "&#9;")
}

/// Text of an element. Characters that XML does not have are spelled out or dropped.
fn escaped_lines(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in printable(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&apos;"),
            '\u{fffe}' | '\u{ffff}' => {}
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use crate::report::tests::{hostile, report};
    use crate::{Finding, Report, Rule};

    #[test]
    fn each_kustomization_is_a_suite() {
        assert_eq!(
            report().junit(),
            r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="bumpwright" tests="6" failures="3" errors="0">
  <testsuite name="clusters/a: flux-system/apps" tests="3" failures="2" errors="0">
    <testcase classname="clusters/a: flux-system/apps" name="schema: Deployment web/web"><failure type="schema" message="Deployment web/web: spec.replicas: &quot;two&quot; is not an integer">apps/web.yaml:7:13: error[schema]: Deployment web/web: spec.replicas: &quot;two&quot; is not an integer</failure></testcase>
    <testcase classname="clusters/a: flux-system/apps" name="undefined-variable: Ingress web/web"><system-out>apps/web.yaml:30:12: warning[undefined-variable]: Ingress web/web: ${domain} has no value
and no default</system-out></testcase>
    <testcase classname="clusters/a: flux-system/apps" name="missing-source: Kustomization flux-system/apps"><failure type="missing-source" message="Kustomization flux-system/apps: GitRepository flux-system/flet is not in the fleet">clusters/base/apps.yaml:12:5: error[missing-source]: Kustomization flux-system/apps: GitRepository flux-system/flet is not in the fleet
help: did you mean flux-system/fleet?</failure></testcase>
  </testsuite>
  <testsuite name="clusters/a: flux-system/infra" tests="1" failures="0" errors="0">
    <testcase classname="clusters/a: flux-system/infra" name="no findings"/>
  </testsuite>
  <testsuite name="clusters/b: flux-system/apps" tests="1" failures="1" errors="0">
    <testcase classname="clusters/b: flux-system/apps" name="missing-source: Kustomization flux-system/apps"><failure type="missing-source" message="Kustomization flux-system/apps: GitRepository flux-system/flet is not in the fleet">clusters/base/apps.yaml:12:5: error[missing-source]: Kustomization flux-system/apps: GitRepository flux-system/flet is not in the fleet
help: did you mean flux-system/fleet?</failure></testcase>
  </testsuite>
  <testsuite name="clusters/b: flux-system/extra" tests="1" failures="0" errors="0">
    <testcase classname="clusters/b: flux-system/extra" name="unknown-source: A source of another repository was not looked at"><system-out>note[unknown-source]: OCIRepository flux-system/extra was not fetched</system-out></testcase>
  </testsuite>
</testsuites>
"#
        );
    }

    #[test]
    fn tests_of_a_suite_have_different_names() {
        let finding = |line| Finding::new(Rule::InvalidManifest, "m").at("a.yaml", line, 1);
        let text = Report::new(vec![finding(1), finding(2)], [], "").junit();
        assert!(
            text.contains("<testsuite name=\"fleet\" tests=\"2\" failures=\"2\""),
            "{text}"
        );
        assert!(
            text.contains("name=\"invalid-manifest: a.yaml\"")
                && text.contains("name=\"invalid-manifest: a.yaml (2)\""),
            "{text}"
        );
    }

    #[test]
    fn hostile_texts_make_no_elements_and_no_invalid_characters() {
        let text = hostile().junit();
        assert_eq!(text.matches("<testcase ").count(), 2, "{text}");
        assert_eq!(text.matches("<![CDATA[").count(), 0, "{text}");
        let invalid = |c: char| (c.is_control() && c != '\n') || matches!(c, '\u{fffe}' | '\u{ffff}' | '\u{202e}');
        assert!(!text.contains(invalid), "{text:?}");
    }
}
