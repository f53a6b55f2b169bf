//! Manifests of our kinds, their migration, and schemas.

use bumpwright_api::{Objects, UnknownFields, check_all, could_hold, read, read_in_folder, read_leniently, tree};
use bumpwright_migrate::{mentions_old, migrate as migrated};
use bumpwright_schemas::Schemas;
use bumpwright_yaml::{FileId, read_resources, write_json};

/// Any bytes as a file with manifests.
pub fn check(input: &[u8]) {
    let _ = could_hold(input);
    let strict = read("x.yaml", input, UnknownFields::Refuse);
    let lenient = read("x.yaml", input, UnknownFields::Allow);
    if let Ok(documents) = strict {
        assert!(lenient.is_ok(), "read strictly, not otherwise");
        let mut objects = Objects::default();
        let _ = objects.insert_all(documents);
        assert!(objects.image_policies().count() <= objects.len());
    }
    let _ = read_in_folder("x.yaml", input, UnknownFields::Allow);
    let _ = read_leniently("x.yaml", input);
    if let Ok(text) = std::str::from_utf8(input) {
        let _ = check_all("x.yaml", text, true);
        let _ = tree::parse(text);
        let _ = tree::parse_as_written(text);
    }
}

/// Any bytes as a file with manifests of older versions: once migrated, nothing is left to migrate.
pub fn migrate(input: &[u8]) {
    let first = migrated(input);
    let Some(new) = first.new else { return };
    assert!(mentions_old(input) && new != input);
    let again = migrated(&new);
    assert!(
        again.new.is_none(),
        "migrated twice:\n{}",
        String::from_utf8_lossy(&again.new.unwrap_or_default())
    );
    assert_eq!(again.left.len(), first.left.len());
}

/// Objects, with the CustomResourceDefinitions among them.
pub fn schemas(input: &[u8]) {
    thread_local! {
        static BUNDLED: Schemas = Schemas::bundled(None).expect("there is a newest version");
    }
    let mut schemas = BUNDLED.with(Schemas::clone);
    let mut objects = Vec::new();
    for node in read_resources(input, FileId::NONE).unwrap_or_default() {
        let mut text = String::new();
        if write_json(&node, &mut text).is_ok() {
            objects.push(serde_json::from_str(&text).expect("what is written is JSON"));
        }
    }
    for object in objects.iter().filter(|object| Schemas::is_crd(object)) {
        let _ = schemas.add_crd(object);
    }
    for object in &objects {
        drop(schemas.check(object));
        let text = |field: &str| object[field].as_str().unwrap_or_default().to_owned();
        let (version, kind) = (text("apiVersion"), text("kind"));
        let (group, version) = version.split_once('/').unwrap_or(("", &version));
        let _ = (
            schemas.knows(group, version, &kind),
            schemas.unserved(group, version, &kind),
        );
    }
}
