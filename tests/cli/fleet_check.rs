//! `bumpwright fleet check`: each fault has its place, and a fleet without faults has no findings.

use std::collections::BTreeSet;

use bumpwright_testkit::cli::Bench;
use serde_json::Value;

/// The entry of a cluster: what syncs it.
fn sync(cluster: &str) -> String {
    format!(
        "apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {{name: fleet, namespace: flux-system}}
spec: {{interval: 5m, url: 'https://git.example.com/acme/fleet', ref: {{branch: main}}}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {{name: fleet, namespace: flux-system}}
spec: {{interval: 5m, prune: true, path: ./clusters/{cluster}, sourceRef: {{kind: GitRepository, name: fleet}}}}
"
    )
}

/// A Kustomization of five lines, and more lines of its spec.
pub(crate) fn kustomization(name: &str, path: &str, more: &str) -> String {
    format!(
        "apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {{name: {name}, namespace: flux-system}}
spec:
  {{interval: 5m, prune: true, path: {path}, sourceRef: {{kind: GitRepository, name: fleet}}{more}}}
"
    )
}

const DEPLOYMENT: &str = r#"apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: ghcr.io/acme/web:1.0.0 # {"$imagepolicy": "flux-system:web"}
"#;

const IMAGES: &str = "apiVersion: image.toolkit.fluxcd.io/v1
kind: ImageRepository
metadata: {name: web, namespace: flux-system}
spec: {image: ghcr.io/acme/web, interval: 5m}
---
apiVersion: image.toolkit.fluxcd.io/v1
kind: ImagePolicy
metadata:
  name: web
  namespace: flux-system
  annotations:
    bumpwright.dev/hold-until: 2026-01-01T00:00:00Z
spec:
  imageRepositoryRef:
    name: web
  policy: {semver: {range: '>=1.0.0'}}
---
apiVersion: image.toolkit.fluxcd.io/v1
kind: ImageUpdateAutomation
metadata: {name: fleet, namespace: flux-system}
spec:
  interval: 5m
  sourceRef: {kind: GitRepository, name: fleet}
  git: {commit: {author: {email: bot@example.com}}, push: {branch: main}}
  update: {path: ./apps, strategy: Setters}
";

/// A repository with one cluster and one application, in which nothing is wrong.
pub(crate) fn sound() -> Bench {
    let bench = Bench::new();
    std::fs::create_dir(bench.path(".git")).unwrap();
    bench.write("clusters/prod/sync.yaml", sync("prod"));
    bench.write("clusters/prod/web.yaml", kustomization("web", "./apps/web", ""));
    bench.write("clusters/prod/images.yaml", IMAGES);
    bench.write("apps/web/deployment.yaml", DEPLOYMENT);
    bench
}

/// `path:line:column severity[rule]` of all findings.
pub(crate) fn found(bench: &Bench, arguments: &[&str]) -> (i32, Vec<String>, Value) {
    let arguments = [&["fleet", "check", "--offline"], arguments].concat();
    let (code, document) = bench.json(&arguments);
    let text = |finding: &Value, pointer: &str| {
        let value = finding.pointer(pointer).unwrap_or(&Value::Null);
        value.as_str().map_or_else(|| value.to_string(), str::to_owned)
    };
    let findings = document["findings"].as_array().unwrap().iter();
    let findings = findings.map(|finding| {
        let [path, line, column, severity, rule] =
            ["/place/path", "/place/line", "/place/column", "/severity", "/rule"].map(|pointer| text(finding, pointer));
        format!("{path}:{line}:{column} {severity}[{rule}]")
    });
    (code, findings.collect(), document)
}

#[test]
fn a_sound_fleet_has_no_findings() {
    let bench = sound();
    assert_eq!(found(&bench, &["clusters/prod"]).1, [""; 0]);
    let ran = bench.ok(&["fleet", "check", "--offline", "--fail-on", "note", "clusters/prod"]);
    assert_eq!(ran.out, "no findings in 2 Kustomizations\n");
    // A folder of that name is a path as others are.
    bench.write("check/a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n");
    assert!(bench.ok(&["fleet", "--offline", "./check"]).out.contains("1 ConfigMap"));
}

/// Policies that lie where nothing applies them are no reason to pass over what is no marker.
#[test]
fn a_misspelt_marker_is_told_in_a_fleet_without_policies() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path(".git")).unwrap();
    bench.write("clusters/p/sync.yaml", sync("p"));
    bench.write(
        "clusters/p/map.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: web}\ndata:\n  a: web:1 # {\"$imagepolcy\": \"fs:web\"}\n\
         \x20 b: web:1 # {\"$imagepolicy\": \"fs:web\"}\n",
    );
    let (code, lines, _) = found(&bench, &["clusters/p"]);
    assert_eq!((code, lines.len()), (1, 1), "{lines:#?}");
    assert!(
        lines[0].starts_with("clusters/p/map.yaml:5:") && lines[0].ends_with("error[unknown-policy]"),
        "{lines:#?}"
    );
    // A folder of charts that is not there is no empty one.
    let ran = bench.run(&["fleet", "check", "clusters/p", "--charts", "nochart"]);
    assert!(
        ran.code == 2 && ran.err.contains("there is no such folder"),
        "{}",
        ran.err
    );
}

/// One level too high there is no cluster: it would be green although nothing of the clusters is checked.
#[test]
fn a_folder_above_clusters_is_refused() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path(".git")).unwrap();
    bench.write("clusters/p/sync.yaml", sync("p"));
    bench.write("clusters/q/sync.yaml", sync("q"));
    bench.ok(&["fleet", "check", "--offline", "clusters/p", "clusters/q"]);
    let ran = bench.run(&["fleet", "check", "--offline", "clusters"]);
    let told = "error: clusters: no Kustomization reconciles this folder, but those below it are reconciled: clusters/p, clusters/q; name them\n";
    assert_eq!((ran.code, ran.err.as_str()), (2, told), "{}", ran.out);
}

/// An automation whose path does not exist fails in each run.
#[test]
fn the_path_of_an_automation_exists() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path(".git")).unwrap();
    bench.write("clusters/p/sync.yaml", sync("p"));
    let automation = |path: &str| {
        format!(
            "apiVersion: image.toolkit.fluxcd.io/v1\nkind: ImageUpdateAutomation\nmetadata: {{name: all, namespace: flux-system}}\nspec:\n  \
             interval: 1h\n  sourceRef: {{kind: GitRepository, name: fleet}}\n  git: {{commit: {{author: {{email: bot@example.com}}}}}}\n  \
             update:\n    path: {path}\n"
        )
    };
    for path in [".", "./clusters", "/clusters/p/sync.yaml", "./${FOLDER}"] {
        bench.write("clusters/p/all.yaml", automation(path));
        let ran = bench.run(&["fleet", "check", "--offline", "clusters/p"]);
        assert!(!ran.out.contains("missing-path"), "{path}: {}", ran.out);
    }
    bench.write("clusters/p/all.yaml", automation("./cluster"));
    let ran = bench.run(&["fleet", "check", "--offline", "clusters/p"]);
    let finding = "clusters/p/all.yaml:9:11: warning[missing-path]: ImageUpdateAutomation flux-system/all: the repository has no cluster\n";
    assert!(ran.code == 0 && ran.out.contains(finding), "{}", ran.out);
    assert!(ran.out.contains("did you mean clusters?"), "{}", ran.out);
}

/// The folder of a Kustomization that does not exist is an error at the field that names it.
#[test]
fn the_path_of_a_kustomization_exists() {
    let bench = sound();
    for (path, near) in [
        ("./apps/wed", Some("did you mean apps/web?")),
        ("./infrastructure", None),
    ] {
        bench.write("clusters/prod/web.yaml", kustomization("web", path, ""));
        let (code, findings, document) = found(&bench, &["clusters/prod"]);
        let expected = "clusters/prod/web.yaml:5:37 error[build-failed]".to_owned();
        assert!(code == 1 && findings.contains(&expected), "{findings:#?}");
        let failed = document["findings"].as_array().unwrap().iter();
        let mut failed = failed.filter(|finding| finding["rule"] == "build-failed");
        assert_eq!(failed.next().unwrap()["help"].as_str(), near, "{document:#}");
    }
}

/// What is in a folder without a kustomization.yaml is applied, also what is not a manifest: the hint says how
/// to leave it out.
#[test]
fn a_file_that_is_not_a_manifest_is_told_with_the_way_out() {
    let bench = sound();
    bench.write(
        "apps/web/chart/Chart.yaml",
        "apiVersion: v2\nname: web\nversion: 0.1.0\n",
    );
    let ran = bench.run(&["fleet", "check", "--offline", "clusters/prod"]);
    assert!(
        ran.code == 1 && ran.out.contains("missing kind in object"),
        "{}",
        ran.out
    );
    let help = "help: without a kustomization.yaml each YAML file below spec.path is applied";
    assert!(
        ran.out.contains(help) && ran.out.contains(".sourceignore"),
        "{}",
        ran.out
    );
    bench.write(".sourceignore", "chart/\n");
    assert_eq!(found(&bench, &["clusters/prod"]).1, [""; 0]);
}

/// A namespace that nothing creates is one finding, at the first object in it.
#[test]
fn a_namespace_that_nothing_creates_is_told_once() {
    let bench = sound();
    let namespace = |name: &str| format!("apiVersion: v1\nkind: Namespace\nmetadata: {{name: {name}}}\n");
    let map = |name: &str, namespace: &str| {
        format!("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: {namespace}}}\n")
    };
    let told = |more: &str| {
        bench.write("apps/web/more.yaml", more);
        let (_, lines, document) = found(&bench, &["clusters/prod"]);
        let of_rule = lines.into_iter().filter(|line| line.ends_with("[missing-namespace]"));
        (of_rule.collect::<Vec<String>>(), document)
    };
    // Without any Namespace, something else creates them.
    assert_eq!(told(&map("a", "shop")).0, [""; 0]);
    let some =
        namespace("web") + &map("a", "shop") + &map("b", "shop") + &map("c", "kube-system") + &map("d", "default");
    let (lines, document) = told(&some);
    assert_eq!(lines, ["apps/web/more.yaml:7:32 warning[missing-namespace]"]);
    let mut findings = document["findings"].as_array().unwrap().iter();
    let finding = findings.find(|finding| finding["rule"] == "missing-namespace").unwrap();
    assert_eq!(
        finding["message"],
        "nothing in the fleet creates the namespace shop, which 2 objects are in"
    );
    let (_, document) = told(&(namespace("web") + &map("a", "wed")));
    assert!(document.to_string().contains("did you mean web?"), "{document:#}");
    let release = |install: &str| {
        format!(
            "---\napiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {{name: shop, namespace: web}}\nspec:\n  interval: 1h\n  \
             targetNamespace: shop\n  install: {{createNamespace: {install}}}\n  suspend: true\n  \
             chart: {{spec: {{chart: shop, sourceRef: {{kind: HelmRepository, name: shop}}}}}}\n"
        )
    };
    let created = namespace("web") + &map("a", "shop") + &release("true");
    assert_eq!(told(&created).0, [""; 0]);
    // What was not built may create it.
    let not_created = namespace("web") + &map("a", "shop") + &release("false");
    assert_eq!(
        told(&not_created).0,
        ["apps/web/more.yaml:7:32 note[missing-namespace]"]
    );
}

/// A kind of Flux that is misspelt is applied by nobody, and all that it would bring is missing.
#[test]
fn a_misspelt_kind_of_flux_is_an_error() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path(".git")).unwrap();
    bench.write("clusters/p/sync.yaml", sync("p"));
    for (group, kind, meant) in [
        ("kustomize.toolkit.fluxcd.io", "Kustomizaton", "Kustomization"),
        ("helm.toolkit.fluxcd.io", "HelmRelase", "HelmRelease"),
        ("image.toolkit.fluxcd.io", "ImagePolcy", "ImagePolicy"),
        ("notification.toolkit.fluxcd.io", "Alrt", "Alert"),
        ("source.toolkit.fluxcd.io", "OciRepositry", "OCIRepository"),
    ] {
        let text = format!("apiVersion: {group}/v1\nkind: {kind}\nmetadata: {{name: a, namespace: web}}\n");
        bench.write("clusters/p/a.yaml", text);
        let ran = bench.run(&["fleet", "check", "--offline", "clusters/p"]);
        let finding = format!(
            "clusters/p/a.yaml:2:7: error[unknown-kind]: {kind} web/a: kind {kind} is unknown in {group}: did you mean {meant}?"
        );
        assert!(ran.code == 1 && ran.out.contains(&finding), "{}{}", ran.out, ran.err);
    }
}

/// What is in another namespace was built: it is not looked for in what was not.
#[test]
fn a_source_of_another_namespace_is_meant() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path(".git")).unwrap();
    bench.write("clusters/p/sync.yaml", sync("p"));
    bench.write(
        "clusters/p/release.yaml",
        "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata: {name: acme, namespace: flux-system}\n\
         spec: {interval: 1h, url: 'https://charts.example.com'}\n---\n\
         apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: cache, namespace: web}\n\
         spec: {interval: 1h, chart: {spec: {chart: cache, sourceRef: {kind: HelmRepository, name: acme}}}}\n",
    );
    let ran = bench.run(&["fleet", "check", "--offline", "clusters/p"]);
    let finding = "error[missing-source]: HelmRelease web/cache: HelmRepository web/acme is not in the fleet";
    assert!(ran.out.contains(finding), "{}", ran.out);
    assert!(ran.out.contains("help: did you mean flux-system/acme?"), "{}", ran.out);
    // What was not built for another reason may have it.
    bench.write("clusters/p/broken.yaml", kustomization("broken", "./nowhere", ""));
    let ran = bench.run(&["fleet", "check", "--offline", "clusters/p"]);
    assert!(ran.out.contains(&finding.replace("error", "warning")), "{}", ran.out);
}

/// What a variable of a Secret has put into a field is not in what is said about the field.
#[test]
fn a_finding_does_not_tell_what_a_secret_has() {
    let bench = sound();
    let vars =
        "apiVersion: v1\nkind: Secret\nmetadata: {name: vars, namespace: flux-system}\nstringData: {port: hunter22}\n";
    bench.write("clusters/prod/vars.yaml", vars);
    let variables = ", postBuild: {substituteFrom: [{kind: Secret, name: vars}]}";
    bench.write(
        "clusters/prod/port.yaml",
        kustomization("port", "./apps/port", variables),
    );
    let service =
        "apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: web}\nspec: {ports: [{port: \"${port}\"}]}\n";
    bench.write("apps/port/service.yaml", service);
    let (_, lines, document) = found(&bench, &["clusters/prod"]);
    assert!(lines.iter().any(|line| line.ends_with("error[schema]")), "{lines:?}");
    assert!(!document.to_string().contains("hunter22"), "{document:#}");
}

/// What is broken in a fleet: file and text, and what is found.
const BROKEN: [(&str, &str, &[&str]); 16] = [
    (
        "clusters/prod/source.yaml",
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: source, namespace: flux-system}\nspec:\n  \
         interval: 5m\n  prune: true\n  sourceRef:\n    kind: GitRepository\n    name: flet\n",
        &["9:11 error[missing-source]"],
    ),
    (
        "clusters/prod/depends.yaml",
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: one, namespace: flux-system}\nspec:\n  \
         interval: 5m\n  prune: true\n  path: ./apps/none\n  sourceRef: {kind: GitRepository, name: fleet}\n  dependsOn:\n  - name: two\n  \
         - name: webb\n---\napiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: two, namespace: \
         flux-system}\nspec:\n  interval: 5m\n  prune: true\n  path: ./apps/none\n  sourceRef: {kind: GitRepository, name: fleet}\n  \
         dependsOn:\n  - name: one\n",
        &["10:11 error[dependency-cycle]", "11:11 warning[missing-dependency]"],
    ),
    ("apps/none/kustomization.yaml", "resources: []\n", &[]),
    (
        "apps/loop/kustomization.yaml",
        "resources:\n- ../loop\n",
        &["2:3 error[include-cycle]"],
    ),
    (
        "apps/gone/kustomization.yaml",
        "resources:\n- gone.yaml\n",
        &["2:3 error[build-failed]"],
    ),
    (
        "apps/malformed/map.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a\n",
        &["3:11 error[invalid-manifest]"],
    ),
    (
        "apps/rest/job.yaml",
        "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: job, namespace: web}\nspec:\n  schedule: 5\n  jobTemplates: {}\n  \
         jobTemplate:\n    spec:\n      template:\n        spec:\n          restartPolicy: Never\n          containers:\n          - name: \
         job\n            image: busybox:1${tag}\n",
        &[
            "5:13 error[schema]",
            "6:3 error[unknown-field]",
            "14:29 error[undefined-variable]",
        ],
    ),
    (
        "apps/rest/budget.yaml",
        "apiVersion: policy/v1beta1\nkind: PodDisruptionBudget\nmetadata: {name: web, namespace: web}\nspec: {minAvailable: 1}\n",
        &["1:13 error[removed-api]"],
    ),
    (
        "apps/rest/gadget.yaml",
        "apiVersion: example.com/v1\nkind: Gadget\nmetadata: {name: a, namespace: web}\n",
        &["2:7 note[unknown-kind]"],
    ),
    (
        "apps/rest/secret.yaml",
        "apiVersion: v1\nkind: Secret\nmetadata: {name: login, namespace: web}\nstringData:\n  user: ''\n  password: hunter2\n",
        &["6:3 error[clear-text-secret]"],
    ),
    (
        "apps/rest/again.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: again, namespace: web}\n",
        &[],
    ),
    (
        "apps/rest/kustomization.yaml",
        "resources: [job.yaml, budget.yaml, gadget.yaml, secret.yaml, again.yaml, policy.yaml]\nsecretGenerator:\n- name: made\n  \
         namespace: web\n  literals:\n  - token=hunter2\n",
        &["6:5 error[clear-text-secret]"],
    ),
    (
        "apps/twice/again.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: again, namespace: web}\ndata: {image: a} # {\"$imagepolicy\": \"flux-system:wbe\"}\n",
        &["1:1 error[owned-twice]", "4:18 error[unknown-policy]"],
    ),
    (
        "apps/rest/policy.yaml",
        "apiVersion: image.toolkit.fluxcd.io/v1\nkind: ImagePolicy\nmetadata:\n  name: other\n  namespace: flux-system\n  annotations:\n    \
         bumpwright.dev/minimumAge: 72h\nspec:\n  imageRepositoryRef:\n    name: wep\n  interval: 5m\n  policy: {semver: {range: '*'}}\n",
        &[
            "7:5 error[annotation]",
            "10:11 warning[missing-image-repository]",
            "9:3 error[schema]",
        ],
    ),
    (
        "apps/web/values.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: values, namespace: web}\ndata:\n  image: web:1 # {\"$imagepolicy\": \
         \"flux-system:wbe\"}\n  other: web:1 # {\"$imagepolcy\": \"flux-system:web\"}\n",
        &["5:10 warning[unknown-policy]", "6:16 error[unknown-policy]"],
    ),
    (
        "clusters/prod/health.yaml",
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: rest, namespace: flux-system}\nspec:\n  \
         interval: 5m\n  prune: true\n  path: ./apps/rest\n  sourceRef: {kind: GitRepository, name: fleet}\n  decryption:\n    provider: \
         sops\n    secretRef: {name: keys}\n  postBuild: {substitute: {a: b}}\n  healthChecks:\n  - kind: Deployment\n    name: wep\n    \
         namespace: web\n",
        &["11:23 note[missing-secret]", "15:11 warning[health-check-not-built]"],
    ),
];

/// The issue: a fleet that is broken in ten places names all ten, and more.
#[test]
fn each_fault_is_found_at_its_place() {
    let bench = sound();
    let mut wanted = BTreeSet::new();
    for (path, text, findings) in BROKEN {
        bench.write(path, text);
        wanted.extend(findings.iter().map(|finding| format!("{path}:{finding}")));
    }
    for name in ["loop", "gone", "malformed", "twice"] {
        let path = format!("clusters/prod/{name}.yaml");
        bench.write(&path, kustomization(name, &format!("./apps/{name}"), ""));
    }
    let (code, findings, document) = found(&bench, &["clusters/prod"]);
    let findings: BTreeSet<String> = findings.into_iter().collect();
    assert_eq!(findings, wanted, "{document:#}");
    assert_eq!(code, 1);
    let text = document.to_string();
    assert!(!text.contains("hunter2"), "{text}");
}

/// Kinds of Flux whose definitions come with Flux are checked as if they were in the fleet.
#[test]
fn kinds_of_flux_are_checked_without_their_definitions() {
    let bench = sound();
    bench.write(
        "clusters/prod/release.yaml",
        "apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: web, namespace: web}
spec:
  interval: 1h
  chart:
    spec:
      chart: web
      versoin: 1.x
      sourceRef: {kind: HelmRepository, name: all}
  upgrade: {remediation: {retries: three}}
  values: {anything: {goes: [here]}}
---
apiVersion: notification.toolkit.fluxcd.io/v1beta3
kind: Provider
metadata: {name: chat, namespace: web}
spec: {type: slak}
---
apiVersion: notification.toolkit.fluxcd.io/v1beta2
kind: Alert
metadata: {name: chat, namespace: web}
spec: {anything: goes}
",
    );
    let (_, findings, document) = found(&bench, &["clusters/prod", "--helm=false"]);
    let of_schemas = |one: &String| one.contains("[unknown-field]") || one.contains("[schema]");
    let findings: Vec<String> = findings.into_iter().filter(of_schemas).collect();
    let place = |place: &str| format!("clusters/prod/release.yaml:{place}");
    assert_eq!(
        findings,
        [
            place("9:7 error[unknown-field]"),
            place("11:36 error[schema]"),
            place("17:14 error[schema]"),
        ],
        "{document:#}"
    );
    assert!(
        document.to_string().contains("did you mean \\\"version\\\"?"),
        "{document:#}"
    );
}

/// Flux would lose all labels of the object. Also of kinds whose definition is not in the fleet, and once only.
#[test]
fn a_number_among_labels_is_found_at_its_place() {
    let bench = sound();
    let object = |kind: &str, metadata: &str| {
        format!("apiVersion: {kind}\nmetadata:\n  name: x\n  namespace: web\n{metadata}---\n")
    };
    let labels = "  labels:\n    app: x\n    version: \"${VER}\"\n";
    let objects = [
        object("v1\nkind: ConfigMap", labels),
        object("example.com/v1\nkind: Gadget", labels),
        object("v1\nkind: ServiceAccount", "  annotations: {id: '${VER}'}\n"),
        object(
            "apps/v1\nkind: Deployment",
            "spec:\n  selector: {matchLabels: {v: '${VER}'}}\n  template: {metadata: {labels: {v: '${VER}'}}, spec: {containers: [{name: a, image: a}]}}\n",
        ),
    ];
    bench.write("apps/labels/all.yaml", objects.concat());
    let variables = ", postBuild: {substitute: {VER: '1.10'}}";
    bench.write(
        "clusters/prod/labels.yaml",
        kustomization("labels", "./apps/labels", variables),
    );
    let (code, findings, document) = found(&bench, &["clusters/prod"]);
    let at = |place: &str, rule: &str| format!("apps/labels/all.yaml:{place} {rule}");
    let expected = BTreeSet::from([
        at("8:14", "error[schema]"),
        at("11:7", "warning[unknown-kind]"),
        at("17:14", "error[schema]"),
        at("24:21", "error[schema]"),
        at("32:31", "error[schema]"),
        at("33:37", "error[schema]"),
    ]);
    assert_eq!((code, findings.len()), (1, expected.len()), "{document:#}");
    assert_eq!(BTreeSet::from_iter(findings), expected, "{document:#}");
    let text = document.to_string();
    assert!(
        text.contains("\"metadata.labels.version is a number and has to be a text: put it in quotes"),
        "{text}"
    );
}

/// A policy that is not valid chooses nothing, or something by chance.
#[test]
fn rules_and_filters_of_policies_are_checked() {
    let bench = sound();
    let policy = "policy: {semver: {range: '>=1.0.0'}}";
    for (spec, expected) in [
        (policy.to_owned(), None),
        (
            format!("filterTags: {{pattern: '^(?P<v>.*)$', extract: '${{v}}'}}\n  {policy}"),
            None,
        ),
        (
            format!("filterTags: {{pattern: '^(?P<v>.*)-x$', extract: $vx}}\n  {policy}"),
            Some("write ${v}x for the group v"),
        ),
        (
            format!("filterTags: {{pattern: '(', extract: $v}}\n  {policy}"),
            Some("missing closing )"),
        ),
        (
            "policy: {semver: {range: 'x.y'}}".to_owned(),
            Some("improper constraint"),
        ),
        (
            "policy: {numerical: {order: up}}".to_owned(),
            Some("must be one of: ASC, DESC"),
        ),
    ] {
        bench.write("clusters/prod/images.yaml", IMAGES.replace(policy, &spec));
        let (_, findings, document) = found(&bench, &["clusters/prod"]);
        match expected {
            None => assert_eq!(findings, [""; 0], "{document:#}"),
            Some(said) => {
                assert!(
                    findings
                        .iter()
                        .any(|finding| finding.contains("images.yaml:") && finding.ends_with(" error[invalid-policy]")),
                    "{spec}: {document:#}"
                );
                assert!(document.to_string().contains(said), "{document:#}");
            }
        }
    }
}

/// Templates of commit messages, at the line of the field.
#[test]
fn templates_of_messages_are_checked() {
    let bench = sound();
    for (fields, expected) in [
        (
            "messageTemplate: '{{ range .Changed.Changes }}{{ .NewValue }}{{ end }}'",
            None,
        ),
        ("messageTemplate: '{{ .Values.${what} }}'", None),
        ("messageTemplate: '{{ uper 1 }}'", Some("did you mean `upper`?")),
        (
            "messageTemplate: '{{ range .Updated.Images }}{{ .Tag }}{{ end }}'",
            Some("can't evaluate field Tag"),
        ),
    ] {
        let text = IMAGES.replace("commit: {", &format!("commit: {{{fields}, "));
        assert_ne!(text, IMAGES);
        bench.write("clusters/prod/images.yaml", &text);
        let (_, findings, document) = found(&bench, &["clusters/prod"]);
        let of_template = |finding: &&String| finding.ends_with(" error[invalid-template]");
        let found: Vec<&String> = findings.iter().filter(of_template).collect();
        assert_eq!(found.len(), usize::from(expected.is_some()), "{document:#}");
        assert!(
            found
                .iter()
                .all(|finding| finding.starts_with("clusters/prod/images.yaml:")),
            "{found:?}"
        );
        assert!(
            document.to_string().contains(expected.unwrap_or_default()),
            "{document:#}"
        );
    }
}

/// Names that Git refuses and selectors that select nothing, at the field: each run would fail, or do nothing.
#[test]
fn fields_of_automations_that_no_run_can_use_are_told() {
    let bench = sound();
    let git = |git: &str| format!("git: {{commit: {{author: {{email: bot@example.com}}}}, {git}}}");
    let selector = |selector: &str| {
        format!(
            "policySelector: {{matchLabels: {{{selector}}}}}\n  {}",
            git("push: {branch: main}")
        )
    };
    for (fields, expected) in [
        (git("push: {branch: 'auto/x'}"), None),
        (git("push: {branch: '${branch}..'}"), None),
        (
            git("push: {branch: 'auto update'}"),
            Some(("24:68 error[invalid-automation]", "refs/heads/auto update")),
        ),
        (git("push: {refspec: 'refs/heads/*:refs/heads/auto/*'}"), None),
        (git("push: {refspec: 'HEAD:refs/for/main'}"), None),
        (
            git("push: {refspec: 'refs/heads/main'}"),
            Some(("24:69 error[invalid-automation]", "separators are wrong")),
        ),
        (
            git("push: {refspec: 'refs/heads/main:auto'}"),
            Some(("24:69 error[invalid-automation]", "not a full reference name")),
        ),
        (
            git("checkout: {ref: {branch: 'main~1'}}, push: {branch: main}"),
            Some(("24:78 error[invalid-automation]", "refs/heads/main~1")),
        ),
        (
            git("checkout: {ref: {semver: 'newest'}}, push: {branch: main}"),
            Some(("24:78 error[invalid-automation]", "newest")),
        ),
        (
            git("push: {branch: main}").replace("bot@example.com", "'Bot <bot@example.com>'"),
            Some(("24:34 warning[invalid-automation]", "Bot <bot@example.com>")),
        ),
        (
            selector("team: web"),
            Some(("24:19 warning[empty-selector]", "no ImagePolicy that it may use")),
        ),
        (
            selector("'-team': web"),
            Some(("24:19 error[invalid-automation]", "-team")),
        ),
    ] {
        let text = IMAGES.replace(
            "git: {commit: {author: {email: bot@example.com}}, push: {branch: main}}",
            &fields,
        );
        assert!(text.contains(&fields));
        bench.write("clusters/prod/images.yaml", &text);
        let (_, findings, document) = found(&bench, &["clusters/prod"]);
        let of_automation =
            |finding: &&String| finding.ends_with("[invalid-automation]") || finding.ends_with("[empty-selector]");
        let told: Vec<&String> = findings.iter().filter(of_automation).collect();
        match expected {
            None => assert_eq!(told, [""; 0], "{fields}"),
            Some((place, message)) => {
                assert_eq!(told, [&format!("clusters/prod/images.yaml:{place}")], "{fields}");
                assert!(document.to_string().contains(message), "{document:#}");
            }
        }
    }
    // A policy of another namespace may be for it.
    let open = IMAGES
        .replace(
            "  namespace: flux-system\n  annotations:\n",
            "  namespace: team\n  labels: {team: web}\n  annotations:\n    \
             bumpwright.dev/allow-automations-from: '*'\n",
        )
        .replace(
            "spec:\n  interval: 5m\n  sourceRef",
            "spec:\n  policySelector: {matchLabels: {team: web}}\n  interval: 5m\n  sourceRef",
        );
    bench.write("clusters/prod/images.yaml", &open);
    let (_, findings, _) = found(&bench, &["clusters/prod"]);
    assert!(
        !findings.iter().any(|finding| finding.contains("empty-selector")),
        "{findings:?}"
    );
}

/// Findings of files that several clusters share are told once, with the clusters.
#[test]
fn findings_of_several_clusters_are_merged() {
    let bench = sound();
    for cluster in ["dev", "prod"] {
        bench.write(&format!("clusters/{cluster}/sync.yaml"), sync(cluster));
        bench.write(
            &format!("clusters/{cluster}/web.yaml"),
            kustomization("web", "./apps/web", ""),
        );
    }
    bench.write(
        "apps/web/deployment.yaml",
        DEPLOYMENT.replace("replicas: 2", "replicas: two"),
    );
    let (code, findings, document) = found(&bench, &["clusters/dev", "clusters/prod"]);
    assert_eq!(
        (code, findings),
        (1, vec!["apps/web/deployment.yaml:5:13 error[schema]".to_owned()])
    );
    let origins: Vec<&str> = document["findings"][0]["origins"]
        .as_array()
        .unwrap()
        .iter()
        .map(|origin| origin["cluster"].as_str().unwrap())
        .collect();
    assert_eq!(origins, ["clusters/dev", "clusters/prod"]);
}

/// Two clusters whose policies of one name differ set a field to and fro; those that agree only race.
#[test]
fn automations_fight_if_their_policies_differ() {
    let bench = sound();
    for cluster in ["dev", "prod"] {
        bench.write(&format!("clusters/{cluster}/sync.yaml"), sync(cluster));
        bench.write(&format!("clusters/{cluster}/images.yaml"), IMAGES);
    }
    let both = ["clusters/dev", "clusters/prod"];
    let place = |severity: &str| format!("clusters/prod/images.yaml:18:1 {severity}[conflicting-automations]");
    assert_eq!(found(&bench, &both).1, [place("note")]);
    bench.write("clusters/dev/images.yaml", IMAGES.replace(">=1.0.0", ">=1.0.0-0"));
    assert_eq!(found(&bench, &both).1, [place("error")]);
    // Another branch, or another folder: they do not meet.
    for (from, to) in [
        ("push: {branch: main}", "push: {branch: dev}"),
        ("path: ./apps", "path: ./clusters/dev"),
    ] {
        bench.write(
            "clusters/dev/images.yaml",
            IMAGES.replace(">=1.0.0", ">=1.0.0-0").replace(from, to),
        );
        assert_eq!(found(&bench, &both).1, [""; 0], "{to}");
    }
    // The marker of a cluster that has no policies is followed by the other.
    std::fs::remove_file(bench.path("clusters/prod/images.yaml")).unwrap();
    bench.write("clusters/dev/images.yaml", IMAGES);
    assert_eq!(found(&bench, &both).1, [""; 0]);
    assert_eq!(found(&bench, &["clusters/prod"]).1, [""; 0]);
}

#[test]
fn the_output_and_the_exit_code_are_chosen() {
    let bench = sound();
    bench.write(
        "apps/web/gadget.yaml",
        "apiVersion: example.com/v1\nkind: Gadget\nmetadata: {name: a, namespace: web}\n",
    );
    let run = |more: &[&str]| bench.run(&[&["fleet", "check", "--offline", "clusters/prod"], more].concat());
    for (fail_on, code) in [("error", 0), ("warning", 1), ("note", 1)] {
        assert_eq!(run(&["--fail-on", fail_on]).code, code, "{fail_on}");
    }
    let text = run(&[]).out;
    let wanted = "apps/web/gadget.yaml:2:7: warning[unknown-kind]: Gadget web/a: Gadget of example.com is not defined in the fleet: \
                  1 object was not checked\n    in Kustomization flux-system/web\n";
    assert!(text.starts_with(wanted), "{text}");
    for (output, part) in [
        ("sarif", "\"ruleId\": \"unknown-kind\""),
        ("junit", "<testsuite "),
        ("github", "::warning file=apps/web/gadget.yaml,line=2,col=7"),
        ("html", "<code>apps/web/gadget.yaml:2:7</code>"),
    ] {
        let printed = run(&["--output", output]).out;
        assert!(printed.contains(part), "{output}: {printed}");
    }
    // A definition in the fleet makes the kind known, and its fields are checked.
    bench.write(
        "apps/web/definition.yaml",
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: gadgets.example.com}\nspec:\n  group: \
         example.com\n  scope: Namespaced\n  names: {kind: Gadget, plural: gadgets}\n  versions:\n  - name: v1\n    served: true\n    \
         storage: true\n    schema: {openAPIV3Schema: {type: object, properties: {size: {type: integer}}}}\n",
    );
    assert_eq!(found(&bench, &["clusters/prod"]).1, [""; 0]);
    bench.write(
        "apps/web/gadget.yaml",
        "apiVersion: example.com/v1\nkind: Gadget\nmetadata: {name: a, namespace: web}\nsiez: 1\n",
    );
    assert_eq!(
        found(&bench, &["clusters/prod"]).1,
        ["apps/web/gadget.yaml:4:1 error[unknown-field]"]
    );
    let old = run(&["--kubernetes-version", "1.4"]);
    assert_eq!(old.code, 2);
    assert!(
        old.err
            .starts_with("error: --kubernetes-version: there are no schemas of Kubernetes \"1.4\""),
        "{}",
        old.err
    );
}

/// A Secret that SOPS encrypted, of the fixtures of `crates/engine/sops`.
pub(crate) fn encrypted() -> String {
    let table = format!("{}/fixtures/sops/files.jsonl", env!("CARGO_MANIFEST_DIR"));
    let table = std::fs::read_to_string(table).unwrap();
    let marked = "{\"case\":\"rule encrypted_regex yaml/secret\",";
    let row = table.lines().find(|line| line.starts_with(marked)).unwrap();
    let row: Value = serde_json::from_str(row).unwrap();
    row["file"].as_str().unwrap().to_owned()
}

/// Encrypted Secrets are not in clear text; without `decryption` they are refused.
#[test]
fn an_encrypted_secret_needs_decryption() {
    let bench = sound();
    bench.write("apps/web/secret.yaml", encrypted());
    bench.write("apps/web/made/f.yaml", encrypted());
    bench.write(
        "apps/web/made/kustomization.yaml",
        "secretGenerator:\n- name: whole\n  namespace: web\n  files: [f.yaml]\n",
    );
    let refused = [
        "apps/web/made/kustomization.yaml:2:3 error[build-failed]",
        "apps/web/secret.yaml:1:1 error[build-failed]",
    ];
    assert_eq!(found(&bench, &["clusters/prod"]).1, refused);
    let decryption = ", decryption: {provider: sops}";
    bench.write("clusters/prod/web.yaml", kustomization("web", "./apps/web", decryption));
    assert_eq!(found(&bench, &["clusters/prod"]).1, [""; 0]);
    // The rule of the file leaves out what was encrypted under another one.
    let narrowed = encrypted().replace("^(data|stringData)$", "^(data)$");
    bench.write("apps/web/secret.yaml", narrowed);
    let (_, lines, document) = found(&bench, &["clusters/prod"]);
    assert_eq!(lines, ["apps/web/secret.yaml:1:1 error[build-failed]"], "{document}");
    let told =
        "stringData.password is still encrypted: `encrypted_regex: ^(data)$` in the metadata of SOPS leaves it out";
    assert!(document.to_string().contains(told), "{document}");
}

/// A merge patch on a kind without a schema replaces a list: the place of the patch, and the way that the definition
/// in the fleet shows.
#[test]
fn items_that_a_patch_drops_are_found() {
    let bench = sound();
    let rollout = |containers: &str| {
        format!(
            "apiVersion: argoproj.io/v1alpha1\nkind: Rollout\nmetadata: {{name: web, namespace: web}}\n\
             spec: {{template: {{spec: {{containers: [{containers}]}}}}}}\n"
        )
    };
    bench.write(
        "apps/web/rollout.yaml",
        rollout("{name: web, image: web:1}, {name: sidecar, image: s:1}"),
    );
    bench.write("apps/web/patch.yaml", rollout("{name: web, image: web:2}"));
    let top =
        |more: &str| format!("resources: [deployment.yaml, rollout.yaml{more}]\npatches: [{{path: patch.yaml}}]\n");
    bench.write("apps/web/kustomization.yaml", top(""));
    let (_, lines, document) = found(&bench, &["clusters/prod"]);
    let finding = "apps/web/patch.yaml:4:38 warning[list-replaced]".to_owned();
    assert!(lines.contains(&finding), "{lines:?}");
    let document = document.to_string();
    assert!(
        document.contains("lost: sidecar") && document.contains("/spec/template/spec/containers/-"),
        "{document}"
    );
    // A patch of the Kustomization itself.
    let patch = "{apiVersion: argoproj.io/v1alpha1, kind: Rollout, metadata: {name: web}, spec: {template: {spec: {containers: [{name: web}]}}}}";
    let own = format!(", patches: [{{target: {{kind: Rollout}}, patch: '{patch}'}}]");
    bench.write(
        "apps/web/kustomization.yaml",
        "resources: [deployment.yaml, rollout.yaml]\n",
    );
    bench.write("clusters/prod/web.yaml", kustomization("web", "./apps/web", &own));
    let (_, lines, _) = found(&bench, &["clusters/prod"]);
    let line = "  {interval: 5m, prune: true, path: ./apps/web, sourceRef: {kind: GitRepository, name: fleet}, patches: [{target: {kind: Rollout}, patch: ";
    let finding_of_own = format!("clusters/prod/web.yaml:5:{} warning[list-replaced]", line.len() + 1);
    assert!(lines.contains(&finding_of_own), "{lines:?}");
    bench.write("clusters/prod/web.yaml", kustomization("web", "./apps/web", ""));
    let definition = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: rollouts.argoproj.io}\n\
        spec:\n  group: argoproj.io\n  scope: Namespaced\n  names: {kind: Rollout, plural: rollouts, singular: rollout, listKind: RolloutList}\n  \
        versions:\n  - name: v1alpha1\n    served: true\n    storage: true\n    schema:\n      openAPIV3Schema:\n        type: object\n        \
        properties: {spec: {type: object, properties: {template: {type: object, properties: {spec: {type: object, properties: \
        {containers: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {type: object, \
        required: [name], properties: {name: {type: string}, image: {type: string}}}}}}}}}}}\n";
    bench.write("apps/web/definition.yaml", definition);
    bench.write("apps/web/kustomization.yaml", top(", definition.yaml"));
    let (_, lines, document) = found(&bench, &["clusters/prod"]);
    let document = document.to_string();
    assert!(
        lines.contains(&finding) && document.contains("merges the list by name"),
        "{document}"
    );
}

/// The API server refuses a ConfigMap whose values are not texts; they are not rendered as if they were empty.
#[test]
fn values_that_are_not_a_text_are_an_error() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path(".git")).unwrap();
    bench.write("clusters/a/sync.yaml", sync("a"));
    bench.write("charts/web/Chart.yaml", "{apiVersion: v2, name: web, version: 1.0.0}");
    let release = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: web, namespace: flux-system}\nspec:\n  \
                   interval: 1h\n  chart: {spec: {chart: ./charts/web, sourceRef: {kind: GitRepository, name: fleet}}}\n  \
                   valuesFrom: [{kind: ConfigMap, name: web}]\n";
    bench.write("clusters/a/release.yaml", release);
    let map = |data: &str| {
        let map =
            format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: web, namespace: flux-system}}\ndata: {data}\n");
        bench.write("clusters/a/map.yaml", map);
        let (_, _, document) = found(&bench, &["clusters/a"]);
        document
            .to_string()
            .contains("with key 'values.yaml': the value is not a text")
    };
    assert!(map("{values.yaml: {image: {tag: 1.0.0}}}"));
    assert!(!map("{values.yaml: 'image: {tag: 1.0.0}'}"));
    assert!(!map("{values.yaml: null}"));
}

/// A misspelt key of a release is found at its place; what a chart passes on, its defaults, `global` and keys of
/// Secrets are not told.
#[test]
fn values_that_no_template_reads_are_told() {
    let bench = Bench::new();
    bench.write("clusters/a/sync.yaml", sync("a"));
    bench.write("charts/web/Chart.yaml", "{apiVersion: v2, name: web, version: 1.0.0}");
    bench.write("charts/web/values.yaml", "unused: 1\nimage: {tag: 1.0.0}\n");
    let template = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata:\n  image: {{ .Values.image.tag | quote }}\n  more: |\n    \
                    {{- toYaml .Values.extra | nindent 4 }}\n";
    bench.write("charts/web/templates/map.yaml", template);
    let release = |values: &str| {
        format!(
            "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {{name: web, namespace: flux-system}}\nspec:\n  interval: 1h\n  \
             chart: {{spec: {{chart: ./charts/web, sourceRef: {{kind: GitRepository, name: fleet}}}}}}\n  \
             valuesFrom: [{{kind: Secret, name: web}}]\n  values:\n{values}"
        )
    };
    let values = "    image:\n      tga: 1.0.0\n    extra: {any: 1}\n    unused: 2\n    global: {x: 1}\n    other: 1\n";
    bench.write("clusters/a/release.yaml", release(values));
    bench.write(
        "clusters/a/secret.yaml",
        "apiVersion: v1\nkind: Secret\nmetadata: {name: web, namespace: flux-system}\nstringData: {values.yaml: 'hush: 1'}\n",
    );
    let told = || -> Vec<String> {
        let (code, found) = bench.json(&["fleet", "check", "--offline", "--path", ".", "clusters/a"]);
        assert!(code < 2, "{found:#}");
        let found = found["findings"].as_array().unwrap().iter();
        let found = found.filter(|finding| finding["rule"] == "unread-value");
        found
            .map(|finding| {
                assert_eq!(finding["severity"], "warning", "{finding:#}");
                let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                let (place, help) = (&finding["place"], text(&finding["help"]));
                format!(
                    "{}:{}:{} {} {help}",
                    text(&place["path"]),
                    place["line"],
                    place["column"],
                    text(&finding["message"])
                )
            })
            .collect()
    };
    assert_eq!(
        told(),
        [
            "clusters/a/release.yaml:10:7 no template of chart web reads the value image.tga did you mean tag?",
            "clusters/a/release.yaml:14:5 no template of chart web reads the value other ",
        ]
    );
    bench.write("charts/web/templates/all.yaml", "{{- $_ := tpl (toYaml .Values) . }}");
    assert_eq!(told(), [""; 0]);
}

/// A field is found where it gets its value: in a patch of the Kustomization, or at a variable.
#[test]
fn places_are_those_of_patches_and_variables() {
    let bench = sound();
    let lines = |more: &str, replicas: &str| {
        let spec = "spec:\n  interval: 5m\n  prune: true\n  path: ./apps/web\n  sourceRef: {kind: GitRepository, name: fleet}\n";
        let web = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: web, namespace: flux-system}\n";
        bench.write("clusters/prod/web.yaml", format!("{web}{spec}{more}"));
        let deployment = DEPLOYMENT.replace("replicas: 2", &format!("replicas: {replicas}"));
        bench.write("apps/web/deployment.yaml", deployment);
        found(&bench, &["clusters/prod"]).1
    };
    bench.write(
        "clusters/prod/variables.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: vars, namespace: flux-system}\ndata: {REPLICAS: many}\n",
    );
    for (more, replicas, place) in [
        (
            "  patches:\n  - target: {kind: Deployment}\n    patch: |\n      - {op: replace, path: /spec/replicas, value: many}\n",
            "2",
            "clusters/prod/web.yaml:12:52",
        ),
        (
            "  postBuild:\n    substitute:\n      REPLICAS: many\n",
            "${REPLICAS}",
            "clusters/prod/web.yaml:11:17",
        ),
        (
            "  postBuild:\n    substituteFrom: [{kind: ConfigMap, name: vars}]\n",
            "${REPLICAS}",
            "clusters/prod/variables.yaml:4:18",
        ),
        ("", "many", "apps/web/deployment.yaml:5:13"),
    ] {
        let lines = lines(more, replicas);
        assert!(lines.contains(&format!("{place} error[schema]")), "{place} {lines:#?}");
    }
    // Of a patch in a kustomization, too.
    bench.write(
        "apps/web/kustomization.yaml",
        "resources: [deployment.yaml]\npatches:\n- patch: |\n    - {op: replace, path: /spec/replicas, value: few}\n  target: {kind: Deployment}\n",
    );
    let lines = lines("", "2");
    let place = "apps/web/kustomization.yaml:4:50 error[schema]";
    assert!(lines.contains(&place.to_owned()), "{lines:#?}");
}

/// A ServiceAccount with nearly the name of another is a slip; one that nothing makes is a note where all is known.
#[test]
fn service_accounts_that_nothing_makes_are_told() {
    let bench = sound();
    let account =
        |name: &str| format!("---\napiVersion: v1\nkind: ServiceAccount\nmetadata: {{name: {name}, namespace: web}}\n");
    let told = |name: &str, others: &str| {
        let spec = format!("    spec:\n      serviceAccountName: {name}\n");
        bench.write("apps/web/deployment.yaml", DEPLOYMENT.replace("    spec:\n", &spec));
        bench.write(
            "apps/web/others.yaml",
            format!("{}{others}", account("runner").trim_start_matches("---\n")),
        );
        let (_, lines, document) = found(&bench, &["clusters/prod"]);
        let helps = document["findings"].as_array().unwrap().iter();
        let helps = helps.map(|finding| finding["help"].as_str().unwrap_or_default().to_owned());
        (lines, helps.collect::<Vec<String>>())
    };
    let namespace = "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: web}\n";
    let at = "apps/web/deployment.yaml:10:27";
    let (lines, helps) = told("runer", "");
    assert_eq!(lines, [format!("{at} warning[missing-service-account]")]);
    assert_eq!(helps, ["did you mean web/runner?"]);
    let (lines, _) = told("elsewhere", namespace);
    assert_eq!(lines, [format!("{at} note[missing-service-account]")]);
    let generated = "---\napiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: p}\n\
                     spec: {rules: [{name: r, generate: {kind: ServiceAccount, name: elsewhere, namespace: web}}]}\n";
    for (name, others) in [
        ("elsewhere", String::new()),
        ("runner", namespace.to_owned()),
        ("default", namespace.to_owned()),
        ("elsewhere", format!("{namespace}{generated}")),
        ("elsewhere", format!("{namespace}{}", account("'else${open}'"))),
    ] {
        let (lines, _) = told(name, &others);
        let is_told = lines.iter().any(|line| line.contains("missing-service-account"));
        assert!(!is_told, "{name} {others} {lines:#?}");
    }
    // The login for images of an account is one of the Secrets that pods need.
    let secret = "---\napiVersion: v1\nkind: Secret\nmetadata: {name: registry, namespace: web}\ntype: Opaque\nstringData: {a: '${b}'}\n";
    let pulling = format!("{}imagePullSecrets: [{{name: registri}}]\n{secret}", account("puller"));
    let (lines, helps) = told("runner", &pulling);
    assert!(
        lines.iter().any(|line| line.ends_with("warning[missing-secret]")),
        "{lines:#?}"
    );
    assert!(helps.contains(&"did you mean web/registry?".to_owned()), "{helps:#?}");
}

/// Of what pods need only slips are told: the fleet seldom has all of it.
#[test]
fn a_slip_in_what_a_pod_needs_is_told() {
    let bench = sound();
    bench.write(
        "apps/web/given.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: plain, namespace: web}\ndata: {level: debug}\n---\n\
         apiVersion: v1\nkind: ConfigMap\nmetadata: {name: part-1, namespace: web}\ndata: {a: b}\n---\n\
         apiVersion: v1\nkind: ConfigMap\n\
         metadata: {name: shared, namespace: web, annotations: {kustomize.toolkit.fluxcd.io/ssa: Merge}}\ndata: {a: b}\n",
    );
    let told = |spec: &str| {
        let container = "        image: ghcr.io/acme/web:1.0.0 # {\"$imagepolicy\": \"flux-system:web\"}\n";
        bench.write(
            "apps/web/deployment.yaml",
            DEPLOYMENT.replace(container, &format!("{container}{spec}")),
        );
        let (_, lines, document) = found(&bench, &["clusters/prod"]);
        let messages = document["findings"].as_array().unwrap().iter();
        let messages: Vec<String> = messages
            .map(|finding| format!("{} {}", finding["message"], finding["help"]).replace('"', ""))
            .collect();
        (lines, messages)
    };
    let (lines, messages) = told("        envFrom: [{configMapRef: {name: plan}}]\n");
    assert_eq!(lines, ["apps/web/deployment.yaml:13:41 warning[missing-config-map]"]);
    assert_eq!(
        messages,
        ["ConfigMap web/plan is not in the fleet did you mean web/plain?"]
    );
    let key = |name: &str, key: &str, more: &str| {
        format!("        env: [{{name: A, valueFrom: {{configMapKeyRef: {{name: {name}, key: {key}{more}}}}}}}]\n")
    };
    let (_, messages) = told(&key("plain", "lvel", ""));
    assert_eq!(messages, ["ConfigMap web/plain has no key lvel did you mean level?"]);
    let volume = "      volumes: [{name: v, configMap: {name: plain, items: [{key: nothing, path: x}]}}]\n";
    assert_eq!(told(volume).1, ["ConfigMap web/plain has no key nothing null"]);
    for fine in [
        key("plain", "level", ""),
        key("plain", "lvel", ", optional: true"),
        key("part-2", "a", ""),
        key("elsewhere", "a", ""),
        key("shared", "of-somebody-else", ""),
        "        envFrom: [{secretRef: {name: plan}}]\n".to_owned(),
    ] {
        assert_eq!(told(&fine).0, [""; 0], "{fine}");
    }
    // An operator makes it.
    bench.write(
        "apps/web/external.yaml",
        "apiVersion: external-secrets.io/v1\nkind: ExternalSecret\nmetadata: {name: plan, namespace: web}\n\
         spec: {secretStoreRef: {name: s, kind: ClusterSecretStore}, target: {name: plan}, data: [{secretKey: a, remoteRef: {key: b}}]}\n---\n\
         apiVersion: v1\nkind: Secret\nmetadata: {name: plane, namespace: web}\nstringData: {a: '${b}'}\n",
    );
    let (lines, _) = told("        envFrom: [{secretRef: {name: plan}}]\n");
    assert!(!lines.iter().any(|line| line.contains("missing-secret")), "{lines:#?}");
    // Of two that may be meant, one has a name that a variable completes.
    let map = |name: &str| {
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: '{name}', namespace: web}}\ndata: {{a: b}}\n")
    };
    let is_found = |name: &str| {
        bench.write(
            "apps/web/settings.yaml",
            format!("{}---\n{}", map("settings-blau"), map(name)),
        );
        let (lines, _) = told(&key("settings-blue", "a", ""));
        lines.iter().any(|line| line.contains("missing-config-map"))
    };
    assert!(is_found("other-${colour}"));
    assert!(!is_found("settings-${colour}"));
}

/// A key that somebody makes by hand in each cluster is one note.
#[test]
fn a_key_of_several_clusters_is_one_note() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path(".git")).unwrap();
    let decryption = ", decryption: {provider: sops, secretRef: {name: sops-age}}";
    for cluster in ["a", "b"] {
        let apps = kustomization("apps", "./apps", decryption);
        bench.write(
            &format!("clusters/{cluster}/sync.yaml"),
            format!("{}---\n{apps}", sync(cluster)),
        );
    }
    bench.write(
        "apps/map.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m, namespace: web}\n",
    );
    let (_, lines, document) = found(&bench, &["clusters/a", "clusters/b"]);
    let notes: Vec<&String> = lines
        .iter()
        .filter(|line| line.ends_with("note[missing-secret]"))
        .collect();
    assert_eq!(notes.len(), 1, "{lines:#?}");
    let findings = document["findings"].as_array().unwrap();
    let note = findings
        .iter()
        .find(|finding| finding["rule"] == "missing-secret")
        .unwrap();
    let clusters: Vec<&Value> = note["origins"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["cluster"])
        .collect();
    assert_eq!(clusters, ["clusters/a", "clusters/b"], "{note:#}");
}

/// A marker on the tag of another image is told, with the policy that is meant if there is one.
#[test]
fn a_marker_for_another_image_is_told() {
    let bench = sound();
    let images = |image: &str| {
        format!(
            "resources: [deployment.yaml]\nimages:\n- name: {image}\n  newTag: 1.0.0 # {{\"$imagepolicy\": \"flux-system:web:tag\"}}\n"
        )
    };
    bench.write("apps/web/kustomization.yaml", images("mirror.example.com/acme/web"));
    assert_eq!(found(&bench, &["clusters/prod"]).1, [""; 0]);
    bench.write("apps/web/kustomization.yaml", images("ghcr.io/acme/worker"));
    let at = "apps/web/kustomization.yaml:4:11";
    assert_eq!(
        found(&bench, &["clusters/prod"]).1,
        [format!("{at} note[unknown-policy]")]
    );
    let worker = IMAGES.split("---\n").take(2).collect::<Vec<_>>().join("---\n");
    let worker = worker
        .replace("name: web", "name: worker")
        .replace("acme/web", "acme/worker");
    bench.write("clusters/prod/worker.yaml", worker);
    let (_, lines, document) = found(&bench, &["clusters/prod"]);
    assert_eq!(lines, [format!("{at} warning[unknown-policy]")], "{document:#}");
    let finding = &document["findings"][0];
    assert_eq!(
        finding["message"],
        "ImagePolicy flux-system/web of the marker is for image ghcr.io/acme/web, and the tag is of ghcr.io/acme/worker"
    );
    assert_eq!(finding["help"], "did you mean flux-system:worker?");
}
