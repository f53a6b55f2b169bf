//! `bumpwright tree`, `bumpwright trace` and `bumpwright events`.

use super::{json, ok, run};
use crate::seed::{HOUR, event, seeded, workloads};
use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::world::{GIT_REPOSITORY, KUSTOMIZATION};
use serde_json::json;

#[test]
fn a_deployment_is_traced_to_the_tag() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = seeded(cluster, "trace-a");
    workloads(&world);
    let document = json(&world, &["trace", "deploy/web"]);
    assert_eq!(document["objects"], json!(["Deployment/trace-a/web"]));
    assert_eq!(
        document["runs"],
        json!(["envoyproxy/envoy:v1.30", "ghcr.io/acme/web:1.4.2"])
    );
    let image = &document["traces"][0]["images"][0];
    assert_eq!(
        (&image["image"], &image["stage"]),
        (&json!("ghcr.io/acme/web:1.5.0"), &json!("behind"))
    );
    assert_eq!(document["traces"][0]["owners"], json!(["Kustomization/trace-a/root"]));
}

#[test]
fn what_nobody_has_applied_is_told() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = seeded(cluster, "trace-b");
    workloads(&world);
    let trace = |object: &str| run(cluster, &["trace", object, "-n", "trace-b"]);
    let ran = trace("pod/lone");
    assert_eq!(ran.code, 1, "{}", ran.err);
    assert!(
        ran.out.ends_with("Status:          no Kustomization has applied it\n"),
        "{}",
        ran.out
    );
    // It is in an inventory, and somebody has deleted it.
    let ran = trace("svc/web");
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(ran.err, "note: Service/trace-b/web is not in the cluster\n");
    for (object, error) in [
        (
            "pod/none",
            "there is no Pod none in the namespace trace-b; did you mean lone?",
        ),
        (
            "widget/none",
            "there is no widget none in the namespace trace-b that a Kustomization has applied",
        ),
        ("web", "give one object: KIND NAME, or KIND/NAME; such as deploy/web"),
    ] {
        let ran = trace(object);
        assert_eq!((ran.code, ran.err), (2, format!("error: {error}\n")));
    }
}

#[test]
fn an_object_of_another_namespace_is_found_there() {
    let Some(cluster) = Cluster::shared() else { return };
    let _ = seeded(cluster, "trace-c");
    let _ = seeded(cluster, "trace-d");
    let trace = |object: &str| run(cluster, &["trace", object, "-n", "trace-d"]).err;
    let map = |namespace: &str, name: &str| {
        let metadata = json!({"name": name, "namespace": namespace});
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata});
        cluster.create(&map, "").unwrap();
    };
    map("trace-c", "trace-away");
    let missing = "error: there is no ConfigMap trace-away in the namespace trace-d; did you mean";
    assert_eq!(trace("cm/trace-away"), format!("{missing} -n trace-c?\n"));
    map("default", "trace-away");
    assert_eq!(trace("cm/trace-away"), format!("{missing} -n default or -n trace-c?\n"));
}

#[test]
fn a_tree_has_the_kustomizations_below() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = seeded(cluster, "tree-a");
    let document = json(&world, &["tree", "ks/root"]);
    assert_eq!(document["tree"]["children"][1]["children"][0]["object"]["name"], "web");
    let ran = run(cluster, &["tree", "ks", "none", "-n", "tree-a"]);
    assert_eq!(
        (ran.code, ran.err.as_str()),
        (2, "error: there is no Kustomization none in the namespace tree-a\n")
    );
    let ran = run(cluster, &["tree", "gitrepo", "fleet", "-n", "tree-a"]);
    assert_eq!(
        (ran.code, ran.err.as_str()),
        (
            2,
            "error: GitRepository has no tree: only Kustomizations and HelmReleases have one\n"
        )
    );
}

#[test]
fn a_tree_tells_how_its_objects_are_if_asked() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = seeded(cluster, "tree-b");
    workloads(&world);
    let text = ok(&world, &["tree", "ks/root", "--health"]);
    for line in [
        "│   └── StatefulSet/tree-b/db NotFound: Resource not found\n",
        "│   ├── Deployment/tree-b/web InProgress: ",
        "│   └── Service/tree-b/web NotFound: Resource not found\n",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    let at = "/tree/children/1/children/1";
    let document = json(&world, &["tree", "ks/root", "--health"]);
    let service = document.pointer(at).unwrap();
    assert_eq!(
        service["health"],
        json!({"status": "NotFound", "message": "Resource not found"})
    );
    let document = json(&world, &["tree", "ks/root"]);
    assert_eq!(document.pointer(at).unwrap().get("health"), None);
    // An expression of the Kustomization counts more than kstatus.
    let check = json!([{"apiVersion": "apps/v1", "kind": "Deployment", "current": "spec.replicas == 1"}]);
    world.patch(KUSTOMIZATION, "apps", &json!({"spec": {"healthCheckExprs": check}}));
    let text = ok(&world, &["tree", "ks/root", "--health"]);
    assert!(text.contains("│   ├── Deployment/tree-b/web Current\n"), "{text}");
    let elsewhere = json!({"spec": {"kubeConfig": {"secretRef": {"name": "other"}}}});
    world.patch(KUSTOMIZATION, "apps", &elsewhere);
    let ran = run(cluster, &["tree", "ks/apps", "--health", "-n", "tree-b"]);
    assert_eq!(
        (ran.code, ran.err.as_str()),
        (0, "note: its objects are in another cluster, which is not asked\n")
    );
    let (web, service) = (
        "── Deployment/tree-b/web in another cluster\n",
        "── Service/tree-b/web in another cluster\n",
    );
    assert!(ran.out.contains(web) && ran.out.contains(service), "{}", ran.out);
    let ran = run(cluster, &["trace", "deploy/web", "-n", "tree-b"]);
    let note = "note: Deployment/tree-b/web is in another cluster, which is not asked\n";
    assert_eq!((ran.code, ran.err.as_str()), (0, note));
    let section = "Kustomization:   tree-b/apps\nApplied by:      Kustomization/tree-b/root\nCluster:         another one (spec.kubeConfig)\n";
    assert!(
        ran.out.contains(section) && !ran.out.contains("ghcr.io/acme/web:1.4.2"),
        "{}",
        ran.out
    );
}

#[test]
fn events_are_those_of_the_kinds_the_latest_last() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = seeded(cluster, "events-a");
    let why = "health check failed\nDeployment/web is not ready";
    event(
        &world,
        KUSTOMIZATION,
        "apps",
        ("Warning", "HealthCheckFailed"),
        why,
        9 * HOUR,
    );
    event(
        &world,
        GIT_REPOSITORY,
        "fleet",
        ("Normal", "NewArtifact"),
        "stored artifact",
        10 * HOUR,
    );
    // One about something else.
    let mut other = world.list(bumpwright_testkit::world::EVENT).remove(0);
    other["metadata"] = json!({"name": "other", "namespace": "events-a"});
    other["involvedObject"]["kind"] = json!("Pod");
    (other["apiVersion"], other["kind"]) = (json!("v1"), json!("Event"));
    cluster.create(&other, "").unwrap();
    let text = ok(&world, &["events"]);
    assert_eq!(text.lines().count(), 3, "{text}");
    let warnings = ok(&world, &["events", "--types", "Warning", "--no-header"]);
    assert!(
        warnings.starts_with("9h (x3 over 20h)   Warning   HealthCheckFailed   kustomization/apps   "),
        "{warnings}"
    );
    assert_eq!(warnings.lines().count(), 1);
    let document = json(&world, &["events", "--for", "gitrepository/fleet"]);
    assert_eq!(document["events"].as_array().unwrap().len(), 1);
    assert_eq!(document["events"][0]["id"], "GitRepository/events-a/fleet");
    let ran = run(cluster, &["events", "--for", "ks/none", "-n", "events-a"]);
    assert_eq!(
        (ran.code, ran.err.as_str()),
        (0, "No events found in events-a namespace.\n")
    );
}
