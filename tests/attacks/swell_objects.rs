//! Objects that the API server takes, and that swell when they are read.

use serde_json::{Value as Json, json};

use crate::siege::siege;
use bumpwright_testkit::waiting::until;
use bumpwright_testkit::world::{KUSTOMIZATION, World, with};

/// The most memory that a controller of Kustomizations takes with them, in KiB.
const MOST: u64 = 256 << 10;

/// Creates a Kustomization: the server's own tools would refuse so many fields.
fn create(world: &World<'_>, name: &str, labels: &Json, spec: &Json) {
    let object = json!({
        "apiVersion": KUSTOMIZATION.api_version, "kind": KUSTOMIZATION.kind, "spec": spec,
        "metadata": {"name": name, "namespace": world.namespace, "labels": labels},
    });
    // The server itself takes its time for such an object, and may have stored one that it gave up to wait for.
    let path = format!("{}?timeout=60s", world.list_path(KUSTOMIZATION));
    let post = || {
        let answer = world
            .cluster
            .request("POST", &path, "application/json", &object.to_string());
        match answer.status {
            201 | 409 => true,
            504 => false,
            status => panic!("{name}: {status} {}", answer.body),
        }
    };
    until("the object is stored", post);
}

/// Large objects of every shape, no more than the API server itself can bear, and the part of each that is refused.
fn bombs(world: &World<'_>) -> Vec<(String, &'static str)> {
    let spec = json!({"interval": "1h", "prune": true, "sourceRef": {"kind": "GitRepository", "name": "none"}});
    let patches = json!({ "patches": vec![json!({"patch": ""}); 100_000] });
    let dependencies = json!({ "dependsOn": vec![json!({"name": "a"}); 85_000] });
    let labels: Json = (0..12_000).map(|number| (format!("l{number}"), json!(""))).collect();
    let mut bombs = Vec::new();
    for (shape, part, labels, more, count) in [
        ("patches", "spec", json!({}), patches, 3),
        ("dependencies", "spec", json!({}), dependencies, 1),
        ("labels", "labels", labels, json!({}), 1),
    ] {
        for number in 0..count {
            let name = format!("{shape}-{number}");
            create(world, &name, &labels, &with(spec.clone(), &more));
            bombs.push((name, part));
        }
    }
    bombs
}

/// They are refused by the watch and, in another process, by the list of its start; and they can be deleted.
#[test]
fn objects_of_a_hundred_thousand_empty_parts() {
    let Some(siege) = siege() else { return };
    let world = World::new(siege.cluster, "mallory-swells");
    let bombs = bombs(&world);
    for (name, part) in &bombs {
        let why = format!("the {part} of the object would take");
        world.ready(KUSTOMIZATION, name, "False", |reason, message| {
            reason == "InvalidSpec" && message.contains(&why)
        });
    }
    let controller = world.starter("second").flags(&["--controllers=kustomize"]).start();
    until("all are refused at the start", || {
        assert!(controller.is_running(), "the controller has ended");
        controller.log().matches("of the object would take").count() >= bombs.len()
    });
    let peak = controller.memory("VmHWM");
    println!("{} objects at the start: peak {peak} KiB", bombs.len());
    assert!(peak < MOST, "{peak} KiB of memory");
    controller.stop();
    for (name, _) in &bombs {
        world.delete(KUSTOMIZATION, name);
        world.gone(KUSTOMIZATION, name);
    }
    siege.stands();
}
