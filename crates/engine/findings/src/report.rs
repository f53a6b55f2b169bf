//! A report: findings in order, equal ones merged, and its renderings.

use std::collections::BTreeSet;

use crate::{Baseline, Finding, Origin, Rule, Severity};

/// Greatest length of a message or a help in characters; longer ones are truncated.
const LONGEST: usize = 4000;

/// All findings of a check.
#[derive(Clone, Debug)]
pub struct Report {
    findings: Vec<Finding>,
    checked: BTreeSet<Origin>,
    version: String,
}

impl Report {
    /// The report of these findings in the Kustomizations that were `checked`, by this version of bumpwright.
    ///
    /// Findings are sorted by path, line, column and rule; those without a place come last. Findings of several
    /// Kustomizations or clusters that say the same of the same place are merged.
    #[must_use]
    pub fn new(findings: Vec<Finding>, checked: impl IntoIterator<Item = Origin>, version: impl Into<String>) -> Self {
        let mut findings: Vec<Finding> = findings.into_iter().map(short).collect();
        findings.sort_by(|one, other| order(one).cmp(&order(other)));
        findings.dedup_by(merge);
        let origins = findings.iter().flat_map(|finding| finding.origins.iter().cloned());
        let checked = checked.into_iter().chain(origins).collect();
        Self {
            findings,
            checked,
            version: version.into(),
        }
    }

    /// The same where what a baseline has is accepted, too; `name` is that of its file. What it has and what is not
    /// there any more is reported.
    #[must_use]
    pub fn accepting(mut self, baseline: &Baseline, name: &str) -> Self {
        let gone = baseline.accept(&mut self.findings, name);
        if gone > 0 {
            let findings = if gone == 1 {
                "finding of it is"
            } else {
                "findings of it are"
            };
            let message = format!("{name}: {gone} {findings} not there any more");
            let help = format!("write it again: --write-baseline {name}");
            self.findings
                .push(Finding::new(Rule::UnmatchedAcceptance, message).help(help));
        }
        self
    }

    /// The report with one more finding.
    #[must_use]
    pub fn with(mut self, finding: Finding) -> Self {
        self.findings.push(short(finding));
        self.findings.sort_by(|one, other| order(one).cmp(&order(other)));
        self
    }

    /// Only the open findings that an older report does not have, and how many of its open ones are not there any more.
    #[must_use]
    pub fn since(mut self, older: &Self) -> (Self, usize) {
        self.findings.retain(|finding| finding.acceptance.is_none());
        let gone = Baseline::of(older.open()).accept(&mut self.findings, "");
        self.findings.retain(|finding| finding.acceptance.is_none());
        (self, gone)
    }

    /// The findings, sorted and merged; those that are accepted are among them.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// The findings that nobody has accepted.
    pub fn open(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.acceptance.is_none())
    }

    /// The number of findings that are accepted.
    #[must_use]
    pub fn accepted(&self) -> usize {
        self.findings.len() - self.open().count()
    }

    /// The number of open findings of a severity.
    #[must_use]
    pub fn count(&self, severity: Severity) -> usize {
        self.open().filter(|finding| finding.severity == severity).count()
    }

    /// The greatest severity of open findings; None if there are none.
    #[must_use]
    pub fn worst(&self) -> Option<Severity> {
        self.open().map(|finding| finding.severity).max()
    }

    /// What was checked: Kustomizations, and what has findings without being one.
    #[must_use]
    pub const fn checked(&self) -> &BTreeSet<Origin> {
        &self.checked
    }

    pub(crate) fn version(&self) -> &str {
        &self.version
    }
}

/// The order of findings. Those without a place come last, and are different if their origins are.
fn order(finding: &Finding) -> impl Ord + '_ {
    let origins = match &finding.place {
        Some(_) => &[][..],
        None => finding.origins.as_slice(),
    };
    let place = (finding.place.is_none(), &finding.place);
    (place, finding.rule, &finding.object, &finding.message, origins)
}

/// Adds the origins of a finding to those of an equal one. Returns whether they are equal.
fn merge(later: &mut Finding, kept: &mut Finding) -> bool {
    if order(later).cmp(&order(kept)).is_ne() {
        return false;
    }
    kept.severity = kept.severity.max(later.severity);
    kept.help = kept.help.take().or_else(|| later.help.take());
    // It is accepted where it is accepted everywhere.
    kept.acceptance = kept.acceptance.take().filter(|_| later.acceptance.is_some());
    kept.origins.append(&mut later.origins);
    kept.origins.sort();
    kept.origins.dedup();
    true
}

fn short(mut finding: Finding) -> Finding {
    truncate(&mut finding.message);
    if let Some(help) = &mut finding.help {
        truncate(help);
    }
    if let Some(object) = &mut finding.object {
        truncate(object);
    }
    finding.origins.sort();
    finding.origins.dedup();
    finding
}

fn truncate(text: &mut String) {
    if let Some((end, _)) = text.char_indices().nth(LONGEST) {
        text.truncate(end);
        text.push('…');
    }
}

#[cfg(test)]
#[allow(clippy::panic, clippy::indexing_slicing)]
pub(crate) mod tests {
    use crate::{Acceptance, Baseline, Finding, Origin, Report, Rule, Severity};

    /// A Kustomization of a cluster.
    pub(crate) fn origin(cluster: &str, kustomization: &str) -> Origin {
        let name = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        Origin {
            cluster: name(cluster),
            kustomization: name(kustomization),
            ..Origin::default()
        }
    }

    /// Two errors, a warning and a note in three Kustomizations of two clusters.
    pub(crate) fn report() -> Report {
        let missing = |cluster: &str| {
            Finding::new(
                Rule::MissingSource,
                "GitRepository flux-system/flet is not in the fleet",
            )
            .at("clusters/base/apps.yaml", 12, 5)
            .object("Kustomization flux-system/apps")
            .kustomization("flux-system/apps")
            .cluster(cluster)
            .help("did you mean flux-system/fleet?")
        };
        let findings = vec![
            Finding::new(Rule::UnknownSource, "OCIRepository flux-system/extra was not fetched")
                .kustomization("flux-system/extra")
                .cluster("clusters/b"),
            missing("clusters/b"),
            Finding::new(Rule::UndefinedVariable, "${domain} has no value\nand no default")
                .at("apps/web.yaml", 30, 12)
                .object("Ingress web/web")
                .kustomization("flux-system/apps")
                .cluster("clusters/a"),
            Finding::new(Rule::Schema, "spec.replicas: \"two\" is not an integer")
                .at("apps/web.yaml", 7, 13)
                .object("Deployment web/web")
                .kustomization("flux-system/apps")
                .cluster("clusters/a"),
            missing("clusters/a"),
        ];
        let checked = [
            origin("clusters/a", "flux-system/apps"),
            origin("clusters/a", "flux-system/infra"),
            origin("clusters/b", "flux-system/apps"),
        ];
        Report::new(findings, checked, "1.2.3")
    }

    /// A finding whose every text is written to break a format.
    pub(crate) fn hostile() -> Report {
        let bad = "\u{1b}[2J\u{9b}31m\r\n::error file=x::y %0A%25,: <![CDATA[&\"']]>\u{0}\u{202e}\u{fffe}](http://evil)\na.yaml:1:1: error[schema]: z";
        let finding = Finding::new(Rule::Schema, bad)
            .at(format!("dir with space/{bad}/ü:,%.yaml"), 3, 4)
            .object(bad)
            .kustomization(bad)
            .cluster(bad)
            .help(bad);
        Report::new(
            vec![finding, Finding::new(Rule::Limit, "x".repeat(100_000))],
            [],
            "1.2.3",
        )
    }

    #[test]
    fn findings_are_sorted_by_place_and_rule_and_equal_ones_are_merged() {
        let report = report();
        let places: Vec<_> = report
            .findings()
            .iter()
            .map(|finding| {
                (
                    finding.place.as_ref().map(|place| (place.path.as_str(), place.line)),
                    finding.rule,
                )
            })
            .collect();
        assert_eq!(
            places,
            [
                (Some(("apps/web.yaml", 7)), Rule::Schema),
                (Some(("apps/web.yaml", 30)), Rule::UndefinedVariable),
                (Some(("clusters/base/apps.yaml", 12)), Rule::MissingSource),
                (None, Rule::UnknownSource),
            ]
        );
        let both = [
            origin("clusters/a", "flux-system/apps"),
            origin("clusters/b", "flux-system/apps"),
        ];
        assert_eq!(report.findings()[2].origins, both);
        assert_eq!(report.worst(), Some(Severity::Error));
        assert_eq!(report.summary(), "2 errors, 1 warning, 1 note in 4 Kustomizations");
    }

    #[test]
    fn what_differs_is_not_merged() {
        let one = Finding::new(Rule::BuildFailed, "m")
            .at("a", 1, 1)
            .object("A b/c")
            .cluster("x");
        let others = [
            one.clone().at("a", 1, 2),
            one.clone().object("A b/d"),
            Finding::new(Rule::Limit, "m").at("a", 1, 1).object("A b/c"),
            Finding::new(Rule::BuildFailed, "n").at("a", 1, 1).object("A b/c"),
        ];
        for other in others {
            let report = Report::new(vec![one.clone(), other.clone()], [], "");
            assert_eq!(report.findings().len(), 2, "{other:?}");
        }
        // Without a place, the Kustomization says which one is meant.
        let placeless = |cluster: &str| Finding::new(Rule::BuildFailed, "m").cluster(cluster);
        let report = |clusters: [&str; 2]| Report::new(clusters.map(placeless).to_vec(), [], "");
        assert_eq!(report(["x", "y"]).findings().len(), 2);
        assert_eq!(report(["x", "x"]).findings().len(), 1);
    }

    #[test]
    fn a_merged_finding_is_as_bad_as_the_worst_and_keeps_a_help() {
        let one = Finding::new(Rule::MissingSecret, "m").at("a", 1, 1);
        let worse = one.clone().severity(Severity::Error).help("h");
        let report = Report::new(vec![one, worse], [], "");
        let [merged] = report.findings() else {
            panic!("{report:?}")
        };
        assert_eq!((merged.severity, merged.help.as_deref()), (Severity::Error, Some("h")));
    }

    #[test]
    fn what_is_accepted_is_counted_apart() {
        let accepted = |finding: Finding| {
            finding.accepted(Acceptance {
                by: "a.yaml:3".to_owned(),
                reason: Some("it is\nso".to_owned()),
                is_in_source: true,
            })
        };
        let one = Finding::new(Rule::Schema, "m").at("a", 1, 1).object("A b/c");
        let other = Finding::new(Rule::MissingSecret, "n").at("a", 2, 1);
        let report = Report::new(vec![accepted(one.clone()), other.clone()], [], "");
        assert_eq!(report.summary(), "1 warning in 0 Kustomizations, 1 accepted");
        assert_eq!(report.worst(), Some(Severity::Warning));
        assert!(!report.text().contains("schema") && !report.github().contains("schema"));
        let json: serde_json::Value = serde_json::from_str(&report.json()).unwrap_or_default();
        assert_eq!(json["counts"]["accepted"], 1);
        assert_eq!(
            json["findings"][0]["accepted"],
            serde_json::json!({"by": "a.yaml:3", "reason": "it is\nso"})
        );
        assert!(report.sarif().contains("\"kind\": \"inSource\""), "{}", report.sarif());
        assert!(
            report.junit().contains("<skipped message=\"accepted: it is so\"/>"),
            "{}",
            report.junit()
        );
        // Of two that are one, both have to be accepted.
        let both = |other: Finding| Report::new(vec![accepted(one.clone()), other], [], "").accepted();
        assert_eq!((both(one.clone()), both(accepted(one.clone()))), (0, 1));
        // What a baseline has is accepted as well, and what is gone from it is reported.
        let baseline = Baseline::of(&[other.clone(), Finding::new(Rule::Limit, "l")]);
        let report = Report::new(vec![one, other], [], "").accepting(&baseline, "b.json");
        assert_eq!(report.summary(), "1 error, 1 note in 0 Kustomizations, 1 accepted");
        assert!(report.sarif().contains("\"kind\": \"external\""), "{}", report.sarif());
    }

    #[test]
    fn huge_texts_are_truncated() {
        for text in [
            hostile().text(),
            hostile().sarif(),
            hostile().junit(),
            hostile().github(),
        ] {
            assert!(text.len() < 80_000, "{}", text.len());
        }
        assert!(hostile().findings()[1].message.ends_with("xx…"));
    }
}
