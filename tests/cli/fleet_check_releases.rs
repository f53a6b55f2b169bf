//! `bumpwright fleet check` of HelmReleases: where it places findings, and of which release and template they are.

use bumpwright_testkit::cli::Bench;
use serde_json::{Value, json};

const SYNC: &str = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: fleet, namespace: flux-system}\n\
                    spec: {interval: 1m, url: ssh://git@example.com/org/fleet, ref: {branch: main}}\n---\n\
                    apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: fleet, namespace: flux-system}\n\
                    spec: {interval: 1m, prune: true, path: ./c, sourceRef: {kind: GitRepository, name: fleet}}\n";

const CHART: &str = "  chart: {spec: {chart: ./charts/web, sourceRef: {kind: GitRepository, name: fleet}}}\n";

/// A fleet with a chart of this template, and a HelmRelease with more in its spec.
fn bench(template: &str, spec: &str) -> Bench {
    let bench = Bench::new();
    bench.write("c/sync.yaml", SYNC);
    bench.write("charts/web/Chart.yaml", "{apiVersion: v2, name: web, version: 1.0.0}");
    bench.write("charts/web/templates/one.yaml", template);
    bench.write(
        "c/release.yaml",
        format!(
            "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {{name: web, namespace: flux-system}}\nspec:\n  \
             interval: 1h\n{spec}"
        ),
    );
    bench
}

/// The findings of a rule.
fn of_rule(bench: &Bench, rule: &str) -> Vec<Value> {
    let (code, found) = bench.json(&["fleet", "check", "--offline", "--path", ".", "c"]);
    assert!(code < 2, "{found:#}");
    let found = found["findings"].as_array().unwrap().iter();
    found.filter(|finding| finding["rule"] == rule).cloned().collect()
}

/// `path:line:column severity message` of findings.
fn told(findings: &[Value]) -> Vec<String> {
    let one = |finding: &Value| {
        let place = &finding["place"];
        let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
        let (path, message) = (text(&place["path"]), text(&finding["message"]));
        let severity = text(&finding["severity"]);
        format!("{path}:{}:{} {severity} {message}", place["line"], place["column"])
    };
    findings.iter().map(one).collect()
}

const CONFIG: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {a: {{ .Values.a | quote }}}\n";

/// A value that no template reads is told where it is: in the ConfigMap that has it, or at the generator.
#[test]
fn an_unread_value_of_a_config_map_is_told_there() {
    let from = "  valuesFrom:\n  - {kind: ConfigMap, name: settings}\n";
    let bench = bench(CONFIG, &format!("{CHART}{from}"));
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: flux-system}\n";
    bench.write("c/map.yaml", format!("{map}data: {{values.yaml: 'aa: 1'}}\n"));
    let message = "warning no template of chart web reads the value aa";
    assert_eq!(
        told(&of_rule(&bench, "unread-value")),
        [format!("c/map.yaml:4:21 {message}")]
    );
    std::fs::remove_file(bench.path("c/map.yaml")).unwrap();
    bench.write("c/values.yaml", "aa: 1\n");
    bench.write(
        "c/kustomization.yaml",
        "resources: [sync.yaml, release.yaml]\ngeneratorOptions: {disableNameSuffixHash: true}\n\
         configMapGenerator: [{name: settings, namespace: flux-system, files: [values.yaml]}]\n",
    );
    assert_eq!(
        told(&of_rule(&bench, "unread-value")),
        [format!("c/kustomization.yaml:3:22 {message}")]
    );
}

/// A value that a patch sets is told in the patch, and with the Kustomization that gives the release.
#[test]
fn a_value_of_a_patch_is_told_there() {
    let bench = bench(CONFIG, &format!("{CHART}  values:\n    a: x\n    replicas: 1\n"));
    bench.write(
        "charts/web/values.schema.json",
        r#"{"properties": {"replicas": {"type": "integer"}}}"#,
    );
    bench.write(
        "c/kustomization.yaml",
        "resources: [sync.yaml, release.yaml]\npatches: [{path: values.yaml}]\n",
    );
    let patch = |values: &str| {
        let head =
            "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: web, namespace: flux-system}\n";
        bench.write("c/values.yaml", format!("{head}spec:\n  values:\n{values}"));
    };
    patch("    replicas: two\n");
    let refused = of_rule(&bench, "render-failed");
    let told_at = told(&refused);
    assert!(
        told_at.len() == 1 && told_at[0].starts_with("c/values.yaml:6:15 error "),
        "{told_at:?}"
    );
    assert_eq!(refused[0]["origins"][0]["kustomization"], "flux-system/fleet");
    patch("    replicas: 2\n    aa: 1\n");
    let unread = told(&of_rule(&bench, "unread-value"));
    assert!(
        unread
            .iter()
            .any(|line| line.starts_with("c/values.yaml:7:5 warning ") && line.ends_with("the value aa")),
        "{unread:?}"
    );
}

/// A patch may give all releases of a folder values that only some of their charts have; what none of
/// them reads is told.
#[test]
fn a_value_of_a_patch_for_all_releases_may_be_for_others() {
    let bench = bench(CONFIG, CHART);
    bench.write(
        "charts/other/Chart.yaml",
        "{apiVersion: v2, name: other, version: 1.0.0}",
    );
    bench.write(
        "charts/other/templates/one.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\ndata: {b: {{ .Values.java.memory | quote }}, c: {{ .Values.java.own | quote }}}\n",
    );
    bench.write(
        "c/other.yaml",
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: other, namespace: flux-system}\nspec:\n  \
         interval: 1h\n  chart: {spec: {chart: ./charts/other, sourceRef: {kind: GitRepository, name: fleet}}}\n  \
         values: {java: {own: 1}}\n",
    );
    let patched = |values: &str| {
        format!(
            "resources: [sync.yaml, release.yaml, other.yaml]\npatches:\n- target: {{kind: HelmRelease}}\n  patch: |-\n    \
             apiVersion: helm.toolkit.fluxcd.io/v2\n    kind: HelmRelease\n    metadata: {{name: all}}\n    spec: {{values: {values}}}\n"
        )
    };
    bench.write("c/kustomization.yaml", patched("{a: 1, java: {memory: 1Gi}}"));
    assert_eq!(told(&of_rule(&bench, "unread-value")), [""; 0]);
    bench.write(
        "c/kustomization.yaml",
        patched("{java: {memory: 1Gi}, jaba: {memory: 1Gi}}"),
    );
    let unread =
        |chart: &str| format!("c/kustomization.yaml:8:42 warning no template of chart {chart} reads the value jaba");
    let mut all = told(&of_rule(&bench, "unread-value"));
    all.sort();
    assert_eq!(all, [unread("other"), unread("web")]);
    // What a release has in its own file is meant for it.
    bench.write("c/kustomization.yaml", patched("{java: {memory: 1Gi}}"));
    let own = format!("{CHART}  values: {{java: {{memory: 1Gi}}}}\n");
    bench.write(
        "c/release.yaml",
        format!(
            "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {{name: web, namespace: flux-system}}\nspec:\n  \
             interval: 1h\n{own}"
        ),
    );
    assert_eq!(
        told(&of_rule(&bench, "unread-value")),
        ["c/release.yaml:7:12 warning no template of chart web reads the value java"]
    );
}

/// A fault of an object that a chart makes is told with the release and the template, in text and for programs.
#[test]
fn a_finding_of_a_rendered_object_names_its_release_and_template() {
    let template = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {ports: [{port: 80}], odd: 1}\n";
    let bench = bench(template, CHART);
    let found = of_rule(&bench, "unknown-field");
    let origin = json!({"cluster": null, "kustomization": null, "release": "flux-system/web", "template": "web/templates/one.yaml"});
    let origins: Vec<&Value> = found.iter().map(|finding| &finding["origins"][0]).collect();
    assert_eq!(origins, [&origin]);
    let text = bench.run(&["fleet", "check", "--offline", "--path", ".", "c"]).out;
    let line = "    in HelmRelease flux-system/web (web/templates/one.yaml)\n";
    assert!(text.contains(line), "{text}");
}

/// helm-controller's definition refuses a release with two charts or none.
#[test]
fn a_release_has_one_chart() {
    let both = format!("{CHART}  chartRef: {{kind: OCIRepository, name: x}}\n");
    let message = "error spec: either chart or chartRef must be set";
    for (spec, wanted) in [
        (both.as_str(), vec![format!("c/release.yaml:7:3 {message}, got both")]),
        ("", vec![format!("c/release.yaml:4:1 {message}, got neither")]),
        (CHART, vec![]),
    ] {
        let bench = bench(CONFIG, spec);
        assert_eq!(told(&of_rule(&bench, "schema")), wanted);
        assert_eq!(told(&of_rule(&bench, "unknown-chart")), [""; 0]);
    }
}

/// A patch of a post-renderer whose target is not in the chart does nothing; one that several releases have
/// is meant for some.
#[test]
fn a_patch_for_no_object_of_its_releases_is_told() {
    let with = |kind: &str| {
        format!(
            "{CHART}  postRenderers:\n  - kustomize:\n      patches:\n      - target: {{kind: {kind}}}\n        \
             patch: '[{{\"op\": \"add\", \"path\": \"/metadata/labels\", \"value\": {{\"a\": \"b\"}}}}]'\n"
        )
    };
    assert_eq!(
        told(&of_rule(&bench(CONFIG, &with("ConfigMap")), "unmatched-patch")),
        [""; 0]
    );
    let bench = bench(CONFIG, &with("Service"));
    let message = "warning the target of the patch matches no object: kind \"Service\"";
    assert_eq!(
        told(&of_rule(&bench, "unmatched-patch")),
        [format!("c/release.yaml:10:9 {message}")]
    );
    // Another release with the same patch has such an object.
    let other = std::fs::read_to_string(bench.path("c/release.yaml")).unwrap();
    let other = other
        .replace("{name: web, namespace", "{name: other, namespace")
        .replace("./charts/web", "./charts/other");
    bench.write("c/other.yaml", other);
    bench.write(
        "charts/other/Chart.yaml",
        "{apiVersion: v2, name: other, version: 1.0.0}",
    );
    bench.write(
        "charts/other/templates/one.yaml",
        "apiVersion: v1\nkind: Service\nmetadata: {name: other}\nspec: {ports: [{port: 80}]}\n",
    );
    assert_eq!(told(&of_rule(&bench, "unmatched-patch")), [""; 0]);
}

/// What ResourceSets make is not rendered: a note has how much that is. With inputs in the object the names are known.
#[test]
fn objects_of_resource_sets_are_counted() {
    let from = "  valuesFrom:\n  - {kind: ConfigMap, name: absent}\n  - {kind: ConfigMap, name: one}\n";
    let bench = bench(CONFIG, &format!("{CHART}{from}"));
    bench.write(
        "c/set.yaml",
        "apiVersion: fluxcd.controlplane.io/v1\nkind: ResourceSet\nmetadata: {name: tenants, namespace: flux-system}\nspec:\n  \
         inputs: [{t: one}, {t: two}]\n  resources:\n  - {apiVersion: v1, kind: ConfigMap, metadata: {name: '<< inputs.t >>'}}\n  \
         - {apiVersion: v1, kind: Secret, metadata: {name: '<< inputs.t >>'}}\n",
    );
    let message = "1 ResourceSet makes 4 objects, which are not looked at";
    assert_eq!(
        told(&of_rule(&bench, "unseen-objects")),
        [format!("c/set.yaml:6:3 note {message}")]
    );
    let missing = of_rule(&bench, "missing-config-map");
    let missing: Vec<&Value> = missing.iter().map(|finding| &finding["message"]).collect();
    assert_eq!(missing, ["ConfigMap flux-system/absent is not in the fleet"]);
    let shown = bench.run(&["fleet", "c", "--offline", "--path", "."]);
    assert!(shown.err.contains(&format!("note: {message}\n")), "{}", shown.err);
}

/// The tree says where each chart is from.
#[test]
fn the_tree_names_the_source_of_each_chart() {
    let bench = bench(CONFIG, CHART);
    let shown = bench.run(&["fleet", "c", "--offline", "--path", "."]).out;
    let line = "HelmRelease flux-system/web from GitRepository/flux-system/fleet web 1.0.0";
    assert!(shown.contains(line), "{shown}");
}

/// A misspelt folder of a chart has the one that may be meant.
#[test]
fn a_misspelt_folder_of_a_chart_is_answered() {
    let bench = bench(CONFIG, &CHART.replace("charts/web", "charts/wbe"));
    let found = of_rule(&bench, "missing-chart");
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(found[0]["help"], "did you mean charts/web?");
    assert_eq!(found[0]["origins"][0]["kustomization"], "flux-system/fleet");
}

/// What is missing is not in what needs it, and a chart of a registry has its own address.
#[test]
fn a_release_without_its_source_is_not_where_that_may_be() {
    let bench = bench(CONFIG, "  chartRef: {kind: OCIRepository, name: web}\n");
    bench.write(
        "c/broken.yaml",
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: broken, namespace: flux-system}\n\
         spec: {interval: 1m, prune: true, path: ./broken, sourceRef: {kind: GitRepository, name: fleet}}\n",
    );
    bench.write("broken/kustomization.yaml", "resources: [missing.yaml]\n");
    let found = of_rule(&bench, "missing-source");
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(found[0]["help"], "it may be in what was not built: flux-system/broken");
    bench.write(
        "c/repository.yaml",
        "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata: {name: all, namespace: flux-system}\n\
         spec: {type: oci, interval: 1h, url: 'oci://r.example.com/charts'}\n",
    );
    let release = bench.read("c/release.yaml");
    let chart = "  chart: {spec: {chart: web, version: 1.0.0, sourceRef: {kind: HelmRepository, name: all}}}\n";
    bench.write(
        "c/release.yaml",
        release.replace("  chartRef: {kind: OCIRepository, name: web}\n", chart),
    );
    let found = of_rule(&bench, "unknown-chart");
    let message = found[0]["message"].as_str().unwrap();
    assert!(
        message.contains("(oci://r.example.com/charts/web, offline)"),
        "{message}"
    );
}
