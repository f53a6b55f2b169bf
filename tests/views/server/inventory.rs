//! The page of a Kustomization: how its objects are, for whom, at which cost; and what it changed last.

use std::time::Instant;

use serde_json::{Value as Json, json};

use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::waiting::wait_for;
use bumpwright_testkit::world::{EVENT, KUSTOMIZATION, World};

use super::seeded::{Pages, account, by_token, now, seeded};

/// The most objects that are looked for because Kustomizations of other tests fail.
const OF_OTHERS: f64 = 100.0;

/// The most objects that a page looks at, and how long their health is kept, in seconds.
const MOST: f64 = 200.0;
const KEPT: u64 = 10;

fn kustomization(world: &World<'_>, name: &str, entries: &[(String, &str)]) {
    let entries: Vec<Json> = entries
        .iter()
        .map(|(id, version)| json!({"id": id, "v": version}))
        .collect();
    let spec =
        json!({"interval": "1h", "path": "./", "prune": true, "sourceRef": {"kind": "GitRepository", "name": "none"}});
    world.add(KUSTOMIZATION, name, spec);
    let ready = json!([{"type": "Ready", "status": "True", "reason": "ReconciliationSucceeded", "message": "applied",
        "observedGeneration": 1, "lastTransitionTime": "2026-01-01T00:00:00Z"}]);
    let status = json!({"observedGeneration": 1, "conditions": ready, "inventory": {"entries": entries}});
    world.patch_status(KUSTOMIZATION, name, &status);
}

/// A Deployment that does not get on.
fn stuck(world: &World<'_>, name: &str) {
    let namespace = &world.namespace;
    let template =
        json!({"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "a", "image": "a:1"}]}});
    world.apply(
        &json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": namespace},
        "spec": {"selector": {"matchLabels": {"app": name}}, "template": template}}),
    );
    let path = format!("/apis/apps/v1/namespaces/{namespace}/deployments/{name}/status");
    let condition = json!({"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded",
        "message": "see https://user:hunter2@git.acme.io"});
    let status = json!({"status": {"observedGeneration": 1, "conditions": [condition]}});
    let patched = world.cluster.merge_patch(&path, &status);
    assert_eq!(patched.status, 200, "{}", patched.body);
}

fn event(world: &World<'_>, name: &str, (about, reason): (&str, &str), message: &str) {
    let namespace = &world.namespace;
    let involved = json!({"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "namespace": namespace, "name": "apps"});
    world.put(
        EVENT,
        name,
        json!({"type": about, "reason": reason, "message": message, "involvedObject": involved,
            "firstTimestamp": now(), "lastTimestamp": now(), "count": 1}),
    );
}

fn namespace(cluster: &'static Cluster) -> World<'static> {
    let world = World::new(cluster, "inventory");
    let data = |kind: &str, name: &str| json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": "inventory"}});
    world.apply(&data("ConfigMap", "map"));
    let mut secret = data("Secret", "key");
    secret["stringData"] = json!({"password": "hunter2"});
    world.apply(&secret);
    stuck(&world, "web");
    let entries = [
        ("inventory_map__ConfigMap", "v1"),
        ("inventory_key__Secret", "v1"),
        ("inventory_gone__Service", "v1"),
        ("inventory_web_apps_Deployment", "v1"),
        ("inventory_w_none.acme.io_Widget", "v1"),
    ];
    kustomization(&world, "apps", &entries.map(|(id, version)| (id.to_owned(), version)));
    let changed = "Deployment/inventory/web configured\nSecret/inventory/key created";
    event(&world, "applied", ("Normal", "Progressing"), changed);
    let drift = "1 object differs from revision main@sha1:a, nothing was changed\n~ Secret inventory/key\n    data.password: ***** (changed)";
    event(&world, "drift", ("Warning", "DriftDetected"), drift);
    world
}

/// The page once it has these words.
fn page(pages: &Pages, token: &str, words: &str) -> String {
    let get = || {
        let bearer = format!("Bearer {token}");
        pages
            .get("/kustomizations/inventory/apps", &[("Authorization", &bearer)])
            .text()
    };
    wait_for(|| Some(get()).filter(|text| text.contains(words)), get)
}

#[test]
fn an_inventory_has_health_as_far_as_somebody_may_read_it() {
    let (Some(cluster), Some(pages)) = (seeded(), by_token()) else {
        return;
    };
    let _world = namespace(cluster);
    let text = page(pages, cluster.token(), "Progress deadline exceeded");
    for words in [
        "1 Failed",
        "1 NotFound",
        "2 Current",
        "1 Unread",
        "the cluster does not have this kind",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert!(!text.contains("not looked at") && !text.contains("hunter2"), "{text}");
    // What is not well is before all others.
    let sick = text
        .split("id=\"sick\"")
        .nth(1)
        .unwrap()
        .split("</table>")
        .next()
        .unwrap();
    assert!(sick.contains("Not healthy <span class=\"count\">2</span>"), "{sick}");
    assert!(
        sick.contains(">web<") && sick.contains(">gone<") && !sick.contains(">map<"),
        "{sick}"
    );
    for words in [
        "class=\"add\">Secret/inventory/key created</span>",
        ">Deployment/inventory/web configured</span>",
        "1 object differs from revision main@sha1:a",
        "~ Secret inventory/key",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    // Somebody who may get neither Deployments nor Services.
    let tenant = account(cluster, "inventory", "inspector", "ui-view");
    let text = page(pages, &tenant, "2 Current");
    assert!(
        text.contains("3 Unread") && text.contains("you may not read it"),
        "{text}"
    );
    assert!(
        !text.contains("Progress deadline") && !text.contains("Resource not found"),
        "{text}"
    );
    // Nor what is in Secrets' metadata alone, for who may not get those.
    let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "ui-lists"},
        "rules": [{"apiGroups": ["kustomize.toolkit.fluxcd.io"], "resources": ["*"], "verbs": ["list"]}]});
    cluster.apply(&role.to_string());
    let reader = account(cluster, "inventory", "lister", "ui-lists");
    let text = page(pages, &reader, "5 Unread");
    assert!(!text.contains("Last change") && !text.contains("Current"), "{text}");
}

#[test]
fn expressions_for_health_count_and_namesakes_of_other_clusters_do_not() {
    let (Some(cluster), Some(pages)) = (seeded(), by_token()) else {
        return;
    };
    let world = World::new(cluster, "judged");
    stuck(&world, "web");
    let account = |name: &str| json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": "judged"}});
    world.apply(&account("good"));
    world.apply(&account("bad"));
    let entries = [
        ("judged_web_apps_Deployment", "v1"),
        ("judged_good__ServiceAccount", "v1"),
        ("judged_bad__ServiceAccount", "v1"),
    ];
    kustomization(&world, "apps", &entries.map(|(id, version)| (id.to_owned(), version)));
    let checks = json!([
        {"apiVersion": "apps/v1", "kind": "Deployment", "current": "true"},
        {"apiVersion": "v1", "kind": "ServiceAccount", "current": "true", "failed": "metadata.name == 'bad'"},
    ]);
    world.patch(KUSTOMIZATION, "apps", &json!({"spec": {"healthCheckExprs": checks}}));
    let bearer = format!("Bearer {}", cluster.token());
    let page = |path: &str, words: &str| {
        let get = || pages.get(path, &[("Authorization", &bearer)]).text();
        wait_for(|| Some(get()).filter(|text| text.contains(words)), get)
    };
    let (path, web) = ("/kustomizations/judged/apps", "/objects/apps/Deployment/judged/web");
    // Before the expressions have reached the pages, the counts are the same.
    let text = page(path, "by spec.healthCheckExprs of its Kustomization");
    let words = ["2 Current", "1 Failed"];
    assert!(words.iter().all(|words| text.contains(words)), "{text}");
    assert!(!text.contains("Progress deadline"), "{text}");
    let text = page(web, "by spec.healthCheckExprs of its Kustomization");
    assert!(
        text.contains(">Current</span>") && text.contains("kind: Deployment"),
        "{text}"
    );
    let other = json!({"spec": {"kubeConfig": {"secretRef": {"name": "other"}}}});
    world.patch(KUSTOMIZATION, "apps", &other);
    let text = page(path, "3 in another cluster");
    assert!(!text.contains("Current") && !text.contains("Failed"), "{text}");
    assert!(!text.contains(web), "no link leads to a namesake: {text}");
    let text = page(web, "Nothing is known of it here");
    assert!(
        !text.contains("kind: Deployment") && !text.contains("ProgressDeadline"),
        "{text}"
    );
}

/// Somebody who loads a page again and again asks the API server once in ten seconds.
#[test]
fn looks_are_bounded_and_kept() {
    let Some(cluster) = seeded() else { return };
    // One of its own: its requests are counted.
    let pages = Pages::start(cluster, &["--ui-auth=token".to_owned()]);
    let world = World::new(cluster, "reloaded");
    let entries: Vec<(String, &str)> = (0..250)
        .map(|n| (format!("reloaded_none-{n}__ConfigMap"), "v1"))
        .collect();
    kustomization(&world, "apps", &entries);
    let not_found = || {
        let text = pages.controller.metrics();
        let lines = text.lines().filter(|line| {
            line.starts_with("rest_client_requests_total{code=\"404\"") && line.contains("method=\"GET\"")
        });
        lines
            .filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok())
            .sum::<f64>()
    };
    let before = not_found();
    let began = Instant::now();
    let bearer = format!("Bearer {}", cluster.token());
    let get = || {
        pages
            .get("/kustomizations/reloaded/apps", &[("Authorization", &bearer)])
            .text()
    };
    let text = wait_for(|| Some(get()).filter(|text| text.contains("not looked at")), get);
    assert!(text.contains("Resource not found"), "{text}");
    let all = std::thread::scope(|scope| {
        let loads: Vec<_> = (0..6)
            .map(|_| scope.spawn(|| (0..5).map(|_| get()).collect::<Vec<_>>()))
            .collect();
        loads
            .into_iter()
            .flat_map(|load| load.join().unwrap())
            .collect::<Vec<_>>()
    });
    assert!(all.iter().all(|text| text.contains("not looked at")));
    let asked = not_found() - before;
    let rounds = f64::from(u32::try_from(1 + began.elapsed().as_secs() / KEPT).unwrap());
    assert!(
        asked >= 1.0 && asked <= MOST * rounds + OF_OTHERS,
        "{asked} requests in {rounds} rounds"
    );
}
