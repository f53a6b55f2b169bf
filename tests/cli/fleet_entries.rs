//! Which folders `bumpwright fleet` takes for clusters, and what a cluster has that reconciles one of them.

use bumpwright_testkit::cli::Bench;
use bumpwright_testkit::repo::{git, run};
use serde_json::Value;

fn source(name: &str) -> String {
    format!(
        "apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {{name: {name}, namespace: flux-system}}
spec: {{interval: 1m, url: 'https://git.example.com/acme/{name}', ref: {{branch: main}}}}
"
    )
}

fn kustomization(name: &str, path: &str, more: &str) -> String {
    format!(
        "apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {{name: {name}, namespace: flux-system}}
spec: {{interval: 1m, prune: true, path: {path}, sourceRef: {{kind: GitRepository, name: flux-system}}{more}}}
"
    )
}

fn bench(files: &[(&str, &str)]) -> Bench {
    let bench = Bench::new();
    for (path, text) in files {
        bench.write(path, text);
    }
    run(git(&bench.dir).args(["init", "--quiet"]));
    bench
}

/// The entries, and the names of all Kustomizations with `!` for those that were not built.
fn fleets(bench: &Bench, arguments: &[&str]) -> Vec<(String, Vec<String>)> {
    let (_, document) = bench.json(&[&["fleet", "--offline"], arguments].concat());
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let clusters = document["clusters"].as_array().unwrap().iter().map(|cluster| {
        let all = cluster["kustomizations"].as_array().unwrap().iter();
        // What an operator makes has no Kustomization of its own.
        let names = all.map(|one| {
            let name = one["name"].as_str().unwrap_or("made");
            format!("{name}{}", one["error"].as_str().map_or("", |_| "!"))
        });
        (text(&cluster["entry"]), names.collect())
    });
    clusters.collect()
}

const MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: d}\n";

#[test]
fn a_cluster_is_a_folder_whose_source_is_beside_its_kustomization() {
    let sync = |cluster: &str| {
        let own = kustomization("flux-system", &format!("./clusters/{cluster}"), "");
        [source("flux-system"), own].join("---\n")
    };
    let own = |folder: &str| kustomization(&format!("own-{}", folder.len()), folder, "");
    let mut files = Vec::new();
    for cluster in ["one", "two"] {
        files.push((format!("clusters/{cluster}/flux-system/gotk-sync.yaml"), sync(cluster)));
        files.push((
            format!("clusters/{cluster}/all.yaml"),
            kustomization("apps", "./apps", ""),
        ));
    }
    // In two files of a folder.
    files.push(("clusters/three/sync/source.yaml".to_owned(), source("flux-system")));
    files.push(("clusters/three/sync/ks.yaml".to_owned(), own("./clusters/three")));
    // Folders that come out of a cluster: a Kustomization for the folder itself, from the source of the cluster.
    for n in ["a", "bb", "ccc"] {
        files.push((format!("apps/{n}/entry/ks.yaml"), own(&format!("./apps/{n}"))));
    }
    // Beside another source, and with the name of the kind in a comment.
    files.push((
        "apps/other/ks.yaml".to_owned(),
        [source("other"), own("./apps/other")].join("---\n"),
    ));
    files.push((
        "apps/wordss/ks.yaml".to_owned(),
        format!("# kind: GitRepository, name: flux-system\n{}", own("./apps/wordss")),
    ));
    // Of another folder.
    files.push(("docs/example.yaml".to_owned(), sync("one")));
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_str()))
        .collect();
    let bench = bench(&files);
    let found = fleets(&bench, &[]);
    let entries: Vec<&str> = found.iter().map(|(entry, _)| entry.as_str()).collect();
    assert_eq!(entries, ["clusters/one", "clusters/three", "clusters/two"]);
    let names: Vec<usize> = found.iter().map(|(_, names)| names.len()).collect();
    assert_eq!(names, [7, 1, 7], "{found:?}");
    let (_, report) = bench.json(&["fleet", "check", "--offline"]);
    assert_eq!(report["counts"]["kustomizations"], 15, "{report}");
}

/// `flux bootstrap --path=./`. With other clusters, or under other names, a Kustomization of the root is
/// that of another repository.
#[test]
fn the_root_is_a_cluster_where_it_was_bootstrapped_and_there_is_no_other() {
    let sync = |name: &str, path: &str| [source("flux-system"), kustomization(name, path, "")].join("---\n");
    for path in ["./", ".", "\"\""] {
        let own = sync("flux-system", path);
        let bench = bench(&[("flux-system/gotk-sync.yaml", &own), ("map.yaml", MAP)]);
        let found = fleets(&bench, &[]);
        assert_eq!(found.len(), 1, "{path}: {found:?}");
        assert_eq!(found, fleets(&bench, &["."]), "{path}");
        let other = sync("flux-system", "./clusters/one");
        bench.write("clusters/one/flux-system/gotk-sync.yaml", other);
        let found = fleets(&bench, &[]);
        let entries: Vec<&str> = found.iter().map(|(entry, _)| entry.as_str()).collect();
        assert_eq!(entries, ["clusters/one"], "{path}");
    }
    let tenant = sync("tenant", "./");
    let bench = bench(&[("tenants/sync.yaml", &tenant)]);
    let ran = bench.run(&["fleet", "--offline"]);
    assert!(
        ran.code == 2 && ran.err.contains("no folder here has a Kustomization"),
        "{}",
        ran.err
    );
    let hint = "; name the folder that the cluster reconciles: tenants has Kustomizations\n";
    assert!(ran.err.contains(hint), "{}", ran.err);
}

/// As flux-operator has it: source and Kustomization have the name that is given, or that of the namespace.
#[test]
fn what_an_operator_syncs_has_the_name_of_its_namespace() {
    let sync = |more: &str| {
        format!(
            "sync: {{kind: GitRepository, url: 'https://git.example.com/acme/fleet.git', ref: refs/heads/main, path: clusters/prod{more}}}"
        )
    };
    let instance = |more: &str| {
        format!(
            "apiVersion: fluxcd.controlplane.io/v1\nkind: FluxInstance\nmetadata: {{name: flux, namespace: ops}}\nspec: {{{}}}\n",
            sync(more)
        )
    };
    let release = |chart: &str, values: &str| {
        format!(
            "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {{name: flux-instance, namespace: ops}}\nspec:\n  interval: 1h\n  \
             {chart}\n  {values}\n"
        )
    };
    let inline = |more: &str| format!("values: {{instance: {{{}}}}}", sync(more));
    let by_name = "chart: {spec: {chart: flux-instance, sourceRef: {kind: HelmRepository, name: c}}}";
    let by_reference = "chartRef: {kind: OCIRepository, name: operator}";
    let oci = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: OCIRepository\nmetadata: {name: operator, namespace: ops}\nspec: {interval: 1h, \
               url: 'oci://registry.example/charts/flux-instance', ref: {tag: 1.0.0}}\n---\n";
    let values = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: values, namespace: ops}}\ndata:\n  values.yaml: |\n    instance:\n      {}\n---\n",
        sync("")
    );
    let from = "valuesFrom: [{kind: ConfigMap, name: values}]\n  values: {instance: {sync: {interval: 5m}}}";
    for (object, name, is_found) in [
        (instance(""), "ops", true),
        (instance(", name: ''"), "ops", true),
        (instance(", name: given"), "given", true),
        (release(by_name, &inline("")), "ops", true),
        (release(by_name, &inline(", name: given")), "given", true),
        (oci.to_owned() + &release(by_reference, &inline("")), "ops", true),
        (
            release("chartRef: {kind: OCIRepository, name: flux-instance}", &inline("")),
            "ops",
            true,
        ),
        (
            release(
                "targetNamespace: away\n  chartRef: {kind: OCIRepository, name: flux-instance}",
                &inline(""),
            ),
            "away",
            true,
        ),
        (values.clone() + &release(by_name, from), "ops", false),
    ] {
        let namespace = if name == "away" { "away" } else { "ops" };
        let apps = format!(
            "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: apps, namespace: {namespace}}}\nspec: {{interval: \
             1m, prune: true, path: ./apps, dependsOn: [{{name: {name}}}], sourceRef: {{kind: GitRepository, name: {name}}}}}\n"
        );
        // The object may be in the folder, or come out of a Kustomization in it.
        for place in ["clusters/prod/flux.yaml", "apps/flux.yaml"] {
            let bench = bench(&[
                (place, &object),
                ("clusters/prod/apps.yaml", &apps),
                ("apps/map.yaml", MAP),
            ]);
            let own = format!("{namespace}/{name}");
            let found = fleets(&bench, &["clusters/prod"]);
            let names = &found[0].1;
            assert_eq!(names[0], own, "{place}\n{object}");
            assert!(
                names.contains(&format!("{namespace}/apps")),
                "{place} {names:?}\n{object}"
            );
            if is_found {
                assert_eq!(fleets(&bench, &[]), found, "{place}\n{object}");
            }
            let (_, report) = bench.json(&["fleet", "check", "--offline", "clusters/prod"]);
            let rules: Vec<&str> = report["findings"]
                .as_array()
                .unwrap()
                .iter()
                .map(|one| one["rule"].as_str().unwrap())
                .collect();
            assert!(!rules.contains(&"missing-dependency"), "{place} {report}\n{object}");
        }
    }
}

/// What reconciles the entry applies itself: its variables are in its own variables, and its patches
/// in its own patches.
#[test]
fn what_reconciles_the_entry_is_what_it_makes_of_itself() {
    let spec = ", postBuild: {substitute: {ENV: prod, FULL: '${ENV}-00'}}, patches: [{target: {kind: Kustomization}, patch: '- {op: \
                add, path: /spec/commonMetadata, value: {labels: {env: \"${ENV}\"}}}'}]";
    let sync = format!(
        "{}---\n{}",
        source("flux-system"),
        kustomization("flux-system", "./clusters/prod", spec)
    );
    let bench = bench(&[
        ("clusters/prod/sync.yaml", &sync),
        (
            "clusters/prod/map.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: \"web-${FULL}\", namespace: flux-system}\n",
        ),
    ]);
    let shown = bench
        .ok(&["fleet", "--offline", "--output", "json", "clusters/prod"])
        .out;
    let shown: Value = serde_json::from_str(&shown).unwrap();
    let objects = shown["clusters"][0]["kustomizations"][0]["objects"].as_array().unwrap();
    let map = objects.iter().find(|one| one["object"]["kind"] == "ConfigMap").unwrap();
    assert_eq!(map["object"]["metadata"]["name"], "web-prod-00");
    assert_eq!(map["object"]["metadata"]["labels"]["env"], "prod");
}

/// `flux bootstrap` has applied them, whatever the kustomization of the folder lists.
#[test]
fn what_reconciles_the_entry_is_in_the_fleet() {
    let sync = [
        source("flux-system"),
        kustomization("flux-system", "./clusters/prod", ""),
    ]
    .join("---\n");
    let web = kustomization(
        "web",
        "./web",
        ", dependsOn: [{name: flux-system}], healthChecks: [{apiVersion: kustomize.toolkit.fluxcd.io/v1, kind: Kustomization, name: \
         flux-system, namespace: flux-system}]",
    );
    let automation = "apiVersion: image.toolkit.fluxcd.io/v1\nkind: ImageUpdateAutomation\nmetadata: {name: a, namespace: flux-system}\nspec: \
                      {interval: 1h, sourceRef: {kind: GitRepository, name: flux-system}, git: {commit: {author: {email: a@b.c}}}}\n";
    let bench = bench(&[
        ("clusters/prod/flux-system/gotk-sync.yaml", &sync),
        ("clusters/prod/kustomization.yaml", "resources: [../../apps]\n"),
        ("apps/kustomization.yaml", "resources: [web.yaml, automation.yaml]\n"),
        ("apps/web.yaml", &web),
        ("apps/automation.yaml", automation),
        ("web/map.yaml", MAP),
    ]);
    let ran = bench.run(&["fleet", "check", "--offline", "clusters/prod"]);
    assert!(
        !ran.out.contains("flux-system of dependsOn") && !ran.out.contains("is not in the fleet"),
        "{}",
        ran.out
    );
    assert_eq!(ran.code, 0, "{}", ran.out);
    // Another name is still missing.
    bench.write(
        "apps/web.yaml",
        web.replace("dependsOn: [{name: flux-system}]", "dependsOn: [{name: flux-systen}]"),
    );
    let ran = bench.run(&["fleet", "check", "--offline", "clusters/prod"]);
    assert!(
        ran.code == 1 && ran.out.contains("error[missing-dependency]"),
        "{}",
        ran.out
    );
}
