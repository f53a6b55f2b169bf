//! YAML and JSON in templates.

use super::context::value_of;
use crate::yaml;
use bumpwright_gostd::lossy;
use bumpwright_sprig::{decode_json, encode_json};
use bumpwright_template::{ANY, Args, DICT, Failure, Function, Host, LIST, Map, STRING, Slice, Value};
use bumpwright_yaml::{FileId, ReadOptions, read_first, write_sigs};
use serde_json::Value as Json;

/// The functions of this file.
pub(super) static FUNCTIONS: &[Function] = &[
    Function::new("fromJson", &[&STRING], &DICT, from_json),
    Function::new("fromJsonArray", &[&STRING], &LIST, from_json_array),
    Function::new("fromYaml", &[&STRING], &DICT, from_yaml),
    Function::new("fromYamlArray", &[&STRING], &LIST, from_yaml_array),
    Function::new("mustToJson", &[&ANY], &STRING, |host, args| {
        json_text(host, args.value(0)?).map(Value::text)
    }),
    Function::new("mustToYaml", &[&ANY], &STRING, |host, args| {
        match yaml_text(host, args.value(0)?)? {
            Ok(text) => Ok(Value::text(text)),
            Err(error) => Err(Failure::new(error)),
        }
    }),
    Function::new("toJson", &[&ANY], &STRING, |host, args| {
        match json_text(host, args.value(0)?) {
            Err(Failure::Error(_)) => Ok(Value::text("")),
            encoded => encoded.map(Value::text),
        }
    }),
    Function::new("toYaml", &[&ANY], &STRING, |host, args| {
        Ok(Value::text(yaml_text(host, args.value(0)?)?.unwrap_or_default()))
    }),
];

/// JSON as Go 1.27 writes it: U+FFFD in the place of what is not UTF-8, and not its escape.
fn json_text(host: &mut Host<'_>, value: &Value) -> Result<Vec<u8>, Failure> {
    const ESCAPE: &[u8] = b"\\ufffd";
    let json = encode_json(host, value, true)?;
    let mut text = Vec::with_capacity(json.len());
    let mut rest = &json[..];
    while let Some(at) = rest.iter().position(|byte| *byte == b'\\') {
        let (before, escape) = rest.split_at(at);
        text.extend_from_slice(before);
        let length = if escape.starts_with(ESCAPE) {
            text.extend_from_slice("\u{fffd}".as_bytes());
            ESCAPE.len()
        } else {
            text.extend_from_slice(escape.get(..2).unwrap_or(escape));
            2
        };
        rest = escape.get(length..).unwrap_or_default();
    }
    text.extend_from_slice(rest);
    Ok(text)
}

/// A value as sigs.k8s.io/yaml prints it, without the last line break; or its error.
pub(super) fn yaml_text(host: &mut Host<'_>, value: &Value) -> Result<Result<String, String>, Failure> {
    let json = match encode_json(host, value, true) {
        Ok(json) => json,
        Err(Failure::Error(error)) => return Ok(Err(format!("error marshaling into JSON: {error}"))),
        Err(limit) => return Err(limit),
    };
    host.step(json.len() as u64 / 4)?;
    host.produce(json.len().saturating_mul(4))?;
    let mut out = String::new();
    let written = match read_first(&json, &ReadOptions::sigs(FileId::NONE)) {
        Ok(Some(node)) => write_sigs(&node, &mut out).map_err(|error| error.go().to_owned()),
        Ok(None) => Ok(()),
        Err(error) => Err(error.go().to_owned()),
    };
    if out.ends_with('\n') {
        out.pop();
    }
    Ok(written.map(|()| out))
}

/// A map with the text of an error, which is what Helm's functions return for what they cannot read.
fn failed(error: String) -> Value {
    Value::dict([("Error", Value::text(error))])
}

fn read_yaml(host: &mut Host<'_>, args: Args<'_>) -> Result<Result<Json, String>, Failure> {
    let text = args.text(0)?;
    host.step(text.len() as u64 / 4)?;
    host.produce(text.len().saturating_mul(4))?;
    Ok(yaml::json(text))
}

fn from_yaml(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    Ok(match read_yaml(host, args)? {
        Ok(Json::Null) => Value::dict::<&str>([]),
        Ok(value @ Json::Object(_)) => value_of(&value),
        Ok(other) => failed(yaml::mismatch(&other, "Go value of type map[string]interface {}")),
        Err(error) => failed(error),
    })
}

fn from_yaml_array(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    Ok(match read_yaml(host, args)? {
        Ok(Json::Null) => Value::list(Vec::new()),
        Ok(value @ Json::Array(_)) => value_of(&value),
        Ok(other) => Value::list(vec![Value::text(yaml::mismatch(
            &other,
            "Go value of type []interface {}",
        ))]),
        Err(error) => Value::list(vec![Value::text(error)]),
    })
}

/// Go's error for JSON of another type than the wanted one.
fn json_mismatch(value: &Value, wanted: &str) -> String {
    let kind = match value {
        Value::Bool(_) => "bool",
        Value::Float(..) => "number",
        Value::String(_) => "string",
        Value::Slice(_) => "array",
        _ => "object",
    };
    format!("json: cannot unmarshal {kind} into Go value of type {wanted}")
}

fn from_json(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    Ok(match decode_json(host, args.text(0)?)? {
        (_, Some(fault)) => failed(fault),
        (Value::Nil, None) => Value::Map(Map::nil(&STRING, &ANY)),
        (value @ Value::Map(_), None) => value,
        (other, None) => failed(json_mismatch(&other, "map[string]interface {}")),
    })
}

fn from_json_array(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let text = |text: String| Value::list(vec![Value::text(lossy(text.as_bytes()).into_owned())]);
    Ok(match decode_json(host, args.text(0)?)? {
        (_, Some(fault)) => text(fault),
        (Value::Nil, None) => Value::Slice(Slice::nil(&ANY)),
        (value @ Value::Slice(_), None) => value,
        (other, None) => text(json_mismatch(&other, "[]interface {}")),
    })
}
