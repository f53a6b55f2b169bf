//! Rows of recorded substitutions beside ours.
#![allow(dead_code)] // each suite takes its part

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bumpwright_substitute::{Options, Undefined, Variables, eval, substitute};
use bumpwright_yaml::{FileId, ReadOptions, read_first, read_resources, write_json, write_sigs};
use serde_json::Value;
use std::collections::BTreeMap;

/// Bytes of a row: `KEY_b64` where they are not UTF-8.
pub fn bytes(row: &Value, key: &str) -> Option<Vec<u8>> {
    if let Some(coded) = row[format!("{key}_b64")].as_str() {
        return Some(STANDARD.decode(coded).unwrap());
    }
    row[key].as_str().map(|text| text.as_bytes().to_vec())
}

fn texts(row: &Value, key: &str) -> BTreeMap<String, String> {
    serde_json::from_value(row[key].clone()).unwrap_or_default()
}

/// Our answer to a row: bytes, or an error's text. An object is JSON.
pub fn answer(row: &Value) -> Result<Vec<u8>, String> {
    match row["group"].as_str().unwrap() {
        "eval" => answer_eval(row),
        "resource" => answer_resource(row),
        other => panic!("group {other} is not known"),
    }
}

fn answer_eval(row: &Value) -> Result<Vec<u8>, String> {
    let input = bytes(row, "input").unwrap();
    let mut variables: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    for (name, value) in texts(row, "vars") {
        variables.insert(name, value.into_bytes());
    }
    for (name, value) in texts(row, "vars_b64") {
        variables.insert(name, STANDARD.decode(value).unwrap());
    }
    let strict = row["strict"] == true;
    let lookup = |name: &str| variables.get(name).map(Vec::as_slice);
    eval(&input, lookup, strict).map_err(|error| error.to_string())
}

fn answer_resource(row: &Value) -> Result<Vec<u8>, String> {
    let manifest = row["manifest"].as_str().unwrap();
    let objects = read_resources(manifest.as_bytes(), FileId::NONE).map_err(|error| format!("load: {}", error.go()))?;
    let mut variables = Variables::default();
    variables.add_inline(&texts(row, "substitute"));
    let options = Options {
        undefined: if row["strict"] == true {
            Undefined::Refused
        } else {
            Undefined::Empty
        },
        always: row["always"] == true,
    };
    let changed = substitute(&objects[0], &variables, options).map_err(|error| error.to_string())?;
    if row.get("object").is_none() {
        let mut yaml = String::new();
        write_sigs(changed.as_ref().unwrap_or(&objects[0]), &mut yaml)
            .map_err(|error| format!("AsYAML: {}", error.go()))?;
        return Ok(yaml.into_bytes());
    }
    let mut json = String::new();
    write_json(changed.as_ref().unwrap_or(&objects[0]), &mut json).map_err(|error| error.go().to_owned())?;
    Ok(json.into_bytes())
}

/// Whether our answer is the recorded one; prints both where it is not.
pub fn agrees(row: &Value) -> bool {
    let ours = answer(row);
    let agrees = match (&ours, row["error"].as_str(), row["load_error"].as_str()) {
        (Err(ours), Some(theirs), _) => ours == without_value(theirs),
        (Err(ours), _, Some(theirs)) => theirs.contains(ours.strip_prefix("load: ").unwrap_or(ours)),
        (Ok(ours), None, None) => agrees_output(ours, row),
        _ => false,
    };
    if !agrees {
        println!("{}: {:?}\n  of {row}", row["id"], ours.map(|ours| lossy(&ours)));
    }
    agrees
}

/// Go's sentence without what it says of values: those may be secrets, and we do not say them.
fn without_value(sentence: &str) -> &str {
    let told = sentence.split_once(", value: ").map_or(sentence, |(told, _)| told);
    match told.find("invalid map key: ") {
        Some(at) => &told[..at + "invalid map key".len()],
        None => told,
    }
}

fn agrees_output(ours: &[u8], row: &Value) -> bool {
    if let Some(theirs) = bytes(row, "output").or_else(|| bytes(row, "yaml")) {
        return ours == theirs;
    }
    let json = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).unwrap();
    match &row["object"] {
        // Nothing is substituted: the object is as it was written.
        Value::Null => row["skipped"] == true && lossy(ours).contains("disabled"),
        Value::String(_) => {
            let written = row["manifest"].as_str().unwrap().as_bytes();
            let written = read_first(written, &ReadOptions::kyaml(FileId::NONE)).unwrap().unwrap();
            let mut text = String::new();
            write_json(&written, &mut text).unwrap();
            json(ours) == json(text.as_bytes())
        }
        object => json(ours) == *object,
    }
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
