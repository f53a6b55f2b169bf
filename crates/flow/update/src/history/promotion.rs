//! Promotion: only images are written that another part of the same repository has had for a while, by what the history
//! of the branch says (docs/guides/stages.md).

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::paths::{Differing, Paths, moved};
use super::story::{Field, Told, fields_of, told};
use super::taken_back::{compare, together};
use crate::error::RunError;
use crate::find::facts::Marked;
use crate::find::index::Index;
use crate::find::ruled::{Reading, rules_of_tree};
use crate::find::survey::{survey, survey_file};
use crate::job::edits::Edits;
use crate::plan::planned::{self, Plan, skip};
use crate::policy::policies::Policies;
use bumpwright_edit::{Change, FileKind, Formats, Part, Reason, Site, is_same_image, tag_and_digest};
use bumpwright_git::{EntryKind, GitError, History, ObjectId, Objects, Visited};
use bumpwright_gostd::Time;
use bumpwright_policy::{LatestRef, PolicyName};
use bumpwright_rules::Rules;

/// How many commits are looked at for a change, at most. More of them in the time that images have to have been
/// there are not proven.
pub(crate) const COMMITS: u32 = 10_000;

/// A commit may be older than the push that brought it. It was pushed after those below it were made, so so many of
/// them are looked at.
const BELOW: u32 = 20;

/// The most values that a message names.
const NAMED: usize = 3;

/// The branch that images are promoted on.
pub(crate) struct Branch<'a> {
    pub(crate) objects: &'a Objects,
    pub(crate) history: History<'a>,
    /// The root tree of its tip.
    pub(crate) tree: ObjectId,
    pub(crate) index: &'a Index,
    /// Rules beside those of the repository.
    pub(crate) rules: Option<&'a Rules>,
    /// The time of the run.
    pub(crate) now: &'a Time,
}

/// What is known about the image of a policy.
#[derive(Debug, Default)]
pub struct Proven {
    /// The newest image that may be written.
    pub image: Option<LatestRef>,
    /// The tags that the path has: `clusters/staging has 1.2.3 since …`.
    pub has: String,
    /// Why the policy's own choice may not be written yet.
    pub(crate) message: String,
    /// When another image may be written, if nothing changes until then.
    pub(crate) due: Option<Time>,
}

/// A marked file below the path that images are promoted from.
struct Proof {
    path: Vec<u8>,
    kind: FileKind,
    rules: Option<Rules>,
    fields: Vec<Kept>,
}

/// A field, and how long it has had its value.
struct Kept {
    field: Field,
    value: String,
    since: Option<Since>,
}

/// The commit on the branch by which a field got its value.
#[derive(Clone, Debug)]
struct Since {
    seconds: i64,
    /// How many commits are newer.
    place: u32,
    by: Told,
}

/// A tag that is in use.
#[derive(Clone, Debug)]
struct InUse {
    tag: String,
    digest: Option<String>,
    since: Since,
}

/// The policies that change something and whose images are promoted.
pub(crate) fn promoted(policies: &Policies, plan: &Plan) -> BTreeSet<PolicyName> {
    let names = plan.changes.iter().map(|change| &change.policy);
    names
        .filter(|name| policies.promotion(name).is_some())
        .cloned()
        .collect()
}

/// Plans the edits again with the images that are proven. What they do not change is a skip, and so is a step back.
pub(crate) fn apply<Place>(
    proven: &BTreeMap<PolicyName, Proven>,
    (marked, edits): (&[Marked<Place>], &Edits),
    policies: &Policies,
    now: &Time,
    plan: &mut Plan,
) -> Result<Arc<Policies>, RunError> {
    let images = proven
        .iter()
        .filter_map(|(name, proven)| Some((name.clone(), proven.image.clone()?)));
    let policies = Arc::new(policies.with_images(images));
    let before = std::mem::replace(plan, planned::plan(marked, edits, &policies, now)?);
    let due = proven.values().filter_map(|proven| proven.due.clone());
    plan.due = plan.due.take().into_iter().chain(due).min_by(Time::order);
    let is_back = |change: &Change| {
        let order = policies.order(&change.policy);
        compare(&change.new, &change.old, change.setter.part, order.as_ref()) == Some(Ordering::Less)
    };
    plan.take_out(Reason::NotProven, |_, changes| {
        let judged = changes.iter().map(|change| {
            let proven = proven.get(&change.policy)?;
            (proven.image.is_none() || is_back(change)).then(|| proven.message.clone())
        });
        together(changes, judged.collect())
    });
    let place = |path: &str, line: usize, column: usize| (path.to_owned(), line, column);
    let told: BTreeSet<_> = (plan
        .changes
        .iter()
        .map(|change| place(&change.path, change.line, change.column)))
    .chain(plan.skips.iter().map(|skip| place(&skip.path, skip.line, skip.column)))
    .collect();
    for change in before.changes {
        if let Some(proven) = proven.get(&change.policy)
            && !told.contains(&place(&change.path, change.line, change.column))
        {
            plan.skips.push(skip(change, Reason::NotProven, proven.message.clone()));
        }
    }
    plan.skips.sort();
    Ok(policies)
}

/// Finds out which images of these policies may be written.
///
/// # Errors
/// The history cannot be read, or not be fetched.
pub(crate) fn prove(
    mut branch: Branch<'_>,
    policies: &Policies,
    names: &BTreeSet<PolicyName>,
) -> Result<BTreeMap<PolicyName, Proven>, GitError> {
    let promotions = || names.iter().filter_map(|name| Some((name, policies.promotion(name)?)));
    let mut below: BTreeMap<&str, Vec<Proof>> = BTreeMap::new();
    for (_, promotion) in promotions() {
        if !below.contains_key(promotion.path.as_str()) {
            below.insert(&promotion.path, proofs(&branch, promotion.path.as_bytes(), policies)?);
        }
    }
    let now = branch.now.unix_seconds();
    let soaks = promotions().map(|(_, promotion)| promotion.soak.0 / NANOSECONDS);
    let Some(longest) = soaks.max() else {
        return Ok(BTreeMap::new());
    };
    let mut all: Vec<&mut Proof> = below.values_mut().flatten().collect();
    date(&mut branch, &mut all, now - longest)?;
    let mut proven = BTreeMap::new();
    for (name, promotion) in promotions() {
        let Some(chosen) = policies.image(name) else { continue };
        let proofs = below.get(promotion.path.as_str()).map_or(&[][..], Vec::as_slice);
        let used = in_use(proofs, name, chosen, policies);
        let soaked = promotion.soak.0 / NANOSECONDS;
        let verdict = Verdict { policies, name, chosen };
        let (ripe, unripe): (Vec<&InUse>, Vec<&InUse>) =
            used.iter().partition(|used| now - used.since.seconds >= soaked);
        let image = verdict.newest(&ripe);
        let changes = |used: &&&InUse| verdict.newest(&[ripe.as_slice(), &[**used]].concat()) != image;
        let due = unripe
            .iter()
            .filter(changes)
            .map(|used| used.since.seconds.saturating_add(soaked))
            .min();
        let has = verdict.has(&promotion.path, &used, now - soaked);
        let message = format!("ImagePolicy {name}: {} is not proven: {has}", chosen.tag);
        let due = due.map(|due| Time::unix(due, 0));
        proven.insert(
            name.clone(),
            Proven {
                image,
                has,
                message,
                due,
            },
        );
    }
    Ok(proven)
}

const NANOSECONDS: i64 = 1_000_000_000;

/// The marked files below a path, of all formats.
fn proofs(branch: &Branch<'_>, path: &[u8], policies: &Policies) -> Result<Vec<Proof>, GitError> {
    let Some(found) = branch.objects.find(branch.tree, path)? else {
        return Ok(Vec::new());
    };
    let is_tree = found.kind == EntryKind::Tree;
    let mut surveyed = if is_tree {
        survey(branch.objects, branch.index, (found.id, Formats::all()), path)?
    } else if found.kind.is_file() {
        survey_file(branch.objects, branch.index, (found.id, Formats::all()), path)?
    } else {
        return Ok(Vec::new());
    };
    let set = rules_of_tree(branch.objects, branch.tree, branch.rules)?;
    surveyed.add_ruled(branch.objects, branch.index, ((found.id, path), is_tree), set)?;
    let is_meant = |site: &&Site| {
        let image = policies.image(&site.setter.policy);
        let wanted = site.rule.as_ref().and_then(|rule| rule.image.as_ref());
        wanted.is_none_or(|wanted| image.is_some_and(|image| is_same_image(wanted, &image.name)))
    };
    let proof = |file: &Marked| {
        let sites = file.facts.scan.as_ref()?.sites.as_slice();
        let kept = |site: &Site| Kept {
            field: Field::at(site, sites),
            value: site.value.clone(),
            since: None,
        };
        Some(Proof {
            path: file.path.clone(),
            kind: file.kind,
            rules: file.rules.clone(),
            fields: sites.iter().filter(is_meant).map(kept).collect(),
        })
    };
    Ok(surveyed.files.iter().filter_map(proof).collect())
}

/// Finds out since when the fields have had their values, as far back as `cutoff`.
fn date(branch: &mut Branch<'_>, proofs: &mut [&mut Proof], cutoff: i64) -> Result<(), GitError> {
    let mut paths = Paths::default();
    for (n, proof) in proofs.iter().enumerate() {
        paths.add(&proof.path, n);
    }
    let (mut quiet, mut last) = (0, None);
    while quiet <= BELOW
        && let Some(visited) = branch.history.step()?
    {
        let seconds = visited.commit.seconds;
        quiet = if seconds <= cutoff { quiet + 1 } else { 0 };
        for proof in proofs.iter_mut() {
            proof.is_above(&visited);
        }
        if let [parent] = visited.parents.as_slice() {
            changed(branch, &visited, *parent, &mut paths, proofs)?;
        }
        last = Some(Since {
            seconds,
            place: visited.place,
            by: told(visited.id, &visited.commit),
        });
        if proofs.iter().all(|proof| proof.is_dated(visited.place)) {
            break;
        }
    }
    // What did not change was there at the last commit at least.
    for proof in proofs {
        for kept in proof.fields.iter_mut().filter(|kept| kept.since.is_none()) {
            kept.since.clone_from(&last);
        }
    }
    Ok(())
}

/// Notes the fields that a commit of the branch changed.
fn changed(
    branch: &mut Branch<'_>,
    visited: &Visited,
    parent: ObjectId,
    paths: &mut Paths,
    proofs: &mut [&mut Proof],
) -> Result<(), GitError> {
    let trees = (branch.objects.commit(parent)?.tree, visited.commit.tree);
    let mut new: BTreeMap<ObjectId, Vec<usize>> = BTreeMap::new();
    for Differing { file, before, after } in paths.differing(branch.objects, trees, branch.history.walk())? {
        let (Some(proof), Some(after)) = (proofs.get_mut(file), after) else {
            continue;
        };
        match before {
            Some(before) => {
                let path = String::from_utf8_lossy(&proof.path);
                let reading = Reading {
                    path: &path,
                    kind: proof.kind,
                    rules: proof.rules.as_ref(),
                };
                let old = fields_of(branch.objects, before, reading, branch.history.walk())?;
                proof.since(visited, |field| field.value(&old));
            }
            None => new.entry(after).or_default().push(file),
        }
    }
    let contents: BTreeSet<ObjectId> = new.keys().copied().collect();
    let moved = if contents.is_empty() {
        BTreeMap::new()
    } else {
        moved(branch.objects, trees, &contents, branch.history.walk())?
    };
    for (content, files) in new {
        for file in files {
            match (moved.get(&content), proofs.get_mut(file)) {
                (Some(path), _) => paths.add(path, file),
                (None, Some(proof)) => proof.since(visited, |_| None),
                (None, None) => {}
            }
        }
    }
    Ok(())
}

impl Proof {
    /// A commit of the branch gave fields their values, unless they had them before.
    fn since<'a>(&mut self, visited: &Visited, before: impl Fn(&Field) -> Option<&'a str>) {
        for kept in self.fields.iter_mut().filter(|kept| kept.since.is_none()) {
            if before(&kept.field) != Some(kept.value.as_str()) {
                kept.since = Some(Since {
                    seconds: visited.commit.seconds,
                    place: visited.place,
                    by: told(visited.id, &visited.commit),
                });
            }
        }
    }

    /// The commits that changed its fields were pushed after this one was made, which is below them.
    fn is_above(&mut self, visited: &Visited) {
        for since in self.fields.iter_mut().filter_map(|kept| kept.since.as_mut()) {
            if visited.place <= since.place.saturating_add(BELOW) {
                since.seconds = since.seconds.max(visited.commit.seconds);
            }
        }
    }

    /// Whether no commit at this place or below it says more about the fields.
    fn is_dated(&self, place: u32) -> bool {
        let is_dated = |since: &Since| place > since.place.saturating_add(BELOW);
        self.fields.iter().all(|kept| kept.since.as_ref().is_some_and(is_dated))
    }

    /// The field of another part of the same image.
    fn beside(&self, field: &Field, part: Part) -> Option<&Kept> {
        let is_it = |kept: &&Kept| {
            let other = &kept.field;
            let is_same = other.setter.policy == field.setter.policy && other.object == field.object;
            is_same && other.setter.part == part
        };
        self.fields.iter().find(is_it)
    }
}

/// The tags of an image that fields have, but those of the policy itself, which prove nothing.
fn in_use(proofs: &[Proof], own: &PolicyName, image: &LatestRef, policies: &Policies) -> Vec<InUse> {
    let mut used: Vec<InUse> = Vec::new();
    for proof in proofs {
        for kept in proof.fields.iter().filter(|kept| kept.field.setter.policy != *own) {
            used.extend(one_in_use(proof, kept, image, policies));
        }
    }
    // The longest of each.
    used.sort_by(|one, other| {
        (&one.tag, &one.digest, one.since.seconds).cmp(&(&other.tag, &other.digest, other.since.seconds))
    });
    used.dedup_by(|later, first| later.tag == first.tag && later.digest == first.digest);
    used
}

fn one_in_use(proof: &Proof, kept: &Kept, image: &LatestRef, policies: &Policies) -> Option<InUse> {
    let setter = &kept.field.setter;
    let since = kept.since.clone()?;
    match setter.part {
        Part::Reference => {
            let (name, tag, digest) = LatestRef::split(&kept.value);
            is_same_image(name, &image.name).then_some(())?;
            Some(InUse {
                tag: tag?.to_owned(),
                digest: digest.map(str::to_owned),
                since,
            })
        }
        Part::Tag | Part::TagDigest => {
            let beside = proof.beside(&kept.field, Part::Name).map(|name| name.value.as_str());
            let name = beside.or_else(|| Some(policies.image(&setter.policy)?.name.as_str()))?;
            is_same_image(name, &image.name).then_some(())?;
            let digest = proof.beside(&kept.field, Part::Digest);
            let later = digest.and_then(|digest| digest.since.clone());
            let (tag, behind) = tag_and_digest(&kept.value);
            let beside = digest.map(|digest| digest.value.as_str());
            Some(InUse {
                tag: tag.to_owned(),
                digest: behind.or(beside).map(str::to_owned),
                since: later.filter(|later| later.seconds > since.seconds).unwrap_or(since),
            })
        }
        Part::Name | Part::Digest => None,
    }
}

/// The judgement of one policy.
struct Verdict<'a> {
    policies: &'a Policies,
    name: &'a PolicyName,
    chosen: &'a LatestRef,
}

impl Verdict<'_> {
    /// The newest image among those in use that is not newer than the policy's choice, and that its rule allows.
    fn newest(&self, used: &[&InUse]) -> Option<LatestRef> {
        let of = |tag: &str| {
            used.iter()
                .filter(|used| used.tag == tag)
                .find_map(|used| self.image(used))
        };
        if let Some(chosen) = of(&self.chosen.tag) {
            return Some(chosen);
        }
        let rule = self.policies.rule(self.name)?;
        let is_older = |tag: &str| rule.compare(tag, &self.chosen.tag).is_some_and(Ordering::is_lt);
        let usable = used
            .iter()
            .filter(|used| is_older(&used.tag) && self.image(used).is_some());
        let tags: Vec<String> = usable.map(|used| used.tag.clone()).collect();
        of(rule.latest(&tags).ok()?)
    }

    /// The image to write; none where the policy has a digest that is not known.
    fn image(&self, used: &InUse) -> Option<LatestRef> {
        let digest = match (&self.chosen.digest, &used.digest) {
            (None, _) => None,
            (Some(_), Some(used)) => Some(used.clone()),
            (Some(chosen), None) => Some(chosen.clone()).filter(|_| used.tag == self.chosen.tag),
        };
        (digest.is_some() == self.chosen.digest.is_some()).then(|| LatestRef {
            name: self.chosen.name.clone(),
            tag: used.tag.clone(),
            digest,
        })
    }

    /// The tags that a path has, the chosen one first; they have to be there since `wanted`.
    fn has(&self, path: &str, used: &[InUse], wanted: i64) -> String {
        let mut told: Vec<&InUse> = used.iter().collect();
        told.sort_by_key(|used| (used.tag != self.chosen.tag, -used.since.seconds));
        let has = |used: &&InUse| {
            let at = Time::unix(used.since.seconds, 0).written(bumpwright_gostd::RFC_3339);
            let left = bumpwright_gostd::Duration((used.since.seconds - wanted).max(0).saturating_mul(NANOSECONDS));
            let (tag, by) = (&used.tag, &used.since.by);
            match left.0 {
                0 => format!("{tag} since {at} ({by})"),
                _ => format!("{tag} since {at} ({by}), {left} too short"),
            }
        };
        let list: Vec<String> = told.iter().take(NAMED).map(has).collect();
        if list.is_empty() {
            format!("no marked field of another policy below {path} has a tag of this image")
        } else {
            format!("{path} has {}", list.join("; "))
        }
    }
}
