//! What history tells of a marked field: the value that the automation wrote last, and those that
//! others have replaced since.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::find::facts;
use crate::find::ruled::{Reading, answered};
use bumpwright_edit::{Change, DocumentId, Setter, Site};
use bumpwright_git::{CommitInfo, GitError, ObjectId, Objects, Walk};
use bumpwright_gostd::Time;

/// The most replaced values of a field that are kept.
const MOST_LEFT: usize = 64;

/// The most stories of a mirror that are remembered; more are forgotten all at once.
const MOST_REMEMBERED: usize = 1024;

/// The longest part of a person's name in a message, in characters.
const LONGEST_NAME: usize = 60;

/// A marked field, found again in other versions of its file: by its marker and object, and its number among equal
/// ones. A rollout follows its fields by lines instead (`carried`), since it writes: that takes a diff of two
/// contents for each step, and the history of a field has hundreds. Here a field that cannot be told from others
/// is only not known.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Field {
    pub(crate) setter: Setter,
    pub(crate) object: DocumentId,
    /// Its number among the fields of this setter and object.
    pub(crate) number: usize,
    /// How many there are of them.
    pub(crate) of: usize,
}

/// A field of one version of a file.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    setter: Setter,
    object: DocumentId,
    value: String,
}

/// What is known about the past of a field, newest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Story {
    /// The value that the automation wrote last.
    pub(crate) ours: Option<Wrote>,
    /// Values that others replaced after that.
    pub(crate) left: Vec<Left>,
}

/// A value that a commit wrote.
#[derive(Clone, Debug)]
pub(crate) struct Wrote {
    pub(crate) value: String,
    pub(crate) by: Told,
    /// How many commits are newer.
    place: u32,
}

/// A value that a commit replaced.
#[derive(Clone, Debug)]
pub(crate) struct Left {
    pub(crate) value: String,
    /// The value after it.
    pub(crate) next: String,
    pub(crate) by: Told,
    /// How many commits are newer.
    place: u32,
}

/// A commit as a message names it.
pub(crate) type Told = Arc<str>;

/// `commit 1a2b3c4 of Ann Other, 2026-11-26`. Everything but the id is whatever somebody wrote.
pub(crate) fn told(id: ObjectId, commit: &CommitInfo) -> Told {
    let (name, address) = commit.author();
    let name = if name.is_empty() { address } else { name };
    let name: String = name.chars().filter(|c| !c.is_control()).take(LONGEST_NAME).collect();
    let day = Time::unix(commit.seconds, 0).written(b"2006-01-02");
    format!("commit {} of {name}, {day}", id.to_hex_with_len(7)).into()
}

impl Field {
    /// The field of a change, among the marked ones of its file.
    pub(crate) fn of(change: &Change, sites: &[Site]) -> Self {
        Self::new(&change.setter, &change.object, (change.line, change.column), sites)
    }

    /// The field of a site, among the marked ones of its file.
    pub(crate) fn at(site: &Site, sites: &[Site]) -> Self {
        Self::new(&site.setter, &site.object, (site.line, site.column), sites)
    }

    fn new(setter: &Setter, object: &DocumentId, place: (usize, usize), sites: &[Site]) -> Self {
        let is_like = |site: &&Site| site.setter == *setter && site.object == *object;
        let before = sites
            .iter()
            .filter(is_like)
            .filter(|site| (site.line, site.column) < place);
        Self {
            setter: setter.clone(),
            object: object.clone(),
            number: before.count(),
            of: sites.iter().filter(is_like).count(),
        }
    }

    /// Its value in another version of the file; none when it cannot be told which one it is.
    pub(crate) fn value<'a>(&self, held: &'a [Held]) -> Option<&'a str> {
        let of_object = held
            .iter()
            .filter(|one| one.setter == self.setter && one.object == self.object);
        let mut alike: Vec<&str> = of_object.map(|one| one.value.as_str()).collect();
        if alike.is_empty() {
            // The object had another name.
            let of_setter = held.iter().filter(|one| one.setter == self.setter);
            alike = of_setter.map(|one| one.value.as_str()).collect();
        }
        if alike.len() == self.of {
            return alike.get(self.number).copied();
        }
        let first = alike.first()?;
        alike.iter().all(|value| value == first).then_some(*first)
    }
}

/// The marked fields of a version of a file.
pub(crate) fn fields_of(
    objects: &Objects,
    blob: ObjectId,
    reading: Reading<'_>,
    walk: &Walk,
) -> Result<Vec<Held>, GitError> {
    let bytes = match objects.held_blob(blob, facts::size_limit(reading.kind)) {
        Ok((bytes, _)) => bytes,
        Err(GitError::TooLarge { .. }) => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    walk.read(bytes.len() as u64)?;
    let sites = reading.scan(&bytes).sites;
    answered(reading.rules)?;
    let fields = sites.into_iter().map(|site| Held {
        setter: site.setter,
        object: site.object,
        value: site.value,
    });
    Ok(fields.collect())
}

impl Story {
    /// The automation wrote this value: what is older does not count.
    pub(crate) fn wrote(&mut self, value: &str, by: Told, place: u32) {
        self.ours = Some(Wrote {
            value: value.to_owned(),
            by,
            place,
        });
    }

    /// Adds values that others replaced, all newer than those that are known.
    pub(crate) fn left_before(&mut self, newer: Vec<Left>) {
        self.left.splice(0..0, newer);
        self.left.truncate(MOST_LEFT);
    }

    /// The same story, told of a commit with so many newer ones, as far as `limit` commits.
    pub(crate) fn seen_from(&self, place: u32, limit: u32) -> Self {
        let is_near = |at: u32| at.saturating_add(place) < limit;
        let left = self.left.iter().filter(|left| is_near(left.place)).map(|left| Left {
            place: left.place + place,
            ..left.clone()
        });
        let ours = self.ours.as_ref().filter(|ours| is_near(ours.place)).map(|ours| Wrote {
            place: ours.place + place,
            ..ours.clone()
        });
        Self {
            left: left.collect(),
            ours,
        }
    }
}

impl Left {
    /// A value, and the one after it.
    pub(crate) fn new((value, next): (&str, &str), by: Told, place: u32) -> Self {
        Self {
            value: value.to_owned(),
            next: next.to_owned(),
            by,
            place,
        }
    }
}

/// Which story is meant: of what, for whom, and how far back.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Telling {
    /// The address of the automation.
    pub(crate) author: Option<String>,
    pub(crate) limit: u32,
    pub(crate) path: Vec<u8>,
    pub(crate) field: Field,
}

/// The stories of fields at a mirror's commits, so that a run walks only over commits that are newer than
/// those of another run.
#[derive(Debug, Default)]
pub(crate) struct Stories(Mutex<Remembered>);

#[derive(Debug, Default)]
struct Remembered {
    of: HashMap<ObjectId, HashMap<Telling, Arc<Story>>>,
    count: usize,
}

impl Stories {
    /// The stories that were told of this commit.
    pub(crate) fn of(&self, commit: ObjectId) -> Option<HashMap<Telling, Arc<Story>>> {
        let remembered = self.0.lock();
        remembered.of.get(&commit).cloned()
    }

    /// Remembers the story of a field at this commit.
    pub(crate) fn keep(&self, commit: ObjectId, telling: Telling, story: &Story) {
        let mut remembered = self.0.lock();
        if remembered.count >= MOST_REMEMBERED {
            *remembered = Remembered::default();
        }
        let told = remembered.of.entry(commit).or_default();
        if told.insert(telling, Arc::new(story.clone())).is_none() {
            remembered.count += 1;
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use bumpwright_edit::{FileKind, Scan, plan, scan};

    const MARKER: &str = r#"# {"$imagepolicy": "fs:app:tag"}"#;

    fn object(name: &str, tags: &[&str]) -> String {
        let fields = tags.iter().enumerate();
        let fields: String = fields.map(|(n, tag)| format!("t{n}: {tag} {MARKER}\n")).collect();
        format!("---\napiVersion: v1\nkind: A\nmetadata: {{name: {name}}}\n{fields}")
    }

    fn held(text: &str) -> Vec<Held> {
        let sites = scan(FileKind::Yaml, text.as_bytes()).sites.into_iter();
        let held = sites.map(|site| Held {
            setter: site.setter,
            object: site.object,
            value: site.value,
        });
        held.collect()
    }

    /// The fields of a file, by their values.
    fn fields(text: &str) -> Vec<(String, Field)> {
        let Scan { sites, .. } = scan(FileKind::Yaml, text.as_bytes());
        let mut policies = crate::Policies::default();
        let image = bumpwright_policy::LatestRef {
            name: "o/app".to_owned(),
            tag: "new".to_owned(),
            digest: None,
        };
        policies.set(bumpwright_policy::PolicyName::new("fs", "app"), image);
        let view = crate::View {
            policies: &policies,
            namespace: None,
            selector: None,
        };
        let scan = Scan {
            sites: sites.clone(),
            ..Scan::default()
        };
        let changes = plan("a.yaml", &scan, &view).changes.into_iter();
        changes
            .map(|change| (change.old.clone(), Field::of(&change, &sites)))
            .collect()
    }

    #[test]
    fn a_field_is_found_again_in_another_version_of_its_file() {
        let now = object("x", &["a", "b"]) + &object("y", &["c"]);
        let values = |before: &str| -> Vec<Option<String>> {
            let before = held(before);
            let fields = fields(&now);
            let values = fields.iter().map(|(_, field)| field.value(&before).map(str::to_owned));
            values.collect()
        };
        let some = |values: [&str; 3]| {
            values
                .map(|value| Some(value.to_owned()).filter(|value| !value.is_empty()))
                .to_vec()
        };
        assert_eq!(values(&now), some(["a", "b", "c"]));
        // Other lines and another order of objects.
        let moved = format!("{}# more\n{}", object("y", &["3"]), object("x", &["1", "2"]));
        assert_eq!(values(&moved), some(["1", "2", "3"]));
        // One field more or less: only what all of them hold is known.
        assert_eq!(
            values(&(object("x", &["1"]) + &object("y", &["3", "4"]))),
            some(["1", "1", ""])
        );
        // The object had another name.
        assert_eq!(values(&object("z", &["1", "2"])), some(["1", "2", ""]));
        assert_eq!(values("a: 1\n"), some(["", "", ""]));
    }

    fn story(ours: Option<u32>, left: &[u32]) -> Story {
        let mut story = Story::default();
        let by: Told = "somebody".into();
        story.left_before(left.iter().map(|n| Left::new(("a", "b"), by.clone(), *n)).collect());
        if let Some(place) = ours {
            story.wrote("a", by, place);
        }
        story
    }

    #[test]
    fn a_remembered_story_ends_where_a_new_one_would() {
        let seen = |place: u32, limit: u32| {
            let seen = story(Some(5), &[1, 3]).seen_from(place, limit);
            (seen.ours.map(|ours| ours.place), seen.left.len())
        };
        assert_eq!(seen(0, 6), (Some(5), 2));
        assert_eq!(seen(2, 8), (Some(7), 2));
        assert_eq!(seen(3, 8), (None, 2));
        assert_eq!(seen(6, 8), (None, 1));
        assert_eq!(seen(8, 8), (None, 0));
    }

    #[test]
    fn only_so_many_stories_are_remembered() {
        let stories = Stories::default();
        let commit = ObjectId::from_hex(&[b'1'; 40]).unwrap();
        let telling = |n: usize| Telling {
            author: None,
            limit: 500,
            path: n.to_string().into_bytes(),
            field: fields(&object("x", &["a"])).remove(0).1,
        };
        assert!(stories.of(commit).is_none());
        stories.keep(commit, telling(0), &story(None, &[]));
        stories.keep(commit, telling(0), &story(Some(1), &[]));
        let told = stories.of(commit).unwrap();
        assert!(told.len() == 1 && told.get(&telling(0)).unwrap().ours.is_some());
        for n in 1..=MOST_REMEMBERED {
            stories.keep(commit, telling(n), &story(None, &[]));
        }
        assert_eq!(stories.of(commit).unwrap().len(), 1);
    }
}
