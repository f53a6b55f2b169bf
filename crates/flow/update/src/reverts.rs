//! A person's revert stays: where somebody has replaced a value that the automation wrote, neither that value nor an older one is
//! written again (docs/guides/reverts.md).

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::job::RespectReverts;
use super::paths::{Differing, Paths, moved};
use super::policies::Policies;
use super::preview::Preview;
use super::story::{Field, Held, Left, Stories, Story, Telling, Told, fields_of, told};
use super::survey::Marked;
use bumpwright_edit::{Change, FileKind, Part, Reason, Skip};
use bumpwright_git::{CommitInfo, GitError, History, ObjectId, Objects, Visited};
use bumpwright_policy::{ImagePolicy, LatestRef, PolicyName};

/// The most versions of files whose fields are kept at once; each is wanted for two commits in a row.
const VERSIONS: usize = 64;

/// The past of the files that a run edits.
pub(super) struct Past<'a> {
    pub(super) objects: &'a Objects,
    pub(super) history: History<'a>,
    /// The commit that the run builds on.
    pub(super) tip: ObjectId,
    /// The folder of the repository that paths are relative to: empty, or with a slash at its end.
    pub(super) prefix: &'a [u8],
    /// What earlier runs have found.
    pub(super) stories: Option<&'a Stories>,
}

/// A file with edits.
struct Edited {
    path: Vec<u8>,
    kind: FileKind,
    fields: Vec<Open>,
}

/// A field whose past is looked for.
struct Open {
    field: Field,
    story: Story,
    is_told: bool,
}

/// Takes the edits out of a preview that people have reverted, as skips.
///
/// # Errors
/// The history cannot be read, or not be fetched.
pub(super) fn respect<Place>(
    mut past: Past<'_>,
    asked: &RespectReverts,
    policies: &Policies,
    marked: &[Marked<Place>],
    preview: &mut Preview,
) -> Result<Option<String>, GitError> {
    let mut files = Vec::with_capacity(preview.files.len());
    let mut changes = preview.changes.as_slice();
    for (n, plan) in &preview.files {
        let (own, rest) = changes.split_at_checked(plan.ends.len()).unwrap_or_default();
        changes = rest;
        files.extend(marked.get(*n).map(|file| Edited::of(file, own, past.prefix)));
    }
    let mut walk = Walking {
        past: &mut past,
        asked,
        versions: HashMap::new(),
    };
    walk.tell(&mut files)?;
    take_out(preview, &files, policies);
    Ok(past.history.is_cut().then(|| SHALLOW.to_owned()))
}

/// For a history that is not all there.
const SHALLOW: &str =
    "the history is shallow, so reverts before its end are not known; fetch more of it (git fetch --unshallow)";

impl Edited {
    fn of<Place>(file: &Marked<Place>, changes: &[Change], prefix: &[u8]) -> Self {
        let sites = file.facts.scan.as_ref().map_or(&[][..], |scan| scan.sites.as_slice());
        let open = |change| Open {
            field: Field::of(change, sites),
            story: Story::default(),
            is_told: false,
        };
        Self {
            path: [prefix, &file.path].concat(),
            kind: file.kind,
            fields: changes.iter().map(open).collect(),
        }
    }
}

/// A walk over the history.
struct Walking<'w, 'a> {
    past: &'w mut Past<'a>,
    asked: &'w RespectReverts,
    /// The fields of some versions of files.
    versions: HashMap<(ObjectId, FileKind), Vec<Held>>,
}

impl Walking<'_, '_> {
    /// Tells the stories of all fields.
    fn tell(&mut self, files: &mut [Edited]) -> Result<(), GitError> {
        let mut paths = Paths::default();
        for (n, file) in files.iter().enumerate() {
            paths.add(&file.path, n);
        }
        let is_open = |file: &Edited| file.fields.iter().any(|open| !open.is_told);
        while files.iter().any(is_open)
            && let Some(visited) = self.past.history.step()?
        {
            if visited.is_alone {
                self.recall(&visited, files);
            }
            // What a merge brings is in the commits that it merges.
            if let [parent] = visited.parents.as_slice() {
                self.learn(&visited, *parent, &mut paths, files)?;
            }
        }
        self.remember(files);
        Ok(())
    }

    /// Goes on where an earlier run has begun.
    fn recall(&self, visited: &Visited, files: &mut [Edited]) {
        let Some(known) = self.past.stories.and_then(|stories| stories.of(visited.id)) else {
            return;
        };
        for file in files {
            for open in file.fields.iter_mut().filter(|open| !open.is_told) {
                let telling = self.telling(&file.path, &open.field);
                if let Some(older) = known.get(&telling) {
                    open.story.go_on(older, visited.place, self.asked.commits);
                    open.is_told = true;
                }
            }
        }
    }

    fn remember(&self, files: &[Edited]) {
        let Some(stories) = self.past.stories else { return };
        for file in files {
            for open in &file.fields {
                stories.keep(self.past.tip, self.telling(&file.path, &open.field), &open.story);
            }
        }
    }

    fn telling(&self, path: &[u8], field: &Field) -> Telling {
        Telling {
            author: self.asked.author.clone(),
            limit: self.asked.commits,
            path: path.to_vec(),
            field: field.clone(),
        }
    }

    /// Adds what one commit did to the fields.
    fn learn(
        &mut self,
        visited: &Visited,
        parent: ObjectId,
        paths: &mut Paths,
        files: &mut [Edited],
    ) -> Result<(), GitError> {
        let objects = self.past.objects;
        let trees = (objects.commit(parent)?.tree, visited.commit.tree);
        let mut by: Option<Told> = None;
        let mut new: BTreeMap<ObjectId, Vec<usize>> = BTreeMap::new();
        for Differing { file, before, after } in paths.differing(objects, trees, self.past.history.walk())? {
            match (before, after, files.get_mut(file)) {
                (Some(before), Some(after), Some(edited)) => {
                    let by = by.get_or_insert_with(|| told(visited.id, &visited.commit));
                    self.changed((before, after), visited, by, edited)?;
                }
                (None, Some(after), Some(_)) => new.entry(after).or_default().push(file),
                _ => {}
            }
        }
        if new.is_empty() {
            return Ok(());
        }
        let contents: BTreeSet<ObjectId> = new.keys().copied().collect();
        for (content, path) in moved(objects, trees, &contents, self.past.history.walk())? {
            for file in new.get(&content).into_iter().flatten() {
                paths.add(&path, *file);
            }
        }
        Ok(())
    }

    /// Adds what one commit did to the fields of a file.
    fn changed(
        &mut self,
        (before, after): (ObjectId, ObjectId),
        visited: &Visited,
        by: &Told,
        file: &mut Edited,
    ) -> Result<(), GitError> {
        if file.fields.iter().all(|open| open.is_told) {
            return Ok(());
        }
        self.read(before, file.kind)?;
        self.read(after, file.kind)?;
        let of = |blob| self.versions.get(&(blob, file.kind)).map_or(&[][..], Vec::as_slice);
        let is_ours = self
            .asked
            .author
            .as_deref()
            .is_some_and(|own| is_by(&visited.commit, own));
        for open in file.fields.iter_mut().filter(|open| !open.is_told) {
            let (Some(old), Some(new)) = (open.field.value(of(before)), open.field.value(of(after))) else {
                continue;
            };
            if old == new {
                continue;
            }
            if is_ours {
                open.story.wrote(new, by.clone(), visited.place);
                open.is_told = true;
            } else {
                open.story.left((old, new), by.clone(), visited.place);
            }
        }
        Ok(())
    }

    fn read(&mut self, blob: ObjectId, kind: FileKind) -> Result<(), GitError> {
        if self.versions.contains_key(&(blob, kind)) {
            return Ok(());
        }
        if self.versions.len() >= VERSIONS {
            self.versions.clear();
        }
        let fields = fields_of(self.past.objects, blob, kind, self.past.history.walk())?;
        self.versions.insert((blob, kind), fields);
        Ok(())
    }
}

/// Whether the owner of an address is the author of a commit, or one of those whose commits were squashed into it.
fn is_by(commit: &CommitInfo, address: &str) -> bool {
    const KEY: &[u8] = b"Co-authored-by:";
    let is_own = |line: &[u8]| {
        let (key, rest) = line.split_at_checked(KEY.len())?;
        let rest = String::from_utf8_lossy(rest.trim_ascii()).into_owned();
        let own = rest
            .strip_suffix('>')?
            .rsplit_once('<')?
            .1
            .eq_ignore_ascii_case(address);
        Some(own && key.eq_ignore_ascii_case(KEY))
    };
    let mut lines = commit.message.split(|byte| *byte == b'\n');
    commit.author().1.eq_ignore_ascii_case(address) || lines.any(|line| is_own(line) == Some(true))
}

/// Makes skips of the edits that were reverted.
fn take_out(preview: &mut Preview, files: &[Edited], policies: &Policies) {
    let mut changes = std::mem::take(&mut preview.changes).into_iter();
    let plans = std::mem::take(&mut preview.files);
    let mut orders: HashMap<PolicyName, Option<ImagePolicy>> = HashMap::new();
    for ((n, plan), file) in plans.into_iter().zip(files) {
        let own: Vec<Change> = changes.by_ref().take(plan.ends.len()).collect();
        let judged = own.iter().zip(&file.fields).map(|(change, open)| {
            let order = orders.entry(change.policy.clone());
            let order = order.or_insert_with(|| policies.order(&change.policy));
            refusal(change, &open.story, order.as_ref())
        });
        let refused = together(&own, judged.collect());
        let kept = plan.only(|change| refused.get(change).is_some_and(Option::is_none));
        if !kept.edits.is_empty() {
            preview.files.push((n, kept));
        }
        for (change, refusal) in own.into_iter().zip(refused) {
            match refusal {
                None => preview.changes.push(change),
                Some(message) => preview.skips.push(Skip {
                    path: change.path,
                    line: change.line,
                    column: change.column,
                    reason: Reason::Reverted,
                    message,
                }),
            }
        }
    }
    preview.skips.sort();
}

/// Name and digest belong to the tag beside them: they change with it, or not at all.
fn together(changes: &[Change], judged: Vec<Option<String>>) -> Vec<Option<String>> {
    let is_tag = |change: &Change| matches!(change.setter.part, Part::Tag | Part::Reference);
    let one = |(n, change): (usize, &Change)| {
        let own = judged.get(n).cloned().flatten();
        if is_tag(change) {
            return own;
        }
        let is_beside = |tag: &Change| is_tag(tag) && tag.policy == change.policy && tag.object == change.object;
        let tags = changes.iter().zip(&judged).filter(|(tag, _)| is_beside(tag));
        let of_tags: Vec<&Option<String>> = tags.map(|(_, judged)| judged).collect();
        match of_tags.is_empty() {
            true => own,
            false => of_tags.into_iter().flatten().next().cloned(),
        }
    };
    changes.iter().enumerate().map(one).collect()
}

/// Why a change must not be written, if its past says so.
fn refusal(change: &Change, story: &Story, order: Option<&ImagePolicy>) -> Option<String> {
    let part = change.setter.part;
    let is_again = |old: &str| old != change.old && !is_newer(&change.new, old, part, order);
    let (old, next, by) = match &story.ours {
        Some(ours) => {
            is_again(&ours.value).then_some(())?;
            let left = story.left.iter().find(|left| left.value == ours.value);
            match left {
                Some(left) => (&ours.value, &left.next, &left.by),
                None => return Some(gone(change, &ours.value, &ours.by)),
            }
        }
        // Whose commits those were is not known.
        None => {
            let mut left = (0..story.left.len()).filter_map(|n| story.left.get(n..)?.split_first());
            let (left, _) = left.find(|(left, older)| is_again(&left.value) && is_back(left, older, part, order))?;
            (&left.value, &left.next, &left.by)
        }
    };
    Some(format!("{by}, replaced {old} by {next}{}", until(change, old)))
}

/// For a value of ours that is not there any more, though no commit has replaced it: a merge did, or it is not committed yet.
fn gone(change: &Change, value: &str, by: &str) -> String {
    format!(
        "{by}, wrote {value}, which was replaced by {}{}",
        change.old,
        until(change, value)
    )
}

fn until(change: &Change, old: &str) -> String {
    let Change { new, policy, .. } = change;
    let older = if new == old {
        String::new()
    } else {
        format!(", and {new} is not newer")
    };
    format!("{older}; nothing is written here until ImagePolicy {policy} chooses something newer")
}

/// Whether a value is newer than one that was taken away. Digests have no order: another one is a newer one.
fn is_newer(new: &str, old: &str, part: Part, order: Option<&ImagePolicy>) -> bool {
    if new == old {
        return false;
    }
    if part == Part::Reference
        && let (
            Parts {
                tag: Some(tag),
                digest,
                name,
            },
            older,
        ) = (parts(new), parts(old))
        && (older.name, older.tag) == (name, Some(tag))
    {
        return digest.is_some() && older.digest.is_some() && digest != older.digest;
    }
    compare(new, old, part, order) != Some(Ordering::Less)
}

/// Whether others have replaced a value by an older one, or by one that was there before.
fn is_back(left: &Left, older: &[Left], part: Part, order: Option<&ImagePolicy>) -> bool {
    match compare(&left.next, &left.value, part, order) {
        Some(Ordering::Less) => true,
        Some(Ordering::Greater) => false,
        _ => older.iter().any(|older| older.value == left.next),
    }
}

/// The order of two values by the policy, if it has one for them.
fn compare(this: &str, other: &str, part: Part, order: Option<&ImagePolicy>) -> Option<Ordering> {
    match part {
        Part::Tag => order?.compare(this, other),
        Part::Reference => {
            let (this, other) = (parts(this), parts(other));
            let is_same_image = this.name == other.name;
            let compared = order?.compare(this.tag?, other.tag?)?;
            is_same_image.then_some(compared)
        }
        Part::Name | Part::Digest => None,
    }
}

struct Parts<'a> {
    name: &'a str,
    tag: Option<&'a str>,
    digest: Option<&'a str>,
}

fn parts(value: &str) -> Parts<'_> {
    let (name, tag, digest) = LatestRef::split(value);
    Parts { name, tag, digest }
}
