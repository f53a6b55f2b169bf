//! HelmReleases: `trace`, `tree`, `status`, `get`, `reconcile`, `suspend` and `resume`. The test writes what
//! helm-controller would; the real one is in `tests/real/flux_neighbours/helm.rs`.

use super::{even, json, ok, run};
use crate::seed::{HELM_CHART, HELM_RELEASE, HELM_REPOSITORY, HOUR, add, deployed, installed, ready, release, seeded};
use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::cli::Ran;
use bumpwright_testkit::waiting::wait_for;
use bumpwright_testkit::world::{KUSTOMIZATION, OCI_REPOSITORY, ObjectKind, World};
use serde_json::{Value as Json, json};

const REQUESTED: &str = "reconcile.fluxcd.io/requestedAt";

/// A seeded namespace with the release `shop`. None where a definition is missing.
fn shop(namespace: &str) -> Option<World<'static>> {
    let cluster = Cluster::shared()?;
    cluster.define_helm()?;
    let world = seeded(cluster, namespace);
    release(&world);
    Some(world)
}

fn at(world: &World<'_>, arguments: &[&str]) -> Ran {
    run(world.cluster, &[arguments, &["-n", &world.namespace]].concat())
}

/// A release without inventory, of a chart that helm-controller makes, which fails.
fn broken(world: &World<'_>, name: &str, spec: &Json) {
    let mut spec = spec.clone();
    spec["interval"] = json!("1h");
    spec["chart"] =
        json!({"spec": {"chart": "shop", "version": "1.x", "sourceRef": {"kind": "HelmRepository", "name": "acme"}}});
    let status = json!({
        "helmChart": format!("{0}/{0}-{name}", world.namespace), "failures": 2,
        "history": [deployed(name, 3, "failed", HOUR), deployed(name, 2, "deployed", 9 * HOUR)],
        "lastAttemptedRevision": "1.3.0", "lastAttemptedReleaseAction": "upgrade",
        "conditions": ready("False", "UpgradeFailed", "Helm upgrade failed", HOUR),
    });
    add(world, HELM_RELEASE, name, json!({ "spec": spec }), &status);
}

#[test]
fn a_pod_is_traced_through_its_release_to_the_tag() {
    let Some(world) = shop("release-trace") else { return };
    installed(&world, "shop", &json!({}));
    let text = even(&ok(&world, &["trace", "pod/shop-x7x2p"]), &world.namespace);
    let (head, rest) = text.split_once("---\nKustomization:   NS/apps\n").unwrap();
    let expected = "\
Object:          Pod/NS/shop-x7x2p
Owned by:        Deployment/NS/shop
Image:           ghcr.io/acme/web:1.4.2
Status:          installed by a HelmRelease, which a Kustomization has applied
---
HelmRelease:     NS/shop
Chart:           shop 1.2.0
Chart source:    OCIRepository/NS/charts
Source has:      1.2.0@sha256:cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc
Helm release:    NS/shop
Last attempt:    upgrade 1.2.0+cccccccccccc
History:         2 deployed shop@1.2.0 2d ago
History:         1 superseded shop@1.1.0 9d ago
Status:          ready for 2d
Message:         Helm upgrade succeeded for release NS/shop.v2 with chart shop@1.2.0
";
    assert_eq!(head, expected);
    for part in [
        "GitRepository:   NS/fleet\n",
        "Automation:      NS/all\n",
        "Policy:          NS/web\nImage:           ghcr.io/acme/web:1.5.0\n",
    ] {
        assert!(rest.contains(part), "{part}: {rest}");
    }
    assert!(!rest.contains("is not known"), "{rest}");
    let document = json(&world, &["trace", "hr", "shop"]);
    assert_eq!(document["objects"], json!(["HelmRelease/release-trace/shop"]));
    assert_eq!(document["runs"], json!(["ghcr.io/acme/web:1.4.2"]));
    assert_eq!(document["releases"][0]["history"][1]["status"], "superseded");
    assert_eq!(document["traces"][0]["images"][0]["isKnown"], true);
    // What is deleted is still in the inventory.
    let ran = at(&world, &["trace", "svc/shop"]);
    assert_eq!(
        (ran.code, ran.err.as_str()),
        (0, "note: Service/release-trace/shop is not in the cluster\n")
    );
    assert!(ran.out.contains("HelmRelease:     release-trace/shop\n"), "{}", ran.out);
}

/// Older helm-controllers write no inventory.
#[test]
fn releases_are_known_by_labels_and_annotations() {
    let Some(world) = shop("release-labels") else { return };
    let namespace = &world.namespace;
    broken(&world, "cart", &json!({}));
    broken(
        &world,
        "mail",
        &json!({"releaseName": "post", "targetNamespace": namespace}),
    );
    let labels = json!({"helm.toolkit.fluxcd.io/name": "cart", "helm.toolkit.fluxcd.io/namespace": namespace});
    installed(&world, "cart-web", &json!({ "labels": labels }));
    let annotations =
        |name: &str| json!({"meta.helm.sh/release-name": name, "meta.helm.sh/release-namespace": namespace});
    installed(&world, "mail-web", &json!({"annotations": annotations("mail")}));
    installed(
        &world,
        "lone",
        &json!({"annotations": annotations("gone"), "labels": {"app.kubernetes.io/managed-by": "Helm"}}),
    );
    for (deployment, name) in [("cart-web", "cart"), ("mail-web", "mail")] {
        let ran = at(&world, &["trace", "deployment", deployment]);
        assert_eq!(ran.code, 1, "{}", ran.err);
        let text = even(&ran.out, namespace);
        let section = format!(
            "Status:          installed by a HelmRelease, which no Kustomization has applied\n---\nHelmRelease:     NS/{name}\n\
             Chart:           shop 1.3.0\nVersion range:   1.x\nChart source:    HelmRepository/NS/acme\n"
        );
        assert!(text.contains(&section), "{text}");
        assert!(text.contains("Last attempt:    upgrade 1.3.0, 2 failed\n"), "{text}");
    }
    let ran = at(&world, &["trace", "deployment", "lone"]);
    assert!(
        ran.code == 1 && ran.out.ends_with("no Kustomization has applied it\n"),
        "{}",
        ran.out
    );
    // A Kustomization that has lost it names itself in its labels.
    let owner =
        json!({"kustomize.toolkit.fluxcd.io/name": "infra", "kustomize.toolkit.fluxcd.io/namespace": namespace});
    world.patch(HELM_RELEASE, "cart", &json!({"metadata": {"labels": owner}}));
    let document = json(&world, &["trace", "deployment", "cart-web"]);
    assert_eq!(
        document["traces"][0]["kustomization"]["id"],
        "Kustomization/release-labels/infra"
    );
    // What is installed in another cluster is not its namesake here.
    let elsewhere = json!({"spec": {"kubeConfig": {"secretRef": {"name": "other"}}}});
    world.patch(HELM_RELEASE, "cart", &elsewhere);
    assert_eq!(at(&world, &["trace", "deployment", "cart-web"]).code, 1);
}

#[test]
fn a_tree_has_releases_with_their_objects() {
    let Some(world) = shop("release-tree") else { return };
    installed(&world, "shop", &json!({}));
    broken(&world, "cart", &json!({}));
    let text = even(&ok(&world, &["tree", "hr/shop"]), &world.namespace);
    let below = "├── Deployment/NS/shop\n└── Service/NS/shop\n";
    assert_eq!(
        text,
        format!("HelmRelease/NS/shop (shop 1.2.0 of OCIRepository/NS/charts) ready\n{below}")
    );
    let text = even(&ok(&world, &["tree", "ks", "apps", "--health"]), &world.namespace);
    for line in [
        "└── HelmRelease/NS/shop (shop 1.2.0 of OCIRepository/NS/charts) ready\n",
        "    ├── Deployment/NS/shop InProgress: ",
        "    └── Service/NS/shop NotFound: Resource not found\n",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    let document = json(&world, &["tree", "helmrelease", "cart"]);
    assert_eq!(document["tree"]["release"]["failures"], 2);
    assert_eq!(document["tree"]["release"]["history"][0]["status"], "failed");
    assert_eq!(document["tree"].get("children"), None);
    let ran = at(&world, &["tree", "hr", "none"]);
    assert_eq!(
        (ran.code, ran.err.as_str()),
        (2, "error: there is no HelmRelease none in the namespace release-tree\n")
    );
}

#[test]
fn status_and_get_tell_of_releases() {
    let Some(world) = shop("release-status") else { return };
    let namespace = &world.namespace;
    let shown = ok(&world, &["status"]);
    assert!(
        shown.contains("\nHelmReleases         1     1       0        0\n"),
        "{shown}"
    );
    broken(&world, "cart", &json!({}));
    // The Kustomization that waits for it is a consequence.
    let why =
        format!("health check failed after 30s: timeout waiting for: [HelmRelease/{namespace}/cart status: 'Failed']");
    let status = json!({"conditions": ready("False", "HealthCheckFailed", &why, HOUR)});
    world.patch_status(KUSTOMIZATION, "infra", &status);
    let status = json(&world, &["status"]);
    assert_eq!(
        status["counts"]["releases"],
        json!({"all": 2, "ready": 1, "failed": 1, "suspended": 0})
    );
    let attention = status["attention"].as_array().unwrap();
    let told: Vec<&str> = attention.iter().map(|one| one["id"].as_str().unwrap()).collect();
    let (cart, infra) = (
        format!("HelmRelease/{namespace}/cart"),
        format!("Kustomization/{namespace}/infra"),
    );
    assert!(
        told.contains(&cart.as_str()) && !told.contains(&infra.as_str()),
        "{told:?}"
    );
    let entry = attention.iter().find(|one| one["id"] == cart.as_str()).unwrap();
    assert!(entry["blocks"].as_array().unwrap().contains(&json!(infra)), "{entry:#}");
    assert_eq!(
        even(&ok(&world, &["get", "helmreleases"]), namespace),
        "NAME   REVISION   SUSPENDED   READY   MESSAGE\n\
         cart   1.3.0      False       False   Helm upgrade failed\n\
         shop   1.2.0      False       True    Helm upgrade succeeded for release NS/shop.v2 with chart shop@1.2.0\n"
    );
    let wide = ok(&world, &["get", "hr", "shop", "-o", "wide", "--no-header"]);
    assert!(
        wide.contains("   shop    OCIRepository/release-status/charts   2    "),
        "{wide}"
    );
    assert_eq!(
        ok(&world, &["get", "hr", "shop", "-o", "name"]),
        "helmrelease.helm.toolkit.fluxcd.io/shop\n"
    );
    let all = ok(&world, &["get", "all"]);
    assert!(all.contains("\nhelmrelease/cart   1.3.0 "), "{all}");
}

/// A chart that is not there is one cause, whoever waits for it.
#[test]
fn a_release_without_its_chart_is_a_consequence() {
    let Some(world) = shop("release-causes") else { return };
    let namespace = &world.namespace;
    let repository = json!({"spec": {"interval": "1h", "url": "https://charts.acme.io"}});
    let status = json!({"conditions": ready("False", "Failed", "failed to fetch index", HOUR)});
    add(&world, HELM_REPOSITORY, "acme", repository, &status);
    let chart =
        json!({"spec": {"interval": "1h", "chart": "shop", "sourceRef": {"kind": "HelmRepository", "name": "acme"}}});
    let why = "no artifact available for HelmRepository source 'acme'";
    let status = json!({"conditions": ready("False", "NoSourceArtifact", why, HOUR)});
    add(&world, HELM_CHART, &format!("{namespace}-cart"), chart, &status);
    broken(&world, "cart", &json!({}));
    let why = format!("HelmChart '{namespace}/{namespace}-cart' is not ready: {why}");
    world.patch_status(
        HELM_RELEASE,
        "cart",
        &json!({"conditions": ready("False", "SourceNotReady", &why, HOUR)}),
    );
    // One in a registry has no status, and is not waited for.
    let oci = json!({"spec": {"interval": "1h", "type": "oci", "url": "oci://ghcr.io/acme"}});
    world.put(HELM_REPOSITORY, "oci", oci);
    let status = json(&world, &["status"]);
    let helm = |one: &&Json| one["id"].as_str().unwrap().starts_with("Helm");
    let told: Vec<&Json> = status["attention"].as_array().unwrap().iter().filter(helm).collect();
    assert_eq!(told.len(), 1, "{told:#?}");
    assert_eq!(told[0]["id"], format!("HelmRepository/{namespace}/acme"));
    let blocks = json!([
        format!("HelmChart/{namespace}/{namespace}-cart"),
        format!("HelmRelease/{namespace}/cart")
    ]);
    assert_eq!(told[0]["blocks"], blocks);
}

/// Handles a request once it is there, as a controller does; the annotations that it came with.
fn handle(world: &World<'_>, kind: ObjectKind, name: &str) -> Json {
    let look =
        || Some(world.get(kind, name)["metadata"].take()).filter(|all| all["annotations"][REQUESTED].is_string());
    let mut metadata = wait_for(look, || format!("nothing is requested of {name}"));
    let annotations = metadata["annotations"].take();
    let status = json!({
        "lastHandledReconcileAt": annotations[REQUESTED], "observedGeneration": metadata["generation"],
        "conditions": ready("True", "Succeeded", "done", 0),
    });
    world.patch_status(kind, name, &status);
    annotations
}

#[test]
fn a_release_is_reconciled_with_its_chart_as_flux_does() {
    let Some(world) = shop("release-reconcile") else { return };
    let (ran, annotations) = std::thread::scope(|scope| {
        let handled = scope.spawn(|| {
            handle(&world, OCI_REPOSITORY, "charts");
            handle(&world, HELM_RELEASE, "shop")
        });
        let ran = at(
            &world,
            &["reconcile", "hr", "shop", "--with-source", "--force", "--reset"],
        );
        (ran, handled.join().unwrap())
    });
    assert_eq!(ran.code, 0, "{}", ran.err);
    let said = even(&ran.err, &world.namespace);
    let steps: Vec<&str> = said.lines().filter(|line| line.starts_with('✔')).collect();
    assert_eq!(
        steps,
        [
            "✔ OCIRepository/NS/charts is ready: done",
            "✔ HelmRelease/NS/shop is ready: done"
        ]
    );
    for annotation in ["reconcile.fluxcd.io/forceAt", "reconcile.fluxcd.io/resetAt"] {
        assert_eq!(annotations[annotation], annotations[REQUESTED], "{annotation}");
    }
    // Of a chart that helm-controller makes, the repository comes first; one in a registry has nothing to reconcile.
    let name = format!("{}-cart", world.namespace);
    let chart =
        json!({"spec": {"interval": "1h", "chart": "shop", "sourceRef": {"kind": "HelmRepository", "name": "acme"}}});
    world.put(HELM_CHART, &name, chart);
    broken(&world, "cart", &json!({}));
    let reconcile = |is_static: bool| {
        let kind = if is_static { "oci" } else { "default" };
        world.put(
            HELM_REPOSITORY,
            "acme",
            json!({"spec": {"interval": "1h", "type": kind, "url": "oci://ghcr.io/acme"}}),
        );
        for (kind, name) in [(HELM_CHART, name.as_str()), (HELM_RELEASE, "cart")] {
            world.patch(kind, name, &json!({"metadata": {"annotations": {REQUESTED: null}}}));
        }
        std::thread::scope(|scope| {
            scope.spawn(|| {
                if !is_static {
                    handle(&world, HELM_REPOSITORY, "acme");
                }
                handle(&world, HELM_CHART, &name);
                handle(&world, HELM_RELEASE, "cart");
            });
            let ran = at(&world, &["reconcile", "helmrelease", "cart", "--with-source"]);
            assert_eq!(ran.code, 0, "{}", ran.err);
            even(&ran.err, &world.namespace)
                .lines()
                .filter(|line| line.starts_with('►'))
                .map(str::to_owned)
                .collect::<Vec<_>>()
        })
    };
    let both = ["► HelmChart/NS/NS-cart annotated", "► HelmRelease/NS/cart annotated"];
    assert_eq!(reconcile(true), both);
    assert_eq!(
        reconcile(false),
        [&["► HelmRepository/NS/acme annotated"], &both[..]].concat()
    );
    for (arguments, error) in [
        (
            ["reconcile", "ks", "apps", "--reset"].as_slice(),
            "--reset is for HelmReleases, not for a Kustomization",
        ),
        (
            &["reconcile", "hr", "none"],
            "there is no HelmRelease none in the namespace release-reconcile",
        ),
    ] {
        let ran = at(&world, arguments);
        assert_eq!((ran.code, ran.err), (2, format!("error: {error}\n")));
    }
}

#[test]
fn releases_are_suspended_and_resumed() {
    let Some(world) = shop("release-suspend") else { return };
    assert_eq!(at(&world, &["suspend", "helmrelease", "--all"]).code, 0);
    assert_eq!(world.get(HELM_RELEASE, "shop")["spec"]["suspend"], true);
    let ran = at(&world, &["reconcile", "hr", "shop"]);
    let error = "error: HelmRelease/release-suspend/shop is suspended: `bumpwright resume helmrelease shop -n release-suspend`\n";
    assert_eq!((ran.code, ran.err.as_str()), (2, error));
    let ran = at(&world, &["resume", "hr/shop"]);
    assert_eq!(
        (ran.code, ran.err.as_str()),
        (0, "✔ HelmRelease/release-suspend/shop resumed\n")
    );
    assert_eq!(world.get(HELM_RELEASE, "shop")["spec"]["suspend"], false);
}
