//! The stages around a build: which files are decrypted before it, the order in which objects are decrypted and their
//! variables replaced, and the resulting names, places and digests.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod builds;
mod decryption;
mod variables;

use bumpwright_budget::Share;
use bumpwright_kustomize::tree::{MemoryTree, Sealed};
use bumpwright_overlay::{
    Built, Decrypt, Overlay, OverlayError, SourceFile, StageError, Stages, Substitute, Substituted, prepare,
};
use bumpwright_yaml::{FileId, Node, ReadOptions, read_first, write_sigs};
use parking_lot::Mutex;
use serde_json::{Value, json};
use zeroize::Zeroizing;

fn tree(files: &[(&str, &str)]) -> MemoryTree {
    let mut tree = MemoryTree::new();
    for (path, text) in files {
        tree.add_file(path, *text);
    }
    tree
}

fn at(path: &str) -> Overlay {
    Overlay {
        path: path.to_owned(),
        ..Overlay::default()
    }
}

fn build(files: &[(&str, &str)], stages: &Stages<'_>) -> Result<Built, OverlayError> {
    prepare(&tree(files), &at("app"))?.build(&Sealed, stages)
}

/// Removes `ENC:`, and records its calls.
#[derive(Default)]
struct Rot {
    files: Mutex<Vec<String>>,
    objects: Mutex<Vec<String>>,
}

impl Decrypt for Rot {
    fn file(&self, file: &SourceFile<'_>) -> Result<Option<Zeroizing<Vec<u8>>>, StageError> {
        let asked = format!("{} {:?}", file.path, file.format);
        self.files.lock().push(asked);
        if file.bytes == b"broken" {
            return Err("no key fits".into());
        }
        Ok(file
            .bytes
            .strip_prefix(b"ENC:")
            .map(|plain| Zeroizing::new(plain.to_vec())))
    }

    fn object(&self, object: &Value) -> Result<Option<Value>, StageError> {
        let name = object["metadata"]["name"].as_str().unwrap().to_owned();
        self.objects.lock().push(name);
        let mut plain = object.clone();
        match object["data"]["secret"].as_str() {
            Some("broken") => return Err("no key fits".into()),
            Some(text) if text.starts_with("ENC:") => plain["data"]["secret"] = json!(&text[4..]),
            _ => return Ok(None),
        }
        Ok(Some(plain))
    }
}

/// Replaces `${x}` by a text.
struct Put(&'static str);

impl Substitute for Put {
    fn object(&self, object: &Node, _: Option<&Share>) -> Result<Option<Substituted>, StageError> {
        let mut yaml = String::new();
        write_sigs(object, &mut yaml).unwrap();
        if yaml.contains("${broken}") {
            return Err("envsubst error: variable not set".into());
        }
        let changed = yaml.replace("${x}", self.0);
        let read = read_first(changed.as_bytes(), &ReadOptions::sigs(FileId::NONE));
        let read = read.map_err(|error| format!("envsubst error: YAMLToJSON: {}", error.go()))?;
        Ok(read.map(|node| Substituted {
            node,
            has_secrets: self.0.starts_with("s3cret") && yaml.contains("${x}"),
            undefined: Vec::new(),
            guessed: Vec::new(),
        }))
    }
}

fn config_map(name: &str, data: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\ndata:\n  secret: {data}\n")
}
