//! What history tells of a marked field: the value that the automation wrote last, and those that others have replaced since.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::survey;
use bumpwright_edit::{Change, DocumentId, FileKind, Setter, Site};
use bumpwright_git::{CommitInfo, GitError, ObjectId, Objects, Walk};
use bumpwright_gostd::Time;

/// The most replaced values of a field that are kept.
const MOST_LEFT: usize = 64;

/// The most stories of a mirror that are remembered; more are forgotten all at once.
const MOST_REMEMBERED: usize = 1024;

/// The longest part of a person's name in a message, in characters.
const LONGEST_NAME: usize = 60;

/// A marked field, found again in other versions of its file: by its marker and object, and its number among equal ones.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Field {
    pub(super) setter: Setter,
    pub(super) object: DocumentId,
    /// Its number among the fields of this setter and object.
    pub(super) number: usize,
    /// How many there are of them.
    pub(super) of: usize,
}

/// A field of one version of a file.
#[derive(Clone, Debug)]
pub(super) struct Held {
    setter: Setter,
    object: DocumentId,
    value: String,
}

/// What is known about the past of a field, newest first.
#[derive(Clone, Debug, Default)]
pub(super) struct Story {
    /// The value that the automation wrote last.
    pub(super) ours: Option<Wrote>,
    /// Values that others replaced after that.
    pub(super) left: Vec<Left>,
}

/// A value that a commit wrote.
#[derive(Clone, Debug)]
pub(super) struct Wrote {
    pub(super) value: String,
    pub(super) by: Told,
    /// How many commits are newer.
    place: u32,
}

/// A value that a commit replaced.
#[derive(Clone, Debug)]
pub(super) struct Left {
    pub(super) value: String,
    /// The value after it.
    pub(super) next: String,
    pub(super) by: Told,
    /// How many commits are newer.
    place: u32,
}

/// A commit as a message names it.
pub(super) type Told = Arc<str>;

/// `commit 1a2b3c4 of Ann Other, 2026-11-26`. Everything but the id is whatever somebody wrote.
pub(super) fn told(id: ObjectId, commit: &CommitInfo) -> Told {
    let (name, address) = commit.author();
    let name = if name.is_empty() { address } else { name };
    let name: String = name.chars().filter(|c| !c.is_control()).take(LONGEST_NAME).collect();
    let day = Time::unix(commit.seconds, 0).written(b"2006-01-02");
    format!("commit {} of {name}, {day}", id.to_hex_with_len(7)).into()
}

impl Field {
    /// The field of a change, among the marked ones of its file.
    pub(super) fn of(change: &Change, sites: &[Site]) -> Self {
        let is_like = |site: &&Site| site.setter == change.setter && site.object == change.object;
        let place = (change.line, change.column);
        let before = sites
            .iter()
            .filter(is_like)
            .filter(|site| (site.line, site.column) < place);
        Self {
            setter: change.setter.clone(),
            object: change.object.clone(),
            number: before.count(),
            of: sites.iter().filter(is_like).count(),
        }
    }

    /// Its value in another version of the file; none when it cannot be told which one it is.
    pub(super) fn value<'a>(&self, held: &'a [Held]) -> Option<&'a str> {
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
pub(super) fn fields_of(objects: &Objects, blob: ObjectId, kind: FileKind, walk: &Walk) -> Result<Vec<Held>, GitError> {
    let bytes = match objects.held_blob(blob, survey::size_limit(kind)) {
        Ok((bytes, _)) => bytes,
        Err(GitError::TooLarge { .. }) => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    walk.read(bytes.len() as u64)?;
    let sites = bumpwright_edit::scan(kind, &bytes).sites;
    let fields = sites.into_iter().map(|site| Held {
        setter: site.setter,
        object: site.object,
        value: site.value,
    });
    Ok(fields.collect())
}

impl Story {
    /// The automation wrote this value: what is older does not count.
    pub(super) fn wrote(&mut self, value: &str, by: Told, place: u32) {
        self.ours = Some(Wrote {
            value: value.to_owned(),
            by,
            place,
        });
    }

    /// Somebody replaced this value by the next one.
    pub(super) fn left(&mut self, (value, next): (&str, &str), by: Told, place: u32) {
        if self.left.len() < MOST_LEFT {
            self.left.push(Left {
                value: value.to_owned(),
                next: next.to_owned(),
                by,
                place,
            });
        }
    }

    /// Goes on as `older` does, which was told of the commit with so many newer ones, as far as `limit` commits.
    pub(super) fn go_on(&mut self, older: &Self, place: u32, limit: u32) {
        let is_near = |at: u32| at.saturating_add(place) < limit;
        let left = older.left.iter().filter(|left| is_near(left.place)).map(|left| Left {
            place: left.place + place,
            ..left.clone()
        });
        self.left.extend(left.take(MOST_LEFT.saturating_sub(self.left.len())));
        self.ours = older
            .ours
            .as_ref()
            .filter(|ours| is_near(ours.place))
            .map(|ours| Wrote {
                place: ours.place + place,
                ..ours.clone()
            });
    }
}

/// Which story is told: of what, for whom, and how far back.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Telling {
    /// The address of the automation.
    pub(super) author: Option<String>,
    pub(super) limit: u32,
    pub(super) path: Vec<u8>,
    pub(super) field: Field,
}

/// The stories as they are told of a mirror's commits, so that a run walks only over commits that are newer than those of another run.
#[derive(Debug, Default)]
pub(super) struct Stories(Mutex<Remembered>);

#[derive(Debug, Default)]
struct Remembered {
    of: HashMap<ObjectId, HashMap<Telling, Arc<Story>>>,
    count: usize,
}

impl Stories {
    /// The stories that were told of this commit.
    pub(super) fn of(&self, commit: ObjectId) -> Option<HashMap<Telling, Arc<Story>>> {
        let remembered = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        remembered.of.get(&commit).cloned()
    }

    /// Remembers the story of a field as it is told of this commit.
    pub(super) fn keep(&self, commit: ObjectId, telling: Telling, story: &Story) {
        let mut remembered = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if remembered.count >= MOST_REMEMBERED {
            *remembered = Remembered::default();
        }
        let told = remembered.of.entry(commit).or_default();
        if told.insert(telling, Arc::new(story.clone())).is_none() {
            remembered.count += 1;
        }
    }
}
