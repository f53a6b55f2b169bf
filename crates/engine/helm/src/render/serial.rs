//! YAML and JSON in templates.

use serde_json::Value as Json;

use super::value::value_of;
use crate::yaml::{self, YamlError};
use bumpwright_gostd::lossy;
use bumpwright_sprig::{decode_json, encode_json};
use bumpwright_template::{ANY, Args, DICT, Failure, Function, Host, LIST, Map, STRING, Slice, Value};
use bumpwright_text::Parts;
use bumpwright_yaml::{FileId, ReadOptions, read_first, write_sigs};

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
        yaml_text(host, args.value(0)?).map(Value::text)
    }),
    Function::new("toJson", &[&ANY], &STRING, |host, args| {
        match json_text(host, args.value(0)?) {
            Err(Failure::Error(_)) => Ok(Value::text("")),
            encoded => encoded.map(Value::text),
        }
    }),
    Function::new("toYaml", &[&ANY], &STRING, |host, args| {
        yaml_or_nothing(host, args.value(0)?).map(Value::text)
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
        rest = escape.tail(length);
    }
    text.extend_from_slice(rest);
    Ok(text)
}

/// A value as sigs.k8s.io/yaml prints it, without the last line break; or its error.
pub(super) fn yaml_text(host: &mut Host<'_>, value: &Value) -> Result<String, Failure> {
    let json = encode_json(host, value, true).map_err(|failure| match failure {
        Failure::Error(error) => Failure::Error(format!("error marshaling into JSON: {error}")),
        limit => limit,
    })?;
    host.step(json.len() as u64 / 4)?;
    host.produce(json.len().saturating_mul(4))?;
    let mut out = String::new();
    let node = read_first(&json, &ReadOptions::sigs(FileId::NONE)).map_err(|error| Failure::new(error.go()))?;
    if let Some(node) = node {
        write_sigs(&node, &mut out).map_err(|error| Failure::new(error.go()))?;
    }
    if out.ends_with('\n') {
        out.pop();
    }
    Ok(out)
}

/// The same; an empty text for what has no form in YAML.
pub(super) fn yaml_or_nothing(host: &mut Host<'_>, value: &Value) -> Result<String, Failure> {
    match yaml_text(host, value) {
        Err(Failure::Error(_)) => Ok(String::new()),
        text => text,
    }
}

/// A map with the text of an error, which is what Helm's functions return for what they cannot read.
fn failed(error: impl ToString) -> Value {
    Value::dict([("Error", Value::text(error.to_string()))])
}

fn read_yaml(host: &mut Host<'_>, args: Args<'_>) -> Result<Result<Json, YamlError>, Failure> {
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
    let failed = |error: YamlError| Value::list(vec![Value::text(error.to_string())]);
    Ok(match read_yaml(host, args)? {
        Ok(Json::Null) => Value::list(Vec::new()),
        Ok(value @ Json::Array(_)) => value_of(&value),
        Ok(other) => failed(yaml::mismatch(&other, "Go value of type []interface {}")),
        Err(error) => failed(error),
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
