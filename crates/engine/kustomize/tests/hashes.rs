//! Name hashes of objects from a plugin, as in kustomize v5.8.2 (`fixtures/kustomize/hashes.jsonl`): the plugin's
//! output (`made`), the kustomization around it (`top`), and the names in the build.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(clippy::print_stdout)]

mod pairs;

use bumpwright_kustomize::tree::{Command, MemoryTree, PluginFile, RepoUrl, Sealed, Tree, World, WorldError};
use bumpwright_kustomize::{Options, build};
use serde_json::Value;
use std::sync::Arc;

/// A world with one plugin, whose output is constant.
struct Writing<'t>(&'t str);

impl World for Writing<'_> {
    fn repository(&self, url: &RepoUrl) -> Result<Arc<dyn Tree>, WorldError> {
        Sealed.repository(url)
    }

    fn fetch(&self, url: &str) -> Result<Vec<u8>, WorldError> {
        Sealed.fetch(url)
    }

    fn plugin(&self, _: &str, _: &str, kind: &str) -> PluginFile {
        PluginFile::Program(kind.to_owned())
    }

    fn run(&self, _: &Command<'_>) -> Result<Vec<u8>, WorldError> {
        Ok(self.0.as_bytes().to_vec())
    }
}

fn difference(case: &Value) -> Option<String> {
    let text = |key: &str| case[key].as_str().unwrap().to_owned();
    let mut tree = MemoryTree::new();
    tree.add_file("/kustomization.yaml", text("top"));
    tree.add_file("/g.yaml", "apiVersion: some.io/v1\nkind: Thing\nmetadata: {name: t}\n");
    let options = Options {
        plugins: true,
        ..Options::default()
    };
    let built = build(&tree, "/", &options, &Writing(&text("made"))).unwrap();
    let names: Vec<Value> = built.objects.iter().map(|object| object.name().into()).collect();
    (Value::Array(names.clone()) != case["names"])
        .then(|| format!("{}: {names:?}, wanted {}", case["note"], case["names"]))
}

/// P-028: other objects than ConfigMaps and Secrets are hashed with the full content.
#[test]
fn objects_of_any_kind_are_hashed_as_by_the_real_kustomize() {
    pairs::compare("hashes", "BUMPWRIGHT_HASHES", difference);
}
