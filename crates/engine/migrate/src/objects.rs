//! Finds the objects of a file and plans their edits.

use std::collections::HashSet;
use std::rc::Rc;

use super::kinds::{self, MigratedKind, NEW, Rule};
use super::lines::Change;
use super::moves::{Moves, Path};
use super::outcome::{Left, Migrated, Note, Reason};
use super::planned::{Object, ObjectError, Planned, drop_field};
use super::{automation, automation_flow, kustomization};
use bumpwright_api::tree::{Node, Value};
use bumpwright_edit::DocumentId;
use bumpwright_text::Parts;

/// Depth of `kind: List` inside `kind: List`; real files have one.
const MAX_LIST_DEPTH: usize = 8;

/// The plans of a file.
#[derive(Debug, Default)]
pub(super) struct Plans {
    pub(super) objects: Vec<Planned>,
    pub(super) left: Vec<Left>,
}

/// Finds the objects of the documents and plans their edits.
pub(super) fn plan(text: &str, documents: &[Rc<Node>]) -> Plans {
    let mut plans = Plans::default();
    for (n, root) in documents.iter().enumerate() {
        visit(text, root, &mut vec![n.to_string()], 0, &mut plans);
    }
    plans
}

fn visit(text: &str, node: &Node, path: &mut Path, depth: usize, plans: &mut Plans) {
    let field = |key: &str| node.get(key).map_or("", Node::scalar_text);
    let (api_version, name) = (field("apiVersion"), field("kind"));
    if let Some((kind, version)) = kinds::find(api_version, name) {
        let object = Object {
            text,
            node,
            path,
            version,
        };
        return take(&object, kind, plans);
    }
    if depth >= MAX_LIST_DEPTH || !name.ends_with("List") {
        return;
    }
    if let Some((kind, version)) = kinds::find_list(api_version, name) {
        let object = Object {
            text,
            node,
            path,
            version,
        };
        list(&object, kind, plans);
    }
    path.push("items".to_owned());
    let items = node.get("items").into_iter().flat_map(Node::items);
    for (n, item) in items.enumerate() {
        path.push(n.to_string());
        visit(text, item, path, depth + 1, plans);
        path.pop();
    }
    path.pop();
}

/// Plans the version of a list of one kind.
fn list(object: &Object<'_>, kind: &'static MigratedKind, plans: &mut Plans) {
    let mut planned = begin(object);
    // The items are objects of their own.
    planned.span = object.node.span.start..object.node.span.start;
    if kind.old.contains(&object.version) {
        match version(object, object.node, &Path::new(), &mut planned) {
            Ok(()) => plans.objects.push(planned),
            Err(refusal) => plans.left.push(refused(&planned, refusal)),
        }
    }
}

fn refused(planned: &Planned, (place, reason): ObjectError) -> Left {
    let mut left = planned.left(reason);
    left.place = place;
    left
}

fn take(object: &Object<'_>, kind: &'static MigratedKind, plans: &mut Plans) {
    let mut planned = begin(object);
    let done = if object.version == NEW {
        planned.migrated.from.clear();
        references(object, kind, &mut planned)
    } else {
        rewrite(object, kind, &mut planned)
    };
    match done {
        Ok(()) if planned.edits.is_empty() => {}
        Ok(()) => plans.objects.push(planned),
        Err(refusal) => plans.left.push(refused(&planned, refusal)),
    }
}

fn begin(object: &Object<'_>) -> Planned {
    let field = |node: Option<&Node>, key: &str| {
        let node = node.and_then(|node| node.get(key));
        node.map_or("", Node::scalar_text).to_owned()
    };
    let metadata = object.node.get("metadata");
    Planned {
        migrated: Migrated {
            place: object.node.place,
            object: DocumentId {
                api_version: field(Some(object.node), "apiVersion"),
                kind: field(Some(object.node), "kind"),
                namespace: field(metadata, "namespace"),
                name: field(metadata, "name"),
            },
            from: object.version.to_owned(),
            to: NEW,
        },
        edits: Vec::new(),
        moves: Moves::default(),
        notes: Vec::new(),
        span: object.node.span.clone(),
    }
}

fn rewrite(object: &Object<'_>, kind: &'static MigratedKind, planned: &mut Planned) -> Result<(), ObjectError> {
    if !kind.old.contains(&object.version) {
        let reason = Reason::Version(object.version.to_owned(), kind.name);
        return Err((object.node.place, reason));
    }
    no_duplicates(object.node)?;
    version(object, object.node, &Path::new(), planned)?;
    references(object, kind, planned)?;
    if kind.rule != Rule::Version {
        plain_spec(object, kind.rule)?;
    }
    match kind.rule {
        Rule::Version => Ok(()),
        Rule::Automation => automation_fields(object, planned),
        Rule::Kustomization => kustomization::rewrite(object, planned),
        Rule::Drop(fields) => drop_fields(object, fields, planned),
        Rule::Chart => {
            if let Some(entry) = object.node.get("spec").and_then(|spec| spec.entry("valuesFile")) {
                let why = "spec.valuesFile does not exist in v1; make it the first of spec.valuesFiles".to_owned();
                return Err((entry.key.place, Reason::Meaning(why)));
            }
            drop_fields(object, &["accessFrom"], planned)
        }
    }
}

fn automation_fields(object: &Object<'_>, planned: &mut Planned) -> Result<(), ObjectError> {
    automation::check(object)?;
    automation::notes(object, planned);
    match object.node.get("spec") {
        Some(spec) if object.version == automation::OLDEST && automation::has_old_fields(spec) => {
            if spec.is_flow() {
                automation_flow::rewrite(object, spec, planned)
            } else {
                automation::rewrite(object, spec, planned)
            }
        }
        _ => Ok(()),
    }
}

/// Checks that a `spec` whose fields may change has no merge keys or aliases.
fn plain_spec(object: &Object<'_>, rule: Rule) -> Result<(), ObjectError> {
    let Some(spec) = object.node.get("spec") else {
        return Ok(());
    };
    if rule == Rule::Automation && object.version != automation::OLDEST {
        return Ok(());
    }
    let merges = spec.entries().iter().any(|entry| entry.is("<<"));
    match spec.value {
        Value::Map { .. } if !merges => Ok(()),
        Value::Scalar { .. } if spec.is_null() => Ok(()),
        Value::Map { .. } | Value::Alias { .. } => Err((spec.place, Reason::Bound("spec".to_owned()))),
        _ => Err((spec.place, Reason::Shape("spec".to_owned(), "a mapping"))),
    }
}

/// Refuses an object with duplicate keys.
fn no_duplicates(object: &Node) -> Result<(), ObjectError> {
    for node in object.all() {
        let mut names = HashSet::new();
        let again = node.entries().iter().find(|entry| !names.insert(entry.name()));
        if let Some(entry) = again {
            return Err((entry.key.place, Reason::Duplicate(entry.name().to_owned())));
        }
    }
    Ok(())
}

/// Plans v1 as the version in the `apiVersion` of a mapping.
fn version(object: &Object<'_>, map: &Node, below: &Path, planned: &mut Planned) -> Result<(), ObjectError> {
    let Some(node) = map.get("apiVersion") else {
        return Ok(());
    };
    let mut path = object.path.clone();
    path.extend(below.iter().cloned());
    path.push("apiVersion".to_owned());
    let bound = || (node.place, Reason::Bound("apiVersion".to_owned()));
    let Value::Scalar { text: api_version, .. } = &node.value else {
        return Err(bound());
    };
    if node.bound {
        return Err(bound());
    }
    let written = object.text.part(node.span.clone());
    let layout = || (node.place, Reason::Layout("apiVersion".to_owned()));
    let (group, old) = api_version.split_once('/').ok_or_else(layout)?;
    let at = written.find(api_version.as_str()).ok_or_else(layout)? + group.len() + 1;
    let start = node.span.start + at;
    planned.edits.push((start..start + old.len(), NEW.to_owned()));
    planned.moves.becomes(path, &format!("{group}/{NEW}"));
    Ok(())
}

/// Plans the versions of references to objects of migrated kinds.
fn references(object: &Object<'_>, kind: &MigratedKind, planned: &mut Planned) -> Result<(), ObjectError> {
    let Some(spec) = object.node.get("spec") else {
        return Ok(());
    };
    for (field, many) in kind.references {
        let Some(node) = spec.get(field) else { continue };
        let path = vec!["spec".to_owned(), (*field).to_owned()];
        if !many {
            reference(object, node, &path, planned)?;
            continue;
        }
        for (n, item) in node.items().iter().enumerate() {
            reference(object, item, &[path.as_slice(), &[n.to_string()]].concat(), planned)?;
        }
    }
    Ok(())
}

fn reference(object: &Object<'_>, node: &Node, path: &Path, planned: &mut Planned) -> Result<(), ObjectError> {
    let field = |key: &str| node.get(key).map_or("", Node::scalar_text);
    match kinds::find(field("apiVersion"), field("kind")) {
        Some((kind, old)) if kind.old.contains(&old) => version(object, node, path, planned),
        _ => Ok(()),
    }
}

/// Removes fields without an effect.
fn drop_fields(object: &Object<'_>, fields: &[&str], planned: &mut Planned) -> Result<(), ObjectError> {
    let Some(spec) = object.node.get("spec") else {
        return Ok(());
    };
    let why = "v1 does not have it, and it has no effect";
    fields
        .iter()
        .try_for_each(|field| drop_field(object, spec, field, why, planned))
}

/// Notes about old versions in other texts: patches as text, values of charts. They are not changed.
pub(super) fn mentions(documents: &[Rc<Node>], objects: &[Planned], left: &[Left]) -> Vec<Note> {
    let mut notes = Vec::new();
    for node in documents.iter().flat_map(|root| root.all()) {
        let Value::Scalar { text, .. } = &node.value else {
            continue;
        };
        let Some((_, version)) = kinds::old_version(text) else {
            continue;
        };
        let edited = |object: &Planned| {
            let inside = |(span, _): &Change| span.start <= node.span.end && node.span.start <= span.end;
            object.edits.iter().any(inside)
        };
        let is_of_object = objects
            .iter()
            .filter(|object| object.span.contains(&node.span.start))
            .any(edited)
            || objects.iter().filter(|object| object.span.is_empty()).any(edited)
            || left.iter().any(|left| left.object.api_version == **text);
        if !is_of_object {
            let text = format!("{version} is not part of a known object here; change it by hand if it should be");
            notes.push(Note {
                place: node.place,
                text,
            });
        }
    }
    notes
}
