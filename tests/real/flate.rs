//! flate beside `bumpwright fleet`: the same objects of a fleet whose charts are in its repository, but for what each
//! leaves out or does on purpose.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use bumpwright_testkit::cli::{Bench, ran};
use bumpwright_testkit::repo;
use bumpwright_testkit::tool;
use bumpwright_yaml::{FileId, json_of_node, read_resources};
use serde_json::{Value as Json, json};

const SOURCE: &str = "sourceRef: {kind: GitRepository, name: flux-system, namespace: flux-system}";

const SYNC: &str = "apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: flux-system, namespace: flux-system}
spec: {interval: 1m, url: 'https://git.example.com/acme/fleet', ref: {branch: main}}
---
";

/// The chart: values, a helper, a hook, a test, and what it knows of the cluster.
const CHART: &[(&str, &str)] = &[
    (
        "Chart.yaml",
        "apiVersion: v2\nname: web\nversion: 1.2.0\nappVersion: '7'\n",
    ),
    (
        "values.yaml",
        "replicas: 1\nimage: {repository: ghcr.io/example/web, tag: '1.10'}\nlist: [1, 2]\nnothing: null\n",
    ),
    (
        "templates/_helpers.tpl",
        "{{- define \"web.name\" }}{{ .Release.Name }}-{{ .Chart.Name }}{{ end }}\n",
    ),
    (
        "templates/web.yaml",
        "apiVersion: apps/v1
kind: Deployment
metadata: {name: {{ include \"web.name\" . }}, labels: {chart: {{ .Chart.Name }}-{{ .Chart.Version }}}}
spec:
  replicas: {{ .Values.replicas }}
  template: {spec: {containers: [{name: web, image: \"{{ .Values.image.repository }}:{{ .Values.image.tag }}\"}]}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ include \"web.name\" . }}}
data:
  values: {{ toJson .Values | quote }}
  release: {{ toJson (omit .Release \"Service\") | quote }}
  kube: {{ .Capabilities.KubeVersion.Version | quote }}
",
    ),
    (
        "templates/hook.yaml",
        "apiVersion: batch/v1
kind: Job
metadata: {name: {{ .Release.Name }}-hook, annotations: {helm.sh/hook: pre-install}}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: 'b:1'}]}}}
",
    ),
];

/// The releases: what is equal.
fn releases() -> Vec<(&'static str, Json)> {
    vec![
        ("plain", json!({})),
        ("named", json!({"releaseName": "other"})),
        (
            "counted",
            json!({"values": {"replicas": 3, "list": [], "image": {"tag": null}, "more": {"n": 1.5, "big": 12_345_678}}}),
        ),
        (
            "given",
            json!({
                "valuesFrom": [
                    {"kind": "ConfigMap", "name": "values"},
                    {"kind": "Secret", "name": "secret", "valuesKey": "tag", "targetPath": "image.tag"},
                    {"kind": "ConfigMap", "name": "gone", "optional": true},
                ],
                "values": {"extra": {"b": 2}},
            }),
        ),
        (
            "posted",
            json!({"postRenderers": [{"kustomize": {
                "patches": [{"target": {"kind": "Deployment"}, "patch": "- {op: add, path: /metadata/labels/x, value: y}"}],
                "images": [{"name": "ghcr.io/example/web", "newTag": "9.9.9"}],
            }}]}),
        ),
        (
            "common",
            json!({"commonMetadata": {"labels": {"team": "a"}, "annotations": {"note": "b"}}}),
        ),
        (
            "waits",
            json!({"dependsOn": [{"name": "plain"}], "install": {"disableHooks": true}}),
        ),
    ]
}

fn release(name: &str, spec: &Json) -> String {
    let mut text = format!(
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {{name: {name}, namespace: apps}}\nspec:\n  interval: 1h\n  \
         chart: {{spec: {{chart: ./charts/web, {SOURCE}}}}}\n"
    );
    for (key, value) in spec.as_object().unwrap() {
        text += &format!("  {key}: {value}\n");
    }
    text + "---\n"
}

fn fleet(releases: &[(&str, Json)]) -> Bench {
    let bench = Bench::new();
    for (path, text) in CHART {
        bench.write(&format!("charts/web/{path}"), text);
    }
    let kustomization = |name: &str, path: &str| {
        format!(
            "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: {name}, namespace: flux-system}}\n\
             spec: {{interval: 1h, prune: true, path: {path}, {SOURCE}}}\n---\n"
        )
    };
    let sync = kustomization("flux-system", "./cluster") + &kustomization("apps", "./apps");
    bench.write("cluster/sync.yaml", format!("{SYNC}{sync}"));
    let releases: String = releases.iter().map(|(name, spec)| release(name, spec)).collect();
    bench.write("apps/releases.yaml", releases);
    bench.write(
        "apps/values.yaml",
        "apiVersion: v1
kind: ConfigMap
metadata: {name: values, namespace: apps}
data: {values.yaml: 'replicas: 5', other: '{a: b}'}
---
apiVersion: v1
kind: Secret
metadata: {name: secret, namespace: apps}
data: {tag: Mi4w}
",
    );
    repo::run(repo::git(&bench.dir).args(["init", "--quiet"]));
    bench
}

/// The objects of an output, by kind, namespace and name.
fn objects(text: &str) -> BTreeMap<String, Json> {
    let nodes = read_resources(text.as_bytes(), FileId::NONE).unwrap();
    let objects = nodes.iter().map(|node| json_of_node(node).unwrap());
    let title = |object: &Json| {
        let part = |pointer: &str| {
            object
                .pointer(pointer)
                .and_then(Json::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        format!(
            "{} {}/{}",
            part("/kind"),
            part("/metadata/namespace"),
            part("/metadata/name")
        )
    };
    objects.map(|object| (title(&object), object)).collect()
}

/// Those of flate, and ours.
fn both(bench: &Bench) -> Option<[BTreeMap<String, Json>; 2]> {
    let flags = [
        "build",
        "all",
        "--no-progress",
        "--skip-secrets=false",
        "--skip-crds=false",
        "--path",
        "cluster",
    ];
    let mut flate = Command::new(tool("flate")?);
    flate.args(flags).current_dir(&bench.dir).env("HOME", bench.home.path());
    let flate = ran(flate.output().unwrap());
    assert_eq!(flate.code, 0, "{}", flate.err);
    let ours = bench.ok(&["fleet", "--offline", "--output", "yaml", "cluster"]);
    Some([objects(&flate.out), objects(&ours.out)])
}

#[test]
fn a_fleet_has_the_objects_that_flate_renders() {
    let Some([mut flate, mut ours]) = both(&fleet(&releases())) else {
        return;
    };
    // Hooks are post-rendered, with the labels of helm-controller and common metadata, as spec.postRenderStrategy has
    // it without a value; flate leaves them as the chart has them.
    for (title, hook) in flate
        .iter_mut()
        .chain(&mut ours)
        .filter(|(title, _)| title.starts_with("Job "))
    {
        assert!(hook["metadata"]["annotations"]["helm.sh/hook"].is_string(), "{title}");
        hook["metadata"] = json!({});
    }
    let names = |objects: &BTreeMap<String, Json>| objects.keys().cloned().collect::<BTreeSet<String>>();
    assert_eq!(names(&flate), names(&ours));
    // 2 Kustomizations with a source, 7 releases of which one has no hook, and 2 objects with values.
    assert_eq!(ours.len(), 3 + 7 + 7 * 3 - 1 + 2);
    for (title, object) in &flate {
        assert_eq!(ours.get(title), Some(object), "{title}");
    }
}

#[test]
fn what_flate_does_otherwise_is_known() {
    let apart = [
        ("aside", json!({"targetNamespace": "elsewhere"})),
        ("stopped", json!({"suspend": true})),
    ];
    let Some([flate, ours]) = both(&fleet(&apart)) else {
        return;
    };
    // The release is called after its target namespace, too (HelmRelease v2, spec.releaseName).
    assert!(ours.contains_key("Deployment elsewhere/elsewhere-aside-web"));
    assert!(flate.contains_key("Deployment elsewhere/aside-web"));
    // A release that is suspended has its objects all the same: the fleet shows what its files mean.
    assert!(ours.contains_key("Deployment apps/stopped-web"));
    assert!(!flate.contains_key("Deployment apps/stopped-web"));
}
