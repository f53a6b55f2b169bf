//! JSON patches compared with the results of kustomize's filter for the same pairs
//! (`fixtures/kustomize/jsonpatch.jsonl`).
//!
//! `BUMPWRIGHT_JSONPATCHES=file` tries the pairs of another file, as `fixtures/kustomize/generate` makes them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(clippy::print_stdout)]

mod pairs;

use bumpwright_kustomize::jsonpatch::Patch;
use bumpwright_kustomize::merge::merge;
use bumpwright_kustomize::schema::Schema;
use bumpwright_yaml::{FileId, Node, ReadOptions, read_first, write_json};

#[test]
fn patches_apply_as_in_kustomize() {
    pairs::compare("jsonpatch", "BUMPWRIGHT_JSONPATCHES", |pair| {
        let expected = pair["result"].as_object().map(|_| pair["result"].clone());
        let found = outcome(pair);
        let json = found
            .as_ref()
            .ok()
            .map(|text| serde_json::from_str::<serde_json::Value>(text).unwrap());
        (json != expected).then(|| format!("{pair:#}\n==== found\n{found:?}\n"))
    });
}

/// The object as JSON, or the error. A pair may have a strategic merge to follow (`then`).
fn outcome(pair: &serde_json::Value) -> Result<String, String> {
    let mut object = document(pair["object"].as_str().unwrap());
    let patch = Patch::read(pair["patch"].as_str().unwrap().as_bytes(), FileId::NONE);
    let patch = patch.map_err(|error| error.to_string())?;
    patch.apply(&mut object).map_err(|error| error.to_string())?;
    if let Some(then) = pair["then"].as_str() {
        merge(&mut object, document(then), Schema::builtin()).map_err(|error| error.to_string())?;
    }
    let mut text = String::new();
    write_json(&object, &mut text).map_err(|error| error.to_string())?;
    Ok(text)
}

fn document(text: &str) -> Node {
    let options = ReadOptions::kyaml(FileId::NONE);
    read_first(text.as_bytes(), &options).unwrap().unwrap()
}

/// Results of kustomize v5.8.2.
#[test]
fn great_numbers_are_floats() {
    for (number, expected) in [
        ("17670756412549714000.5", "17670756412549714000"),
        ("1e19", "10000000000000000000"),
        ("18446744073709551615", "18446744073709552000"),
        ("1e300", "1e+300"),
    ] {
        let json = format!("[{{\"op\": \"add\", \"path\": \"/b\", \"value\": {number}}}]");
        let yaml = format!("- {{op: add, path: /b, value: {number}}}\n");
        for patch in [json, yaml] {
            let pair = serde_json::json!({ "object": format!("a: {number}\n"), "patch": patch });
            assert_eq!(
                outcome(&pair).unwrap(),
                format!("{{\"a\":{expected},\"b\":{expected}}}"),
                "{patch}"
            );
        }
    }
    let patch = Patch::read(br#"[{"op": "add", "path": "/b", "value": 1e999}]"#, FileId::NONE);
    let error = patch.unwrap_err().to_string();
    assert!(error.contains("the number is greater than a float64"), "{error}");
}
