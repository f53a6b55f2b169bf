//! `toToml`: TOML as BurntSushi's library writes it.

use bumpwright_gostd::{format_float, lossy};
use bumpwright_template::{ANY, Failure, Function, Host, Map, STRING, Value};
use std::fmt::Write as _;

/// The functions of this file.
pub(super) static FUNCTIONS: &[Function] = &[
    Function::new("mustToToml", &[&ANY], &STRING, |host, args| {
        written(host, args.value(0)?).map(Value::text)
    }),
    Function::new("toToml", &[&ANY], &STRING, |host, args| {
        match written(host, args.value(0)?) {
            Ok(text) | Err(Failure::Error(text)) => Ok(Value::text(text)),
            Err(limit) => Err(limit),
        }
    }),
];

/// The text, or the library's error.
fn written(host: &mut Host<'_>, value: &Value) -> Result<String, Failure> {
    let mut out = String::new();
    let done = match value.bare() {
        Value::Map(map) => table(host, &mut out, &[], map),
        Value::Nil => Err(Failure::new("toml: cannot encode a nil value")),
        value => element(host, &mut out, value),
    };
    host.produce(out.len())?;
    done.map(|()| out)
}

/// The keys of a table that are not tables, then those that are.
fn table(host: &mut Host<'_>, out: &mut String, path: &[String], map: &Map) -> Result<(), Failure> {
    let entries = map.counted_entries(host)?;
    for tables in [false, true] {
        for (key, value) in entries.iter().filter(|(_, value)| !value.is_nil()) {
            let Value::String(key) = key.bare() else {
                return Err(Failure::new("toml: cannot encode a map with non-string key type"));
            };
            let path = [path, &[lossy(key).into_owned()]].concat();
            match (tables, value.bare()) {
                (true, Value::Map(map)) => {
                    if path.len() == 1 && !out.is_empty() {
                        out.push('\n');
                    }
                    named_table(host, out, &path, map, ["[", "]"])?;
                }
                (true, list) if is_list_of_tables(list) => {
                    for item in list.elements() {
                        if let Value::Map(map) = item.bare() {
                            if !out.is_empty() {
                                out.push('\n');
                            }
                            named_table(host, out, &path, map, ["[[", "]]"])?;
                        }
                    }
                }
                (false, Value::Map(_)) | (true, _) => {}
                (false, list) if is_list_of_tables(list) => {}
                (false, value) => {
                    indent(out, &path);
                    out.push_str(&bare_or_quoted(&lossy(key)));
                    out.push_str(" = ");
                    element(host, out, value)?;
                    out.push('\n');
                }
            }
        }
    }
    Ok(())
}

fn named_table(
    host: &mut Host<'_>,
    out: &mut String,
    path: &[String],
    map: &Map,
    [open, close]: [&str; 2],
) -> Result<(), Failure> {
    indent(out, path);
    let keys: Vec<String> = path.iter().map(|key| bare_or_quoted(key)).collect();
    // Writing to a string does not fail.
    let _ = writeln!(out, "{open}{}{close}", keys.join("."));
    host.deeper(|host| table(host, out, path, map))
}

fn indent(out: &mut String, path: &[String]) {
    out.push_str(&"  ".repeat(path.len().saturating_sub(1)));
}

/// A value on one line.
fn element(host: &mut Host<'_>, out: &mut String, value: &Value) -> Result<(), Failure> {
    host.step(1)?;
    let _ = match value.bare() {
        Value::Bool(truth) => write!(out, "{truth}"),
        Value::Int(_, number) => write!(out, "{number}"),
        Value::Uint(_, number) => write!(out, "{number}"),
        Value::Float(_, number) => write!(out, "{}", spelled(*number)),
        Value::String(text) => write!(out, "{}", quoted(&lossy(text))),
        Value::Map(map) => return host.deeper(|host| inline(host, out, map)),
        Value::Nil => return Err(Failure::new("toml: cannot encode array with nil element")),
        other => match other.items() {
            Some(items) => return host.deeper(|host| list(host, out, items)),
            None => return Err(Failure::new("toml: unsupported type")),
        },
    };
    Ok(())
}

fn list(host: &mut Host<'_>, out: &mut String, items: &[Value]) -> Result<(), Failure> {
    out.push('[');
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push_str(", ");
        }
        element(host, out, item)?;
    }
    out.push(']');
    Ok(())
}

fn inline(host: &mut Host<'_>, out: &mut String, map: &Map) -> Result<(), Failure> {
    out.push('{');
    let entries = map.counted_entries(host)?;
    let entries = entries.iter().filter(|(_, value)| !value.is_nil());
    for (index, (key, value)) in entries.enumerate() {
        if index > 0 {
            out.push_str(", ");
        }
        if let Value::String(key) = key.bare() {
            out.push_str(&bare_or_quoted(&lossy(key)));
            out.push_str(" = ");
        }
        element(host, out, value)?;
    }
    out.push('}');
    Ok(())
}

fn is_list_of_tables(value: &Value) -> bool {
    let is_table = |item: &Value| matches!(item.bare(), Value::Map(_));
    value
        .items()
        .is_some_and(|items| !items.is_empty() && items.iter().all(is_table))
}

fn bare_or_quoted(key: &str) -> String {
    let is_bare = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    if !key.is_empty() && key.bytes().all(is_bare) {
        key.to_owned()
    } else {
        quoted(key)
    }
}

fn spelled(number: f64) -> String {
    match number {
        number if number.is_nan() => "nan".to_owned(),
        f64::INFINITY => "inf".to_owned(),
        f64::NEG_INFINITY => "-inf".to_owned(),
        number => {
            let text = format_float(number, b'g', None, 64);
            if text.contains(['.', 'e']) {
                text
            } else {
                format!("{text}.0")
            }
        }
    }
}

fn quoted(text: &str) -> String {
    let mut quoted = "\"".to_owned();
    for ch in text.chars() {
        match ch {
            '\t' => quoted.push_str("\\t"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\u{8}' => quoted.push_str("\\b"),
            '\u{c}' => quoted.push_str("\\f"),
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\0'..='\u{1f}' | '\u{7f}' => {
                let _ = write!(quoted, "\\u{:04x}", u32::from(ch));
            }
            ch => quoted.push(ch),
        }
    }
    quoted.push('"');
    quoted
}
