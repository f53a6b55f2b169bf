//! `update --fleet`: policies that only a build gives, what edits change in clusters, and edits that would break
//! a build. The layout is that of a fleet whose policies get their namespace by a kustomization two folders up,
//! in one cluster for all.

use std::path::Path;

use bumpwright_testkit::cli::{Bench, policy, ran};
use bumpwright_testkit::registry::Registry;
use bumpwright_testkit::repo::{self, Change, Repo};
use serde_json::{Value, json};

const AUTHOR: [&str; 2] = ["--author", "Bot <bot@example.com>"];
const BOTH: &str = "clusters/ops,clusters/prod";

/// What `flux bootstrap` writes for a cluster.
fn sync(cluster: &str) -> (String, String) {
    let text = format!(
        "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {{name: flux-system, namespace: flux-system}}\n\
         spec: {{interval: 1m, url: 'https://git.example.com/acme/fleet', ref: {{branch: main}}}}\n---\n{}",
        kustomization("flux-system", &format!("./clusters/{cluster}"), "")
    );
    (format!("clusters/{cluster}/flux-system/gotk-sync.yaml"), text)
}

fn kustomization(name: &str, path: &str, rest: &str) -> String {
    format!(
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: {name}, namespace: flux-system}}\nspec:\n  \
         interval: 1h\n  prune: true\n  path: {path}\n  sourceRef: {{kind: GitRepository, name: flux-system}}\n{rest}"
    )
}

/// A policy and its repository, of a folder that says nothing of their namespace and interval.
fn unnamed_policy(name: &str) -> String {
    let policy = policy("X", name, "", "")
        .replace(", namespace: X", "")
        .replace("'*'", "'>=0.0.0-0'");
    let policy = policy.split("status:").next().unwrap();
    format!(
        "{policy}---\napiVersion: image.toolkit.fluxcd.io/v1\nkind: ImageRepository\nmetadata: {{name: {name}}}\n\
         spec: {{image: ghcr.io/acme/{name}}}\n"
    )
}

const DEPLOYMENT: &str = r#"apiVersion: apps/v1
kind: Deployment
metadata: {name: web, annotations: {example.com/release: none}}
spec:
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: ghcr.io/acme/web:1.0.0-r1 # {"$imagepolicy": "flux-system:web"}
        envFrom: [{configMapRef: {name: settings}}]
"#;

const PATCH: &str = r#"apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  template:
    spec:
      containers:
      - name: web
        image: ghcr.io/acme/web:1.0.0-r1 # {"$imagepolicy": "flux-system:web"}
"#;

const CRON: &str = r#"apiVersion: batch/v1
kind: CronJob
metadata: {name: report}
spec:
  schedule: 0 * * * *
  jobTemplate:
    spec:
      template:
        spec:
          containers:
          - name: report
            image: ghcr.io/acme/report:1.0.0 # {"$imagepolicy": "flux-system:report"}
"#;

/// Newer images, as if registries had them.
const NEWER: [&str; 4] = [
    "--set",
    "flux-system:web=ghcr.io/acme/web:2.0.0-r7",
    "--set",
    "flux-system:report=ghcr.io/acme/report:1.4.0",
];

/// The fleet.
fn fleet() -> Vec<(String, String)> {
    let file = |path: &str, text: &str| (path.to_owned(), text.to_owned());
    vec![
        sync("ops"),
        file(
            "clusters/ops/images.yaml",
            &kustomization("images", "./apps/flux-system/automation", ""),
        ),
        sync("prod"),
        file("clusters/prod/web.yaml", &kustomization("web", "./apps/web/prod", "")),
        file(
            "apps/flux-system/automation/kustomization.yaml",
            "namespace: flux-system\nresources: [../../web/automation]\npatches:\n- target: {kind: ImageRepository}\n  patch: |-\n    - {op: \
             add, path: /spec/interval, value: 5m}\n",
        ),
        file(
            "apps/web/automation/kustomization.yaml",
            "resources: [web.yaml, report.yaml]\n",
        ),
        file("apps/web/automation/web.yaml", &unnamed_policy("web")),
        file("apps/web/automation/report.yaml", &unnamed_policy("report")),
        file(
            "apps/web/base/kustomization.yaml",
            "resources: [web.yaml, report.yaml]\nconfigMapGenerator:\n- {name: settings, files: [settings.yaml]}\n",
        ),
        file("apps/web/base/web.yaml", DEPLOYMENT),
        file("apps/web/base/report.yaml", CRON),
        file(
            "apps/web/base/settings.yaml",
            "release: 1.0.0-r1 # {\"$imagepolicy\": \"flux-system:web:tag\"}\n",
        ),
        file(
            "apps/web/prod/kustomization.yaml",
            "namespace: web\nresources: [../base]\npatches: [{path: web.yaml}]\n",
        ),
        file("apps/web/prod/web.yaml", PATCH),
    ]
}

/// As a working folder with its repository.
fn folder(files: &[(String, String)]) -> Bench {
    let bench = Bench::new();
    repo::run(repo::git(&bench.dir).args(["init", "-q", "--initial-branch=main"]));
    files.iter().for_each(|(path, text)| drop(bench.write(path, text)));
    bench
}

/// As a remote.
fn remote(bench: &Bench, files: &[(String, String)]) -> (Repo, String) {
    let repo = bench.repository("fleet.git");
    let changes = files.iter();
    let changes: Vec<Change<'_>> = changes
        .map(|(path, text)| Change::File(path, text.as_bytes()))
        .collect();
    repo.commit("main", "first", &changes);
    let url = format!("file://{}", repo.dir.display());
    (repo, url)
}

/// Arguments with newer images.
fn newer<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    [arguments, &NEWER].concat()
}

/// Arguments for a remote, with newer images.
fn pushed<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    [arguments, &NEWER, &AUTHOR].concat()
}

fn places(run: &Value) -> Vec<String> {
    let changes = run["changes"].as_array().unwrap().iter();
    changes
        .map(|change| format!("{}:{}", change["path"].as_str().unwrap(), change["line"]))
        .collect()
}

#[test]
fn policies_that_only_a_build_gives_are_found() {
    let Some(registry) = Registry::start() else { return };
    registry.images().tags("acme/web", &["1.0.0-r1", "2.0.0-r7"]);
    registry.images().tags("acme/report", &["1.0.0", "1.4.0"]);
    let here = |(path, text): (String, String)| (path, text.replace("ghcr.io", &registry.host()));
    let bench = folder(&fleet().into_iter().map(here).collect::<Vec<_>>());
    let raw = bench.ok(&["update", "--dry-run"]);
    assert!(
        raw.out.contains("there is no ImagePolicy flux-system/web"),
        "{}",
        raw.out
    );
    let note = "note: markers name policies that only a build gives: try --fleet clusters/ops\n";
    assert!(raw.err.contains(note), "{}", raw.err);
    // What is to be typed counts from where one is.
    let apart = bench.path("apps");
    let from_apart = |arguments: &[&str]| ran(bench.command(arguments).current_dir(&apart).output().unwrap());
    let hint = from_apart(&["update", "--dry-run", ".."]);
    assert!(hint.err.contains("try --fleet ../clusters/ops\n"), "{}", hint.err);
    let taken = from_apart(&["update", "--dry-run", "--fleet", "../clusters/ops", ".."]);
    assert_eq!(taken.code, 0, "{}", taken.err);
    let (code, found) = bench.json(&["update", "--dry-run", "--fleet", "clusters/ops"]);
    assert_eq!(code, 0, "{found:#}");
    assert_eq!(
        places(&found["runs"][0]),
        [
            "apps/web/base/report.yaml:12",
            "apps/web/base/settings.yaml:1",
            "apps/web/base/web.yaml:10",
            "apps/web/prod/web.yaml:10"
        ]
    );
    assert_eq!(found["runs"][0]["skips"], json!([]));
    // A cluster without policies does not know them either, whatever files there are.
    let other = bench.ok(&["update", "--dry-run", "--fleet", "clusters/prod"]);
    assert!(
        other.out.contains("there is no ImagePolicy flux-system/web") && !other.err.contains("try"),
        "{}",
        other.out
    );
    let shown = bench.ok(&["policy", "--fleet", "clusters/ops"]).out;
    assert!(
        shown.contains("flux-system/web") && shown.contains("2.0.0-r7"),
        "{shown}"
    );
}

/// A policy that nobody knows may be in what was not built: that is what has to be mended.
/// An automation that cannot be used has a branch and an author that would be lost: nothing is committed without it.
#[test]
fn an_automation_that_cannot_be_used_stops_the_update() {
    let automation = "apiVersion: image.toolkit.fluxcd.io/v1\nkind: ImageUpdateAutomation\nmetadata: {name: fleet, namespace: flux-system}\nspec:\n  \
                      interval: 1h\n  sourceRef: {kind: GitRepository, name: flux-system}\n  git:\n    commit: {author: {name: bot, email: bot@example.com}}\n    \
                      push: {branch: review}\n";
    let with = |text: &str| {
        let mut files = fleet();
        files.push(("clusters/ops/automation.yaml".to_owned(), text.to_owned()));
        let bench = Bench::new();
        let (_, url) = remote(&bench, &files);
        let arguments = ["update", &url, "--dry-run", "--fleet", "clusters/ops"];
        bench.run(&newer(&arguments))
    };
    let sound = with(automation);
    assert!(
        sound.code == 0 && sound.out.contains("review"),
        "{}{}",
        sound.out,
        sound.err
    );
    for (from, to, why) in [
        (
            "name: flux-system}\n  git",
            "name: flux-sys}\n  git",
            "ImageUpdateAutomation flux-system/fleet: GitRepository flux-system/flux-sys is not in the fleet",
        ),
        (
            "kind: ImageUpdateAutomation",
            "kind: ImageUpdateAutomaton",
            "kind ImageUpdateAutomaton is unknown in image.toolkit.fluxcd.io: did you mean ImageUpdateAutomation?",
        ),
        ("    push:", "    psuh:", "spec.git.psuh is unknown: did you mean push?"),
    ] {
        let ran = with(&automation.replace(from, to));
        assert!(ran.code == 2 && ran.err.contains(why), "{}{}", ran.out, ran.err);
    }
}

#[test]
fn what_did_not_build_is_named_in_the_place_of_its_policies() {
    let mut files = fleet();
    files.retain(|(path, _)| path != "apps/web/automation/report.yaml");
    let bench = folder(&files);
    let failed = "Kustomization flux-system/images could not be built: ";
    let cause = "apps/web/automation/kustomization.yaml:1:23";
    let ran = bench.run(&["update", "--dry-run", "--offline", "--fleet", "clusters/ops"]);
    let wanted = format!("ImagePolicy flux-system/web is not known: {failed}");
    assert!(ran.out.contains(&wanted) && ran.out.contains(cause), "{}", ran.out);
    assert!(!ran.out.contains("there is no ImagePolicy"), "{}", ran.out);
    let ran = bench.run(&["policy", "--offline", "--fleet", "clusters/ops"]);
    assert!(
        ran.code == 2 && ran.err.contains(failed) && ran.err.contains(cause),
        "{}",
        ran.err
    );
    // Others than the one that failed do not have its policies either, and all that failed are named.
    let ran = bench.run(&["update", "--dry-run", "--offline", "--fleet", BOTH]);
    assert!(
        ran.out
            .contains("Kustomization flux-system/images of clusters/ops could not be built"),
        "{}",
        ran.out
    );
}

#[test]
fn the_hint_needs_a_cluster_that_has_the_policies() {
    let mut files = fleet();
    files.retain(|(path, _)| !path.starts_with("clusters/ops"));
    let bench = folder(&files);
    let ran = bench.ok(&["update", "--dry-run"]);
    assert!(
        ran.out.contains("UnknownPolicy") && !ran.err.contains("--fleet"),
        "{}",
        ran.err
    );
}

/// A cluster that is an overlay of a common one: its Kustomization comes out of its own build.
#[test]
fn the_hint_finds_clusters_that_come_out_of_their_own_build() {
    let mut files = fleet();
    for (path, text) in &mut files {
        if path.starts_with("clusters/ops/") {
            *path = path.replace("clusters/ops/", "clusters/common/");
            *text = text.replace("./clusters/ops", "./clusters/${CLUSTER}");
        }
    }
    files.retain(|(path, _)| !path.starts_with("clusters/prod"));
    let file = |path: &str, text: &str| (path.to_owned(), text.to_owned());
    files.push(file(
        "clusters/common/kustomization.yaml",
        "resources: [images.yaml, flux-system/gotk-sync.yaml]\n",
    ));
    files.push(file(
        "clusters/ops/kustomization.yaml",
        "resources: [../common]\npatches:\n- target: {kind: Kustomization, name: flux-system}\n  patch: |\n    - {op: replace, path: \
         /spec/path, value: ./clusters/ops}\n",
    ));
    let bench = folder(&files);
    let ran = bench.ok(&["update", "--dry-run"]);
    assert!(ran.err.contains("try --fleet clusters/ops\n"), "{}", ran.err);
    let found = bench.ok(&newer(&["update", "--dry-run", "--fleet", "clusters/ops"]));
    assert!(found.out.contains("would edit 4 fields in 4 files"), "{}", found.out);
}

#[test]
fn the_impact_is_what_the_edits_change_in_the_clusters() {
    let bench = folder(&fleet());
    let (code, document) = bench.json(&newer(&["update", "--dry-run", "--fleet", BOTH]));
    assert_eq!(code, 0, "{document:#}");
    let impact = &document["runs"][0]["impact"];
    let web = json!({"cluster": "clusters/prod", "namespace": "flux-system", "name": "web"});
    assert_eq!(impact["kustomizations"], json!([web]));
    let workloads: Vec<Value> = impact["workloads"].as_array().unwrap().clone();
    let shown: Vec<(&str, &str, bool, u64)> = workloads
        .iter()
        .map(|workload| {
            let object = &workload["object"];
            let image = workload["images"][0]["new"].as_str().unwrap();
            let fields = workload["fields"].as_u64().unwrap();
            (
                object["kind"].as_str().unwrap(),
                image,
                workload["restarts"].as_bool().unwrap(),
                fields,
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            ("CronJob", "ghcr.io/acme/report:1.4.0", false, 1),
            // The image, and the name of the ConfigMap.
            ("Deployment", "ghcr.io/acme/web:2.0.0-r7", true, 2),
        ]
    );
    let objects = impact["objects"].as_array().unwrap();
    assert_eq!(objects.len(), 1, "{impact:#}");
    let (object, name) = (&objects[0], objects[0]["object"]["name"].as_str().unwrap());
    assert!(name.starts_with("settings-"), "{name}");
    assert_eq!(
        (&object["action"], &object["fields"]),
        (&json!("configured"), &json!(1))
    );
    // The image of the base is replaced by the patch, wherever it is used.
    let dead = json!([{"path": "apps/web/base/web.yaml", "line": 10, "column": 16, "setter": "flux-system:web"}]);
    assert_eq!((&impact["deadMarkers"], &impact["notes"]), (&dead, &json!([])));
    // One cluster has no name of its own, and what it does not build is dead.
    let (_, alone) = bench.json(&newer(&["update", "--dry-run", "--fleet", "clusters/ops"]));
    let alone = &alone["runs"][0]["impact"];
    assert_eq!(
        (&alone["kustomizations"], alone["deadMarkers"].as_array().unwrap().len()),
        (&json!([]), 4)
    );
}

#[test]
fn every_output_tells_the_impact() {
    let bench = folder(&fleet());
    let run = |more: &[&str]| {
        bench
            .ok(&[&newer(&["update", "--dry-run", "--fleet", BOTH]), more].concat())
            .out
    };
    let text = run(&[]);
    for line in [
        "impact 1 Kustomization changes: 2 workloads, 1 other object; 1 workload restarts; 1 dead marker",
        "  Kustomization clusters/prod: flux-system/web\n    CronJob web/report",
        "    Deployment web/web  web: ghcr.io/acme/web:1.0.0-r1 → ghcr.io/acme/web:2.0.0-r7 (configured, restarts)",
        "  dead marker apps/web/base/web.yaml:10:16",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    let markdown = run(&["--output", "markdown"]);
    assert!(
        markdown.contains("### Impact") && markdown.contains("| `Deployment web/web` |"),
        "{markdown}"
    );
    let html = run(&["--output", "html"]);
    for text in [
        "Impact: 1 Kustomization changes",
        "Deployment web/web",
        "<span class=\"badge warn\">restarts</span>",
    ] {
        assert!(html.contains(text), "{text}\n{html}");
    }
    let (_, url) = remote(&bench, &fleet());
    let template = "Bump{{ range .Impact.Restarts }}, restarts {{ .Kind }} {{ .Name }}{{ end }}";
    let arguments = ["update", &url, "--dry-run", "--fleet", BOTH, "--message", template];
    let (_, document) = bench.json(&pushed(&arguments));
    assert_eq!(
        document["runs"][0]["commit"]["message"],
        "Bump, restarts Deployment web"
    );
}

/// A part of the fleet is edited: paths are those of the whole.
#[test]
fn a_folder_of_the_repository_is_verified_in_the_whole() {
    let bench = folder(&fleet());
    let (_, document) = bench.json(&newer(&["update", "apps/web/prod", "--dry-run", "--fleet", BOTH]));
    let run = &document["runs"][0];
    assert_eq!(places(run), ["web.yaml:10"]);
    assert_eq!(run["impact"]["workloads"].as_array().unwrap().len(), 1, "{run:#}");
    assert_eq!(run["impact"]["deadMarkers"], json!([]));
    let outside = tempfile::tempdir().unwrap();
    let ran = bench.run(&["update", outside.path().to_str().unwrap(), "--fleet", "clusters/ops"]);
    assert!(
        ran.code == 2 && ran.err.contains("--fleet clusters/ops: not below"),
        "{}",
        ran.err
    );
    let ran = bench.run(&["update", "--verify", "build"]);
    assert!(
        ran.code == 2 && ran.err.contains("--verify build needs --fleet"),
        "{}",
        ran.err
    );
}

/// The release in an annotation is the part of the image behind its hyphen, which the newer image does not have.
const REPLACEMENT: &str = "replacements:\n- source:\n    {kind: Deployment, name: web, fieldPath: spec.template.spec.containers.0.image, options: \
    {delimiter: '-', index: 1}}\n  targets:\n  - select: {kind: Deployment, name: web}\n    fieldPaths: \
    ['metadata.annotations.[example.com/release]']\n";

/// The fleet with a build that needs a hyphen in the tag of `web`, whose newer image has none.
fn fragile() -> Vec<(String, String)> {
    let mut files = fleet();
    for (path, text) in &mut files {
        if path == "apps/web/prod/kustomization.yaml" {
            *text += REPLACEMENT;
        }
    }
    files
}

/// Arguments with newer images, of which `web` has no hyphen in its tag.
fn unlucky<'a>(arguments: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    let newer = NEWER.map(|text| text.trim_end_matches("-r7"));
    [arguments, &newer, more].concat()
}

#[test]
fn edits_that_break_a_build_are_not_pushed() {
    let bench = Bench::new();
    let (repo, url) = remote(&bench, &fragile());
    let before = repo.rev("main");
    let arguments = unlucky(&["update", &url, "--fleet", BOTH, "--verify", "build"], &AUTHOR);
    let (code, document) = bench.json(&arguments);
    assert_eq!((code, repo.rev("main")), (2, before), "{document:#}");
    let error = document["runs"][0]["error"].as_str().unwrap();
    assert!(
        error.contains("Kustomization clusters/prod: flux-system/web would fail: "),
        "{error}"
    );
    // Only the field that breaks it is named.
    assert!(
        error.contains("caused by apps/web/prod/web.yaml:10:16 (flux-system:web: "),
        "{error}"
    );
    assert_eq!(error.matches(" → ").count(), 1, "{error}");
    // What would fail is told in any case.
    let (code, told) = bench.json(&unlucky(&["update", &url, "--fleet", BOTH, "--dry-run"], &AUTHOR));
    let notes = told["runs"][0]["impact"]["notes"].to_string();
    assert!(code == 0 && notes.contains("flux-system/web would fail"), "{notes}");
    // In a folder nothing is written.
    let bench = folder(&fragile());
    let ran = bench.run(&unlucky(&["update", "--fleet", BOTH, "--verify", "build"], &[]));
    assert!(ran.code == 2 && ran.err.contains("would fail"), "{}", ran.err);
    assert_eq!(bench.read("apps/web/prod/web.yaml"), PATCH);
    // Without the field the others are written.
    bench.write(
        "apps/web/prod/web.yaml",
        PATCH.replace(" # {", " #{").replace("$image", "$"),
    );
    let ran = bench.ok(&unlucky(&["update", "--fleet", BOTH, "--verify", "build"], &[]));
    assert!(ran.out.contains("edited 3 fields in 3 files"), "{}", ran.out);
}

/// A variable that has no value with the edits, where variables have to have one.
#[test]
fn variables_of_a_changed_file_are_those_of_all_builds() {
    let mut files = fleet();
    let rest = "  postBuild: {substituteFrom: [{kind: ConfigMap, name: release}]}\n";
    for (path, text) in &mut files {
        match path.as_str() {
            "clusters/prod/web.yaml" => *text += rest,
            "apps/web/prod/web.yaml" => {
                *text = text.replace("1.0.0-r1 # {\"$imagepolicy\": \"flux-system:web\"}", "${release}")
            }
            _ => {}
        }
    }
    let release = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: release, namespace: flux-system}\ndata:\n  release: 1.0.0-r1 \
                   # {\"$imagepolicy\": \"flux-system:web:tag\"}\n";
    files.push(("clusters/prod/release.yaml".to_owned(), release.to_owned()));
    let bench = folder(&files);
    let (_, document) = bench.json(&newer(&[
        "update",
        "clusters/prod/release.yaml",
        "--dry-run",
        "--fleet",
        BOTH,
    ]));
    let impact = &document["runs"][0]["impact"];
    assert_eq!(impact["kustomizations"].as_array().unwrap().len(), 2, "{impact:#}");
    assert_eq!(impact["workloads"][0]["images"][0]["new"], "ghcr.io/acme/web:2.0.0-r7");
    assert_eq!(impact["objects"][0]["object"]["name"], "release");
}

/// What is not among the manifests is told with what was meant, and paths as they were given.
#[test]
fn a_misspelt_repository_or_cluster_is_told() {
    let bench = folder(&fleet());
    let policy = bench.read("apps/web/automation/web.yaml");
    let misspelt = policy.replace("imageRepositoryRef: {name: web}", "imageRepositoryRef: {name: wbe}");
    assert_ne!(policy, misspelt);
    bench.write("apps/web/automation/web.yaml", misspelt);
    let meant = "its ImageRepository flux-system/wbe is not among the manifests (did you mean flux-system/web?)";
    let ran = bench.run(&["update", "--dry-run", "--fleet", BOTH, "--path", "apps/web/prod"]);
    assert!(ran.out.contains(meant), "{}{}", ran.out, ran.err);
    let ran = bench.run(&["policy", "--fleet", BOTH, "web"]);
    assert!(ran.out.contains(meant), "{}{}", ran.out, ran.err);
    for command in ["update", "policy"] {
        let ran = bench.run(&[command, "--fleet", "clusters/nope"]);
        assert_eq!(
            (ran.code, ran.err.as_str()),
            (2, "error: --fleet clusters/nope: no such file or directory\n")
        );
    }
}

/// A change of the number of pods, and one of a build that fails.
#[test]
fn the_impact_counts_workloads_and_says_what_is_not_known() {
    let mut files = fleet();
    for (path, text) in &mut files {
        if path == "apps/web/prod/web.yaml" {
            *text = text.replace(
                "replicas: 3",
                "replicas: 3 # {\"$imagepolicy\": \"flux-system:web:tag\"}",
            );
            *text = text.replace("1.0.0-r1 # {\"$imagepolicy\": \"flux-system:web\"}", "1.0.0-r1");
        }
    }
    let bench = folder(&files);
    let set = ["--set", "flux-system:web=ghcr.io/acme/web:4", "--path", "apps/web/prod"];
    let arguments = ["update", "--dry-run", "--fleet", BOTH];
    let ran = bench.ok(&[&arguments[..], &set, &["--overwrite-mismatches"]].concat());
    for told in [
        "impact 1 Kustomization changes: 1 workload\n",
        "Deployment web/web (configured, 1 field)\n",
    ] {
        assert!(ran.out.contains(told), "{}{}", ran.out, ran.err);
    }
    bench.write(
        "apps/web/prod/kustomization.yaml",
        "resources: [../base, gone.yaml]\npatches: [{path: web.yaml}]\n",
    );
    let ran = bench.ok(&[&arguments[..], &set, &["--overwrite-mismatches"]].concat());
    assert!(
        ran.out
            .contains("impact unknown: 1 Kustomization or release could not be built\n"),
        "{}{}",
        ran.out,
        ran.err
    );
}

#[test]
fn a_build_that_fails_anyway_stops_nothing() {
    let mut files = fleet();
    let file = |path: &str, text: &str| (path.to_owned(), text.to_owned());
    files.push(file("clusters/prod/old.yaml", &kustomization("old", "./apps/old", "")));
    files.push(file(
        "apps/old/kustomization.yaml",
        "resources: [../web/base, missing.yaml]\n",
    ));
    files.push(file(
        "clusters/prod/other.yaml",
        &kustomization("other", "./apps/other", ""),
    ));
    files.push(file("apps/other/kustomization.yaml", "resources: [missing.yaml]\n"));
    let bench = Bench::new();
    let (repo, url) = remote(&bench, &files);
    let arguments = pushed(&["update", &url, "--fleet", BOTH, "--verify", "build"]);
    let (code, document) = bench.json(&arguments);
    assert_eq!(code, 0, "{document:#}");
    assert_eq!(repo.log("main").len(), 2);
    let impact = &document["runs"][0]["impact"];
    let notes = impact["notes"].as_array().unwrap();
    assert_eq!(notes.len(), 1, "what no edit affects is not told: {notes:#?}");
    let note = notes[0].as_str().unwrap();
    assert!(
        note.starts_with("Kustomization clusters/prod: flux-system/old fails without the change as well: "),
        "{note}"
    );
    // What the broken one would have is not known.
    assert_eq!(impact["deadMarkers"], json!([]), "{impact:#}");
}

#[test]
fn a_verification_ends_in_time() {
    let bench = Bench::new();
    let (repo, url) = remote(&bench, &fleet());
    let before = repo.rev("main");
    let run = |more: &[&str]| {
        let arguments = ["update", &url, "--fleet", BOTH, "--verify-timeout", "1ns"];
        bench.json(&[&pushed(&arguments), more].concat())
    };
    let (code, document) = run(&["--verify", "build"]);
    let error = document["runs"][0]["error"].as_str().unwrap();
    assert!(
        code == 2 && error.contains("not everything could be built within 1ns"),
        "{document:#}"
    );
    assert_eq!(repo.rev("main"), before);
    let (code, document) = run(&[]);
    let notes = document["runs"][0]["impact"]["notes"].to_string();
    assert!(
        code == 0 && notes.contains("the impact is not complete"),
        "{document:#}"
    );
    assert_ne!(repo.rev("main"), before);
}

/// The clusters of a remote are those of its commit, not of the folder.
#[test]
fn a_remote_is_verified_from_its_own_commit() {
    let bench = Bench::new();
    let (repo, url) = remote(&bench, &fleet());
    let arguments = pushed(&["update", &url, "--fleet", "clusters/ops", "--fleet", "/clusters/prod/"]);
    let (code, document) = bench.json(&arguments);
    assert_eq!(code, 0, "{document:#}");
    let pushed = String::from_utf8(repo.show("main", "apps/web/prod/web.yaml")).unwrap();
    assert_eq!(pushed, PATCH.replace("1.0.0-r1", "2.0.0-r7"));
    assert_eq!(document["runs"][0]["impact"]["workloads"].as_array().unwrap().len(), 2);
    let ran = bench.run(&["update", &url, "--fleet", "clusters/none"]);
    assert!(
        ran.code == 2 && ran.err.contains("--fleet clusters/none: "),
        "{}",
        ran.err
    );
    let raw = bench.ok(&[&["update", &url, "--branch", "main", "--dry-run"], AUTHOR.as_slice()].concat());
    assert!(raw.err.contains("try --fleet clusters/ops\n"), "{}", raw.err);
}

#[test]
fn clusters_that_differ_in_a_policy_are_told() {
    let mut files = fleet();
    let other = unnamed_policy("web").replace("'>=0.0.0-0'", "1.x");
    files.push((
        "clusters/prod/policies.yaml".to_owned(),
        other.replace("{name: web}\nspec", "{name: web, namespace: flux-system}\nspec"),
    ));
    let bench = folder(&files);
    let ran = bench.run(&["update", "--dry-run", "--fleet", BOTH]);
    let expected = "ImagePolicy flux-system/web differs: apps/web/automation/web.yaml:2:1 in clusters/ops and \
                    clusters/prod/policies.yaml:2:1 in clusters/prod";
    assert!(ran.code == 2 && ran.err.contains(expected), "{}", ran.err);
    let given = policy("flux-system", "web", "ghcr.io/acme/web", "3.0.0-r1");
    std::fs::write(bench.home.path().join("given.yaml"), given).unwrap();
    let ran = bench.ok(&[
        "update",
        "--dry-run",
        "--offline",
        "--fleet",
        BOTH,
        "-f",
        "../given.yaml",
    ]);
    assert!(ran.out.contains("ghcr.io/acme/web:3.0.0-r1"), "{}", ran.out);
}

/// The automations of a cluster run one after the other on the folder, each with its path; those of
/// other repositories do not.
#[test]
fn automations_of_a_cluster_run_on_its_repository() {
    let mut files = fleet();
    let automation = |name: &str, source: &str, path: &str| {
        format!(
            "apiVersion: image.toolkit.fluxcd.io/v1\nkind: ImageUpdateAutomation\nmetadata: {{name: {name}, namespace: flux-system}}\n\
             spec:\n  interval: 1h\n  sourceRef: {{kind: GitRepository, name: {source}}}\n  update: {{path: {path}}}\n  git:\n    commit: \
             {{author: {{name: bot, email: bot@example.com}}}}\n"
        )
    };
    let other = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: other, namespace: flux-system}\n\
                 spec: {interval: 1m, url: 'https://git.example.com/acme/other'}\n";
    let automations = [
        automation("base", "flux-system", "apps/web/base"),
        automation("prod", "flux-system", "apps/web/prod"),
        automation("elsewhere", "other", "."),
        other.to_owned(),
    ];
    files.push(("clusters/ops/automations.yaml".to_owned(), automations.join("---\n")));
    let bench = folder(&files);
    for more in [&["--dry-run"][..], &[]] {
        let (code, document) = bench.json(&[&newer(&["update", "--fleet", BOTH, "--verify", "build"]), more].concat());
        assert_eq!(code, 0, "{document:#}");
        let runs: Vec<(&str, usize)> = document["runs"]
            .as_array()
            .unwrap()
            .iter()
            .map(|run| (run["automation"].as_str().unwrap(), places(run).len()))
            .collect();
        assert_eq!(runs, [("flux-system/base", 3), ("flux-system/prod", 1)]);
        let images = |run: usize| document["runs"][run]["impact"]["workloads"].as_array().unwrap().len();
        // The ConfigMap has the Deployment restart, whose image is the next run's.
        assert_eq!((images(0), images(1)), (2, 1), "{document:#}");
        assert_eq!(
            document["runs"][1]["impact"]["workloads"][0]["fields"], 1,
            "{document:#}"
        );
    }
    assert!(Path::new(&bench.path("apps/web/prod/web.yaml")).exists());
    assert!(bench.read("apps/web/prod/web.yaml").contains("2.0.0-r7"));
}
