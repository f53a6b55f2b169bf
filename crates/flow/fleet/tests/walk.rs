//! Small fleets in memory: how they are walked, and what is the same after a change.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bumpwright_api::ObjectName;
use bumpwright_budget::{BUILD_MEMORY, Memory, SINGLE};
use bumpwright_fleet::diff::{self, ObjectChange};
use bumpwright_fleet::{
    Changed, Charts, ClusterObjects, Fleet, FleetObject, Memo, Outside, Problem, Product, ReleaseSummary, Repository,
    Settings, SourceError, SourceObject, view, view_cluster,
};
use bumpwright_kustomize::tree::{MemoryTree, Sealed, Tree, World};
use bumpwright_schemas::Schemas;

/// A repository in memory.
struct Files(MemoryTree);

impl Files {
    fn new(files: &[(&str, &str)]) -> Self {
        let mut tree = MemoryTree::new();
        for (path, text) in files {
            tree.add_file(path, text.as_bytes().to_vec());
        }
        Self(tree)
    }
}

impl Repository for Files {
    fn tree(&self) -> Box<dyn Tree + '_> {
        Box::new(self.0.clone())
    }

    fn ignoring(&self, ignore: &str) -> Result<Box<dyn Repository + '_>, SourceError> {
        panic!("no source has {ignore}")
    }
}

/// No network.
struct Nothing;

impl Outside for Nothing {
    fn world(&self) -> Box<dyn World + '_> {
        Box::new(Sealed)
    }

    fn source(&self, source: &SourceObject, _: &[serde_json::Value]) -> Result<Arc<dyn Repository>, Arc<SourceError>> {
        Err(Arc::new(SourceError::NotFetched(source.shown())))
    }
}

fn settings() -> Settings {
    Settings::new(Memory::single(SINGLE, BUILD_MEMORY).of(""))
}

fn seen(files: &[(&str, &str)], entry: &str) -> Fleet {
    view(&Files::new(files), entry, &Nothing, &settings(), &Memo::default()).unwrap()
}

/// A Kustomization of the repository `flux-system`.
fn kustomization(name: &str, path: &str, more: &str) -> String {
    format!(
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: {name}, namespace: flux-system}}\n\
         spec: {{interval: 1m, prune: true, path: '{path}', sourceRef: {{kind: GitRepository, name: flux-system}}{more}}}\n"
    )
}

fn config_map(name: &str, data: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: flux-system}}\ndata: {{{data}}}\n")
}

const REPOSITORY: &str = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: flux-system, namespace: \
                          flux-system}\nspec: {interval: 1m, url: ssh://git@example.com/org/fleet, ref: {branch: main}}\n";

fn names(fleet: &Fleet) -> Vec<String> {
    fleet.nodes.iter().map(|node| node.shown()).collect()
}

fn data<'f>(fleet: &'f Fleet, name: &str, key: &str) -> &'f str {
    let object = fleet.object("", "ConfigMap", &ObjectName::new("flux-system", name));
    object
        .unwrap()
        .value
        .pointer(&format!("/data/{key}"))
        .unwrap()
        .as_str()
        .unwrap()
}

/// Of a cluster some Kustomizations can be seen alone, also where one of them applies others that the cluster has.
#[test]
fn some_kustomizations_of_a_cluster_are_seen_without_the_others() {
    let files = [
        ("/apps/more.yaml", &*kustomization("more", "more", "")),
        ("/apps/new.yaml", &kustomization("new", "new", "")),
        ("/more/map.yaml", &config_map("map", "k: v")),
        ("/new/map.yaml", &config_map("new", "k: v")),
    ];
    let source = ObjectName::new("flux-system", "flux-system");
    let spec = serde_json::json!({"interval": "1m", "prune": true, "path": "apps",
        "sourceRef": {"kind": "GitRepository", "name": "flux-system"}});
    let value = serde_json::json!({"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
        "metadata": {"name": "apps", "namespace": "flux-system"}, "spec": spec});
    let mut cluster = ClusterObjects {
        source,
        objects: vec![FleetObject { value, origin: None }],
        others: BTreeSet::new(),
    };
    let built = |cluster: &ClusterObjects| {
        let fleet = view_cluster(&Files::new(&files), cluster, &Nothing, &settings(), &Memo::default());
        ["apps", "more", "new"].map(|name| fleet.kustomization(&ObjectName::new("flux-system", name)).is_some())
    };
    assert_eq!(built(&cluster), [true, true, true]);
    cluster.others.insert(ObjectName::new("flux-system", "more"));
    assert_eq!(built(&cluster), [true, false, true]);
}

#[test]
fn kustomizations_are_followed_to_the_end() {
    let files = [
        (
            "/clusters/a/sync.yaml",
            &*[REPOSITORY, &kustomization("flux-system", "./clusters/a", "")].join("---\n"),
        ),
        ("/clusters/a/apps.yaml", &kustomization("apps", "apps", "")),
        (
            "/apps/more.yaml",
            &kustomization("more", "more", ", targetNamespace: other"),
        ),
        ("/more/map.yaml", &config_map("map", "k: v")),
    ];
    let fleet = seen(&files, "./clusters/a/");
    assert_eq!(
        names(&fleet),
        ["flux-system/flux-system", "flux-system/apps", "flux-system/more"]
    );
    assert!(fleet.is_whole());
    let more = fleet.kustomization(&ObjectName::new("flux-system", "more")).unwrap();
    assert_eq!(more.objects()[0].id().to_string(), "ConfigMap/other/map");
    assert_eq!(more.objects()[0].origin.as_deref(), Some("more/map.yaml:1:1"));
    assert_eq!(more.origin.as_deref(), Some("apps/more.yaml:1:1"));
    assert_eq!(fleet.nodes[2].parent, Some(1));
}

#[test]
fn variables_come_from_kustomizations_that_are_built_later() {
    let from = ", postBuild: {substituteFrom: [{kind: ConfigMap, name: vars}]}";
    let files = [
        ("/c/a.yaml", &*kustomization("a", "a", from)),
        ("/c/b.yaml", &kustomization("b", "b", "")),
        ("/a/map.yaml", &config_map("map", "city: '${city}'")),
        ("/b/vars.yaml", &config_map("vars", "city: Rome")),
    ];
    let fleet = seen(&files, "c");
    assert!(fleet.is_whole());
    assert_eq!(data(&fleet, "map", "city"), "Rome");
}

#[test]
fn what_gives_a_variable_and_is_not_in_the_fleet_is_named_and_the_expression_stays() {
    let from = ", postBuild: {substitute: {one: '1'}, substituteFrom: [{kind: Secret, name: hand-made}]}";
    let files = [
        ("/c/a.yaml", &*kustomization("a", "a", from)),
        ("/a/map.yaml", &config_map("map", "v: '${one} ${two}'")),
    ];
    let fleet = seen(&files, "c");
    assert_eq!(data(&fleet, "map", "v"), "1 ${two}");
    let missing = &fleet.nodes[1].missing;
    assert_eq!((missing.len(), missing[0].name.name.as_str()), (1, "hand-made"));
}

#[test]
fn the_entry_is_built_as_the_kustomization_that_reconciles_it() {
    let own = kustomization("root", "./c", ", postBuild: {substitute: {folder: apps}}");
    let files = [
        ("/c/root.yaml", &*[REPOSITORY, &own].join("---\n")),
        ("/c/apps.yaml", &kustomization("apps", "./${folder}", "")),
        ("/apps/map.yaml", &config_map("map", "k: v")),
    ];
    let fleet = seen(&files, "c");
    assert_eq!(names(&fleet), ["flux-system/root", "flux-system/apps"]);
    assert_eq!(data(&fleet, "map", "k"), "v");
}

#[test]
fn what_fails_is_a_problem_of_its_own() {
    let other = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: other, namespace: flux-system}\n\
                 spec: {interval: 1m, url: https://example.com/org/other}\n";
    let elsewhere = kustomization("elsewhere", "./", "").replace("name: flux-system}}", "name: other}}");
    let files = [
        (
            "/c/sync.yaml",
            &*[REPOSITORY, &kustomization("flux-system", "./c", "")].join("---\n"),
        ),
        (
            "/c/all.yaml",
            &[
                other,
                &elsewhere,
                &kustomization("broken", "broken", ""),
                &kustomization("gone", "gone", ""),
                &kustomization("good", "good", ""),
                &kustomization("itself", "itself", ""),
            ]
            .join("---\n"),
        ),
        ("/broken/kustomization.yaml", "resources: [missing.yaml]\n"),
        ("/itself/kustomization.yaml", "resources: [../itself]\n"),
        ("/good/map.yaml", &config_map("map", "k: v")),
    ];
    let fleet = seen(&files, "c");
    let problem = |name: &str| {
        let node = fleet.kustomization(&ObjectName::new("flux-system", name)).unwrap();
        node.product.as_ref().err().cloned()
    };
    assert!(
        matches!(problem("broken"), Some(Problem::Build(failure)) if failure.to_string().contains("broken/kustomization.yaml:1:13"))
    );
    assert!(matches!(problem("gone"), Some(Problem::Build(failure)) if failure.to_string().contains("gone")));
    assert!(matches!(problem("itself"), Some(Problem::Build(failure)) if failure.to_string().contains("cycle")));
    assert!(matches!(problem("elsewhere"), Some(Problem::Source(text)) if text.contains("flux-system/other")));
    assert_eq!(problem("good"), None);
}

#[test]
fn bounds_are_told_and_the_rest_is_shown() {
    let mut all: Vec<(String, String)> = (0..6)
        .map(|n| {
            (
                format!("/c/{n}.yaml"),
                kustomization(&format!("k{n}"), &format!("app{n}"), ""),
            )
        })
        .collect();
    all.extend((0..6).map(|n| (format!("/app{n}/map.yaml"), config_map(&format!("m{n}"), "k: v"))));
    let files: Vec<(&str, &str)> = all.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let repository = Files::new(&files);
    let few = Settings {
        kustomizations: 4,
        ..settings()
    };
    let fleet = view(&repository, "c", &Nothing, &few, &Memo::default()).unwrap();
    assert_eq!((fleet.nodes.len(), fleet.problems.len()), (4, 1));
    let small = Settings {
        objects: 8,
        ..settings()
    };
    let fleet = view(&repository, "c", &Nothing, &small, &Memo::default()).unwrap();
    assert_eq!(fleet.len(), 8);
    assert_eq!(fleet.nodes.iter().filter(|node| node.product.is_err()).count(), 4);
    assert!(view(&repository, "none", &Nothing, &small, &Memo::default()).is_err());
}

#[test]
fn only_what_a_change_affects_is_built_again() {
    let files = [
        ("/c/a.yaml", &*kustomization("a", "a", "")),
        ("/c/b.yaml", &kustomization("b", "b", "")),
        ("/a/map.yaml", &config_map("one", "k: v")),
        ("/b/map.yaml", &config_map("two", "k: v")),
    ];
    let (repository, memo) = (Files::new(&files), Memo::default());
    let before = view(&repository, "c", &Nothing, &settings(), &memo).unwrap();
    let changed = Changed {
        repository: &repository,
        files: [("b/map.yaml".to_owned(), config_map("two", "k: w").into_bytes())].into(),
    };
    let after = view(
        &changed,
        "c",
        &Nothing,
        &settings(),
        &memo.after(&["b/map.yaml".to_owned()]),
    )
    .unwrap();
    let same = |at: usize| {
        let (one, other) = (
            before.nodes[at].product.as_ref().unwrap(),
            after.nodes[at].product.as_ref().unwrap(),
        );
        Arc::ptr_eq(one, other)
    };
    assert_eq!((same(0), same(1), same(2)), (true, true, false));
    let difference = diff::compare(&before, &after);
    let [kustomization] = &difference.kustomizations[..] else {
        panic!("{difference:?}")
    };
    let ObjectChange::Changed(fields) = &kustomization.objects[0].change else {
        panic!()
    };
    assert_eq!((fields.len(), fields[0].path.as_str()), (1, "data.k"));
}

#[test]
fn objects_that_move_are_neither_new_nor_gone_and_secrets_are_not_shown() {
    let secret = |value: &str| {
        format!(
            "apiVersion: v1\nkind: Secret\nmetadata: {{name: s, namespace: flux-system}}\nstringData: {{k: {value}}}\n"
        )
    };
    let before = [
        ("/c/a.yaml", &*kustomization("a", "a", "")),
        ("/c/b.yaml", &kustomization("b", "b", "")),
        ("/a/map.yaml", &config_map("map", "k: v")),
        ("/a/other.yaml", &config_map("old", "k: v")),
        ("/b/secret.yaml", &secret("before-1")),
    ];
    let after = [
        ("/c/a.yaml", &*kustomization("a", "a", "")),
        ("/c/b.yaml", &kustomization("b", "b", "")),
        ("/a/other.yaml", &config_map("new", "k: v")),
        ("/b/map.yaml", &config_map("map", "k: v")),
        ("/b/secret.yaml", &secret("after-2")),
    ];
    let difference = diff::compare(&seen(&before, "c"), &seen(&after, "c"));
    let counts = difference.counts();
    assert_eq!(
        (counts.added, counts.removed, counts.moved, counts.changed),
        (1, 1, 1, 1)
    );
    let all = [
        diff::to_text(std::slice::from_ref(&difference)),
        diff::to_json(std::slice::from_ref(&difference)),
        diff::to_markdown(std::slice::from_ref(&difference)),
        diff::to_html(std::slice::from_ref(&difference), "1").unwrap(),
    ];
    for text in all {
        assert!(text.contains("flux-system/map") || text.contains("\"map\""), "{text}");
        assert!(text.contains("flux-system/a"), "{text}");
        for value in ["before-1", "after-2", "YmVmb3JlLTE", "YWZ0ZXItMg"] {
            assert!(!text.contains(value), "{text}");
        }
    }
}

#[test]
fn a_generated_object_with_another_hash_is_the_same_one() {
    let files = |value: &str| {
        let generator = format!("configMapGenerator: [{{name: app, literals: [k={value}]}}]\n");
        let apps = kustomization("a", "a", "");
        let files = [("/c/a.yaml", &*apps), ("/a/kustomization.yaml", &*generator)];
        seen(&files, "c")
    };
    let difference = diff::compare(&files("v"), &files("w"));
    let counts = difference.counts();
    assert_eq!(
        (counts.added, counts.removed, counts.changed),
        (0, 0, 1),
        "{difference:?}"
    );
}

/// Two releases of a chart in the repository; the values of `two` are in a ConfigMap.
fn releases() -> BTreeMap<&'static str, String> {
    let release = |name: &str, values: &str| {
        format!(
            "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {{name: {name}, namespace: flux-system}}\nspec:\n  \
             interval: 1h\n  chart: {{spec: {{chart: ./chart, sourceRef: {{kind: GitRepository, name: flux-system}}}}}}\n  {values}\n"
        )
    };
    let from = "valuesFrom: [{kind: ConfigMap, name: vars, valuesKey: v, targetPath: v}]";
    let sync = [REPOSITORY.to_owned(), kustomization("flux-system", "./c", "")];
    BTreeMap::from([
        ("/c/sync.yaml", sync.join("---\n")),
        ("/c/one.yaml", release("one", "values: {v: own}")),
        ("/c/two.yaml", release("two", from)),
        ("/c/vars.yaml", config_map("vars", "v: before")),
        (
            "/chart/Chart.yaml",
            "{apiVersion: v2, name: chart, version: 1.0.0}\n".to_owned(),
        ),
        ("/chart/templates/map.yaml", template("a")),
    ])
}

/// A template with all that a chart sees.
fn template(text: &str) -> String {
    [
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '{{ .Release.Name }}'}\ndata:",
        &format!("  text: {text}"),
        "  v: '{{ .Values.v }}'",
        "  version: '{{ .Capabilities.KubeVersion.Minor }}'",
        "  has: '{{ .Capabilities.APIVersions.Has \"example.com/v1\" }}'\n",
    ]
    .join("\n")
}

/// The fleet with its releases, on a minor version of Kubernetes.
fn rendered(files: &BTreeMap<&str, String>, kubernetes: &str, memo: &Memo) -> Fleet {
    let schemas = Schemas::bundled(Some(kubernetes)).unwrap();
    let settings = Settings {
        charts: Some(Charts::new(kubernetes.to_owned(), schemas)),
        ..settings()
    };
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
    view(&Files::new(&files), "c", &Nothing, &settings, memo).unwrap()
}

/// What a release installs.
fn product(fleet: &Fleet, name: &str) -> Arc<Product> {
    let is_it = |release: &ReleaseSummary| release.name.name == name;
    let node = fleet.nodes.iter().find(|node| node.release.as_ref().is_some_and(is_it));
    Arc::clone(node.unwrap().product.as_ref().unwrap())
}

/// A release is rendered once for two states if it is made of the same in both, and again if anything differs.
#[test]
fn a_release_is_rendered_again_only_if_what_it_is_made_of_differs() {
    let minors = Schemas::bundled(None).unwrap().minors();
    let (oldest, newest) = (minors[0], minors[minors.len() - 1]);
    let definition = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: things.example.com}\nspec: \
                      {group: example.com, scope: Namespaced, names: {kind: Thing, plural: things}, versions: [{name: v1, served: true, \
                      storage: true}]}\n";
    let own = releases()["/c/one.yaml"].replace("own", "other");
    for (what, path, text, kubernetes, is_shared) in [
        (
            "another file",
            "/c/README.md",
            "text\n".to_owned(),
            newest,
            [true, true],
        ),
        ("one release", "/c/one.yaml", own, newest, [false, true]),
        (
            "the ConfigMap",
            "/c/vars.yaml",
            config_map("vars", "v: after"),
            newest,
            [true, false],
        ),
        (
            "the template",
            "/chart/templates/map.yaml",
            template("b"),
            newest,
            [false, false],
        ),
        (
            "the definitions",
            "/c/things.yaml",
            definition.to_owned(),
            newest,
            [false, false],
        ),
        ("Kubernetes", "/c/README.md", String::new(), oldest, [false, false]),
    ] {
        let (memo, before) = (Memo::default(), releases());
        let mut after = before.clone();
        after.insert(path, text);
        let old = rendered(&before, newest, &memo);
        let new = rendered(&after, kubernetes, &memo.after(&[path.to_owned()]));
        let shared = ["one", "two"].map(|name| Arc::ptr_eq(&product(&old, name), &product(&new, name)));
        assert_eq!(shared, is_shared, "{what}");
        let fresh = rendered(&after, kubernetes, &Memo::default());
        for (name, is_shared) in ["one", "two"].into_iter().zip(is_shared) {
            assert_eq!(
                product(&new, name).objects,
                product(&fresh, name).objects,
                "{what}: {name}"
            );
            let is_same = product(&old, name).objects == product(&new, name).objects;
            assert_eq!(is_same, is_shared, "{what}: {name}");
        }
    }
}
