//! Errors and warnings of builds, and their requests to the world.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use bumpwright_kustomize::tree::{Argument, Command, MemoryTree, PluginFile, RepoUrl, Sealed, Tree, World, WorldError};
use bumpwright_kustomize::{Options, build};
use serde_json::json;
use std::sync::Arc;

fn tree(files: &[(&str, &str)]) -> MemoryTree {
    let mut tree = MemoryTree::new();
    files.iter().for_each(|(path, text)| tree.add_file(path, *text));
    tree
}

fn built(files: &[(&str, &str)], target: &str) -> String {
    let built = build(&tree(files), target, &Options::default(), &Sealed);
    built.unwrap_or_else(|error| panic!("{error}")).to_yaml().unwrap()
}

fn error(files: &[(&str, &str)], target: &str) -> String {
    let error = build(&tree(files), target, &Options::default(), &Sealed).err();
    let error = error.expect("a failure").to_string();
    assert!(error.lines().count() <= 5, "{error}");
    error
}

const MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: app\n";

#[test]
fn an_error_in_a_base_names_its_line_and_the_kustomizations_that_led_there() {
    let text = error(
        &[
            ("top/kustomization.yaml", "namePrefix: x-\nresources:\n- ../base\n"),
            ("base/kustomization.yaml", "resources:\n- app.yaml\n"),
            ("base/app.yaml", "kind: ConfigMap\nmetadata:\n  name: a\n   b: c\n"),
        ],
        "top",
    );
    assert!(text.starts_with("base/app.yaml:4:"), "{text}");
    assert!(
        text.ends_with("included by base/kustomization.yaml:2:3\n  included by top/kustomization.yaml:3:3"),
        "{text}"
    );
}

#[test]
fn an_unknown_field_is_an_error_at_its_place() {
    let text = error(&[("kustomization.yaml", "resources: []\nnamePrefx: a\n")], "/");
    assert!(text.starts_with("kustomization.yaml:2:1: "), "{text}");
    assert!(text.contains("namePrefx"), "{text}");
    let text = error(&[("kustomization.yaml", "namePrefix: 5\n")], "/");
    assert!(text.starts_with("kustomization.yaml:1:13: "), "{text}");
}

#[test]
fn kustomizations_that_say_nothing_or_are_several_are_refused() {
    for (files, wanted) in [
        (vec![("kustomization.yaml", "")], "is empty"),
        (
            vec![("kustomization.yaml", "kind: Kustomization\nnamePrefix: ''\n")],
            "is empty",
        ),
        (vec![("x", "")], "unable to find one of"),
        (
            vec![
                ("kustomization.yaml", "resources: []"),
                ("Kustomization", "resources: []"),
            ],
            "multiple kustomization files",
        ),
        (
            vec![("kustomization.yaml", "kind: Deployment\nresources: []")],
            "kind should be",
        ),
        (
            vec![(
                "kustomization.yaml",
                "kind: Component\napiVersion: kustomize.config.k8s.io/v1beta1\nresources: []",
            )],
            "should be kustomize.config.k8s.io/v1alpha1",
        ),
    ] {
        let text = error(&files, "/");
        assert!(text.contains(wanted), "{wanted}: {text}");
    }
}

#[test]
fn a_kustomization_may_not_include_itself() {
    let files = [
        ("a/kustomization.yaml", "resources: [../b]"),
        ("b/kustomization.yaml", "resources: [../a]"),
    ];
    let text = error(&files, "a");
    assert!(text.starts_with("b/kustomization.yaml:1:13: cycle"), "{text}");
}

#[test]
fn a_conflict_names_the_second_object() {
    let text = error(
        &[
            ("kustomization.yaml", "resources: [one.yaml, two.yaml]"),
            ("one.yaml", MAP),
            ("two.yaml", MAP),
        ],
        "/",
    );
    assert!(
        text.starts_with("two.yaml:1:1: may not add resource with an already registered id"),
        "{text}"
    );
}

#[test]
fn a_patch_without_its_object_names_the_patch() {
    let text = error(
        &[
            (
                "kustomization.yaml",
                "resources: [one.yaml]\npatches:\n- path: patch.yaml\n",
            ),
            ("one.yaml", MAP),
            (
                "patch.yaml",
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\n",
            ),
        ],
        "/",
    );
    assert!(text.starts_with("patch.yaml:1:1: "), "{text}");
    assert!(text.contains("ConfigMap.v1.[noGrp]/other.[noNs]"), "{text}");
}

#[test]
fn secrets_are_not_shown_in_errors() {
    let text = error(
        &[(
            "kustomization.yaml",
            "secretGenerator:\n- name: s\n  literals: [a=hunter2, a=hunter3]\n",
        )],
        "/",
    );
    assert!(
        text.contains("\"a\" is given twice") && !text.contains("hunter"),
        "{text}"
    );
}

#[test]
fn many_layers_are_bounded() {
    let mut tree = MemoryTree::new();
    for layer in 0..300 {
        tree.add_file(
            &format!("l{layer}/kustomization.yaml"),
            format!("resources: [../l{}]", layer + 1),
        );
    }
    let error = build(&tree, "l0", &Options::default(), &Sealed).unwrap_err();
    assert!(error.to_string().contains("deep"), "{error}");
}

struct Outside;

impl World for Outside {
    fn repository(&self, url: &RepoUrl) -> Result<Arc<dyn Tree>, WorldError> {
        assert_eq!((&*url.reference, &*url.directory), ("v1", "dir"));
        let files = [
            ("dir/kustomization.yaml", "resources: [map.yaml]\nnameSuffix: -remote"),
            ("dir/map.yaml", MAP),
        ];
        Ok(Arc::new(tree(&files)))
    }

    fn fetch(&self, url: &str) -> Result<Vec<u8>, WorldError> {
        match url {
            "https://h.xz/maps/one.yaml" => Ok(MAP.replace("app", "fetched").into_bytes()),
            _ => Err(WorldError::Status(404)),
        }
    }

    fn plugin(&self, group: &str, version: &str, kind: &str) -> PluginFile {
        match kind {
            "Goer" => PluginFile::Go("/plugins/Goer.so".to_owned()),
            _ => PluginFile::Program(format!("/plugins/{group}/{version}/{kind}")),
        }
    }

    fn run(&self, command: &Command<'_>) -> Result<Vec<u8>, WorldError> {
        assert_eq!((command.program, command.directory), ("/plugins/x.io/v1/Maker", "/"));
        let [Argument::File(config), rest @ ..] = command.arguments else {
            panic!("the config comes first");
        };
        assert!(String::from_utf8_lossy(config).contains("kind: Maker"));
        assert_eq!(
            rest,
            [Argument::Text("--a".to_owned()), Argument::Text("b c".to_owned())]
        );
        let annotations = "  annotations:\n    kustomize.config.k8s.io/needs-hash: 'true'\ndata: {k: v}\n";
        Ok(format!("{MAP}{annotations}").into_bytes())
    }
}

fn with_world(files: &[(&str, &str)], options: &Options) -> Result<String, String> {
    let built = build(&tree(files), "/", options, &Outside).map_err(|error| error.to_string())?;
    Ok(built.to_yaml().unwrap())
}

#[test]
fn repositories_and_urls_come_from_the_world() {
    let files = [(
        "kustomization.yaml",
        "resources:\n- https://h.xz/o/r//dir?ref=v1\n- https://h.xz/maps/one.yaml\n",
    )];
    let text = with_world(&files, &Options::default()).unwrap();
    assert_eq!(text.matches("name: ").collect::<Vec<_>>().len(), 2, "{text}");
    assert!(
        text.contains("name: app-remote") && text.contains("name: fetched"),
        "{text}"
    );
    let files = [("kustomization.yaml", "resources:\n- https://h.xz/none.yaml\n")];
    let error = with_world(&files, &Options::default()).unwrap_err();
    assert!(error.contains("HTTP status 404"), "{error}");
}

const MAKER: &str = "apiVersion: x.io/v1\nkind: Maker\nmetadata: {name: m}\nargsOneLiner: --a 'b c'\n";

#[test]
fn a_plugin_runs_only_where_plugins_may() {
    let files = [
        ("kustomization.yaml", "generators: [maker.yaml]"),
        ("maker.yaml", MAKER),
    ];
    let error = with_world(&files, &Options::default()).unwrap_err();
    assert!(error.contains("--enable-alpha-plugins"), "{error}");
    let options = Options {
        plugins: true,
        ..Options::default()
    };
    let text = with_world(&files, &options).unwrap();
    assert!(text.contains("name: app-") && !text.contains("needs-hash"), "{text}");
    let goer = MAKER.replace("Maker", "Goer");
    let files = [
        ("kustomization.yaml", "transformers: [maker.yaml]"),
        ("maker.yaml", &*goer),
    ];
    let error = with_world(&files, &options).unwrap_err();
    assert!(error.contains("Go plugins are not supported"), "{error}");
    let function = MAKER.replace(
        "metadata: {name: m}",
        "metadata:\n  name: m\n  annotations:\n    config.kubernetes.io/function: |\n      container: {image: x/y}",
    );
    let files = [
        ("kustomization.yaml", "generators: [maker.yaml]"),
        ("maker.yaml", &*function),
    ];
    let error = with_world(&files, &options).unwrap_err();
    assert!(error.contains("containers (x/y) are not supported"), "{error}");
}

#[test]
fn older_fields_are_warned_of_with_what_to_write_instead() {
    let files = [
        ("kustomization.yaml", "bases: [base]"),
        (
            "base/kustomization.yaml",
            "resources: [m.yaml]\ncommonLabels:\n  app: x",
        ),
        ("base/m.yaml", MAP),
    ];
    let built = build(&tree(&files), "/", &Options::default(), &Sealed).unwrap();
    let wanted = [
        "kustomization.yaml:1:8: the field 'bases' is deprecated: put its entries into 'resources'",
        "base/kustomization.yaml:3:3: the field 'commonLabels' is deprecated: write 'labels' with one entry, which has the labels \
         as its 'pairs' and 'includeSelectors: true'",
    ];
    assert_eq!(built.warnings, wanted);
}

#[test]
fn a_generated_name_follows_its_content() {
    let map = |value: &str| {
        let text = format!("configMapGenerator:\n- name: g\n  literals: [k={value}]\n");
        built(&[("kustomization.yaml", &text)], "/")
    };
    assert_ne!(map("1"), map("2"));
    // sha256 of {"data":{"k":"1"},"kind":"ConfigMap","name":""}, as the real kustomize names it.
    assert!(map("1").ends_with("name: g-bbd6m56k95\n"), "{}", map("1"));
}

#[test]
fn a_json_patch_adds_an_annotation_where_there_are_none() {
    // kustomize keeps its metadata of an object in annotations, so that there is something to add to: always for
    // `patches`, and for `patchesJson6902` once its name or namespace was changed.
    let patch = " target: {version: v1, kind: ConfigMap, name: app}\n  patch: |-\n    - op: add\n      path: \
                 /metadata/annotations/note\n      value: w\n";
    let wanted = |name: &str| MAP.replace("  name: app", &format!("  annotations:\n    note: w\n  name: {name}"));
    for (fields, name) in [
        ("patches:\n-", "app"),
        ("namePrefix: x-\npatches:\n-", "x-app"),
        ("nameSuffix: -x\npatchesJson6902:\n-", "app-x"),
        ("namespace: default\npatchesJson6902:\n-", "app\n  namespace: default"),
    ] {
        let text = format!("resources: [m.yaml]\n{fields}{patch}");
        assert_eq!(
            built(&[("kustomization.yaml", &text), ("m.yaml", MAP)], "/"),
            wanted(name)
        );
    }
    let text = format!("resources: [m.yaml]\npatchesJson6902:\n-{patch}");
    let error = error(&[("kustomization.yaml", &text), ("m.yaml", MAP)], "/");
    assert!(error.contains("doc is missing path"), "{error}");
}

#[test]
fn a_json_patch_that_takes_all_annotations_away_leaves_the_former_names() {
    let text = "resources: [base]\npatches:\n- target: {kind: ConfigMap}\n  patch: |-\n    - op: remove\n      path: \
                /metadata/annotations\n";
    let pod = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: p\nspec:\n  volumes:\n  - configMap:\n      name: app\n    \
               name: v\n";
    let out = built(
        &[
            ("kustomization.yaml", text),
            (
                "base/kustomization.yaml",
                "namePrefix: x-\nresources: [m.yaml, p.yaml]\n",
            ),
            ("base/m.yaml", MAP),
            ("base/p.yaml", pod),
        ],
        "/",
    );
    assert!(
        out.contains("- configMap:\n      name: x-app\n") && !out.contains("annotations"),
        "{out}"
    );
}

#[test]
fn annotations_are_replaced_as_a_whole_where_there_are_none() {
    let text = "resources: [m.yaml, n.yaml]\nnamePrefix: x-\nreplacements:\n- source: {kind: Secret, fieldPath: \
                metadata.annotations}\n  targets:\n  - select: {kind: ConfigMap}\n    fieldPaths: \
                [metadata.annotations]\n";
    let secret = "apiVersion: v1\nkind: Secret\nmetadata:\n  annotations:\n    a: b\n  name: s\n";
    let files = [("kustomization.yaml", text), ("m.yaml", MAP), ("n.yaml", secret)];
    let wanted = "metadata:\n  annotations:\n    a: b\n  name: x-app\n";
    assert!(built(&files, "/").contains(wanted));
}

#[test]
fn entries_of_a_kustomization_hold_strings_where_strings_are_wanted() {
    for text in [
        "configMapGenerator:\n- name: g\n  options:\n    labels: {a: yes}\n",
        "generatorOptions:\n  annotations: {a: 1}\n",
        "labels:\n- pairs: {a: b}\n  fields:\n  - path: 1\n",
        "helmGlobals: {chartHome: 1}\n",
    ] {
        let error = error(&[("kustomization.yaml", &format!("{text}namePrefix: x-\n"))], "/");
        assert!(error.starts_with("kustomization.yaml:"), "{error}");
    }
}

#[test]
fn what_a_component_leaves_is_merged_as_what_a_directory_gives() {
    // A field spec of any kind is dropped after one of a kind, once specs are merged again.
    let mut files = vec![
        (
            "kustomization.yaml",
            "resources: [base]\nnamePrefix: p-\nconfigurations: [c.yaml]\n",
        ),
        ("c.yaml", "namePrefix:\n- {kind: Bee, path: metadata/name}\n"),
        ("base/kustomization.yaml", "resources: [m.yaml]\n"),
        ("base/m.yaml", MAP),
        (
            "part/kustomization.yaml",
            "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n",
        ),
    ];
    assert!(built(&files, "/").contains("name: p-app"));
    files[0].1 = "resources: [base]\nnamePrefix: p-\nconfigurations: [c.yaml]\ncomponents: [part]\n";
    files[4].1 = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\ncommonAnnotations: {a: b}\n";
    assert!(built(&files, "/").contains("name: app"));
}

#[test]
fn labels_that_a_patch_puts_in_the_place_of_others_are_its_own() {
    let text = "resources: [d.yaml]\nlabels:\n- pairs: {app: x}\n  includeSelectors: true\ntransformers:\n- |-\n  \
                apiVersion: builtin\n  kind: PatchStrategicMergeTransformer\n  metadata: {name: t}\n  patches: |-\n    \
                apiVersion: apps/v1\n    kind: Deployment\n    metadata: {name: d}\n    spec: {template: {metadata: \
                {labels: {$patch: replace, app: r}}}}\n";
    let deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec: {template: {spec: {}}}\n";
    let out = built(&[("kustomization.yaml", text), ("d.yaml", deployment)], "/");
    assert_eq!(
        (out.matches("app: x").count(), out.matches("app: r").count()),
        (2, 1),
        "{out}"
    );
}

#[test]
fn a_value_that_cannot_be_written_is_told_with_its_object_and_place() {
    let text = "resources: [m.yaml]\nreplacements:\n- sourceValue: a\n  targets:\n  - select: {kind: ConfigMap}\n    \
                fieldPaths: [immutable]\n";
    let map = format!("{MAP}immutable: true\n");
    let files = [("kustomization.yaml", text), ("m.yaml", &*map)];
    let built = build(&tree(&files), "/", &Options::default(), &Sealed).unwrap();
    assert_eq!(
        built.to_yaml().unwrap_err().to_string(),
        "m.yaml:5:12: ConfigMap.v1.[noGrp]/app.[noNs]: cannot decode !!str `a` as a !!bool"
    );
}

const ROLLOUT: &str = "apiVersion: argoproj.io/v1alpha1\nkind: Rollout\nmetadata: {name: web, namespace: shop}\n\
    spec:\n  template:\n    spec:\n      containers:\n      - {name: web, image: web:1, args: [a]}\n      - {name: sidecar, image: s:1}\n";

/// kustomize replaces the list; that this loses containers is reported, with the place of the patch and a way.
#[test]
fn items_that_a_merge_patch_drops_for_want_of_a_schema_are_told() {
    let patch = "apiVersion: argoproj.io/v1alpha1\nkind: Rollout\nmetadata: {name: web, namespace: shop}\n\
        spec:\n  template:\n    spec:\n      containers:\n      - {name: web, image: web:2}\n";
    let lost = "replaces spec.template.spec.containers of Rollout shop/web as a whole, since Rollout argoproj.io/v1alpha1 has no schema \
        here; lost: sidecar, and of web args; change the list by a JSON patch (path: /spec/template/spec/containers/-), or name its \
        key in a schema: `openapi: {path: FILE}`";
    let inline = format!(
        "resources: [r.yaml]\npatches:\n- patch: |-\n    {}\n",
        patch.trim().replace('\n', "\n    ")
    );
    let targeted = format!("{inline}  target: {{kind: Rollout}}\n");
    for (top, place) in [
        ("resources: [r.yaml]\npatches: [{path: p.yaml}]\n", "p.yaml:8:7"),
        ("resources: [r.yaml]\npatchesStrategicMerge: [p.yaml]\n", "p.yaml:8:7"),
        (&inline, "kustomization.yaml:11"),
        (&targeted, "kustomization.yaml:11"),
    ] {
        let files = [("kustomization.yaml", top), ("r.yaml", ROLLOUT), ("p.yaml", patch)];
        let built = build(&tree(&files), "/", &Options::default(), &Sealed).unwrap();
        let warnings: Vec<_> = built.warnings.iter().filter(|text| text.contains("lost: ")).collect();
        assert_eq!(warnings, [&format!("{place}: the patch {lost}")], "{top}");
        assert_eq!(built.lost.len(), 1);
        assert!(!built.to_yaml().unwrap().contains("sidecar"));
    }
}

/// A kind whose schema is known, from Kubernetes or by `openapi`, merges the list.
#[test]
fn nothing_is_lost_where_the_list_has_a_key() {
    let patch = |version: &str, kind: &str| {
        format!(
            "apiVersion: {version}\nkind: {kind}\nmetadata: {{name: web, namespace: shop}}\n\
             spec: {{template: {{spec: {{containers: [{{name: web, image: web:2}}]}}}}}}\n"
        )
    };
    let schema = json!({"definitions": {"io.argoproj.v1alpha1.Rollout": {
        "x-kubernetes-group-version-kind": [{"group": "argoproj.io", "version": "v1alpha1", "kind": "Rollout"}],
        "properties": {"spec": {"properties": {"template": {"properties": {"spec": {"properties": {"containers": {
            "type": "array",
            "x-kubernetes-patch-merge-key": "name",
            "x-kubernetes-patch-strategy": "merge",
            "items": {"type": "object", "properties": {"name": {"type": "string"}}}
        }}}}}}}}
    }}});
    let deployment = ROLLOUT
        .replace("argoproj.io/v1alpha1", "apps/v1")
        .replace("Rollout", "Deployment");
    for (object, patch, top) in [
        (deployment.as_str(), patch("apps/v1", "Deployment"), ""),
        (
            ROLLOUT,
            patch("argoproj.io/v1alpha1", "Rollout"),
            "openapi: {path: schema.json}\n",
        ),
    ] {
        let top = format!("resources: [r.yaml]\npatches: [{{path: p.yaml}}]\n{top}");
        let schema = schema.to_string();
        let files = [
            ("kustomization.yaml", top.as_str()),
            ("r.yaml", object),
            ("p.yaml", &patch),
            ("schema.json", &schema),
        ];
        let built = build(&tree(&files), "/", &Options::default(), &Sealed).unwrap();
        assert!(
            built.lost.is_empty() && built.to_yaml().unwrap().contains("sidecar"),
            "{top}"
        );
    }
}
