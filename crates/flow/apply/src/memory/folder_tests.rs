//! What is kept comes back to its owner, and to nobody else; whatever is not as it was written is not trusted.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use super::*;
use crate::look::change::{Action, Change};
use crate::look::dry_run::Version;
use crate::object::item::{Desired, Item};
use crate::settings::Settings;
use bumpwright_kube::Stamp;

fn owner(name: &str, uid: &str) -> MemoryOwner {
    MemoryOwner {
        name: ObjectName::new("apps", name),
        uid: uid.to_owned(),
    }
}

fn item(name: &str, value: &str) -> Item {
    let object = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": "apps"}, "data": {"key": value}});
    let desired = Desired { object, origin: None };
    Item::of(desired, &Settings::new(ObjectName::new("apps", "app"))).unwrap()
}

fn stamp(version: &str) -> Stamp {
    Stamp {
        namespace: "apps".to_owned(),
        name: "one".to_owned(),
        uid: "u".to_owned(),
        resource_version: version.to_owned(),
    }
}

fn keep(memory: &mut Memory, item: &Item, version: &str, action: Action) {
    let change = Change {
        id: item.id.clone(),
        version: "v1".to_owned(),
        action,
    };
    let version = Version {
        uid: "u".to_owned(),
        resource_version: version.to_owned(),
    };
    memory.keep(item, &version, &change);
}

fn open(folder: &Path) -> MemoryFolder {
    MemoryFolder::new(folder.join("applied"), "0.1.0")
}

/// A folder in which `apps/app` has applied one object, at version 7.
fn kept(folder: &Path) -> (MemoryFolder, PathBuf) {
    let opened = open(folder);
    let mut memory = opened.read(&owner("app", "1")).unwrap();
    memory.agree([7; 32]);
    keep(&mut memory, &item("one", "a"), "7", Action::Created);
    opened.write(&owner("app", "1"), &mut memory).unwrap();
    let path = opened.path(opened.key().unwrap(), &owner("app", "1"));
    (opened, path)
}

/// What is known of the object, whatever its version.
fn known(folder: &MemoryFolder, owner: &MemoryOwner) -> bool {
    let memory = folder.read(owner).unwrap_or_else(|(memory, _)| memory);
    memory.recall(&item("one", "a")).is_some()
}

#[test]
fn what_was_kept_is_known_to_the_next_process() {
    let folder = tempfile::tempdir().unwrap();
    kept(folder.path());
    let mut memory = open(folder.path()).read(&owner("app", "1")).unwrap();
    memory.agree([7; 32]);
    let one = item("one", "a");
    let found = *memory.recall(&one).unwrap();
    assert_eq!(found.change(&one).to_string(), "Secret/apps/one unchanged");
    assert!(memory.is_at(&found, &stamp("7")) && !memory.is_at(&found, &stamp("8")));
    let recreated = Stamp {
        uid: "v".to_owned(),
        ..stamp("7")
    };
    assert!(!memory.is_at(&found, &recreated));
    assert!(memory.recall(&item("one", "b")).is_none() && memory.recall(&item("two", "a")).is_none());
    memory.agree([8; 32]);
    assert!(memory.recall(&one).is_none(), "other settings");
}

#[test]
fn nobody_else_gets_it() {
    let folder = tempfile::tempdir().unwrap();
    let (opened, path) = kept(folder.path());
    let newer = MemoryFolder::new(folder.path().join("applied"), "0.2.0");
    let memory = newer.read(&owner("app", "1")).unwrap();
    assert!(memory.recall(&item("one", "a")).is_none());
    for other in [owner("app", "2"), owner("ap", "1"), owner("other", "1")] {
        assert!(!known(&opened, &other), "{other:?}");
        // Its file under the other's name.
        fs::copy(&path, opened.path(opened.key().unwrap(), &other)).unwrap();
        assert!(!known(&opened, &other), "{other:?}");
    }
    assert!(known(&opened, &owner("app", "1")));
    // The same file in a folder with a key of its own.
    let elsewhere = tempfile::tempdir().unwrap();
    let foreign = open(elsewhere.path());
    fs::copy(&path, foreign.path(foreign.key().unwrap(), &owner("app", "1"))).unwrap();
    assert!(foreign.read(&owner("app", "1")).is_err());
}

#[test]
fn damage_anywhere_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let (opened, path) = kept(folder.path());
    let whole = fs::read(&path).unwrap();
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        fs::write(&path, &bytes).unwrap();
        assert!(!known(&opened, &owner("app", "1")), "damaged at {at}");
        fs::write(&path, &whole[..at]).unwrap();
        assert!(!known(&opened, &owner("app", "1")), "cut off at {at}");
    }
    fs::write(&path, [whole.as_slice(), b"\n"].concat()).unwrap();
    assert!(!known(&opened, &owner("app", "1")));
    let (mut memory, error) = opened.read(&owner("app", "1")).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("is damaged: all objects of apps/app are compared"),
        "{error}"
    );
    // The next write mends it.
    keep(&mut memory, &item("one", "a"), "7", Action::Unchanged);
    opened.write(&owner("app", "1"), &mut memory).unwrap();
    assert!(known(&opened, &owner("app", "1")));
}

#[test]
fn a_lost_or_foreign_key_costs_a_comparison() {
    for key in [None, Some(vec![]), Some(vec![7; 32]), Some(vec![7; 99])] {
        let folder = tempfile::tempdir().unwrap();
        let (opened, _) = kept(folder.path());
        let path = opened.folder.join(KEY);
        match &key {
            Some(bytes) => fs::write(&path, bytes).unwrap(),
            None => fs::remove_file(&path).unwrap(),
        }
        let next = open(folder.path());
        assert!(!known(&next, &owner("app", "1")), "{key:?}");
        let mut memory = next.read(&owner("app", "1")).unwrap();
        keep(&mut memory, &item("one", "a"), "7", Action::Unchanged);
        next.write(&owner("app", "1"), &mut memory).unwrap();
        assert!(known(&open(folder.path()), &owner("app", "1")), "{key:?}");
    }
}

#[test]
fn it_is_written_when_something_changed() {
    let folder = tempfile::tempdir().unwrap();
    let (opened, path) = kept(folder.path());
    let (owner, one) = (owner("app", "1"), item("one", "a"));
    let mut memory = opened.read(&owner).unwrap();
    fs::remove_file(&path).unwrap();
    keep(&mut memory, &one, "7", Action::Unchanged);
    opened.write(&owner, &mut memory).unwrap();
    assert!(!path.exists(), "nothing changed");
    keep(&mut memory, &one, "8", Action::Configured);
    opened.write(&owner, &mut memory).unwrap();
    assert!(path.exists());
    memory.forget_object(&one.id);
    opened.write(&owner, &mut memory).unwrap();
    assert!(!path.exists(), "nothing is left to know");
}

#[test]
fn times_of_another_clock_are_not_trusted() {
    let folder = tempfile::tempdir().unwrap();
    let (opened, _) = kept(folder.path());
    let memory = opened.read(&owner("app", "1")).unwrap();
    let key = opened.key().unwrap();
    let count = |written: u64, read: u64| {
        let memory = Memory::of_bytes(key.clone(), &memory.to_bytes(written), read).unwrap();
        memory.len()
    };
    let now = 1_800_000_000;
    assert_eq!(count(now, now), 1);
    assert_eq!(count(now, now + 3500), 1);
    assert_eq!(count(now, now + 3601), 0, "it is over");
    assert_eq!(count(now, now - 60), 0, "the clock went back");
    assert_eq!(count(now, 0), 0);
}

#[test]
fn it_goes_with_its_kustomization_and_tells_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (opened, path) = kept(folder.path());
    let mut memory = opened.read(&owner("other", "2")).unwrap();
    keep(&mut memory, &item("one", "hunter2"), "7", Action::Created);
    opened.write(&owner("other", "2"), &mut memory).unwrap();
    for entry in fs::read_dir(&opened.folder).unwrap() {
        let entry = entry.unwrap();
        assert_eq!(entry.metadata().unwrap().permissions().mode() & 0o77, 0);
        let bytes = [fs::read(entry.path()).unwrap(), entry.file_name().into_encoded_bytes()].concat();
        for text in ["hunter2", "apps", "one", "other"] {
            assert!(!bytes.windows(text.len()).any(|part| part == text.as_bytes()), "{text}");
        }
    }
    fs::write(opened.folder.join(".tmp123"), "left by a crash").unwrap();
    opened.retain(&[owner("app", "1")]).unwrap();
    assert!(known(&opened, &owner("app", "1")) && !known(&opened, &owner("other", "2")));
    assert_eq!(fs::read_dir(&opened.folder).unwrap().count(), 2);
    opened.remove(&owner("app", "1")).unwrap();
    opened.remove(&owner("app", "1")).unwrap();
    assert!(!path.exists());
}

#[test]
fn a_folder_that_cannot_be_used_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("applied"), "somebody's file").unwrap();
    let opened = open(folder.path());
    let (mut memory, _) = opened.read(&owner("app", "1")).unwrap_err();
    keep(&mut memory, &item("one", "a"), "7", Action::Created);
    assert!(memory.recall(&item("one", "a")).is_some(), "in the process it is known");
    assert!(opened.write(&owner("app", "1"), &mut memory).is_err());
    // Its digests have no key, so that they are not written later either.
    fs::remove_file(folder.path().join("applied")).unwrap();
    opened.write(&owner("app", "1"), &mut memory).unwrap();
    assert!(!known(&opened, &owner("app", "1")));
}
