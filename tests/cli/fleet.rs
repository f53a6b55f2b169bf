//! `bumpwright fleet`: what it prints, in which form, and how it ends.

use bumpwright_testkit::cli::Bench;
use bumpwright_testkit::repo::{git, run};
use serde_json::Value;

/// A repository with an entry that syncs itself, an application with a Secret, and one that cannot be built.
fn bench() -> Bench {
    let bench = Bench::new();
    let kustomization = |name: &str, path: &str| {
        format!(
            "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata:\n  name: {name}\n  namespace: flux-system\nspec:\n  \
             interval: 1m\n  prune: true\n  path: {path}\n  sourceRef:\n    kind: GitRepository\n    name: flux-system\n"
        )
    };
    let repository = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata:\n  name: flux-system\n  namespace: flux-system\nspec:\n  \
                      interval: 1m\n  url: ssh://git@example.com/org/fleet\n";
    let sync = [repository, &kustomization("flux-system", "./clusters/production")].join("---\n");
    bench.write("clusters/production/flux-system/gotk-sync.yaml", sync);
    bench.write("clusters/production/apps.yaml", kustomization("apps", "./apps"));
    bench.write("apps/kustomization.yaml", "namespace: shop\nresources: [web.yaml]\n");
    bench.write(
        "apps/web.yaml",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n---\napiVersion: v1\nkind: Service\nmetadata: {name: web}\n",
    );
    run(git(&bench.dir).args(["init", "--quiet"]));
    bench
}

fn broken(bench: &Bench) {
    let text = bench
        .read("clusters/production/apps.yaml")
        .replace("name: apps", "name: broken");
    bench.write("clusters/production/broken.yaml", text.replace("./apps", "./broken"));
    bench.write("broken/kustomization.yaml", "resources:\n- none.yaml\n");
}

#[test]
fn the_tree_has_each_kustomization_below_the_one_that_gives_it() {
    let bench = bench();
    let text = bench.ok(&["fleet", "clusters/production"]).out;
    let lines: Vec<String> = text
        .lines()
        .map(|line| line.split(" ms").next().unwrap_or_default().to_owned())
        .collect();
    assert!(
        lines[0].starts_with("flux-system/flux-system clusters/production  2 Kustomization, 1 GitRepository"),
        "{text}"
    );
    assert!(
        lines[1].starts_with("└─ flux-system/apps apps  1 Deployment, 1 Service"),
        "{text}"
    );
    assert_eq!(lines[2], "5 objects in 2 Kustomizations");
    // The folder that syncs itself is found, from anywhere in the repository.
    assert_eq!(bench.ok(&["fleet"]).out.lines().last(), text.lines().last());
    assert_eq!(
        bench.ok(&["fleet", "--path", "."]).out.lines().last(),
        text.lines().last()
    );
}

#[test]
fn names_and_objects_are_those_that_the_controller_applies() {
    let bench = bench();
    let names = bench.ok(&[
        "fleet",
        "clusters/production",
        "--output",
        "names",
        "--kustomization",
        "flux-system/apps",
    ]);
    assert_eq!(
        names.out,
        "flux-system/apps\tapps/v1/Deployment/shop/web\nflux-system/apps\t/v1/Service/shop/web\n"
    );
    let wanted = ["--kustomization", "flux-system/apps"];
    let yaml = bench
        .ok(&[&["fleet", "clusters/production", "--output", "yaml"], &wanted[..]].concat())
        .out;
    assert!(yaml.starts_with("---\n# Kustomization flux-system/apps\n"), "{yaml}");
    let one = bench
        .ok(&["build", "-k", "clusters/production/apps.yaml", "--path", "."])
        .out;
    assert_eq!(
        yaml.replacen("# Kustomization flux-system/apps\n", "", 1),
        format!("---\n{one}")
    );
}

#[test]
fn json_has_parents_places_and_errors() {
    let bench = bench();
    broken(&bench);
    let (code, document) = bench.json(&["fleet", "clusters/production"]);
    assert_eq!(code, 1);
    let all = document["clusters"][0]["kustomizations"].as_array().unwrap();
    let named = |name: &str| all.iter().find(|one| one["name"] == name).unwrap();
    assert_eq!(named("flux-system/apps")["parent"], "flux-system/flux-system");
    assert_eq!(named("flux-system/apps")["origin"], "clusters/production/apps.yaml:1:1");
    assert_eq!(named("flux-system/apps")["objects"][0]["origin"], "apps/web.yaml:1:1");
    assert_eq!(named("flux-system/flux-system")["parent"], Value::Null);
    let error = named("flux-system/broken")["error"].as_str().unwrap();
    assert!(error.contains("broken/kustomization.yaml:2:3"), "{error}");
    assert_eq!(named("flux-system/broken")["objects"], Value::Array(Vec::new()));
}

#[test]
fn what_cannot_be_built_is_told_and_the_rest_is_shown() {
    let bench = bench();
    broken(&bench);
    let ran = bench.run(&["fleet", "clusters/production"]);
    assert_eq!(ran.code, 1);
    assert!(
        ran.out
            .contains("error: kustomize build failed: broken/kustomization.yaml:2:3"),
        "{}",
        ran.out
    );
    assert!(
        ran.out.contains("1 Deployment, 1 Service") && ran.out.ends_with("3 Kustomizations, 1 not built\n"),
        "{}",
        ran.out
    );
    let names = bench.run(&["fleet", "clusters/production", "--output", "names"]);
    assert_eq!((names.code, names.out.lines().count()), (1, 6));
    assert!(
        names
            .err
            .contains("error: Kustomization flux-system/broken: kustomize build failed"),
        "{}",
        names.err
    );
    // What was not asked about does not count.
    bench.ok(&["fleet", "clusters/production", "--kustomization", "flux-system/apps"]);
}

#[test]
fn mistakes_in_the_arguments_name_the_way_out() {
    let bench = bench();
    for (arguments, error) in [
        (&["fleet", "clusters/none"][..], "clusters/none: No such file"),
        (
            &["fleet", "clusters/production", "--kustomization", "apps"],
            "expected NAMESPACE/NAME",
        ),
        (
            &["fleet", "clusters/production", "--kustomization", "a/b"],
            "the fleet has no Kustomization a/b",
        ),
        (&["fleet", "clusters/production", "--path", "apps"], "not below"),
        (
            &["fleet", "--path", "apps"],
            "no folder here has a Kustomization that reconciles it",
        ),
        (&["fleet", "/"], "--path names the root"),
        (&["fleet", "--age-key-file", "apps/web.yaml"], "no age key"),
    ] {
        let ran = bench.run(arguments);
        assert_eq!(ran.code, 2, "{arguments:?}");
        assert!(ran.err.contains(error), "{arguments:?}: {}", ran.err);
    }
}

/// The folder of `flux bootstrap` itself: the way to the cluster's own is told.
#[test]
fn a_folder_with_nothing_but_the_sync_names_the_one_that_is_synced() {
    let bench = bench();
    for command in [&["fleet"][..], &["fleet", "check"]] {
        let ran = bench.run(&[command, &["clusters/production/flux-system", "--offline"]].concat());
        let told = "note: clusters/production/flux-system has only what syncs the folder clusters/production: name that, as in \
                    `bumpwright fleet clusters/production`";
        assert!(ran.err.contains(told), "{}{}", ran.out, ran.err);
    }
    let whole = bench.run(&["fleet", "clusters/production", "--offline"]);
    assert!(!whole.err.contains("has only what syncs"), "{}", whole.err);
}

#[test]
fn a_diff_has_what_a_revision_or_the_folder_changes() {
    let bench = bench();
    let commit = |message: &str| {
        run(git(&bench.dir).args(["add", "-A"]));
        let user = ["-c", "user.name=A", "-c", "user.email=a@b.c"];
        run(git(&bench.dir).args(user).args(["commit", "--quiet", "-m", message]));
    };
    commit("one");
    let none = bench.ok(&["fleet", "diff", "--from", "HEAD", "clusters/production"]);
    assert_eq!(none.out, "clusters/production\nnothing differs\n");
    let text = bench.read("apps/web.yaml").replace("kind: Service", "kind: ConfigMap");
    bench.write(
        "apps/web.yaml",
        text.replace(
            "metadata: {name: web}\n---",
            "metadata: {name: web, labels: {a: b}}\n---",
        ),
    );
    let wanted = "clusters/production\n~ Kustomization flux-system/apps 1 added, 1 changed, 1 removed\n  + ConfigMap shop/web\n  \
                  - Service shop/web\n  ~ Deployment.apps shop/web\n      + metadata.labels.a: \"b\"\n1 added, 1 changed, 1 removed\n";
    let folder = bench.run(&["fleet", "diff", "--from", "HEAD", "clusters/production"]);
    assert_eq!((folder.code, folder.out.as_str()), (1, wanted), "{}", folder.err);
    commit("two");
    let revisions = bench.run(&[
        "fleet",
        "diff",
        "--from",
        "HEAD~1",
        "--to",
        "HEAD",
        "clusters/production",
    ]);
    assert_eq!(
        (revisions.code, revisions.out.as_str()),
        (1, wanted),
        "{}",
        revisions.err
    );
    let back = bench.json(&[
        "fleet",
        "diff",
        "--from",
        "HEAD",
        "--to",
        "HEAD~1",
        "clusters/production",
    ]);
    let objects = &back.1["clusters"][0]["kustomizations"][0]["objects"];
    assert_eq!(
        (back.0, &objects[0]["change"], &objects[0]["kind"]),
        (1, &"removed".into(), &"ConfigMap".into())
    );
    let markdown = bench
        .run(&[
            "fleet", "diff", "--from", "HEAD~1", "--to", "HEAD", "--output", "markdown",
        ])
        .out;
    assert!(
        markdown.contains("| flux-system/apps | 1 added, 1 changed, 1 removed |"),
        "{markdown}"
    );
    let page = bench
        .run(&["fleet", "diff", "--from", "HEAD~1", "--to", "HEAD", "--output", "html"])
        .out;
    assert!(
        page.starts_with("<!doctype html>") && page.contains("Deployment.apps shop/web"),
        "{page}"
    );
    // A Kustomization that cannot be built removes nothing.
    bench.write("apps/kustomization.yaml", "resources: [none.yaml]\n");
    let failed = bench.run(&["fleet", "diff", "--from", "HEAD", "clusters/production"]);
    assert!(
        failed.out.contains("cannot be built: kustomize build failed") && !failed.out.contains("- "),
        "{}",
        failed.out
    );
    let unknown = bench.run(&["fleet", "diff", "--from", "no-such", "clusters/production"]);
    assert!(unknown.code == 2 && unknown.err.contains("no-such"), "{}", unknown.err);
}

#[test]
fn a_file_is_an_entry_too_and_several_entries_are_several_clusters() {
    let bench = bench();
    let file = bench.ok(&["fleet", "clusters/production/apps.yaml"]).out;
    assert!(
        file.starts_with("clusters/production/apps.yaml (entry)") && file.contains("└─ flux-system/apps"),
        "{file}"
    );
    let (code, both) = bench.json(&["fleet", "clusters/production", "clusters/production/apps.yaml"]);
    assert_eq!((code, both["clusters"].as_array().unwrap().len()), (0, 2));
}

/// What another cluster has is not known, so charts are not rendered for it.
#[test]
fn releases_for_another_cluster_are_counted() {
    let bench = bench();
    let apps = bench.read("clusters/production/apps.yaml");
    bench.write(
        "clusters/production/apps.yaml",
        format!("{apps}  kubeConfig: {{secretRef: {{name: far}}}}\n"),
    );
    bench.write(
        "apps/kustomization.yaml",
        "namespace: shop\nresources: [release.yaml]\n",
    );
    bench.write(
        "apps/release.yaml",
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: web}\nspec:\n  interval: 1h\n  \
         chart: {spec: {chart: ./charts/web, sourceRef: {kind: GitRepository, name: flux-system, namespace: flux-system}}}\n",
    );
    let words = "1 HelmRelease in another cluster (spec.kubeConfig), not rendered";
    let tree = bench.ok(&["fleet", "--offline", "clusters/production"]);
    assert!(tree.out.contains(&format!("note: {words}")), "{}", tree.out);
    let names = bench.ok(&["fleet", "--offline", "--output", "names", "clusters/production"]);
    let note = format!("note: Kustomization flux-system/apps: {words}");
    assert!(names.err.contains(&note), "{}", names.err);
    let check = bench.run(&["fleet", "check", "--offline", "clusters/production"]);
    let finding =
        "note[unknown-chart]: Kustomization flux-system/apps: its HelmRelease is in another cluster (spec.kubeConfig)";
    assert!(check.out.contains(finding), "{}", check.out);
}
