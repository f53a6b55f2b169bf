//! `bumpwright fleet diff`: whatever a commit, or what is not committed yet, changes in what a cluster has is
//! shown, and nothing else.

use bumpwright_testkit::cli::Bench;
use bumpwright_testkit::repo::{git, run};

const SOURCE: &str = "apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: flux-system, namespace: flux-system}
spec: {interval: 1m, url: 'https://git.example.com/acme/fleet', ref: {branch: main}MORE}
";

fn kustomization(name: &str, path: &str) -> String {
    format!(
        "apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {{name: {name}, namespace: flux-system}}
spec: {{interval: 1m, prune: true, path: {path}, sourceRef: {{kind: GitRepository, name: flux-system}}}}
"
    )
}

fn map(name: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: d}}\n")
}

/// A repository as `flux bootstrap` lays it out: no kustomization but in `listed`.
fn bench(more: &str) -> Bench {
    let bench = Bench::new();
    let source = SOURCE.replace("MORE", more);
    let sync = [source, kustomization("flux-system", "./clusters/production")].join("---\n");
    bench.write("clusters/production/flux-system/gotk-sync.yaml", sync);
    for (name, path) in [("apps", "./apps"), ("listed", "./listed"), ("later", "./later/on")] {
        bench.write(&format!("clusters/production/{name}.yaml"), kustomization(name, path));
    }
    bench.write("apps/one/map.yaml", map("one"));
    bench.write("listed/kustomization.yaml", "resources: [map.yaml]\n");
    bench.write("listed/map.yaml", map("listed"));
    bench.write("notes/README.md", "notes\n");
    run(git(&bench.dir).args(["init", "--quiet"]));
    commit(&bench);
    bench
}

fn commit(bench: &Bench) {
    run(git(&bench.dir).args(["add", "-A"]));
    let user = ["-c", "user.name=A", "-c", "user.email=a@b.c"];
    run(git(&bench.dir)
        .args(user)
        .args(["commit", "--quiet", "--allow-empty", "-m", "state"]));
}

/// Writes files; those without a text are removed.
fn change(bench: &Bench, files: &[(&str, Option<&str>)]) {
    for (path, text) in files {
        match text {
            Some(text) => {
                bench.write(path, text);
            }
            None => {
                run(git(&bench.dir).args(["rm", "--quiet", "-r", path]));
            }
        }
    }
}

/// The lines of a difference that name objects and Kustomizations.
fn lines(text: &str) -> Vec<&str> {
    let lines = text.lines().map(str::trim);
    lines.filter(|line| line.starts_with(['+', '-', '~', '→'])).collect()
}

#[test]
fn what_appears_in_new_folders_is_shown() {
    let new = map("new");
    let team = kustomization("team", "./apps/one");
    for (files, shown) in [
        // Below a folder without a kustomization, at any depth, with names of either ending.
        (
            &[("apps/two/map.yaml", Some(new.as_str()))][..],
            &["ConfigMap d/new"][..],
        ),
        (&[("apps/two/deep/er/map.yml", Some(&new))], &["ConfigMap d/new"]),
        (&[("apps/new.yaml", Some(&new))], &["ConfigMap d/new"]),
        // With a kustomization of its own.
        (
            &[
                (
                    "apps/two/kustomization.yaml",
                    Some("resources: [map.yaml]\nnameSuffix: -x\n"),
                ),
                ("apps/two/map.yaml", Some(&new)),
            ],
            &["ConfigMap d/new-x"],
        ),
        // In the folder of the cluster itself, with what comes out of it.
        (
            &[("clusters/production/team/ks.yaml", Some(&team))],
            &[
                "Kustomization flux-system/team",
                "Kustomization.kustomize.toolkit.fluxcd.io flux-system/team",
            ],
        ),
        // At a path that did not exist before.
        (
            &[("later/on/map.yaml", Some(&new))],
            &["Kustomization flux-system/later", "ConfigMap d/new"],
        ),
        (&[("later/on/deep/map.yaml", Some(&new))], &["ConfigMap d/new"]),
        // That something vanishes with its folder.
        (
            &[("apps/one", None), ("apps/three/map.yaml", Some(&new))],
            &["ConfigMap d/one", "ConfigMap d/new"],
        ),
        // A folder gets a kustomization, which lists nothing of it.
        (
            &[
                ("apps/kustomization.yaml", Some("resources: [none/map.yaml]\n")),
                ("apps/none/map.yaml", Some(&new)),
            ],
            &["ConfigMap d/one", "ConfigMap d/new"],
        ),
        // Where nothing builds it, nothing differs.
        (&[("listed/two/map.yaml", Some(&new))], &[]),
        (&[("notes/two/map.yaml", Some(&new))], &[]),
        (&[("apps/two/README.txt", Some("text"))], &[]),
    ] {
        let bench = bench("");
        change(&bench, files);
        let local = ["fleet", "diff", "--from", "HEAD", "clusters/production"];
        let uncommitted = bench.run(&local);
        commit(&bench);
        let committed = bench.run(&[
            "fleet",
            "diff",
            "--from",
            "HEAD~1",
            "--to",
            "HEAD",
            "clusters/production",
        ]);
        let back = bench.run(&[
            "fleet",
            "diff",
            "--from",
            "HEAD",
            "--to",
            "HEAD~1",
            "clusters/production",
        ]);
        for (ran, what) in [
            (&uncommitted, "uncommitted"),
            (&committed, "committed"),
            (&back, "back"),
        ] {
            let lines = lines(&ran.out);
            assert_eq!(
                ran.code,
                i32::from(!shown.is_empty()),
                "{what} {files:?}: {}{}",
                ran.out,
                ran.err
            );
            assert_eq!(lines.is_empty(), shown.is_empty(), "{what} {files:?}: {}", ran.out);
            // What cannot be built in the new state removes nothing.
            for object in shown.iter().filter(|_| what != "back") {
                assert!(
                    lines.iter().any(|line| line.contains(object)),
                    "{what} {files:?} {object}: {}",
                    ran.out
                );
            }
            assert!(!ran.out.contains("d/listed"), "{what} {files:?}: {}", ran.out);
        }
        assert_eq!(uncommitted.out, committed.out, "{files:?}");
    }
}

/// A source with ignore rules of its own keeps files that are ignored by default.
#[test]
fn files_that_only_the_rules_of_a_source_keep_are_compared() {
    let bench = bench(", ignore: 'notes/'");
    bench.write(
        "listed/kustomization.yaml",
        "resources: [map.yaml]\nconfigMapGenerator: [{name: logo, namespace: d, files: [logo.png]}]\n",
    );
    bench.write("listed/logo.png", "one");
    commit(&bench);
    bench.write("listed/logo.png", "two");
    let uncommitted = bench.run(&["fleet", "diff", "--from", "HEAD", "clusters/production"]);
    assert!(
        uncommitted.out.contains("~ ConfigMap d/logo"),
        "{}{}",
        uncommitted.out,
        uncommitted.err
    );
    commit(&bench);
    let committed = bench.run(&[
        "fleet",
        "diff",
        "--from",
        "HEAD~1",
        "--to",
        "HEAD",
        "clusters/production",
    ]);
    assert_eq!(uncommitted.out, committed.out);
}

/// What Git does not compare with its index is on disk all the same.
#[test]
fn files_that_git_was_told_not_to_look_at_are_compared() {
    let bench = bench("");
    run(git(&bench.dir).args(["update-index", "--assume-unchanged", "listed/map.yaml"]));
    bench.write(".gitignore", "ignored/\n");
    commit(&bench);
    bench.write("listed/map.yaml", map("other"));
    bench.write("apps/ignored/map.yaml", map("ignored"));
    let ran = bench.run(&["fleet", "diff", "--from", "HEAD", "clusters/production"]);
    assert_eq!(lines(&ran.out).len(), 5, "{}", ran.out);
    for shown in ["+ ConfigMap d/other", "- ConfigMap d/listed", "+ ConfigMap d/ignored"] {
        assert!(ran.out.contains(shown), "{shown}: {}", ran.out);
    }
}

#[test]
fn the_first_cluster_is_new_and_a_misspelt_one_is_an_error() {
    let bench = Bench::new();
    bench.write("README.md", "none\n");
    run(git(&bench.dir).args(["init", "--quiet"]));
    commit(&bench);
    let none = bench.run(&["fleet", "diff", "--from", "HEAD"]);
    assert!(none.code == 2 && none.err.contains("name the folder"), "{}", none.err);
    let sync = [
        SOURCE.replace("MORE", ""),
        kustomization("flux-system", "./clusters/production"),
    ]
    .join("---\n");
    bench.write("clusters/production/flux-system/gotk-sync.yaml", sync);
    let first = bench.run(&["fleet", "diff", "--from", "HEAD"]);
    assert!(
        first.code == 1 && first.out.contains("+ Kustomization flux-system/flux-system"),
        "{}{}",
        first.out,
        first.err
    );
    let misspelt = bench.run(&["fleet", "diff", "--from", "HEAD", "clusters/prodcution"]);
    assert!(
        misspelt.code == 2 && misspelt.err.contains("clusters/prodcution"),
        "{}{}",
        misspelt.out,
        misspelt.err
    );
}

/// What an operator makes of an object is the same Kustomization before and after.
#[test]
fn nothing_differs_in_what_an_operator_makes() {
    let bench = bench("");
    let instance = "apiVersion: fluxcd.controlplane.io/v1\nkind: FluxInstance\nmetadata: {name: flux, namespace: flux-system}\nspec: {sync: {kind: \
                    GitRepository, url: 'https://git.example.com/acme/fleet', ref: refs/heads/main, path: clusters/production}}\n";
    bench.write("clusters/production/flux.yaml", instance);
    commit(&bench);
    bench.ok(&["fleet", "diff", "--from", "HEAD", "clusters/production"]);
}

/// Releases that install the same are not rendered; what their charts define, and what others give,
/// counts all the same.
#[test]
fn releases_are_compared_by_what_they_are_made_of() {
    let bench = bench("");
    let release = |name: &str, chart: &str, values: &str| {
        format!(
            "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {{name: {name}, namespace: d}}\nspec:\n  interval: 1h\n  \
             chart: {{spec: {{chart: ./charts/{chart}, sourceRef: {{kind: GitRepository, name: flux-system, namespace: flux-system}}}}}}\n  \
             values: {values}\n"
        )
    };
    let map = |name: &str| {
        format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{key: {{{{ .Values.key | quote }}}}}}\n"
        )
    };
    let defined = "{{ if .Capabilities.APIVersions.Has \"example.com/v1/Thing\" }}\n";
    let crd = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: things.example.com}\nspec:\n  \
               group: example.com\n  scope: Namespaced\n  names: {kind: Thing, plural: things}\n  versions: [{name: v1, served: true, storage: true, \
               schema: {openAPIV3Schema: {type: object}}}]\n";
    for name in ["things", "web", "gives"] {
        bench.write(
            &format!("charts/{name}/Chart.yaml"),
            format!("{{apiVersion: v2, name: {name}, version: 1.0.0}}"),
        );
    }
    bench.write("charts/things/crds/things.yaml", crd);
    bench.write("charts/things/templates/map.yaml", map("things"));
    bench.write(
        "charts/web/templates/map.yaml",
        format!("{defined}{}{{{{ end }}}}\n", map("web")),
    );
    bench.write(
        "charts/gives/templates/release.yaml",
        release("given", "web", "{key: {{ .Values.key }}}"),
    );
    bench.write("apps/one/things.yaml", release("things", "things", "{key: a}"));
    bench.write("apps/one/web.yaml", release("web", "web", "{key: a}"));
    bench.write("apps/one/same.yaml", release("same", "web", "{key: a}"));
    bench.write("apps/one/gives.yaml", release("gives", "gives", "{key: a}"));
    commit(&bench);
    bench.write("apps/one/web.yaml", release("web", "web", "{key: b}"));
    commit(&bench);
    let diff = |from: &str| {
        bench.run(&[
            "fleet",
            "diff",
            "--offline",
            "--from",
            from,
            "--to",
            "HEAD",
            "clusters/production",
        ])
    };
    let ran = diff("HEAD~1");
    assert!(
        ran.code == 1 && ran.out.contains("~ ConfigMap d/web"),
        "{}\n{}",
        ran.out,
        ran.err
    );
    assert!(!ran.out.contains("things") && !ran.out.contains("same"), "{}", ran.out);
    // What a chart gives is made of its own files and values.
    bench.write(
        "charts/web/templates/map.yaml",
        format!("{defined}{}{{{{ end }}}}\n", map("other")),
    );
    commit(&bench);
    let ran = diff("HEAD~1");
    for release in ["d/web", "d/same", "d/given"] {
        assert!(
            ran.out.contains(&format!("HelmRelease {release}")),
            "{release}: {}\n{}",
            ran.out,
            ran.err
        );
    }
    assert!(!ran.out.contains("things"), "{}", ran.out);
}
