//! Finds the fields of a spec in an object, creating them on request, and calls a function at each.
//!
//! Follows kustomize's `fieldspec` filter: lists on the way are traversed, null on the way ends it, and an object
//! of another type is left alone.

use super::error::{Fault, FieldError, kind_of};
use super::shared::Step;
use super::spec::FieldSpec;
use bumpwright_yaml::{Mapping, Node, Scalar, Sequence, Style, Tag, Value};
use compact_str::CompactString;

/// The node to create at the end of a missing path, before it is set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NewNode {
    /// An empty scalar; the tag replaces that of an existing null.
    Scalar(Tag),
    Mapping,
}

impl NewNode {
    fn make(&self) -> Node {
        Node::new(match self {
            Self::Scalar(tag) => Value::Scalar(Scalar {
                text: CompactString::default(),
                tag: tag.clone(),
                style: Style::Plain,
            }),
            Self::Mapping => Value::Mapping(Mapping::default()),
        })
    }

    /// Turns a null into this kind of node. Its text stays, as in kustomize.
    fn replace_null(&self, node: &mut Node) {
        match (self, &mut node.value) {
            (Self::Scalar(tag), Value::Scalar(scalar)) => scalar.tag = tag.clone(),
            _ => node.value = self.make().value,
        }
    }
}

/// Called at a field with the path to it.
type Set<'a> = &'a mut dyn FnMut(&mut Node, &[Step]) -> Result<(), Fault>;

/// Calls `set` at every field of `object` that one of `specs` selects, spec by spec.
pub fn walk_all(
    specs: &[FieldSpec],
    object: &mut Node,
    new: Option<&NewNode>,
    set: &mut dyn FnMut(&mut Node) -> Result<(), Fault>,
) -> Result<(), FieldError> {
    walk_traced(specs, object, new, &mut |node, _| set(node))
}

/// As [`walk_all`], passing the path from the object to the field to `set`.
pub(crate) fn walk_traced(
    specs: &[FieldSpec],
    object: &mut Node,
    new: Option<&NewNode>,
    set: Set<'_>,
) -> Result<(), FieldError> {
    let gvk = crate::Gvk::of(object);
    let mut ours = specs.iter().filter(|spec| gvk.is_selected(&spec.gvk));
    ours.try_for_each(|spec| {
        let mut walk = Walk {
            new: new.filter(|_| spec.create),
            set: &mut *set,
            way: Vec::new(),
        };
        let outcome = walk.node(object, spec.parts());
        outcome.map_err(|fault| FieldError::new(&spec.path, object, fault))
    })
}

/// Calls `set` at every field of `object` that `spec` selects; none if it is for other types.
///
/// `new` is the node to create at the end of the path, if the spec has `create`; without it, none is created.
///
/// # Errors
/// A scalar is on the way, a part of the path cannot be a key of a mapping, or `set` fails.
pub fn walk(
    spec: &FieldSpec,
    object: &mut Node,
    new: Option<&NewNode>,
    set: &mut dyn FnMut(&mut Node) -> Result<(), Fault>,
) -> Result<(), FieldError> {
    walk_all(std::slice::from_ref(spec), object, new, set)
}

struct Walk<'a> {
    new: Option<&'a NewNode>,
    set: Set<'a>,
    way: Vec<Step>,
}

impl Walk<'_> {
    fn node(&mut self, node: &mut Node, path: &[CompactString]) -> Result<(), Fault> {
        let Some((part, rest)) = path.split_first() else {
            return (self.set)(node, &self.way);
        };
        if node.is_null() {
            return Ok(());
        }
        match &mut node.value {
            Value::Sequence(sequence) => sequence
                .items
                .iter_mut()
                .enumerate()
                .try_for_each(|(at, item)| self.below(Step::At(at), item, path)),
            Value::Mapping(mapping) => {
                check_part(part, node.place)?;
                self.mapping(mapping, part, rest)
            }
            Value::Scalar(_) => Err(Fault::new(
                node.place,
                format!(
                    "expected sequence or mapping node before {part:?}, found {}",
                    kind_of(node)
                ),
            )),
        }
    }

    fn below(&mut self, step: Step, node: &mut Node, path: &[CompactString]) -> Result<(), Fault> {
        self.way.push(step);
        let outcome = self.node(node, path);
        self.way.pop();
        outcome
    }

    fn mapping(&mut self, mapping: &mut Mapping, part: &str, rest: &[CompactString]) -> Result<(), Fault> {
        let name = part.strip_suffix("[]");
        let is_list = name.is_some();
        let name = name.unwrap_or(part).trim();
        let new = self.new.filter(|_| !is_list);
        let new = if rest.is_empty() {
            new
        } else {
            new.map(|_| &NewNode::Mapping)
        };
        let field = match new {
            Some(new) => mapping.get_or_insert_with(name, || new.make()),
            None => match mapping.get_mut(name) {
                Some(field) => field,
                None => return Ok(()),
            },
        };
        if field.is_null() {
            if is_list {
                field.value = Value::Sequence(Sequence::default());
            } else if let Some(new) = new {
                new.replace_null(field);
            }
        }
        self.below(Step::Key(name.into()), field, rest)
    }
}

/// Rejects the parts that kyaml's `PathGetter` takes for positions in a list.
fn check_part(part: &str, place: bumpwright_yaml::Place) -> Result<(), Fault> {
    let name = part.strip_suffix("[]").unwrap_or(part).trim();
    let is_index = name.parse::<i64>().is_ok() || name == "-" || (name.starts_with('[') && name.ends_with(']'));
    let problem = if name.is_empty() {
        "cannot set or create an empty field name".to_owned()
    } else if is_index {
        format!("wrong node kind: {name:?} is a position in a list, but there is a mapping")
    } else if name == "*" {
        "wildcard is not supported in the path of a field spec; leave it out, lists are walked through".to_owned()
    } else {
        return Ok(());
    };
    Err(Fault::new(place, problem))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{json, node};

    fn set_x(object: &mut Node, path: &str, create: bool, new: Option<NewNode>) -> Result<(), FieldError> {
        let spec = FieldSpec::of_any(path, create);
        walk(&spec, object, new.as_ref(), &mut |field| {
            super::super::set_scalar(field, "x", Some(Tag::Str))
        })
    }

    fn after(object: &str, path: &str, create: bool) -> String {
        let mut object = node(object);
        set_x(&mut object, path, create, Some(NewNode::Scalar(Tag::Str))).unwrap();
        json(&object)
    }

    #[test]
    fn lists_are_walked_through() {
        let object = r#"{"a":[{"b":"1"},{"c":"2"},{"b":"3"}]}"#;
        let set = r#"{"a":[{"b":"x"},{"c":"2"},{"b":"x"}]}"#;
        assert_eq!(after(object, "a/b", false), set);
        assert_eq!(after(object, "a[]/b", false), set);
        assert_eq!(
            after(object, "a[]/b", true),
            r#"{"a":[{"b":"x"},{"c":"2","b":"x"},{"b":"x"}]}"#
        );
    }

    #[test]
    fn what_is_missing_is_made_when_told_to() {
        assert_eq!(after("{}", "a/b/c", true), r#"{"a":{"b":{"c":"x"}}}"#);
        assert_eq!(after("{}", "a/b/c", false), "{}");
        assert_eq!(after("{}", "a[]/b", true), "{}", "a list is never made");
        assert_eq!(after(r#"{"a":null}"#, "a/b", true), r#"{"a":{"b":"x"}}"#);
        assert_eq!(after(r#"{"a":null}"#, "a/b", false), r#"{"a":null}"#);
    }

    #[test]
    fn a_scalar_on_the_way_is_an_error() {
        let mut object = node(r#"{"kind":"K","a":"1"}"#);
        let error = set_x(&mut object, "a/b", true, None).unwrap_err().to_string();
        assert!(
            error.contains(r#"field "a/b" of K.[noVer].[noGrp]/[noName].[noNs]"#),
            "{error}"
        );
        assert!(error.contains("expected sequence or mapping node"), "{error}");
        let mut list = node(r#"{"a":["1"]}"#);
        assert!(
            set_x(&mut list, "a", true, None).is_err(),
            "a list at the end of the path is the field itself"
        );
        assert!(set_x(&mut object, "0", true, None).is_err(), "a position in no list");
        assert!(set_x(&mut object, "a//b", true, None).is_err());
    }
}
