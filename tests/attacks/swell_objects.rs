//! Objects that the API server takes, and that swell when they are read.

use serde_json::{Value as Json, json};

use crate::siege::siege;
use bumpwright_testkit::api_proxy::{ApiProxy, is_watch};
use bumpwright_testkit::reply::Reply;
use bumpwright_testkit::waiting::until;
use bumpwright_testkit::world::{KUSTOMIZATION, World, with};

/// The most memory that a controller of Kustomizations takes with them, in KiB.
const MOST: u64 = 256 << 10;

/// How many of each shape there are at the start.
const EACH: usize = 4;

/// A shape, the object with a name that has it, and the part of it that is refused.
type Bomb<'a> = (&'static str, Box<dyn Fn(&str) -> Json + 'a>, &'static str);

/// Large objects of every shape.
fn bombs<'a>(world: &'a World<'_>) -> [Bomb<'a>; 3] {
    let spec = json!({"interval": "1h", "prune": true, "sourceRef": {"kind": "GitRepository", "name": "none"}});
    let patches = with(spec.clone(), &json!({ "patches": vec![json!({"patch": ""}); 100_000] }));
    let dependencies = with(
        spec.clone(),
        &json!({ "dependsOn": vec![json!({"name": "a"}); 85_000] }),
    );
    let labels: Json = (0..12_000).map(|number| (format!("l{number}"), json!(""))).collect();
    let object = move |name: &str, labels: &Json, spec: &Json| {
        json!({
            "apiVersion": KUSTOMIZATION.api_version, "kind": KUSTOMIZATION.kind, "spec": spec,
            "metadata": {"name": name, "namespace": world.namespace, "labels": labels},
        })
    };
    [
        (
            "patches",
            Box::new(move |name| object(name, &json!({}), &patches)),
            "spec",
        ),
        (
            "dependencies",
            Box::new(move |name| object(name, &json!({}), &dependencies)),
            "spec",
        ),
        ("labels", Box::new(move |name| object(name, &labels, &spec)), "labels"),
    ]
}

/// Creates a Kustomization: the server's own tools would refuse so many fields.
fn create(world: &World<'_>, name: &str, object: &Json) {
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

/// Lists these objects in the place of those that there are: a real server takes seconds for each of them.
fn listed(world: &World<'_>, bombs: &[Bomb<'_>]) -> ApiProxy {
    let path = world.list_path(KUSTOMIZATION);
    let now = world.cluster.request("GET", &format!("{path}?limit=1"), "", "").body;
    let version = now["metadata"]["resourceVersion"].clone();
    let all = bombs
        .iter()
        .flat_map(|(shape, object, _)| (0..EACH).map(move |number| object(&format!("{shape}-{number}"))));
    let stored = |(number, mut object): (usize, Json)| {
        object["metadata"]["uid"] = json!(format!("00000000-0000-4000-8000-{number:012}"));
        object["metadata"]["generation"] = json!(1);
        object["metadata"]["resourceVersion"] = version.clone();
        object
    };
    let objects: Vec<Json> = all.enumerate().map(stored).collect();
    let proxy = ApiProxy::start(world.cluster);
    proxy.intercept(move |request| {
        let name = request.path.strip_prefix(&path)?.trim_start_matches('/');
        let name = name.trim_end_matches("/status");
        if let Some(object) = objects.iter().find(|object| object["metadata"]["name"] == name) {
            // As it is, also after its status was written.
            return Some(Reply::json(object));
        }
        if request.method != "GET" || is_watch(request) || !name.is_empty() {
            return None;
        }
        let number = |name: &str| request.parameter(name).and_then(|value| value.parse::<usize>().ok());
        let from = number("continue").unwrap_or(0);
        let end = objects.len().min(from + number("limit").unwrap_or(objects.len()));
        let next = if end < objects.len() {
            end.to_string()
        } else {
            String::new()
        };
        Some(Reply::json(&json!({
            "apiVersion": KUSTOMIZATION.api_version, "kind": "KustomizationList", "items": objects[from..end],
            "metadata": {"resourceVersion": version, "continue": next},
        })))
    });
    proxy
}

/// One is refused by the watch, and a dozen are by the list of another process at its start.
#[test]
fn objects_of_a_hundred_thousand_empty_parts() {
    let Some(siege) = siege() else { return };
    let world = World::new(siege.cluster, "mallory-swells");
    let bombs = bombs(&world);
    // The one that a real server stores in the least time.
    let (shape, object, part) = &bombs[2];
    create(&world, shape, &object(shape));
    world.ready(KUSTOMIZATION, shape, "False", |reason, message| {
        reason == "InvalidSpec" && message.contains(&format!("the {part} of the object would take"))
    });
    let proxy = listed(&world, &bombs);
    let kubeconfig = proxy.kubeconfig(world.folder.path(), None);
    let controller = world
        .starter("second")
        .kubeconfig(&kubeconfig)
        .flags(&["--controllers=kustomize"])
        .start();
    for (_, _, part) in &bombs {
        until("all are refused at the start", || {
            assert!(controller.is_running(), "the controller has ended");
            let refused = format!("the {part} of the object would take");
            let count = bombs.iter().filter(|(_, _, other)| other == part).count() * EACH;
            controller.log().matches(&refused).count() >= count
        });
    }
    let peak = controller.memory("VmHWM");
    println!("{} objects at the start: peak {peak} KiB", bombs.len() * EACH);
    assert!(peak < MOST, "{peak} KiB of memory");
    controller.stop();
    world.delete(KUSTOMIZATION, shape);
    world.gone(KUSTOMIZATION, shape);
    siege.stands();
}
