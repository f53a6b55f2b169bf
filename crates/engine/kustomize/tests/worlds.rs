//! Whole kustomizations, most of them random, with the builds of the real kustomize (`worlds.jsonl`, `blocks.jsonl`,
//! `twice.jsonl` and `yaml-texts.jsonl` of `fixtures/kustomize`).
//!
//! `BUMPWRIGHT_WORLDS=file` tries those of another file, as `tests/tools/kustomize-worlds.py` records them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(clippy::print_stdout)]

mod pairs;

use bumpwright_kustomize::tree::{MemoryTree, Sealed};
use bumpwright_kustomize::{Options, build};
use serde_json::Value;

/// The output of a build, or its error.
fn built(world: &Value) -> Result<String, String> {
    let mut tree = MemoryTree::new();
    for (path, text) in world["files"].as_object().unwrap() {
        tree.add_file(path, text.as_str().unwrap());
    }
    let built = build(&tree, "top", &Options::default(), &Sealed).and_then(|built| built.to_yaml());
    built.map_err(|error| error.to_string())
}

fn difference(world: &Value) -> Option<String> {
    let seed = &world["seed"];
    match (built(world), world["out"].as_str()) {
        (Ok(ours), Some(wanted)) => (ours != wanted).then(|| format!("{seed}:\n{ours}\nwanted:\n{wanted}")),
        (Err(error), Some(_)) => Some(format!("{seed}: {error}")),
        (Ok(_), None) => Some(format!("{seed}: built, but kustomize says {}", world["error"])),
        (Err(_), None) => None,
    }
}

#[test]
fn worlds_are_built_as_by_the_real_kustomize() {
    pairs::compare("worlds", "BUMPWRIGHT_WORLDS", difference);
}

/// Block scalars and their line breaks after patches, lists, generators and variables.
#[test]
fn blocks_are_built_as_by_the_real_kustomize() {
    pairs::compare("blocks", "BUMPWRIGHT_BLOCKS", difference);
}

/// Duplicate fields: in one case, in resources and patches, or in several, in kustomizations and configurations.
#[test]
fn what_stands_twice_is_read_as_by_the_real_kustomize() {
    pairs::compare("twice", "BUMPWRIGHT_TWICE", difference);
}

/// Replacements in YAML that is a text: comments, anchors, aliases, tags and brackets stay as they are.
#[test]
fn yaml_in_texts_is_replaced_as_by_the_real_kustomize() {
    pairs::compare("yaml-texts", "BUMPWRIGHT_YAML_TEXTS", difference);
}
