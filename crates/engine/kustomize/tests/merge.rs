//! Strategic merges compared with the results of kyaml's merge2 for the same pairs (`fixtures/kustomize/merge.jsonl`).
//!
//! `BUMPWRIGHT_MERGES=file` tries the pairs of another file, as `fixtures/kustomize/generate` makes them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(clippy::print_stdout)]

mod pairs;

use bumpwright_kustomize::merge::{Merged, merge};
use bumpwright_kustomize::schema::Schema;
use bumpwright_yaml::{FileId, Node, ReadOptions, read, write_json};

#[test]
fn patches_merge_as_in_kyaml() {
    pairs::compare("merge", "BUMPWRIGHT_MERGES", |pair| {
        let (object, patch) = (pair["object"].as_str().unwrap(), pair["patch"].as_str().unwrap());
        let expected = match pair["error"].as_str() {
            Some(error) => format!("error: {error}"),
            None => pair["result"].to_string(),
        };
        let found = outcome(object, patch);
        let differs = || format!("{object}\n----\n{patch}\n==== expected\n{expected}\n==== found\n{found}\n");
        (!equal(&found, &expected)).then(differs)
    });
}

/// The object with all documents of `patch` in it as JSON, `null` when it is gone, or the error.
fn outcome(object: &str, patch: &str) -> String {
    let mut object = documents(object).remove(0);
    for patch in documents(patch) {
        match merge(&mut object, patch, Schema::builtin()) {
            Ok(Merged::Deleted) => return "null".to_owned(),
            Err(error) => return format!("error: {error}"),
            Ok(Merged::Kept) => {}
        }
    }
    let mut text = String::new();
    write_json(&object, &mut text).unwrap();
    text
}

fn documents(text: &str) -> Vec<Node> {
    read(text.as_bytes(), &ReadOptions::kyaml(FileId::NONE)).unwrap()
}

/// Errors are equal if both are: with several faults, ours may be another one.
fn equal(found: &str, expected: &str) -> bool {
    if expected.starts_with("error: ") {
        return found.starts_with("error: ");
    }
    let json = |text: &str| serde_json::from_str::<serde_json::Value>(text).ok();
    json(found) == json(expected)
}
