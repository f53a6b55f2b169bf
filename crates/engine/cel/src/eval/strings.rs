//! String functions. Indexes are in code points.

use std::sync::Arc;

use super::budget::Budget;
use super::outcome::Outcome;
use crate::value::{Fault, Value, show};

/// Calls a string function.
///
/// # Errors
/// When it does not accept the values, or an index is out of range.
pub fn call(name: &str, arguments: &[Value], budget: &mut Budget) -> Outcome {
    for argument in arguments {
        if let Value::String(text) = argument {
            budget.bytes(text.len())?;
        }
    }
    match arguments {
        [Value::String(text)] => of_text(name, text, budget),
        [Value::List(list)] if name == "join" => join(list, "", budget),
        [Value::List(list), Value::String(separator)] if name == "join" => join(list, separator, budget),
        [Value::String(text), Value::String(other)] => of_two(name, text, other, budget),
        [Value::String(text), Value::Int(at)] => at_place(name, text, *at),
        [Value::String(text), Value::Int(start), Value::Int(end)] => substring(text, *start, *end),
        [Value::String(text), Value::String(other), Value::Int(number)] => match name {
            "split" => split(text, other, *number, budget),
            "indexOf" => index_of(text, other, *number),
            _ => last_index_of(text, other, *number),
        },
        [Value::String(text), Value::String(old), Value::String(new)] => replace(text, old, new, -1, budget),
        [
            Value::String(text),
            Value::String(old),
            Value::String(new),
            Value::Int(count),
        ] => replace(text, old, new, *count, budget),
        _ => Err(Fault::no_overload()),
    }
}

fn text(text: String) -> Outcome {
    Ok(Value::String(Arc::from(text)))
}

fn int(number: usize) -> Outcome {
    Ok(Value::Int(i64::try_from(number).unwrap_or(i64::MAX)))
}

fn of_text(name: &str, given: &str, budget: &mut Budget) -> Outcome {
    match name {
        "lowerAscii" => text(given.to_ascii_lowercase()),
        "upperAscii" => text(given.to_ascii_uppercase()),
        "trim" => text(given.trim_matches(char::is_whitespace).to_owned()),
        "reverse" => text(given.chars().rev().collect()),
        "strings.quote" => {
            budget.bytes(given.len())?;
            text(quote(given))
        }
        _ => Err(Fault::no_overload()),
    }
}

fn quote(given: &str) -> String {
    let mut out = String::from("\"");
    for c in given.chars() {
        match c {
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            other => out.push(other),
        }
    }
    out.push('"');
    out
}

fn of_two(name: &str, given: &str, other: &str, budget: &mut Budget) -> Outcome {
    match name {
        "contains" => Ok(Value::Bool(given.contains(other))),
        "startsWith" => Ok(Value::Bool(given.starts_with(other))),
        "endsWith" => Ok(Value::Bool(given.ends_with(other))),
        "split" => split(given, other, -1, budget),
        "indexOf" => index_of(given, other, 0),
        "lastIndexOf" if other.is_empty() => int(given.chars().count()),
        "lastIndexOf" if given.len() < other.len() => Ok(Value::Int(-1)),
        "lastIndexOf" => last_index_of(given, other, length(given) - 1),
        _ => Err(Fault::no_overload()),
    }
}

fn length(given: &str) -> i64 {
    i64::try_from(given.chars().count()).unwrap_or(i64::MAX)
}

fn out_of_range(index: i64) -> Fault {
    Fault::new(format!("index out of range: {index}"))
}

fn at_place(name: &str, given: &str, at: i64) -> Outcome {
    let index = usize::try_from(at).map_err(|_| out_of_range(at))?;
    let start = byte_of(given, index).ok_or_else(|| out_of_range(at))?;
    let rest = given.get(start..).unwrap_or("");
    match name {
        "charAt" => text(rest.chars().take(1).collect()),
        _ => text(rest.to_owned()),
    }
}

/// The byte offset after `count` code points; `None` when there are fewer.
fn byte_of(given: &str, count: usize) -> Option<usize> {
    let mut starts = given.char_indices().map(|(at, _)| at).chain([given.len()]);
    starts.nth(count)
}

fn substring(given: &str, start: i64, end: i64) -> Outcome {
    if start > end {
        return Err(Fault::new(format!(
            "invalid substring range. start: {start}, end: {end}"
        )));
    }
    let byte = |place: i64| {
        let count = usize::try_from(place).ok();
        count
            .and_then(|count| byte_of(given, count))
            .ok_or_else(|| out_of_range(place))
    };
    let range = byte(start)?..byte(end)?;
    text(given.get(range).unwrap_or("").to_owned())
}

fn index_of(given: &str, other: &str, offset: i64) -> Outcome {
    if other.is_empty() {
        return Ok(Value::Int(offset));
    }
    let count = usize::try_from(offset).map_err(|_| out_of_range(offset))?;
    let index = byte_of(given, count).and_then(|start| {
        let rest = given.get(start..)?;
        let at = rest.find(other)?;
        rest.get(..at).map(|before| count + before.chars().count())
    });
    index.map_or(Ok(Value::Int(-1)), int)
}

fn last_index_of(given: &str, other: &str, offset: i64) -> Outcome {
    if other.is_empty() {
        return Ok(Value::Int(offset));
    }
    let count = usize::try_from(offset).map_err(|_| out_of_range(offset))?;
    if offset >= length(given) {
        return Ok(Value::Int(-1));
    }
    // A match may begin at the offset and extend beyond it.
    let end = byte_of(given, count + other.chars().count()).unwrap_or(given.len());
    let before = given.get(..end).unwrap_or(given);
    let until = before.rfind(other).and_then(|at| before.get(..at));
    until.map_or(Ok(Value::Int(-1)), |before| int(before.chars().count()))
}

/// Go's `strings.SplitN`: no pieces for 0, all for negative limits; code points for an empty separator.
fn split(given: &str, separator: &str, limit: i64, budget: &mut Budget) -> Outcome {
    budget.bytes(given.len() * size_of::<Value>() / separator.len().max(1))?;
    let limit = match limit {
        0 => return Ok(Value::list(Vec::new())),
        negative if negative < 0 => usize::MAX,
        limit => usize::try_from(limit).unwrap_or(usize::MAX),
    };
    let pieces: Vec<Value> = if separator.is_empty() {
        let mut rest = given;
        let mut pieces = Vec::new();
        while let Some(first) = rest.chars().next() {
            let end = if pieces.len() + 1 == limit {
                rest.len()
            } else {
                first.len_utf8()
            };
            let (piece, behind) = rest.split_at(end);
            pieces.push(Value::string(piece));
            rest = behind;
        }
        pieces
    } else {
        given.splitn(limit, separator).map(Value::string).collect()
    };
    Ok(Value::list(pieces))
}

fn replace(given: &str, old: &str, new: &str, count: i64, budget: &mut Budget) -> Outcome {
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    let places = match old {
        "" => given.chars().count() + 1,
        old => given.matches(old).count(),
    };
    budget.bytes(given.len().saturating_add(new.len().saturating_mul(places.min(count))))?;
    text(given.replacen(old, new, count))
}

fn join(list: &[Value], separator: &str, budget: &mut Budget) -> Outcome {
    let mut out = String::new();
    for (index, element) in list.iter().enumerate() {
        let Value::String(piece) = element else {
            return Err(Fault::new(format!("join: invalid input: {}", show(element))));
        };
        if index > 0 {
            budget.bytes(separator.len())?;
            out.push_str(separator);
        }
        budget.bytes(piece.len())?;
        out.push_str(piece);
    }
    text(out)
}
