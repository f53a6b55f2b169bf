//! Dead markers: fields of a commit that alter no object in these clusters.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use super::attempt::{Attempt, memo_name};
use super::behind::{Behind, Names};
use super::impact::{Difference, Pair, compared};
use crate::build::memo::Memo;
use crate::build::rebuild::rebuild;
use crate::build::view::Node;
use bumpwright_api::ObjectName;
use bumpwright_diff::json_fields;
use bumpwright_edit::Change;
use bumpwright_update::DeadMarker;

/// The most builds of a Kustomization with one field alone.
const BUILDS: usize = 500;

pub(crate) struct Dead {
    pub(crate) markers: Vec<DeadMarker>,
    /// Fields that were not searched.
    pub(crate) note: Option<String>,
}

/// A Kustomization or a release with some of the changed fields.
struct Reader<'p> {
    pair: &'p Pair<'p>,
    /// The fields in files that it reads, by their index.
    fields: Vec<usize>,
    /// Whether its objects differ before and after.
    differs: bool,
    /// The new values in those of its objects that differ, but for values of releases that are rendered; none
    /// without such an object.
    news: Option<Vec<String>>,
}

/// What a field changes in the objects of a Kustomization.
enum Effect<'p> {
    Something,
    /// Nothing but values of these releases, if of any.
    Values(Names<'p>),
}

/// The bounds of the builds with one field alone.
struct Bounds {
    left: usize,
    end: Instant,
}

impl Bounds {
    /// Whether there may be one more build.
    fn take(&mut self) -> bool {
        let may = self.left > 0 && Instant::now() < self.end;
        self.left = self.left.saturating_sub(1);
        may
    }
}

/// A field is dead if no Kustomization and no chart reads its file, or those that do give the same objects when
/// only this field changes.
pub(crate) fn markers(attempt: &Attempt<'_>, pairs: &[Pair<'_>], memo: &Memo) -> Dead {
    let changes = attempt.proposal.changes;
    let behind = Behind::of(pairs);
    let (readers, mut alive) = readers(attempt, pairs, memo, &behind);
    let rendered = rendered(attempt, &readers, &behind);
    for reader in readers.iter().chain(&rendered) {
        alive.extend(reader.fields.iter().filter(|n| reader.shows(changes, **n)));
    }
    let half = attempt.end.saturating_duration_since(Instant::now()) / 2;
    let mut bounds = Bounds {
        left: BUILDS,
        end: Instant::now() + half,
    };
    let mut open = 0;
    for n in 0..changes.len() {
        if alive.contains(&n) {
            continue;
        }
        match is_alive(attempt, &readers, &behind, n, &mut bounds) {
            Some(false) => {}
            Some(true) => drop(alive.insert(n)),
            None => {
                open += 1;
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

/// The Kustomizations that read changed files, and the fields about which nothing is known.
fn readers<'p>(
    attempt: &Attempt<'_>,
    pairs: &'p [Pair<'p>],
    memo: &Memo,
    behind: &Behind<'p>,
) -> (Vec<Reader<'p>>, BTreeSet<usize>) {
    let changes = attempt.proposal.changes;
    let mut readers = Vec::new();
    let is_unknown = |n: &usize| {
        let change = changes.get(*n);
        change.is_some_and(|change| behind.is_unknown(&attempt.path(&change.path)))
    };
    let mut alive: BTreeSet<usize> = (0..changes.len()).filter(is_unknown).collect();
    for pair in pairs.iter().filter(|pair| pair.release.is_none()) {
        let reads = |change: &Change| is_read(pair, memo, &attempt.path(&change.path));
        let fields: Vec<usize> = (0..changes.len())
            .filter(|n| changes.get(*n).is_some_and(reads))
            .collect();
        if fields.is_empty() {
            continue;
        }
        if is_built(pair.before) && is_built(pair.after) {
            let mut differences = pair.differences();
            let differs = !differences.is_empty();
            let entry = pair.fleets.1.entry.as_str();
            differences.retain(|one| behind.releases(entry, one).is_none());
            readers.push(Reader {
                pair,
                fields,
                differs,
                news: news(&differences),
            });
        } else {
            // What it would have is not known.
            alive.extend(fields)
        }
    }
    (readers, alive)
}

/// The releases whose objects differ, with the fields whose values are new in those of the release or of its chart.
fn rendered<'p>(attempt: &Attempt<'_>, readers: &[Reader<'p>], behind: &Behind<'p>) -> Vec<Reader<'p>> {
    let changes = attempt.proposal.changes;
    let mut found: BTreeMap<(&str, &ObjectName), BTreeSet<usize>> = BTreeMap::new();
    for reader in readers.iter().filter(|reader| reader.differs && !behind.is_empty()) {
        let entry = reader.pair.fleets.1.entry.as_str();
        for difference in reader.pair.differences() {
            let Some(names) = behind.releases(entry, &difference) else {
                continue;
            };
            let news = new_values(&[difference]);
            let is_new = |n: &&usize| {
                let value = changes.get(**n).map(|change| change.new.as_str());
                value.is_some_and(|value| news.iter().any(|new| new.contains(value)))
            };
            let fields: Vec<usize> = reader.fields.iter().filter(is_new).copied().collect();
            for name in names {
                found.entry(name).or_default().extend(&fields);
            }
        }
    }
    for (n, change) in changes.iter().enumerate() {
        for name in behind.with_file(&attempt.path(&change.path)) {
            found.entry(name).or_default().insert(n);
        }
    }
    let reader = |(name, fields): ((&str, &ObjectName), BTreeSet<usize>)| {
        let pair = behind.pair(name)?;
        let differences = pair.differences();
        Some(Reader {
            pair,
            fields: fields.into_iter().collect(),
            differs: !differences.is_empty(),
            news: news(&differences),
        })
    };
    found.into_iter().filter_map(reader).collect()
}

/// Whether a field changes something when it is the only one; none for lack of time.
fn is_alive<'p>(
    attempt: &Attempt<'_>,
    readers: &[Reader<'p>],
    behind: &Behind<'p>,
    n: usize,
    bounds: &mut Bounds,
) -> Option<bool> {
    let change = attempt.proposal.changes.get(n)?;
    let mut releases = behind.with_file(&attempt.path(&change.path));
    for reader in readers.iter().filter(|reader| reader.is_open(n)) {
        if !bounds.take() {
            return None;
        }
        match reader.effect(attempt, behind, n) {
            Effect::Something => return Some(true),
            Effect::Values(names) => releases.extend(names),
        }
    }
    if releases.is_empty() {
        Some(false)
    } else if !bounds.take() {
        None
    } else {
        Some(behind.change_with(attempt, &releases, n))
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
fn news(differences: &[Difference<'_>]) -> Option<Vec<String>> {
    (!differences.is_empty()).then(|| new_values(differences))
}

fn new_values(differences: &[Difference<'_>]) -> Vec<String> {
    let both = differences.iter().filter_map(|one| Some((one.before?, one.after?)));
    let fields = both.flat_map(|(before, after)| json_fields(&before.value, &after.value, false));
    fields.filter_map(|field| field.new).collect()
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
        self.differs && self.fields.contains(&n)
    }
}

impl<'p> Reader<'p> {
    /// What this field alone changes in the objects.
    fn effect(&self, attempt: &Attempt<'_>, behind: &Behind<'p>, n: usize) -> Effect<'p> {
        let Some(node) = self.pair.before else {
            return Effect::Something;
        };
        let (Some(files), Ok(before)) = (attempt.with_fields(&[n]), &node.product) else {
            return Effect::Something;
        };
        let fleet = self.pair.fleets.0;
        let Ok(after) = rebuild(fleet, node, &files, attempt.outside(), &attempt.settings) else {
            return Effect::Something;
        };
        let entry = self.pair.fleets.1.entry.as_str();
        let mut names = Names::new();
        for difference in compared(Some(before), Some(&after)) {
            match behind.releases(entry, &difference) {
                Some(more) => names.extend(more),
                None => return Effect::Something,
            }
        }
        Effect::Values(names)
    }
}
