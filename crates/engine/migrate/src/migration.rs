//! The migration of a file: its changes, and the objects that stay with their reasons.

use std::rc::Rc;

use super::kinds;
use super::moves::Moves;
use super::objects::plan;
use super::outcome::{Left, Migrated, Note, Reason};
use super::planned::Planned;
use bumpwright_api::Place;
use bumpwright_api::tree::{Node, SyntaxError, parse_as_written};
use bumpwright_edit::{DocumentId, Edit, Plan, splice};
use bumpwright_text::Parts;

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
                old: self.text.part(span.clone()).to_owned(),
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
