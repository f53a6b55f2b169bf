//! What the notification-controller gets about Kustomizations (`fluxcd/pkg/apis/event/v1` 0.32.0): what was done,
//! and with which source.

use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::controller::Controller;
use bumpwright_testkit::kustomize_world::{KustomizeWorld, map};
use bumpwright_testkit::reply::Reply;
use bumpwright_testkit::stub_http::StubHttp;
use bumpwright_testkit::waiting::wait_for;
use bumpwright_testkit::world::{GIT_REPOSITORY, KUSTOMIZATION};
use serde_json::{Value as Json, json};

/// The annotation of events that become the status of a commit.
const COMMIT_STATUS: &str = "kustomize.toolkit.fluxcd.io/commit_status";

/// A controller that sends its events to a receiver.
struct Notified<'a> {
    world: KustomizeWorld<'a>,
    receiver: StubHttp,
    controller: Controller,
}

impl<'a> Notified<'a> {
    fn new(cluster: &'a Cluster, namespace: &str, flags: &[&str]) -> Self {
        let world = KustomizeWorld::new(cluster, namespace);
        let receiver = StubHttp::start(|_| Reply::status(200));
        let address = format!("--events-addr={}", receiver.url(""));
        let flags = [&[address.as_str()], flags].concat();
        let controller = world.controller(&flags);
        Self {
            world,
            receiver,
            controller,
        }
    }

    fn events(&self) -> Vec<Json> {
        let requests = self.receiver.requests();
        requests
            .iter()
            .map(|request| serde_json::from_slice(&request.body).unwrap())
            .collect()
    }

    /// Waits for an event about the object with this action and message.
    fn event(&self, name: &str, action: &str, says: &str) -> Json {
        let is_wanted = |event: &Json| {
            event["involvedObject"]["name"] == name
                && event["action"] == action
                && event["message"].as_str().unwrap().contains(says)
        };
        wait_for(
            || self.events().iter().any(is_wanted),
            || format!("{action} {says}: {:#?}\n{}", self.events(), self.controller.log()),
        );
        self.events().into_iter().find(is_wanted).unwrap()
    }

    /// The reference to the source of that name.
    fn source(&self, name: &str) -> Json {
        let object = self.world.get(GIT_REPOSITORY, name);
        json!({
            "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository", "name": name,
            "namespace": self.world.namespace, "uid": object["metadata"]["uid"],
            "resourceVersion": object["metadata"]["resourceVersion"],
        })
    }
}

/// The actions are those of kustomize-controller 1.10.1 (`api/v1/action.go`); the source is named once it is known.
#[test]
fn events_say_what_was_done_and_with_which_source() {
    let Some(cluster) = Cluster::shared() else { return };
    let notified = Notified::new(cluster, "notifications", &[]);
    let world = &notified.world;
    world.publish(
        "app",
        "1",
        &[("a.yaml", &map("one", "1")), ("b.yaml", &map("two", "1"))],
    );
    world.kustomize("app", json!({"wait": true}));
    let source = notified.source("app");
    let applied = notified.event("app", "Apply", "ConfigMap/notifications/one created");
    let healthy = notified.event("app", "HealthCheck", "Health check passed");
    let finished = notified.event("app", "Reconcile", "Reconciliation finished");
    for event in [&applied, &healthy, &finished] {
        assert_eq!(event["relatedObject"], source, "{event:#}");
    }
    assert_eq!(finished["metadata"][COMMIT_STATUS], "update");

    world.publish("app", "2", &[("a.yaml", &map("one", "1"))]);
    notified.event("app", "Prune", "ConfigMap/notifications/two deleted");
    world.publish("app", "3", &[("a.yaml", "kind: [")]);
    let failed = notified.event("app", "Reconcile", "MalformedYAMLError");
    assert_eq!(failed["relatedObject"], notified.source("app"));

    world.publish("other", "1", &[("a.yaml", &map("three", "1"))]);
    world.kustomize("other", json!({"dependsOn": [{"name": "app"}]}));
    let waiting = notified.event("other", "CheckDependencies", "Dependencies do not meet ready condition");
    assert_eq!(waiting["relatedObject"], notified.source("other"));

    world.delete(KUSTOMIZATION, "app");
    let deleted = notified.event("app", "Finalize", "ConfigMap/notifications/one deleted");
    assert_eq!(
        deleted.get("relatedObject"),
        None,
        "it may be gone already: {deleted:#}"
    );
}

/// `DisableCommitStatusEvent` leaves out what is for commits alone.
#[test]
fn the_event_for_commits_can_be_left_out() {
    let Some(cluster) = Cluster::shared() else { return };
    let gate = "--feature-gates=DisableCommitStatusEvent=true";
    let notified = Notified::new(cluster, "no-commit-status", &[gate]);
    let world = &notified.world;
    for revision in ["1", "2"] {
        world.publish("app", revision, &[("a.yaml", &map("one", revision))]);
        if revision == "1" {
            world.kustomize("app", json!({}));
        }
        world.applied("app", revision);
    }
    notified.event("app", "Apply", "ConfigMap/no-commit-status/one configured");
    world.publish("app", "3", &[("a.yaml", "kind: [")]);
    notified.event("app", "Reconcile", "MalformedYAMLError");
    let of_commits = |event: &Json| event["metadata"].get(COMMIT_STATUS).is_some();
    assert_eq!(notified.events().into_iter().find(of_commits), None);
}
