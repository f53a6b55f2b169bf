//! Function calls: dispatch by the arguments, and the implementations.

use std::cmp::Ordering;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use base64::engine::{DecodePaddingMode, general_purpose};

use super::budget::Budget;
use super::outcome::Outcome;
use super::tree::Call;
use super::{dates, format, strings};
use crate::check::functions::{Ability, Binding, Function, T};
use crate::value::{
    Fault, Target, Value, add, compare, convert, divide, equal, modulo, multiply, negate, show, subtract,
};
use bumpwright_re2::Regexp;

/// Calls a function with values.
///
/// # Errors
/// When no implementation accepts them, or the one that does fails.
pub fn call(call: &Call, arguments: Vec<Value>, budget: &mut Budget) -> Outcome {
    let Some(function) = call.function else {
        return Err(unknown(call, &arguments));
    };
    match function.binding {
        Binding::Single { needs, .. } => {
            if let (Some(needs), Some(first)) = (needs, arguments.first())
                && !is_able(first, needs)
            {
                return Err(unable(function.name, first));
            }
        }
        Binding::Overloads if !takes(function, &arguments) => {
            let names: Vec<&str> = arguments.iter().map(Value::type_name).collect();
            let name = function.name;
            return Err(Fault::new(format!("no such overload: {name}({})", names.join(", "))));
        }
        Binding::Unguarded { .. } if !takes(function, &arguments) => return Err(Fault::no_overload()),
        Binding::Overloads | Binding::Unguarded { .. } | Binding::Planned => {}
    }
    implementation(function.name, &arguments, budget)
}

/// cel-go's message about an unknown function, which differs for texts and times.
fn unknown(call: &Call, arguments: &[Value]) -> Fault {
    let name = &call.name;
    match arguments {
        [first, ..] if is_receiver(first) => Fault::no_overload(),
        [_] | [_, _] | [] => Fault::new(format!("no such overload: {name}")),
        _ => Fault::new(format!("no such overload: {name} {}", call.id)),
    }
}

fn unable(name: &str, first: &Value) -> Fault {
    if is_receiver(first) {
        return Fault::no_overload();
    }
    Fault::new(format!("no such overload: {name}"))
}

fn is_receiver(value: &Value) -> bool {
    matches!(value, Value::String(_) | Value::Timestamp(_) | Value::Duration(_))
}

fn is_able(value: &Value, to: Ability) -> bool {
    match value {
        Value::Int(_) => !matches!(to, Ability::Match | Ability::Size),
        Value::Uint(_) => !matches!(to, Ability::Match | Ability::Size | Ability::Negate),
        Value::Double(_) => !matches!(to, Ability::Match | Ability::Size | Ability::Modulo),
        Value::Bool(_) => matches!(to, Ability::Compare | Ability::Negate),
        Value::String(_) => matches!(to, Ability::Add | Ability::Compare | Ability::Match | Ability::Size),
        Value::Bytes(_) => matches!(to, Ability::Add | Ability::Compare | Ability::Size),
        Value::Duration(_) => {
            matches!(
                to,
                Ability::Add | Ability::Compare | Ability::Negate | Ability::Subtract
            )
        }
        Value::Timestamp(_) => matches!(to, Ability::Add | Ability::Compare | Ability::Subtract),
        Value::List(_) => matches!(to, Ability::Add | Ability::Size),
        Value::Map(_) => matches!(to, Ability::Size),
        Value::Null | Value::Type(_) | Value::Optional(_) => false,
    }
}

/// Whether an overload accepts these values.
fn takes(function: &Function, arguments: &[Value]) -> bool {
    function.overloads.iter().any(|overload| {
        let types = overload.arguments;
        types.len() == arguments.len() && types.iter().zip(arguments).all(|(t, value)| is_a(*t, value))
    })
}

/// Whether a value is of a type; for lists and maps the first element decides.
fn is_a(t: T, value: &Value) -> bool {
    match (t, value) {
        (T::A | T::B | T::Dyn, _)
        | (T::Bool, Value::Bool(_))
        | (T::Int, Value::Int(_))
        | (T::Uint, Value::Uint(_))
        | (T::Double, Value::Double(_))
        | (T::String, Value::String(_))
        | (T::Bytes, Value::Bytes(_))
        | (T::Timestamp, Value::Timestamp(_))
        | (T::Duration, Value::Duration(_))
        | (T::TypeOf(_), Value::Type(_))
        | (T::Optional(_), Value::Optional(_)) => true,
        (T::List(element), Value::List(list)) => list.first().is_none_or(|first| is_a(*element, first)),
        (T::Map(key, value), Value::Map(map)) => map
            .first_key_value()
            .is_none_or(|(first, held)| is_a(*key, &first.value()) && is_a(*value, held)),
        _ => false,
    }
}

fn implementation(name: &str, arguments: &[Value], budget: &mut Budget) -> Outcome {
    match arguments {
        [] => Ok(Value::Optional(None)),
        [one] => of_one(name, one, budget),
        [left, right] => match operator(name, left, right, budget) {
            Some(outcome) => outcome,
            None => of_two(name, left, right, arguments, budget),
        },
        _ => strings::call(name, arguments, budget),
    }
}

fn of_one(name: &str, value: &Value, budget: &mut Budget) -> Outcome {
    let target = match name {
        "bool" => Target::Bool,
        "bytes" => Target::Bytes,
        "double" => Target::Double,
        "duration" => Target::Duration,
        "int" => Target::Int,
        "string" => Target::String,
        "timestamp" => Target::Timestamp,
        "uint" => Target::Uint,
        _ => return of_one_without_conversion(name, value, budget),
    };
    if let Value::String(text) = value {
        budget.bytes(text.len())?;
    }
    convert(value, target)
}

fn of_one_without_conversion(name: &str, value: &Value, budget: &mut Budget) -> Outcome {
    match (name, value) {
        ("!_", Value::Bool(value)) => Ok(Value::Bool(!value)),
        ("!_", _) => Err(Fault::no_overload()),
        ("-_", value) => negate(value),
        ("size", value) => size(value),
        ("dyn", value) => Ok(value.clone()),
        ("type", value) => Ok(Value::Type(Arc::from(value.type_name()))),
        ("optional.of", value) => Ok(Value::some(value.clone())),
        ("optional.ofNonZeroValue", value) if value.is_zero() => Ok(Value::Optional(None)),
        ("optional.ofNonZeroValue", value) => Ok(Value::some(value.clone())),
        ("hasValue", Value::Optional(inner)) => Ok(Value::Bool(inner.is_some())),
        ("value", Value::Optional(Some(inner))) => Ok(inner.as_ref().clone()),
        ("value", _) => Err(Fault::new("optional.none() dereference")),
        ("first" | "last", Value::List(list)) => {
            let element = if name == "first" { list.first() } else { list.last() };
            Ok(element.cloned().map_or(Value::Optional(None), Value::some))
        }
        ("optional.unwrap" | "unwrapOpt", Value::List(list)) => unwrap_all(list, budget),
        ("base64.encode", Value::Bytes(bytes)) => {
            budget.bytes(bytes.len() * 2)?;
            Ok(Value::string(&general_purpose::STANDARD.encode(bytes)))
        }
        ("base64.decode", Value::String(text)) => decode_base64(text),
        (_, Value::Timestamp(_) | Value::Duration(_)) => dates::part(name, value, None),
        (_, value) => strings::call(name, std::slice::from_ref(value), budget),
    }
}

fn size(value: &Value) -> Outcome {
    let size = match value {
        Value::String(text) => text.chars().count(),
        Value::Bytes(bytes) => bytes.len(),
        Value::List(list) => list.len(),
        Value::Map(map) => map.len(),
        _ => return Err(Fault::no_overload()),
    };
    Ok(Value::Int(i64::try_from(size).unwrap_or(i64::MAX)))
}

fn unwrap_all(list: &[Value], budget: &mut Budget) -> Outcome {
    budget.bytes(size_of_val(list))?;
    let mut values = Vec::new();
    for value in list {
        match value {
            Value::Optional(None) => {}
            Value::Optional(Some(inner)) => values.push(inner.as_ref().clone()),
            other => return Err(Fault::new(format!("value {} is not optional", show(other)))),
        }
    }
    Ok(Value::list(values))
}

/// Go's decoder accepts line breaks anywhere and stray bits after the last byte; padding is optional.
fn decode_base64(text: &str) -> Outcome {
    let engine = |padding| {
        let config = GeneralPurposeConfig::new()
            .with_decode_allow_trailing_bits(true)
            .with_decode_padding_mode(padding);
        GeneralPurpose::new(&base64::alphabet::STANDARD, config)
    };
    let plain: String = text.chars().filter(|c| !matches!(c, '\r' | '\n')).collect();
    let padded = engine(DecodePaddingMode::RequireCanonical).decode(&plain);
    let decoded = padded.or_else(|_| engine(DecodePaddingMode::RequireNone).decode(&plain));
    decoded.map(Value::bytes).map_err(|_| {
        let at = wrong_base64(text);
        Fault::new(format!("illegal base64 data at input byte {at}"))
    })
}

/// The offset in Go's error for text without padding: the first invalid byte, else the start of a group
/// that is too short.
fn wrong_base64(text: &str) -> usize {
    let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/';
    let foreign = text
        .bytes()
        .position(|byte| !is_digit(byte) && byte != b'\r' && byte != b'\n');
    foreign.unwrap_or_else(|| text.len().saturating_sub(1))
}

/// Applies a binary operator; `None` when the name is not one.
fn operator(name: &str, left: &Value, right: &Value, budget: &mut Budget) -> Option<Outcome> {
    let ordered = |holds: fn(Ordering) -> bool| Some(compare(left, right).map(|order| Value::Bool(holds(order))));
    match name {
        "_+_" => Some(sum(left, right, budget)),
        "_-_" => Some(subtract(left, right)),
        "_*_" => Some(multiply(left, right)),
        "_/_" => Some(divide(left, right)),
        "_%_" => Some(modulo(left, right)),
        "_<_" => ordered(Ordering::is_lt),
        "_<=_" => ordered(Ordering::is_le),
        "_>_" => ordered(Ordering::is_gt),
        "_>=_" => ordered(Ordering::is_ge),
        "@in" => Some(is_in(left, right, budget)),
        _ => None,
    }
}

fn sum(left: &Value, right: &Value, budget: &mut Budget) -> Outcome {
    match (left, right) {
        (Value::String(left), Value::String(right)) => {
            budget.bytes(left.len() + right.len())?;
            Ok(Value::String(Arc::from(format!("{left}{right}"))))
        }
        (Value::Bytes(left), Value::Bytes(right)) => {
            budget.bytes(left.len() + right.len())?;
            Ok(Value::bytes([left.as_ref(), right.as_ref()].concat()))
        }
        (Value::List(left), Value::List(right)) => {
            budget.bytes((left.len() + right.len()) * size_of::<Value>())?;
            Ok(Value::list(left.iter().chain(right.iter()).cloned().collect()))
        }
        _ => add(left, right),
    }
}

fn is_in(element: &Value, container: &Value, budget: &mut Budget) -> Outcome {
    match container {
        Value::List(list) => {
            budget.steps(list.len())?;
            for other in list.iter() {
                budget.comparison(other)?;
                if equal(element, other) {
                    return Ok(Value::Bool(true));
                }
            }
            Ok(Value::Bool(false))
        }
        Value::Map(map) => Ok(Value::Bool(Value::find(map, element).is_some())),
        _ => Err(Fault::no_overload()),
    }
}

fn of_two(name: &str, left: &Value, right: &Value, arguments: &[Value], budget: &mut Budget) -> Outcome {
    match (name, left, right) {
        ("sets.contains", Value::List(list), Value::List(part)) => contains_all(list, part, budget).map(Value::Bool),
        ("sets.equivalent", Value::List(left), Value::List(right)) => {
            let both = contains_all(left, right, budget)? && contains_all(right, left, budget)?;
            Ok(Value::Bool(both))
        }
        ("sets.intersects", Value::List(left), Value::List(right)) => {
            for element in left.iter() {
                if contains(right, element, budget)? {
                    return Ok(Value::Bool(true));
                }
            }
            Ok(Value::Bool(false))
        }
        ("matches", Value::String(text), Value::String(pattern)) => {
            budget.steps(pattern.len())?;
            let regexp = Regexp::new(pattern.as_bytes()).map_err(|error| Fault::new(error.to_string()))?;
            let mut search = budget.search(text)?;
            let is_match = regexp.is_match(text.as_bytes(), &mut search);
            is_match.map(Value::Bool).map_err(|_| Fault::interrupted())
        }
        ("matches", ..) => Err(Fault::no_overload()),
        ("format", Value::String(text), Value::List(list)) => format::format(text, list, budget),
        (_, Value::Timestamp(_), zone) => dates::part(name, left, Some(zone)),
        _ => strings::call(name, arguments, budget),
    }
}

fn contains(list: &[Value], element: &Value, budget: &mut Budget) -> Result<bool, Fault> {
    for other in list {
        budget.steps(1)?;
        budget.comparison(other)?;
        if equal(element, other) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn contains_all(list: &[Value], part: &[Value], budget: &mut Budget) -> Result<bool, Fault> {
    for element in part {
        if !contains(list, element, budget)? {
            return Ok(false);
        }
    }
    Ok(true)
}
