//! `update --fleet` through Helm: what edits of values change in the workloads of releases, values that no template
//! reads, and edits that break a render or the schema of a chart.

use bumpwright_testkit::cli::{Bench, policy};
use bumpwright_testkit::repo;
use serde_json::{Value, json};

/// Newer images, as if a registry had them.
const NEWER: [&str; 2] = ["--set", "flux-system:web=ghcr.io/acme/web:2.0.0"];
const SIDE: [&str; 2] = ["--set", "flux-system:side=ghcr.io/acme/side:1.5.0"];

const SYNC: &str = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: flux-system, namespace: flux-system}\n\
                    spec: {interval: 1m, url: 'https://git.example.com/acme/fleet', ref: {branch: main}}\n---\n\
                    apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: flux-system, namespace: flux-system}\n\
                    spec: {interval: 1m, prune: true, path: ./c, sourceRef: {kind: GitRepository, name: flux-system}}\n";

const DEPLOYMENT: &str = r#"apiVersion: apps/v1
kind: Deployment
metadata: {name: {{ .Release.Name }}}
spec:
  template:
    spec:
      containers:
      - name: web
        image: "{{ .Values.image.repository }}:{{ .Values.image.tag }}"
      - name: side
        image: {{ .Values.side }}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Name }}-settings}
data: {level: {{ .Values.level | quote }}}
{{- if hasPrefix "9" .Values.image.tag }}{{ fail "versions from 9 on need a database" }}{{ end }}
"#;

const SCHEMA: &str =
    r#"{"properties": {"image": {"properties": {"tag": {"type": "string", "pattern": "^[0-9.]+$"}}}}}"#;

/// Chart and cluster, and a policy `web` with tag 2.0.0, with these files in the cluster's folder.
fn bench(files: &[(&str, &str)]) -> Bench {
    let bench = Bench::new();
    repo::run(repo::git(&bench.dir).args(["init", "-q", "--initial-branch=main"]));
    bench.write("c/sync.yaml", SYNC);
    bench.write(
        "c/policy.yaml",
        policy("flux-system", "web", "ghcr.io/acme/web", "2.0.0"),
    );
    bench.write("charts/web/Chart.yaml", "{apiVersion: v2, name: web, version: 1.0.0}");
    bench.write("charts/web/templates/all.yaml", DEPLOYMENT);
    bench.write("charts/web/values.schema.json", SCHEMA);
    bench.write(
        "charts/web/values.yaml",
        "image: {repository: ghcr.io/acme/web, tag: 1.0.0}\nlevel: info\nside: ghcr.io/acme/side:1.0.0 # {\"$imagepolicy\": \"flux-system:side\"}\n",
    );
    for (path, text) in files {
        bench.write(path, text);
    }
    bench
}

fn release(name: &str, spec: &str) -> String {
    let chart = if spec.contains("chart:") {
        String::new()
    } else {
        "  chart: {spec: {chart: ./charts/web, sourceRef: {kind: GitRepository, name: flux-system, namespace: flux-system}}}\n"
            .to_owned()
    };
    format!(
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {{name: {name}, namespace: shop}}\nspec:\n  interval: 1h\n{chart}{spec}"
    )
}

/// Values with the tag of the policy at a key.
fn tag(key: &str) -> String {
    format!("  values:\n    image:\n      {key}: 1.0.0 # {{\"$imagepolicy\": \"flux-system:web:tag\"}}\n")
}

fn update<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["update", "--dry-run", "--offline", "--fleet", "c"], &NEWER[..], more].concat()
}

fn impact(bench: &Bench, more: &[&str]) -> Value {
    let (code, document) = bench.json(&update(more));
    assert_eq!(code, 0, "{document:#}");
    document["runs"][0]["impact"].clone()
}

/// Workloads as `Kind name container old new release`.
fn workloads(impact: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let mut found = Vec::new();
    for one in impact["workloads"].as_array().unwrap() {
        for image in one["images"].as_array().unwrap() {
            let parts = [
                &one["object"]["kind"],
                &one["object"]["name"],
                &image["container"],
                &image["old"],
                &image["new"],
                &one["release"],
            ];
            found.push(parts.map(text).join(" "));
        }
    }
    found
}

fn dead(impact: &Value) -> Vec<String> {
    let all = impact["deadMarkers"].as_array().unwrap().iter();
    all.map(|one| format!("{}:{}", one["path"].as_str().unwrap(), one["line"]))
        .collect()
}

#[test]
fn workloads_behind_releases_are_named_with_their_images() {
    let bench = bench(&[("c/web.yaml", &release("web", &tag("tag")))]);
    let found = impact(&bench, &[]);
    assert_eq!(
        workloads(&found),
        ["Deployment web web ghcr.io/acme/web:1.0.0 ghcr.io/acme/web:2.0.0 shop/web"]
    );
    assert_eq!(found["workloads"][0]["restarts"], true);
    assert_eq!(found["objects"][0]["object"]["kind"], "HelmRelease");
    assert_eq!((dead(&found), &found["notes"]), (vec![], &json!([])));
    let text = bench.ok(&update(&[])).out;
    let line = "Deployment shop/web  web: ghcr.io/acme/web:1.0.0 → ghcr.io/acme/web:2.0.0 (configured, restarts, by HelmRelease shop/web)";
    assert!(text.contains(line), "{text}");
    let markdown = bench.ok(&update(&["--output", "markdown"])).out;
    assert!(
        markdown.contains("`flux-system/flux-system: HelmRelease shop/web`"),
        "{markdown}"
    );
    let html = bench.ok(&update(&["--output", "html"])).out;
    assert!(html.contains("HelmRelease shop/web"), "{html}");
}

/// The most frequent silent mistake. Two releases have the same new value, and one of them shows it.
#[test]
fn a_value_that_no_template_reads_is_dead() {
    let misspelt = release("web", &tag("tga"));
    let both = bench(&[("c/web.yaml", &misspelt), ("c/zoo.yaml", &release("zoo", &tag("tag")))]);
    assert_eq!(dead(&impact(&both, &[])), ["c/web.yaml:9"]);
    let alone = bench(&[("c/web.yaml", &misspelt)]);
    let found = impact(&alone, &[]);
    assert_eq!(dead(&found), ["c/web.yaml:9"]);
    assert_eq!(workloads(&found), Vec::<String>::new());
    // Beside one that is read, in one release.
    let beside = release(
        "web",
        &format!("{}{}", tag("tag"), tag("tga").split("image:\n").nth(1).unwrap()),
    );
    assert_eq!(
        dead(&impact(&bench(&[("c/web.yaml", &beside)]), &[])),
        ["c/web.yaml:10"]
    );
    // Whatever is not a value is no matter of the chart.
    let annotated = misspelt.replace("namespace: shop}", "namespace: shop, annotations: {release: 1.0.0}}");
    let annotated = annotated.replace(
        "annotations: {release: 1.0.0}}",
        "annotations: {\n  release: 1.0.0 # {\"$imagepolicy\": \"flux-system:web:tag\"}\n  }}",
    );
    assert_eq!(
        dead(&impact(&bench(&[("c/web.yaml", &annotated)]), &[])),
        ["c/web.yaml:11"]
    );
}

#[test]
fn values_of_config_maps_and_of_the_chart_itself_are_followed() {
    let values = "image:\n  tag: 1.0.0 # {\"$imagepolicy\": \"flux-system:web:tag\"}\n  tga: 1.0.0 # {\"$imagepolicy\": \"flux-system:web:tag\"}\n";
    let from = bench(&[
        (
            "c/kustomization.yaml",
            "resources: [sync.yaml, policy.yaml, web.yaml]\nconfigMapGenerator:\n- {name: values, namespace: shop, files: [values.yaml=values.yml]}\n\
             generatorOptions: {disableNameSuffixHash: true}\n",
        ),
        ("c/values.yml", values),
        (
            "c/web.yaml",
            &release("web", "  valuesFrom: [{kind: ConfigMap, name: values}]\n"),
        ),
    ]);
    let found = impact(&from, &[]);
    assert_eq!(
        workloads(&found),
        ["Deployment web web ghcr.io/acme/web:1.0.0 ghcr.io/acme/web:2.0.0 shop/web"]
    );
    assert_eq!(dead(&found), ["c/values.yml:3"]);
    let chart = bench(&[
        (
            "c/side.yaml",
            &policy("flux-system", "side", "ghcr.io/acme/side", "1.5.0"),
        ),
        ("c/web.yaml", &release("web", "")),
    ]);
    let found = impact(&chart, &SIDE);
    assert_eq!(
        workloads(&found),
        ["Deployment web side ghcr.io/acme/side:1.0.0 ghcr.io/acme/side:1.5.0 shop/web"]
    );
    assert_eq!(dead(&found), Vec::<String>::new());
    let unused = bench(&[
        (
            "c/side.yaml",
            &policy("flux-system", "side", "ghcr.io/acme/side", "1.5.0"),
        ),
        ("c/web.yaml", &release("web", "  values: {side: ghcr.io/acme/own:3}\n")),
    ]);
    assert_eq!(dead(&impact(&unused, &SIDE)), ["charts/web/values.yaml:3"]);
}

#[test]
fn edits_that_break_a_render_or_a_schema_are_refused() {
    let bench = bench(&[
        ("c/web.yaml", &release("web", &tag("tag"))),
        ("c/zoo.yaml", &release("zoo", &tag("tga"))),
    ]);
    let cause = "caused by c/web.yaml:9:12 (flux-system:web:tag: 1.0.0 → ";
    for (tag, error) in [
        ("9.0.0", "versions from 9 on need a database"),
        ("2.0.0-rc.1", "does not match pattern"),
    ] {
        let set = format!("flux-system:web=ghcr.io/acme/web:{tag}");
        let arguments = ["update", "--offline", "--fleet", "c", "--set", &set];
        let ran = bench.run(&[&arguments[..], &["--verify", "build"]].concat());
        assert_eq!(ran.code, 2, "{}", ran.err);
        for part in [
            "HelmRelease shop/web of Kustomization flux-system/flux-system would fail: ",
            error,
            cause,
        ] {
            assert!(ran.err.contains(part), "{part}: {}", ran.err);
        }
        assert!(!ran.err.contains("c/zoo.yaml"), "{}", ran.err);
        assert!(bench.read("c/web.yaml").contains("1.0.0"));
        // Without it, that is told.
        let told = bench.ok(&[&arguments[..], &["--dry-run"]].concat()).out;
        assert!(
            told.contains("note: HelmRelease shop/web") && told.contains(error),
            "{told}"
        );
    }
    bench.ok(&[
        &["update", "--offline", "--fleet", "c", "--verify", "build"],
        &NEWER[..],
    ]
    .concat());
    assert!(bench.read("c/web.yaml").contains("tag: 2.0.0"));
}

/// A chart that cannot be had stops nothing, one that is broken already neither, and releases that stay as they are
/// are not looked at.
#[test]
fn what_cannot_be_seen_is_a_note() {
    let elsewhere = "  chart: {spec: {chart: web, version: 1.0.0, sourceRef: {kind: HelmRepository, name: acme}}}\n";
    let repository = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata: {name: acme, namespace: shop}\n\
                      spec: {interval: 1h, url: 'https://charts.example.com'}\n";
    let broken = "  chart: {spec: {chart: ./charts/none, sourceRef: {kind: GitRepository, name: flux-system, namespace: flux-system}}}\n";
    let bench = bench(&[
        ("c/acme.yaml", repository),
        ("c/far.yaml", &release("far", &format!("{elsewhere}{}", tag("tga")))),
        ("c/broken.yaml", &release("broken", &format!("{broken}{}", tag("tag")))),
        ("c/still.yaml", &release("still", broken)),
    ]);
    let found = impact(&bench, &["--verify", "build"]);
    let notes = found["notes"].as_array().unwrap();
    let has = |text: &str| notes.iter().any(|note| note.as_str().unwrap().contains(text));
    assert_eq!(notes.len(), 2, "{notes:#?}");
    assert!(
        has(
            "HelmRelease shop/far of Kustomization flux-system/flux-system: what it installs is not seen: chart web: it is not kept on this machine"
        ),
        "{notes:#?}"
    );
    assert!(
        has("HelmRelease shop/broken of Kustomization flux-system/flux-system fails without the change as well"),
        "{notes:#?}"
    );
    assert_eq!(dead(&found), Vec::<String>::new());
    // Then the release itself says which image it has.
    let bench = self::bench(&[
        ("c/acme.yaml", repository),
        ("c/far.yaml", &release("far", &format!("{elsewhere}{}", tag("tag")))),
    ]);
    assert_eq!(
        workloads(&impact(&bench, &[])),
        ["HelmRelease far spec.values.image 1.0.0 2.0.0 -"]
    );
}

/// A Secret's value may be in an error of the chart.
#[test]
fn values_of_secrets_are_not_told() {
    let template = format!(
        "{DEPLOYMENT}{{{{ if hasPrefix \"2\" .Values.image.tag }}}}{{{{ fail .Values.password }}}}{{{{ end }}}}\n"
    );
    let bench = bench(&[
        ("charts/web/templates/all.yaml", &template),
        (
            "c/secret.yaml",
            "apiVersion: v1\nkind: Secret\nmetadata: {name: login, namespace: shop}\nstringData: {values.yaml: 'password: hunter22'}\n",
        ),
        (
            "c/web.yaml",
            &release(
                "web",
                &format!("  valuesFrom: [{{kind: Secret, name: login}}]\n{}", tag("tag")),
            ),
        ),
    ]);
    let ran = bench.run(&update(&["--verify", "build"]));
    assert_eq!(ran.code, 2);
    assert!(
        ran.err.contains("HelmRelease shop/web") && !ran.err.contains("hunter22"),
        "{}",
        ran.err
    );
}

/// As `fleet` has them.
#[test]
fn charts_are_given_or_releases_are_left_out() {
    let elsewhere = "  chart: {spec: {chart: web, version: 1.0.0, sourceRef: {kind: HelmRepository, name: acme}}}\n";
    let repository = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata: {name: acme, namespace: shop}\n\
                      spec: {interval: 1h, url: 'https://charts.example.com'}\n";
    let bench = bench(&[
        ("c/acme.yaml", repository),
        ("c/far.yaml", &release("far", &format!("{elsewhere}{}", tag("tag")))),
    ]);
    let rendered = ["Deployment far web ghcr.io/acme/web:1.0.0 ghcr.io/acme/web:2.0.0 shop/far"];
    assert_eq!(workloads(&impact(&bench, &["--charts", "charts"])), rendered);
    let version = ["--charts", "charts", "--kubernetes-version", "1.32"];
    assert_eq!(workloads(&impact(&bench, &version)), rendered);
    let left_out = impact(&bench, &["--charts", "charts", "--helm=false"]);
    assert_eq!(
        workloads(&left_out),
        ["HelmRelease far spec.values.image 1.0.0 2.0.0 -"]
    );
    assert_eq!(left_out["notes"], json!([]));
    let ran = bench.run(&update(&["--kubernetes-version", "0.1"]));
    assert!(
        ran.code == 2 && ran.err.contains("--kubernetes-version: "),
        "{}",
        ran.err
    );
}

/// A chart of charts: what a release that a release installs gets is named with that release.
#[test]
fn releases_that_a_release_installs_are_seen() {
    let nested = release("inner", "  values:\n    image: {tag: '{{ .Values.tag }}'}\n");
    let outer = release(
        "outer",
        "  chart: {spec: {chart: ./charts/outer, sourceRef: {kind: GitRepository, name: flux-system, namespace: flux-system}}}\n  values:\n    \
         tag: 1.0.0 # {\"$imagepolicy\": \"flux-system:web:tag\"}\n",
    );
    let bench = bench(&[
        (
            "charts/outer/Chart.yaml",
            "{apiVersion: v2, name: outer, version: 1.0.0}",
        ),
        ("charts/outer/templates/inner.yaml", &nested),
        ("c/outer.yaml", &outer),
        ("c/other.yaml", &release("other", "")),
    ]);
    let found = impact(&bench, &[]);
    assert_eq!(
        workloads(&found),
        ["Deployment inner web ghcr.io/acme/web:1.0.0 ghcr.io/acme/web:2.0.0 shop/inner"],
        "{found:#}"
    );
    assert_eq!(dead(&found), [""; 0]);
    let (code, refused) = bench.json(&[
        "update",
        "--dry-run",
        "--offline",
        "--fleet",
        "c",
        "--verify",
        "build",
        "--set",
        "flux-system:web=ghcr.io/acme/web:9.0.0",
    ]);
    assert_ne!(code, 0);
    assert!(
        refused.to_string().contains("HelmRelease shop/inner of "),
        "{refused:#}"
    );
}
