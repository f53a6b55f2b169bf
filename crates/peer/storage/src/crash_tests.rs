//! Tests of writes that fail at each of their steps: refused by the system, or by a crash.

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::error::FillError;
use crate::garbage::Retention;
use crate::layout::{Folder, LATEST};
use crate::step::{Step, Steps};
use crate::storage::{Settings, Storage};
use crate::write::Metadata;
use bumpwright_api::Artifact;
use bumpwright_artifact::Algorithm;

const STEPS: [Step; 10] = [
    Step::MakeFolder,
    Step::Lock,
    Step::Create,
    Step::Fill,
    Step::SyncFile,
    Step::Rename,
    Step::SyncFolder,
    Step::MakeLink,
    Step::RenameLink,
    Step::SyncLink,
];
const OLD: &[u8] = b"the old contents";
const NEW: &[u8] = b"the new contents, which are longer";
/// The folder for the child of the test, and the step at which it crashes.
const ROOT: &str = "BUMPWRIGHT_TEST_STORAGE";
const STEP: &str = "BUMPWRIGHT_TEST_STEP";

fn settings(root: &Path) -> Settings {
    Settings {
        path: root.to_owned(),
        host: "h".to_owned(),
        retention: Retention::default(),
        algorithm: Algorithm::default(),
        max_size: None,
        room: u64::MAX,
    }
}

fn storage(root: &Path, steps: Steps) -> Storage {
    Storage::with_steps(settings(root), steps).unwrap()
}

fn artifact(storage: &Storage, file: &str) -> Artifact {
    let folder = Folder::new("Bucket", "apps", "podinfo").unwrap();
    storage.artifact(&folder, file, "r").unwrap()
}

fn fill(contents: &'static [u8]) -> impl FnOnce(&mut dyn Write) -> Result<Metadata, FillError> {
    move |into| {
        into.write_all(contents)?;
        Ok(Metadata::new())
    }
}

/// The invariants: whole files under their names, and a link to one of them.
fn check(root: &Path, file: &str, step: Step) {
    let folder = root.join("bucket/apps/podinfo");
    let old = fs::read(folder.join("old.tar.gz")).unwrap();
    let read = fs::read(folder.join(file)).ok();
    let linked = fs::read(folder.join(LATEST)).unwrap();
    // One name is overwritten, the other is new.
    let before = (file == "old.tar.gz").then_some(OLD);
    assert!(
        read.as_deref() == Some(NEW) || read.as_deref() == before,
        "{step:?}: {read:?}"
    );
    assert!(old == OLD || file == "old.tar.gz", "{step:?}");
    assert!(linked == OLD || linked == NEW, "{step:?}");
    let is_linked = STEPS.iter().position(|one| *one == step) > STEPS.iter().position(|one| *one == Step::RenameLink);
    assert!(linked == NEW || !is_linked, "{step:?}");
}

/// After a restart of the storage only named files are left, and the write succeeds.
fn check_again(root: &Path, file: &str, step: Step) {
    let storage = storage(root, Steps::unwatched());
    let names = fs::read_dir(root.join("bucket/apps/podinfo")).unwrap();
    for name in names.map(|entry| entry.unwrap().file_name().into_string().unwrap()) {
        assert!(!name.starts_with('.'), "{step:?}: {name}");
    }
    let written = storage
        .write(&artifact(&storage, file), Some(LATEST), fill(NEW))
        .unwrap();
    storage.verify(&written).unwrap();
    assert_eq!(fs::read(root.join("bucket/apps/podinfo").join(LATEST)).unwrap(), NEW);
}

fn begin() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    let storage = storage(root.path(), Steps::unwatched());
    let old = artifact(&storage, "old.tar.gz");
    storage.write(&old, Some(LATEST), fill(OLD)).unwrap();
    root
}

#[test]
fn a_refused_step_leaves_the_old_or_the_new() {
    for (step, kind) in STEPS.into_iter().zip(
        [io::ErrorKind::StorageFull, io::ErrorKind::ReadOnlyFilesystem]
            .into_iter()
            .cycle(),
    ) {
        for file in ["old.tar.gz", "new.tar.gz"] {
            let root = begin();
            let failing = storage(
                root.path(),
                Steps::watched(move |at| if at == step { Err(kind.into()) } else { Ok(()) }),
            );
            let error = failing
                .write(&artifact(&failing, file), Some(LATEST), fill(NEW))
                .unwrap_err()
                .to_string();
            assert!(
                error.contains("bucket/apps/podinfo") && error.contains("; "),
                "{step:?}: {error}"
            );
            check(root.path(), file, step);
            // The file is served, and does not count as damaged.
            let path = crate::layout::ArtifactPath::parse("bucket/apps/podinfo/latest.tar.gz").unwrap();
            failing.served(&path).unwrap();
            let names = fs::read_dir(root.path().join("bucket/apps/podinfo")).unwrap();
            let partial = names.filter(|entry| {
                entry
                    .as_ref()
                    .is_ok_and(|entry| crate::storage::is_partial(&entry.file_name()))
            });
            assert_eq!(partial.count(), 0, "{step:?}");
            check_again(root.path(), file, step);
        }
    }
}

#[test]
fn a_full_volume_has_more_room_at_the_next_attempt() {
    let (root, is_full) = (tempfile::tempdir().unwrap(), Arc::new(AtomicBool::new(false)));
    let full = Arc::clone(&is_full);
    let mut settings = settings(root.path());
    settings.retention.ttl = Duration::ZERO;
    let storage = Storage::with_steps(
        settings,
        Steps::watched(move |at| {
            if at == Step::SyncFile && full.load(Ordering::SeqCst) {
                Err(io::ErrorKind::StorageFull.into())
            } else {
                Ok(())
            }
        }),
    )
    .unwrap();
    let written = ["old.tar.gz", "new.tar.gz"].map(|file| {
        let artifact = artifact(&storage, file);
        storage.write(&artifact, None, fill(NEW)).unwrap()
    });
    is_full.store(true, Ordering::SeqCst);
    let other = Folder::new("Bucket", "web", "podinfo").unwrap();
    let other = storage.artifact(&other, "1.tar.gz", "r").unwrap();
    assert!(storage.write(&other, None, fill(NEW)).is_err());
    assert_eq!(written.map(|artifact| storage.exists(&artifact)), [false, true]);
}

#[test]
fn a_process_that_ends_at_any_step_leaves_the_old_or_the_new() {
    for (number, step) in STEPS.into_iter().enumerate() {
        let file = if number % 2 == 0 { "old.tar.gz" } else { "new.tar.gz" };
        let root = begin();
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "crash_tests::a_child_that_ends", "--ignored", "--nocapture"])
            .env(ROOT, root.path())
            .env(STEP, format!("{number} {file}"))
            .output()
            .unwrap();
        assert!(!child.status.success(), "{step:?}");
        assert!(
            child.status.code().is_none(),
            "{step:?} {}",
            String::from_utf8_lossy(&child.stderr)
        );
        check(root.path(), file, step);
        check_again(root.path(), file, step);
    }
}

/// The child of the test above: it crashes in the middle of a write, without cleaning up.
#[test]
#[ignore = "run by a_process_that_ends_at_any_step_leaves_the_old_or_the_new"]
fn a_child_that_ends() {
    let (Ok(root), Ok(step)) = (std::env::var(ROOT), std::env::var(STEP)) else {
        return;
    };
    let (number, file) = step.split_once(' ').unwrap();
    let step = STEPS[number.parse::<usize>().unwrap()];
    let storage = storage(
        Path::new(&root),
        Steps::watched(move |at| if at == step { std::process::abort() } else { Ok(()) }),
    );
    storage
        .write(&artifact(&storage, file), Some(LATEST), fill(NEW))
        .unwrap();
}
