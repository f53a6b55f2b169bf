//! Garbage: the decisions of source-controller's storage, on the folders of fixtures/storage.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(clippy::print_stdout)]

mod support;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use bumpwright_api::{Artifact, ObjectName};
use bumpwright_storage::{Folder, FolderEntry, Retention, Storage, StorageError, garbage};
use serde_json::Value;
use support::{World, filler, podinfo, rows, texts, world};

fn millis(value: &Value) -> Duration {
    Duration::from_millis(value.as_u64().unwrap_or_default())
}

fn retention(row: &Value) -> Retention {
    Retention {
        ttl: millis(&row["ttlMs"]),
        records: usize::try_from(row["records"].as_u64().unwrap()).unwrap(),
    }
}

/// Recreates the entries of a recorded row.
fn build(folder: &Path, row: &Value) {
    let now = SystemTime::now();
    fs::create_dir_all(folder).unwrap();
    for entry in row["entries"].as_array().into_iter().flatten() {
        let path = folder.join(entry["path"].as_str().unwrap());
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        match entry["kind"].as_str().unwrap() {
            "folder" => fs::create_dir_all(path).unwrap(),
            "link" => std::os::unix::fs::symlink("a.tar.gz", path).unwrap(),
            _ => {
                let file = File::create(path).unwrap();
                file.set_modified(now - millis(&entry["ageMs"])).unwrap();
            }
        }
    }
}

/// All files and links below a folder, sorted.
fn left(folder: &Path) -> Vec<String> {
    let (mut folders, mut names) = (vec![folder.to_owned()], Vec::new());
    while let Some(one) = folders.pop() {
        for entry in fs::read_dir(one).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path())
            } else {
                names.push(entry.path().strip_prefix(folder).unwrap().to_str().unwrap().to_owned())
            }
        }
    }
    names.sort();
    names
}

#[test]
fn garbage_is_what_source_controller_takes_for_it() {
    let rows = rows("garbage.jsonl");
    let (mut removing, now) = (0, SystemTime::now());
    for row in &rows {
        // WalkDir's order: a folder, then what is in it, by name.
        let mut found: Vec<FolderEntry> = row["entries"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|entry| FolderEntry {
                path: PathBuf::from(entry["path"].as_str().unwrap()),
                modified: now - millis(&entry["ageMs"]),
                is_file: entry["kind"] == "file",
            })
            .collect();
        found.sort_by(|one, other| one.path.cmp(&other.path));
        let current = Path::new(row["current"].as_str().unwrap());
        let limit = usize::try_from(row["limit"].as_u64().unwrap()).unwrap();
        let garbage = garbage(&found, current, now, &retention(row), limit);
        let garbage: Vec<&str> = garbage.iter().map(|path| path.to_str().unwrap()).collect();
        assert_eq!(garbage, texts(&row["garbage"]), "{row}");
        removing += usize::from(!garbage.is_empty());
    }
    println!("garbage: {} folders, {removing} with garbage", rows.len());
    assert!(rows.len() >= 300 && removing >= 100);
}

#[test]
fn the_same_files_are_left_on_disk() {
    let rows = rows("garbage.jsonl");
    for row in rows.iter().filter(|row| !row["left"].is_null()).step_by(4) {
        let retention = retention(row);
        let world = World::retaining(retention.ttl, retention.records);
        build(&world.folder(), row);
        let artifact = world.artifact(row["current"].as_str().unwrap());
        let collected = world.storage.collect_garbage(&artifact).unwrap();
        assert!(collected.faults.is_empty(), "{row}: {:?}", collected.faults);
        assert_eq!(left(&world.folder()), texts(&row["left"]), "{row}");
        assert_eq!(collected.removed.len(), texts(&row["garbage"]).len(), "{row}");
    }
}

#[test]
fn all_but_the_current_one_go() {
    let rows = rows("current.jsonl");
    for row in &rows {
        let world = world();
        build(&world.folder(), row);
        let artifact = world.artifact(row["current"].as_str().unwrap());
        let collected = world.storage.remove_all_but_current(&artifact).unwrap();
        let mut removed: Vec<&str> = collected
            .removed
            .iter()
            .map(|path| path.strip_prefix(world.folder()).unwrap().to_str().unwrap())
            .collect();
        removed.sort_unstable();
        let mut expected = texts(&row["garbage"]);
        expected.sort();
        assert_eq!(removed, expected, "{row}");
        assert_eq!(left(&world.folder()), texts(&row["left"]), "{row}");
    }
    assert!(rows.len() >= 60);
}

#[test]
fn a_file_that_stays_does_not_keep_the_others() {
    let world = World::retaining(Duration::ZERO, 0);
    let current = world.write("a.tar.gz", b"now");
    for name in ["b.tar.gz", "d.tar.gz"] {
        fs::write(world.folder().join(name), "old").unwrap();
    }
    // A folder that is not empty cannot be removed as a file, not even by root.
    fs::create_dir_all(world.folder().join("c.tar.gz.lock/x")).unwrap();
    fs::write(world.folder().join("c.tar.gz"), "old").unwrap();
    let collected = world.storage.collect_garbage(&current).unwrap();
    let [fault] = &collected.faults[..] else {
        panic!("{:?}", collected.faults)
    };
    assert!(
        fault.to_string().contains("cannot remove") && fault.to_string().contains("c.tar.gz.lock"),
        "{fault}"
    );
    assert_eq!(collected.removed.len(), 3);
    assert_eq!(world.names(), ["a.tar.gz", "a.tar.gz.lock", "c.tar.gz.lock"]);
}

#[test]
fn a_deleted_object_leaves_nothing() {
    let world = world();
    world.write("a.tar.gz", b"a");
    let other = bumpwright_storage::Folder::new("GitRepository", "apps", "other").unwrap();
    let other = world.storage.artifact(&other, "a.tar.gz", "x").unwrap();
    let other = world.storage.write(&other, None, support::filler(b"b")).unwrap();
    assert!(world.storage.remove_all(&podinfo()).unwrap());
    assert!(!world.storage.remove_all(&podinfo()).unwrap());
    assert!(!world.folder().exists());
    assert!(world.storage.exists(&other));
    // Nothing to collect is not an error.
    let collected = world.storage.collect_garbage(&world.artifact("a.tar.gz")).unwrap();
    assert!(collected.removed.is_empty() && collected.faults.is_empty());
}

#[test]
fn folders_of_objects_that_are_gone_are_removed() {
    let world = world();
    let stays = world.write("a.tar.gz", b"stays");
    let write = |kind: &str, name: &str| {
        let folder = Folder::new(kind, "apps", name).unwrap();
        let artifact = world.storage.artifact(&folder, "a.tar.gz", "x").unwrap();
        world.storage.write(&artifact, None, support::filler(b"gone")).unwrap()
    };
    let gone = write("GitRepository", "gone");
    let of_another_kind = write("Bucket", "gone");
    // What only looks like one.
    std::os::unix::fs::symlink(world.root.path(), world.folder().with_file_name("link")).unwrap();
    let remove = || {
        let is_there = |name: &ObjectName| (name.namespace.as_str(), name.name.as_str()) == ("apps", "podinfo");
        world.storage.remove_gone("GitRepository", is_there).unwrap()
    };
    assert_eq!(remove(), 1);
    assert!(world.storage.exists(&stays) && !world.storage.exists(&gone));
    assert!(world.storage.exists(&of_another_kind) && world.root.path().exists());
    assert_eq!(remove(), 0);
    assert_eq!(world.storage.remove_gone("OCIRepository", |_| false).unwrap(), 0);
}

/// Writes so many bytes for an object; none when it does not fit.
fn put(storage: &Storage, namespace: &str, name: &str, file: &str, size: usize) -> Option<Artifact> {
    let folder = Folder::new("GitRepository", namespace, name).unwrap();
    let artifact = storage.artifact(&folder, file, "main@sha1:4d2f").unwrap();
    match storage.write(&artifact, None, filler(&vec![b'x'; size])) {
        Ok(written) => Some(written),
        Err(StorageError::Full { .. }) => None,
        Err(other) => panic!("{other}"),
    }
}

/// 1,000 bytes for a namespace, 2,000 for all.
fn quota(ttl: Duration) -> World {
    World::with(|settings| (settings.room, settings.retention.ttl) = (2000, ttl))
}

#[test]
fn old_artifacts_of_a_namespace_make_room_for_a_new_one() {
    let world = quota(Duration::ZERO);
    let storage = &world.storage;
    let old = put(storage, "apps", "podinfo", "1.tar.gz", 300).unwrap();
    let current = put(storage, "apps", "podinfo", "2.tar.gz", 300).unwrap();
    let elsewhere = put(storage, "web", "podinfo", "1.tar.gz", 300).unwrap();
    put(storage, "web", "podinfo", "2.tar.gz", 300).unwrap();
    assert!(put(storage, "apps", "other", "1.tar.gz", 800).is_none());
    assert!(!storage.exists(&old));
    put(storage, "apps", "other", "1.tar.gz", 500).unwrap();
    assert_eq!(world.names(), ["2.tar.gz", "2.tar.gz.lock"]);
    assert!(storage.exists(&current) && storage.exists(&elsewhere));
    // Now all are full, and the old one in another namespace goes.
    put(storage, "dev", "podinfo", "1.tar.gz", 900).unwrap();
    assert!(!storage.exists(&elsewhere));
}

#[test]
fn the_artifact_that_came_back_is_the_current_one() {
    let world = quota(Duration::ZERO);
    let storage = &world.storage;
    put(storage, "apps", "podinfo", "1.tar.gz", 300).unwrap();
    let newer = put(storage, "apps", "podinfo", "2.tar.gz", 300).unwrap();
    let current = put(storage, "apps", "podinfo", "1.tar.gz", 300).unwrap();
    age(&world.path(&current));
    put(storage, "apps", "other", "1.tar.gz", 500).unwrap();
    assert!(storage.exists(&current) && !storage.exists(&newer));
}

#[test]
fn what_a_status_may_still_name_is_kept() {
    let hour = Duration::from_secs(3600);
    let world = quota(hour);
    let old = put(&world.storage, "apps", "podinfo", "1.tar.gz", 300).unwrap();
    put(&world.storage, "apps", "podinfo", "2.tar.gz", 300).unwrap();
    age(&world.path(&old));
    // Only just replaced, so the status may not say so yet.
    assert!(put(&world.storage, "apps", "other", "1.tar.gz", 500).is_none());
    assert!(world.storage.exists(&old));
    // After a restart nobody knows which is the current one, until its status says so.
    let mut settings = support::settings(world.root.path());
    (settings.room, settings.retention.ttl) = (2000, Duration::ZERO);
    let again = Storage::new(settings).unwrap();
    assert!(put(&again, "apps", "other", "1.tar.gz", 500).is_none());
    assert_eq!(world.names().len(), 4);
}

#[test]
fn what_is_not_expired_is_kept() {
    let world = quota(Duration::from_millis(50));
    let old = put(&world.storage, "apps", "podinfo", "1.tar.gz", 300).unwrap();
    put(&world.storage, "apps", "podinfo", "2.tar.gz", 300).unwrap();
    std::thread::sleep(Duration::from_millis(60));
    let file = File::options().append(true).open(world.path(&old)).unwrap();
    file.set_modified(SystemTime::now() + Duration::from_secs(3600))
        .unwrap();
    assert!(put(&world.storage, "apps", "other", "1.tar.gz", 500).is_none());
    assert!(world.storage.exists(&old));
}

#[test]
fn an_object_that_is_written_to_is_not_waited_for() {
    let world = quota(Duration::ZERO);
    let storage = &world.storage;
    put(storage, "apps", "podinfo", "1.tar.gz", 300).unwrap();
    put(storage, "apps", "podinfo", "2.tar.gz", 300).unwrap();
    let writing = world.artifact("3.tar.gz");
    let written = storage.write(&writing, None, |into| {
        assert!(put(storage, "apps", "other", "1.tar.gz", 500).is_none());
        filler(b"x")(into)
    });
    assert!(written.is_ok());
    put(storage, "apps", "other", "1.tar.gz", 500).unwrap();
}

/// Makes a file two hours old.
fn age(path: &Path) {
    let file = File::options().append(true).open(path).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(7200))
        .unwrap();
}
