//! A change as what it does to clusters: the objects that differ, the workloads that restart, and the findings that
//! are new with it.

mod charts;
mod cluster;
mod diffs;
mod escapes;
mod gerrit;
mod identifiers;
mod images;
mod json;
mod markdown;
mod news;
mod page;
mod unread;
mod words;

use std::collections::BTreeSet;
use std::sync::Arc;

use super::beside::two;
use super::build::view::Fleet;
use super::changes::Before;
use super::changes::uncompared::Trees;
use super::check::{CheckSettings, SchemaMemo, check_since, checked, late};
use super::diff::{Counts, FleetDiff, differences};
use super::source::repository::Repository;
use super::verify::impact::{impact_and_kept, pairs};
use bumpwright_diff::{SecretMask, secret_forms};
use bumpwright_findings::Report;
use bumpwright_pages::request;
use bumpwright_update::{AskedReleases, Impact};
pub use charts::{ChartChange, DefaultChange};
pub use cluster::{ClusterChange, review_cluster};
pub use diffs::diffs;
pub use gerrit::Vote;
pub use images::image_parts;

/// The clusters of a repository in one state.
#[derive(Clone, Copy)]
pub struct State<'r> {
    pub fleets: &'r [Fleet],
    pub repository: &'r dyn Repository,
}

/// What a change does to clusters.
#[derive(Clone, Debug)]
pub struct Review {
    /// What differs, by cluster.
    pub clusters: Vec<FleetDiff>,
    /// The workloads and other objects that change.
    pub impact: Impact,
    /// The charts that releases have in another version.
    pub charts: Vec<ChartChange>,
    /// What is known of the releases of new images ([`Review::image_steps`]); nothing unless somebody has asked.
    pub releases: AskedReleases,
    /// The findings that are new.
    pub report: Report,
    /// How many findings of before are not there any more.
    pub gone: usize,
    /// The values of Secrets in both states.
    mask: SecretMask,
}

/// Compares two states of the same clusters, which are in the same order, by this version of bumpwright. They are
/// checked at the same time if the settings have two threads; objects of a build that both share, against their schemas
/// once. If their deadline passes before that, it is the only finding.
#[must_use]
pub fn review(before: State<'_>, after: State<'_>, settings: &CheckSettings, version: &str) -> Review {
    let states = compared(before, after);
    let memo = SchemaMemo::default();
    let older = || {
        let found = check_since(&[], before.fleets, before.repository, settings, &memo);
        let differing = after.fleets.iter().zip(&states);
        let clusters = differing.map(|(new, old)| FleetDiff {
            unknown: old.uncompared.len(),
            ..differences(new, &old.owners)
        });
        let clusters: Vec<FleetDiff> = clusters.collect();
        let report = found.map(|found| Report::new(found, checked(before.fleets), version));
        (report, clusters)
    };
    let newer = || {
        let found = check_since(&states, after.fleets, after.repository, settings, &memo);
        found.map(|found| Report::new(found, checked(after.fleets), version))
    };
    let ((old, clusters), new) = two(settings.threads, older, newer);
    let (report, gone) = match (old, new) {
        (Some(old), Some(new)) => new.since(&old),
        _ => (Report::new(vec![late()], checked(after.fleets), version), 0),
    };
    // What is said of definitions that are kept is a finding.
    let mut impact = impact_and_kept(&pairs(before.fleets, after.fleets), &mut Vec::new());
    // What changes in those that could not be built is not known.
    impact.unknown = states.iter().map(|state| state.uncompared.len()).sum();
    let fleets = before.fleets.iter().chain(after.fleets);
    let secrets: BTreeSet<String> = fleets.flat_map(Fleet::hidden_texts).collect();
    let mut hidden = secret_forms(&secrets);
    let known = identifiers::among(&hidden, before);
    hidden.retain(|text| !known.contains(text));
    Review {
        clusters,
        impact,
        charts: charts::charts(states.iter().flat_map(|state| &state.owners)),
        releases: AskedReleases::default(),
        report,
        gone,
        mask: SecretMask::new(BTreeSet::new(), escapes::with_escapes(hidden)),
    }
}

/// The older state of each cluster, with what is different.
fn compared<'s>(before: State<'s>, after: State<'s>) -> Vec<Before<'s>> {
    let (old, new) = (before.repository.tree(), after.repository.tree());
    let trees = Trees { old: &*old, new: &*new };
    let clusters = before.fleets.iter().zip(after.fleets);
    let of = |(old, new)| Before::of((old, before.repository), new, trees);
    clusters.map(of).collect()
}

/// Two states with the same clusters in the same order: what only one of them has is empty in the other.
#[must_use]
pub fn aligned(old: Vec<Fleet>, mut new: Vec<Fleet>) -> (Vec<Fleet>, Vec<Fleet>) {
    let mut left = old;
    let mut before = Vec::with_capacity(new.len());
    for fleet in &new {
        let at = left.iter().position(|old| old.entry == fleet.entry);
        before.push(at.map_or_else(|| Fleet::new(&fleet.entry), |at| left.remove(at)));
    }
    for old in left {
        new.push(Fleet::new(&old.entry));
        before.push(old);
    }
    (before, new)
}

impl Review {
    /// A text of this review without values of Secrets, which charts and variables put into names and into other forms.
    #[must_use]
    pub fn hide(&self, text: &str) -> String {
        self.mask.hide(text)
    }

    /// The same of a JSON document, whose fields keep their names.
    #[must_use]
    pub fn hide_json(&self, document: &str) -> String {
        self.mask.hide_json(document)
    }

    /// Whether nothing differs, nothing is unknown and nothing is found.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let is_same = self.clusters.iter().all(FleetDiff::is_empty);
        is_same && self.impact.unknown == 0 && self.report.findings().is_empty()
    }

    /// What differs, for people: what the findings say of definitions is not repeated.
    #[must_use]
    pub fn differences(&self) -> Vec<FleetDiff> {
        self.clusters.iter().map(FleetDiff::without_notes).collect()
    }

    /// Whether there is anything to say of the impact.
    #[must_use]
    pub fn has_impact(&self) -> bool {
        let impact = &self.impact;
        !impact.kustomizations.is_empty() || !impact.notes.is_empty() || impact.unknown > 0
    }

    /// `1 added, 2 changed`, of objects, and `1 could not be compared`, of Kustomizations and releases.
    #[must_use]
    pub fn changes(&self) -> String {
        let counts: Counts = self.clusters.iter().map(FleetDiff::counts).sum();
        let is_same = self.clusters.iter().all(FleetDiff::is_empty);
        match (is_same, self.impact.unknown) {
            (true, 0) => "nothing changes".to_owned(),
            (true, unknown) => format!("{unknown} could not be compared"),
            (false, 0) => counts.to_string(),
            (false, unknown) if counts == Counts::default() => format!("{unknown} could not be compared"),
            (false, unknown) => format!("{counts}; {unknown} could not be compared"),
        }
    }

    /// The title of the review: `In the clusters: 2 changed`.
    #[must_use]
    pub fn headline(&self) -> String {
        let is_same = self.clusters.iter().all(FleetDiff::is_empty);
        match (is_same, self.impact.unknown) {
            (true, 0) => "Nothing changes in the clusters".to_owned(),
            (true, _) => format!("What changes in the clusters is not known: {}", self.changes()),
            (false, _) => format!("In the clusters: {}", self.changes()),
        }
    }

    /// `new with this change: 2 errors, 1 warning in 5 Kustomizations; 3 findings of before are gone`.
    #[must_use]
    pub fn summary(&self) -> String {
        let summary = format!("new with this change: {}", self.report.summary());
        match self.gone {
            0 => summary,
            _ => format!("{summary}; {}", self.gone_words()),
        }
    }

    /// `3 findings of before are gone`.
    #[must_use]
    pub fn gone_words(&self) -> String {
        match self.gone {
            1 => "1 finding of before is gone".to_owned(),
            gone => format!("{gone} findings of before are gone"),
        }
    }

    /// One document (docs/reference/review.schema.json), with a final line feed.
    #[must_use]
    pub fn json(&self) -> String {
        json::render(self)
    }

    /// For the page of a request, with the bytes that it takes: what is too much is left out and counted.
    #[must_use]
    pub fn page(&self) -> (Arc<request::Review>, u64) {
        page::page(self)
    }

    /// For a comment at a pull request: at most thirty lines that are seen at once, the rest folded, and no
    /// more than forges accept. Without values of Secrets.
    #[must_use]
    pub fn markdown(&self) -> String {
        self.hide(&markdown::render(self))
    }

    /// For a change at Gerrit: its *ReviewInput*, with comments at the lines of the files that the change has.
    #[must_use]
    pub fn gerrit(&self, vote: Option<Vote<'_>>, changed: &BTreeSet<String>) -> String {
        gerrit::render(self, vote, changed)
    }
}
