//! HelmReleases between objects and Kustomizations.

use super::*;

fn release(one: &str, fields: Value) -> ReleaseFacts {
    let mut object = json!({"metadata": meta(one), "spec": {"chartRef": {"kind": "OCIRepository", "name": "charts"}},
        "status": {"observedGeneration": 1, "conditions": ready("True", "InstallSucceeded", "installed")}});
    for (part, fields) in fields.as_object().unwrap() {
        for (field, value) in fields.as_object().unwrap() {
            object[part][field] = value.clone();
        }
    }
    read(object)
}

/// A world whose Kustomization `apps` has the release `outer`, which has the release `inner`, which has a Deployment.
fn nested() -> World {
    let mut world = world();
    let entry = |id: &str| json!({"inventory": {"entries": [{"id": id, "v": "v1"}]}});
    let inner = entry("web_inner_helm.toolkit.fluxcd.io_HelmRelease");
    world
        .releases
        .insert(name("web/outer"), release("web/outer", json!({ "status": inner })));
    let deployment = json!({"status": entry("web_shop_apps_Deployment")});
    world
        .releases
        .insert(name("web/inner"), release("web/inner", deployment));
    let apps = world.kustomizations.get_mut(&name("fs/apps")).unwrap();
    apps.status.inventory =
        read(json!({"entries": [{"id": "web_outer_helm.toolkit.fluxcd.io_HelmRelease", "v": "v2"}]}));
    world
}

fn deployment(name: &str) -> Entry {
    Entry {
        group: "apps".to_owned(),
        version: "v1".to_owned(),
        kind: "Deployment".to_owned(),
        namespace: "web".to_owned(),
        name: name.to_owned(),
    }
}

fn above(world: &World, object: &Entry, metadata: &Value) -> Vec<String> {
    let metadata: Meta = read(metadata.clone());
    let found = world.releases_above(object, Some(&metadata));
    found.iter().map(|id| id.name.name.clone()).collect()
}

#[test]
fn releases_of_releases_lead_to_the_kustomization() {
    let mut world = nested();
    let shop = deployment("shop");
    assert_eq!(above(&world, &shop, &json!({})), ["inner", "outer"]);
    assert_eq!(
        above(
            &world,
            &release_entry(&Id::new("HelmRelease", name("web/inner"))),
            &json!({})
        ),
        ["inner", "outer"]
    );
    let last = world.releases_above(&shop, None).pop().unwrap();
    let trace = world.trace(&release_entry(&last), None).remove(0);
    assert_eq!(trace.kustomization.id.name, name("fs/apps"));
    let tree = world.tree(&Id::new("Kustomization", name("fs/apps"))).unwrap();
    let (outer, inner) = (&tree.children[0], &tree.children[0].children[0]);
    assert_eq!(
        outer.release.as_ref().unwrap().source.to_string(),
        "OCIRepository/web/charts"
    );
    assert_eq!(inner.children[0].object, shop);
    // Two that have each other end.
    let circle = json!({"status": {"inventory": {"entries": [{"id": "web_outer_helm.toolkit.fluxcd.io_HelmRelease", "v": "v2"}]}}});
    world.releases.insert(name("web/inner"), release("web/inner", circle));
    let outer = Id::new("HelmRelease", name("web/outer"));
    assert_eq!(above(&world, &release_entry(&outer), &json!({})), ["outer", "inner"]);
    assert!(world.tree(&outer).unwrap().children[0].children[0].children.is_empty());
}

#[test]
fn labels_and_annotations_name_a_release() {
    let mut world = nested();
    let other = deployment("other");
    let labelled =
        json!({"labels": {"helm.toolkit.fluxcd.io/name": "inner", "helm.toolkit.fluxcd.io/namespace": "web"}});
    let annotated = |name: &str, namespace: &str| json!({"annotations": {"meta.helm.sh/release-name": name, "meta.helm.sh/release-namespace": namespace}});
    assert_eq!(above(&world, &other, &labelled), ["inner", "outer"]);
    assert_eq!(above(&world, &other, &annotated("outer", "web")), ["outer"]);
    for nobody in [json!({}), annotated("outer", "fs"), annotated("gone", "web")] {
        assert!(above(&world, &other, &nobody).is_empty(), "{nobody}");
    }
    // Helm's names: as they will be, and as they are.
    for (fields, name, namespace) in [
        (json!({"spec": {"targetNamespace": "shop"}}), "shop-outer", "shop"),
        (
            json!({"spec": {"targetNamespace": "shop", "releaseName": "r"}}),
            "r",
            "shop",
        ),
        (
            json!({"spec": {"releaseName": "r"}, "status": {"history": [{"name": "old"}]}}),
            "old",
            "web",
        ),
    ] {
        world
            .releases
            .insert(super::name("web/outer"), release("web/outer", fields));
        assert_eq!(above(&world, &other, &annotated(name, namespace)), ["outer"]);
    }
    let outer = json!({"spec": {"kubeConfig": {}}});
    world.releases.insert(name("web/outer"), release("web/outer", outer));
    assert!(
        above(&world, &other, &annotated("outer", "web")).is_empty(),
        "it is in another cluster"
    );
}

#[test]
fn a_chart_is_made_in_the_namespace_of_its_source() {
    let facts = release(
        "web/outer",
        json!({"spec": {"chart": {"spec": {"chart": "app", "sourceRef":
        {"kind": "HelmRepository", "name": "acme", "namespace": "fs"}}}}}),
    );
    assert_eq!(facts.helm_chart(), None, "chartRef counts");
    let mut facts = facts;
    facts.spec.chart_ref = None;
    assert_eq!(facts.source().to_string(), "HelmRepository/fs/acme");
    assert_eq!(facts.helm_chart().unwrap().to_string(), "HelmChart/fs/web-outer");
    facts.status.helm_chart = "fs/other".to_owned();
    assert_eq!(facts.helm_chart().unwrap().to_string(), "HelmChart/fs/other");
}

/// helm-controller tells of a release by an event, too, as long as that is kept.
#[test]
fn a_revision_of_helm_is_one_change() {
    let mut world = nested();
    let history = json!({"status": {"history": [
        {"name": "outer", "version": 2, "status": "failed", "chartName": "app", "chartVersion": "1.1.0", "lastDeployed": "2026-01-01T11:00:00Z"},
        {"name": "outer", "version": 1, "status": "superseded", "chartName": "app", "chartVersion": "1.0.0", "lastDeployed": "2026-01-01T10:30:00Z"},
    ]}});
    world.releases.insert(name("web/outer"), release("web/outer", history));
    let event = |about: &str, reason: &str| {
        read::<EventFacts>(
            json!({"metadata": meta("web/e"), "type": about, "reason": reason, "message": "told", "lastTimestamp": "2026-01-01T11:00:00Z",
            "involvedObject": {"kind": "HelmRelease", "namespace": "web", "name": "outer"}}),
        )
    };
    let told = |world: &World| -> Vec<(ChangeKind, String)> {
        let changes = world.changes().into_iter().filter(|one| one.id.kind == "HelmRelease");
        changes.map(|one| (one.kind, one.message)).collect()
    };
    let applied = (
        ChangeKind::Applied,
        "chart app@1.0.0, revision 1: superseded".to_owned(),
    );
    let failed = (ChangeKind::Failed, "chart app@1.1.0, revision 2: failed".to_owned());
    assert_eq!(told(&world), [failed, applied.clone()]);
    world.events = vec![event("Warning", "UpgradeFailed"), event("Normal", "InstallSucceeded")];
    assert_eq!(told(&world), [(ChangeKind::Failed, "told".to_owned()), applied]);
}
