//! Scenarios of objects that a reconciliation applies and that others write to, recorded from Flux's own library
//! (`fixtures/apply`): actions, messages and the server's final objects have to be the same.

use std::collections::BTreeMap;
use std::path::Path;

use bumpwright_apply::{Desired, Inventory, prune};
use serde_json::{Value as Json, json};

use super::world::World;

/// Stories that end as Flux's. It only ever rises.
const FLOOR: usize = 249;

/// What Flux does in stories that end otherwise here.
const MISSING: &str =
    "fails for good where an ignored field is not in Git any more: it tells a JSON patch to replace what is not there";
const EMPTY: &str = "writes an empty text where an ignored field is in Git and not in the cluster; ours leaves it out";
const GONE: &str = "fails to clean up after the object that it has just deleted to make it again";

/// Stories that end otherwise, by number.
const OTHERWISE: [(&str, &[u32]); 3] = [
    (MISSING, &[1, 35, 140, 157, 170]),
    (EMPTY, &[12, 24, 63, 80, 93, 107, 141, 188]),
    (GONE, &[45]),
];

#[test]
fn stories_end_as_fluxs() {
    if World::new().is_none() {
        return;
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/apply/cases.jsonl");
    let others = std::env::var_os("BUMPWRIGHT_APPLY_CASES");
    let floor = if others.is_none() { FLOOR } else { 0 };
    let path = others.map_or(path, Into::into);
    let text = std::fs::read_to_string(path).unwrap();
    let (mut same, mut all) = (0, 0);
    for line in text.lines() {
        let story: Json = serde_json::from_str(line).unwrap();
        let (results, objects) = told(&story);
        let differences: Vec<String> = [
            difference(
                "results",
                &without_fields(&json!(results)),
                &without_fields(&story["results"]),
            ),
            difference("objects", &json!(objects), &story["objects"]),
        ]
        .into_iter()
        .flatten()
        .collect();
        all += 1;
        same += usize::from(differences.is_empty());
        let known = OTHERWISE.iter().find(|(_, stories)| {
            let names = |number: &u32| story["name"] == format!("chance-7-{number}");
            stories.iter().any(names)
        });
        match known {
            Some((why, _)) => assert!(!differences.is_empty(), "{} ends as Flux's, which {why}", story["name"]),
            None if differences.is_empty() => {}
            None => println!("{}: {}\n{}\n", story["name"], story["steps"], differences.join("\n")),
        }
    }
    println!("applied as Flux does: {same} of {all}");
    assert!(same >= floor, "{same} of {all}");
}

fn difference(what: &str, ours: &Json, theirs: &Json) -> Option<String> {
    let theirs = if theirs.is_null() { &json!([]) } else { theirs };
    (ours != theirs).then(|| format!("  {what}\n    ours   {ours}\n    Flux's {theirs}"))
}

/// The server names one or all of the fields that do not fit, as it happens.
fn without_fields(results: &Json) -> Json {
    let results = results.as_array().into_iter().flatten().filter_map(Json::as_str);
    let plain = results.map(
        |result| match result.split_once("failed to create typed patch object") {
            Some((before, _)) => before.to_owned(),
            None => result.to_owned(),
        },
    );
    plain.collect()
}

/// Goes through a story; what was said at each step, and the objects in the end.
fn told(story: &Json) -> (Vec<String>, Vec<Json>) {
    let mut world = World::new().unwrap();
    let mut seen = BTreeMap::new();
    let mut results = Vec::new();
    for step in story["steps"].as_array().unwrap() {
        if let Some(other) = step.get("other") {
            let object = here(&world, &other["object"]);
            if !write_as(&world, other, &object) {
                results.push("refused".to_owned());
            }
            seen.insert(path_and_subject(&world, &object), ());
        } else if let Some(apply) = step.get("apply") {
            let objects: Vec<Json> = apply["objects"]
                .as_array()
                .unwrap()
                .iter()
                .map(|o| here(&world, o))
                .collect();
            seen.extend(
                objects
                    .iter()
                    .filter(|o| o["apiVersion"] != "v2")
                    .map(|o| (path_and_subject(&world, o), ())),
            );
            results.push(reconcile(&mut world, apply, objects));
        } else {
            let stale = world.inventory.entries.clone();
            let pruned = world.block_on(prune(&world.cluster, stale, &world.settings)).unwrap();
            results.push(world.lines(&pruned).join("\n"));
        }
    }
    let objects = seen.into_keys().filter_map(|(_, path)| shown(&world, &path));
    (results, objects.collect())
}

fn reconcile(world: &mut World, apply: &Json, objects: Vec<Json>) -> String {
    let strings = |list: &Json| -> Vec<String> { serde_json::from_value(list.clone()).unwrap_or_default() };
    world.settings.force = apply["force"] == true;
    world.settings.override_managers = strings(&apply["overrides"]);
    world.settings.ignore = serde_json::from_value(apply["ignore"].clone()).unwrap_or_default();
    let desired = objects.into_iter().map(|object| Desired { object, origin: None });
    let before: Inventory = world.inventory.clone();
    match world.try_apply_objects(desired.collect()) {
        Ok(applied) => world.lines(&applied.changes).join("\n"),
        Err(failed) => {
            // Flux's inventory does not change when it fails.
            world.inventory = before;
            failed.to_string().replace(&world.namespace, "NS")
        }
    }
}

/// A copy in the namespace of the story.
fn here(world: &World, object: &Json) -> Json {
    serde_json::from_str(&object.to_string().replace("NS", &world.namespace)).unwrap()
}

fn path_and_subject(world: &World, object: &Json) -> (String, String) {
    let (kind, name) = (
        object["kind"].as_str().unwrap(),
        object["metadata"]["name"].as_str().unwrap(),
    );
    (format!("{kind}/{name}"), world.server.path_of(object))
}

/// Whether the server let somebody else write.
fn write_as(world: &World, other: &Json, object: &Json) -> bool {
    let path = world.server.path_of(object);
    let manager = other["manager"].as_str().unwrap();
    let body = object.to_string();
    let patch = |kind: &str, query: &str| {
        let path = format!("{path}?fieldManager={manager}{query}");
        world.server.request("PATCH", &path, kind, &body).status
    };
    let status = if other["operation"] == "Apply" {
        patch("application/apply-patch+yaml", "&force=true")
    } else {
        patch("application/merge-patch+json", "")
    };
    if status == 404 {
        return world.server.create(object, &format!("fieldManager={manager}")).is_ok();
    }
    status < 300
}

/// An object without what is different each time.
fn shown(world: &World, path: &str) -> Option<Json> {
    let answer = world.server.request("GET", path, "", "");
    let mut object = (answer.status == 200).then_some(answer.body)?;
    let mut managers = super::world::managers(&object);
    managers.sort();
    let drop = |object: &mut Json, at: &str, fields: &[&str]| {
        let Some(Json::Object(map)) = object.get_mut(at) else {
            return;
        };
        fields.iter().for_each(|field| drop_field(map, field));
    };
    let metadata = [
        "uid",
        "resourceVersion",
        "creationTimestamp",
        "managedFields",
        "generation",
        "deletionTimestamp",
    ];
    drop(&mut object, "metadata", &metadata);
    drop(&mut object, "spec", &["clusterIP", "clusterIPs", "healthCheckNodePort"]);
    object["managers"] = json!(managers);
    Some(serde_json::from_str(&object.to_string().replace(&world.namespace, "NS")).unwrap())
}

fn drop_field(map: &mut serde_json::Map<String, Json>, field: &str) {
    map.remove(field);
}
