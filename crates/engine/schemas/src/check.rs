//! The check of an object: a walk over its values with their types beside them, on a stack of its own.

use std::iter::Enumerate;
use std::slice;

use serde_json::{Map, Value, map};

use bumpwright_nearest::nearest;

use super::fits::{self, Below as BrokenBelow, Broken, Cost};
use super::place::{Step, field, pointer};
use super::scalar;
use super::schemas::Schemas;
use super::shape::{Field, Id, Object, Reader, Shape, Shapes, Type};
use super::words::{shown, type_of};

/// Depth of an object. The server refuses deeper ones as well.
const MAX_DEPTH: usize = 1000;
/// Violations of one object that are reported.
const MAX_VIOLATIONS: usize = 100;
/// Depth of lists inside of lists; real ones have one.
const MAX_LIST_DEPTH: usize = 8;

/// Something in an object that an API server would refuse.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The value as a JSON pointer: `/spec/replicas`. Of a field that is missing, the object that should have it.
    pub pointer: String,
    /// The fault in the server's words: `spec.replicas: Invalid value: "two": must be of type integer`. Values of
    /// Secrets are not in it.
    pub text: String,
}

/// How much of a value is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    All,
    /// Names and types of fields: a built-in kind's status is decoded, and thrown away before it is validated.
    Types,
    /// Names of fields: so is that of a custom resource, and its types are not checked.
    Names,
}

/// An object that waits for its check.
struct Waiting<'v> {
    value: &'v Value,
    path: Vec<Step<'v>>,
    /// The apiVersion and kind that the list around it implies.
    implied: Option<(&'v str, &'v str)>,
}

/// Checks an object, or the objects of a list.
pub(crate) fn check(schemas: &Schemas, object: &Value) -> Vec<Violation> {
    let mut check = Check {
        schemas,
        path: Vec::new(),
        open: Vec::new(),
        found: Vec::new(),
        cost: Cost::default(),
        is_secret: false,
        is_full: false,
    };
    let mut waiting = vec![Waiting {
        value: object,
        path: Vec::new(),
        implied: None,
    }];
    while let Some(next) = waiting.pop() {
        check.object(next, &mut waiting);
        if check.is_full {
            break;
        }
    }
    check.found
}

struct Check<'s, 'v> {
    schemas: &'s Schemas,
    /// The path to the current value.
    path: Vec<Step<'v>>,
    open: Vec<Frame<'s, 'v>>,
    found: Vec<Violation>,
    cost: Cost,
    /// Whether values must not be shown.
    is_secret: bool,
    is_full: bool,
}

/// A list or an object whose values are not all checked.
struct Frame<'s, 'v> {
    left: Left<'v>,
    shapes: &'s Shapes,
    below: Below<'s>,
    extent: Extent,
}

enum Left<'v> {
    Entries(map::Iter<'v>),
    Items(Enumerate<slice::Iter<'v, Value>>),
}

impl<'v> Iterator for Left<'v> {
    type Item = (Step<'v>, &'v Value);

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::Entries(entries) => entries.next().map(|(name, value)| (Step::Field(name), value)),
            Self::Items(items) => items.next().map(|(at, item)| (Step::Item(at), item)),
        }
    }
}

/// The types of what is inside.
#[derive(Clone, Copy)]
enum Below<'s> {
    Each(Id),
    Fields(&'s Object),
}

impl<'s, 'v> Check<'s, 'v> {
    fn object(&mut self, next: Waiting<'v>, waiting: &mut Vec<Waiting<'v>>) {
        let Waiting { value, path, implied } = next;
        self.path = path;
        let Some((api_version, kind)) = self.identity(value, implied) else {
            return;
        };
        self.is_secret = (api_version, kind) == ("v1", "Secret");
        match self.schemas.of(api_version, kind) {
            Some(of) => self.walk(value, of.shapes, of.of, of.status),
            None => self.list(value, (api_version, kind), waiting),
        }
    }

    fn identity(&mut self, value: &'v Value, implied: Option<(&'v str, &'v str)>) -> Option<(&'v str, &'v str)> {
        if !value.is_object() {
            let text = format!("Invalid value: \"{}\": must be of type object", type_of(value));
            self.add(text);
            return None;
        }
        let mut text = |name: &'static str, implied: Option<&'v str>| match value.get(name) {
            Some(Value::String(text)) if !text.is_empty() => Some(text.as_str()),
            None | Some(Value::Null | Value::String(_)) => implied.or_else(|| {
                self.add_below(Step::Field(name), "Required value".to_owned());
                None
            }),
            Some(other) => {
                let fault = format!("Invalid value: {}: must be of type string", shown(other));
                self.add_at(Step::Field(name), fault);
                None
            }
        };
        let api_version = text("apiVersion", implied.map(|(api_version, _)| api_version));
        let kind = text("kind", implied.map(|(_, kind)| kind));
        api_version.zip(kind)
    }

    /// The objects of a list wait for their turn. Those of a list of one kind need not say what they are.
    fn list(&self, value: &'v Value, (api_version, kind): (&'v str, &'v str), waiting: &mut Vec<Waiting<'v>>) {
        let (Some(of), Some(Value::Array(items))) = (kind.strip_suffix("List"), value.get("items")) else {
            return;
        };
        if self.path.len() / 2 >= MAX_LIST_DEPTH {
            return;
        }
        let implied = (!of.is_empty()).then_some((api_version, of));
        for (at, item) in items.iter().enumerate().rev() {
            let mut path = self.path.clone();
            path.extend([Step::Field("items"), Step::Item(at)]);
            waiting.push(Waiting {
                value: item,
                path,
                implied,
            });
        }
    }

    fn walk(&mut self, value: &'v Value, shapes: &'s Shapes, of: Id, status: Extent) {
        let root = self.path.len();
        self.visit(value, shapes, of, Extent::All);
        while let Some(depth) = self.open.len().checked_sub(1) {
            self.path.truncate(root + depth);
            let Some(frame) = self.open.last_mut() else { break };
            let Some((step, value)) = frame.left.next() else {
                self.open.pop();
                continue;
            };
            let (shapes, below, mut extent) = (frame.shapes, frame.below, frame.extent);
            self.path.push(step);
            if depth == 0 && matches!(step, Step::Field("status")) {
                extent = status;
            }
            match (below, step) {
                (Below::Each(of), _) => self.visit(value, shapes, of, extent),
                (Below::Fields(object), Step::Field(name)) => match object.field(name) {
                    Some(field) => self.visit(value, shapes, field.of, extent),
                    None if object.open => {}
                    None => self.unknown(object, name),
                },
                (Below::Fields(_), Step::Item(_)) => {}
            }
            if self.open.len() > MAX_DEPTH {
                self.add(format!("nested more than {MAX_DEPTH} deep"));
                self.open.clear();
            }
            if self.is_full {
                self.open.clear();
            }
        }
        if std::mem::take(&mut self.cost.is_exceeded) {
            self.path.truncate(root);
            self.add("not all rules of its schema are checked: that takes too many steps".to_owned());
        }
    }

    /// Checks a value itself; what is inside of it is opened.
    fn visit(&mut self, value: &'v Value, shapes: &'s Shapes, of: Id, extent: Extent) {
        let Some(mut of) = shapes.get(of) else { return };
        let mut shapes = shapes;
        if let Shape::ObjectMeta = of.shape {
            let (go, id) = self.schemas.object_meta();
            let Some(meta) = go.get(id) else { return };
            (shapes, of) = (go, meta);
        }
        if value.is_null() && self.takes_null(shapes, of) {
            return;
        }
        let (left, below) = match (&of.shape, value) {
            (Shape::Object(object), Value::Object(entries)) => {
                if extent == Extent::All {
                    self.required(object, entries, shapes);
                }
                (Left::Entries(entries.iter()), Below::Fields(object))
            }
            (Shape::Map(values), Value::Object(entries)) => (Left::Entries(entries.iter()), Below::Each(*values)),
            (Shape::List(items), Value::Array(values)) => (Left::Items(values.iter().enumerate()), Below::Each(*items)),
            (Shape::List(_) | Shape::Map(_) | Shape::Object(_), _) => {
                if extent != Extent::Names {
                    self.add(scalar::not_a(&of.shape, value));
                }
                return;
            }
            _ => {
                self.scalar(value, shapes.reader, of, extent);
                return;
            }
        };
        self.rules(value, shapes.reader, of, extent);
        self.open.push(Frame {
            left,
            shapes,
            below,
            extent,
        });
    }

    /// Whether a null is a value or none at all: custom resources lose nulls of fields, and not those of lists.
    fn takes_null(&self, shapes: &Shapes, of: &Type) -> bool {
        let is_item = matches!(self.path.last(), Some(Step::Item(_)));
        shapes.reader == Reader::Go || of.nullable || !is_item || matches!(of.shape, Shape::Any)
    }

    fn scalar(&mut self, value: &Value, reader: Reader, of: &Type, extent: Extent) {
        if extent == Extent::Names {
            return;
        }
        // Go reads a list of numbers as bytes, too.
        if matches!((&of.shape, value), (Shape::Bytes, Value::Array(_))) {
            return;
        }
        match scalar::fault(value, &of.shape) {
            Some(fault) => {
                let value = self.shown(value);
                self.add(format!("Invalid value: {value}: {fault}"));
            }
            None => self.rules(value, reader, of, extent),
        }
    }

    fn rules(&mut self, value: &Value, reader: Reader, of: &Type, extent: Extent) {
        let Some(rules) = &of.rules else { return };
        // Go's empty text is a field that is not set.
        let is_unset = reader == Reader::Go && value.as_str() == Some("");
        if extent != Extent::All || is_unset {
            return;
        }
        for broken in fits::broken(rules, value, &mut self.cost) {
            self.broken(broken, value);
        }
    }

    fn broken(&mut self, broken: Broken, value: &Value) {
        let Broken {
            below,
            class,
            shows,
            detail,
        } = broken;
        let of = match &below {
            Some(BrokenBelow::Item(at)) => value.get(at),
            _ => Some(value),
        };
        let mut text = class.to_owned();
        for part in [of.filter(|_| shows).map(|of| self.shown(of)), Some(detail)] {
            if let Some(part) = part.filter(|part| !part.is_empty()) {
                text.push_str(": ");
                text.push_str(&part);
            }
        }
        match below {
            None => self.add(text),
            Some(BrokenBelow::Item(at)) => self.add_at(Step::Item(at), text),
            Some(BrokenBelow::Field(name)) => self.add_below(Step::Field(&name), text),
        }
    }

    fn required(&mut self, object: &'s Object, entries: &Map<String, Value>, shapes: &Shapes) {
        for field in object.required() {
            if is_missing(field, entries, shapes) {
                self.add_below(Step::Field(&field.name), "Required value".to_owned());
            }
        }
    }

    fn unknown(&mut self, object: &Object, name: &str) {
        let hint = nearest(name, object.names());
        let hint = hint.map_or_else(String::new, |near| format!(": did you mean {near:?}?"));
        let text = format!("unknown field {:?}{hint}", field(&self.path));
        self.push(pointer(&self.path), text);
    }

    fn shown(&self, value: &Value) -> String {
        if self.is_secret {
            format!("\"{}\"", type_of(value))
        } else {
            shown(value)
        }
    }

    /// Adds a fault of the current value.
    fn add(&mut self, fault: String) {
        let text = match field(&self.path) {
            field if field.is_empty() => fault,
            field => format!("{field}: {fault}"),
        };
        self.push(pointer(&self.path), text);
    }

    /// Adds a fault of a value one step below.
    fn add_at(&mut self, step: Step<'_>, fault: String) {
        let path = self.below(step);
        self.push(pointer(&path), format!("{}: {fault}", field(&path)));
    }

    /// Adds a fault of a value one step below which is not there.
    fn add_below(&mut self, step: Step<'_>, fault: String) {
        let path = field(&self.below(step));
        self.push(pointer(&self.path), format!("{path}: {fault}"));
    }

    fn below<'p>(&self, step: Step<'p>) -> Vec<Step<'p>>
    where
        'v: 'p,
    {
        let mut path: Vec<Step<'p>> = self.path.clone();
        path.push(step);
        path
    }

    fn push(&mut self, pointer: String, text: String) {
        if self.is_full {
            return;
        }
        self.is_full = self.found.len() >= MAX_VIOLATIONS;
        let text = if self.is_full {
            format!("more than {MAX_VIOLATIONS} violations; those from here on are not listed")
        } else {
            text
        };
        self.found.push(Violation { pointer, text });
    }
}

/// Whether a field is missing in an object. For Go a null counts as missing, and so does an empty text where one of
/// several values is required.
fn is_missing(field: &Field, entries: &Map<String, Value>, shapes: &Shapes) -> bool {
    let of = shapes.get(field.of);
    match entries.get(field.name.as_ref()) {
        None => true,
        Some(Value::Null) => shapes.reader == Reader::Go || of.is_some_and(|of| !of.nullable),
        Some(Value::String(text)) if text.is_empty() && shapes.reader == Reader::Go => {
            of.is_some_and(|of| of.rules.is_some())
        }
        Some(_) => false,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;
    use serde_json::json;

    fn said(object: &Value) -> Vec<String> {
        let schemas = Schemas::bundled(Some("1.34")).unwrap();
        let found = schemas.check(object).into_iter();
        found.map(|one| format!("{} {}", one.pointer, one.text)).collect()
    }

    fn deployment(spec: Value) -> Value {
        let mut whole = json!({"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}},
            "spec": {"containers": [{"name": "a", "image": "a"}]}}});
        for (name, value) in spec.as_object().unwrap() {
            whole[name] = value.clone();
        }
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}, "spec": whole})
    }

    #[test]
    fn each_fault_has_its_place_and_the_words_of_the_server() {
        assert_eq!(said(&deployment(json!({}))), Vec::<String>::new());
        for (spec, wanted) in [
            (
                json!({"replica": 2}),
                r#"/spec/replica unknown field "spec.replica": did you mean "replicas"?"#,
            ),
            (
                json!({"Replicas": 2}),
                r#"/spec/Replicas unknown field "spec.Replicas": did you mean "replicas"?"#,
            ),
            (json!({"helm": null}), r#"/spec/helm unknown field "spec.helm""#),
            (
                json!({"replicas": "two"}),
                r#"/spec/replicas spec.replicas: Invalid value: "two": must be of type integer"#,
            ),
            (json!({"selector": null}), "/spec spec.selector: Required value"),
            (
                json!({"strategy": {"type": "Rolling"}}),
                r#"/spec/strategy/type spec.strategy.type: Unsupported value: "Rolling": supported values: "Recreate", "RollingUpdate""#,
            ),
            (
                json!({"template": {"spec": {"containers": [{"name": "a", "env": [{"name": "P", "value": 80}]}]}}}),
                "/spec/template/spec/containers/0/env/0/value spec.template.spec.containers[0].env[0].value: Invalid value: 80: \
                 must be of type string: put it in quotes",
            ),
            (
                json!({"template": {"spec": {"containers": {"name": "a"}}}}),
                r#"/spec/template/spec/containers spec.template.spec.containers: Invalid value: "object": must be of type array"#,
            ),
        ] {
            assert_eq!(said(&deployment(spec)), [wanted]);
        }
    }

    #[test]
    fn an_object_says_what_it_is() {
        assert_eq!(said(&json!([])), [r#" Invalid value: "array": must be of type object"#]);
        assert_eq!(said(&json!({"kind": "Pod"})), [" apiVersion: Required value"]);
        assert_eq!(
            said(&json!({"apiVersion": "v1", "kind": 5})),
            ["/kind kind: Invalid value: 5: must be of type string"]
        );
        assert_eq!(
            said(&json!({"apiVersion": "example.com/v1", "kind": "Pod", "x": 1})),
            [""; 0]
        );
    }

    #[test]
    fn secrets_are_not_shown() {
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, "data": {"a": "hunter2", "b": 5},
            "stringData": {"c": 42}, "type": {"d": "e"}});
        assert_eq!(
            said(&secret),
            [
                r#"/data/a data.a: Invalid value: "string": illegal base64 data at input byte 4"#,
                r#"/data/b data.b: Invalid value: "integer": must be of type string"#,
                r#"/stringData/c stringData.c: Invalid value: "integer": must be of type string: put it in quotes"#,
                r#"/type type: Invalid value: "object": must be of type string"#,
            ]
        );
    }

    #[test]
    fn a_status_is_decoded_and_not_validated() {
        let mut object = deployment(json!({}));
        object["status"] = json!({"conditions": [{"type": "Available"}], "replicas": "x", "foo": 1});
        assert_eq!(
            said(&object),
            [
                r#"/status/foo unknown field "status.foo""#,
                r#"/status/replicas status.replicas: Invalid value: "x": must be of type integer"#,
            ]
        );
    }

    #[test]
    fn lists_are_looked_into() {
        let bad = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": 1}});
        let text = "data.a: Invalid value: 1: must be of type string: put it in quotes";
        let list = json!({"apiVersion": "v1", "kind": "List", "items": [{}, bad.clone()]});
        assert_eq!(
            said(&list),
            [
                "/items/0 items[0].apiVersion: Required value".to_owned(),
                "/items/0 items[0].kind: Required value".to_owned(),
                format!("/items/1/data/a items[1].{text}"),
            ]
        );
        let list = json!({"apiVersion": "v1", "kind": "ConfigMapList", "items": [{"data": {"a": 1}}]});
        assert_eq!(said(&list), [format!("/items/0/data/a items[0].{text}")]);
    }

    #[test]
    fn hostile_objects_end() {
        let mut schema = json!({"type": "object"});
        for _ in 0..2000 {
            // Not by the macro, which copies.
            let fields = Map::from_iter([("a".to_owned(), schema)]);
            schema = json!({"type": "object"});
            schema["properties"] = Value::Object(fields);
        }
        let mut deep = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "spec": {"group": "a",
            "scope": "Cluster", "names": {"plural": "a", "kind": "A"}, "versions": [{"name": "v1", "served": true, "storage": true,
            "schema": {}}]}});
        deep["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = schema;
        let found = said(&deep);
        assert!(found.len() == 1 && found[0].ends_with("nested more than 1000 deep"));
        assert!(Schemas::bundled(None).unwrap().add_crd(&deep).is_err());
        // Values of serde_json are dropped recursively, so this one is taken apart by hand.
        dismantle(deep);
        let many: Map<String, Value> = (0..10_000).map(|n| (format!("f{n}"), json!(n))).collect();
        let found = said(&json!({"apiVersion": "v1", "kind": "ConfigMap", "data": many}));
        assert_eq!(found.len(), MAX_VIOLATIONS + 1);
    }

    fn dismantle(value: Value) {
        let mut waiting = vec![value];
        while let Some(value) = waiting.pop() {
            match value {
                Value::Object(entries) => waiting.extend(entries.into_iter().map(|(_, value)| value)),
                Value::Array(items) => waiting.extend(items),
                _ => {}
            }
        }
    }
}
