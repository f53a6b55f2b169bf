//! The exact texts of errors and warnings: place, object, cause, the kustomizations that led there.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use bumpwright_kustomize::tree::{MemoryTree, Sealed};
use bumpwright_kustomize::{Build, BuildError, Options, build};

const DEPLOYMENT: &str = "apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  template:
    spec:
      containers:
      - name: web
        image: ghcr.io/o/app:1
";
const MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: cm\ndata:\n  a: b\n";
const BASE: [(&str, &str); 3] = [
    ("base/kustomization.yaml", "resources:\n- dep.yaml\n- cm.yaml\n"),
    ("base/dep.yaml", DEPLOYMENT),
    ("base/cm.yaml", MAP),
];

/// Builds `/fleet/app` over a base, with paths shown relative to `/fleet`.
fn run(files: &[(&str, &str)]) -> Result<Build, BuildError> {
    let mut tree = MemoryTree::new();
    for (path, text) in BASE.iter().chain(files) {
        tree.add_file(&format!("/fleet/app/{path}"), *text);
    }
    let options = Options {
        shown_from: Some("/fleet/app".to_owned()),
        ..Options::default()
    };
    build(&tree, "/fleet/app", &options, &Sealed)
}

fn error(files: &[(&str, &str)]) -> String {
    let error = run(files).expect_err("a failure");
    for one in std::iter::once(&error).chain(&error.more) {
        assert!(one.chain.len() <= 4, "{one}");
    }
    error.to_string()
}

fn warnings(files: &[(&str, &str)]) -> Vec<String> {
    run(files).unwrap_or_else(|error| panic!("{error}")).warnings
}

fn with_patch(patch: &str) -> String {
    let top = "resources:\n- base\npatches:\n- path: p.yaml\n";
    error(&[("kustomization.yaml", top), ("p.yaml", patch)])
}

#[test]
fn text_that_is_no_yaml() {
    let files = [
        ("kustomization.yaml", "resources:\n- base\n"),
        (
            "base/cm.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n name: x\n  bad: y\n",
        ),
    ];
    assert_eq!(
        error(&files),
        "base/cm.yaml:5:6: mapping values are not allowed in this context
  included by base/kustomization.yaml:3:3
  included by kustomization.yaml:2:3"
    );
}

#[test]
fn a_patch_for_nothing() {
    assert_eq!(
        with_patch("apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: nope\nspec:\n  replicas: 2\n"),
        "p.yaml:1:1: no resource has the id Deployment.v1.apps/nope.[noNs]; does an earlier patch or transformer change \
         its kind, name or namespace?
  included by kustomization.yaml:4:3"
    );
}

#[test]
fn two_objects_of_one_id() {
    let files = [
        ("kustomization.yaml", "resources:\n- base\n"),
        (
            "base/kustomization.yaml",
            "resources:\n- dep.yaml\n- cm.yaml\n- cm2.yaml\n",
        ),
        ("base/cm2.yaml", MAP),
    ];
    assert_eq!(
        error(&files),
        "base/cm2.yaml:1:1: may not add resource with an already registered id: ConfigMap.v1.[noGrp]/cm.[noNs]
  included by base/kustomization.yaml:4:3
  included by kustomization.yaml:2:3"
    );
}

#[test]
fn a_patch_of_the_wrong_shape() {
    let patch = "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\nspec:\n  template:\n    spec:\n      containers: notalist\n";
    assert_eq!(
        with_patch(patch),
        "p.yaml:8:19: Deployment.v1.apps/web.[noNs]: spec.template.spec.containers: wrong node kind: expected \
         SequenceNode but got ScalarNode
  included by kustomization.yaml:4:3"
    );
}

#[test]
fn a_json_patch_that_does_not_apply() {
    let top = "resources:\n- base\npatches:\n- path: p.yaml\n  target: {kind: Deployment}\n";
    let patch = "- op: replace\n  path: /spec/missing/deep\n  value: 1\n";
    assert_eq!(
        error(&[("kustomization.yaml", top), ("p.yaml", patch)]),
        "p.yaml:1:3: Deployment.v1.apps/web.[noNs]: replace operation does not apply: doc is missing path: \
         \"/spec/missing/deep\"
  included by kustomization.yaml:4:3"
    );
}

#[test]
fn unknown_fields_with_what_was_meant_all_at_once() {
    let top = "resources:\n- base\ncomonLabels: {a: b}\npatches:\n- pth: p.yaml\n- target: {knd: X}\n  patch: x\nnameprefx: a-\n";
    assert_eq!(
        error(&[("kustomization.yaml", top)]),
        "kustomization.yaml:5:3: patches: unknown field \"pth\"; did you mean \"path\"?
kustomization.yaml:6:12: target: unknown field \"knd\"; did you mean \"kind\"?
kustomization.yaml:3:1: kustomization: unknown field \"comonLabels\"; did you mean \"commonLabels\"?
kustomization.yaml:8:1: kustomization: unknown field \"nameprefx\"; did you mean \"namePrefix\"?"
    );
}

#[test]
fn a_file_of_a_generator_that_is_not_there() {
    let top = "resources:\n- base\nconfigMapGenerator:\n- name: g\n  files: [nofile.txt]\n";
    assert_eq!(
        error(&[("kustomization.yaml", top)]),
        "kustomization.yaml:4:3: ConfigMap \"g\": nofile.txt: no such file or directory"
    );
}

#[test]
fn a_patch_that_is_no_yaml() {
    assert_eq!(
        with_patch("apiVersion: apps/v1\nkind: Deployment\nmetadata:\n name: web\n  x: y\n"),
        "p.yaml:5:4: unable to parse SM or JSON patch: mapping values are not allowed in this context
  included by kustomization.yaml:4:3"
    );
}

#[test]
fn all_that_is_missing_is_told_in_one_run() {
    let top = "resources:\n- base\n- no.yaml\n- ../nodir\nconfigMapGenerator:\n- name: g\n  files: [nofile.txt]\npatches:\n- path: nopatch.yaml\n";
    assert_eq!(
        error(&[("kustomization.yaml", top)]),
        "kustomization.yaml:3:3: no.yaml: no such file or directory
kustomization.yaml:4:3: /fleet/nodir: no such file or directory
kustomization.yaml:6:3: ConfigMap \"g\": nofile.txt: no such file or directory
kustomization.yaml:9:3: nopatch.yaml: no such file or directory"
    );
}

#[test]
fn patches_that_fail_are_told_in_one_run_unless_one_may_follow_from_another() {
    let top = "resources:
- base
patches:
- patch: '[{\"op\": \"remove\", \"path\": \"/data/x\"}]'
  target: {kind: ConfigMap}
- patch: '[{\"op\": \"remove\", \"path\": \"/data/y\"}]'
  target: {kind: ConfigMap}
- patch: '[{\"op\": \"remove\", \"path\": \"/spec/x\"}]'
  target: {kind: Deployment}
namePrefix: x-
";
    let text = error(&[("kustomization.yaml", top)]);
    assert_eq!(
        text.lines()
            .map(|line| line.split(": ").take(2).collect::<Vec<_>>().join(" "))
            .collect::<Vec<_>>(),
        [
            "kustomization.yaml:4:3 ConfigMap.v1.[noGrp]/cm.[noNs]",
            "kustomization.yaml:8:3 Deployment.v1.apps/web.[noNs]",
        ],
        "{text}"
    );
}

#[test]
fn very_many_errors_are_counted() {
    let names: String = (0..15).map(|number| format!("- no{number}.yaml\n")).collect();
    let text = error(&[("kustomization.yaml", &format!("resources:\n{names}"))]);
    assert_eq!(text.lines().count(), 11, "{text}");
    assert!(text.ends_with("\nand 5 more errors"), "{text}");
}

#[test]
fn what_is_for_nothing_is_a_warning() {
    let top = "resources:\n- base\nimages:\n- name: ghcr.io/o/app\n  newTag: v2\n- name: ghcr.io/o/ap\n  newTag: v2\npatches:\n- patch: '{kind: x, metadata: {name: x, labels: {a: b}}}'\n  target: {kind: Deployment, name: wb}\n- patch: '{kind: x, metadata: {name: x, labels: {a: b}}}'\n  target: {kind: Deployment}\n";
    assert_eq!(
        warnings(&[("kustomization.yaml", top)]),
        [
            "kustomization.yaml:9:3: the target of the patch matches no object: kind \"Deployment\", name \"wb\"",
            "kustomization.yaml:6:3: images: no object has the image \"ghcr.io/o/ap\"",
        ]
    );
}

/// P-002: kustomize has no absolute directories either (`new root '/fleet/app/base' cannot be absolute`).
#[test]
fn a_directory_that_is_named_by_an_absolute_path_is_told_so() {
    for field in ["generators", "resources"] {
        let top = format!("{field}:\n- /fleet/app/base\n");
        assert_eq!(
            error(&[("kustomization.yaml", &top)]),
            "kustomization.yaml:2:3: /fleet/app/base: a directory must be named relative to its kustomization, not by an absolute path",
            "{field}"
        );
    }
}

#[test]
fn a_place_above_the_shown_directory_is_absolute() {
    let files = [
        ("kustomization.yaml", "resources:\n- ../other\n"),
        ("../other/kustomization.yaml", "resources:\n- ../secret.yaml\n"),
        ("../secret.yaml", MAP),
    ];
    assert_eq!(
        error(&files),
        "/fleet/other/kustomization.yaml:2:3: /fleet/secret.yaml is not in or below /fleet/other; move it there, or build with \
         --load-restrictor LoadRestrictionsNone
  included by kustomization.yaml:2:3"
    );
}

#[test]
fn a_patch_in_the_kustomization_fails_at_its_line() {
    let strategic = "resources:
- base
patches:
- path: p.yaml
- patch: |-

    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: web}
    spec:
      template:
        spec:
          containers: notalist
- target: {kind: ConfigMap}
  patch: |
    - op: add
      path: /data/x
      value: y
    - op: remove
      path: /data/y
";
    let patch = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 2}}";
    assert_eq!(
        error(&[("kustomization.yaml", strategic), ("p.yaml", patch)]),
        "kustomization.yaml:13: Deployment.v1.apps/web.[noNs]: spec.template.spec.containers: wrong node kind: expected \
         SequenceNode but got ScalarNode
kustomization.yaml:19: ConfigMap.v1.[noGrp]/cm.[noNs]: remove operation does not apply: doc is missing path: \"/data/y\""
    );
    let folded = "resources:\n- base\npatches:\n- patch: >\n    a: b: c\n";
    let text = error(&[("kustomization.yaml", folded)]);
    assert!(
        text.starts_with("kustomization.yaml:4:3: "),
        "folded lines are not those of the file: {text}"
    );
}

#[test]
fn a_transformer_in_the_kustomization_fails_at_its_line() {
    let top = "resources:
- base
transformers:
- |
  apiVersion: builtin
  kind: PatchTransformer
  metadata: {name: x}
  patch: |
    - op: remove
      path: /data/y
  target: {kind: ConfigMap}
- |
  apiVersion: builtin
  kind: NoTransformer
  metadata: {name: y}
- |
  apiVersion: builtin
  kind: NeitherTransformer
  metadata: {name: z}
";
    let text = error(&[("kustomization.yaml", top)]);
    let places: Vec<_> = text.lines().map(|line| line.split(": ").next().unwrap()).collect();
    assert_eq!(places, ["kustomization.yaml:13", "kustomization.yaml:17"], "{text}");
    let first = top.split("- |\n  apiVersion: builtin\n  kind: NoT").next().unwrap();
    assert_eq!(
        error(&[("kustomization.yaml", first)]),
        "kustomization.yaml:9: ConfigMap.v1.[noGrp]/cm.[noNs]: remove operation does not apply: doc is missing path: \"/data/y\""
    );
}

#[test]
fn components_that_fail_are_told_with_what_is_wrong_in_those_behind_them() {
    let component = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n";
    let one = format!("{component}patches:\n- target: {{kind: ConfigMap}}\n  path: p.yaml\n");
    let two = format!("{component}resources: [nofile.yaml]\nconfigMapGenerator:\n- name: g\n  files: [nofile.txt]\n");
    // This one would fail without the resources of the first, so it is not reported.
    let four = format!("{component}patches:\n- target: {{kind: ConfigMap}}\n  path: ../one/p.yaml\n");
    let files = [
        (
            "kustomization.yaml",
            "resources: [base]\ncomponents: [one, two, three, four, base]\n",
        ),
        ("one/kustomization.yaml", one.as_str()),
        ("one/p.yaml", "- {op: remove, path: /data/x}\n"),
        ("two/kustomization.yaml", two.as_str()),
        ("four/kustomization.yaml", four.as_str()),
    ];
    let text = error(&files);
    let told: Vec<_> = text.lines().filter(|line| !line.starts_with(' ')).collect();
    let beginnings = [
        "one/p.yaml:1:3: ConfigMap.v1.[noGrp]/cm.[noNs]: remove operation does not apply",
        "two/kustomization.yaml:3:13: two/nofile.yaml: no such file",
        "two/kustomization.yaml:5:3: ConfigMap \"g\": two/nofile.txt: no such file",
        "kustomization.yaml:2:24: three: no such file",
        "four/kustomization.yaml:4:3: one/p.yaml is not in or below",
        "kustomization.yaml:2:37: expected a component",
    ];
    for (line, beginning) in told.iter().zip(beginnings) {
        assert!(line.starts_with(beginning), "{beginning}\n{text}");
    }
    assert_eq!(told.len(), beginnings.len(), "{text}");
}

#[test]
fn validators_that_fail_are_told_in_one_run() {
    let top = "resources:
- base
validators:
- |
  {apiVersion: builtin, kind: LabelTransformer, metadata: {name: x}, labels: {a: b},
   fieldSpecs: [{path: metadata/labels, create: true}]}
- |
  {apiVersion: builtin, kind: LabelTransformer, metadata: {name: x2}, labels: {validated-by: me},
   fieldSpecs: [{path: metadata/labels, create: true}]}
- |
  {apiVersion: builtin, kind: NamespaceTransformer, metadata: {name: y, namespace: z},
   fieldSpecs: [{path: metadata/namespace, create: true}]}
";
    let text = error(&[("kustomization.yaml", top)]);
    let told: Vec<_> = text
        .lines()
        .map(|line| line.split(": ").take(2).collect::<Vec<_>>().join(": "))
        .collect();
    let refused = "a validator may not change resources, but this one did";
    assert_eq!(
        told,
        [
            format!("kustomization.yaml:5: {refused}"),
            format!("kustomization.yaml:11: {refused}")
        ],
        "{text}"
    );
}
