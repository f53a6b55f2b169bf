//! A Kustomization that fails holds back the images that its objects have, and no others of the same source.

use serde_json::{Value as Json, json};

use crate::seed::{FIRST, HOUR, SECOND, add, ago, ready};
use crate::server::seeded::Pages;
use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::cli::Bench;
use bumpwright_testkit::world::{
    AUTOMATION, GIT_REPOSITORY, IMAGE_POLICY, IMAGE_REPOSITORY, KUSTOMIZATION, World, automation, newest,
};

const NAMESPACE: &str = "strangers";

fn revision(commit: &str) -> String {
    format!("main@sha1:{commit}")
}

/// A source, an image that was written and pushed, and Kustomizations that apply a Deployment each: `apps` well, `infra` not.
fn put(world: &World<'_>) {
    let spec = json!({"spec": {"interval": "1h", "url": "https://github.com/acme/fleet", "ref": {"branch": "main"}}});
    let artifact = json!({"revision": revision(SECOND), "path": "a", "url": "http://a/a", "digest": format!("sha256:{}", "0".repeat(64)),
        "lastUpdateTime": ago(HOUR)});
    let status = json!({"artifact": artifact, "conditions": ready("True", "Succeeded", "stored", HOUR)});
    add(world, GIT_REPOSITORY, "fleet", spec, &status);
    let spec = json!({"spec": {"image": "ghcr.io/acme/web", "interval": "1h"}});
    let status = json!({"conditions": ready("True", "Succeeded", "2 tags", HOUR)});
    add(world, IMAGE_REPOSITORY, "web", spec, &status);
    let image = |tag: &str| json!({"name": "ghcr.io/acme/web", "tag": tag});
    let status = json!({"latestRef": image("1.1.0"), "observedPreviousRef": image("1.0.0"),
        "conditions": ready("True", "Succeeded", "resolved", HOUR)});
    add(world, IMAGE_POLICY, "web", json!({"spec": newest("web")}), &status);
    let status = json!({"lastPushCommit": SECOND, "lastPushTime": ago(2 * HOUR), "observedPolicies": {"web": image("1.1.0")},
        "conditions": ready("True", "Succeeded", "repository up-to-date", HOUR)});
    add(world, AUTOMATION, "all", json!({"spec": automation("fleet")}), &status);
    let kustomization = |name: &str, commit: &str, conditions: Json| {
        let spec = json!({"spec": {"interval": "1h", "prune": true, "path": format!("./{name}"),
            "sourceRef": {"kind": "GitRepository", "name": "fleet"}}});
        let id = format!("{NAMESPACE}_{name}_apps_Deployment");
        let status = json!({"lastAppliedRevision": revision(commit), "conditions": conditions,
            "inventory": {"entries": [{"id": id, "v": "v1"}]}});
        add(world, KUSTOMIZATION, name, spec, &status);
    };
    kustomization(
        "apps",
        SECOND,
        ready("True", "ReconciliationSucceeded", "Applied", HOUR),
    );
    kustomization("infra", FIRST, ready("False", "BuildFailed", "no such file", HOUR));
}

fn deployment(image: &str) -> Json {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "infra", "namespace": NAMESPACE},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": {"metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "web", "image": image}]}}}})
}

/// How far the image is, and why it is no further.
fn stage(cluster: &Cluster) -> (String, String) {
    let kubeconfig = format!("--kubeconfig={}", cluster.kubeconfig().display());
    let ran = Bench::new().run(&["get", "images", &kubeconfig, "-n", NAMESPACE, "-o", "json"]);
    let document: Json = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{}", ran.err));
    let image = &document["images"][0];
    let text = |field: &str| image[field].as_str().unwrap_or_default().to_owned();
    (text("stage"), text("why"))
}

fn page(cluster: &Cluster) -> String {
    let pages = Pages::start(cluster, &["--ui-auth=token".to_owned()]);
    pages.page(&format!("/images/{NAMESPACE}/web"), cluster.token())
}

#[test]
fn a_broken_kustomization_holds_back_the_images_of_its_own_objects() {
    let Some(cluster) = Cluster::shared() else { return };
    cluster.define();
    let world = World::new(cluster, NAMESPACE);
    put(&world);
    let why = format!("Kustomization {NAMESPACE}/infra fails: BuildFailed: no such file");
    let waits = ("onTheWay".to_owned(), why.clone());
    assert_eq!(stage(cluster), waits, "its object cannot be read");
    cluster.apply(&deployment("ghcr.io/acme/proxy:1.0.0").to_string());
    assert_eq!(stage(cluster), ("current".to_owned(), String::new()));
    let shown = page(cluster);
    assert!(!shown.contains(&why) && shown.contains("current"), "{shown}");
    cluster.apply(&deployment("mirror.example/acme/web:1.0.0").to_string());
    assert_eq!(stage(cluster), waits);
    let shown = page(cluster);
    assert!(shown.contains(&why), "{shown}");
}
