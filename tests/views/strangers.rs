//! What objects in the cluster say of an image: a Kustomization that fails holds back the images that its objects have,
//! and no others of the same source; and where a workload has another version, the image is not current.

use serde_json::{Value as Json, json};

use crate::seed::{FIRST, HOUR, SECOND, add, ago, ready};
use crate::server::seeded::Pages;
use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::cli::Bench;
use bumpwright_testkit::world::{
    AUTOMATION, GIT_REPOSITORY, IMAGE_POLICY, IMAGE_REPOSITORY, KUSTOMIZATION, World, automation, newest,
};

fn revision(commit: &str) -> String {
    format!("main@sha1:{commit}")
}

/// A source, an image that was written and pushed, and Kustomizations that apply a Deployment each:
/// `apps` well, `infra` not.
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
        let id = format!("{}_{name}_apps_Deployment", world.namespace);
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

/// The Deployment of a Kustomization, with its labels.
fn deployment(world: &World<'_>, name: &str, image: &str) -> String {
    let labels =
        json!({"kustomize.toolkit.fluxcd.io/name": name, "kustomize.toolkit.fluxcd.io/namespace": world.namespace});
    let metadata = json!({"name": name, "namespace": world.namespace, "labels": labels});
    let template =
        json!({"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web", "image": image}]}});
    let spec = json!({"selector": {"matchLabels": {"app": "web"}}, "template": template});
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}).to_string()
}

fn run(world: &World<'_>, arguments: &[&str]) -> String {
    let kubeconfig = format!("--kubeconfig={}", world.cluster.kubeconfig().display());
    let (command, flags) = arguments.split_first().unwrap();
    let ran = Bench::new().run(&[&[*command, kubeconfig.as_str(), "-n", world.namespace.as_str()], flags].concat());
    assert_eq!(ran.code, 0, "{arguments:?}: {}", ran.err);
    ran.out
}

/// How far the image is, and why it is no further.
fn stage(world: &World<'_>) -> (String, String) {
    let document: Json = serde_json::from_str(&run(world, &["get", "images", "-o", "json"])).unwrap();
    let image = &document["images"][0];
    let text = |field: &str| image[field].as_str().unwrap_or_default().to_owned();
    (text("stage"), text("why"))
}

fn page(world: &World<'_>) -> String {
    let pages = Pages::start(world.cluster, &["--ui-auth=token".to_owned()]);
    pages.page(&format!("/images/{}/web", world.namespace), world.cluster.token())
}

#[test]
fn a_broken_kustomization_holds_back_the_images_of_its_own_objects() {
    let Some(cluster) = Cluster::shared() else { return };
    cluster.define();
    let world = World::new(cluster, "strangers");
    put(&world);
    let why = "Kustomization strangers/infra fails: BuildFailed: no such file";
    let waits = ("onTheWay".to_owned(), why.to_owned());
    assert_eq!(stage(&world), waits, "its object cannot be read");
    cluster.apply(&deployment(&world, "infra", "ghcr.io/acme/proxy:1.0.0"));
    let missing = "no workload that was read has this image: a marker may be missing";
    assert_eq!(stage(&world), ("current".to_owned(), missing.to_owned()));
    let shown = page(&world);
    assert!(!shown.contains(why) && shown.contains("current"), "{shown}");
    cluster.apply(&deployment(&world, "infra", "mirror.example/acme/web:1.0.0"));
    assert_eq!(stage(&world), waits);
    let shown = page(&world);
    assert!(shown.contains(why), "{shown}");
}

#[test]
fn an_image_is_behind_where_a_workload_has_another_version() {
    let Some(cluster) = Cluster::shared() else { return };
    cluster.define();
    let world = World::new(cluster, "versions");
    put(&world);
    let conditions = ready("True", "ReconciliationSucceeded", "Applied", HOUR);
    let well = json!({"lastAppliedRevision": revision(SECOND), "conditions": conditions});
    world.patch_status(KUSTOMIZATION, "infra", &well);
    let text = run(&world, &["status"]);
    assert!(
        text.contains("\n  1 of the current ones not known to run everywhere: bumpwright get images -n versions\n"),
        "{text}"
    );
    cluster.apply(&deployment(&world, "apps", "ghcr.io/acme/web:1.1.0"));
    assert_eq!(stage(&world), ("current".to_owned(), String::new()));
    let text = run(&world, &["status"]);
    assert!(
        text.contains("\nImages: 1 current\n") && !text.contains("not known to run"),
        "{text}"
    );

    cluster.apply(&deployment(&world, "apps", "ghcr.io/acme/web:1.0.0"));
    let why = "Deployment versions/apps has 1.0.0, and the last run of ImageUpdateAutomation versions/all had 1.1.0: \
        a marker may be missing, or somebody changed the object";
    assert_eq!(stage(&world), ("behind".to_owned(), why.to_owned()));
    let text = run(&world, &["status"]);
    assert!(text.contains("\nImages: 1 behind\n"), "{text}");
    let traced: Json = serde_json::from_str(&run(&world, &["trace", "deploy/apps", "-o", "json"])).unwrap();
    assert_eq!(traced["traces"][0]["images"][0]["stage"], "behind");
    let shown = page(&world);
    assert!(shown.contains("Deployment versions/apps has 1.0.0"), "{shown}");
}
