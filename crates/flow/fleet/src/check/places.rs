//! Places of objects and their fields in the files of the repository. Only files with findings are parsed.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use serde_json::Value;

use crate::build::view::FleetObject;
use bumpwright_findings::Place;
use bumpwright_json::Texts as _;
use bumpwright_kustomize::tree::Tree;
use bumpwright_text::pointer::unescaped;
use bumpwright_yaml::{
    Entry, FileId, Files, Node, Place as YamlPlace, ReadError, ReadOptions, Value as YamlValue, read_first,
    read_resources,
};

/// The most files that are kept parsed.
const KEPT: usize = 256;
/// The most files with patches of an object in which a field of it is looked for.
const PATCHES: usize = 64;
/// The names of kustomizations.
const KUSTOMIZATIONS: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// The files of the repository, parsed when a place in them is asked for.
pub(crate) struct Places<'t> {
    tree: &'t dyn Tree,
    files: RefCell<HashMap<String, Rc<ParsedFile>>>,
    /// Kinds and names of the documents of files in which patches were looked for.
    documents: RefCell<HashMap<String, BTreeSet<(String, String)>>>,
    /// The patches that kustomizations have in them.
    inline: RefCell<HashMap<String, Rc<[InlinePatch]>>>,
}

/// A patch that is a text of a kustomization.
struct InlinePatch {
    /// Where its text begins.
    place: Place,
    text: String,
    /// The kind of its target.
    kind: Option<String>,
}

/// A file and its documents.
pub(crate) struct ParsedFile {
    pub(crate) bytes: Vec<u8>,
    documents: Result<Vec<Node>, ReadError>,
}

/// The part of a field that a place is of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Key,
    Value,
}

impl<'t> Places<'t> {
    pub(crate) fn new(tree: &'t dyn Tree) -> Self {
        Self {
            tree,
            files: RefCell::default(),
            documents: RefCell::default(),
            inline: RefCell::default(),
        }
    }

    pub(crate) fn tree(&self) -> &'t dyn Tree {
        self.tree
    }

    /// A file, by its path from the root without a leading slash.
    pub(crate) fn file(&self, path: &str) -> Option<Rc<ParsedFile>> {
        if let Some(file) = self.files.borrow().get(path) {
            return Some(Rc::clone(file));
        }
        let bytes = self.tree.read(&format!("/{path}")).ok()?.into_owned();
        let documents = read_resources(&bytes, Files::default().add(path));
        let file = Rc::new(ParsedFile { bytes, documents });
        let mut files = self.files.borrow_mut();
        if files.len() >= KEPT {
            files.clear();
        }
        files.insert(path.to_owned(), Rc::clone(&file));
        Some(file)
    }

    /// Where a file is not YAML; the outer option is `None` if the file cannot be read.
    pub(crate) fn syntax_error(&self, path: &str) -> Option<Option<Place>> {
        let file = self.file(path)?;
        let error = file.documents.as_ref().err();
        Some(error.filter(|error| error.place.line > 0).map(|error| Place {
            path: path.to_owned(),
            line: error.place.line as usize,
            column: (error.place.column as usize).max(1),
        }))
    }

    /// The place of a field of an object, by its JSON pointer. The object's own place if its file does not have the
    /// field, or has it with another value: a patch or a generator made it.
    pub(crate) fn of(&self, object: &FleetObject, pointer: &str, part: Part) -> Option<Place> {
        self.at(object.origin.as_deref()?, &object.value, pointer, part)
    }

    /// The same, for an object with this origin.
    pub(crate) fn at(&self, origin: &str, object: &Value, pointer: &str, part: Part) -> Option<Place> {
        self.exact(origin, object, pointer, part).or_else(|| split(origin))
    }

    /// The same; none if the object's file does not have the field, or has it with another value.
    pub(crate) fn exact(&self, origin: &str, object: &Value, pointer: &str, part: Part) -> Option<Place> {
        let own = split(origin).filter(|_| !pointer.is_empty())?;
        let file = self.file(&own.path)?;
        let place = place_of_field(file.document(&own, object)?, object, pointer, part)?;
        Some(Place {
            line: place.line as usize,
            column: place.column as usize,
            ..own
        })
    }

    /// The place of a field of an object in a patch: in a document of its kind and name in one of these files that has
    /// the field with the value that was built. The object's own file is left out.
    pub(crate) fn in_patch<'p>(
        &self,
        files: impl IntoIterator<Item = &'p str>,
        object: &FleetObject,
        pointer: &str,
        part: Part,
    ) -> Option<Place> {
        if pointer.is_empty() {
            return None;
        }
        let own = object.origin.as_deref().and_then(split).map(|place| place.path);
        let id = (
            object.value.text_of("kind").to_owned(),
            object.value.text_at("/metadata/name").to_owned(),
        );
        let patches = files.into_iter().filter(|path| own.as_deref() != Some(*path));
        patches
            .filter(|path| self.has_document_of(path, &id))
            .take(PATCHES)
            .find_map(|path| {
                let file = self.file(path)?;
                let documents = file.documents.iter().flatten();
                let mut documents = documents.filter(|node| is_object(node, &object.value));
                let place = documents.find_map(|node| place_of_field(node, &object.value, pointer, part))?;
                Some(Place {
                    path: path.to_owned(),
                    line: place.line as usize,
                    column: place.column as usize,
                })
            })
    }

    /// The place of a field of an object in a patch that a kustomization among these files has in it, if it gives the
    /// value that was built.
    pub(crate) fn in_kustomization<'p>(
        &self,
        files: impl IntoIterator<Item = &'p str>,
        object: &Value,
        pointer: &str,
        part: Part,
    ) -> Option<Place> {
        let is_kustomization = |path: &&str| {
            path.rsplit('/')
                .next()
                .is_some_and(|name| KUSTOMIZATIONS.contains(&name))
        };
        let mut files = files.into_iter().filter(is_kustomization);
        files.find_map(|path| {
            let patches = self.inline_patches(path);
            patches.iter().find_map(|patch| {
                let inner = given_by(&patch.text, patch.kind.as_deref(), object, (pointer, part))?;
                Some(self.within(patch.place.clone(), &patch.text, inner))
            })
        })
    }

    fn inline_patches(&self, path: &str) -> Rc<[InlinePatch]> {
        if let Some(patches) = self.inline.borrow().get(path) {
            return Rc::clone(patches);
        }
        let file = self.file(path);
        let documents = file.iter().flat_map(|file| file.documents.iter().flatten());
        let patches = documents.filter_map(|document| document.get("patches")).flat_map(items);
        let patches = patches.filter_map(|patch| {
            let text = patch.get("patch")?;
            let kind = patch.get("target").and_then(|target| target.get("kind"));
            Some(InlinePatch {
                place: Place {
                    path: path.to_owned(),
                    line: text.place.line as usize,
                    column: text.place.column as usize,
                },
                text: text.as_str()?.to_owned(),
                kind: kind.and_then(Node::as_str).map(str::to_owned),
            })
        });
        let patches: Rc<[InlinePatch]> = patches.collect();
        self.inline.borrow_mut().insert(path.to_owned(), Rc::clone(&patches));
        patches
    }

    /// A place in a text that is a scalar at a place: the line in it if it is a literal one (`|`), else the scalar.
    pub(crate) fn within(&self, place: Place, text: &str, inner: YamlPlace) -> Place {
        self.line_within(&place, text, inner).unwrap_or(place)
    }

    fn line_within(&self, place: &Place, text: &str, inner: YamlPlace) -> Option<Place> {
        let file = self.file(&place.path)?;
        let number = inner.line as usize;
        let mut lines = std::str::from_utf8(&file.bytes).ok()?.lines();
        let opening = lines.nth(place.line.checked_sub(1)?)?;
        let line = lines.nth(number.checked_sub(1)?)?;
        let own = text.lines().nth(number.checked_sub(1)?)?;
        let is_literal = opening.trim_end().trim_end_matches(['-', '+']).ends_with('|');
        let indent = line.strip_suffix(own).filter(|_| is_literal)?;
        Some(Place {
            path: place.path.clone(),
            line: place.line + number,
            column: indent.chars().count() + inner.column as usize,
        })
    }

    /// The text of a field as an object's own file has it: with variables, if it has any.
    pub(crate) fn written(&self, object: &FleetObject, pointer: &str) -> Option<String> {
        let own = split(object.origin.as_deref()?).filter(|_| !pointer.is_empty())?;
        let file = self.file(&own.path)?;
        let field = field(file.document(&own, &object.value)?, &object.value, pointer)?;
        Some(field.node.as_scalar()?.text.as_str().to_owned())
    }

    /// Whether a YAML file has a document of this kind and name.
    fn has_document_of(&self, path: &str, id: &(String, String)) -> bool {
        if bumpwright_edit::file_kind(path) != bumpwright_edit::FileKind::Yaml {
            return false;
        }
        if let Some(documents) = self.documents.borrow().get(path) {
            return documents.contains(id);
        }
        let documents = self.file(path).map_or_else(BTreeSet::new, |file| file.ids());
        let has = documents.contains(id);
        self.documents.borrow_mut().insert(path.to_owned(), documents);
        has
    }
}

impl ParsedFile {
    /// Kind and name of each document.
    fn ids(&self) -> BTreeSet<(String, String)> {
        let text = |node: Option<&Node>| node.and_then(Node::as_str).map(str::to_owned);
        let documents = self.documents.iter().flatten();
        let ids = documents.filter_map(|node| text(node.get("kind")).zip(text(node.lookup(&["metadata", "name"]))));
        ids.collect()
    }

    /// The lines, counted from 1, of the documents that have the kind and the name of an object: first and last ones.
    pub(crate) fn lines_of(&self, kind: &str, name: &str) -> Vec<(usize, usize)> {
        let documents: Vec<&Node> = self.documents.iter().flatten().collect();
        let starts: Vec<usize> = documents.iter().map(|node| node.place.line as usize).collect();
        let ends = starts.iter().skip(1).map(|next| next.saturating_sub(1));
        let ends = ends.chain([usize::MAX]);
        let lines = documents.iter().zip(starts.iter().copied().zip(ends));
        let is_it = |node: &Node| {
            node.get("kind").and_then(Node::as_str) == Some(kind)
                && node.lookup(&["metadata", "name"]).and_then(Node::as_str) == Some(name)
        };
        lines.filter(|(node, _)| is_it(node)).map(|(_, lines)| lines).collect()
    }

    /// The node of an object at a place: a document, or an item of a list.
    pub(crate) fn document(&self, place: &Place, object: &Value) -> Option<&Node> {
        let is_at = |node: &&Node| {
            let column = node.place.column as usize;
            node.place.line as usize == place.line && (column == place.column || place.column == 0)
        };
        let documents = || self.documents.iter().flatten();
        if let Some(document) = documents().find(is_at) {
            return match document.get("items").map(items) {
                None | Some([]) => Some(document),
                Some(items) => items.iter().find(|item| is_object(item, object)),
            };
        }
        let lists = documents().filter_map(|document| document.get("items"));
        lists.flat_map(items).find(is_at)
    }
}

fn items(node: &Node) -> &[Node] {
    match &node.value {
        YamlValue::Sequence(sequence) => &sequence.items,
        _ => &[],
    }
}

/// Whether a node has the kind and the name of an object.
fn is_object(node: &Node, object: &Value) -> bool {
    let name = object.pointer("/metadata/name").and_then(Value::as_str);
    let kind = object.get("kind").and_then(Value::as_str);
    node.get("kind").and_then(Node::as_str) == kind && node.lookup(&["metadata", "name"]).and_then(Node::as_str) == name
}

/// `path:line:column`, `path:line` or `path`.
pub(crate) fn split(text: &str) -> Option<Place> {
    let number = |text: &str| text.parse::<usize>().ok().filter(|number| *number > 0);
    let last = |text: &str| -> Option<(String, usize)> {
        let (before, after) = text.rsplit_once(':')?;
        Some((before.to_owned(), number(after)?))
    };
    let clean = |path: &str| path.trim_start_matches("./").trim_start_matches('/').to_owned();
    let place = |path: &str, line, column| {
        let path = clean(path);
        (!path.is_empty()).then_some(Place { path, line, column })
    };
    match last(text) {
        None => place(text, 1, 1),
        Some((before, column)) => match last(&before) {
            Some((path, line)) => place(&path, line, column),
            None => place(&before, column, 1),
        },
    }
}

/// The place in the text of a patch, one that is merged or a list of operations, of the value that an object has in a
/// field; none if the patch does not give it.
pub(crate) fn given_by(
    text: &str,
    kind: Option<&str>,
    object: &Value,
    (pointer, part): (&str, Part),
) -> Option<YamlPlace> {
    let mut names = pointer.rsplit('/').filter(|step| step.parse::<usize>().is_err());
    let name = names.next()?;
    // Most patches are about something else.
    if !(text.contains(name) || text.contains(&*unescaped(name))) {
        return None;
    }
    let options = ReadOptions::sigs(Files::default().add("patch"));
    let patch = read_first(text.as_bytes(), &options).ok()??;
    let kind = kind.or_else(|| patch.get("kind").and_then(Node::as_str));
    if kind.is_some_and(|kind| kind != object.text_of("kind")) {
        return None;
    }
    match &patch.value {
        YamlValue::Sequence(operations) => {
            let mut operations = operations.items.iter();
            operations.find_map(|operation| given_by_operation(operation, object, (pointer, part)))
        }
        _ => place_of_field(&patch, object, pointer, part),
    }
}

/// The same of one operation of a JSON patch.
fn given_by_operation(operation: &Node, object: &Value, (pointer, part): (&str, Part)) -> Option<YamlPlace> {
    let path = operation.get("path")?.as_str()?;
    let given = operation.get("value")?;
    let below = pointer.strip_prefix(path)?;
    if below.is_empty() {
        let is_same = part == Part::Key || !differs(given, object.pointer(pointer));
        return is_same.then_some(given.place);
    }
    place_of_field(given, object.pointer(path)?, below, part).filter(|_| below.starts_with('/'))
}

/// A field of an object, as a node has it.
struct NodeField<'n, 'v> {
    /// The place of its key; none of an item.
    key: Option<YamlPlace>,
    node: &'n Node,
    /// What was built.
    built: Option<&'v Value>,
}

/// Where a node has the field of an object.
fn place_of_field(node: &Node, object: &Value, pointer: &str, part: Part) -> Option<YamlPlace> {
    let NodeField { key, node, built } = field(node, object, pointer)?;
    match (part, key) {
        (Part::Key, Some(key)) => Some(key),
        _ if differs(node, built) => None,
        _ => Some(node.place),
    }
    .filter(|place| place.file != FileId::NONE)
}

fn field<'n, 'v>(node: &'n Node, object: &'v Value, pointer: &str) -> Option<NodeField<'n, 'v>> {
    let (mut node, mut value, mut key) = (node, Some(object), None);
    for step in pointer.split('/').skip(1) {
        let name = unescaped(step);
        let below = value.and_then(|value| match value {
            Value::Array(items) => items.get(name.parse::<usize>().ok()?),
            other => other.get(&*name),
        });
        (key, node) = match &node.value {
            YamlValue::Mapping(mapping) => {
                let entry: &Entry = mapping.entries.iter().find(|entry| entry.key.is(&name))?;
                (Some(entry.place), &entry.value)
            }
            YamlValue::Sequence(_) => (None, item(items(node), name.parse().ok()?, below)?),
            YamlValue::Scalar(_) => return None,
        };
        value = below;
    }
    Some(NodeField {
        key,
        node,
        built: value,
    })
}

/// The item of a list. A patch may have moved it: items with names are found by these.
fn item<'n>(items: &'n [Node], at: usize, built: Option<&Value>) -> Option<&'n Node> {
    let Some(name) = built.and_then(|built| built.get("name")?.as_str()) else {
        return items.get(at);
    };
    let has_name = |item: &&Node| item.get("name").and_then(Node::as_str) == Some(name);
    let item = items.get(at).filter(has_name).or_else(|| items.iter().find(has_name));
    // The name may be one that a prefix or a variable changed.
    item.or_else(|| items.get(at))
}

/// Whether a scalar in a file is not the one that was built.
fn differs(node: &Node, built: Option<&Value>) -> bool {
    let (Some(scalar), Some(built)) = (node.as_scalar(), built) else {
        return false;
    };
    match built {
        _ if scalar.text.contains("${") => false,
        Value::String(text) => scalar.text != text.as_str(),
        Value::Array(_) | Value::Object(_) => true,
        Value::Number(number) => {
            let is_same = |own: f64| Some(own) == number.as_f64();
            scalar.text.parse::<f64>().is_ok_and(|own| !is_same(own))
        }
        Value::Bool(built) => scalar.text.parse::<bool>().is_ok_and(|own| own != *built),
        Value::Null => false,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use bumpwright_kustomize::tree::MemoryTree;
    use serde_json::json;

    #[test]
    fn origins_are_split() {
        for (text, path, line, column) in [
            ("apps/a.yaml:3:7", "apps/a.yaml", 3, 7),
            ("./apps/a.yaml:3", "apps/a.yaml", 3, 1),
            ("apps/a.yaml", "apps/a.yaml", 1, 1),
            ("a:b.yaml:3:7", "a:b.yaml", 3, 7),
        ] {
            let path = path.to_owned();
            assert_eq!(split(text), Some(Place { path, line, column }), "{text}");
        }
        assert_eq!(split(""), None);
    }

    #[test]
    fn what_a_patch_made_is_found_there() {
        let mut tree = MemoryTree::new();
        let file = |spec: &str| format!("kind: A\nmetadata: {{name: x}}\nspec: {spec}\n").into_bytes();
        tree.add_file("/base.yaml", file("{replicas: 2, text: a}"));
        tree.add_file(
            "/other.yaml",
            b"kind: A\nmetadata: {name: y}\nspec: {replicas: 5}\n".to_vec(),
        );
        tree.add_file("/patch.yaml", file("{replicas: 5, text: b}"));
        let places = Places::new(&tree);
        let object = FleetObject {
            value: json!({"kind": "A", "metadata": {"name": "x"}, "spec": {"replicas": 5, "text": "b", "extra": true}}),
            origin: Some("base.yaml:1:1".into()),
        };
        let files = ["base.yaml", "other.yaml", "patch.yaml", "none.yaml", "text.txt"];
        for (pointer, wanted) in [
            ("/spec/replicas", Some(("patch.yaml", 3, 18))),
            ("/spec/text", Some(("patch.yaml", 3, 27))),
            ("/spec/extra", None),
            ("", None),
        ] {
            let own = places.exact("base.yaml:1:1", &object.value, pointer, Part::Value);
            assert_eq!(own, None, "{pointer}");
            let found = places.in_patch(files, &object, pointer, Part::Value);
            let found = found
                .as_ref()
                .map(|place| (place.path.as_str(), place.line, place.column));
            assert_eq!(found, wanted, "{pointer}");
        }
        let file = places.file("patch.yaml").unwrap();
        assert_eq!(file.lines_of("A", "x"), [(1, usize::MAX)]);
        assert!(file.lines_of("A", "y").is_empty());
    }

    #[test]
    fn what_a_patch_within_a_kustomization_made_is_found_there() {
        let merged = "  patch: |-\n    kind: A\n    metadata: {name: x}\n    spec:\n      replicas: 5\n";
        let operations = "  patch: '[{op: add, path: /spec/text, value: b}]'\n";
        let mut tree = MemoryTree::new();
        let text = |kind: &str| {
            format!("patches:\n- target: {{kind: {kind}}}\n{merged}- target: {{kind: {kind}}}\n{operations}")
        };
        tree.add_file("/a/kustomization.yaml", text("B").into_bytes());
        tree.add_file("/b/kustomization.yaml", text("A").into_bytes());
        let places = Places::new(&tree);
        let object = json!({"kind": "A", "metadata": {"name": "x"}, "spec": {"replicas": 5, "text": "b", "extra": 5}});
        let files = ["a/kustomization.yaml", "b/kustomization.yaml", "b/other.yaml"];
        for (pointer, wanted) in [
            ("/spec/replicas", Some((7, 17))),
            ("/spec/text", Some((9, 10))),
            ("/spec/extra", None),
        ] {
            let found = places.in_kustomization(files, &object, pointer, Part::Value);
            let found = found.map(|place| (place.path, place.line, place.column));
            let wanted = wanted.map(|(line, column)| ("b/kustomization.yaml".to_owned(), line, column));
            assert_eq!(found, wanted, "{pointer}");
        }
    }

    #[test]
    fn fields_are_found_unless_a_patch_made_them() {
        let text = "kind: A\nmetadata: {name: x}\nspec:\n  replicas: 2\n  list:\n  - name: a\n    v: 1\n  - name: b\n    v: x\n";
        let mut tree = MemoryTree::new();
        tree.add_file("/a.yaml", text.as_bytes());
        let places = Places::new(&tree);
        let value = json!({"kind": "A", "metadata": {"name": "x"}, "spec": {"replicas": 2, "extra": 1, "list": [{"name": "b", "v": "y"}]}});
        let object = FleetObject {
            value,
            origin: Some("a.yaml:1:1".into()),
        };
        for (pointer, part, line, column) in [
            ("", Part::Value, 1, 1),
            ("/spec/replicas", Part::Value, 4, 13),
            ("/spec/replicas", Part::Key, 4, 3),
            ("/spec/extra", Part::Value, 1, 1),
            ("/spec/list/0/name", Part::Value, 8, 11),
            ("/spec/list/0/v", Part::Value, 1, 1),
            ("/spec/list/0/v", Part::Key, 9, 5),
        ] {
            let place = places.of(&object, pointer, part).unwrap();
            assert_eq!((place.line, place.column), (line, column), "{pointer}");
        }
    }
}
