//! The same happens in two namespaces, one of Flux's controllers and one of ours. Both send their events to one
//! notification-controller, whose Alerts deliver them to a receiver of webhooks: what was sent and what arrives has
//! to be the same.

use std::collections::BTreeSet;
use std::process::Command;

use bumpwright_testkit::controller::{Controller, Starter};
use bumpwright_testkit::http_server::{HttpServer, Request};
use bumpwright_testkit::image_world::ImageWorld;
use bumpwright_testkit::registry::Registry;
use bumpwright_testkit::reply::Reply;
use bumpwright_testkit::repo::{Change, run};
use bumpwright_testkit::stub_http::StubHttp;
use bumpwright_testkit::waiting::{until, wait_for};
use bumpwright_testkit::world::{
    AUTOMATION, GIT_REPOSITORY, IMAGE_POLICY, IMAGE_REPOSITORY, KUSTOMIZATION, OCI_REPOSITORY, World, automation,
    git_repository, newest,
};
use serde_json::{Value as Json, json};

use super::{ALERT, PROVIDER, cluster, notification_controller};
use crate::beside::{Comparable, Side};

/// Kinds whose events an Alert asks for.
const KINDS: [&str; 6] = [
    "GitRepository",
    "OCIRepository",
    "Kustomization",
    "ImageRepository",
    "ImagePolicy",
    "ImageUpdateAutomation",
];

/// A namespace with its controllers, what they sent, and what was delivered.
struct Told {
    // Before the folder that has their logs and storage goes.
    controllers: Vec<Controller>,
    world: ImageWorld<'static>,
    /// In front of notification-controller.
    sent: StubHttp,
    delivered: StubHttp,
    comparable: Comparable,
}

/// An Alert for all kinds, and the Provider that it names.
fn alert(world: &World<'_>, receiver: &HttpServer) {
    world.add(
        PROVIDER,
        "hook",
        json!({"type": "generic", "address": receiver.url("hook")}),
    );
    let sources: Vec<Json> = KINDS.iter().map(|kind| json!({"kind": kind, "name": "*"})).collect();
    let spec = json!({
        "providerRef": {"name": "hook"}, "eventSeverity": "info", "eventSources": sources,
        "eventMetadata": {"cluster": "test"},
    });
    world.add(ALERT, "all", spec);
}

impl Told {
    /// Its controllers are not started yet.
    fn new(namespace: &str, events: u16) -> Option<Self> {
        let world = ImageWorld::bare(cluster()?, namespace);
        let delivered = StubHttp::start(|_| Reply::status(200));
        alert(&world, &delivered);
        let absent = [(r"repository '[^']*'", "repository 'URL'")];
        Some(Self {
            controllers: Vec::new(),
            sent: StubHttp::in_front_of(([127, 0, 0, 1], events).into(), |_| None),
            delivered,
            comparable: Comparable::new(namespace, &absent),
            world,
        })
    }

    fn make(&self, registry: &Registry) {
        let world = &self.world;
        self.commit("1");
        world.add_source();
        world.add_image_repository("app", "app", "1h");
        world.add(GIT_REPOSITORY, "absent", git_repository(&world.git.url("absent.git")));
        for (name, path) in [("oci", "maps"), ("oci-absent", "absent")] {
            let url = format!("oci://{}/{path}", registry.host());
            world.add(
                OCI_REPOSITORY,
                name,
                json!({"interval": "1h", "url": url, "insecure": true}),
            );
        }
        let from = |kind: &str, name: &str, path: &str| {
            json!({
                "interval": "1h", "retryInterval": "1s", "path": path, "prune": true, "wait": true,
                "targetNamespace": world.namespace, "sourceRef": {"kind": kind, "name": name},
            })
        };
        let team = json!({"annotations": {"event.toolkit.fluxcd.io/team": "blue", "team": "red"}});
        world.put(
            KUSTOMIZATION,
            "app",
            json!({"spec": from("GitRepository", "app", "./deploy"), "metadata": team}),
        );
        world.add(KUSTOMIZATION, "oci", from("OCIRepository", "oci", "./"));
        world.add(KUSTOMIZATION, "nowhere", from("GitRepository", "app", "./nowhere"));
        world.add_image_repository("absent", "absent", "1h");
    }

    /// What reads scanned tags, and what reads policies: each when that is there, since the first words would depend
    /// on who is faster.
    fn make_images(&self) {
        let world = &self.world;
        world.app_ready(IMAGE_REPOSITORY);
        let none = json!({"imageRepositoryRef": {"name": "app"}, "policy": {"semver": {"range": ">=9"}}});
        world.add(IMAGE_POLICY, "none", none);
        world.add(IMAGE_POLICY, "app", newest("app"));
        world.app_ready(IMAGE_POLICY);
        let mut spec = automation("app");
        spec["interval"] = json!("1h");
        world.add(AUTOMATION, "app", spec);
        world.settled();
    }

    fn commit(&self, value: &str) {
        let map = format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: app\ndata:\n  key: '{value}'\n");
        let account = "apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: app\n";
        let changes = [
            Change::File("deploy/map.yaml", map.as_bytes()),
            Change::File("deploy/account.yaml", account.as_bytes()),
        ];
        self.world.repo.commit("main", value, &changes);
    }

    fn applied(&self, name: &str) {
        self.world.ready(KUSTOMIZATION, name, "True", |_, _| true);
    }

    /// A new tag that is written to Git, a commit, a failure that goes on, and an end.
    fn go_on(&self) {
        let world = &self.world;
        self.applied("app");
        self.applied("oci");
        self.make_images();
        world.release("1.1.0");
        world.in_git("1.1.0");
        self.commit("2");
        world.request(GIT_REPOSITORY, "app", "second");
        let wanted = format!("Applied revision: main@sha1:{}", world.repo.rev("main").unwrap());
        world.ready(KUSTOMIZATION, "app", "True", |_, message| message == wanted);
        for at in ["once", "twice"] {
            world.request(GIT_REPOSITORY, "absent", at);
            let handled = || world.get(GIT_REPOSITORY, "absent")["status"]["lastHandledReconcileAt"] == at;
            until("it is tried again", handled);
        }
        world.delete(KUSTOMIZATION, "oci");
        world.gone(KUSTOMIZATION, "oci");
    }

    /// The bodies that its controllers sent, comparable.
    fn sent(&self) -> BTreeSet<String> {
        self.sent.requests().iter().map(|request| self.line(request)).collect()
    }

    /// The bodies that were delivered, with the header that names the controller.
    fn delivered(&self) -> BTreeSet<String> {
        let line = |request: &Request| {
            let component = request.header("gotk-component").unwrap_or_default();
            format!("{component}: {}", self.line(request))
        };
        self.delivered.requests().iter().map(line).collect()
    }

    fn line(&self, request: &Request) -> String {
        let mut body: Json = serde_json::from_slice(&request.body).unwrap();
        // Fields since Flux 2.10; the controllers beside ours are older.
        for field in ["action", "relatedObject"] {
            body.as_object_mut().unwrap().remove(field);
        }
        if body["involvedObject"]["kind"] == "OCIRepository"
            && let Some(metadata) = body["metadata"].as_object_mut()
        {
            metadata.retain(|key, _| !key.ends_with("originRevision"));
        }
        let object = body["involvedObject"].as_object_mut().unwrap();
        for field in ["uid", "resourceVersion"] {
            if let Some(value) = object.get_mut(field) {
                assert!(
                    value.as_str().is_some_and(|value| !value.is_empty()),
                    "{field}: {value}"
                );
                *value = json!("SOME");
            }
        }
        self.comparable.text(&body.to_string())
    }

    /// How often an event of an object with this reason was delivered.
    fn count(&self, name: &str, reason: &str) -> usize {
        let bodies = self.delivered.requests();
        let bodies = bodies
            .iter()
            .map(|request| serde_json::from_slice::<Json>(&request.body).unwrap());
        bodies
            .filter(|body| body["involvedObject"]["name"] == name && body["reason"] == reason)
            .count()
    }
}

fn push_maps(registry: &Registry, world: &World<'_>) {
    let folder = world.folder.path().join("push");
    std::fs::create_dir_all(&folder).unwrap();
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: oci\n";
    std::fs::write(folder.join("map.yaml"), map).unwrap();
    let mut push = Command::new(bumpwright_testkit::tool("flux").unwrap());
    push.args(["push", "artifact", &format!("oci://{}/maps:latest", registry.host())]);
    push.args([
        "--source=https://git.example/maps",
        "--revision=main@sha1:abc",
        "--path",
    ]);
    run(push.arg(folder).env("HOME", world.folder.path()));
}

fn differences(what: &str, flux: &BTreeSet<String>, ours: &BTreeSet<String>) -> Vec<String> {
    let only_flux = flux.difference(ours).map(|line| format!("{what} by Flux only: {line}"));
    let only_ours = ours.difference(flux).map(|line| format!("{what} by ours only: {line}"));
    only_flux.chain(only_ours).collect()
}

#[test]
fn events_are_sent_and_delivered_as_those_of_flux() {
    if bumpwright_testkit::tool("flux").is_none() {
        return;
    }
    let Some(registry) = Registry::start() else { return };
    let ports = (
        bumpwright_testkit::ports::free_port(),
        bumpwright_testkit::ports::free_port(),
    );
    let (Some(mut flux), Some(mut ours)) = (Told::new("events-flux", ports.0), Told::new("events-ours", ports.0))
    else {
        return;
    };
    push_maps(&registry, &flux.world);
    // One for each namespace would do too; this is how it runs: for all of them.
    let start = |told: &Told| notification_controller(&told.world, ports).map(Starter::start);
    let Some(notifications) = start(&ours) else { return };
    until("it listens", || {
        std::net::TcpStream::connect(("127.0.0.1", ports.0)).is_ok()
    });
    for (side, told) in [(Side::Flux, &mut flux), (Side::Ours, &mut ours)] {
        told.make(&registry);
        let Some(controllers) = side.controllers(&told.world, &told.sent.url("")) else {
            return;
        };
        told.controllers = controllers;
    }
    std::thread::scope(|scope| {
        [&flux, &ours]
            .map(|told| scope.spawn(move || told.go_on()))
            .map(|done| done.join().unwrap())
    });
    let look = || {
        let mut found = differences("sent", &flux.sent(), &ours.sent());
        found.extend(differences("delivered", &flux.delivered(), &ours.delivered()));
        found
    };
    wait_for(
        || look().is_empty(),
        || format!("{:#?}\n{}", look(), notifications.log()),
    );
    println!(
        "events: {} sent, {} delivered, as Flux's",
        ours.sent().len(),
        ours.delivered().len()
    );

    // What is said again is not delivered again, and counted as such.
    assert_eq!(ours.count("absent", "GitOperationFailed"), 1);
    let duplicates = ours.controllers[0].metric("bumpwright_events_total{outcome=\"duplicate\"}");
    assert!(duplicates > Some(0.0), "{duplicates:?}");
    let refused = ours.controllers[0].metric("bumpwright_events_total{outcome=\"refused\"}");
    assert!(refused.unwrap_or_default() == 0.0, "{refused:?}");

    // notification-controller restarts meanwhile: the event arrives all the same.
    drop(notifications);
    ours.commit("3");
    let before = ours.count("app", "NewArtifact");
    ours.world.request(GIT_REPOSITORY, "app", "third");
    let asked = ours.sent.count();
    until("it is sent in vain", || ours.sent.count() > asked);
    let Some(again) = start(&ours) else { return };
    wait_for(|| ours.count("app", "NewArtifact") > before, || again.log());
}
