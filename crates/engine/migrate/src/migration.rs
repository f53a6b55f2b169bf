//! The migration of a file: its changes, and the objects that stay with their reasons.

use std::rc::Rc;

use bumpwright_api::Place;
use bumpwright_edit::{DocumentId, Edit, Plan, splice};

use super::kinds;
use super::moves::Moves;
use super::objects::{Planned, plan};
use bumpwright_api::tree::{Node, SyntaxError, parse_as_written};

/// The migration of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Migration {
    /// The new bytes of the file; `None` when nothing changes.
    pub new: Option<Vec<u8>>,
    /// The objects that change, in the order of the file.
    pub migrated: Vec<Migrated>,
    /// Old objects that cannot be migrated, in the order of the file.
    pub left: Vec<Left>,
    /// Remarks for the user about migrated objects.
    pub notes: Vec<Note>,
}

/// An object that is rewritten as v1, or has references that are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Migrated {
    /// Start of the object.
    pub place: Place,
    /// The object, with its old version.
    pub object: DocumentId,
    /// Old version; empty when only references in it change.
    pub from: String,
    /// New version.
    pub to: &'static str,
}

/// An object of an older version that stays as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// The place.
    pub place: Place,
    /// The object; empty when the file does not parse.
    pub object: DocumentId,
    /// The reason.
    pub reason: Reason,
}

/// A remark about a migrated object, or about text that was not checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The place.
    pub place: Place,
    /// The remark.
    pub text: String,
}

/// Why an object is not migrated, with the way out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// The file does not parse.
    #[error("the file does not parse: {0}; correct it, nothing in it was changed")]
    Syntax(String),
    /// The file is not text.
    #[error("the file is not UTF-8 text; save it as UTF-8, nothing in it was changed")]
    NotText,
    /// An unknown version.
    #[error("version {0} of {1} is not known; write it as v1 by hand")]
    Version(String, &'static str),
    /// A duplicate key.
    #[error("duplicate key {0:?}; an object has each key once, remove one")]
    Duplicate(String),
    /// Anchors, aliases, merge keys or tags in bytes that move.
    #[error("{0} uses an anchor, an alias, a merge key or a tag; write the value out")]
    Bound(String),
    /// A field that the older version did not have, and that would get an effect.
    #[error("{field} is not a field of {version}, where it had no effect; remove it or write the object as v1 by hand")]
    Unknown {
        /// The field.
        field: String,
        /// The object's version.
        version: String,
    },
    /// Fields of two versions for the same purpose.
    #[error("{0} and {1} are fields of different versions for the same thing; remove one")]
    Mixed(String, String),
    /// A value that is not valid in the version's schema.
    #[error("{0} is not {1}; correct it")]
    Shape(String, &'static str),
    /// A field without an equivalent in v1.
    #[error("{0}")]
    Meaning(String),
    /// An unsupported layout.
    #[error("{0} is written in a way that is not rewritten here; write it in block style, one field to a line")]
    Layout(String),
    /// The edited text would not parse as expected.
    #[error(
        "the object is written in a way that cannot be rewritten without a change of other values; write it in plain block style"
    )]
    Unproven,
}

/// Whether the bytes may contain versions other than v1; a file without is not parsed.
#[must_use]
pub fn mentions_old(bytes: &[u8]) -> bool {
    match std::str::from_utf8(bytes) {
        Ok(text) => kinds::other_version(text),
        Err(_) => kinds::other_version(&String::from_utf8_lossy(bytes)),
    }
}

/// Migrates the objects of a file: all documents, and the items of lists.
#[must_use]
pub fn migrate(bytes: &[u8]) -> Migration {
    if !mentions_old(bytes) {
        return Migration::default();
    }
    let unreadable = |place, reason| Migration {
        left: vec![Left {
            place,
            object: DocumentId::default(),
            reason,
        }],
        ..Migration::default()
    };
    let Ok(text) = std::str::from_utf8(bytes) else {
        return unreadable(Place { line: 1, column: 1 }, Reason::NotText);
    };
    match parse_as_written(text) {
        Err(SyntaxError { place, message }) => unreadable(place, Reason::Syntax(message)),
        Ok(documents) => Migrator { text, documents }.run(),
    }
}

struct Migrator<'a> {
    text: &'a str,
    documents: Vec<Rc<Node>>,
}

impl Migrator<'_> {
    fn run(&self) -> Migration {
        let planned = plan(self.text, &self.documents);
        let (mut objects, mut left) = (planned.objects, planned.left);
        let new = match self.edited(&objects) {
            Some(new) => Some(new),
            None => {
                // Rare: find the objects whose edits fail, and continue without them.
                objects.retain(|object| {
                    let holds = self.edited(std::slice::from_ref(object)).is_some();
                    if !holds {
                        left.push(object.left(Reason::Unproven));
                    }
                    holds
                });
                self.edited(&objects)
            }
        };
        if new.is_none() {
            left.extend(objects.drain(..).map(|object| object.left(Reason::Unproven)));
        }
        self.report(objects, left, new)
    }

    fn report(&self, objects: Vec<Planned>, mut left: Vec<Left>, new: Option<Vec<u8>>) -> Migration {
        let mut notes: Vec<Note> = objects.iter().flat_map(|object| object.notes.clone()).collect();
        notes.extend(super::objects::mentions(&self.documents, &objects, &left));
        left.sort_by_key(|left| left.place);
        notes.sort_by_key(|note| note.place);
        let migrated = objects.into_iter().map(|object| object.migrated).collect::<Vec<_>>();
        Migration {
            new: new.filter(|_| !migrated.is_empty()),
            migrated,
            left,
            notes,
        }
    }

    /// The text with the edits of these objects, if it parses as expected.
    fn edited(&self, objects: &[Planned]) -> Option<Vec<u8>> {
        let mut plan = Plan::default();
        let mut moves = Moves::default();
        for object in objects {
            plan.edits.extend(object.edits.iter().map(|(span, new)| Edit {
                span: span.clone(),
                old: self.text.get(span.clone()).unwrap_or_default().to_owned(),
                new: new.clone(),
            }));
            moves.extend(&object.moves);
        }
        plan.edits.sort_by_key(|edit| edit.span.start);
        let new = splice(self.text.as_bytes(), &plan).ok()?;
        let text = std::str::from_utf8(&new).ok()?;
        moves.explain(&self.documents, text).then_some(new)
    }
}
