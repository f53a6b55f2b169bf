//! Writes and reads of artifacts: atomicity and damage.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use std::fs;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::{PermissionsExt, symlink};

use bumpwright_api::Artifact;
use bumpwright_storage::{Algorithm, LATEST, Metadata, Storage, StorageError, advertised_host};
use support::{World, filler, rows, settings, world};

fn read(storage: &Storage, artifact: &Artifact) -> Result<Vec<u8>, std::io::Error> {
    let mut bytes = Vec::new();
    storage.open(artifact).unwrap().read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[test]
fn hosts_are_advertised_as_by_source_controller() {
    let rows = rows("addresses.jsonl");
    for row in &rows {
        let text = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
        let host = advertised_host(&text("listen"), &text("advertised"), || Some(text("hostname")));
        if row["error"] == true {
            assert!(host.is_err(), "{row}")
        } else {
            assert_eq!(host, Ok(text("host")), "{row}");
            let root = tempfile::tempdir().unwrap();
            let mut settings = settings(root.path());
            settings.host = text("host");
            let storage = Storage::new(settings).unwrap();
            let artifact = storage.artifact(&support::podinfo(), "a.tar.gz", "x").unwrap();
            assert_eq!(artifact.url, text("url"), "{row}");
        }
    }
    assert!(rows.len() > 20);
    let unknown = advertised_host("0.0.0.0:9090", "", || None).unwrap_err().to_string();
    assert!(unknown.contains("--storage-adv-addr"), "{unknown}");
}

#[test]
fn an_artifact_is_written_and_described() {
    let world = world();
    let artifact = world.artifact("4d2f.tar.gz");
    let written = world.storage.write(&artifact, Some(LATEST), |into| {
        into.write_all(b"fo")?;
        into.write_all(b"o")?;
        Ok(Metadata::from([("key".to_owned(), "value".to_owned())]))
    });
    let written = written.unwrap();
    assert_eq!(written.path, "gitrepository/apps/podinfo/4d2f.tar.gz");
    assert_eq!(
        written.url,
        "http://files.example.com/gitrepository/apps/podinfo/4d2f.tar.gz"
    );
    assert_eq!(written.revision, "main@sha1:4d2f");
    assert_eq!(
        written.digest,
        "sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"
    );
    assert_eq!((written.size, &written.metadata["key"][..]), (Some(3), "value"));
    assert_eq!(
        (written.last_update_time.len(), written.last_update_time.ends_with('Z')),
        (20, true)
    );
    assert_eq!(world.names(), ["4d2f.tar.gz", "4d2f.tar.gz.lock", LATEST]);
    assert_eq!(fs::read(world.folder().join(LATEST)).unwrap(), b"foo");
    let mode = |path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(world.path(&written)), mode(world.folder())), (0o600, 0o700));
    let url = world.storage.link_url(&written, LATEST).unwrap();
    assert_eq!(url, "http://files.example.com/gitrepository/apps/podinfo/latest.tar.gz");
    assert_eq!(read(&world.storage, &written).unwrap(), b"foo");
    world.storage.verify(&written).unwrap();
    assert!(world.storage.remove_artifact(&written).unwrap());
    assert!(!world.storage.remove_artifact(&written).unwrap());
}

/// Digests of `foo`, by `--artifact-digest-algo`. Files of another algorithm are checked by that.
#[test]
fn digests_are_made_by_every_algorithm() {
    let digests = [
        (Algorithm::Sha1, "sha1:0beec7b5ea3f0fdbc95d0dd47f3c5bc275da8a33"),
        (
            Algorithm::Blake3,
            "blake3:04e0bb39f30b1a3feb89f536c93be15055482df748674b00d26e5a75777702e9",
        ),
    ];
    for (algorithm, digest) in digests {
        let before = world();
        let old = before.write("old.tar.gz", b"foo");
        let world = World::with(|settings| settings.algorithm = algorithm);
        let written = world.write("4d2f.tar.gz", b"foo");
        assert_eq!(written.digest, digest);
        assert_eq!(read(&world.storage, &written).unwrap(), b"foo");
        world.write("old.tar.gz", b"foo");
        world.storage.verify(&old).unwrap();
        fs::write(world.path(&written), b"fo0").unwrap();
        let damaged = world.storage.verify(&written).unwrap_err();
        assert!(matches!(damaged, StorageError::Damaged { .. }), "{damaged}");
    }
}

#[test]
fn an_artifact_has_no_more_bytes_than_it_may() {
    let world = World::with(|settings| settings.max_size = Some(1000));
    let written = world.write("1000.tar.gz", &[b'x'; 1000]);
    assert_eq!(written.size, Some(1000));
    let artifact = world.artifact("1001.tar.gz");
    let large = world.storage.write(&artifact, None, filler(&[b'x'; 1001]));
    let said = large.unwrap_err().to_string();
    assert!(
        said.contains("1001.tar.gz would have more than 1000 bytes") && said.contains("--max-artifact-size"),
        "{said}"
    );
    assert!(!world.storage.exists(&artifact));
    let names = world.names();
    assert!(names.iter().all(|name| !name.starts_with('.')), "{names:?}");
}

#[test]
fn the_link_moves_on() {
    let world = world();
    for (file, contents) in [("a.tar.gz", b"a"), ("b.tar.gz", b"b")] {
        let written = world
            .storage
            .write(&world.artifact(file), Some(LATEST), filler(contents))
            .unwrap();
        assert_eq!(fs::read(world.folder().join(LATEST)).unwrap(), contents);
        assert!(world.storage.exists(&written));
    }
    // A link is not an artifact.
    assert!(!world.storage.exists(&world.artifact(LATEST)));
}

#[test]
fn what_cannot_be_had_leaves_what_was_there() {
    let world = world();
    let old = world.write("a.tar.gz", b"old");
    let failed = world.storage.write(&old, None, |into| {
        into.write_all(&[0; 1 << 20])?;
        Err("the remote hung up".into())
    });
    let failed = failed.unwrap_err();
    let text = failed.to_string();
    assert!(matches!(failed, StorageError::Fill { .. }), "{text}");
    assert!(
        text.contains("the remote hung up") && text.contains("apps/podinfo/a.tar.gz"),
        "{text}"
    );
    assert_eq!(world.names(), ["a.tar.gz", "a.tar.gz.lock"]);
    assert_eq!(read(&world.storage, &old).unwrap(), b"old");
}

#[test]
fn damage_is_found_while_reading_and_the_file_goes() {
    let world = world();
    let written = world.write("a.tar.gz", b"hello");
    fs::write(world.path(&written), "hellO").unwrap();
    let error = read(&world.storage, &written).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidData);
    assert!(
        error.to_string().contains("is not what was written") && error.to_string().contains(&written.digest),
        "{error}"
    );
    assert!(!world.storage.exists(&written));
    assert!(world.storage.open(&written).unwrap_err().is_absent());
}

#[test]
fn who_asks_for_what_was_there_before_does_no_harm() {
    let world = world();
    let old = world.write("a.tar.gz", b"old");
    let new = world.write("a.tar.gz", b"new");
    let error = read(&world.storage, &old).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidData);
    assert!(error.to_string().contains(&new.digest), "{error}");
    assert_eq!(read(&world.storage, &new).unwrap(), b"new");
    // Nor after a restart, as long as no source has set the digest of the file.
    let storage = Storage::new(settings(world.root.path())).unwrap();
    assert!(read(&storage, &old).is_err());
    assert_eq!(read(&storage, &new).unwrap(), b"new");
    storage.verify(&new).unwrap();
    assert!(read(&storage, &old).is_err());
    assert_eq!(read(&storage, &new).unwrap(), b"new");
}

#[test]
fn a_reader_that_stops_early_finishes_to_be_sure() {
    let world = world();
    let written = world.write("a.tar.gz", b"hello");
    let mut reader = world.storage.open(&written).unwrap();
    reader.read_exact(&mut [0; 2]).unwrap();
    reader.finish().unwrap();
    fs::write(world.path(&written), "hellO").unwrap();
    let mut reader = world.storage.open(&written).unwrap();
    reader.read_exact(&mut [0; 2]).unwrap();
    assert_eq!(reader.finish().unwrap_err().kind(), ErrorKind::InvalidData);
}

#[test]
fn statuses_of_other_times_are_verified() {
    let world = world();
    let written = world.write("a.tar.gz", b"hello");
    // Another process, as after a restart.
    let storage = Storage::new(settings(world.root.path())).unwrap();
    storage.verify(&written).unwrap();
    let other = Artifact {
        digest: written.digest.replace(':', ":0")[..71].to_owned(),
        ..written.clone()
    };
    assert!(matches!(storage.verify(&other), Err(StorageError::Damaged { .. })));
    assert!(!storage.exists(&written));
    assert!(storage.verify(&written).unwrap_err().is_absent());
    let blank = Artifact {
        digest: String::new(),
        ..written
    };
    assert!(matches!(storage.verify(&blank), Err(StorageError::Digest { .. })));
}

#[test]
fn nothing_outside_the_folder_is_reached() {
    let world = world();
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("a.tar.gz"), "secret").unwrap();
    for path in [
        "../../../etc/passwd",
        "/etc/passwd",
        "gitrepository/apps/../../x",
        "gitrepository/apps/podinfo/.x",
    ] {
        let artifact = Artifact {
            path: path.to_owned(),
            ..world.artifact("a.tar.gz")
        };
        assert!(!world.storage.exists(&artifact), "{path}");
        assert!(world.storage.write(&artifact, None, filler(b"x")).is_err(), "{path}");
        assert!(world.storage.collect_garbage(&artifact).is_err(), "{path}");
        assert!(world.storage.remove_artifact(&artifact).is_err(), "{path}");
    }
    // A link in place of a folder.
    fs::create_dir_all(world.root.path().join("gitrepository/apps")).unwrap();
    symlink(outside.path(), world.folder()).unwrap();
    let error = world
        .storage
        .write(&world.artifact("b.tar.gz"), None, filler(b"x"))
        .unwrap_err();
    assert!(error.to_string().contains("podinfo"), "{error}");
    assert!(!world.storage.exists(&world.artifact("a.tar.gz")));
    assert!(
        world
            .storage
            .remove_all_but_current(&world.artifact("b.tar.gz"))
            .is_err()
    );
    assert!(world.storage.remove_artifact(&world.artifact("a.tar.gz")).is_err());
    assert!(world.storage.remove_all(&support::podinfo()).is_err());
    assert_eq!(support::names(outside.path()), ["a.tar.gz"]);
}

#[test]
fn a_lost_volume_is_made_again() {
    let world = world();
    let written = world.write("a.tar.gz", b"a");
    world.storage.ready().unwrap();
    fs::remove_dir_all(world.root.path()).unwrap();
    assert!(!world.storage.exists(&written));
    assert!(world.storage.verify(&written).unwrap_err().is_absent());
    let error = world.storage.ready().unwrap_err().to_string();
    assert!(error.contains("--storage-path"), "{error}");
    let again = world.storage.write(&written, None, filler(b"a")).unwrap();
    assert_eq!(again.digest, written.digest);
    assert!(world.storage.exists(&written));
    world.storage.ready().unwrap();
}

#[test]
fn a_folder_that_is_none_is_refused() {
    let root = tempfile::tempdir().unwrap();
    for name in ["missing", "file"] {
        fs::write(root.path().join("file"), "").unwrap();
        let error = Storage::new(settings(&root.path().join(name))).unwrap_err().to_string();
        assert!(error.contains(name) && error.contains("--storage-path"), "{error}");
    }
}

#[test]
fn leftovers_are_swept_and_nothing_else() {
    let world = world();
    world.write("a.tar.gz", b"a");
    fs::write(world.folder().join(".bumpwright-x1"), "half").unwrap();
    symlink("gone", world.folder().join(".bumpwright-x2")).unwrap();
    fs::write(world.root.path().join(".bumpwright-x3"), "probe").unwrap();
    fs::write(world.folder().join("notes"), "mine").unwrap();
    Storage::new(settings(world.root.path())).unwrap();
    assert_eq!(world.names(), ["a.tar.gz", "a.tar.gz.lock", "notes"]);
    assert_eq!(support::names(world.root.path()), ["gitrepository"]);
}

#[test]
fn writers_of_one_artifact_take_turns() {
    let world = world();
    let artifact = world.artifact("a.tar.gz");
    let contents: Vec<Vec<u8>> = (0..8_u8).map(|letter| vec![letter; 300_000]).collect();
    std::thread::scope(|scope| {
        for contents in &contents {
            let (storage, artifact) = (&world.storage, &artifact);
            scope.spawn(move || storage.write(artifact, Some(LATEST), filler(contents)).unwrap());
        }
    });
    let bytes = fs::read(world.path(&artifact)).unwrap();
    assert!(contents.contains(&bytes));
    assert_eq!(world.names(), ["a.tar.gz", "a.tar.gz.lock", LATEST]);
}

/// Files from before a restart count too, and removed ones do not.
#[test]
fn a_namespace_leaves_half_of_the_room_to_others() {
    let world = World::with(|settings| settings.room = 2000);
    let one = world.write("1.tar.gz", &[b'x'; 600]);
    let again = {
        let mut settings = settings(world.root.path());
        settings.room = 2000;
        bumpwright_storage::Storage::new(settings).unwrap()
    };
    for storage in [&world.storage, &again] {
        let folder = bumpwright_storage::Folder::new("Bucket", "apps", "other").unwrap();
        let artifact = storage.artifact(&folder, "2.tar.gz", "sha256:1").unwrap();
        let refused = storage
            .write(&artifact, None, filler(&[b'x'; 401]))
            .unwrap_err()
            .to_string();
        assert!(
            refused.contains("those of namespace apps would take more than 1000 bytes")
                && refused.contains("--artifacts-size"),
            "{refused}"
        );
        assert!(!storage.exists(&artifact));
    }
    for (namespace, fits) in [("b", true), ("c", true), ("d", false)] {
        let folder = bumpwright_storage::Folder::new("Bucket", namespace, "other").unwrap();
        let artifact = world.storage.artifact(&folder, "2.tar.gz", "sha256:1").unwrap();
        let written = world.storage.write(&artifact, None, filler(&[b'x'; 600]));
        assert_eq!(written.is_ok(), fits, "{namespace}");
    }
    assert!(world.storage.remove_artifact(&one).unwrap());
    world.write("3.tar.gz", &[b'x'; 800]);
}
