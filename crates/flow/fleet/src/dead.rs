//! Dead markers: fields of a commit that alter no object in these clusters.

use std::collections::BTreeSet;
use std::time::Instant;

use super::impact::Pair;
use super::memo::Memo;
use super::rebuild::rebuild;
use super::verify::{Attempt, memo_name};
use super::view::Node;
use bumpwright_diff::json_fields;
use bumpwright_edit::Change;
use bumpwright_update::DeadMarker;

/// The most builds of a Kustomization with one field alone.
const BUILDS: usize = 500;

/// What was found.
pub(super) struct Dead {
    pub(super) markers: Vec<DeadMarker>,
    /// Fields that were not looked at.
    pub(super) note: Option<String>,
}

/// A Kustomization that reads some of the changed files.
struct Reader<'p> {
    pair: &'p Pair<'p>,
    /// The fields in files that it reads, by their index.
    fields: Vec<usize>,
    /// The new values in its objects that differ; none if they are the same before and after.
    news: Option<Vec<String>>,
}

/// A field is dead if no Kustomization reads its file, or those that do give the same objects when only this field changes.
pub(super) fn markers(attempt: &Attempt<'_>, pairs: &[Pair<'_>], memo: &Memo) -> Dead {
    let changes = attempt.proposal.changes;
    let mut alive = BTreeSet::new();
    let mut readers = Vec::new();
    for pair in pairs {
        let reads = |change: &Change| is_read(pair, memo, &attempt.path(&change.path));
        let fields: Vec<usize> = (0..changes.len())
            .filter(|n| changes.get(*n).is_some_and(reads))
            .collect();
        if fields.is_empty() {
            continue;
        }
        match is_built(pair.before) && is_built(pair.after) {
            true => readers.push(Reader {
                pair,
                fields,
                news: news(pair),
            }),
            // What it would have is not known.
            false => alive.extend(fields),
        }
    }
    for reader in &readers {
        alive.extend(reader.fields.iter().filter(|n| reader.shows(changes, **n)));
    }
    let half = attempt.end.saturating_duration_since(Instant::now()) / 2;
    let end = Instant::now() + half;
    let (mut left, mut open) = (BUILDS, 0);
    for n in 0..changes.len() {
        for reader in readers.iter().filter(|reader| reader.is_open(n)) {
            if alive.contains(&n) {
                break;
            }
            if left == 0 || Instant::now() >= end {
                open += 1;
                alive.insert(n);
                break;
            }
            left -= 1;
            if reader.changes_with(attempt, n) {
                alive.insert(n);
            }
        }
    }
    let dead = changes.iter().enumerate().filter(|(n, _)| !alive.contains(n));
    Dead {
        markers: dead.map(|(_, change)| marker(change)).collect(),
        note: (open > 0).then(|| format!("not looked at for dead markers, for lack of time: {open} of the fields")),
    }
}

fn marker(change: &Change) -> DeadMarker {
    DeadMarker {
        path: change.path.clone(),
        line: change.line,
        column: change.column,
        setter: change.setter.to_string(),
    }
}

fn is_built(node: Option<&Node>) -> bool {
    node.is_some_and(|node| node.product.is_ok())
}

fn is_read(pair: &Pair<'_>, memo: &Memo, path: &str) -> bool {
    let reads = |node: &Node| match &node.product {
        Ok(product) => product.reads.contains(path),
        Err(_) => memo.looks_at(&memo_name(pair), &[path.to_owned()]),
    };
    [pair.before, pair.after].into_iter().flatten().any(reads)
}

/// The new values of the fields that differ; none if nothing does.
fn news(pair: &Pair<'_>) -> Option<Vec<String>> {
    let differences = pair.differences();
    if differences.is_empty() {
        return None;
    }
    let both = differences.iter().filter_map(|one| Some((one.before?, one.after?)));
    let fields = both.flat_map(|(before, after)| json_fields(&before.value, &after.value, false));
    Some(fields.filter_map(|field| field.new).collect())
}

impl Reader<'_> {
    /// Whether a field is seen to change an object: it is the only one, or only it has the value that is seen.
    fn shows(&self, changes: &[Change], n: usize) -> bool {
        let (Some(news), Some(change)) = (&self.news, changes.get(n)) else {
            return false;
        };
        if self.fields.len() == 1 {
            return true;
        }
        let value = change.new.as_str();
        let others = self.fields.iter().filter(|other| **other != n);
        let mut others = others.filter_map(|other| changes.get(*other));
        let is_alike = |other: &Change| other.new.contains(value) || value.contains(other.new.as_str());
        !others.any(is_alike) && news.iter().any(|new| new.contains(value))
    }

    /// Whether this Kustomization may change by a field, which a build has to tell.
    fn is_open(&self, n: usize) -> bool {
        self.news.is_some() && self.fields.contains(&n)
    }

    /// Whether the objects change with this field alone.
    fn changes_with(&self, attempt: &Attempt<'_>, n: usize) -> bool {
        let Some(node) = self.pair.before else { return true };
        let (Some(files), Ok(before)) = (attempt.with_fields(&[n]), &node.product) else {
            return true;
        };
        let fleet = self.pair.fleets.0;
        match rebuild(fleet, node, &files, attempt.outside(), &attempt.settings) {
            Ok(after) => {
                let values = |objects: &[super::view::FleetObject]| {
                    objects.iter().map(|object| object.value.clone()).collect::<Vec<_>>()
                };
                values(&before.objects) != values(&after.objects)
            }
            Err(_) => true,
        }
    }
}
