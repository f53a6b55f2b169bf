//! Wording that several renderings share.

use std::collections::{BTreeMap, BTreeSet};

use crate::{Acceptance, Finding, Origin, Place, Report, Severity};

/// The most names that are listed.
const FEW: usize = 5;

/// `2 errors, 1 warning in 5 Kustomizations, 3 accepted`.
pub(crate) fn summary(report: &Report) -> String {
    let counts = Severity::ALL.into_iter().rev().filter_map(|severity| {
        let n = report.count(severity);
        (n > 0).then(|| count(n, severity.as_str()))
    });
    let counts: Vec<String> = counts.collect();
    let total = if counts.is_empty() {
        "no findings".to_owned()
    } else {
        counts.join(", ")
    };
    let (kustomizations, others): (Vec<&Origin>, Vec<&Origin>) = report
        .checked()
        .iter()
        .partition(|origin| origin.kustomization.is_some());
    let checked = match (kustomizations.len(), others.len()) {
        (0, folders) if folders > 0 => count(folders, "folder"),
        (kustomizations, _) => count(kustomizations, "Kustomization"),
    };
    let accepted = match report.accepted() {
        0 => String::new(),
        accepted => format!(", {accepted} accepted"),
    };
    format!("{total} in {checked}{accepted}")
}

fn count(n: usize, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

/// `Kind namespace/name: message`.
pub(crate) fn headline(finding: &Finding) -> String {
    match &finding.object {
        Some(object) => format!("{}: {}", object.replace(['\n', '\r'], " "), finding.message),
        None => finding.message.clone(),
    }
}

/// `accepted: reason`, or where it is accepted.
pub(crate) fn acceptance(acceptance: &Acceptance) -> String {
    let text = match &acceptance.reason {
        Some(reason) => format!("accepted: {reason}"),
        None => format!("accepted by {}", acceptance.by),
    };
    text.replace(['\n', '\r'], " ")
}

/// `path:line:column`.
pub(crate) fn place(place: &Place) -> String {
    format!("{}:{}:{}", place.path, place.line, place.column)
}

/// `Kustomization namespace/name of clusters/a, clusters/b`, or the same of a HelmRelease; None if the
/// finding does not say.
pub(crate) fn origins(finding: &Finding) -> Option<String> {
    let mut clusters = BTreeMap::<Option<String>, BTreeSet<&str>>::new();
    for origin in &finding.origins {
        let of = clusters.entry(owner(origin)).or_default();
        of.extend(origin.cluster.as_deref());
    }
    let named: Vec<String> = clusters.into_iter().filter_map(origin).collect();
    (!named.is_empty()).then(|| some(named.iter().map(String::as_str), "; "))
}

/// `Kustomization namespace/name`, or `HelmRelease namespace/name (template)`.
fn owner(origin: &Origin) -> Option<String> {
    let Some(release) = &origin.release else {
        let name = origin.kustomization.as_ref()?;
        return Some(format!("Kustomization {name}"));
    };
    Some(match &origin.template {
        Some(template) => format!("HelmRelease {release} ({template})"),
        None => format!("HelmRelease {release}"),
    })
}

fn origin((owner, clusters): (Option<String>, BTreeSet<&str>)) -> Option<String> {
    let clusters = (!clusters.is_empty()).then(|| some(clusters.into_iter(), ", "));
    match (owner, clusters) {
        (Some(owner), Some(clusters)) => Some(format!("{owner} of {clusters}")),
        (owner, clusters) => owner.or(clusters),
    }
}

/// The first few of many names.
fn some<'n>(names: impl ExactSizeIterator<Item = &'n str>, separator: &str) -> String {
    let more = names.len().saturating_sub(FEW);
    let shown = names.take(FEW).collect::<Vec<_>>().join(separator);
    match more {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::Rule;
    use crate::report::tests::origin;

    #[test]
    fn origins_are_grouped_by_kustomization() {
        let finding = Finding::new(Rule::Schema, "m");
        let of = |origins: Vec<Origin>| {
            super::origins(&Finding {
                origins,
                ..finding.clone()
            })
        };
        assert_eq!(of(vec![]), None);
        assert_eq!(of(vec![Origin::default()]), None);
        assert_eq!(of(vec![origin("a", "")]).unwrap(), "a");
        assert_eq!(of(vec![origin("", "n/x")]).unwrap(), "Kustomization n/x");
        let several = vec![origin("a", "n/x"), origin("b", "n/x"), origin("b", "n/y")];
        assert_eq!(
            of(several).unwrap(),
            "Kustomization n/x of a, b; Kustomization n/y of b"
        );
        let of_release = finding.clone().release("n/r", Some("web/templates/a.yaml".to_owned()));
        assert_eq!(
            super::origins(&of_release.cluster("a")).unwrap(),
            "HelmRelease n/r (web/templates/a.yaml) of a"
        );
        assert_eq!(
            super::origins(&finding.clone().release("n/r", None)).unwrap(),
            "HelmRelease n/r"
        );
        let many = (1..=7).map(|n| origin(&format!("c{n}"), "n/x")).collect();
        assert_eq!(of(many).unwrap(), "Kustomization n/x of c1, c2, c3, c4, c5 and 2 more");
    }

    #[test]
    fn the_summary_counts_what_was_looked_at() {
        let checked = [origin("a", "n/x"), origin("b", "n/x"), origin("a", "")];
        assert_eq!(
            Report::new(vec![], checked, "").summary(),
            "no findings in 2 Kustomizations"
        );
        assert_eq!(
            Report::new(vec![], [origin("a", ""), origin("b", "")], "").summary(),
            "no findings in 2 folders"
        );
        assert_eq!(
            Report::new(vec![Finding::new(Rule::Schema, "m").kustomization("n/x")], [], "").summary(),
            "1 error in 1 Kustomization"
        );
    }
}
