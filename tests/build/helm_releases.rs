//! HelmReleases of a fleet, beside the real Helm and kustomize: the same objects from the same chart and values.

use super::helm_charts::FILES;
use bumpwright_testkit::cli::{Bench, ran};
use bumpwright_testkit::registry::Registry;
use bumpwright_testkit::reply::Reply;
use bumpwright_testkit::stub_http::StubHttp;
use bumpwright_yaml::{FileId, json_of_node, read_resources};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

const LABELS: [&str; 2] = ["helm.toolkit.fluxcd.io/name", "helm.toolkit.fluxcd.io/namespace"];

const SYNC: &str = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: flux-system, namespace: flux-system}\n\
                    spec: {interval: 1m, url: ssh://git@example.com/org/fleet, ref: {branch: main}}\n---\n\
                    apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: flux-system, namespace: flux-system}\n\
                    spec: {interval: 1m, prune: true, path: ./c, sourceRef: {kind: GitRepository, name: flux-system}}\n";

/// `spec` of a release of the chart `web`, and the values that are meant, with arguments for helm.
struct Case {
    spec: Json,
    objects: &'static str,
    values: Json,
    arguments: &'static [&'static str],
}

fn case(spec: Json, objects: &'static str, values: Json, arguments: &'static [&'static str]) -> Case {
    Case {
        spec,
        objects,
        values,
        arguments,
    }
}

const MAPS: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one, namespace: apps}\ndata:\n  values.yaml: |\n    \
                    replicas: 3\n    labels: {one: a}\n    store: {size: 2Gi}\n  more: |\n    labels: {one: b, two: c}\n  tag: '2.10'\n  \
                    quoted: '\"2.10\"'\n  odd: 'a,b={c}'\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: two, namespace: apps}\nstringData:\n  \
                    values.yaml: 'labels: {secret: hush}'\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: three, namespace: apps}\ndata:\n  \
                    key: bGFiZWxzOiB7ZW5jb2RlZDogdHJ1dGh9\n";

fn cases() -> Vec<Case> {
    let one = |more: Json| {
        let mut reference = json!({"kind": "ConfigMap", "name": "one"});
        reference
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        reference
    };
    vec![
        case(json!({}), "", json!({}), &["web"]),
        case(json!({"releaseName": "shop"}), "", json!({}), &["shop"]),
        case(
            json!({"targetNamespace": "blue", "values": {"replicas": 2}}),
            "",
            json!({"replicas": 2}),
            &["blue-web", "--namespace=blue"],
        ),
        case(
            json!({"values": {"replicas": 2, "labels": {"b": null, "n": 1.5, "i": 12345678}, "list": []}}),
            "",
            json!({"replicas": 2, "labels": {"b": null, "n": 1.5, "i": 12345678}, "list": []}),
            &["web"],
        ),
        case(
            json!({"install": {"crds": "Skip"}}),
            "",
            json!({}),
            &["web", "--skip-crds"],
        ),
        case(
            json!({"install": {"skipCRDs": true}}),
            "",
            json!({}),
            &["web", "--skip-crds"],
        ),
        case(
            json!({"install": {"disableHooks": true}}),
            "",
            json!({}),
            &["web", "--no-hooks"],
        ),
        case(json!({"test": {"enable": true}}), "", json!({}), &["web", "tests"]),
        case(
            json!({"valuesFrom": [one(json!({})), one(json!({"valuesKey": "more"}))], "values": {"labels": {"two": "d"}}}),
            MAPS,
            json!({"replicas": 3, "labels": {"one": "b", "two": "d"}, "store": {"size": "2Gi"}}),
            &["web"],
        ),
        case(
            json!({"valuesFrom": [one(json!({"valuesKey": "tag", "targetPath": "image.tag"}))]}),
            MAPS,
            json!({"image": {"tag": "2.10"}}),
            &["web"],
        ),
        case(
            json!({"valuesFrom": [one(json!({"valuesKey": "quoted", "targetPath": "image.tag"}))]}),
            MAPS,
            json!({"image": {"tag": "2.10"}}),
            &["web"],
        ),
        case(
            json!({"valuesFrom": [one(json!({"valuesKey": "odd", "targetPath": "labels.odd", "literal": true}))]}),
            MAPS,
            json!({"labels": {"odd": "a,b={c}"}}),
            &["web"],
        ),
        case(
            json!({"valuesFrom": [{"kind": "Secret", "name": "two"}, {"kind": "Secret", "name": "three", "valuesKey": "key"}]}),
            MAPS,
            json!({"labels": {"secret": "hush", "encoded": "truth"}}),
            &["web"],
        ),
        case(
            json!({"valuesFrom": [{"kind": "ConfigMap", "name": "gone", "optional": true}, one(json!({"valuesKey": "none", "optional": true}))]}),
            MAPS,
            json!({}),
            &["web"],
        ),
        case(
            json!({"postRenderers": [{"kustomize": {"images": [{"name": "web", "newTag": "9"}], "patches": [
                {"target": {"kind": "Deployment"}, "patch": "- {op: replace, path: /spec/replicas, value: 7}"}]}}],
                "values": {"labels": {"b": "z"}}}),
            "",
            json!({"labels": {"b": "z"}}),
            &[
                "web",
                "images: [{name: web, newTag: '9'}]\npatches:\n- target: {kind: Deployment}\n  patch: |-\n    - {op: replace, path: /spec/replicas, value: 7}\n",
            ],
        ),
        case(
            json!({"values": {"labels": {"monitored": "yes"}}}),
            "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: monitors.monitoring.coreos.com}\n\
             spec: {group: monitoring.coreos.com, scope: Namespaced, names: {kind: Monitor, plural: monitors}, versions: [{name: v1, served: true, storage: true}]}\n",
            json!({"labels": {"monitored": "yes"}}),
            &[
                "web",
                "--api-versions=monitoring.coreos.com/v1",
                "--api-versions=monitoring.coreos.com/v1/Monitor",
            ],
        ),
    ]
}

fn bench() -> Bench {
    let bench = Bench::new();
    for (name, text) in FILES {
        bench.write(name, text);
    }
    bench.write("c/sync.yaml", SYNC);
    std::fs::create_dir(bench.path(".git")).unwrap();
    bench
}

fn release(chart: &Json, spec: &Json) -> String {
    let mut whole = json!({"interval": "1h"});
    for part in [chart, spec] {
        whole.as_object_mut().unwrap().extend(part.as_object().unwrap().clone());
    }
    let object = json!({
        "apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease",
        "metadata": {"name": "web", "namespace": "apps"}, "spec": whole,
    });
    object.to_string()
}

fn in_git(chart: &str) -> Json {
    let source = json!({"kind": "GitRepository", "name": "flux-system", "namespace": "flux-system"});
    json!({"chart": {"spec": {"chart": chart, "sourceRef": source}}})
}

/// Objects by kind and name, without what the controller adds, and without the namespace that is the default of Helm.
fn plain(objects: Vec<Json>, namespace: &str) -> BTreeMap<String, Json> {
    let named = objects.into_iter().map(|mut object| {
        let metadata = object["metadata"].as_object_mut().unwrap();
        if metadata.get("namespace").and_then(Json::as_str) == Some(namespace) {
            metadata.remove("namespace");
        }
        if let Some(labels) = metadata.get_mut("labels").and_then(Json::as_object_mut) {
            LABELS.iter().for_each(|label| drop(labels.remove(*label)));
            if labels.is_empty() {
                metadata.remove("labels");
            }
        }
        (format!("{} {}", object["kind"], object["metadata"]["name"]), object)
    });
    named.collect()
}

fn by_program(bench: &Bench, helm: &Path, kustomize: &Path, case: &Case) -> BTreeMap<String, Json> {
    bench.write("values.json", case.values.to_string());
    let mut command = Command::new(helm);
    let chart = bench.path("charts/web");
    command
        .args(["template", case.arguments[0]])
        .arg(chart)
        .args(["-f", "values.json"]);
    let flags = case.arguments[1..].iter();
    let own: Vec<&str> = flags.copied().filter(|flag| flag.starts_with("--")).collect();
    if !own.contains(&"--skip-crds") {
        command.arg("--include-crds");
    }
    if !case.arguments.contains(&"tests") {
        command.arg("--skip-tests");
    }
    if !own.iter().any(|flag| flag.starts_with("--namespace")) {
        command.arg("--namespace=apps");
    }
    command.args(own.iter().filter(|flag| **flag != "--skip-crds"));
    command.env("HOME", bench.home.path()).current_dir(&bench.dir);
    let helm = ran(command.output().unwrap());
    assert_eq!(helm.code, 0, "{}", helm.err);
    let mut text = helm.out;
    if let Some(more) = case.arguments[1..].iter().find(|more| more.contains('\n')) {
        bench.write("post/all.yaml", &text);
        bench.write("post/kustomization.yaml", format!("resources: [all.yaml]\n{more}"));
        let built = Command::new(kustomize).args(["build"]).arg(bench.path("post")).output();
        let built = ran(built.unwrap());
        assert_eq!(built.code, 0, "{}", built.err);
        text = built.out;
    }
    let documents = read_resources(text.as_bytes(), FileId::NONE).unwrap();
    let objects = documents.iter().map(|node| json_of_node(node).unwrap());
    let namespace = if own.contains(&"--namespace=blue") {
        "blue"
    } else {
        "apps"
    };
    plain(objects.collect(), namespace)
}

fn ours(bench: &Bench, namespace: &str) -> BTreeMap<String, Json> {
    let ran = bench.run(&["fleet", "c", "--offline", "--output", "json"]);
    assert_eq!(ran.code, 0, "{}{}", ran.err, ran.out);
    let shown: Json = serde_json::from_str(&ran.out).unwrap();
    let nodes = shown["clusters"][0]["kustomizations"].as_array().unwrap();
    let node = nodes.iter().find(|node| node["release"]["name"] == "apps/web");
    let node = node.unwrap_or_else(|| panic!("{}{}", ran.out, ran.err));
    assert_eq!(
        (&node["release"]["chart"], &node["release"]["version"]),
        (&json!("web"), &json!("1.2.0"))
    );
    let objects = node["objects"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["object"].clone());
    let objects: Vec<Json> = objects.collect();
    for object in &objects {
        let labels = &object["metadata"]["labels"];
        assert_eq!(
            (&labels[LABELS[0]], &labels[LABELS[1]]),
            (&json!("web"), &json!("apps")),
            "{object}"
        );
        let is_definition = object["kind"] == "CustomResourceDefinition";
        assert_eq!(object["metadata"]["namespace"].is_null(), is_definition, "{object}");
    }
    plain(objects, namespace)
}

#[test]
fn releases_are_what_helm_installs() {
    let tools = (bumpwright_testkit::tool("kustomize"), bumpwright_testkit::tool("helm4"));
    let (Some(kustomize), Some(helm)) = tools else {
        return;
    };
    let cases = cases();
    assert!(cases.len() >= 16);
    for case in cases {
        let bench = bench();
        let wanted = by_program(&bench, &helm, &kustomize, &case);
        bench.write("c/release.yaml", release(&in_git("charts/web"), &case.spec));
        bench.write("c/objects.yaml", case.objects);
        let namespace = case.spec["targetNamespace"].as_str().unwrap_or("apps");
        let found = ours(&bench, namespace);
        assert_eq!(found, wanted, "{}", case.spec);
    }
}

/// `commonMetadata` is put on what the templates and hooks give, over the labels and annotations that they have, after
/// `postRenderers`. The definitions in `crds/` are applied apart, and have none of it.
#[test]
fn common_metadata_is_put_on_all_that_helm_renders() {
    let tools = (bumpwright_testkit::tool("kustomize"), bumpwright_testkit::tool("helm4"));
    let (Some(kustomize), Some(helm)) = tools else {
        return;
    };
    let common =
        json!({"labels": {"a": "common", "team": "shop"}, "annotations": {"note": "1", "helm.sh/hook-weight": "3"}});
    let patches = "patches:\n- target: {kind: ConfigMap}\n  patch: |-\n    - {op: add, path: /metadata/labels, value: {team: patch, own: patch}}\n";
    let renderers = json!([{"kustomize": {"patches": [{
        "target": {"kind": "ConfigMap"},
        "patch": "- {op: add, path: /metadata/labels, value: {team: patch, own: patch}}",
    }]}}]);
    let rows = [
        (json!({}), vec!["web"]),
        (json!({"labels": common["labels"]}), vec!["web"]),
        (json!({"annotations": common["annotations"]}), vec!["web"]),
        (common.clone(), vec!["web"]),
        (common.clone(), vec!["web", patches]),
    ];
    for (metadata, arguments) in rows {
        let bench = bench();
        let mut spec = json!({"commonMetadata": metadata});
        if arguments.len() > 1 {
            spec["postRenderers"] = renderers.clone();
        }
        let case = case(spec, "", json!({}), arguments.leak());
        let mut wanted = by_program(&bench, &helm, &kustomize, &case);
        assert!(wanted.len() >= 5, "{wanted:?}");
        for object in wanted.values_mut() {
            if object["kind"] == "CustomResourceDefinition" {
                continue;
            }
            for field in ["labels", "annotations"] {
                let Some(more) = metadata[field].as_object() else {
                    continue;
                };
                let own = &mut object["metadata"][field];
                let mut all = own.as_object().cloned().unwrap_or_default();
                all.extend(more.clone());
                *own = Json::Object(all);
            }
        }
        bench.write("c/release.yaml", release(&in_git("charts/web"), &case.spec));
        assert_eq!(ours(&bench, "apps"), wanted, "{}", case.spec);
    }
}

/// The same chart from each kind of source.
#[test]
fn a_chart_is_found_wherever_it_is() {
    let wanted = {
        let bench = bench();
        bench.write("c/release.yaml", release(&in_git("./charts/web/"), &json!({})));
        ours(&bench, "apps")
    };
    let helm_chart = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmChart\nmetadata: {name: web, namespace: charts}\n\
                      spec: {chart: charts/web, sourceRef: {kind: GitRepository, name: own}}\n---\n\
                      apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: own, namespace: charts}\n\
                      spec: {interval: 1m, url: 'https://example.com/org/fleet.git', ref: {branch: main}}\n";
    let oci = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: OCIRepository\nmetadata: {name: web, namespace: apps}\n\
               spec: {interval: 1m, url: 'oci://registry.example.com/charts/web', ref: {tag: 1.2.0}}\n";
    let repository = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata: {name: all, namespace: apps}\n\
                      spec: {interval: 1m, url: 'https://charts.example.com'}\n";
    let of_repository = json!({"chart": {"spec": {"chart": "web", "version": "1.x", "sourceRef": {"kind": "HelmRepository", "name": "all"}}}});
    let reference =
        |kind: &str, namespace: &str| json!({"chartRef": {"kind": kind, "name": "web", "namespace": namespace}});
    let rows = [
        (helm_chart, reference("HelmChart", "charts"), vec![]),
        (
            oci,
            reference("OCIRepository", ""),
            vec!["--source", "OCIRepository/apps/web=charts/web"],
        ),
        (oci, reference("OCIRepository", ""), vec!["--charts", "charts"]),
        (repository, of_repository, vec!["--charts", "charts"]),
    ];
    for (objects, chart, flags) in rows {
        let bench = bench();
        bench.write("c/release.yaml", release(&chart, &json!({})));
        bench.write("c/objects.yaml", objects);
        let arguments = [vec!["fleet", "c", "--offline", "--output", "json"], flags].concat();
        let ran = bench.run(&arguments);
        assert_eq!(ran.code, 0, "{}", ran.err);
        let shown: Json = serde_json::from_str(&ran.out).unwrap();
        let nodes = shown["clusters"][0]["kustomizations"].as_array().unwrap();
        let node = nodes.iter().find(|node| node["release"]["name"] == "apps/web").unwrap();
        let objects = node["objects"]
            .as_array()
            .unwrap_or_else(|| panic!("{chart}: {node:#}"));
        let objects = objects.iter().map(|one| one["object"].clone()).collect();
        assert_eq!(plain(objects, "apps"), wanted, "{chart}");
    }
}

/// A library that many charts use refers to schemas at https addresses: Helm fetches them, a view does without.
#[test]
fn a_schema_that_is_elsewhere_is_left_out_and_said() {
    let bench = bench();
    bench.write("c/release.yaml", release(&in_git("charts/web"), &json!({})));
    bench.write("c/objects.yaml", MAPS);
    let wanted = ours(&bench, "apps");
    bench.write(
        "charts/web/values.schema.json",
        r#"{"$ref": "https://schemas.example.com/web.json"}"#,
    );
    assert_eq!(ours(&bench, "apps"), wanted);
    let shown = bench.ok(&["fleet", "c", "--offline"]);
    let note =
        "note: the values of 1 HelmRelease are not compared with schemas at schemas.example.com, which are not fetched";
    assert!(shown.err.contains(note), "{}", shown.err);
    let checked = bench.run(&["fleet", "check", "c", "--offline"]);
    let line = checked
        .out
        .lines()
        .find(|line| line.contains("unknown-chart"))
        .unwrap_or_default();
    assert!(
        line.contains("note[unknown-chart]") && line.contains("https://schemas.example.com/web.json"),
        "{}",
        checked.out
    );
    // Another schema that the values do not meet is an error as ever.
    bench.write("charts/web/values.schema.json", r#"{"required": ["absent"]}"#);
    let shown = bench.run(&["fleet", "c", "--offline"]);
    assert!(
        shown.code == 1 && shown.out.contains("missing property 'absent'"),
        "{}",
        shown.out
    );
}

/// What a release needs and cannot have is said once, at the release; the others are shown.
#[test]
fn what_cannot_be_rendered_is_told_with_its_place() {
    let repository = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata: {name: all, namespace: apps}\n\
                      spec: {interval: 1m, url: 'https://charts.example.com'}\n";
    let of_repository =
        json!({"chart": {"spec": {"chart": "web", "sourceRef": {"kind": "HelmRepository", "name": "all"}}}});
    for (chart, spec, code, rule, wanted, at) in [
        (
            in_git("charts/none"),
            json!({}),
            1,
            "missing-chart",
            "chart charts/none: ",
            "\"charts/none\"",
        ),
        (
            in_git("charts/web"),
            json!({"values": {"image": "none"}}),
            1,
            "render-failed",
            "web/templates/deployment.yaml:",
            "\"values\":",
        ),
        (
            in_git("charts/web"),
            json!({"values": [1]}),
            1,
            "render-failed",
            "spec.values: expected a mapping",
            "[1]",
        ),
        (
            in_git("charts/web"),
            json!({"valuesFrom": [{"kind": "Secret", "name": "two", "targetPath": "replicas.x", "valuesKey": "values.yaml"}], "values": {"replicas": 1}}),
            1,
            "render-failed",
            "the value cannot be set at \"replicas.x\"",
            "\"replicas.x\"",
        ),
        (
            in_git("charts/web"),
            json!({"valuesFrom": [{"kind": "ConfigMap", "name": "one", "valuesKey": "none"}]}),
            1,
            "render-failed",
            "could not resolve ConfigMap chart values reference 'apps/one' with key 'none': key not found",
            "\"none\"",
        ),
        (
            of_repository,
            json!({}),
            0,
            "unknown-chart",
            "it is not kept on this machine",
            "{",
        ),
    ] {
        let bench = bench();
        let text = release(&chart, &spec);
        let place = format!("c/release.yaml:1:{}: ", text.find(at).unwrap() + 1);
        bench.write("c/release.yaml", text);
        bench.write("c/objects.yaml", format!("{repository}---\n{MAPS}"));
        let shown = bench.run(&["fleet", "c", "--offline"]);
        assert_eq!(shown.code, code, "{}", shown.out);
        assert!(
            shown.out.contains(wanted) && shown.out.contains("flux-system/flux-system"),
            "{}",
            shown.out
        );
        let checked = bench.run(&["fleet", "check", "c", "--offline"]);
        let line = checked.out.lines().find(|line| line.contains(rule)).unwrap_or_default();
        assert!(
            line.starts_with(&place) && line.contains(wanted),
            "{place} {}",
            checked.out
        );
        assert!(
            !format!("{}{}", shown.out, checked.out).contains("hush"),
            "{}",
            checked.out
        );
    }
}

/// A value that the schema of the chart refuses is told where it stands; each fault of `valuesFrom` is told, not
/// the first one only.
#[test]
fn a_fault_of_a_value_is_told_where_the_value_is() {
    const BAD: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bad, namespace: apps}\ndata: {values.yaml: 'replicas: two'}\n";
    let schema = r#"{"properties": {"replicas": {"type": "integer"}, "labels": {"properties": {"a": true, "b": true}, "additionalProperties": false}}}"#;
    let from = |name: &str, key: &str| json!({"kind": "ConfigMap", "name": name, "valuesKey": key});
    let refused = "error[render-failed]";
    // The parts of the release at which something is told, each with what is said there; first that in the ConfigMap.
    for (spec, of_map, wanted) in [
        (
            json!({"values": {"replicas": "two"}}),
            false,
            vec![("\"two\"", refused)],
        ),
        (
            json!({"values": {"labels": {"misspelt": "c"}}}),
            false,
            vec![("\"c\"", refused)],
        ),
        (
            json!({"valuesFrom": [from("bad", "values.yaml")], "values": {"list": [3]}}),
            true,
            vec![],
        ),
        (
            json!({"valuesFrom": [from("absent", "values.yaml"), from("bad", "none"), {"kind": "Gadget", "name": "bad"}]}),
            false,
            vec![
                ("\"absent\"", "missing-config-map"),
                ("\"none\"", "'apps/bad' with key 'none': key not found"),
                ("\"Gadget\"", "unsupported values reference kind"),
            ],
        ),
        (
            json!({"postRenderers": [{"kustomize": {"patches": [{"patch": "- {op: remove, path: /spec}"}]}}]}),
            false,
            vec![("{\"kustomize\"", "spec.postRenderers: ")],
        ),
    ] {
        let bench = bench();
        bench.write("charts/web/values.schema.json", schema);
        bench.write("c/map.yaml", BAD);
        let text = release(&in_git("charts/web"), &spec);
        bench.write("c/release.yaml", &text);
        let checked = bench.run(&["fleet", "check", "c", "--offline"]).out;
        let has = |place: &str, said: &str| {
            let mut lines = checked.lines();
            assert!(
                lines.any(|line| line.starts_with(place) && line.contains(said)),
                "{place} {said}: {checked}"
            );
        };
        if of_map {
            has("c/map.yaml:4:21: ", refused);
        }
        for (at, said) in wanted {
            has(&format!("c/release.yaml:1:{}: ", text.find(at).unwrap() + 1), said);
        }
    }
}

/// What a server says that it does not have is a fault of the release, at the field that names it; a server
/// that is not reached is none.
#[test]
fn a_chart_that_its_server_does_not_have_is_a_fault() {
    let Some(registry) = Registry::start() else { return };
    registry.images().tags("charts/web", &["1.0.0"]);
    let index =
        "apiVersion: v1\nentries:\n  web:\n  - {apiVersion: v2, name: web, version: 1.0.0, urls: [web-1.0.0.tgz]}\n";
    let server = StubHttp::start(move |request| match request.path.as_str() {
        "/charts/index.yaml" => Reply::text(200, index),
        "/broken/index.yaml" => Reply::status(500),
        _ => Reply::status(404),
    });
    let oci = format!("type: oci, insecure: true, url: 'oci://{}/charts'", registry.host());
    let http = |path: &str| format!("url: '{}'", server.url(path));
    let closed = "url: 'http://127.0.0.1:9/charts'".to_owned();
    let version = |version: &str| json!({"chart": {"spec": {"chart": "web", "version": version, "sourceRef": {"kind": "HelmRepository", "name": "all"}}}});
    let image = json!({"chartRef": {"kind": "OCIRepository", "name": "web"}});
    let field = "\"version\":\"";
    for (repository, chart, rule, at) in [
        (oci.clone(), version("9.9.9"), "error[missing-chart]", field),
        (oci, version("9.x"), "error[missing-chart]", field),
        (http("charts"), version("9.9.9"), "error[missing-chart]", field),
        (http("charts"), version("1.0.0"), "error[missing-chart]", ""),
        (http("none"), version("1.0.0"), "error[missing-chart]", ""),
        (closed, image, "error[missing-chart]", "9.9.9"),
        (http("broken"), version("1.0.0"), "note[unknown-chart]", ""),
    ] {
        let bench = bench();
        let objects = format!(
            "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata: {{name: all, namespace: apps}}\nspec: {{interval: 1m, \
             {repository}}}\n---\napiVersion: source.toolkit.fluxcd.io/v1\nkind: OCIRepository\nmetadata: {{name: web, namespace: apps}}\nspec: \
             {{interval: 1m, insecure: true, url: 'oci://{}/charts/web', ref: {{tag: 9.9.9}}}}\n",
            registry.host()
        );
        bench.write("c/objects.yaml", &objects);
        let text = release(&chart, &json!({}));
        bench.write("c/release.yaml", &text);
        let checked = bench.run(&["fleet", "check", "c", "--timeout", "5s"]).out;
        let line = checked
            .lines()
            .find(|line| line.contains("-chart]"))
            .unwrap_or_default();
        assert!(line.contains(rule), "{repository} {chart}: {checked}");
        if at == "9.9.9" {
            // The version is in the OCIRepository that the release refers to.
            let column = objects.lines().last().and_then(|last| last.find(at)).unwrap() + 1;
            assert!(line.starts_with(&format!("c/objects.yaml:9:{column}: ")), "{checked}");
            continue;
        }
        if let Some(start) = text.rfind(at).filter(|_| !at.is_empty()) {
            let place = format!("c/release.yaml:1:{}: ", start + at.len());
            assert!(line.starts_with(&place), "{place} {checked}");
        }
    }
}

/// A changed value is a changed workload; what a chart makes by chance does not differ.
#[test]
fn a_changed_value_is_shown_as_what_it_does() {
    let bench = bench();
    bench.write(
        "charts/web/templates/chance.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: chance}\ndata: {a: {{ randAlphaNum 8 }}, b: {{ uuidv4 }}}\n",
    );
    bench.write("c/release.yaml", release(&in_git("charts/web"), &json!({})));
    std::fs::remove_dir(bench.path(".git")).unwrap();
    let git = |arguments: &[&str]| {
        drop(bumpwright_testkit::repo::run(
            bumpwright_testkit::repo::git(&bench.dir).args(arguments),
        ))
    };
    git(&["init", "-q", "-b", "main"]);
    git(&["add", "."]);
    git(&["commit", "-qm", "one"]);
    bench.write(
        "c/release.yaml",
        release(&in_git("charts/web"), &json!({"values": {"image": {"tag": "3.0"}}})),
    );
    let ran = bench.run(&["fleet", "diff", "c", "--offline", "--from", "HEAD"]);
    assert_eq!(ran.code, 1, "{}", ran.err);
    for wanted in ["HelmRelease apps/web", "web:1.10", "web:3.0"] {
        assert!(ran.out.contains(wanted), "{wanted}: {}", ran.out);
    }
    assert!(!ran.out.contains("chance"), "{}", ran.out);
}
