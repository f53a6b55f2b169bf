//! The interpreter: evaluates nodes.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value as Json;

use super::budget::Budget;
use super::tree::{FoldNode, FoldStep, Node};
use super::{attribute, call};
use crate::value::{Fault, Key, Map, Value, equal, show};

const STACK_NEEDED: usize = 128 * 1024;

const STACK_ADDED: usize = 2 * 1024 * 1024;

/// The variables of an evaluation.
#[derive(Clone, Debug, Default)]
pub struct Variables {
    values: BTreeMap<String, Result<Value, Fault>>,
    names_have_dots: bool,
}

impl Variables {
    /// Variables with JSON values.
    pub fn new<'j>(values: impl IntoIterator<Item = (&'j str, &'j Json)>) -> Self {
        let mut variables = Self::default();
        for (name, json) in values {
            variables.names_have_dots |= name.contains('.');
            variables.values.insert(name.to_owned(), Ok(Value::from(json)));
        }
        variables
    }

    /// The fields of an object as variables.
    pub fn of_object(object: &Json) -> Self {
        let fields = object.as_object().into_iter().flatten();
        Self::new(fields.map(|(name, value)| (name.as_str(), value)))
    }
}

/// The variables of the evaluation and of the enclosing folds, innermost last.
#[derive(Debug)]
pub struct Scope<'v> {
    variables: &'v Variables,
    locals: Vec<(Arc<str>, Result<Value, Fault>)>,
    pub names_have_dots: bool,
}

impl Scope<'_> {
    /// The value of a name, or its fault.
    pub fn lookup(&self, name: &str) -> Option<&Result<Value, Fault>> {
        let local = self.locals.iter().rev().find(|(local, _)| **local == *name);
        local
            .map(|(_, value)| value)
            .or_else(|| self.variables.values.get(name))
    }
}

/// The value of a plan.
///
/// # Errors
/// When the evaluation fails.
pub fn run(node: &Node, variables: &Variables) -> Result<Value, Fault> {
    let mut scope = Scope {
        variables,
        locals: Vec::new(),
        names_have_dots: variables.names_have_dots,
    };
    eval(node, &mut scope, &mut Budget::new())
}

/// The value of a node.
pub fn eval(node: &Node, scope: &mut Scope<'_>, budget: &mut Budget) -> Result<Value, Fault> {
    budget.steps(1)?;
    stacker::maybe_grow(STACK_NEEDED, STACK_ADDED, || eval_here(node, scope, budget))
}

fn eval_here(node: &Node, scope: &mut Scope<'_>, budget: &mut Budget) -> Result<Value, Fault> {
    match node {
        Node::Constant(value) => value.clone(),
        Node::Attribute(attribute) => attribute::evaluate(attribute, scope, budget),
        Node::And(terms) => logic(terms, false, scope, budget),
        Node::Or(terms) => logic(terms, true, scope, budget),
        Node::Equal(sides) => Ok(Value::Bool(equals(sides, scope, budget)?)),
        Node::NotEqual(sides) => Ok(Value::Bool(!equals(sides, scope, budget)?)),
        Node::NotStrictlyFalse(inner) => match eval(inner, scope, budget) {
            Ok(Value::Bool(value)) => Ok(Value::Bool(value)),
            Err(fault) if fault.is_final() => Err(fault),
            _ => Ok(Value::Bool(true)),
        },
        Node::Call(call) => {
            let mut arguments = Vec::with_capacity(call.arguments.len());
            for argument in &call.arguments {
                arguments.push(eval(argument, scope, budget)?);
            }
            call::call(call, arguments, budget)
        }
        Node::Matches(regexp, arguments) => {
            let [text, _] = arguments.as_ref();
            match eval(text, scope, budget)? {
                Value::String(text) => {
                    let mut search = budget.search(&text)?;
                    let is_match = regexp.is_match(text.as_bytes(), &mut search);
                    is_match.map(Value::Bool).map_err(|_| Fault::interrupted())
                }
                _ => Err(Fault::no_overload()),
            }
        }
        Node::OptionalOr(sides) => {
            let [left, right] = sides.as_ref();
            match eval(left, scope, budget)? {
                Value::Optional(None) => eval(right, scope, budget),
                other => Ok(other),
            }
        }
        Node::OptionalOrValue(sides) => {
            let [left, right] = sides.as_ref();
            match eval(left, scope, budget)? {
                Value::Optional(None) => eval(right, scope, budget),
                Value::Optional(Some(inner)) => Ok(inner.as_ref().clone()),
                other => Ok(other),
            }
        }
        Node::List(elements) => list(elements, scope, budget),
        Node::Map(entries) => map(entries, scope, budget),
        Node::Fold(node) => fold(node, scope, budget),
    }
}

/// `&&` and `||`: the deciding value wins over a fault on either side, else the first fault is returned.
fn logic(terms: &[Node; 2], deciding: bool, scope: &mut Scope<'_>, budget: &mut Budget) -> Result<Value, Fault> {
    let mut first_fault = None;
    for term in terms {
        let fault = match eval(term, scope, budget) {
            Ok(Value::Bool(value)) if value == deciding => return Ok(Value::Bool(deciding)),
            Ok(Value::Bool(_)) => continue,
            Ok(_) => Fault::no_overload(),
            Err(fault) if fault.is_final() => return Err(fault),
            Err(fault) => fault,
        };
        first_fault.get_or_insert(fault);
    }
    first_fault.map_or(Ok(Value::Bool(!deciding)), Err)
}

fn equals(sides: &[Node; 2], scope: &mut Scope<'_>, budget: &mut Budget) -> Result<bool, Fault> {
    let [left, right] = sides;
    let left = eval(left, scope, budget)?;
    let right = eval(right, scope, budget)?;
    budget.comparison(&left)?;
    Ok(equal(&left, &right))
}

fn list(elements: &[(Node, bool)], scope: &mut Scope<'_>, budget: &mut Budget) -> Result<Value, Fault> {
    budget.bytes(elements.len() * size_of::<Value>())?;
    let mut values = Vec::with_capacity(elements.len());
    for (element, optional) in elements {
        match (eval(element, scope, budget)?, optional) {
            (value, false) => values.push(value),
            (Value::Optional(Some(inner)), true) => values.push(inner.as_ref().clone()),
            (Value::Optional(None), true) => {}
            (other, true) => {
                let value = show(&other);
                return Err(Fault::new(format!(
                    "cannot initialize optional list element from non-optional value {value}"
                )));
            }
        }
    }
    Ok(Value::list(values))
}

fn map(entries: &[(Node, Node, bool)], scope: &mut Scope<'_>, budget: &mut Budget) -> Result<Value, Fault> {
    budget.bytes(entries.len() * (size_of::<Value>() + size_of::<Key>()))?;
    let mut values = Map::new();
    for (key, value, optional) in entries {
        let key = eval(key, scope, budget)?;
        let value = eval(value, scope, budget)?;
        match (value, optional) {
            (value, false) => {
                values.insert(entry_key(&key)?, value);
            }
            (Value::Optional(Some(inner)), true) => {
                values.insert(entry_key(&key)?, inner.as_ref().clone());
            }
            (Value::Optional(None), true) => {
                values.remove(&entry_key(&key)?);
            }
            (other, true) => {
                let (key, value) = (show(&key), show(&other));
                return Err(Fault::new(format!(
                    "cannot initialize optional entry '{key}' from non-optional value {value}"
                )));
            }
        }
    }
    Ok(Value::map(values))
}

fn fold(node: &FoldNode, scope: &mut Scope<'_>, budget: &mut Budget) -> Result<Value, Fault> {
    let elements: Arc<Vec<Value>> = match eval(&node.range, scope, budget)? {
        Value::List(list) => list,
        Value::Map(map) => {
            budget.bytes(map.len() * size_of::<Value>())?;
            Arc::new(map.keys().map(Key::value).collect())
        }
        other => return Err(Fault::new(not_iterable(&other))),
    };
    let mut accumulated = eval(&node.initial, scope, budget);
    for element in elements.iter() {
        scope.locals.push((Arc::clone(&node.variable), Ok(element.clone())));
        let goes_on = one_round(node, &mut accumulated, scope, budget);
        scope.locals.pop();
        if !goes_on? {
            break;
        }
    }
    scope.locals.push((Arc::clone(&node.accumulator), accumulated));
    let result = eval(&node.result, scope, budget);
    scope.locals.pop();
    result
}

/// Runs a fold for one element; returns whether to continue.
fn one_round(
    node: &FoldNode,
    accumulated: &mut Result<Value, Fault>,
    scope: &mut Scope<'_>,
    budget: &mut Budget,
) -> Result<bool, Fault> {
    if let FoldStep::Append { predicate, elements } = &node.step {
        append(predicate.as_ref(), elements, accumulated, scope, budget)?;
        return Ok(true);
    }
    scope.locals.push((Arc::clone(&node.accumulator), accumulated.clone()));
    let condition = eval(&node.condition, scope, budget);
    let step = match (&condition, &node.step) {
        (Ok(Value::Bool(false)), _) => None,
        (_, FoldStep::Replace(step)) => Some(eval(step, scope, budget)),
        _ => None,
    };
    scope.locals.pop();
    match (condition, step) {
        (Err(fault), _) | (_, Some(Err(fault))) if fault.is_final() => Err(fault),
        (_, Some(step)) => {
            *accumulated = step;
            Ok(true)
        }
        (_, None) => Ok(false),
    }
}

fn append(
    predicate: Option<&Node>,
    elements: &Node,
    accumulated: &mut Result<Value, Fault>,
    scope: &mut Scope<'_>,
    budget: &mut Budget,
) -> Result<(), Fault> {
    let holds = match predicate {
        None => Ok(true),
        Some(predicate) => match eval(predicate, scope, budget) {
            Ok(Value::Bool(holds)) => Ok(holds),
            Ok(_) => Err(Fault::no_overload()),
            Err(fault) if fault.is_final() => return Err(fault),
            Err(fault) => Err(fault),
        },
    };
    match holds {
        Ok(false) => {}
        Err(fault) => *accumulated = Err(fault),
        Ok(true) => match (eval(elements, scope, budget), &mut *accumulated) {
            (Err(fault), _) if fault.is_final() => return Err(fault),
            (Ok(Value::List(more)), Ok(Value::List(list))) => {
                budget.bytes(more.len() * size_of::<Value>())?;
                Arc::make_mut(list).extend(more.iter().cloned());
            }
            (Err(fault), Ok(_)) => *accumulated = Err(fault),
            _ => {}
        },
    }
    Ok(())
}

fn not_iterable(value: &Value) -> String {
    let name = match value {
        Value::Null => "types.Null",
        Value::Bool(_) => "types.Bool",
        Value::Int(_) => "types.Int",
        Value::Uint(_) => "types.Uint",
        Value::Double(_) => "types.Double",
        Value::String(_) => "types.String",
        Value::Bytes(_) => "types.Bytes",
        Value::Timestamp(_) => "types.Timestamp",
        Value::Duration(_) => "types.Duration",
        Value::Type(_) => "*types.Type",
        Value::Optional(_) => "*types.Optional",
        Value::List(_) | Value::Map(_) => "",
    };
    format!("got '{name}', expected iterable type")
}

/// The key of an entry of a map literal.
fn entry_key(value: &Value) -> Result<Key, Fault> {
    Key::of(value).ok_or_else(|| Fault::new(format!("unsupported key type: {}", value.type_name())))
}
