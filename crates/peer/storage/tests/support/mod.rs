//! A storage in a folder of its own, and recorded rows.
#![allow(dead_code)] // not every test needs all of it

pub mod server;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bumpwright_api::Artifact;
use bumpwright_storage::{Algorithm, Folder, Metadata, Retention, Settings, Storage};
use serde_json::Value;
use tempfile::TempDir;

/// A storage in a temporary folder.
pub struct World {
    pub root: TempDir,
    pub storage: Storage,
}

pub fn settings(root: &Path) -> Settings {
    Settings {
        path: root.to_owned(),
        host: "files.example.com".to_owned(),
        retention: Retention::default(),
        algorithm: Algorithm::default(),
        max_size: None,
        room: u64::MAX,
    }
}

pub fn world() -> World {
    World::with(|_| ())
}

impl World {
    pub fn with(change: impl FnOnce(&mut Settings)) -> Self {
        let root = tempfile::tempdir().unwrap();
        let mut settings = settings(root.path());
        change(&mut settings);
        let storage = Storage::new(settings).unwrap();
        Self { root, storage }
    }

    pub fn retaining(ttl: Duration, records: usize) -> Self {
        Self::with(|settings| settings.retention = Retention { ttl, records })
    }

    /// Writes an artifact of `apps/podinfo`.
    pub fn write(&self, file: &str, contents: &[u8]) -> Artifact {
        let artifact = self.artifact(file);
        self.storage.write(&artifact, None, filler(contents)).unwrap()
    }

    pub fn artifact(&self, file: &str) -> Artifact {
        self.storage.artifact(&podinfo(), file, "main@sha1:4d2f").unwrap()
    }

    /// The folder of `apps/podinfo`.
    pub fn folder(&self) -> PathBuf {
        self.root.path().join("gitrepository/apps/podinfo")
    }

    pub fn path(&self, artifact: &Artifact) -> PathBuf {
        self.root.path().join(&artifact.path)
    }

    /// All names in the folder of `apps/podinfo`.
    pub fn names(&self) -> Vec<String> {
        names(&self.folder())
    }
}

pub fn podinfo() -> Folder {
    Folder::new("GitRepository", "apps", "podinfo").unwrap()
}

pub fn filler(contents: &[u8]) -> impl FnOnce(&mut dyn Write) -> Result<Metadata, bumpwright_storage::FillError> {
    move |into| {
        into.write_all(contents)?;
        Ok(Metadata::new())
    }
}

pub fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// The rows of a file of fixtures/storage.
pub fn rows(file: &str) -> Vec<Value> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../../fixtures/storage")
        .join(file);
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A list of texts.
pub fn texts(value: &Value) -> Vec<String> {
    let texts = value.as_array().into_iter().flatten();
    texts.map(|text| text.as_str().unwrap().to_owned()).collect()
}
