//! `bumpwright fleet review`: a change as what it does to clusters.

use bumpwright_testkit::cli::Bench;
use bumpwright_testkit::registry::Registry;
use bumpwright_testkit::repo::{git, run};
use serde_json::Value;

use crate::output_schema::verdicts;

pub const SYNC: &str = "apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: fleet, namespace: flux-system}
spec: {interval: 5m, url: 'https://git.example.com/acme/fleet', ref: {branch: main}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: fleet, namespace: flux-system}
spec: {interval: 5m, prune: true, path: ./clusters/a, sourceRef: {kind: GitRepository, name: fleet}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: apps, namespace: flux-system}
spec: {interval: 5m, prune: true, path: ./apps, sourceRef: {kind: GitRepository, name: fleet}}
";

pub const RELEASE: &str = "apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: web, namespace: web}
spec:
  interval: 1h
  chart: {spec: {chart: ./charts/web, sourceRef: {kind: GitRepository, name: fleet, namespace: flux-system}}}
  values: {tag: 1.4.0, app: web}
";

pub const TEMPLATE: &str = "apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: '{{ .Values.app }}'}}
  template:
    metadata: {labels: {app: '{{ .Values.app }}'}}
    spec: {containers: [{name: web, image: 'ghcr.io/acme/web:{{ .Values.tag }}'}]}
";

/// A fleet with a release, committed on `main`.
pub fn bench() -> Bench {
    let bench = Bench::new();
    bench.write("clusters/a/sync.yaml", SYNC);
    bench.write("apps/web.yaml", RELEASE);
    bench.write("charts/web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 0.1.0\n");
    bench.write("charts/web/templates/web.yaml", TEMPLATE);
    run(git(&bench.dir).args(["init", "--quiet", "-b", "main"]));
    commit(&bench);
    bench
}

pub fn commit(bench: &Bench) {
    run(git(&bench.dir).args(["add", "-A"]));
    let user = ["-c", "user.name=A", "-c", "user.email=a@b.c"];
    run(git(&bench.dir).args(user).args(["commit", "--quiet", "-m", "state"]));
}

pub fn review(bench: &Bench, arguments: &[&str]) -> (i32, String) {
    let mut command = bench.command(&["fleet", "review", "--offline"]);
    let output = command.args(arguments).current_dir(&bench.dir).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &said;
    (output.status.code().unwrap(), text)
}

pub fn definition(name: &str, scope: &str) -> String {
    format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: {name}s.example.com}}\n\
         spec:\n  group: example.com\n  scope: {scope}\n  names: {{kind: {name}, plural: {name}s}}\n  \
         versions: [{{name: v1, served: true, storage: true, schema: {{openAPIV3Schema: {{type: object}}}}}}]\n"
    )
}

#[test]
fn a_bump_behind_a_release_is_told_with_its_images() {
    let bench = bench();
    bench.write("apps/web.yaml", RELEASE.replace("1.4.0", "2.0.0"));
    let (code, text) = review(&bench, &["--from", "main", "clusters/a"]);
    assert_eq!(code, 0, "{text}");
    for line in [
        "~ HelmRelease web/web 1 changed",
        "      spec.template.spec.containers[web].image: \"ghcr.io/acme/web:1.4.0\" → \"ghcr.io/acme/web:2.0.0\"",
        "web: ghcr.io/acme/web:1.4.0 → ghcr.io/acme/web:2.0.0 (configured, restarts, by HelmRelease web/web)",
        "note[major-version]: Deployment web/web: image ghcr.io/acme/web goes from 1.4.0 to 2.0.0",
        "1 note in 2 Kustomizations",
    ] {
        assert!(text.lines().any(|own| own.contains(line)), "{line}\n{text}");
    }
    let (code, _) = review(&bench, &["--from", "main", "--fail-on", "note", "clusters/a"]);
    assert_eq!(code, 1);
}

#[test]
fn a_selector_that_a_value_changes_is_an_error_at_the_release() {
    let bench = bench();
    bench.write("apps/web.yaml", RELEASE.replace("app: web", "app: shop"));
    let (code, text) = review(&bench, &["--from", "main", "clusters/a"]);
    assert_eq!(code, 1, "{text}");
    assert!(
        text.contains(
            "apps/web.yaml:7:29: error[immutable-field]: Deployment web/web: spec.selector of a Deployment never changes"
        ),
        "{text}"
    );
    let forced = RELEASE
        .replace("app: web", "app: shop")
        .replace("interval: 1h", "interval: 1h\n  upgrade: {force: true}");
    bench.write("apps/web.yaml", forced);
    let (code, text) = review(&bench, &["--from", "main", "clusters/a"]);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("warning[immutable-field]"), "{text}");
}

/// What a chart makes of a value is found where the change has the value: in the release, in a patch of an overlay, or
/// in what kustomize replaces.
#[test]
fn a_finding_is_at_the_line_that_the_change_has() {
    let values = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata:\n  name: web\n  namespace: web\nspec:\n  values:\n    \
                  app: web\n    tag: 1.4.0\n";
    let plain = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: plain, namespace: web}\nspec:\n  selector: {matchLabels: {app: plain}}\n  \
                 template:\n    metadata: {labels: {app: plain}}\n    spec: {containers: [{name: plain, image: 'ghcr.io/acme/plain:1.4.0'}]}\n";
    let images = "resources: [web.yaml, plain.yaml]\npatches:\n- path: values.yaml\nimages:\n- name: ghcr.io/acme/plain\n  newTag: 1.4.0\n";
    let bench = bench();
    bench.write("apps/values.yaml", values);
    bench.write("apps/plain.yaml", plain);
    bench.write("apps/kustomization.yaml", images);
    commit(&bench);
    for (from, to, rule) in [
        ("1.4.0", "2.0.0", "note[major-version]"),
        ("1.4.0", "1.3.0", "warning[older-version]"),
    ] {
        bench.write("apps/values.yaml", values.replace(from, to));
        bench.write("apps/kustomization.yaml", images.replace(from, to));
        let (_, text) = review(&bench, &["--from", "main", "clusters/a"]);
        for line in [
            format!(
                "apps/values.yaml:9:10: {rule}: Deployment web/web: image ghcr.io/acme/web goes from {from} to {to}"
            ),
            format!(
                "apps/kustomization.yaml:6:11: {rule}: Deployment web/plain: image ghcr.io/acme/plain goes from {from} to {to}"
            ),
        ] {
            assert!(text.lines().any(|own| own.starts_with(&line)), "{line}\n{text}");
        }
    }
    run(git(&bench.dir).args(["checkout", "--quiet", "--", "apps"]));
    bench.write(
        "apps/web.yaml",
        RELEASE.replace("interval: 1h", "interval: 1h\n  suspend: true"),
    );
    commit(&bench);
    bench.write("apps/values.yaml", values.replace("1.4.0", "1.5.0"));
    let (_, text) = review(&bench, &["--from", "HEAD", "clusters/a"]);
    let line = "apps/values.yaml:9:10: warning[suspended-change]: HelmRelease web/web: it is suspended";
    assert!(text.contains(line), "{text}");
    // The impact says the same.
    assert!(
        text.contains("it is suspended: what changes in it is not applied"),
        "{text}"
    );
    assert!(!text.contains("restarts"), "{text}");
}

/// The impact does not delete what a finding says is left.
#[test]
fn what_nobody_prunes_is_not_deleted_in_the_impact() {
    let bench = bench();
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: plain, namespace: web}\n";
    bench.write(
        "clusters/a/sync.yaml",
        SYNC.replace("prune: true, path: ./apps", "prune: false, path: ./apps"),
    );
    bench.write("apps/plain.yaml", map);
    commit(&bench);
    run(git(&bench.dir).args(["rm", "--quiet", "apps/plain.yaml"]));
    let (code, text) = review(&bench, &["--from", "HEAD", "clusters/a"]);
    assert_eq!(code, 0, "{text}");
    for wanted in [
        "ConfigMap web/plain stays in the cluster: it is no longer in Kustomization flux-system/apps, which does not prune",
        "Kustomization flux-system/apps: 1 object of before stays in the cluster: it does not prune",
    ] {
        assert!(text.contains(wanted), "{wanted}\n{text}");
    }
    assert!(!text.contains("(deleted"), "{text}");
}

/// Helm deletes a hook before it makes it again, and does not delete one that is gone from the chart.
#[test]
fn hooks_are_made_again_and_never_updated() {
    let bench = bench();
    let job = |policy: &str| {
        let job = format!(
            "apiVersion: batch/v1\nkind: Job\nmetadata: {{name: migrate, annotations: {{helm.sh/hook: pre-upgrade{policy}}}}}\n\
             spec: {{template: {{spec: {{restartPolicy: Never, containers: [{{name: m, image: 'ghcr.io/acme/web:{{{{ .Values.tag }}}}'}}]}}}}}}\n"
        );
        bench.write("charts/web/templates/migrate.yaml", job);
    };
    let claim = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: scratch, annotations: {helm.sh/hook: pre-upgrade}}\n\
                 spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n";
    bench.write("charts/web/templates/scratch.yaml", claim);
    job("");
    commit(&bench);
    bench.write("apps/web.yaml", RELEASE.replace("1.4.0", "1.5.0"));
    let review = || review(&bench, &["--from", "HEAD", "clusters/a"]);
    let (code, text) = review();
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("~ Job.batch web/migrate"), "{text}");
    assert!(
        !text.contains("immutable-field") && !text.contains("never changes"),
        "{text}"
    );
    // One that is kept cannot be made again.
    job(", helm.sh/hook-delete-policy: hook-failed");
    let (code, text) = review();
    assert_eq!(code, 1, "{text}");
    assert!(
        text.contains("error[immutable-field]: Job web/migrate: spec.template of a Job never changes"),
        "{text}"
    );
    job("");
    run(git(&bench.dir).args(["rm", "--quiet", "charts/web/templates/scratch.yaml"]));
    let (code, text) = review();
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("- PersistentVolumeClaim web/scratch"), "{text}");
    assert!(
        !text.contains("[deletion]") && !text.contains("PersistentVolumeClaim web/scratch (deleted"),
        "{text}"
    );
}

/// Each release skips what is there; only what is replaced with something else has two owners.
#[test]
fn releases_of_one_chart_share_its_definitions() {
    let bench = bench();
    bench.write("charts/web/crds/gadget.yaml", definition("gadget", "Namespaced"));
    bench.write(
        "charts/other/Chart.yaml",
        "apiVersion: v2\nname: other\nversion: 0.1.0\n",
    );
    bench.write("charts/other/crds/gadget.yaml", definition("gadget", "Namespaced"));
    let release = |name: &str, chart: &str, crds: &str| {
        format!(
            "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {{name: {name}, namespace: {name}}}\nspec:\n  interval: 1h\n  \
             upgrade: {{crds: {crds}}}\n  chart: {{spec: {{chart: ./charts/{chart}, sourceRef: {{kind: GitRepository, name: fleet, namespace: \
             flux-system}}}}}}\n  values: {{tag: 1.4.0, app: web}}\n"
        )
    };
    let check = |policies: [&str; 2]| {
        bench.write("apps/one.yaml", release("one", "web", policies[0]));
        bench.write("apps/two.yaml", release("two", "other", policies[1]));
        let ran = bench.run(&["fleet", "check", "--offline", "clusters/a"]);
        ran.out + &ran.err
    };
    for policies in [
        ["Skip", "Skip"],
        ["Create", "CreateReplace"],
        ["CreateReplace", "CreateReplace"],
    ] {
        let text = check(policies);
        assert!(!text.contains("owned-twice"), "{policies:?}\n{text}");
    }
    bench.write("charts/other/crds/gadget.yaml", definition("gadget", "Cluster"));
    assert!(!check(["Skip", "CreateReplace"]).contains("owned-twice"));
    let text = check(["CreateReplace", "CreateReplace"]);
    assert!(
        text.contains("error[owned-twice]: CustomResourceDefinition gadgets.example.com"),
        "{text}"
    );
}

#[test]
fn a_review_of_nothing_has_no_vote() {
    let bench = bench();
    bench.write("empty/notes.txt", "nothing\n");
    commit(&bench);
    let (code, text) = review(&bench, &["--from", "HEAD", "-o", "gerrit", "empty"]);
    assert_eq!(code, 0, "{text}");
    assert!(!text.contains("\"labels\""), "{text}");
    assert!(text.contains("the review has no vote"), "{text}");
    let (_, text) = review(&bench, &["--from", "HEAD", "-o", "gerrit", "clusters/a"]);
    assert!(text.contains("\"labels\"") && !text.contains("has no vote"), "{text}");
}

#[test]
fn what_was_merged_meanwhile_is_no_change() {
    let bench = bench();
    run(git(&bench.dir).args(["checkout", "--quiet", "-b", "topic"]));
    bench.write(
        "apps/one.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one, namespace: web}\n",
    );
    commit(&bench);
    run(git(&bench.dir).args(["checkout", "--quiet", "main"]));
    bench.write(
        "apps/other.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other, namespace: web}\n",
    );
    commit(&bench);
    let (code, text) = review(&bench, &["--from", "main", "--to", "topic", "clusters/a"]);
    assert_eq!(code, 0, "{text}");
    assert!(
        text.contains("+ ConfigMap web/one") && !text.contains("other\n"),
        "{text}"
    );
    // Without a common commit the two are compared, which is told.
    run(git(&bench.dir).args(["checkout", "--quiet", "--orphan", "alone"]));
    commit(&bench);
    let (code, text) = review(&bench, &["--from", "topic", "--to", "alone", "clusters/a"]);
    assert_eq!(code, 0, "{text}");
    assert!(
        text.contains("topic and alone have no commit in common here, so the two are compared as they are; their histories are unrelated")
            && text.contains("- ConfigMap web/one"),
        "{text}"
    );
    // A revision that does not exist has none, too, and is one error.
    let ran = bench.run(&["fleet", "review", "--from", "nosuch", "clusters/a"]);
    assert!(
        ran.code == 2 && ran.err.contains("no revision \"nosuch\""),
        "{}",
        ran.err
    );
    assert!(!ran.err.contains("warning"), "{}", ran.err);
}

/// Clones of CI have one branch, and little of its history.
#[test]
fn a_clone_without_the_branch_or_its_history_names_what_to_fetch() {
    let bench = bench();
    run(git(&bench.dir).args(["checkout", "--quiet", "-b", "topic"]));
    bench.write(
        "apps/one.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one, namespace: web}\n",
    );
    commit(&bench);
    let clone = |name: &str, flags: &[&str]| {
        let url = format!("file://{}", bench.dir.display());
        run(git(&bench.dir).args([&["clone", "--quiet", "--branch", "topic"], flags, &[url.as_str(), name]].concat()));
    };
    clone("single", &["--single-branch"]);
    clone("shallow", &["--single-branch", "--depth", "1"]);
    clone("both", &["--no-single-branch", "--depth", "1"]);
    let fetch = "fetch it: git fetch origin main:refs/remotes/origin/main\n";
    let depth = "this clone is shallow: in CI set `fetch-depth: 0` (GitHub) or `GIT_DEPTH: 0` (GitLab), elsewhere run `git fetch --unshallow`";
    for (folder, from, hint) in [
        ("single", "origin/main", format!("; {fetch}")),
        ("single", "topik", String::new()),
        ("shallow", "origin/main", format!("; {depth}, or {fetch}")),
        (
            "shallow",
            "0123456789abcdef",
            format!("; {depth}, or fetch it: git fetch origin 0123456789abcdef\n"),
        ),
        ("both", "main", "; did you mean origin/main?\n".to_owned()),
    ] {
        let ran = bench.run(&[
            "fleet",
            "review",
            "--from",
            from,
            "--to",
            "HEAD",
            &format!("{folder}/clusters/a"),
        ]);
        assert_eq!(ran.code, 2, "{folder} {from}: {}", ran.err);
        let error = format!("no revision {from:?} in the repository ");
        assert!(
            ran.err.contains(&error) && ran.err.contains(&hint),
            "{folder} {from}: {}",
            ran.err
        );
        assert_eq!(
            hint.is_empty(),
            !ran.err.contains("fetch") && !ran.err.contains("did you mean"),
            "{}",
            ran.err
        );
    }
    let (_, text) = review(&bench, &["--from", "origin/main", "--to", "HEAD", "both/clusters/a"]);
    let told =
        format!("origin/main and HEAD have no commit in common here, so the two are compared as they are; {depth}");
    assert!(text.contains(&told), "{text}");
}

#[test]
fn each_output_has_the_change() {
    let bench = bench();
    let (code, text) = review(&bench, &["--from", "main", "--output", "markdown", "clusters/a"]);
    assert_eq!(
        (code, text.lines().next()),
        (0, Some("## Nothing changes in the clusters")),
        "{text}"
    );
    bench.write(
        "apps/web.yaml",
        RELEASE.replace("app: web", "app: shop").replace("1.4.0", "1.5.0"),
    );
    let output = |format: &str| {
        let (code, text) = review(&bench, &["--from", "main", "--output", format, "clusters/a"]);
        assert_eq!(code, 1, "{text}");
        text
    };
    let markdown = output("markdown");
    assert!(
        markdown.starts_with("## In the clusters: 2 changed\n\nNew with this change: 1 error in 2 Kustomizations.\n"),
        "{markdown}"
    );
    assert!(
        markdown.contains("| Deployment web/web | `ghcr.io/acme/web:1.4.0` → `ghcr.io/acme/web:1.5.0` | restarts |"),
        "{markdown}"
    );
    assert!(output("sarif").contains("\"immutable-field\""));
    assert!(output("junit").contains("immutable-field"));
    assert!(output("github").starts_with("::error file=apps/web.yaml,line=7,col=29,title=immutable-field::"));
    let html = output("html");
    assert!(
        html.contains("immutable-field") && html.contains("ghcr.io/acme/web:1.5.0"),
        "{html}"
    );
    let json: Value = serde_json::from_str(&output("json")).unwrap();
    assert_eq!(json["clusters"][0]["kustomizations"][1]["kind"], "HelmRelease");
    assert_eq!(
        json["impact"]["workloads"][0]["images"][0]["new"],
        "ghcr.io/acme/web:1.5.0"
    );
    assert_eq!(json["report"]["findings"][0]["rule"], "immutable-field");
    if let Some(verdicts) = verdicts(include_str!("../../docs/reference/review.schema.json"), &[json]) {
        assert_eq!(verdicts, [""], "review.schema.json");
    }
}

/// One run, one review: it is printed once and written as often as it is wanted.
#[test]
fn several_outputs_are_of_one_run() {
    let bench = bench();
    bench.write("apps/web.yaml", RELEASE.replace("app: web", "app: shop"));
    bench.write("out/review.sarif", "what was there before, and is longer than nothing");
    let run = |outputs: &[&str]| {
        let outputs = outputs.iter().flat_map(|output| ["--output", *output]);
        let arguments: Vec<&str> = ["--from", "main", "clusters/a"].into_iter().chain(outputs).collect();
        review(&bench, &arguments)
    };
    let (code, text) = run(&["text", "sarif=out/review.sarif", "html=review=a.html", "github=notes"]);
    assert_eq!(code, 1, "{text}");
    assert!(
        text.contains("error[immutable-field]") && !text.contains("::error"),
        "{text}"
    );
    let sarif: Value = serde_json::from_str(&bench.read("out/review.sarif")).unwrap();
    assert_eq!(sarif["version"], "2.1.0");
    assert!(bench.read("review=a.html").contains("immutable-field"));
    assert!(bench.read("notes").starts_with("::error file=apps/web.yaml"));
    // Nothing is printed unless it is asked for.
    let (code, text) = run(&["json=review.json"]);
    assert_eq!((code, text.as_str()), (1, ""));
    for (outputs, said) in [
        (&["text", "json"][..], "expected one format to print, got text and json"),
        (
            &["html=a", "sarif=a"],
            "a: --output: html and sarif are for the same file",
        ),
        (&["sarif=none/review.sarif"], "--output: none/review.sarif: "),
        (&["yaml=a"], "invalid value 'yaml'"),
        (&["html="], "expected FORMAT=FILE"),
    ] {
        let (code, text) = run(outputs);
        assert!(code == 2 && text.contains(said), "{outputs:?}\n{text}");
    }
    assert!(!bench.path("a").exists());
}

#[test]
fn a_variable_without_a_value_is_found_at_its_place() {
    let bench = bench();
    let substituted = SYNC.replace("path: ./apps,", "path: ./apps, postBuild: {substitute: {a: b}},");
    bench.write("clusters/a/sync.yaml", &substituted);
    commit(&bench);
    bench.write(
        "apps/map.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m, namespace: web}\ndata:\n  key: ${nowhere}\n",
    );
    let (code, text) = review(&bench, &["--from", "main", "clusters/a"]);
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("apps/map.yaml:5:8: error[undefined-variable]"), "{text}");
}

#[test]
fn values_of_secrets_are_in_no_output() {
    let bench = bench();
    let secret = |text: &str| {
        format!(
            "apiVersion: v1\nkind: Secret\nmetadata: {{name: s, namespace: web}}\nimmutable: true\nstringData: {{password: {text}}}\n"
        )
    };
    // A chart that puts the value into a name, and into other forms.
    let release = RELEASE.replace("{name: web, namespace: web}", "{name: leak, namespace: web}");
    let values = "  valuesFrom: [{kind: Secret, name: s, valuesKey: password, targetPath: a}]\n";
    bench.write(
        "apps/leak.yaml",
        release.replace("./charts/web", "./charts/leak") + values,
    );
    bench.write("charts/leak/Chart.yaml", "apiVersion: v2\nname: leak\nversion: 0.1.0\n");
    bench.write(
        "charts/leak/templates/a.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: 'a-{{ .Values.a }}'}\ndata: {b: '{{ .Values.a | b64enc }}', c: '{{ .Values.a | \
         upper }}'}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: plain}\ndata: {b: '{{ .Values.a | b64enc }}', c: '{{ .Values.a | \
         upper }}'}\n",
    );
    bench.write("apps/secret.yaml", secret("correct-horse-1"));
    commit(&bench);
    bench.write("apps/secret.yaml", secret("correct-horse-2"));
    for format in ["text", "markdown", "json", "sarif", "junit", "github", "gerrit", "html"] {
        let (_, text) = review(&bench, &["--from", "main", "--output", format, "clusters/a"]);
        for form in ["correct-horse", "CORRECT-HORSE", "Y29ycmVjdC"] {
            assert!(!text.contains(form), "{format}: {form}\n{text}");
        }
        if format == "text" {
            assert!(text.contains("a-**") && text.contains("web/plain"), "{text}");
        }
    }
}

/// The user of a database is also the name of its objects: that is no secret. What is only in the change is.
#[test]
fn a_value_of_a_secret_that_names_objects_is_not_hidden_in_them() {
    let bench = bench();
    let secret = |user: &str| {
        format!(
            "apiVersion: v1\nkind: Secret\nmetadata: {{name: login, namespace: web}}\nstringData: {{username: {user}, kind: clusters}}\n"
        )
    };
    let map = |name: &str, data: &str| {
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: web}}\ndata: {{a: {data}}}\n")
    };
    bench.write("apps/secret.yaml", secret("postgres"));
    bench.write("apps/map.yaml", map("postgres", "b"));
    commit(&bench);
    bench.write("apps/map.yaml", map("postgres", "c"));
    bench.write("apps/other.yaml", map("of-operator", "c"));
    bench.write("apps/secret.yaml", secret("operator"));
    for format in ["text", "markdown", "html"] {
        let (_, text) = review(&bench, &["--from", "main", "--output", format, "clusters/a"]);
        assert!(text.contains("postgres"), "{format}\n{text}");
        assert!(
            !text.contains("of-operator") && text.contains("of-**"),
            "{format}\n{text}"
        );
    }
    let (_, text) = review(&bench, &["--from", "main", "--output", "json", "clusters/a"]);
    let document: Value = serde_json::from_str(&text).unwrap();
    let owners = document["clusters"][0]["kustomizations"].as_array().unwrap();
    let mut names: Vec<&str> = owners
        .iter()
        .flat_map(|owner| owner["objects"].as_array().unwrap())
        .map(|object| object["name"].as_str().unwrap())
        .collect();
    names.sort_unstable();
    assert_eq!(names, ["login", "of-**", "postgres"], "{text}");
}

/// A registry is asked whether it has what a change brings; what cannot be asked is a note.
#[test]
fn an_image_that_its_registry_does_not_have_is_an_error_at_its_field() {
    let Some(registry) = Registry::start() else { return };
    registry.images().tags("o/web", &["1.4.0", "1.5.0"]);
    let image = |tag: &str| format!("{}/o/web:{tag}", registry.host());
    let deployment = |name: &str, image: &str| {
        format!(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {name}, namespace: web}}\nspec:\n  selector: {{matchLabels: {{app: web}}}}\n  \
             template:\n    metadata: {{labels: {{app: web}}}}\n    spec:\n      containers:\n      - name: web\n        image: {image}\n"
        )
    };
    let bench = bench();
    bench.write("apps/one.yaml", deployment("one", &image("1.4.0")));
    bench.write("apps/two.yaml", deployment("two", &image("1.4.0")));
    commit(&bench);
    let review = |more: &[&str]| {
        let ran = bench.run(&[&["fleet", "review", "--from", "main", "clusters/a"], more].concat());
        (ran.code, ran.out + &ran.err)
    };
    bench.write("apps/one.yaml", deployment("one", &image("1.5.0")));
    let (code, text) = review(&[]);
    assert!(
        code == 0 && !text.contains("missing-image") && !text.contains("not known"),
        "{text}"
    );
    bench.write("apps/one.yaml", deployment("one", &image("1.5.1")));
    bench.write("apps/two.yaml", deployment("two", "127.0.0.1:1/o/web:1"));
    let (code, text) = review(&[]);
    assert_eq!(code, 1, "{text}");
    let missing = format!(
        "apps/one.yaml:11:16: error[missing-image]: Deployment web/one: image {} does not exist in its registry",
        image("1.5.1")
    );
    assert!(text.contains(&missing), "{missing}\n{text}");
    assert!(
        text.contains("note: 127.0.0.1:1: whether 1 image is there is not known: "),
        "{text}"
    );
    for more in ["--images=false", "--offline"] {
        let (code, text) = review(&[more]);
        assert!(
            code == 0 && !text.contains("missing-image") && !text.contains("not known"),
            "{text}"
        );
    }
    // An image in a volume is one, too.
    let mounting = |tag: &str| {
        let volume = format!(
            "      volumes:\n      - name: models\n        image: {{reference: '{}'}}\n",
            image(tag)
        );
        deployment("two", &image("1.4.0")) + &volume
    };
    bench.write("apps/one.yaml", deployment("one", &image("1.4.0")));
    bench.write("apps/two.yaml", mounting("1.5.0"));
    commit(&bench);
    bench.write("apps/two.yaml", mounting("1.5.2"));
    let (code, text) = review(&[]);
    assert_eq!(code, 1, "{text}");
    let (old, new) = (image("1.5.0"), image("1.5.2"));
    for wanted in [
        format!(
            "apps/two.yaml:14:28: error[missing-image]: Deployment web/two: image {new} does not exist in its registry"
        ),
        format!("spec.template.spec.volumes[models].image.reference: \"{old}\" → \"{new}\""),
        format!("volume models: {old} → {new}"),
    ] {
        assert!(text.contains(&wanted), "{wanted}\n{text}");
    }
    // More than that in one change are left out, and that is a note.
    let many = |tag: &str| {
        let one = |number: usize| deployment(&format!("many-{number}"), &format!("127.0.0.1:1/o/web-{number}:{tag}"));
        (0..502).map(one).collect::<Vec<_>>().join("---\n")
    };
    bench.write("apps/one.yaml", deployment("one", &image("1.4.0")));
    bench.write("apps/two.yaml", many("1"));
    let (code, text) = review(&[]);
    assert!(
        code == 0 && text.contains("registries were not asked for 2 of them") && text.contains("whether 500 images"),
        "{text}"
    );
}

/// What is new in a chart: its author's words, which are only words, and the defaults that the release takes.
#[test]
fn a_chart_in_another_version_says_what_is_new_in_it() {
    let bench = bench();
    let chart = |version: &str, app: &str, changes: &str| {
        let text = format!("apiVersion: v2\nname: web\nversion: {version}\nappVersion: \"{app}\"\n{changes}");
        bench.write("charts/web/Chart.yaml", text);
    };
    bench.write(
        "charts/web/values.yaml",
        "tag: 1.0.0\nprobe: {path: /a, port: 80}\nadmin: {password: old-default}\nkept: 1\ngone: {a: {b: 1}}\n",
    );
    chart("0.1.0", "1", "");
    commit(&bench);
    bench.write(
        "charts/web/values.yaml",
        "tag: 3.0.0\nprobe: {path: /b, port: 80}\nadmin: {password: new-default}\nkept: 1\nmany: [1, {token: new-default}]\nempty: {}\n",
    );
    let changes = "annotations:\n  artifacthub.io/changes: |\n    - Plain words for @everybody (#12, https://git.example.com/i/13)\n    - kind: security\n      description: |\n        \
                   A `hole` <b>is</b> closed\n        and more\n    - {kind: fixed}\n";
    chart("0.2.0", "2", changes);
    let (code, text) = review(&bench, &["--from", "main", "clusters/a"]);
    assert_eq!(code, 0, "{text}");
    let wanted = "chart web 0.1.0 → 0.2.0 (app 1 → 2) of HelmRelease web/web
  Plain words for @everybody (#12, https://git.example.com/i/13)
  security: A `hole` <b>is</b> closed
  default admin.password: \"**\" → \"**\"
  default empty: none → {}
  default gone.a.b: 1 → none
  default many: none → [1,{\"token\":\"**\"}]
  default probe.path: \"/a\" → \"/b\"
";
    assert!(text.contains(wanted), "{text}");
    for format in ["markdown", "html", "json", "gerrit"] {
        let (_, text) = review(&bench, &["--from", "main", "--output", format, "clusters/a"]);
        assert!(text.contains("0.2.0"), "{format}\n{text}");
        for hostile in ["new-default", "<b>is"] {
            assert!(!text.contains(hostile) || format == "json", "{format}\n{text}");
        }
        for link in ["for @everybody", "(#12", "https://git.example.com/i"] {
            assert!(format != "markdown" || !text.contains(link), "{link}\n{text}");
        }
        if format == "json" {
            let document: Value = serde_json::from_str(&text).unwrap();
            assert_eq!(document["charts"][0]["defaults"].as_array().unwrap().len(), 5, "{text}");
            assert!(!text.contains("new-default"), "{text}");
            if let Some(verdicts) = verdicts(include_str!("../../docs/reference/review.schema.json"), &[document]) {
                assert_eq!(verdicts, [""], "review.schema.json");
            }
        }
    }
}

/// What cannot be built before and after is no all-clear in any output, and fails nothing.
#[test]
fn what_could_not_be_compared_is_said_in_each_output() {
    let bench = bench();
    bench.write("apps/kustomization.yaml", "resources: [web.yaml, missing.yaml]\n");
    commit(&bench);
    let unchanged = review(&bench, &["--from", "main", "--output", "markdown", "clusters/a"]);
    assert!(
        unchanged.0 == 0 && unchanged.1.starts_with("## Nothing changes in the clusters\n"),
        "{}",
        unchanged.1
    );
    bench.write("apps/web.yaml", RELEASE.replace("1.4.0", "2.0.0"));
    for format in ["text", "markdown", "html", "json", "gerrit", "sarif", "junit", "github"] {
        let (code, text) = review(&bench, &["--from", "main", "--output", format, "clusters/a"]);
        assert!(code == 0 && text.contains("not-compared"), "{format}\n{text}");
        assert!(!text.to_lowercase().contains("nothing changes"), "{format}\n{text}");
        if format == "json" {
            let document: Value = serde_json::from_str(&text).unwrap();
            assert_eq!(document["impact"]["unknown"], 1, "{text}");
        }
    }
}

/// A version is known without its chart.
#[test]
fn a_chart_that_cannot_be_had_has_a_version_still() {
    let bench = bench();
    let release = |version: &str| {
        format!(
            "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata: {{name: r, namespace: web}}\n\
             spec: {{interval: 1h, url: 'https://charts.example.com'}}\n---\n\
             apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {{name: web, namespace: web}}\n\
             spec:\n  interval: 1h\n  chart: {{spec: {{chart: web, version: {version}, sourceRef: {{kind: HelmRepository, name: r}}}}}}\n"
        )
    };
    bench.write("apps/web.yaml", release("1.0.0"));
    commit(&bench);
    bench.write("apps/web.yaml", release("2.0.0"));
    let (code, text) = review(&bench, &["--from", "main", "clusters/a"]);
    assert_eq!(code, 0, "{text}");
    for wanted in [
        "note[major-version]: HelmRelease web/web: chart web goes from 1.0.0 to 2.0.0",
        "warning[not-compared]: HelmRelease web/web: what changes in it is not known",
        "unknown for 1 Kustomization or release that could not be built",
    ] {
        assert!(text.contains(wanted), "{wanted}\n{text}");
    }
}
