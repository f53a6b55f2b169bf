//! The planned changes of one object.

use std::ops::Range;

use super::lines::Change;
use super::moves::{Moves, Path};
use super::outcome::{Left, Migrated, Note, Reason};
use super::removal::removal;
use bumpwright_api::Place;
use bumpwright_api::tree::{Node, Value};

/// The plan of an object.
#[derive(Debug)]
pub(super) struct Planned {
    pub(super) migrated: Migrated,
    /// Edits in no particular order.
    pub(super) edits: Vec<Change>,
    pub(super) moves: Moves,
    pub(super) notes: Vec<Note>,
    /// The bytes of the object.
    pub(crate) span: Range<usize>,
}

impl Planned {
    /// The object as one that is not migrated.
    pub(super) fn left(&self, reason: Reason) -> Left {
        Left {
            place: self.migrated.place,
            object: self.migrated.object.clone(),
            reason,
        }
    }

    /// Adds a remark about a node of the object.
    pub(super) fn note(&mut self, place: Place, text: &str) {
        let text = text.to_owned();
        self.notes.push(Note { place, text });
    }
}

/// Why an object is not migrated, and the place.
pub(super) type ObjectError = (Place, Reason);

/// An object for which edits are planned.
pub(super) struct Object<'a> {
    pub(super) text: &'a str,
    pub(super) node: &'a Node,
    /// Its path in the tree.
    pub(super) path: &'a Path,
    pub(super) version: &'a str,
}

impl Object<'_> {
    /// The path of a field of the object, from keys separated by spaces.
    pub(super) fn at(&self, keys: &str) -> Path {
        let mut path = self.path.clone();
        path.extend(keys.split(' ').filter(|key| !key.is_empty()).map(str::to_owned));
        path
    }
}

/// Removes a field of `spec`, if it exists.
pub(super) fn drop_field(
    object: &Object<'_>,
    spec: &Node,
    field: &str,
    why: &str,
    planned: &mut Planned,
) -> Result<(), ObjectError> {
    let Some(entry) = spec.entry(field) else { return Ok(()) };
    let name = format!("spec.{field}");
    unbound(&entry.node, &name)?;
    let gone = removal(object.text, spec, field);
    let gone = gone.ok_or_else(|| (entry.key.place, Reason::Layout(name.clone())))?;
    planned.edits.push((gone, String::new()));
    planned.moves.remove(object.at(&format!("spec {field}")));
    planned.note(entry.key.place, &format!("{name} is removed: {why}"));
    Ok(())
}

/// Checks that the node has no anchors, aliases, merge keys or tags, so that its bytes mean the same at any place.
pub(super) fn unbound(node: &Node, name: &str) -> Result<(), ObjectError> {
    let tied = |node: &&Node| {
        let merges = node.entries().iter().any(|entry| entry.is("<<"));
        node.bound || merges || matches!(node.value, Value::Alias { .. })
    };
    match node.all().into_iter().find(tied) {
        Some(found) => Err((found.place, Reason::Bound(name.to_owned()))),
        None => Ok(()),
    }
}
