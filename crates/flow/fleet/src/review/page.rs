//! A review for the page of a request: what is kept of it in memory is bounded, and what is not is counted.

use std::sync::Arc;

use super::Review;
use super::news::{NEWS, news};
use super::words::{cut, effect};
use crate::diff::{KustomizationDiff, ObjectChange, ObjectDiff, Presence};
use bumpwright_api::ObjectName;
use bumpwright_diff::Field;
use bumpwright_findings::{Finding, Severity};
use bumpwright_pages::request::{self, Change, ChangedObject, ChangedOwner, FindingSeverity, NewFinding, Workload};
use bumpwright_text::Parts;
use bumpwright_update::ChangedWorkload;

/// The most bytes of texts of the differences of a review.
const BYTES: usize = 1 << 20;

/// What an owner, an object, a field and anything else takes beside its texts, in bytes.
const OVERHEAD: usize = 200;

/// The most fields of an object.
const FIELDS: usize = 200;

/// The longest value, in bytes. Of longer ones that part is kept where they begin to differ.
const VALUE: usize = 16 << 10;

/// How much of a long value is kept before its first difference.
const BEFORE: usize = 1 << 10;

/// The most findings, workloads and notes.
const FINDINGS: usize = 500;
const WORKLOADS: usize = 300;
const NOTES: usize = 50;

/// The most images of a workload, and Kustomizations of a finding.
const FEW: usize = 10;

/// What a review is for its page, and the bytes of memory that it takes.
pub(super) fn page(review: &Review) -> (Arc<request::Review>, u64) {
    let mut room = Room {
        bytes: BYTES,
        left_out: 0,
    };
    let owners = review.clusters.iter().flat_map(|cluster| &cluster.kustomizations);
    let owners: Vec<ChangedOwner> = owners.map(|owner| room.owner(owner)).collect();
    let findings: Vec<&Finding> = review.report.open().collect();
    room.left_out += findings.len().saturating_sub(FINDINGS);
    let mut worst = findings;
    worst.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    let findings: Vec<NewFinding> = worst.into_iter().take(FINDINGS).map(finding).collect();
    let impact = &review.impact;
    let checked = review.report.checked().iter();
    let names = checked.filter_map(|origin| namespace(origin.kustomization.as_deref()?));
    let page = request::Review {
        has_errors: review.report.open().any(|finding| finding.severity == Severity::Error),
        workloads: impact.workloads.iter().take(WORKLOADS).map(workload).collect(),
        news: news(review),
        notes: notes(review),
        gone: review.gone,
        left_out: room.left_out,
        namespaces: names.collect(),
        is_partial: false,
        owners,
        findings,
    };
    let taken = BYTES - room.bytes;
    let others = page.findings.iter().map(weigh).sum::<usize>() + page.workloads.len() * 4 * OVERHEAD;
    let others = others + page.news.iter().map(weigh_news).sum::<usize>();
    let bytes = taken + others + OVERHEAD * (page.notes.len() + page.namespaces.len());
    (Arc::new(page), u64::try_from(bytes).unwrap_or(u64::MAX))
}

/// How much is left for the differences.
struct Room {
    bytes: usize,
    /// The objects that there was no room for.
    left_out: usize,
}

impl Room {
    fn owner(&mut self, owner: &KustomizationDiff) -> ChangedOwner {
        let mut objects = Vec::new();
        for object in &owner.objects {
            let object = changed(object);
            let bytes = object
                .fields
                .iter()
                .map(|field| OVERHEAD + field.path.len() + length(field))
                .sum::<usize>();
            match self.bytes.checked_sub(bytes + OVERHEAD + object.place.len()) {
                Some(left) => {
                    self.bytes = left;
                    objects.push(object);
                }
                None => self.left_out += 1,
            }
        }
        // Their number is that of the Kustomizations, which is bounded.
        self.bytes = self.bytes.saturating_sub(OVERHEAD);
        ChangedOwner {
            kind: owner.kind.to_owned(),
            namespace: namespace(&owner.name),
            name: cut(&owner.name),
            change: match owner.presence {
                Presence::Added => Change::Added,
                Presence::Removed => Change::Removed,
                Presence::Both => Change::Changed,
            },
            problems: owner.problems.each_ref().map(|problem| problem.as_deref().map(cut)),
            objects,
        }
    }
}

/// The namespace of a name; none for the entry of a fleet.
fn namespace(name: &str) -> Option<String> {
    name.split_once('/').map(|(namespace, _)| namespace.to_owned())
}

fn cut_of(text: Option<&str>) -> String {
    text.into_iter().map(cut).collect()
}

fn changed(object: &ObjectDiff) -> ChangedObject {
    let (change, from, fields) = match &object.change {
        ObjectChange::Added => (Change::Added, "", &[][..]),
        ObjectChange::Removed => (Change::Removed, "", &[][..]),
        ObjectChange::Changed(fields) => (Change::Changed, "", fields.as_slice()),
        ObjectChange::Moved { from, fields } => (Change::Moved, from.as_str(), fields.as_slice()),
    };
    ChangedObject {
        object: object.object.clone(),
        change,
        from: cut(from),
        place: cut_of(object.origin.as_deref()),
        fields: fields.iter().take(FIELDS).map(bounded).collect(),
        fields_left_out: fields.len().saturating_sub(FIELDS),
    }
}

/// A field whose values are not too long.
fn bounded(field: &Field) -> Field {
    if length(field) <= VALUE {
        return field.clone();
    }
    let same = match (&field.old, &field.new) {
        (Some(old), Some(new)) => old.bytes().zip(new.bytes()).take_while(|(old, new)| old == new).count(),
        _ => 0,
    };
    let part = |text: &String| {
        let begin = text.floor_char_boundary(same.saturating_sub(BEFORE));
        let end = text.floor_char_boundary(begin + VALUE / 2);
        let before = if begin > 0 { "…" } else { "" };
        let after = if end < text.len() { "…" } else { "" };
        format!("{before}{}{after}", text.part(begin..end))
    };
    Field {
        path: cut(&field.path),
        old: field.old.as_ref().map(part),
        new: field.new.as_ref().map(part),
    }
}

fn length(field: &Field) -> usize {
    let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    length(&field.old) + length(&field.new)
}

fn finding(finding: &Finding) -> NewFinding {
    let names = finding
        .origins
        .iter()
        .filter_map(|origin| origin.kustomization.as_deref());
    let names = names.filter_map(|name| name.split_once('/'));
    let place = finding.place.as_ref();
    NewFinding {
        rule: finding.rule.to_string(),
        severity: match finding.severity {
            Severity::Note => FindingSeverity::Note,
            Severity::Warning => FindingSeverity::Warning,
            Severity::Error => FindingSeverity::Error,
        },
        place: place.map_or_else(String::new, |place| {
            format!("{}:{}:{}", cut(&place.path), place.line, place.column)
        }),
        object: cut_of(finding.object.as_deref()),
        message: cut(&finding.message),
        help: cut_of(finding.help.as_deref()),
        kustomizations: names
            .take(FEW)
            .map(|(namespace, name)| ObjectName::new(namespace, name))
            .collect(),
    }
}

fn weigh(finding: &NewFinding) -> usize {
    let texts = [&finding.place, &finding.object, &finding.message, &finding.help];
    2 * OVERHEAD + texts.into_iter().map(String::len).sum::<usize>()
}

fn weigh_news(news: &request::News) -> usize {
    let links = news.links.iter().map(|(words, url)| words.len() + url.len());
    let texts = links.chain(news.lines.iter().map(String::len)).sum::<usize>();
    texts + news.title.len() + OVERHEAD * (1 + news.names.len())
}

fn workload(workload: &ChangedWorkload) -> Workload {
    let namespace = workload.kustomization.namespace.as_str();
    let images = workload.images.iter().take(FEW);
    Workload {
        namespace: Some(namespace).filter(|name| !name.is_empty()).map(str::to_owned),
        object: cut(&workload.object.to_string()),
        effect: effect(workload),
        restarts: workload.restarts,
        images: images.map(|image| (cut(&image.old), cut(&image.new))).collect(),
    }
}

fn notes(review: &Review) -> Vec<String> {
    let impact = &review.impact;
    let unknown = match impact.unknown {
        0 => None,
        1 => Some("1 Kustomization or release could not be built: what changes there is not known".to_owned()),
        n => Some(format!(
            "{n} Kustomizations or releases could not be built: what changes there is not known"
        )),
    };
    let more = [
        (impact.notes.len().saturating_sub(NOTES), "notes"),
        (impact.workloads.len().saturating_sub(WORKLOADS), "workloads"),
        (
            (review.charts.len() + review.releases.releases.len()).saturating_sub(NEWS),
            "charts and images",
        ),
    ];
    let more = more.into_iter().filter(|(count, _)| *count > 0);
    let more = more.map(|(count, what)| format!("{count} {what} more are not kept"));
    let notes = impact.notes.iter().take(NOTES).map(|note| cut(note));
    unknown.into_iter().chain(notes).chain(more).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;
    use crate::diff::FleetDiff;
    use bumpwright_diff::Named;
    use bumpwright_diff::SecretMask;
    use bumpwright_findings::{Report, Rule};
    use bumpwright_update::{AskedReleases, Impact};

    fn object(name: usize, values: usize) -> ObjectDiff {
        let field = |values: usize| Field {
            path: "data.a".to_owned(),
            old: Some(format!("\"{}1\"", "x".repeat(values))),
            new: Some(format!("\"{}2\"", "x".repeat(values))),
        };
        ObjectDiff {
            object: Named {
                group: String::new(),
                kind: "ConfigMap".to_owned(),
                namespace: "apps".to_owned(),
                name: name.to_string(),
            },
            change: ObjectChange::Changed(vec![field(values)]),
            origin: None,
        }
    }

    fn review(objects: Vec<ObjectDiff>, findings: usize) -> Review {
        let owner = KustomizationDiff {
            kind: "Kustomization",
            name: "flux-system/apps".to_owned(),
            presence: Presence::Both,
            problems: [None, None],
            objects,
            notes: Vec::new(),
        };
        let finding = |n: usize| {
            let one = Finding::new(Rule::MissingSecret, format!("number {n}")).kustomization("flux-system/apps");
            if n + 1 == findings {
                one.severity(Severity::Error)
            } else {
                one
            }
        };
        Review {
            clusters: vec![FleetDiff {
                entry: String::new(),
                kustomizations: vec![owner],
                unknown: 0,
            }],
            impact: Impact::default(),
            charts: Vec::new(),
            releases: AskedReleases::default(),
            report: Report::new((0..findings).map(finding).collect(), [], "1"),
            gone: 0,
            mask: SecretMask::default(),
        }
    }

    #[test]
    fn what_is_not_kept_is_counted_and_the_worst_is_kept() {
        let (page, bytes) = page(&review((0..1000).map(|n| object(n, 2000)).collect(), FINDINGS + 5));
        let kept = page.owners[0].objects.len();
        assert!((200..300).contains(&kept), "{kept}");
        assert_eq!(page.left_out, 1000 - kept + 5);
        assert!(page.has_errors && page.findings[0].severity == FindingSeverity::Error);
        assert_eq!(page.findings.len(), FINDINGS);
        assert!(bytes > 1 << 20 && bytes < 2 << 20, "{bytes}");
        assert!(page.namespaces.contains("flux-system"));
    }

    #[test]
    fn of_long_values_the_difference_is_kept() {
        let (page, _) = page(&review(vec![object(1, 200_000)], 0));
        let field = &page.owners[0].objects[0].fields[0];
        let (old, new) = (field.old.as_deref().unwrap(), field.new.as_deref().unwrap());
        assert!(
            old.len() <= VALUE && old.starts_with("…xx") && old.ends_with("x1\""),
            "{old}"
        );
        assert!(new.ends_with("x2\""), "{new}");
        assert!(!page.has_errors);
    }
}
