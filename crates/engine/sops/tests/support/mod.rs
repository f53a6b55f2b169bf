//! The table of encrypted files, and its keys.
#![allow(dead_code)] // each suite uses a part

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bumpwright_sops::{Format, LocalKeys};
use serde_json::Value;
use std::fs::read_to_string;

/// A line of the table.
pub struct Case {
    pub name: String,
    pub from: Format,
    pub to: Format,
    pub keys: Vec<String>,
    pub file: Vec<u8>,
    pub want: Result<Vec<u8>, String>,
    /// The result for a file with a wrong MAC where it is not checked.
    pub unverified: String,
}

pub fn fixture(name: &str) -> String {
    read_to_string(format!("{}/../../../fixtures/sops/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

fn format(name: &str) -> Format {
    match name {
        "binary" => Format::Binary,
        "dotenv" => Format::Dotenv,
        "ini" => Format::Ini,
        "json" => Format::Json,
        "yaml" => Format::Yaml,
        other => panic!("the format {other}"),
    }
}

pub fn cases() -> Vec<Case> {
    let table = match std::env::var("BUMPWRIGHT_SOPS") {
        Ok(path) => read_to_string(path).unwrap(),
        Err(_) => fixture("files.jsonl"),
    };
    table.lines().map(case).collect()
}

/// The case of this name.
pub fn case_named(name: &str) -> Case {
    let table = fixture("files.jsonl");
    let marked = format!("{{\"case\":\"{name}\",");
    let line = table.lines().find(|line| line.starts_with(&marked));
    case(line.unwrap_or_else(|| panic!("there is no case {name}")))
}

fn case(line: &str) -> Case {
    let row: Value = serde_json::from_str(line).unwrap();
    let text = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
    let bytes = |name: &str| match row["base64"].as_bool() {
        Some(true) => STANDARD.decode(text(name)).unwrap(),
        _ => text(name).into_bytes(),
    };
    let keys = row["keys"].as_array();
    let keys = keys.into_iter().flatten().filter_map(Value::as_str);
    Case {
        name: text("case"),
        from: format(&text("in")),
        to: format(&text("out")),
        keys: keys.map(str::to_owned).collect(),
        file: bytes("file"),
        want: match row["error"].as_str() {
            Some(error) => Err(error.to_owned()),
            None => Ok(bytes("want")),
        },
        unverified: text("unverified"),
    }
}

/// The private keys of these names.
pub fn keys(names: &[String]) -> LocalKeys {
    let table: Value = serde_json::from_str(&fixture("keys.json")).unwrap();
    let mut keys = LocalKeys::default();
    for name in names {
        let private = table[name]["private"].as_str().unwrap().as_bytes();
        match table[name]["kind"].as_str() {
            Some("pgp") => keys.pgp.import(private).unwrap(),
            _ => keys.age.import(private).unwrap(),
        }
    }
    keys
}
