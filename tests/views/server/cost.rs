//! What pages cost: 500 Kustomizations, 500 policies and 200 automations.

use std::time::Duration;

use serde_json::{Value as Json, json};

use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::cli::Bench;
use bumpwright_testkit::controller::Controller;
use bumpwright_testkit::ports::free_port;
use bumpwright_testkit::waiting::until;

use super::seeded::exchange;

const NAMESPACE: &str = "many";

/// Bytes of a page before compression.
const PAGE: usize = 150_000;

/// KiB that `bumpwright status` may have at its peak.
const STATUS: u64 = 80 << 10;

/// KiB that the process may have more while nobody looks.
const AT_REST: u64 = 3 << 10;

/// The CPU time that the process may take for five looks at a page of objects that did not change, in a build for
/// tests: what ships needs a tenth.
const FIVE_LOOKS: Duration = Duration::from_secs(2);

fn object(kind: &str, name: &str, spec: Json, status: Json) -> Json {
    let group = match kind {
        "Kustomization" => "kustomize.toolkit.fluxcd.io",
        "GitRepository" => "source.toolkit.fluxcd.io",
        _ => "image.toolkit.fluxcd.io",
    };
    let mut status = status;
    status["observedGeneration"] = json!(1);
    status["conditions"] = json!([{"type": "Ready", "status": "True", "reason": "Succeeded", "message": "all is well",
        "lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": 1}]);
    json!({"apiVersion": format!("{group}/v1"), "kind": kind, "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": spec, "status": status})
}

fn all() -> Vec<Json> {
    let mut all = Vec::new();
    let source = |name: &str| json!({"kind": "GitRepository", "name": name});
    for number in 0..20 {
        let spec = json!({"url": format!("https://github.com/acme/fleet-{number}"), "interval": "1h", "ref": {"branch": "main"}});
        all.push(object("GitRepository", &format!("fleet-{number}"), spec, json!({})));
    }
    for number in 0..500 {
        let fleet = format!("fleet-{}", number % 20);
        let entries: Vec<Json> = (0..20)
            .map(|entry| json!({"id": format!("apps-{number}_object-{entry}_apps_Deployment"), "v": "v1"}))
            .collect();
        let spec = json!({"path": "./", "prune": true, "interval": "1h", "sourceRef": source(&fleet),
            "dependsOn": [{"name": format!("apps-{}", number / 10)}]});
        let status = json!({"inventory": {"entries": entries}, "lastAppliedRevision": "main@sha1:a"});
        all.push(object("Kustomization", &format!("apps-{number}"), spec, status));
        let spec = json!({"imageRepositoryRef": {"name": "app"}, "policy": {"semver": {"range": "*"}}});
        let latest = json!({"latestRef": {"name": format!("ghcr.io/acme/app-{number}"), "tag": "1.0.0"}});
        all.push(object("ImagePolicy", &format!("app-{number}"), spec, latest));
    }
    for number in 0..200 {
        let observed: serde_json::Map<String, Json> = (0..5)
            .map(|policy| {
                let policy = (number * 5 + policy) % 500;
                (
                    format!("app-{policy}"),
                    json!({"name": format!("ghcr.io/acme/app-{policy}"), "tag": "1.0.0"}),
                )
            })
            .collect();
        let spec = json!({"interval": "1h", "sourceRef": source(&format!("fleet-{}", number % 20)), "update": {"path": "./"},
            "git": {"commit": {"author": {"name": "bot", "email": "bot@example.com"}}}});
        all.push(object(
            "ImageUpdateAutomation",
            &format!("all-{number}"),
            spec,
            json!({"observedPolicies": observed}),
        ));
    }
    all
}

fn fill(cluster: &Cluster) {
    let plural = |object: &Json| match object["kind"].as_str().unwrap() {
        "Kustomization" => "kustomizations",
        "GitRepository" => "gitrepositories",
        "ImagePolicy" => "imagepolicies",
        _ => "imageupdateautomations",
    };
    let objects = all();
    std::thread::scope(|scope| {
        for part in objects.chunks(objects.len().div_ceil(4)) {
            scope.spawn(move || {
                for object in part {
                    let path = format!(
                        "/apis/{}/namespaces/{NAMESPACE}/{}",
                        object["apiVersion"].as_str().unwrap(),
                        plural(object)
                    );
                    let made = cluster.request("POST", &path, "", &object.to_string());
                    assert_eq!(made.status, 201, "{}", made.body);
                    let status = format!("{path}/{}/status", object["metadata"]["name"].as_str().unwrap());
                    let patched = cluster.merge_patch(&status, &json!({"status": object["status"]}));
                    assert_eq!(patched.status, 200, "{}", patched.body);
                }
            });
        }
    });
}

fn controller(cluster: &Cluster, folder: &std::path::Path, flags: &[&str]) -> Controller {
    let starter = Controller::ours(&cluster.kubeconfig(), "flux-system", folder);
    let usual = [
        "--watch-label-selector=nobody=reconciles",
        "--controllers=image-reflector",
    ];
    let controller = starter.flags(&usual).flags(flags).start();
    until("it is ready", || {
        controller.probe("readyz").is_some_and(|(status, _)| status == 200)
    });
    controller
}

#[test]
fn pages_of_many_objects_are_small_and_quick_and_cost_nothing_at_rest() {
    let Some(cluster) = Cluster::start() else { return };
    cluster.define();
    cluster.apply(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}).to_string());
    fill(&cluster);
    let folder = tempfile::tempdir().unwrap();
    let port = free_port();
    let with = controller(
        &cluster,
        &folder.path().join("with"),
        &[&format!("--ui-addr=127.0.0.1:{port}")],
    );
    let without = controller(&cluster, &folder.path().join("without"), &[]);
    let (more, less) = (with.memory("RssAnon"), without.memory("RssAnon"));
    println!("at rest: {more} KiB with pages, {less} KiB without");
    assert!(more < less + AT_REST, "{more} KiB with pages, {less} KiB without");
    let look = |target: &str| {
        let answer = exchange(port, "GET", target, &[], "");
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.body.len()
    };
    println!("first look: {} bytes", look("/"));
    for target in [
        "/",
        "/images",
        "/kustomizations",
        "/automations",
        "/sources",
        "/timeline",
        "/search?q=app-499",
    ] {
        let before = with.cpu();
        let largest = (0..5).map(|_| look(target)).max().unwrap();
        let took = with.cpu() - before;
        println!("{target}: {largest} bytes, {took:?}; {} KiB", with.memory("RssAnon"));
        assert!(largest <= PAGE, "{target}: {largest} bytes");
        assert!(took < FIVE_LOOKS, "{target}: {took:?}");
    }
    let kubeconfig = format!("--kubeconfig={}", cluster.kubeconfig().display());
    let (ran, peak) = Bench::new().weighed(&["status", "-A", &kubeconfig]);
    println!("status: {peak} KiB at its peak");
    assert!(
        ran.code == 0 && ran.out.contains("Kustomizations"),
        "{}{}",
        ran.out,
        ran.err
    );
    assert!(peak < STATUS, "{peak} KiB");
}
