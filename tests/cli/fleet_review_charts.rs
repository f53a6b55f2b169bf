//! `bumpwright fleet review`: what a change does to HelmReleases whose charts are in the repository.

use bumpwright_testkit::repo::{git, run};
use serde_json::Value;

use crate::fleet_review::{RELEASE, SYNC, TEMPLATE, bench, commit, definition, review};
use crate::output_schema::verdicts;

/// An upgrade leaves the definitions in `crds/` as they are, unless it is told to replace them, and never deletes them.
#[test]
fn definitions_of_a_chart_change_only_if_they_are_replaced() {
    let bench = bench();
    bench.write("charts/web/crds/gadget.yaml", definition("gadget", "Namespaced"));
    commit(&bench);
    bench.write("charts/web/crds/gadget.yaml", definition("gadget", "Cluster"));
    bench.write("charts/web/crds/widget.yaml", definition("widget", "Cluster"));
    let review = |more: &[&str]| review(&bench, &[&["--from", "HEAD", "clusters/a"], more].concat());
    let changed = "crds/ of the chart changed (gadgets.example.com), and upgrade.crds is Skip: the cluster keeps the old ones; set \
                   upgrade.crds: CreateReplace";
    let new = "crds/ of the chart has new definitions (widgets.example.com), and upgrade.crds is Skip";
    let (code, text) = review(&[]);
    assert_eq!(code, 0, "{text}");
    for message in [changed, new] {
        let finding = format!("apps/web.yaml:1:1: warning[stale-definition]: HelmRelease web/web: {message}");
        assert!(text.contains(&finding), "{finding}\n{text}");
        assert_eq!(text.matches(message).count(), 1, "{message}\n{text}");
    }
    for output in ["markdown", "html"] {
        let (_, text) = review(&["--output", output]);
        let count = text.matches("the cluster keeps the old ones").count();
        assert_eq!(count, 1, "{output}\n{text}");
    }
    for wrong in [
        "immutable-field",
        "~ CustomResourceDefinition",
        "+ CustomResourceDefinition",
    ] {
        assert!(!text.contains(wrong), "{wrong}\n{text}");
    }
    let (_, text) = review(&["--output", "json"]);
    let document: Value = serde_json::from_str(&text).unwrap();
    let owners = document["clusters"][0]["kustomizations"].as_array().unwrap();
    assert!(owners.iter().any(|owner| owner["notes"][0] == changed), "{text}");
    assert_eq!(document["impact"]["objects"], serde_json::json!([]), "{text}");
    if let Some(verdicts) = verdicts(include_str!("../../docs/reference/review.schema.json"), &[document]) {
        assert_eq!(verdicts, [""], "review.schema.json");
    }
    // Nothing differs in the cluster.
    for (output, words) in [
        ("text", "nothing differs"),
        ("markdown", "Nothing differs."),
        ("html", "Nothing differs."),
    ] {
        let ran = bench.run(&[
            "fleet",
            "diff",
            "--offline",
            "--from",
            "HEAD",
            "--output",
            output,
            "clusters/a",
        ]);
        assert!(ran.code == 0 && ran.out.contains(words), "{output}\n{}", ran.out);
        assert!(
            ran.out.contains("the cluster keeps the old ones"),
            "{output}\n{}",
            ran.out
        );
    }
    // With Create the new one is created.
    let with = |policy: &str| RELEASE.replace("interval: 1h", &format!("interval: 1h\n  upgrade: {{crds: {policy}}}"));
    bench.write("apps/web.yaml", with("Create"));
    let (code, text) = review(&[]);
    assert_eq!(code, 0, "{text}");
    assert!(
        text.contains("+ CustomResourceDefinition.apiextensions.k8s.io widgets.example.com")
            && text.contains("upgrade.crds is Create: the cluster keeps the old ones"),
        "{text}"
    );
    bench.write("apps/web.yaml", with("CreateReplace"));
    let (code, text) = review(&[]);
    assert_eq!(code, 1, "{text}");
    assert!(
        text.contains("~ CustomResourceDefinition.apiextensions.k8s.io gadgets.example.com")
            && text.contains("error[immutable-field]: CustomResourceDefinition gadgets.example.com: spec.scope"),
        "{text}"
    );
    assert!(!text.contains("stale-definition"), "{text}");
}

#[test]
fn a_definition_that_is_gone_from_a_chart_stays() {
    let bench = bench();
    bench.write("charts/web/crds/gadget.yaml", definition("gadget", "Namespaced"));
    commit(&bench);
    run(git(&bench.dir).args(["rm", "--quiet", "charts/web/crds/gadget.yaml"]));
    let (code, text) = review(&bench, &["--from", "HEAD", "clusters/a"]);
    assert_eq!(code, 0, "{text}");
    let finding = "note[stale-definition]: HelmRelease web/web: the cluster keeps gadgets.example.com: Helm never deletes definitions of crds/";
    assert!(text.contains(finding), "{text}");
    for wrong in ["[deletion]", "(deleted", "- CustomResourceDefinition"] {
        assert!(!text.contains(wrong), "{wrong}\n{text}");
    }
}

/// A chart in Git with other files and the same version is not taken: that is said by the difference, the
/// review and its findings.
#[test]
fn a_chart_in_the_same_version_is_kept() {
    let bench = bench();
    let kept = "with reconcileStrategy ChartVersion the cluster keeps the chart that it has";
    let diff = || {
        let ran = bench.run(&["fleet", "diff", "--offline", "--from", "HEAD", "clusters/a"]);
        ran.out + &ran.err
    };
    bench.write(
        "charts/web/templates/web.yaml",
        TEMPLATE.replace("app: '{{ .Values.app }}'", "app: other"),
    );
    let (code, text) = review(&bench, &["--from", "HEAD", "clusters/a"]);
    assert_eq!(code, 0, "{text}");
    assert!(
        text.contains("warning[immutable-field]: Deployment web/web") && text.contains(kept),
        "{text}"
    );
    let shown = diff();
    assert!(shown.contains("note: ") && shown.contains(kept), "{shown}");
    // What does not render any more is an error, with the note.
    bench.write("charts/web/templates/web.yaml", "{{ fail \"no\" }}");
    let (code, text) = review(&bench, &["--from", "HEAD", "clusters/a"]);
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("error[render-failed]") && text.contains(kept), "{text}");
    // Another version is taken.
    bench.write(
        "charts/web/templates/web.yaml",
        TEMPLATE.replace("app: '{{ .Values.app }}'", "app: other"),
    );
    bench.write("charts/web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 0.2.0\n");
    let (code, text) = review(&bench, &["--from", "HEAD", "clusters/a"]);
    assert!(code == 1 && !text.contains(kept) && !diff().contains(kept), "{text}");
}

/// Of a suspended source no other version of a chart is fetched; what a release has from its values is.
#[test]
fn a_release_whose_source_is_suspended_keeps_its_chart() {
    let bench = bench();
    let suspended = SYNC.replacen(
        "spec: {interval: 5m, url:",
        "spec: {interval: 5m, suspend: true, url:",
        1,
    );
    bench.write("clusters/a/sync.yaml", suspended);
    commit(&bench);
    let ask = || review(&bench, &["--from", "HEAD", "clusters/a"]);
    let of_release = "warning[suspended-change]: HelmRelease web/web: its source GitRepository flux-system/fleet is suspended: the object of it \
                      that changes is not applied";
    let of_values = "warning[suspended-change]: Kustomization flux-system/apps: its source GitRepository flux-system/fleet is suspended";
    bench.write("charts/web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 0.2.0\n");
    bench.write(
        "charts/web/templates/web.yaml",
        TEMPLATE.replace("acme/web", "acme/site"),
    );
    let (code, text) = ask();
    assert_eq!(code, 0, "{text}");
    assert!(text.contains(of_release) && !text.contains(of_values), "{text}");
    run(git(&bench.dir).args(["checkout", "--quiet", "--", "charts"]));
    bench.write("apps/web.yaml", RELEASE.replace("tag: 1.4.0", "tag: 1.5.0"));
    let (code, text) = ask();
    assert_eq!(code, 0, "{text}");
    assert!(
        text.contains(of_values) && !text.contains("HelmRelease web/web: its source"),
        "{text}"
    );
}

/// What an upgrade does not replace is what the API server knows.
#[test]
fn objects_are_checked_against_the_definitions_that_the_cluster_keeps() {
    let gadgets = |fields: &str| {
        let schema = format!(
            "schema: {{openAPIV3Schema: {{type: object, properties: {{spec: {{type: object, properties: {{{fields}}}}}}}}}}}"
        );
        let plain = definition("gadget", "Namespaced");
        plain
            .replace("schema: {openAPIV3Schema: {type: object}}", &schema)
            .replace("kind: gadget", "kind: Gadget")
    };
    let gadget = |spec: &str| {
        format!("apiVersion: example.com/v1\nkind: Gadget\nmetadata: {{name: g, namespace: web}}\nspec: {{{spec}}}\n")
    };
    let bench = bench();
    bench.write("charts/web/crds/gadget.yaml", gadgets("size: {type: integer}"));
    bench.write("apps/gadget.yaml", gadget("size: 1"));
    commit(&bench);
    bench.write(
        "charts/web/crds/gadget.yaml",
        gadgets("size: {type: integer}, color: {type: string}"),
    );
    bench.write("apps/gadget.yaml", gadget("size: 1, color: red"));
    let ask = || review(&bench, &["--from", "HEAD", "clusters/a"]).1;
    let unknown = "[unknown-field]: Gadget web/g: ";
    for policy in ["", "\n  upgrade: {crds: Create}"] {
        bench.write(
            "apps/web.yaml",
            RELEASE.replace("interval: 1h", &format!("interval: 1h{policy}")),
        );
        let text = ask();
        assert!(text.contains(unknown), "{policy}\n{text}");
    }
    bench.write(
        "apps/web.yaml",
        RELEASE.replace("interval: 1h", "interval: 1h\n  upgrade: {crds: CreateReplace}"),
    );
    let text = ask();
    assert!(!text.contains("unknown-field"), "{text}");
    // In one state it is not known what the cluster has.
    bench.write("apps/web.yaml", RELEASE);
    let ran = bench.run(&["fleet", "check", "--offline", "clusters/a"]);
    assert!(!ran.out.contains("unknown-field"), "{}{}", ran.out, ran.err);
}
