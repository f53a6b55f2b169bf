//! Scenarios recorded from the real kustomize-controller: digests of what it built, and messages where it did not.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(clippy::print_stdout)]

#[path = "support/cases.rs"]
mod cases;

use bumpwright_artifact::{IgnoreFile, IgnoreRules};
use bumpwright_corpora::{corpora, report};
use bumpwright_kustomize::tree::{MemoryTree, Sealed};
use bumpwright_overlay::{Stages, prepare};
use bumpwright_yaml::{FileId, ReadOptions, read, write_json};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Of all that is recorded, so much must be the same. Only ever raised.
const FLOOR: usize = 47;

fn documents(text: &str) -> Vec<Value> {
    let nodes = read(text.as_bytes(), &ReadOptions::kyaml(FileId::NONE)).unwrap();
    let json = |node| {
        let mut json = String::new();
        write_json(node, &mut json).unwrap();
        serde_json::from_str(&json).unwrap()
    };
    nodes.iter().filter(|node| !node.is_null()).map(json).collect()
}

/// What a scenario has put into the world so far.
#[derive(Default)]
struct World {
    files: BTreeMap<String, String>,
    ignore: Option<String>,
    specs: BTreeMap<String, Value>,
}

impl World {
    fn apply(&mut self, text: &str) {
        for object in documents(text) {
            let name = object["metadata"]["name"].as_str().unwrap().to_owned();
            match object["kind"].as_str().unwrap() {
                "Kustomization" => drop(self.specs.insert(name, object["spec"].clone())),
                "GitRepository" => self.ignore = object["spec"]["ignore"].as_str().map(str::to_owned),
                _ => {}
            }
        }
    }

    fn commit(&mut self, files: &Value) {
        for (path, text) in files.as_object().into_iter().flatten() {
            match text.as_str() {
                Some(text) => drop(self.files.insert(path.clone(), text.to_owned())),
                None => drop(self.files.remove(path)),
            }
        }
    }

    /// What source-controller puts into the artifact.
    fn artifact(&self) -> MemoryTree {
        let texts = self.files.iter().filter_map(|(path, text)| {
            let directory = path.strip_suffix(".sourceignore")?.trim_end_matches('/');
            let (directory, text) = (directory.as_bytes(), text.as_bytes());
            Some(IgnoreFile { directory, text })
        });
        let rules = IgnoreRules::of_tree(texts, self.ignore.as_deref());
        let mut tree = MemoryTree::new();
        for (path, text) in &self.files {
            let parts: Vec<&str> = path.split('/').collect();
            if !rules.ignored(&parts, false) {
                tree.add_file(path, text.as_str());
            }
        }
        tree
    }
}

/// What is recorded of a Kustomization and differs here; nothing where it says nothing about builds.
fn compare(world: &World, name: &str, status: &Value) -> Option<Result<(), String>> {
    let spec = world.specs.get(name)?;
    if spec.get("postBuild").is_some() || spec.get("decryption").is_some() {
        return None;
    }
    let conditions = status["conditions"].as_array()?;
    let ready = conditions.iter().find(|condition| condition["type"] == "Ready")?;
    let tree = world.artifact();
    let built = prepare(&tree, &cases::overlay(spec)).and_then(|prepared| prepared.build(&Sealed, &Stages::default()));
    let wanted = ready["message"].as_str()?;
    match (ready["reason"].as_str()?, built) {
        ("ReconciliationSucceeded", Ok(built)) => {
            let digest = status["history"][0]["digest"].as_str()?;
            let fits = digest == built.digest;
            Some(
                fits.then_some(())
                    .ok_or_else(|| format!("{} for {digest}", built.digest)),
            )
        }
        ("ReconciliationSucceeded", Err(error)) => Some(Err(error.to_string())),
        // The path is the first that is looked at once there is an artifact.
        ("ArtifactFailed", _) if !wanted.starts_with("kustomization path not found: ") => None,
        (reason @ ("BuildFailed" | "ArtifactFailed"), Err(error)) => {
            let said = error
                .to_string()
                .replace("kustomization-0000000000", "kustomization-<n>");
            let fits = if wanted.starts_with("kustomize build failed: ") {
                said.starts_with("kustomize build failed: ")
            } else {
                said == wanted
            };
            let fits = fits && error.is_missing_path() == (reason == "ArtifactFailed");
            Some(fits.then_some(()).ok_or_else(|| format!("{said}\n  for {wanted}")))
        }
        ("BuildFailed", Ok(_)) => Some(Err(format!("built, for {wanted}"))),
        _ => None,
    }
}

/// Goes through a scenario, up to a step that it does not know.
fn scenario(folder: &Path, results: &mut Vec<Result<(), String>>) {
    let name = folder.file_name().unwrap().to_str().unwrap();
    let sub = |text: String| {
        let text = text.replace("${NS}", &format!("fb-{name}"));
        text.replace("${NS2}", &format!("fb-{name}-2"))
    };
    let text = sub(std::fs::read_to_string(folder.join("scenario.yaml")).unwrap());
    let recorded = std::fs::read_to_string(folder.join("expected.json")).unwrap();
    let recorded: Value = serde_json::from_str(&recorded).unwrap();
    let mut world = World::default();
    for step in documents(&text)[0]["steps"].as_array().unwrap() {
        let (kind, what) = step
            .as_object()
            .unwrap()
            .iter()
            .find(|(kind, _)| *kind != "comment")
            .unwrap();
        match kind.as_str() {
            "git" => world.commit(&what["files"]),
            "apply" if what.is_string() => world.apply(what.as_str().unwrap()),
            "wait" | "sleep" => {}
            "record" => {
                for (key, record) in what.as_object().unwrap() {
                    let object = &record["object"];
                    if object["kind"] != "Kustomization" {
                        continue;
                    }
                    let status = &recorded[key]["status"];
                    let result = compare(&world, object["name"].as_str().unwrap(), status);
                    results.extend(result.map(|result| result.map_err(|fault| format!("{name}, {key}: {fault}"))));
                }
            }
            _ => return,
        }
    }
}

#[test]
fn recorded_builds_are_the_same_here() {
    let folders = std::fs::read_dir(corpora().join("harness/scenarios/kustomize"));
    let folders = folders.into_iter().flatten();
    let mut folders: Vec<PathBuf> = folders.map(|folder| folder.unwrap().path()).collect();
    folders.sort();
    let mut results = Vec::new();
    for folder in folders {
        scenario(&folder, &mut results);
    }
    let passed = results.iter().filter(|result| result.is_ok()).count();
    for fault in results.iter().filter_map(|result| result.as_ref().err()) {
        println!("  {fault}");
    }
    report("recorded builds", passed, results.len(), FLOOR);
}
