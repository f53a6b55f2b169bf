//! Rules beyond the tables: the clock, objects that an API server never returns, and the messages of waits.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use bumpwright_api::ObjectId;
use bumpwright_gostd::Time;
use bumpwright_health::{Observed, Progress, Status, Wait, Why, assess, compute, pod_owner};
use serde_json::{Value, json};

/// When the pods of these tests were created: 2025-10-09T08:53:20Z, in seconds since 1970.
const CREATED: i64 = 1_760_000_000;

fn unschedulable() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "x", "creationTimestamp": "2025-10-09T08:53:20Z"},
        "status": {
            "phase": "Pending",
            "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}],
        },
    })
}

#[test]
fn a_pod_has_15_seconds_to_find_a_node() {
    for (after, nanoseconds, status, reason) in [
        (0, 0, Status::InProgress, "PodNotScheduled"),
        (14, 999_999_999, Status::InProgress, "PodNotScheduled"),
        (15, 0, Status::Failed, "PodUnschedulable"),
        (3600, 0, Status::Failed, "PodUnschedulable"),
    ] {
        let health = compute(&unschedulable(), &Time::unix(CREATED + after, nanoseconds)).unwrap();
        assert_eq!(health.status, status, "{after}");
        assert_eq!(health.condition.unwrap().reason, reason);
    }
}

#[test]
fn a_pod_without_a_node_does_not_fail_its_owner() {
    let owner = json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet",
        "metadata": {"namespace": "ns", "name": "x"},
        "spec": {"selector": {"matchLabels": {"app": "x"}}},
    });
    let found = pod_owner(&owner).unwrap();
    assert_eq!(found.namespace, "ns");
    assert_eq!(found.selector, Some(&json!({"matchLabels": {"app": "x"}})));
    let now = Time::unix(CREATED + 60, 0);
    assert_eq!(compute(&unschedulable(), &now).unwrap().status, Status::Failed);
    let health = assess(&owner, &[unschedulable()], &now).unwrap();
    assert_eq!(health.status, Status::InProgress);
    assert_eq!(health.message, "Replicas: 0/1");
}

/// Flux's controller panics on these.
#[test]
fn containers_of_other_types_are_errors() {
    for status in [
        json!(1),
        json!({"name": 1}),
        json!({"name": "c", "state": []}),
        json!({"name": "c", "state": {"waiting": "x"}}),
        json!({"name": "c", "state": {"waiting": {"reason": null}}}),
    ] {
        let pod =
            json!({"apiVersion": "v1", "kind": "Pod", "status": {"phase": "Running", "containerStatuses": [status]}});
        let error = compute(&pod, &Time::unix(CREATED, 0)).unwrap_err();
        assert!(
            error.to_string().starts_with("the status of a container has no "),
            "{error}"
        );
    }
}

#[test]
fn what_is_no_object_is_current() {
    for value in [json!(null), json!({}), json!({"status": null, "metadata": null})] {
        let health = compute(&value, &Time::unix(CREATED, 0)).unwrap();
        assert_eq!(health.message, "Resource is current", "{value}");
    }
}

fn id(kind: &str, name: &str) -> ObjectId {
    ObjectId::of(&json!({
        "apiVersion": "apps/v1", "kind": kind, "metadata": {"namespace": "ns", "name": name},
    }))
}

/// K-049, K-059.
#[test]
fn a_wait_ends_when_all_are_ready() {
    let (web, api) = (id("Deployment", "web"), id("Deployment", "api"));
    let mut wait = Wait::new([web.clone(), api.clone(), web.clone()], true, []);
    assert_eq!(wait.objects().len(), 2);
    assert_eq!(wait.observe(&web, Observed::status(Status::Current)), Progress::Waiting);
    assert_eq!(
        wait.observe(&api, Observed::status(Status::InProgress)),
        Progress::Waiting
    );
    assert_eq!(
        wait.observe(&id("Deployment", "other"), Observed::status(Status::Failed)),
        Progress::Waiting
    );
    assert_eq!(wait.observe(&api, Observed::status(Status::Current)), Progress::Done);
    assert_eq!(wait.time_out(), Ok(()));
    assert_eq!(wait.last(&api), Some(&Observed::status(Status::Current)));
}

#[test]
fn a_wait_for_nothing_is_over() {
    assert_eq!(Wait::new([], true, []).progress(), Progress::Done);
}

/// Texts as recorded; K-056 for the last.
#[test]
fn a_wait_without_time_names_what_is_not_ready() {
    for (kind, name, observed, told) in [
        (
            "Deployment",
            "d1",
            Observed::status(Status::InProgress),
            "Deployment/ns/d1 status: 'InProgress'",
        ),
        (
            "Deployment",
            "ghost",
            Observed::status(Status::NotFound),
            "Deployment/ns/ghost status: 'NotFound'",
        ),
        (
            "HelmRelease",
            "frontend",
            Observed::unknown("no matches for kind \"HelmRelease\" in group \"helm.toolkit.fluxcd.io\""),
            "HelmRelease/ns/frontend status: 'Unknown': no matches for kind \"HelmRelease\" in group \"helm.toolkit.fluxcd.io\"",
        ),
        (
            "Rocket",
            "r1",
            Observed::unknown("failed to evaluate the CEL expression 'status.nope == 'x'': no such key: nope"),
            "Rocket/ns/r1 status: 'Unknown': failed to evaluate the CEL expression 'status.nope == 'x'': no such key: nope",
        ),
    ] {
        let mut wait = Wait::new([id(kind, name)], true, []);
        assert_eq!(wait.observe(&id(kind, name), observed), Progress::Waiting);
        let unready = wait.time_out().unwrap_err();
        assert_eq!(unready.to_string(), format!("timeout waiting for: [{told}]"));
    }
}

/// Nothing was observed before the timeout.
#[test]
fn a_wait_that_saw_nothing_says_so() {
    let job = id("Job", "j1");
    let wait = Wait::new([id("Deployment", "d1"), job.clone()], true, [job]);
    let unready = wait.time_out().unwrap_err();
    let text = "timeout waiting for: [can't determine status for Deployment/ns/d1]";
    assert_eq!(unready.to_string(), text);
}

#[test]
fn without_fail_fast_the_others_are_waited_for() {
    let (bad, slow) = (id("Deployment", "bad"), id("Deployment", "slow"));
    let mut wait = Wait::new([bad.clone(), slow.clone()], false, []);
    assert_eq!(wait.observe(&bad, Observed::status(Status::Failed)), Progress::Waiting);
    let ended = wait.observe(&slow, Observed::status(Status::Current));
    let Progress::Failed(unready) = ended else {
        panic!("{ended:?}")
    };
    assert_eq!(unready.why, Why::Stalled);
    let text = "failed early due to stalled resources: [Deployment/ns/bad status: 'Failed']";
    assert_eq!(unready.to_string(), text);
    let mut wait = Wait::new([bad.clone(), slow], true, []);
    let ended = wait.observe(&bad, Observed::status(Status::Failed));
    assert!(matches!(ended, Progress::Failed(_)), "{ended:?}");
}

/// Flux shows no namespace for objects of the whole cluster.
#[test]
fn ids_are_shown_as_flux_does() {
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "apps"}});
    assert_eq!(ObjectId::of(&namespace).to_string(), "Namespace/apps");
    assert_eq!(id("Deployment", "web").to_string(), "Deployment/ns/web");
    assert_eq!(id("Deployment", "web").group, "apps");
}

/// Three thousand objects, each observed five times: an observation does not take time for all objects.
#[test]
fn many_objects_are_no_trouble() {
    let ids: Vec<_> = (0..3_000).map(|number| id("Deployment", &number.to_string())).collect();
    let mut wait = Wait::new(ids.clone(), true, []);
    for _ in 0..4 {
        for id in &ids {
            assert_eq!(
                wait.observe(id, Observed::status(Status::InProgress)),
                Progress::Waiting
            );
        }
    }
    let last = ids
        .iter()
        .map(|id| wait.observe(id, Observed::status(Status::Current)))
        .last();
    assert_eq!(last, Some(Progress::Done));
}
