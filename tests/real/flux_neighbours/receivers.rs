//! Flux's Receivers: what a Git server or a registry sends to notification-controller makes our objects look at once.

use bumpwright_testkit::controller::Controller;
use bumpwright_testkit::digests::github_signature;
use bumpwright_testkit::image_world::ImageWorld;
use bumpwright_testkit::ports::free_port;
use bumpwright_testkit::reply::Reply;
use bumpwright_testkit::repo::Change;
use bumpwright_testkit::stub_http::StubHttp;
use bumpwright_testkit::waiting::wait_for;
use bumpwright_testkit::world::{
    AUTOMATION, GIT_REPOSITORY, HELM_CHART, HELM_REPOSITORY, IMAGE_POLICY, IMAGE_REPOSITORY, KUSTOMIZATION, ObjectKind,
    SECRET, World,
};
use serde_json::{Value as Json, json};

use super::{RECEIVER, cluster, notification_controller};
use crate::beside::{ALONE, Side};

const TOKEN: &str = "s3cr3t-t0ken";

/// Our controllers with their objects, and notification-controller.
struct Hooked {
    // Before the folder that has their logs and storage goes.
    notifications: Controller,
    ours: Vec<Controller>,
    world: ImageWorld<'static>,
    /// Where notification-controller listens for webhooks.
    port: u16,
}

impl Hooked {
    fn start(namespace: &str) -> Option<Self> {
        let world = ImageWorld::new(cluster()?, namespace, "1h");
        world.put(SECRET, "hook", json!({"stringData": {"token": TOKEN}}));
        let port = free_port();
        let notifications = notification_controller(&world, (free_port(), port))?;
        Some(Self {
            notifications: notifications.flags(&[ALONE]).start(),
            ours: Side::Ours.controllers(&world, "")?,
            world,
            port,
        })
    }

    /// Adds a Receiver for these resources; returns the address of its hook.
    fn receiver(&self, name: &str, kind: &str, resources: Json) -> String {
        let spec = json!({"type": kind, "secretRef": {"name": "hook"}, "resources": resources});
        self.world.add(RECEIVER, name, spec);
        self.world.ready(RECEIVER, name, "True", |_, _| true);
        // It is written a little later than the condition.
        let path = || {
            let status = self.world.get(RECEIVER, name)["status"].take();
            status["webhookPath"].as_str().map(str::to_owned)
        };
        let path = wait_for(path, || self.notifications.log());
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// The request of an object, which its controller has handled. It is not the one of before.
    fn handled(&self, kind: ObjectKind, before: &Json) -> Json {
        let requested = |object: &Json| object["metadata"]["annotations"]["reconcile.fluxcd.io/requestedAt"].clone();
        wait_for(
            || {
                let object = self.world.get(kind, "app");
                let asked = requested(&object);
                (asked.is_string() && asked != *before && object["status"]["lastHandledReconcileAt"] == asked)
                    .then_some(asked)
            },
            || format!("{:#}\n{}", self.world.get(kind, "app"), self.ours[0].log()),
        )
    }
}

/// Sends a webhook; returns the status of the answer.
fn post(address: &str, headers: &[(&str, &str)], body: &str) -> u16 {
    let mut request = http::Request::post(address).header("content-type", "application/json");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let agent = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .build()
        .new_agent();
    agent
        .run(request.body(body.to_owned()).unwrap())
        .unwrap()
        .status()
        .as_u16()
}

#[test]
fn receivers_trigger_our_objects() {
    let Some(hooked) = Hooked::start("receivers") else {
        return;
    };
    let world = &hooked.world;
    world.settled();
    let git = json!([{"kind": "GitRepository", "name": "app"}]);

    // GitHub: a signed push; a forged one changes nothing.
    let hook = hooked.receiver("github", "github", git.clone());
    world
        .repo
        .commit("main", "second", &[Change::File("deploy/a.yaml", b"a: 2\n")]);
    let body = json!({"ref": "refs/heads/main"}).to_string();
    let push = |token: &str| {
        let signature = github_signature(token, body.as_bytes());
        post(
            &hook,
            &[("X-GitHub-Event", "push"), ("X-Hub-Signature-256", &signature)],
            &body,
        )
    };
    assert_eq!(push("another"), 400);
    let source = world.get(GIT_REPOSITORY, "app");
    assert_eq!(source["metadata"]["annotations"], Json::Null);
    assert_eq!(push(TOKEN), 200);
    let first = hooked.handled(GIT_REPOSITORY, &Json::Null);
    let revision = || {
        let artifact = world.get(GIT_REPOSITORY, "app")["status"]["artifact"].take();
        artifact["revision"].as_str().unwrap().to_owned()
    };
    assert_eq!(revision(), format!("main@sha1:{}", world.repo.rev("main").unwrap()));

    // GitLab: a token in a header.
    let hook = hooked.receiver("gitlab", "gitlab", git);
    world
        .repo
        .commit("main", "third", &[Change::File("deploy/a.yaml", b"a: 3\n")]);
    let headers = [("X-Gitlab-Event", "Push Hook"), ("X-Gitlab-Token", TOKEN)];
    assert_eq!(post(&hook, &headers, "{}"), 200);
    hooked.handled(GIT_REPOSITORY, &first);
    assert_eq!(revision(), format!("main@sha1:{}", world.repo.rev("main").unwrap()));

    // Anybody who knows the path: a registry with a new tag, which goes all the way into Git.
    let images = json!([{"kind": "ImageRepository", "name": "app"}]);
    let hook = hooked.receiver("images", "generic", images);
    world.publish("app", "1.1.0");
    assert_eq!(post(&hook, &[], "{}"), 200);
    hooked.handled(IMAGE_REPOSITORY, &Json::Null);
    world.in_git("1.1.0");
}

/// Kinds that are asked for with their version, and objects by their labels.
#[test]
fn receivers_trigger_all_our_kinds() {
    let Some(hooked) = Hooked::start("receivers-kinds") else {
        return;
    };
    let world = &hooked.world;
    world
        .repo
        .commit("main", "deploy", &[Change::File("deploy/a.yaml", MAP)]);
    let spec = json!({
        "interval": "1h", "path": "./deploy", "prune": true, "targetNamespace": world.namespace,
        "sourceRef": {"kind": "GitRepository", "name": "app"},
    });
    world.put(
        KUSTOMIZATION,
        "app",
        json!({"spec": spec, "metadata": {"labels": {"team": "blue"}}}),
    );
    world.settled();
    let named = |kind: ObjectKind| json!({"apiVersion": kind.api_version, "kind": kind.kind, "name": "app"});
    let mut labelled = named(KUSTOMIZATION);
    labelled["name"] = json!("*");
    labelled["matchLabels"] = json!({"team": "blue"});
    let hook = hooked.receiver(
        "all",
        "generic",
        json!([named(IMAGE_POLICY), named(AUTOMATION), labelled]),
    );
    assert_eq!(post(&hook, &[], "{}"), 200, "{}", hooked.notifications.log());
    for kind in [IMAGE_POLICY, AUTOMATION, KUSTOMIZATION] {
        hooked.handled(kind, &Json::Null);
    }
}

#[test]
fn receivers_trigger_charts_and_their_repositories() {
    let Some(cluster) = cluster() else { return };
    let world = World::new(cluster, "receivers-charts");
    world.put(SECRET, "hook", json!({"stringData": {"token": TOKEN}}));
    let port = free_port();
    let Some(notifications) = notification_controller(&world, (free_port(), port)) else {
        return;
    };
    let notifications = notifications.flags(&[ALONE]).start();
    let storage = format!("--storage-addr=127.0.0.1:{}", free_port());
    let ours = world.controller(&["--controllers=source,helm", &storage]);
    let charts = StubHttp::start(|_| Reply::bytes(200, "text/yaml", INDEX));
    world.add(
        HELM_REPOSITORY,
        "app",
        json!({"url": charts.url("charts"), "interval": "1h"}),
    );
    let source = json!({"kind": "HelmRepository", "name": "app"});
    world.add(
        HELM_CHART,
        "app",
        json!({"chart": "web", "interval": "1h", "sourceRef": source}),
    );
    world.ready(HELM_REPOSITORY, "app", "True", |_, _| true);
    let named = |kind: ObjectKind| json!({"apiVersion": kind.api_version, "kind": kind.kind, "name": "app"});
    let resources = json!([named(HELM_REPOSITORY), named(HELM_CHART)]);
    let spec = json!({"type": "generic", "secretRef": {"name": "hook"}, "resources": resources});
    world.add(RECEIVER, "charts", spec);
    let path = || {
        world.get(RECEIVER, "charts")["status"]["webhookPath"]
            .as_str()
            .map(str::to_owned)
    };
    let path = wait_for(path, || notifications.log());
    let answer = post(&format!("http://127.0.0.1:{port}{path}"), &[], "{}");
    assert_eq!(answer, 200, "{}", notifications.log());
    for kind in [HELM_REPOSITORY, HELM_CHART] {
        let handled = || {
            let object = world.get(kind, "app");
            let asked = &object["metadata"]["annotations"]["reconcile.fluxcd.io/requestedAt"];
            (asked.is_string() && object["status"]["lastHandledReconcileAt"] == *asked).then_some(())
        };
        wait_for(handled, || ours.log());
    }
}

/// Of a chart that is not there: it is handled as well.
const INDEX: &str = "apiVersion: v1\nentries:\n  web:\n  - {name: web, version: 1.0.0, urls: [web-1.0.0.tgz]}\n";

const MAP: &[u8] = b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: app\n";
