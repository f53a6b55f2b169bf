//! A person's revert stays (docs/guides/reverts.md): a walk over the history of the files that a run edits, newest
//! commit first, until each field has one that the automation wrote.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::paths::{Differing, Paths, moved};
use super::story::{Field, Held, Left, Stories, Story, Telling, Told, fields_of, told};
use super::taken_back::take_out;
use crate::find::facts::Marked;
use crate::find::ruled::Reading;
use crate::job::edits::RespectReverts;
use crate::plan::planned::Plan;
use crate::policy::policies::Policies;
use bumpwright_edit::{Change, FileKind};
use bumpwright_git::{CommitInfo, GitError, History, ObjectId, Objects, Visited};
use bumpwright_rules::Rules;

/// The most versions of files whose fields are kept at once; each is wanted for two commits in a row.
const VERSIONS: usize = 64;

/// The past of the files that a run edits.
pub(crate) struct Past<'a> {
    pub(crate) objects: &'a Objects,
    pub(crate) history: History<'a>,
    /// The commit that the run builds on.
    pub(crate) tip: ObjectId,
    /// The folder of the repository that paths are relative to: empty, or with a slash at its end.
    pub(crate) prefix: &'a [u8],
    /// What earlier runs have found.
    pub(crate) stories: &'a Stories,
}

/// A file with edits.
struct Edited {
    /// Its path in the repository.
    path: Vec<u8>,
    /// Its path in the folder of the run, which rules know; letters that are not UTF-8 are replaced there.
    name: String,
    kind: FileKind,
    rules: Option<Rules>,
    fields: Vec<Open>,
    /// What others did to it, newest first. Which fields that were is mostly not needed.
    others: Vec<Other>,
}

/// A field whose past is looked for.
struct Open {
    field: Field,
    /// Its value now.
    value: String,
    story: Story,
    /// How many commits are newer than the one where its story ends.
    end: Option<u32>,
}

/// What a commit that is not the automation's did to a file.
struct Other {
    before: ObjectId,
    after: ObjectId,
    by: Told,
    place: u32,
}

/// Takes the edits out of a preview that people have reverted, as skips.
///
/// # Errors
/// The history cannot be read, or not be fetched.
pub(crate) fn respect<Place>(
    mut past: Past<'_>,
    asked: &RespectReverts,
    policies: &Policies,
    marked: &[Marked<Place>],
    plan: &mut Plan,
) -> Result<Option<String>, GitError> {
    let mut files = Vec::with_capacity(plan.files.len());
    for (n, changes) in plan.by_file() {
        files.extend(marked.get(n).map(|file| Edited::of(file, changes, past.prefix)));
    }
    let mut walk = Walking {
        past: &mut past,
        asked,
        versions: HashMap::new(),
    };
    walk.tell(&mut files)?;
    let stories = |file: Edited| file.fields.into_iter().map(|open| open.story).collect();
    let stories: Vec<Vec<Story>> = files.into_iter().map(stories).collect();
    take_out(plan, &stories, policies);
    Ok(past.history.is_cut().then(|| SHALLOW.to_owned()))
}

/// For a history that is not all there.
const SHALLOW: &str =
    "the history is shallow, so reverts before its end are not known; fetch more of it (git fetch --unshallow)";

impl Edited {
    fn of<Place>(file: &Marked<Place>, changes: &[Change], prefix: &[u8]) -> Self {
        let sites = file.facts.scan.as_ref().map_or(&[][..], |scan| scan.sites.as_slice());
        let open = |change: &Change| Open {
            field: Field::of(change, sites),
            story: Story::default(),
            value: change.old.clone(),
            end: None,
        };
        Self {
            path: [prefix, &file.path].concat(),
            name: String::from_utf8_lossy(&file.path).into_owned(),
            kind: file.kind,
            rules: file.rules.clone(),
            fields: changes.iter().map(open).collect(),
            others: Vec::new(),
        }
    }

    /// How its contents are read.
    fn reading(&self) -> Reading<'_> {
        Reading {
            path: &self.name,
            kind: self.kind,
            rules: self.rules.as_ref(),
        }
    }

    /// The fields whose story has no end yet.
    fn open(&mut self) -> impl Iterator<Item = &mut Open> {
        self.fields.iter_mut().filter(|open| open.end.is_none())
    }

    fn is_open(&self) -> bool {
        self.fields.iter().any(|open| open.end.is_none())
    }
}

impl Open {
    /// Whether the field has another value than the automation's last one, or never had one.
    fn is_replaced(&self) -> bool {
        self.story.ours.as_ref().is_none_or(|ours| ours.value != self.value)
    }
}

/// A walk over the history.
struct Walking<'w, 'a> {
    past: &'w mut Past<'a>,
    asked: &'w RespectReverts,
    /// The fields of some versions of files.
    versions: HashMap<(ObjectId, Vec<u8>), Vec<Held>>,
}

impl Walking<'_, '_> {
    /// Tells the stories of all fields.
    fn tell(&mut self, files: &mut [Edited]) -> Result<(), GitError> {
        let mut paths = Paths::default();
        for (n, file) in files.iter().enumerate() {
            paths.add(&file.path, n);
        }
        while files.iter().any(Edited::is_open)
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
        for file in files.iter_mut() {
            self.complete(file)?;
        }
        self.remember(files);
        Ok(())
    }

    /// Looks at what others did to the fields of a file, where that matters.
    fn complete(&mut self, file: &mut Edited) -> Result<(), GitError> {
        if !file.fields.iter().any(Open::is_replaced) {
            return Ok(());
        }
        let mut left: Vec<Vec<Left>> = file.fields.iter().map(|_| Vec::new()).collect();
        for other in &file.others {
            let (before, after) = self.both((other.before, other.after), file)?;
            for (open, left) in file.fields.iter().zip(&mut left) {
                let is_newer = open.end.is_none_or(|end| other.place < end);
                if is_newer && let Some((old, new)) = difference(&open.field, before, after) {
                    left.push(Left::new((old, new), other.by.clone(), other.place));
                }
            }
        }
        for (open, left) in file.fields.iter_mut().zip(left) {
            open.story.left_before(left);
        }
        Ok(())
    }

    /// Continues where an earlier run has begun.
    fn recall(&self, visited: &Visited, files: &mut [Edited]) {
        let Some(known) = self.past.stories.of(visited.id) else {
            return;
        };
        for file in files {
            let path = file.path.clone();
            for open in file.open() {
                if let Some(older) = known.get(&self.telling(&path, &open.field)) {
                    open.story = older.seen_from(visited.place, self.asked.commits);
                    open.end = Some(visited.place);
                }
            }
        }
    }

    fn remember(&self, files: &[Edited]) {
        for file in files {
            for open in &file.fields {
                self.past
                    .stories
                    .keep(self.past.tip, self.telling(&file.path, &open.field), &open.story);
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
        let is_ours = self
            .asked
            .author
            .as_deref()
            .is_some_and(|own| is_by(&visited.commit, own));
        let mut by: Option<Told> = None;
        let mut new: BTreeMap<ObjectId, Vec<usize>> = BTreeMap::new();
        for Differing { file, before, after } in paths.differing(objects, trees, self.past.history.walk())? {
            match (before, after, files.get_mut(file)) {
                (Some(before), Some(after), Some(edited)) if edited.is_open() => {
                    let by = by.get_or_insert_with(|| told(visited.id, &visited.commit)).clone();
                    let place = visited.place;
                    let other = Other {
                        before,
                        after,
                        by,
                        place,
                    };
                    if is_ours {
                        self.wrote(&other, edited)?
                    } else {
                        edited.others.push(other)
                    }
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

    /// Ends the stories of the fields that the automation wrote.
    fn wrote(&mut self, ours: &Other, file: &mut Edited) -> Result<(), GitError> {
        let (before, after) = self.both((ours.before, ours.after), file)?;
        for open in file.open() {
            if let Some((_, new)) = difference(&open.field, before, after) {
                open.story.wrote(new, ours.by.clone(), ours.place);
                open.end = Some(ours.place);
            }
        }
        Ok(())
    }

    /// The fields of a file before and after a commit.
    fn both(&mut self, (before, after): (ObjectId, ObjectId), file: &Edited) -> Result<(&[Held], &[Held]), GitError> {
        if self.versions.len() >= VERSIONS {
            self.versions.clear();
        }
        let (before, after) = ((before, file.path.clone()), (after, file.path.clone()));
        for version in [&before, &after] {
            if !self.versions.contains_key(version) {
                let fields = fields_of(self.past.objects, version.0, file.reading(), self.past.history.walk())?;
                self.versions.insert(version.clone(), fields);
            }
        }
        let of = |version| self.versions.get(version).map_or(&[][..], Vec::as_slice);
        Ok((of(&before), of(&after)))
    }
}

/// The values of a field before and after a commit, if they are known and differ.
fn difference<'a>(field: &Field, before: &'a [Held], after: &'a [Held]) -> Option<(&'a str, &'a str)> {
    let values = (field.value(before)?, field.value(after)?);
    (values.0 != values.1).then_some(values)
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::find::facts::BlobFacts;

    #[test]
    fn commits_are_known_by_an_address() {
        let is_ours = |author: &str, message: &str| {
            let commit = CommitInfo {
                tree: ObjectId::from_hex(&[b'1'; 40]).unwrap(),
                parents: Vec::new(),
                author: format!("{author} 1 +0000").into_bytes(),
                committer: Vec::new(),
                seconds: 0,
                signed: false,
                message: message.as_bytes().to_vec(),
            };
            is_by(&commit, "bot@example.com")
        };
        assert!(is_ours("Any Name <bot@example.com>", ""));
        assert!(is_ours("<BOT@example.com>", ""));
        assert!(is_ours("A <a@b>", "x\n\nco-authored-by: Bot <bot@example.com>\n"));
        assert!(is_ours(
            "A <a@b>",
            "x\n\nCo-authored-by: B <b@b>\r\nCo-authored-by: Bot <bot@example.com>\r\n"
        ));
        for (author, message) in [
            ("bot@example.com <a@b>", ""),
            ("A <a@b>", "bot@example.com"),
            ("A <a@b>", "Co-authored-by: bot@example.com"),
            ("A <a@b>", "Reverted-by: Bot <bot@example.com>"),
            ("A <a@b>", "Co-authored-by: é"),
        ] {
            assert!(!is_ours(author, message), "{author} {message}");
        }
    }

    /// Rules are for paths in the folder of the run, and for files with any name.
    #[test]
    fn a_file_is_read_by_its_name_in_the_folder() {
        for (path, name) in [
            (&b"web/versions.toml"[..], "web/versions.toml"),
            (b"web/\xff.toml", "web/\u{fffd}.toml"),
        ] {
            let file = Marked {
                path: path.to_vec(),
                place: (),
                kind: FileKind::Other,
                facts: BlobFacts::default(),
                rules: None,
            };
            let edited = Edited::of(&file, &[], b"clusters/");
            assert_eq!(edited.reading().path, name);
            assert_eq!(edited.path, [b"clusters/", path].concat());
        }
    }
}
