//! Passes a kustomization through Go's struct: unknown and empty fields are dropped, fields in another case and numbers
//! for strings are accepted, and values of the wrong type are errors in Go's words.
//!
//! Nodes keep their places, so that a build can still report the place of something that Flux has rewritten.

use super::field_table::{Field, Shape, Struct};
use bumpwright_gostd::format_float;
use bumpwright_yaml::{Dialect, Mapping, Node, Place, Resolved, Scalar, Value, decode, write_json};

/// A value that does not fit its field.
#[derive(Debug)]
pub(super) struct FitError {
    /// Go's message.
    pub problem: String,
    /// The place of the value.
    pub place: Place,
}

/// Converts `node` to a struct. Null is an empty struct.
pub(super) fn fit(node: &Node, to: &'static Struct) -> Result<Mapping, FitError> {
    let fitted = Fitter::default().fields(node, to, true)?;
    Ok(match fitted.value {
        Value::Mapping(mapping) => mapping,
        _ => Mapping::default(),
    })
}

/// The path from the root to a field.
#[derive(Default)]
struct Fitter {
    inside: Option<&'static str>,
    fields: Vec<&'static Field>,
}

impl Fitter {
    fn fit_error(&self, node: &Node, shape: &str, with_number: bool) -> FitError {
        let actual = match &node.value {
            Value::Mapping(_) => "object".to_owned(),
            Value::Sequence(_) => "array".to_owned(),
            Value::Scalar(scalar) => match decode(scalar, Dialect::V2) {
                Ok(Resolved::Bool(_)) => "bool".to_owned(),
                Ok(Resolved::Int(_) | Resolved::Uint(_) | Resolved::Float(_)) if with_number => {
                    format!("number {}", json(node))
                }
                Ok(Resolved::Int(_) | Resolved::Uint(_) | Resolved::Float(_)) => "number".to_owned(),
                _ => "string".to_owned(),
            },
        };
        let place = match self.inside {
            Some(inside) => {
                let fields = self.fields.iter();
                let fields: String = fields
                    .map(|field| format!(".{}{}", field.embedded, field.name))
                    .collect();
                format!("struct field {inside}{fields}")
            }
            None => "value".to_owned(),
        };
        FitError {
            problem: format!("json: cannot unmarshal {actual} into Go {place} of type {shape}"),
            place: node.place,
        }
    }

    fn value(&mut self, node: &Node, shape: &Shape, coerces: bool) -> Result<Node, FitError> {
        if node.is_null() {
            return Ok(zero(shape).at(node.place));
        }
        let wrong = |fitter: &Self| fitter.fit_error(node, &shape.go_name(), matches!(shape, Shape::Number(_)));
        match (shape, &node.value) {
            (Shape::Pointer(of), _) => self.value(node, of, coerces),
            (Shape::Struct(of), Value::Mapping(_)) => self.fields(node, of, coerces),
            (Shape::List(of), Value::Sequence(sequence)) => {
                let items = sequence.items.iter().map(|item| self.value(item, of, coerces));
                Ok(Node::sequence(items.collect::<Result<_, _>>()?).at(node.place))
            }
            (Shape::Anything, Value::Mapping(_)) => Ok(node.clone()),
            (Shape::TextMap, Value::Mapping(mapping)) => self.text_map(node, mapping, coerces),
            (Shape::Text | Shape::NamedText(_), Value::Scalar(scalar)) => {
                let text = text_of(scalar, coerces).ok_or_else(|| wrong(self))?;
                Ok(text.map_or_else(|| node.clone(), |text| Node::string(text).at(node.place)))
            }
            (Shape::Flag, Value::Scalar(scalar)) => match decode(scalar, Dialect::V2) {
                Ok(Resolved::Bool(_)) => Ok(node.clone()),
                _ => Err(wrong(self)),
            },
            (Shape::Number(_), Value::Scalar(_)) => match json(node).parse::<i64>() {
                Ok(_) => Ok(node.clone()),
                Err(_) => Err(wrong(self)),
            },
            _ => Err(wrong(self)),
        }
    }

    fn text_map(&mut self, node: &Node, mapping: &Mapping, coerces: bool) -> Result<Node, FitError> {
        let mut fitted = Mapping::default();
        for entry in in_order(mapping) {
            let value = self.value(&entry.value, &Shape::Text, coerces)?;
            let mut entry = entry.clone();
            entry.value = value;
            fitted.entries.push(entry);
        }
        Ok(Node::new(Value::Mapping(fitted)).at(node.place))
    }

    fn fields(&mut self, node: &Node, to: &'static Struct, coerces: bool) -> Result<Node, FitError> {
        let mut fitted = Mapping::default();
        match &node.value {
            Value::Mapping(mapping) => {
                let outside = self.inside.replace(to.name);
                for entry in in_order(mapping) {
                    let Some(field) = named(to, &entry.key.text) else {
                        continue;
                    };
                    self.fields.push(field);
                    let value = self.value(&entry.value, &field.shape, coerces && field.embedded.is_empty())?;
                    self.fields.pop();
                    // Null sets pointers, lists and maps to nil, and keeps all other values.
                    if !entry.value.is_null() || value.is_null() || fitted.get(field.name).is_none() {
                        fitted.remove(field.name);
                        let mut entry = entry.clone();
                        entry.key = Scalar::string(field.name);
                        entry.value = value;
                        fitted.entries.push(entry);
                    }
                }
                self.inside = outside;
            }
            _ if node.is_null() => {}
            _ => return Err(self.fit_error(node, &format!("types.{}", to.name), false)),
        }
        settle(&mut fitted, to);
        Ok(Node::new(Value::Mapping(fitted)).at(node.place))
    }
}

/// Drops fields that are not written, and adds those that always are.
fn settle(fitted: &mut Mapping, to: &Struct) {
    for field in to.fields {
        match fitted.get(field.name) {
            Some(value) if !field.always && is_empty(value, &field.shape) => drop(fitted.remove(field.name)),
            None if field.always => fitted.set(field.name, zero(&field.shape)),
            _ => {}
        }
    }
}

/// The field for a name; one in the same case takes precedence.
fn named(to: &'static Struct, name: &str) -> Option<&'static Field> {
    let exact = to.fields.iter().find(|field| field.name == name);
    exact.or_else(|| to.fields.iter().find(|field| field.name.eq_ignore_ascii_case(name)))
}

/// Entries in the order of JSON.
fn in_order(mapping: &Mapping) -> Vec<&bumpwright_yaml::Entry> {
    let mut entries: Vec<_> = mapping.entries.iter().collect();
    entries.sort_by(|one, other| one.key.text.as_bytes().cmp(other.key.text.as_bytes()));
    entries
}

/// The text of a scalar: unchanged for a string, a new one for a converted scalar, an error otherwise.
#[allow(clippy::option_option)] // as said
fn text_of(scalar: &Scalar, coerces: bool) -> Option<Option<String>> {
    match decode(scalar, Dialect::V2).ok()? {
        Resolved::Text(_) | Resolved::Timestamp(_) | Resolved::Bytes(_) => Some(None),
        Resolved::Bool(value) => coerces.then(|| Some(value.to_string())),
        Resolved::Int(value) => coerces.then(|| Some(value.to_string())),
        Resolved::Uint(value) => coerces.then(|| Some(value.to_string())),
        Resolved::Float(value) => coerces.then(|| Some(format_float(value, b'g', None, 32))),
        Resolved::Null => Some(Some(String::new())),
    }
}

/// The value of an absent field.
fn zero(shape: &Shape) -> Node {
    match shape {
        Shape::Text | Shape::NamedText(_) => Node::string(""),
        Shape::Flag => Node::new(Value::Scalar(plain("false", bumpwright_yaml::Tag::Bool))),
        Shape::Number(_) => Node::new(Value::Scalar(plain("0", bumpwright_yaml::Tag::Int))),
        Shape::Anything | Shape::TextMap | Shape::List(_) | Shape::Pointer(_) => Node::null(),
        Shape::Struct(of) => {
            let mut fields = Mapping::default();
            settle(&mut fields, of);
            Node::new(Value::Mapping(fields))
        }
    }
}

fn plain(text: &str, tag: bumpwright_yaml::Tag) -> Scalar {
    Scalar {
        text: text.into(),
        tag,
        style: bumpwright_yaml::Style::Plain,
    }
}

/// Whether Go's `omitempty` omits a value.
fn is_empty(node: &Node, shape: &Shape) -> bool {
    if node.is_null() {
        return true;
    }
    match (shape, &node.value) {
        (Shape::Text | Shape::NamedText(_), Value::Scalar(scalar)) => scalar.text.is_empty(),
        (Shape::Flag, Value::Scalar(scalar)) => decode(scalar, Dialect::V2) == Ok(Resolved::Bool(false)),
        (Shape::Number(_), _) => json(node) == "0",
        (Shape::Anything | Shape::TextMap, Value::Mapping(mapping)) => mapping.entries.is_empty(),
        (Shape::List(_), Value::Sequence(sequence)) => sequence.items.is_empty(),
        _ => false,
    }
}

/// A scalar as JSON; a value without a form there is not a number either.
fn json(node: &Node) -> String {
    let mut text = String::new();
    let _ = write_json(node, &mut text);
    text
}
