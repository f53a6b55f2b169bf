//! Policies by labels and annotations, and fields left in an object by others (K-100 to K-102, K-162 to K-174).

use serde_json::json;

use super::world::{World, config_map, managers};

fn annotated(name: &str, data: &str, annotations: &str) -> String {
    let yaml = config_map(name, data);
    yaml.replace(
        "  namespace: NS",
        &format!("  namespace: NS\n  annotations: {annotations}"),
    )
}

#[test]
fn merge_keeps_what_kubectl_has_set() {
    let Some(mut world) = World::new() else { return };
    world.apply_as(
        "kubectl",
        &annotated(
            "c1",
            "{theirs: x}",
            "{kubectl.kubernetes.io/last-applied-configuration: z}",
        ),
    );
    let yaml = annotated("c1", "{k: v}", "{kustomize.toolkit.fluxcd.io/ssa: merge}");
    assert_eq!(world.apply(&yaml), ["ConfigMap/NS/c1 configured"]);
    assert_eq!(world.config_map("c1")["data"], json!({"k": "v", "theirs": "x"}));
    assert_eq!(world.apply(&yaml), ["ConfigMap/NS/c1 unchanged"]);
    // Without the wish all of that goes, once the cluster has the wish no more.
    assert_eq!(world.apply(&config_map("c1", "{k: v}")), ["ConfigMap/NS/c1 configured"]);
    assert_eq!(world.apply(&config_map("c1", "{k: v}")), ["ConfigMap/NS/c1 configured"]);
    let object = world.config_map("c1");
    assert_eq!(
        (&object["data"], object["metadata"].get("annotations")),
        (&json!({"k": "v"}), None)
    );
    assert_eq!(managers(&object), ["kustomize-controller Apply"]);
}

/// K-167: `kubectl apply` in both ways is undone, an apply as `flux-client-side-apply` is kept.
#[test]
fn fields_of_kubectl_are_taken_over() {
    let Some(mut world) = World::new() else { return };
    let yaml = config_map("c1", "{k: v}");
    world.apply(&yaml);
    for manager in [
        "kubectl-client-side-apply",
        "before-first-apply",
        "kubectl-edit",
        "kustomize-controller",
    ] {
        world.edit("c1", manager, &json!({"data": {"added": manager}}));
        assert_eq!(world.apply(&yaml), ["ConfigMap/NS/c1 configured"], "{manager}");
        assert_eq!(world.config_map("c1")["data"], json!({"k": "v"}), "{manager}");
    }
    world.apply_as("flux-client-side-apply", &config_map("c1", "{kept: x}"));
    world.apply(&yaml);
    assert_eq!(world.config_map("c1")["data"], json!({"k": "v", "kept": "x"}));
    world.settings.override_managers = vec!["flux-client-side-apply".to_owned()];
    assert_eq!(world.apply(&yaml), ["ConfigMap/NS/c1 configured"]);
    assert_eq!(world.config_map("c1")["data"], json!({"k": "v"}));
}

/// `--override-manager-before-dry-run`: somebody else has applied a container of another name, whose image is required
/// and goes with our manifest. The dry run refuses that for ever, and the takeover after it never comes.
#[test]
fn a_manager_that_blocks_the_dry_run_is_taken_over_before_it() {
    let Some(mut world) = World::new() else { return };
    let deployment = |name: &str, image: &str| {
        format!(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: d, namespace: NS}}\nspec:\n  selector: {{matchLabels: {{a: b}}}}\n  \
             template:\n    metadata: {{labels: {{a: b}}}}\n    spec: {{containers: [{{name: {name}{image}}}]}}\n"
        )
    };
    world.apply(&deployment("old", ", image: 'nginx:1'"));
    // The field manager owns the name and a variable of the container, but not its image.
    let theirs = deployment("old", ", env: [{name: X, value: '1'}]").replace("NS", &world.namespace);
    let path = format!(
        "/apis/apps/v1/namespaces/{}/deployments/d?fieldManager=stale&force=true",
        world.namespace
    );
    let answer = world
        .server
        .request("PATCH", &path, "application/apply-patch+yaml", &theirs);
    assert_eq!(answer.status, 200, "{:?}", answer.body);
    let wanted = deployment("new", ", image: 'nginx:2'");
    let words = world.refused(&wanted);
    assert!(words.contains("].image: Required value"), "{words}");
    world.settings.override_managers = vec!["stale".to_owned()];
    assert_eq!(world.refused(&wanted), words);
    // By its whole name.
    world.settings.override_before_dry_run = vec!["sta".to_owned()];
    assert_eq!(world.refused(&wanted), words);
    world.settings.override_before_dry_run = vec!["stale".to_owned()];
    assert_eq!(world.apply(&wanted), ["Deployment/NS/d configured"]);
    let containers = world.deployment("d")["spec"]["template"]["spec"]["containers"].clone();
    assert_eq!(containers.as_array().unwrap().len(), 1, "{containers}");
    assert_eq!(world.apply(&wanted), ["Deployment/NS/d unchanged"]);
}

#[test]
fn what_is_not_to_be_applied_is_skipped() {
    let Some(mut world) = World::new() else { return };
    for (name, annotations) in [
        ("ignored", "{kustomize.toolkit.fluxcd.io/ssa: Ignore}"),
        ("disabled", "{kustomize.toolkit.fluxcd.io/reconcile: Disabled}"),
    ] {
        let yaml = annotated(name, "{k: v}", annotations);
        assert_eq!(world.apply(&yaml), [format!("ConfigMap/NS/{name} skipped")]);
        assert!(!world.is_there("v1", "ConfigMap", name));
        let labelled = yaml.replace("annotations", "labels");
        assert_eq!(world.apply(&labelled), [format!("ConfigMap/NS/{name} skipped")]);
    }
    // K-174: the wish counts also where only the cluster has it, even if the server would refuse the manifest.
    world.apply(&config_map("c1", "{k: v}"));
    world.edit(
        "c1",
        "somebody",
        &json!({"metadata": {"labels": {"kustomize.toolkit.fluxcd.io/reconcile": "disabled"}}}),
    );
    for data in ["{k: w}", "[]"] {
        assert_eq!(world.apply(&config_map("c1", data)), ["ConfigMap/NS/c1 skipped"]);
        assert_eq!(world.config_map("c1")["data"], json!({"k": "v"}));
    }
}

#[test]
fn if_not_present_makes_an_object_once() {
    let Some(mut world) = World::new() else { return };
    let wish = "{kustomize.toolkit.fluxcd.io/ssa: IfNotPresent}";
    assert_eq!(
        world.apply(&annotated("c1", "{k: v}", wish)),
        ["ConfigMap/NS/c1 created"]
    );
    for _ in 0..2 {
        assert_eq!(
            world.apply(&annotated("c1", "{k: w}", wish)),
            ["ConfigMap/NS/c1 skipped"]
        );
    }
    assert_eq!(world.config_map("c1")["data"], json!({"k": "v"}));
}

const IMMUTABLE: &str = "
apiVersion: v1
kind: ConfigMap
metadata: {name: c1, namespace: NS, labels: {LABEL}}
immutable: true
data: {k: VALUE}
";

fn immutable(value: &str, label: &str) -> String {
    IMMUTABLE.replace("VALUE", value).replace("{LABEL}", label)
}

#[test]
fn immutable_fields_change_by_force_only() {
    let Some(mut world) = World::new() else { return };
    world.apply(&immutable("a", "{}"));
    let uid = |world: &World| world.config_map("c1")["metadata"]["uid"].clone();
    let first = uid(&world);
    let words = "ConfigMap/NS/c1 dry-run failed (Invalid): ConfigMap \"c1\" is invalid: data: Forbidden: \
        field is immutable when `immutable` is set\n";
    assert_eq!(world.refused(&immutable("b", "{}")), words);
    assert_eq!(uid(&world), first);
    let label = "{kustomize.toolkit.fluxcd.io/force: enabled}";
    assert_eq!(world.apply(&immutable("b", label)), ["ConfigMap/NS/c1 created"]);
    assert_ne!(uid(&world), first);
    world.settings.force = true;
    assert_eq!(world.apply(&immutable("c", "{}")), ["ConfigMap/NS/c1 created"]);
    assert_eq!(world.apply(&immutable("c", "{}")), ["ConfigMap/NS/c1 unchanged"]);
}

/// Nothing is deleted for an object whose stage fails.
#[test]
fn force_waits_until_the_stage_is_accepted() {
    let Some(mut world) = World::new() else { return };
    world.settings.force = true;
    world.apply(&immutable("a", "{}"));
    let uid = world.config_map("c1")["metadata"]["uid"].clone();
    world.refused(&format!("{}{}", immutable("b", "{}"), config_map("c2", "[]")));
    assert_eq!(world.config_map("c1")["metadata"]["uid"], uid);
}
