//! Names with fields and indexes: `metadata.labels['app'].?name`.
//!
//! In an expression that was not checked, `a.b.c` can be the field `c` of a variable `a.b`: the longest name that is a
//! variable counts, and an error names the longest of all.

use std::sync::Arc;

use super::budget::Budget;
use super::run::{Scope, eval};
use super::tree::{Attribute, Base, Node, Qualifier, QualifierKey};
use crate::check::functions::TYPE_NAMES;
use crate::value::{Fault, Key, Map, Value, show, show_quoted_type};
use bumpwright_text::Parts;

impl Attribute {
    pub fn named(name: &str) -> Self {
        Self {
            base: Base::Named(Arc::from(name)),
            qualifiers: Vec::new(),
            test: false,
        }
    }

    /// The node's attribute, or a new one on the node's value.
    pub fn of(node: Node) -> Self {
        match node {
            Node::Attribute(attribute) => attribute,
            other => Self {
                base: Base::Relative(Box::new(other)),
                qualifiers: Vec::new(),
                test: false,
            },
        }
    }

    /// Appends a field or an index. A test for presence can only be followed by further tests.
    ///
    /// # Errors
    /// When a computed key follows a test.
    pub(crate) fn qualify(&mut self, mut qualifier: Qualifier) -> Result<(), Fault> {
        if self.test {
            if matches!(qualifier.key, QualifierKey::Dynamic(_)) {
                return Err(Fault::new("test only expressions must have constant qualifiers"));
            }
            qualifier.test = true;
        }
        self.test = qualifier.test;
        match &mut self.base {
            Base::Conditional(_, branches) => {
                let [then, otherwise] = branches.as_mut();
                then.qualify(qualifier.clone())?;
                otherwise.qualify(qualifier)
            }
            _ => {
                self.qualifiers.push(qualifier);
                Ok(())
            }
        }
    }

    /// Whether it is a name without fields and indexes.
    pub(crate) fn is_plain_name(&self, name: &str) -> bool {
        self.qualifiers.is_empty() && matches!(&self.base, Base::Named(own) if **own == *name)
    }
}

/// The value of an attribute in an expression.
pub fn evaluate(attribute: &Attribute, scope: &mut Scope<'_>, budget: &mut Budget) -> Result<Value, Fault> {
    let value = resolve(attribute, scope, budget).map_err(plain)?;
    match value {
        Value::Optional(inner) if attribute.test => Ok(Value::Bool(inner.is_some())),
        value => Ok(value),
    }
}

/// The same fault, but without retrying a shorter name.
fn plain(fault: Fault) -> Fault {
    if fault.is_missing_attribute() {
        return Fault::new(fault.into_text());
    }
    fault
}

/// The value of an attribute; the fault of a missing name is distinguishable.
fn resolve(attribute: &Attribute, scope: &mut Scope<'_>, budget: &mut Budget) -> Result<Value, Fault> {
    budget.steps(1)?;
    match &attribute.base {
        Base::Named(name) => resolve_name(name, &attribute.qualifiers, scope, budget),
        Base::Relative(node) => {
            let value = eval(node, scope, budget)?;
            apply(value, &attribute.qualifiers, scope, budget)
        }
        Base::Conditional(condition, branches) => {
            let [then, otherwise] = branches.as_ref();
            match eval(condition, scope, budget)? {
                Value::Bool(true) => resolve(then, scope, budget),
                Value::Bool(false) => resolve(otherwise, scope, budget),
                _ => Err(Fault::no_overload()),
            }
        }
    }
}

fn resolve_name(
    name: &str,
    qualifiers: &[Qualifier],
    scope: &mut Scope<'_>,
    budget: &mut Budget,
) -> Result<Value, Fault> {
    let texts = qualifiers.iter().map_while(|qualifier| match &qualifier.key {
        QualifierKey::Constant(Value::String(text)) => Some(text),
        _ => None,
    });
    let mut names = vec![name.to_owned()];
    // Usually the first name is the variable, and no variable has a dot in its name.
    if scope.names_have_dots || scope.lookup(name).is_none() {
        for text in texts {
            let longest = names.last().map_or("", String::as_str);
            names.push(format!("{longest}.{text}"));
        }
    }
    let mut missing = None;
    for (count, name) in names.iter().enumerate().rev() {
        let rest = qualifiers.tail(count);
        match resolve_whole(name, rest, scope, budget) {
            Err(fault) if fault.is_missing_attribute() => {
                missing.get_or_insert(fault);
            }
            other => return other,
        }
    }
    Err(missing.unwrap_or_else(|| Fault::missing_attribute(name)))
}

fn resolve_whole(
    name: &str,
    qualifiers: &[Qualifier],
    scope: &mut Scope<'_>,
    budget: &mut Budget,
) -> Result<Value, Fault> {
    if let Some(value) = scope.lookup(name) {
        let value = value.clone()?;
        return apply(value, qualifiers, scope, budget);
    }
    if qualifiers.is_empty() && TYPE_NAMES.contains(&name) {
        return Ok(Value::Type(Arc::from(name)));
    }
    Err(Fault::missing_attribute(name))
}

fn apply(value: Value, qualifiers: &[Qualifier], scope: &mut Scope<'_>, budget: &mut Budget) -> Result<Value, Fault> {
    if qualifiers.is_empty() {
        return Ok(value);
    }
    let (mut object, mut optional) = match value {
        Value::Optional(None) => return Ok(Value::Optional(None)),
        Value::Optional(Some(inner)) => (inner.as_ref().clone(), true),
        other => (other, false),
    };
    for qualifier in qualifiers {
        optional = optional || qualifier.optional;
        let asks = optional || qualifier.test;
        let value = match &qualifier.key {
            QualifierKey::Constant(key) => find(&object, key, asks)?,
            QualifierKey::Dynamic(node) => {
                let (key, is_native) = dynamic_key(node, scope, budget)?;
                refuse_key(&key, is_native)?;
                find(&object, &key, asks)?
            }
        };
        object = match value {
            Some(_) if qualifier.test && !optional => Value::Bool(true),
            Some(value) => value,
            None if optional => return Ok(Value::Optional(None)),
            None => Value::Bool(false),
        };
    }
    Ok(if optional { Value::some(object) } else { object })
}

/// The value of a computed key, and whether it comes unchanged from an object.
fn dynamic_key(node: &Node, scope: &mut Scope<'_>, budget: &mut Budget) -> Result<(Value, bool), Fault> {
    match node {
        Node::Attribute(attribute) => Ok((resolve(attribute, scope, budget)?, true)),
        other => Ok((eval(other, scope, budget)?, false)),
    }
}

/// Rejects a value that cannot be a key, naming its Go type.
pub(crate) fn refuse_key(key: &Value, is_native: bool) -> Result<(), Fault> {
    let name = match key {
        Value::String(_) | Value::Int(_) | Value::Uint(_) | Value::Bool(_) | Value::Double(_) => return Ok(()),
        Value::Null if is_native => "<nil>",
        Value::List(_) if is_native => "[]interface {}",
        Value::Map(_) if is_native => "map[string]interface {}",
        Value::Null => "types.Null",
        Value::List(_) => "*types.baseList",
        Value::Map(_) => "*types.baseMap",
        Value::Bytes(_) => "types.Bytes",
        Value::Timestamp(_) => "types.Timestamp",
        Value::Duration(_) => "types.Duration",
        Value::Type(_) => "*types.Type",
        Value::Optional(_) => "*types.Optional",
    };
    Err(Fault::new(format!("invalid qualifier type: {name}")))
}

/// The field or element of a value. A missing one is a fault unless `asks`.
fn find(object: &Value, key: &Value, asks: bool) -> Result<Option<Value>, Fault> {
    match object {
        Value::Map(map) => match find_in_map(map, key) {
            None if !asks => Err(Fault::new(format!("no such key: {}", show(key)))),
            found => Ok(found.cloned()),
        },
        Value::List(list) => {
            let index = list_index(key)?;
            match usize::try_from(index).ok().and_then(|index| list.get(index)) {
                None if !asks => Err(Fault::new(format!("index out of bounds: {}", show(key)))),
                found => Ok(found.cloned()),
            }
        }
        _ if asks => Ok(None),
        _ => Err(Fault::new(format!("no such key: {}", show(key)))),
    }
}

fn find_in_map<'m>(map: &'m Map, key: &Value) -> Option<&'m Value> {
    match key {
        Value::String(text) => map.get(&Key::String(Arc::clone(text))),
        other => Value::find(map, other),
    }
}

/// A number as an index of a list.
fn list_index(key: &Value) -> Result<i64, Fault> {
    let candidates = match key {
        Value::Int(index) => return Ok(*index),
        Value::Double(_) | Value::Uint(_) => Key::candidates(key),
        other => {
            let name = show_quoted_type(other);
            return Err(Fault::new(format!("unsupported index type '{name}' in list")));
        }
    };
    let whole = candidates.into_iter().find_map(|key| match key {
        Key::Int(index) => Some(index),
        _ => None,
    });
    whole.ok_or_else(|| Fault::new(format!("unsupported index value {} in list", show(key))))
}
